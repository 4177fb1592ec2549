//! When what must be called again.

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;

use bentpipe_units::Instant;

/// At most one deadline for each owner.
#[derive(Debug)]
pub(crate) struct Timers<K> {
    order: BTreeSet<(Instant, K)>,
    deadlines: HashMap<K, Instant>,
}

impl<K> Default for Timers<K> {
    fn default() -> Self {
        Self { order: BTreeSet::new(), deadlines: HashMap::new() }
    }
}

impl<K: Copy + Ord + Hash> Timers<K> {
    /// Sets or clears the deadline of an owner.
    pub(crate) fn set(&mut self, owner: K, deadline: Option<Instant>) {
        let before = match deadline {
            Some(at) => self.deadlines.insert(owner, at),
            None => self.deadlines.remove(&owner),
        };
        if before == deadline {
            return;
        }
        if let Some(before) = before {
            self.order.remove(&(before, owner));
        }
        if let Some(at) = deadline {
            self.order.insert((at, owner));
        }
    }

    /// The next deadline of all.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.order.first().map(|(at, _)| *at)
    }

    /// Takes an owner whose deadline has come.
    pub(crate) fn pop(&mut self, now: Instant) -> Option<K> {
        let (at, owner) = *self.order.first()?;
        if at > now {
            return None;
        }
        self.order.pop_first();
        self.deadlines.remove(&owner);
        Some(owner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_come_in_the_order_of_their_latest_deadlines() {
        let at = Instant::from_nanos;
        let mut timers = Timers::default();
        timers.set('a', Some(at(5)));
        timers.set('b', Some(at(3)));
        timers.set('a', Some(at(1)));
        timers.set('c', Some(at(2)));
        timers.set('c', None);
        assert_eq!(timers.next(), Some(at(1)));
        let due: Vec<_> = std::iter::from_fn(|| timers.pop(at(4))).collect();
        assert_eq!((due, timers.next()), (vec!['a', 'b'], None));
    }
}
