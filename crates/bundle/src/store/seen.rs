//! Bundles that were here: what comes a second time is told apart by this.

use std::collections::{BTreeSet, VecDeque};

use crate::{DtnTime, id::IdHash};

/// Names of bundles that were passed on or delivered, until their lifetime is over. At most so many: the oldest go first.
#[derive(Debug)]
pub(super) struct Seen {
    order: VecDeque<(IdHash, DtnTime)>,
    names: BTreeSet<IdHash>,
    most: usize,
}

impl Seen {
    pub(super) const fn new(most: usize) -> Self {
        Self { order: VecDeque::new(), names: BTreeSet::new(), most }
    }

    pub(super) fn has(&self, hash: &IdHash) -> bool {
        self.names.contains(hash)
    }

    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    /// Adds one. Where there is no room those go whose time is over, then the oldest.
    pub(super) fn add(&mut self, hash: IdHash, expires: DtnTime, now: DtnTime) {
        if !self.names.insert(hash) {
            return;
        }
        if self.order.len() >= self.most {
            let names = &mut self.names;
            self.order.retain(|(hash, expires)| *expires > now || !names.remove(hash));
        }
        while self.order.len() >= self.most {
            let Some((oldest, _)) = self.order.pop_front() else { break };
            self.names.remove(&oldest);
        }
        self.order.push_back((hash, expires));
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = &(IdHash, DtnTime)> {
        self.order.iter()
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
            seen.add([n; 16], time(expires), time(10));
            assert!(seen.len() <= 3 && seen.names.len() == seen.len());
        }
        let left: Vec<u8> = seen.entries().map(|(hash, _)| hash[0]).collect();
        assert_eq!(left, [3, 4, 5]);
        seen.add([4; 16], time(200), time(10));
        assert_eq!(seen.len(), 3);
        assert!(seen.has(&[4; 16]) && !seen.has(&[2; 16]));
    }
}
