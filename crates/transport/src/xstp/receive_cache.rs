//! Segments that arrived out of order, sorted by number (paper, section 3).

use std::collections::{VecDeque, vec_deque};

use bentpipe_units::Seq32;
use bytes::Bytes;

/// The cache: what arrived beyond VR(R). A number far ahead costs no more than one near by.
#[derive(Debug)]
pub(super) struct ReceiveCache {
    /// Each with its serial, which says how many numbers lie between it and the first one of all, in their order. Most
    /// come at the end; memory that was once needed is used again.
    waiting: VecDeque<(u64, Bytes)>,
    next: Seq32,
    /// The serial of `next`.
    serial: u64,
    /// Bytes of the segments that wait here.
    bytes: usize,
}

impl ReceiveCache {
    /// An empty cache that expects `first`.
    pub(super) fn new(first: Seq32) -> Self {
        Self { waiting: VecDeque::new(), next: first, serial: 0, bytes: 0 }
    }

    /// VR(R): the next number in sequence.
    pub(super) const fn next(&self) -> Seq32 {
        self.next
    }

    /// Nothing is out of order.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Segments that wait here.
    pub(super) fn segments(&self) -> usize {
        self.waiting.len()
    }

    /// Bytes of the segments that wait here.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// The serial of a number that is not before VR(R).
    fn serial_of(&self, seq: Seq32) -> u64 {
        self.serial + u64::from(seq.distance_from(self.next))
    }

    /// Where a serial is, or where its place is.
    fn find(&self, serial: u64) -> Result<usize, usize> {
        match self.waiting.back() {
            Some((last, _)) if *last < serial => Err(self.waiting.len()),
            _ => self.waiting.binary_search_by_key(&serial, |(serial, _)| *serial),
        }
    }

    /// True when this number has arrived and waits, or was delivered before.
    pub(super) fn has(&self, seq: Seq32) -> bool {
        seq.is_before(self.next) || !self.is_empty() && self.find(self.serial_of(seq)).is_ok()
    }

    /// Puts a segment that is not here into its place. The caller has checked that it lies in the window.
    pub(super) fn insert(&mut self, seq: Seq32, payload: Bytes) {
        let serial = self.serial_of(seq);
        if let Err(place) = self.find(serial) {
            self.bytes += payload.len();
            self.waiting.insert(place, (serial, payload));
        }
    }

    /// Skips VR(R), which was delivered without being cached.
    pub(super) fn advance_past_delivered(&mut self) {
        self.next = self.next.plus(1);
        self.serial += 1;
    }

    /// The next segment in sequence, if it is here.
    pub(super) fn take_next(&mut self) -> Option<Bytes> {
        self.waiting.front().filter(|(serial, _)| *serial == self.serial)?;
        let (_, payload) = self.waiting.pop_front()?;
        self.bytes -= payload.len();
        self.advance_past_delivered();
        Some(payload)
    }

    /// The ranges that are missing between `from` and `end`, half open, in order.
    pub(super) fn missing(&self, from: Seq32, end: Seq32) -> Missing<'_> {
        let from = if from.is_before(self.next) { self.next } else { from };
        let at = self.serial_of(from);
        let end = if end.is_after(from) { at + u64::from(end.distance_from(from)) } else { at };
        let first = self.waiting.partition_point(|(serial, _)| *serial < at);
        Missing { cache: self, waiting: self.waiting.range(first..), at, end }
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        *self = Self::new(self.next);
    }
}

/// Iterator over missing ranges.
#[derive(Debug)]
pub(super) struct Missing<'a> {
    cache: &'a ReceiveCache,
    waiting: vec_deque::Iter<'a, (u64, Bytes)>,
    at: u64,
    end: u64,
}

impl Iterator for Missing<'_> {
    type Item = (Seq32, Seq32);

    fn next(&mut self) -> Option<(Seq32, Seq32)> {
        let number = |serial: u64| self.cache.next.plus((serial - self.cache.serial) as u32);
        while self.at < self.end {
            let first = self.at;
            let until = self.waiting.next().map_or(self.end, |(serial, _)| *serial).min(self.end);
            self.at = until + 1;
            if until > first {
                return Some((number(first), number(until)));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn missing_ranges_lie_between_cached_segments_and_reach_the_end() {
        let first = Seq32::new(u32::MAX);
        let mut cache = ReceiveCache::new(first);
        for offset in [2, 3, 6] {
            cache.insert(first.plus(offset), Bytes::from_static(b"x"));
        }
        let offsets = |from: u32, end: u32| -> Vec<_> {
            cache
                .missing(first.plus(from), first.plus(end))
                .map(|(a, b)| (a.distance_from(first), b.distance_from(first)))
                .collect()
        };
        assert_eq!(offsets(0, 9), [(0, 2), (4, 6), (7, 9)]);
        assert_eq!(offsets(1, 5), [(1, 2), (4, 5)]);
        assert_eq!(offsets(2, 4), []);
    }

    #[test]
    fn segments_leave_in_sequence_only() {
        let first = Seq32::new(5);
        let mut cache = ReceiveCache::new(first);
        cache.insert(first.plus(1), Bytes::from_static(b"b"));
        assert_eq!(cache.take_next(), None);
        cache.advance_past_delivered();
        assert_eq!(cache.take_next(), Some(Bytes::from_static(b"b")));
        assert!(cache.is_empty());
        assert_eq!(cache.next(), first.plus(2));
    }

    proptest! {
        #[test]
        fn what_is_missing_is_what_has_not_arrived(
            first in any::<u32>(),
            arrivals in prop::collection::vec((0u32..80, 0u8..4), 0..120),
            from in 0u32..60,
            len in 0u32..90,
        ) {
            let mut cache = ReceiveCache::new(Seq32::new(first));
            let at = |offset: u32| Seq32::new(first).plus(offset);
            let (mut here, mut next) = (BTreeSet::new(), 0);
            for (offset, takes) in arrivals {
                if offset > next && here.insert(offset) {
                    cache.insert(at(offset), Bytes::from(vec![offset as u8]));
                }
                if takes == 0 {
                    cache.advance_past_delivered();
                    next += 1;
                    while here.remove(&next) {
                        prop_assert_eq!(cache.take_next(), Some(Bytes::from(vec![next as u8])));
                        next += 1;
                    }
                    prop_assert_eq!(cache.take_next(), None);
                }
                prop_assert_eq!((cache.segments(), cache.bytes()), (here.len(), here.len()));
            }
            let mut missing = BTreeSet::new();
            for (lower, upper) in cache.missing(at(from), at(from + len)) {
                let lower = lower.distance_from(at(0));
                let upper = upper.distance_from(at(0));
                prop_assert!(lower < upper && !missing.contains(&lower.wrapping_sub(1)));
                missing.extend(lower..upper);
            }
            let absent = |offset: &u32| *offset >= next && !here.contains(offset);
            prop_assert!(missing.into_iter().eq((from..from + len).filter(absent)));
        }
    }
}
