//! How a window is split between those who want to send: by weight, and nobody gets more than it needs.

use std::collections::BTreeMap;

/// Rounds of giving away what others leave; a split is good enough then.
const PASSES: u32 = 8;

/// A connection that has something under way or to send.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) weight: u32,
    /// Bytes under way.
    pub(super) in_flight: u64,
    /// It would send more if it were allowed to.
    pub(super) hungry: bool,
}

/// All connections that have a part.
#[derive(Debug, Default)]
pub(super) struct Split {
    parts: BTreeMap<u64, Part>,
    in_flight: u64,
    hungry: usize,
    /// Bytes for each unit of weight, worked out for a window of this size.
    level: Option<(u64, u64)>,
}

impl Split {
    /// A connection has this part from now on.
    pub(super) fn set(&mut self, id: u64, part: Part) {
        let before = self.parts.insert(id, part);
        let same = before.is_some_and(|b| (b.weight, b.hungry) == (part.weight, part.hungry));
        if !same {
            self.level = None;
        }
        self.forget(before);
        self.in_flight += part.in_flight;
        self.hungry += usize::from(part.hungry);
    }

    /// A connection has no part any more.
    pub(super) fn leave(&mut self, id: u64) {
        let before = self.parts.remove(&id);
        if before.is_some() {
            self.level = None;
        }
        self.forget(before);
    }

    fn forget(&mut self, part: Option<Part>) {
        if let Some(part) = part {
            self.in_flight -= part.in_flight;
            self.hungry -= usize::from(part.hungry);
        }
    }

    /// A connection has another weight.
    pub(super) fn weigh(&mut self, id: u64, weight: u32) {
        if let Some(part) = self.parts.get(&id).copied() {
            self.set(id, Part { weight, ..part });
        }
    }

    /// What those who are content have under way is looked at again.
    pub(super) const fn refresh(&mut self) {
        self.level = None;
    }

    /// Bytes that all have under way.
    pub(super) const fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// Whether any of them would send more.
    pub(super) const fn is_hungry(&self) -> bool {
        self.hungry > 0
    }

    /// Nobody sends or wants to.
    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// How many have a part besides this one.
    pub(super) fn others(&self, id: u64) -> usize {
        self.parts.len() - usize::from(self.parts.contains_key(&id))
    }

    /// What a connection may have of a window, which it may want all of.
    pub(super) fn part(&mut self, id: u64, weight: u32, window: u64) -> u64 {
        let level = if self.parts.contains_key(&id) {
            self.level(window)
        } else {
            self.fill(u64::from(weight), window)
        };
        level.saturating_mul(u64::from(weight)).min(window)
    }

    fn level(&mut self, window: u64) -> u64 {
        if let Some((known, level)) = self.level {
            return (u128::from(level) * u128::from(window) / u128::from(known.max(1))) as u64;
        }
        let level = self.fill(0, window);
        self.level = Some((window, level));
        level
    }

    /// Bytes for each unit of weight where `besides` of them want all that they can get.
    fn fill(&self, besides: u64, window: u64) -> u64 {
        let mut level = 0u64;
        for _ in 0..PASSES {
            let (mut rest, mut weights) = (window, besides);
            for part in self.parts.values() {
                let weight = u64::from(part.weight);
                let content = !part.hungry && part.in_flight <= level.saturating_mul(weight);
                if content {
                    rest = rest.saturating_sub(part.in_flight);
                } else {
                    weights += weight;
                }
            }
            if weights == 0 {
                // All are content: whoever wants more may have it.
                return window;
            }
            let next = rest / weights;
            if next <= level {
                break;
            }
            level = next;
        }
        level
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(parts: &[(u32, u64, bool)]) -> Split {
        let mut split = Split::default();
        for (id, &(weight, in_flight, hungry)) in parts.iter().enumerate() {
            split.set(id as u64, Part { weight, in_flight, hungry });
        }
        split
    }

    #[test]
    fn those_who_want_more_have_it_by_weight() {
        let mut split = split(&[(1, 0, true), (1, 500, true), (2, 0, true)]);
        assert_eq!([0, 1].map(|id| split.part(id, 1, 4_000)), [1_000; 2]);
        assert_eq!(split.part(2, 2, 4_000), 2_000);
    }

    #[test]
    fn what_one_does_not_need_the_others_have() {
        let mut split = split(&[(1, 100, false), (1, 0, true), (1, 0, true), (16, 1_900, false)]);
        assert_eq!(split.part(1, 1, 4_000), 1_000);
        assert_eq!(split.part(0, 1, 4_000), 1_000, "it may want more");
        // One that needs more than its part gets no more than that.
        split.set(0, Part { weight: 1, in_flight: 3_000, hungry: false });
        assert_eq!(split.part(1, 1, 4_000), 1_000, "it is looked at once in a round trip");
        split.refresh();
        assert_eq!(split.part(1, 1, 4_000), 700);
        split.set(3, Part { weight: 1, in_flight: 3_000, hungry: false });
        assert_eq!(split.part(1, 1, 4_000), 1_000);
    }

    #[test]
    fn a_connection_that_only_asks_is_counted_with_those_that_send() {
        let mut split = split(&[(1, 0, true)]);
        assert_eq!(split.part(7, 4, 4_000), 3_200);
        assert_eq!(split.part(0, 1, 4_000), 4_000);
        split.leave(0);
        assert_eq!(split.part(7, 4, 4_000), 4_000);
        assert!(split.is_empty() && !split.is_hungry() && split.in_flight() == 0);
    }

    #[test]
    fn where_all_are_content_each_may_have_everything() {
        let mut split = split(&[(1, 100, false), (1, 200, false)]);
        assert_eq!((split.part(0, 1, 4_000), split.part(7, 1, 4_000)), (4_000, 3_700));
        assert_eq!((split.in_flight(), split.others(0), split.others(9)), (300, 1, 2));
    }

    #[test]
    fn parts_grow_and_shrink_with_the_window() {
        let mut split = split(&[(1, 0, true), (3, 0, true)]);
        assert_eq!(split.part(0, 1, 4_000), 1_000);
        assert_eq!((split.part(0, 1, 8_000), split.part(1, 3, 2_000)), (2_000, 1_500));
        split.weigh(0, 5);
        assert_eq!(split.part(0, 5, 8_000), 5_000);
    }
}
