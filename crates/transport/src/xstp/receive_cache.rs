//! Segments that arrived out of order, sorted by number (paper, section 3).

use std::collections::VecDeque;

use bentpipe_units::Seq32;
use bytes::Bytes;

/// The cache: one place for each number from VR(R) on, as far as something arrived.
#[derive(Debug)]
pub(super) struct ReceiveCache {
    slots: VecDeque<Option<Bytes>>,
    next: Seq32,
    /// Segments that wait here, and their bytes.
    segments: usize,
    bytes: usize,
}

impl ReceiveCache {
    /// An empty cache that expects `first`.
    pub(super) fn new(first: Seq32) -> Self {
        Self { slots: VecDeque::new(), next: first, segments: 0, bytes: 0 }
    }

    /// VR(R): the next number in sequence.
    pub(super) const fn next(&self) -> Seq32 {
        self.next
    }

    /// Nothing is out of order.
    pub(super) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Segments that wait here.
    pub(super) const fn segments(&self) -> usize {
        self.segments
    }

    /// Bytes of the segments that wait here.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// True when this number has arrived and waits, or was delivered before.
    pub(super) fn has(&self, seq: Seq32) -> bool {
        seq.is_before(self.next)
            || matches!(self.slots.get(seq.distance_from(self.next) as usize), Some(Some(_)))
    }

    /// Puts a segment that is not here into its place. The caller has checked that it lies in the window.
    pub(super) fn insert(&mut self, seq: Seq32, payload: Bytes) {
        let index = seq.distance_from(self.next) as usize;
        if index >= self.slots.len() {
            self.slots.resize(index + 1, None);
        }
        self.segments += 1;
        self.bytes += payload.len();
        self.slots[index] = Some(payload);
    }

    /// Skips VR(R), which was delivered without being cached.
    pub(super) fn advance_past_delivered(&mut self) {
        self.next = self.next.plus(1);
        self.slots.pop_front();
    }

    /// The next segment in sequence, if it is here.
    pub(super) fn take_next(&mut self) -> Option<Bytes> {
        let payload = self.slots.front_mut()?.take()?;
        self.segments -= 1;
        self.bytes -= payload.len();
        self.advance_past_delivered();
        Some(payload)
    }

    /// The ranges that are missing between `from` and `end`, half open, in order.
    pub(super) fn missing(&self, from: Seq32, end: Seq32) -> Missing<'_> {
        let from = if from.is_before(self.next) { self.next } else { from };
        Missing { cache: self, at: from, end }
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
    at: Seq32,
    end: Seq32,
}

impl Iterator for Missing<'_> {
    type Item = (Seq32, Seq32);

    fn next(&mut self) -> Option<(Seq32, Seq32)> {
        while self.at.is_before(self.end) && self.cache.has(self.at) {
            self.at = self.at.plus(1);
        }
        if !self.at.is_before(self.end) {
            return None;
        }
        let first = self.at;
        while self.at.is_before(self.end) && !self.cache.has(self.at) {
            self.at = self.at.plus(1);
        }
        Some((first, self.at))
    }
}

#[cfg(test)]
mod tests {
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
}
