//! Segments that arrived out of order, sorted by number (paper, section 3).

use std::collections::{VecDeque, vec_deque};

use bentpipe_units::Seq32;
use bytes::Bytes;

/// Most segments of a piece: as many are moved at most when one comes between others.
const PIECE: usize = 1_024;

/// Segments in their order, each with its serial, which says how many numbers lie between it and the first one of all.
type Piece = VecDeque<(u64, Bytes)>;

/// The cache: what arrived beyond VR(R). A number far ahead costs no more than one near by, in whatever order they come.
#[derive(Debug)]
pub(super) struct ReceiveCache {
    /// None is empty. Most segments come at the end; memory that was once needed is used again.
    pieces: VecDeque<Piece>,
    spare: Piece,
    next: Seq32,
    /// The serial of `next`.
    serial: u64,
    segments: usize,
    /// Bytes of the segments that wait here.
    bytes: usize,
}

impl ReceiveCache {
    /// An empty cache that expects `first`.
    pub(super) fn new(first: Seq32) -> Self {
        let (pieces, spare) = (VecDeque::new(), Piece::new());
        Self { pieces, spare, next: first, serial: 0, segments: 0, bytes: 0 }
    }

    /// VR(R): the next number in sequence.
    pub(super) const fn next(&self) -> Seq32 {
        self.next
    }

    /// Nothing is out of order.
    pub(super) const fn is_empty(&self) -> bool {
        self.segments == 0
    }

    /// Segments that wait here.
    pub(super) const fn segments(&self) -> usize {
        self.segments
    }

    /// Bytes of the segments that wait here.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// The serial of a number that is not before VR(R).
    fn serial_of(&self, seq: Seq32) -> u64 {
        self.serial + u64::from(seq.distance_from(self.next))
    }

    /// The first piece that ends with this serial or behind it.
    fn piece(&self, serial: u64) -> usize {
        let ends_before = |piece: &Piece| piece.back().is_some_and(|(last, _)| *last < serial);
        match self.pieces.back() {
            Some(last) if ends_before(last) => self.pieces.len(),
            _ => self.pieces.partition_point(ends_before),
        }
    }

    /// True when this number has arrived and waits, or was delivered before.
    pub(super) fn has(&self, seq: Seq32) -> bool {
        if seq.is_before(self.next) {
            return true;
        }
        let serial = self.serial_of(seq);
        let piece = self.pieces.get(self.piece(serial));
        piece.is_some_and(|piece| piece.binary_search_by_key(&serial, |(s, _)| *s).is_ok())
    }

    /// Puts a segment that is not here into its place. The caller has checked that it lies in the window.
    pub(super) fn insert(&mut self, seq: Seq32, payload: Bytes) {
        let serial = self.serial_of(seq);
        let len = payload.len();
        let at = self.piece(serial);
        if let Some(piece) = self.pieces.get_mut(at) {
            let Err(place) = piece.binary_search_by_key(&serial, |(s, _)| *s) else { return };
            piece.insert(place, (serial, payload));
            if piece.len() > PIECE {
                let rest = piece.split_off(PIECE / 2);
                self.pieces.insert(at + 1, rest);
            }
        } else if let Some(last) = self.pieces.back_mut().filter(|last| last.len() < PIECE) {
            last.push_back((serial, payload));
        } else {
            let mut piece = std::mem::take(&mut self.spare);
            piece.push_back((serial, payload));
            self.pieces.push_back(piece);
        }
        self.segments += 1;
        self.bytes += len;
    }

    /// Skips VR(R), which was delivered without being cached.
    pub(super) fn advance_past_delivered(&mut self) {
        self.next = self.next.plus(1);
        self.serial += 1;
    }

    /// The next segment in sequence, if it is here.
    pub(super) fn take_next(&mut self) -> Option<Bytes> {
        let piece = self.pieces.front_mut()?;
        piece.front().filter(|(serial, _)| *serial == self.serial)?;
        let (_, payload) = piece.pop_front()?;
        if piece.is_empty() {
            self.spare = self.pieces.pop_front().unwrap_or_default();
        }
        self.segments -= 1;
        self.bytes -= payload.len();
        self.advance_past_delivered();
        Some(payload)
    }

    /// The ranges that are missing between `from` and `end`, half open, in order.
    pub(super) fn missing(&self, from: Seq32, end: Seq32) -> Missing<'_> {
        let from = if from.is_before(self.next) { self.next } else { from };
        let at = self.serial_of(from);
        let end = if end.is_after(from) { at + u64::from(end.distance_from(from)) } else { at };
        let mut pieces = self.pieces.range(self.piece(at)..);
        let first = pieces
            .next()
            .map(|piece| piece.range(piece.partition_point(|(serial, _)| *serial < at)..));
        Missing { cache: self, piece: first.unwrap_or_default(), pieces, at, end }
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
    piece: vec_deque::Iter<'a, (u64, Bytes)>,
    pieces: vec_deque::Iter<'a, Piece>,
    at: u64,
    end: u64,
}

impl Missing<'_> {
    /// The serial of the next segment that is here.
    fn here(&mut self) -> Option<u64> {
        loop {
            match self.piece.next() {
                Some((serial, _)) => return Some(*serial),
                None => self.piece = self.pieces.next()?.iter(),
            }
        }
    }
}

impl Iterator for Missing<'_> {
    type Item = (Seq32, Seq32);

    fn next(&mut self) -> Option<(Seq32, Seq32)> {
        while self.at < self.end {
            let first = self.at;
            let until = self.here().map_or(self.end, |serial| serial.min(self.end));
            self.at = until + 1;
            if until > first {
                let (next, serial) = (self.cache.next, self.cache.serial);
                let number = |of: u64| next.plus((of - serial) as u32);
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

    #[test]
    fn thousands_from_both_ends_to_the_middle_wait_in_pieces_and_leave_in_order() {
        let first = Seq32::new(0);
        let mut cache = ReceiveCache::new(first);
        let most = 10_001u32;
        for n in 1..=most / 2 {
            for seq in [n, most - n] {
                cache.insert(first.plus(seq), Bytes::from(seq.to_be_bytes().to_vec()));
                assert!(cache.has(first.plus(seq)));
            }
        }
        assert!(cache.pieces.iter().all(|piece| (1..=PIECE).contains(&piece.len())));
        assert_eq!(cache.segments(), most as usize - 1);
        let missing: Vec<_> = cache.missing(first, first.plus(most + 2)).collect();
        assert_eq!(missing, [(first, first.plus(1)), (first.plus(most), first.plus(most + 2))]);
        cache.advance_past_delivered();
        for seq in 1..most {
            assert_eq!(cache.take_next().as_deref(), Some(&seq.to_be_bytes()[..]));
        }
        assert!(cache.is_empty() && cache.bytes() == 0 && cache.pieces.is_empty());
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
