//! The numbers of connections between two hosts: which one is next, and which of the peer's an application has had, so
//! that none is opened a second time by a request that is repeated after it has ended. They outlive the association.

use std::collections::VecDeque;

use super::number::MOST_NUMBER;

/// Connections that one word tells of.
const EACH: u64 = 64;
/// Most words. What is older than they tell of is taken for accepted: far more than may be open at the same time.
const MOST_WORDS: usize = 1_024;
/// Numbers of one host's connections, which are all even or all odd.
const NUMBERS: u64 = MOST_NUMBER as u64 / 2;

/// The numbers of connections between two hosts.
#[derive(Debug)]
pub(super) struct Numbering {
    /// The next one of this host's.
    next: u32,
    /// Those of the peer's that were accepted.
    taken: Taken,
}

impl Numbering {
    /// That of a host whose first connection gets this number: it decides which host takes the even ones.
    pub(super) fn new(first: u32) -> Self {
        Self { next: first, taken: Taken::default() }
    }

    /// A number for a connection that this host opens. After some hundred million they begin anew.
    pub(super) fn take(&mut self, is_used: impl Fn(u32) -> bool) -> u32 {
        loop {
            let number = self.next;
            let next = number + 2;
            self.next = if next < MOST_NUMBER { next } else { 2 - number % 2 };
            if !is_used(number) {
                return number;
            }
        }
    }

    /// A connection of the peer's process of this epoch was accepted.
    pub(super) fn accept(&mut self, epoch: Option<u64>, number: u32) {
        self.taken.add(epoch, number);
    }

    /// Whether it was.
    pub(super) fn was_accepted(&self, epoch: Option<u64>, number: u32) -> bool {
        self.taken.has(epoch, number)
    }

    /// Whether this host opens connections of such numbers.
    pub(super) const fn is_ours(&self, number: u32) -> bool {
        number % 2 == self.next % 2
    }
}

/// The connections of one run of the peer's process that were accepted.
#[derive(Debug, Default)]
struct Taken {
    epoch: Option<u64>,
    /// A bit for each connection, in the order of their numbers.
    words: VecDeque<u64>,
    /// Words before these, all of whose connections were accepted or are too old.
    before: u64,
}

impl Taken {
    /// A connection of the peer's process of this epoch was accepted.
    fn add(&mut self, epoch: Option<u64>, number: u32) {
        if self.epoch != epoch {
            *self = Self { epoch, ..Self::default() };
        }
        let offset = self.offset(number);
        let Some(word) = (offset / EACH).checked_sub(self.before) else { return };
        let more = (word + 1).saturating_sub(self.words.len() as u64);
        if more > MOST_WORDS as u64 {
            self.words.clear();
            self.before = offset / EACH;
        }
        while self.before + self.words.len() as u64 <= offset / EACH {
            self.words.push_back(0);
        }
        let word = (offset / EACH - self.before) as usize;
        self.words[word] |= 1 << (offset % EACH);
        while self.words.len() > MOST_WORDS || self.words.front() == Some(&u64::MAX) {
            self.words.pop_front();
            self.before += 1;
        }
    }

    /// Whether this connection of the peer's process of this epoch was.
    fn has(&self, epoch: Option<u64>, number: u32) -> bool {
        if self.epoch != epoch {
            return false;
        }
        let offset = self.offset(number);
        let Some(word) = (offset / EACH).checked_sub(self.before) else { return true };
        self.words.get(word as usize).is_some_and(|word| word >> (offset % EACH) & 1 == 1)
    }

    /// The offset of a number among all of the peer's, which begin anew in the end: the one nearest to the latest.
    fn offset(&self, number: u32) -> u64 {
        let latest = (self.before + self.words.len() as u64) * EACH;
        let offset = latest / NUMBERS * NUMBERS + u64::from(number / 2);
        if offset + NUMBERS / 2 < latest {
            offset + NUMBERS
        } else if offset > latest + NUMBERS / 2 && offset >= NUMBERS {
            offset - NUMBERS
        } else {
            offset
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    const EPOCH: Option<u64> = Some(1);

    #[test]
    fn numbers_that_begin_anew_are_those_of_new_connections() {
        let mut taken = Taken::default();
        for number in (MOST_NUMBER - 400_000..MOST_NUMBER).step_by(2) {
            assert!(!taken.has(EPOCH, number));
            taken.add(EPOCH, number);
        }
        for number in (2..400_000).step_by(2) {
            assert!(!taken.has(EPOCH, number), "{number}");
            taken.add(EPOCH, number);
            assert!(taken.has(EPOCH, number));
        }
        assert!(taken.has(EPOCH, MOST_NUMBER - 2));
        assert!(taken.words.len() < 3);
    }

    #[test]
    fn another_process_of_the_peer_begins_anew() {
        let mut taken = Taken::default();
        taken.add(EPOCH, 7);
        assert!(taken.has(EPOCH, 7) && !taken.has(Some(2), 7) && !taken.has(EPOCH, 5));
        taken.add(Some(2), 9);
        assert!(taken.has(Some(2), 9) && !taken.has(Some(2), 7));
    }

    proptest! {
        #[test]
        fn all_that_were_accepted_are_known_and_of_the_others_those_that_are_not_old(
            numbers in prop::collection::vec(
                prop_oneof![0u32..3_000, 0u32..300_000, Just(200_000_000u32)].prop_map(|n| n * 2 % MOST_NUMBER),
                1..300,
            )
        ) {
            let mut taken = Taken::default();
            let mut known = BTreeSet::new();
            for number in numbers {
                prop_assert!(!known.contains(&number) || taken.has(EPOCH, number));
                taken.add(EPOCH, number);
                known.insert(number);
                prop_assert!(taken.has(EPOCH, number));
                prop_assert!(taken.words.len() <= MOST_WORDS);
                let latest = (taken.before + taken.words.len() as u64) * EACH;
                // Among those that may be open beside the latest one, exactly those that were accepted are known.
                for near in latest.saturating_sub(10_000)..latest {
                    let number = (near % NUMBERS) as u32 * 2;
                    if near >= taken.before * EACH {
                        prop_assert_eq!(taken.has(EPOCH, number), known.contains(&number));
                    }
                }
            }
        }
    }
}
