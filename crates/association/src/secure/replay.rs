//! Which packet numbers were seen (RFC 6479 in spirit: a window of bits behind the highest number).

/// Numbers behind the highest that are still told apart: more than a satellite link reorders.
const WINDOW: u64 = 8192;
const WORDS: usize = (WINDOW / 64) as usize;

/// The numbers that were received.
#[derive(Clone, Debug)]
pub(super) struct ReplayWindow {
    /// One past the highest number.
    next: u64,
    seen: [u64; WORDS],
}

impl ReplayWindow {
    /// Nothing was received.
    pub(super) const fn new() -> Self {
        Self { next: 0, seen: [0; WORDS] }
    }

    /// One past the highest number that was received.
    pub(super) const fn next(&self) -> u64 {
        self.next
    }

    /// Whether the number is new. Numbers too far behind are not.
    pub(super) fn is_new(&self, number: u64) -> bool {
        if number >= self.next {
            return true;
        }
        number + WINDOW >= self.next && self.seen[word(number)] & bit(number) == 0
    }

    /// The number was received and its datagram was authentic.
    pub(super) fn receive(&mut self, number: u64) {
        if number >= self.next {
            // Forget what the window leaves behind.
            let first = self.next.max((number + 1).saturating_sub(WINDOW));
            if number - self.next >= WINDOW {
                self.seen = [0; WORDS];
            } else {
                for skipped in first..number {
                    self.seen[word(skipped)] &= !bit(skipped);
                }
            }
            self.next = number + 1;
        }
        self.seen[word(number)] |= bit(number);
    }
}

const fn word(number: u64) -> usize {
    (number / 64 % WORDS as u64) as usize
}

const fn bit(number: u64) -> u64 {
    1 << (number % 64)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_number_is_new_once_and_never_when_it_is_too_old(
            steps in prop::collection::vec((0u64..20_000, any::<bool>()), 1..400),
        ) {
            let (mut window, mut seen, mut at) = (ReplayWindow::new(), BTreeSet::new(), 0u64);
            for (step, back) in steps {
                let number = if back { at.saturating_sub(step) } else { at + step % 300 };
                let highest = seen.last().copied();
                let old = highest.is_some_and(|highest| number + WINDOW <= highest);
                prop_assert_eq!(window.is_new(number), !old && !seen.contains(&number));
                if window.is_new(number) {
                    window.receive(number);
                    seen.insert(number);
                    at = at.max(number);
                }
            }
        }
    }
}
