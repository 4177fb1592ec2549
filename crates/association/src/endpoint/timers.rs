//! When what must be called again: a hierarchical timing wheel, so that setting a timer costs the same
//! with one connection and with ten thousand.

use std::hash::Hash;

use bentpipe_units::Instant;
use rustc_hash::FxHashMap;

/// The finest slots are 2^16 ns long: 66 microseconds.
const TICK_BITS: u32 = 16;
/// Each level has 64 slots, and each slot of one level is as long as the level below.
const LEVEL_BITS: u32 = 6;
const SLOTS: usize = 1 << LEVEL_BITS;
/// Enough for every instant there is.
const LEVELS: usize = 8;

/// At most one deadline for each owner.
#[derive(Debug)]
pub struct Timers<K> {
    slots: Vec<Vec<Entry<K>>>,
    /// For each level a bit for each slot that is not empty.
    occupied: [u64; LEVELS],
    /// Where the entry of an owner is: slot and place in it.
    places: FxHashMap<K, (usize, usize)>,
    /// No entry is due before this tick, in units of the finest slots.
    tick: u64,
}

#[derive(Clone, Copy, Debug)]
struct Entry<K> {
    at: Instant,
    owner: K,
}

impl<K> Default for Timers<K> {
    fn default() -> Self {
        let slots = std::iter::repeat_with(Vec::new).take(LEVELS * SLOTS).collect();
        Self { slots, occupied: [0; LEVELS], places: FxHashMap::default(), tick: 0 }
    }
}

impl<K: Copy + Eq + Hash> Timers<K> {
    /// Sets or clears the deadline of an owner.
    pub fn set(&mut self, owner: K, deadline: Option<Instant>) {
        if let Some((slot, place)) = self.places.get(&owner).copied() {
            if deadline == Some(self.slots[slot][place].at) {
                return;
            }
            self.remove(slot, place);
        }
        if let Some(at) = deadline {
            self.insert(Entry { at, owner });
        }
    }

    /// When [`Timers::pop`] should be asked next. Far deadlines are known roughly only: there may be
    /// nothing to do yet.
    pub fn next(&self) -> Option<Instant> {
        let (level, slot) = self.first()?;
        match level {
            0 => self.slots[slot].iter().map(|entry| entry.at).min(),
            _ => Some(Instant::from_nanos(self.begin(level, slot) << TICK_BITS)),
        }
    }

    /// Takes an owner whose deadline has come.
    pub fn pop(&mut self, now: Instant) -> Option<K> {
        loop {
            let (level, slot) = self.first()?;
            if level == 0 {
                let due = self.slots[slot].iter().enumerate().min_by_key(|(_, entry)| entry.at);
                let (place, entry) = due.filter(|(_, entry)| entry.at <= now)?;
                let owner = entry.owner;
                self.remove(slot, place);
                return Some(owner);
            }
            let begin = self.begin(level, slot);
            if begin > now.as_nanos() >> TICK_BITS {
                return None;
            }
            // Its time is near: spread it over the finer levels.
            self.tick = begin;
            self.occupied[level] &= !(1 << (slot % SLOTS));
            for entry in std::mem::take(&mut self.slots[slot]) {
                self.insert(entry);
            }
        }
    }

    /// The first slot that is not empty: earlier ones are on lower levels.
    fn first(&self) -> Option<(usize, usize)> {
        let level = self.occupied.iter().position(|slots| *slots != 0)?;
        Some((level, level * SLOTS + self.occupied[level].trailing_zeros() as usize))
    }

    /// The tick at which a slot begins.
    const fn begin(&self, level: usize, slot: usize) -> u64 {
        let shift = level as u32 * LEVEL_BITS;
        let above = shift + LEVEL_BITS;
        let high = if above < u64::BITS { self.tick >> above << above } else { 0 };
        high | (((slot % SLOTS) as u64) << shift)
    }

    fn insert(&mut self, entry: Entry<K>) {
        let tick = (entry.at.as_nanos() >> TICK_BITS).max(self.tick);
        let differs = u64::BITS - (tick ^ self.tick).leading_zeros();
        let level = differs.saturating_sub(1) / LEVEL_BITS;
        let index = (tick >> (level * LEVEL_BITS)) as usize % SLOTS;
        let slot = level as usize * SLOTS + index;
        self.occupied[level as usize] |= 1 << index;
        self.places.insert(entry.owner, (slot, self.slots[slot].len()));
        self.slots[slot].push(entry);
    }

    fn remove(&mut self, slot: usize, place: usize) {
        let entry = self.slots[slot].swap_remove(place);
        self.places.remove(&entry.owner);
        if let Some(moved) = self.slots[slot].get(place) {
            self.places.insert(moved.owner, (slot, place));
        }
        if self.slots[slot].is_empty() {
            self.occupied[slot / SLOTS] &= !(1 << (slot % SLOTS));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    /// Lets time pass until nothing is left, and says who came when.
    fn run(timers: &mut Timers<char>) -> Vec<(u64, char)> {
        let mut came = Vec::new();
        while let Some(now) = timers.next() {
            while let Some(owner) = timers.pop(now) {
                came.push((now.as_nanos(), owner));
            }
        }
        came
    }

    #[test]
    fn owners_come_at_their_latest_deadlines() {
        let at = Instant::from_nanos;
        let mut timers = Timers::default();
        timers.set('a', Some(at(5)));
        timers.set('b', Some(at(3_000_000_000)));
        timers.set('a', Some(at(60_000_000_001)));
        timers.set('c', Some(at(2)));
        timers.set('d', Some(at(70_000)));
        timers.set('c', None);
        assert_eq!(run(&mut timers), [(70_000, 'd'), (3_000_000_000, 'b'), (60_000_000_001, 'a')]);
    }

    #[test]
    fn a_deadline_in_the_past_is_due_at_once() {
        let at = Instant::from_nanos;
        let mut timers = Timers::default();
        timers.set('a', Some(at(10_000_000_000)));
        assert_eq!(run(&mut timers), [(10_000_000_000, 'a')]);
        timers.set('b', Some(at(7)));
        assert_eq!(timers.pop(at(10_000_000_000)), Some('b'));
    }

    proptest! {
        #[test]
        fn nobody_is_early_late_or_forgotten(
            steps in prop::collection::vec((0u16..50, 0u32..40, any::<u64>(), any::<bool>()), 1..300),
        ) {
            let mut timers = Timers::default();
            let mut expected = BTreeMap::new();
            let mut now = Instant::ZERO;
            for (owner, bits, draw, clears) in steps {
                // Of every order of magnitude.
                let at = now + bentpipe_units::Span::from_nanos(draw >> (63 - bits));
                let deadline = (!clears).then_some(at);
                timers.set(owner, deadline);
                match deadline {
                    Some(at) => expected.insert(owner, at),
                    None => expected.remove(&owner),
                };
                let first = expected.values().min().copied();
                prop_assert!(timers.next() <= first, "{:?} after {:?}", timers.next(), first);
                prop_assert_eq!(timers.next().is_none(), first.is_none());
                if draw % 3 == 0
                    && let Some(next) = timers.next()
                {
                    now = now.max(next);
                    while let Some(owner) = timers.pop(now) {
                        let at = expected.remove(&owner);
                        prop_assert!(at.is_some_and(|at| at <= now));
                    }
                    prop_assert!(expected.values().all(|at| *at > now));
                }
            }
        }
    }
}
