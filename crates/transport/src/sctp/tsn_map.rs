//! Which TSNs arrived.

use std::collections::VecDeque;

use bentpipe_units::Seq32;
use bentpipe_wire::sctp::GapBlock;

/// TSNs that arrived: all up to a number, and ranges after it.
#[derive(Debug)]
pub(super) struct TsnMap {
    cumulative: Seq32,
    /// First and last of each range, ascending, with a gap before each.
    ranges: VecDeque<(Seq32, Seq32)>,
}

/// Offsets of gap blocks have sixteen bits: what lies farther could not be reported.
const FARTHEST: u32 = u16::MAX as u32;

impl TsnMap {
    /// Nothing arrived; the peer's first TSN is `first`.
    pub(super) const fn new(first: Seq32) -> Self {
        Self { cumulative: first.plus(u32::MAX), ranges: VecDeque::new() }
    }

    /// Everything up to this number arrived.
    pub(super) const fn cumulative(&self) -> Seq32 {
        self.cumulative
    }

    pub(super) fn has_gaps(&self) -> bool {
        !self.ranges.is_empty()
    }

    pub(super) fn gap_count(&self) -> usize {
        self.ranges.len()
    }

    /// How far a TSN lies beyond the cumulative one; `None` for one at or before it.
    pub(super) fn offset(&self, tsn: Seq32) -> Option<u32> {
        let after = tsn.is_after(self.cumulative);
        after.then(|| tsn.distance_from(self.cumulative))
    }

    /// A TSN too far ahead to be reported.
    pub(super) fn is_beyond(&self, tsn: Seq32) -> bool {
        self.offset(tsn).is_some_and(|offset| offset > FARTHEST)
    }

    /// Whether a TSN arrived before.
    pub(super) fn contains(&self, tsn: Seq32) -> bool {
        let Some(offset) = self.offset(tsn) else { return true };
        let place = self.place(offset);
        self.ranges.get(place).is_some_and(|(first, _)| !first.is_after(tsn))
    }

    /// The first range that ends at or after this offset.
    fn place(&self, offset: u32) -> usize {
        self.ranges.partition_point(|(_, last)| last.distance_from(self.cumulative) < offset)
    }

    /// A new TSN arrived, not farther than can be reported.
    pub(super) fn insert(&mut self, tsn: Seq32) {
        let Some(offset) = self.offset(tsn) else { return };
        if offset == 1 {
            self.cumulative = tsn;
            if let Some(&(first, last)) = self.ranges.front()
                && first == tsn.plus(1)
            {
                self.cumulative = last;
                self.ranges.pop_front();
            }
            return;
        }
        let place = self.place(offset);
        let joins_next = self.ranges.get(place).is_some_and(|(first, _)| *first == tsn.plus(1));
        let before = place.checked_sub(1).and_then(|n| self.ranges.get(n));
        let joins_before = before.is_some_and(|(_, last)| last.plus(1) == tsn);
        match (joins_before, joins_next) {
            (true, true) => {
                if let Some((_, last)) = self.ranges.remove(place) {
                    self.ranges[place - 1].1 = last;
                }
            }
            (true, false) => self.ranges[place - 1].1 = tsn,
            (false, true) => self.ranges[place].0 = tsn,
            (false, false) => self.ranges.insert(place, (tsn, tsn)),
        }
    }

    /// The first ranges as gap blocks, at most so many.
    pub(super) fn gaps(&self, most: usize) -> impl Iterator<Item = GapBlock> {
        let offset = |tsn: Seq32| tsn.distance_from(self.cumulative) as u16; // at most FARTHEST
        let block = move |&(first, last): &(Seq32, Seq32)| GapBlock {
            start: offset(first),
            end: offset(last),
        };
        self.ranges.iter().take(most).map(block)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn gaps_are_offsets_from_the_cumulative_number_across_the_wrap() {
        let mut map = TsnMap::new(Seq32::new(u32::MAX - 1));
        for tsn in [u32::MAX - 1, 0, 1, 4] {
            map.insert(Seq32::new(tsn));
        }
        assert_eq!(map.cumulative(), Seq32::new(u32::MAX - 1));
        let gaps: Vec<_> = map.gaps(9).collect();
        assert_eq!(gaps, [GapBlock { start: 2, end: 3 }, GapBlock { start: 6, end: 6 }]);
        map.insert(Seq32::new(u32::MAX));
        assert_eq!(map.cumulative(), Seq32::new(1));
        assert_eq!(map.gaps(9).collect::<Vec<_>>(), [GapBlock { start: 3, end: 3 }]);
    }

    proptest! {
        #[test]
        fn the_map_is_the_set_of_what_was_put_into_it(
            first in any::<u32>(),
            offsets in prop::collection::vec(0..60u32, 0..80),
        ) {
            let mut map = TsnMap::new(Seq32::new(first));
            let mut set = BTreeSet::new();
            for offset in offsets {
                let tsn = Seq32::new(first).plus(offset);
                prop_assert_eq!(map.contains(tsn), set.contains(&offset));
                if set.insert(offset) {
                    map.insert(tsn);
                }
            }
            let front = (0..).take_while(|n| set.contains(n)).count() as u32;
            prop_assert_eq!(map.cumulative(), Seq32::new(first).plus(front).plus(u32::MAX));
            let mut reported = BTreeSet::from_iter(0..front);
            let mut before = 0;
            for gap in map.gaps(99) {
                prop_assert!(u32::from(gap.start) > before + 1 && gap.start <= gap.end);
                reported.extend((gap.start..=gap.end).map(|n| front + u32::from(n) - 1));
                before = u32::from(gap.end);
            }
            prop_assert_eq!(reported, set);
        }
    }
}
