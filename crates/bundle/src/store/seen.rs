//! Bundles that were here: what comes a second time is told apart by this.

use std::collections::{BTreeMap, VecDeque};

use crate::{DtnTime, id::IdHash};

/// Names of bundles that were passed on or delivered, until their lifetime is over, with the hops that they had been. At most
/// so many: the oldest go first.
#[derive(Debug)]
pub(super) struct Seen {
    order: VecDeque<(IdHash, DtnTime)>,
    hops: BTreeMap<IdHash, u8>,
    most: usize,
}

impl Seen {
    pub(super) const fn new(most: usize) -> Self {
        Self { order: VecDeque::new(), hops: BTreeMap::new(), most }
    }

    pub(super) fn hops(&self, hash: &IdHash) -> Option<u8> {
        self.hops.get(hash).copied()
    }

    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    /// Adds one. Where there is no room those go whose time is over, then the oldest.
    pub(super) fn add(&mut self, hash: IdHash, (expires, hops): (DtnTime, u8), now: DtnTime) {
        if self.hops.insert(hash, hops).is_some() {
            return;
        }
        if self.order.len() >= self.most {
            let known = &mut self.hops;
            self.order.retain(|(hash, expires)| *expires > now || known.remove(hash).is_none());
        }
        while self.order.len() >= self.most {
            let Some((oldest, _)) = self.order.pop_front() else { break };
            self.hops.remove(&oldest);
        }
        self.order.push_back((hash, expires));
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = (&IdHash, DtnTime, u8)> {
        self.order.iter().map(|(hash, at)| (hash, *at, self.hops(hash).unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_never_has_more_than_it_may_and_forgets_first_what_is_over() {
        let time = DtnTime::from_millis;
        let mut seen = Seen::new(3);
        for (n, expires) in [(1, 100), (2, 5), (3, 100), (4, 100), (5, 100)] {
            seen.add([n; 16], (time(expires), n), time(10));
            assert!(seen.len() <= 3 && seen.hops.len() == seen.len());
        }
        let left: Vec<u8> = seen.entries().map(|(hash, _, hops)| hash[0].min(hops)).collect();
        assert_eq!(left, [3, 4, 5]);
        seen.add([4; 16], (time(200), 9), time(10));
        assert_eq!(seen.len(), 3);
        assert_eq!((seen.hops(&[4; 16]), seen.hops(&[2; 16])), (Some(9), None));
    }
}
