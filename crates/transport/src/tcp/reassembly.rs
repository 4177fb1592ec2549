//! What arrived: in order for the application, out of order until the gaps are filled.

use std::collections::VecDeque;

use bytes::Bytes;

/// Bytes of the receive buffer for which there may be one piece, besides the first few: tiny segments
/// must not cost more memory than they carry.
const BYTES_PER_PIECE: usize = 64;

/// The received part of a stream. Offsets count the sequence numbers since the initial one.
#[derive(Debug)]
pub(super) struct Reassembly {
    next: u64,
    ready: VecDeque<Bytes>,
    ready_bytes: usize,
    /// What arrived out of order, sorted, nothing twice.
    pieces: VecDeque<(u64, Bytes)>,
    /// The stretches that the pieces make up, sorted.
    stretches: Vec<Stretch>,
    arrivals: u64,
    most_pieces: usize,
    /// Bytes of the pieces, and the most that there were.
    kept: u64,
    most_kept: u64,
}

/// A stretch that arrived out of order.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    start: u64,
    end: u64,
    /// When it last grew, counted in arrivals.
    touched: u64,
}

/// What became of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    /// It was the next one, and nothing is missing.
    InOrder,
    /// It was the next one, and it filled a gap or a part of it.
    FilledGap,
    /// Something before it is missing.
    OutOfOrder,
    /// All of it had arrived before.
    Duplicate,
    /// There is no room for so many small pieces.
    Dropped,
}

impl Reassembly {
    /// Nothing has arrived; the first byte will have this offset.
    pub(super) fn new(first: u64, room: usize) -> Self {
        Self {
            next: first,
            ready: VecDeque::new(),
            ready_bytes: 0,
            pieces: VecDeque::new(),
            stretches: Vec::new(),
            arrivals: 0,
            most_pieces: 64 + room / BYTES_PER_PIECE,
            kept: 0,
            most_kept: 0,
        }
    }

    /// The offset that is expected next.
    pub(super) const fn next(&self) -> u64 {
        self.next
    }

    /// Bytes that wait for the application.
    pub(super) const fn ready_bytes(&self) -> usize {
        self.ready_bytes
    }

    /// Nothing is missing.
    pub(super) fn is_complete(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Bytes that wait out of order.
    pub(super) const fn kept(&self) -> u64 {
        self.kept
    }

    /// The most bytes that waited out of order at a time.
    pub(super) const fn most_kept(&self) -> u64 {
        self.most_kept
    }

    /// Takes `payload`, whose first byte has the offset `start`.
    #[inline]
    pub(super) fn insert(&mut self, start: u64, mut payload: Bytes) -> Arrival {
        let end = start + payload.len() as u64;
        if end <= self.next {
            return Arrival::Duplicate;
        }
        if self.ready.len() + self.pieces.len() >= self.most_pieces {
            return Arrival::Dropped;
        }
        if start <= self.next {
            let _ = payload.split_to((self.next - start) as usize);
            if self.pieces.is_empty() {
                self.deliver(payload);
                return Arrival::InOrder;
            }
            return self.fill(payload);
        }
        self.keep(start, end, &payload)
    }

    /// Takes the bytes that are expected next while nothing is missing.
    #[inline]
    pub(super) fn append(&mut self, payload: Bytes) -> Arrival {
        if self.ready.len() >= self.most_pieces {
            return Arrival::Dropped;
        }
        self.deliver(payload);
        Arrival::InOrder
    }

    /// The bytes that are expected next came while nothing is missing or waits to be read, and were read.
    #[inline]
    pub(super) fn pass(&mut self, len: usize) {
        self.next += len as u64;
    }

    #[inline]
    fn deliver(&mut self, payload: Bytes) {
        self.next += payload.len() as u64;
        self.ready_bytes += payload.len();
        self.ready.push_back(payload);
    }

    /// The next bytes came, and what follows them may be here.
    #[inline(never)]
    fn fill(&mut self, mut payload: Bytes) -> Arrival {
        // A segment may reach into what is here and beyond it.
        while !payload.is_empty() {
            let gap = self.pieces.front().map_or(usize::MAX, |(s, _)| (*s - self.next) as usize);
            self.deliver(payload.split_to(gap.min(payload.len())));
            while self.pieces.front().is_some_and(|(start, _)| *start == self.next)
                && let Some((_, piece)) = self.pieces.pop_front()
            {
                self.kept -= piece.len() as u64;
                let known = piece.len().min(payload.len());
                let _ = payload.split_to(known);
                self.deliver(piece);
            }
        }
        let next = self.next;
        self.stretches.retain(|stretch| stretch.end > next);
        Arrival::FilledGap
    }

    /// Keeps what arrived out of order.
    #[inline(never)]
    fn keep(&mut self, start: u64, end: u64, payload: &Bytes) -> Arrival {
        let (mut at, mut fresh) = (start, false);
        let mut index = self.pieces.partition_point(|(s, piece)| s + piece.len() as u64 <= start);
        while at < end {
            let piece = self.pieces.get(index).map(|(s, piece)| (*s, s + piece.len() as u64));
            match piece {
                Some((from, to)) if from <= at => at = to,
                other => {
                    let stop = other.map_or(end, |(from, _)| from.min(end));
                    let part = payload.slice((at - start) as usize..(stop - start) as usize);
                    self.kept += part.len() as u64;
                    self.pieces.insert(index, (at, part));
                    (at, fresh) = (stop, true);
                }
            }
            index += 1;
        }
        self.join(start, end);
        self.most_kept = self.most_kept.max(self.kept);
        if fresh { Arrival::OutOfOrder } else { Arrival::Duplicate }
    }

    /// Joins `start .. end` with the stretches that it touches.
    fn join(&mut self, mut start: u64, mut end: u64) {
        let first = self.stretches.partition_point(|stretch| stretch.end < start);
        let after = self.stretches.partition_point(|stretch| stretch.start <= end);
        if first < after {
            start = start.min(self.stretches[first].start);
            end = end.max(self.stretches[after - 1].end);
        }
        self.arrivals += 1;
        let joined = Stretch { start, end, touched: self.arrivals };
        self.stretches.splice(first..after, [joined]);
    }

    /// The stretches that arrived out of order, the one that grew last first (RFC 2018, section 4), at
    /// most four.
    pub(super) fn latest(&self) -> impl Iterator<Item = (u64, u64)> {
        let mut latest = [None::<Stretch>; 4];
        for stretch in &self.stretches {
            let mut carried = Some(*stretch);
            for place in &mut latest {
                let newer = |a: Option<Stretch>, b: Option<Stretch>| {
                    a.map_or(0, |a| a.touched) > b.map_or(0, |b| b.touched)
                };
                if newer(carried, *place) {
                    std::mem::swap(&mut carried, place);
                }
            }
        }
        latest.into_iter().flatten().map(|stretch| (stretch.start, stretch.end))
    }

    /// All stretches that arrived out of order, by offset.
    pub(super) fn stretches(&self) -> impl DoubleEndedIterator<Item = (u64, u64)> {
        self.stretches.iter().map(|stretch| (stretch.start, stretch.end))
    }

    /// The next bytes for the application.
    pub(super) fn read(&mut self) -> Option<Bytes> {
        let bytes = self.ready.pop_front()?;
        self.ready_bytes -= bytes.len();
        Some(bytes)
    }

    /// Forgets what arrived out of order.
    pub(super) fn clear(&mut self) {
        self.pieces = VecDeque::new();
        self.kept = 0;
        self.stretches = Vec::new();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn stream(from: u64, len: usize) -> Bytes {
        (from..from + len as u64).map(|n| (n * 7 % 251) as u8).collect()
    }

    fn read_all(data: &mut Reassembly) -> Vec<u8> {
        std::iter::from_fn(|| data.read()).flatten().collect()
    }

    #[test]
    fn what_comes_in_order_is_not_copied() {
        let mut data = Reassembly::new(1, 1000);
        let bytes = stream(1, 100);
        let address = bytes.as_ptr();
        assert_eq!(data.insert(1, bytes), Arrival::InOrder);
        assert_eq!(data.read().map(|bytes| bytes.as_ptr()), Some(address));
    }

    #[test]
    fn the_stretch_that_grew_last_is_reported_first() {
        let mut data = Reassembly::new(0, 10_000);
        for start in [100, 300, 500, 700, 900] {
            assert_eq!(data.insert(start, stream(start, 50)), Arrival::OutOfOrder);
        }
        assert_eq!(data.insert(350, stream(350, 50)), Arrival::OutOfOrder);
        let latest: Vec<_> = data.latest().collect();
        assert_eq!(latest, [(300, 400), (900, 950), (700, 750), (500, 550)]);
        assert_eq!(data.insert(300, stream(300, 100)), Arrival::Duplicate);
        assert_eq!(data.insert(0, stream(0, 100)), Arrival::FilledGap);
        assert_eq!((data.next(), data.latest().count()), (150, 4));
        assert_eq!((data.kept, data.most_kept()), (250, 300), "one stretch of 50 is in order now");
    }

    #[test]
    fn tiny_pieces_do_not_take_more_memory_than_the_buffer() {
        let mut data = Reassembly::new(0, 640);
        let kept = (1..1000).filter(|n| data.insert(2 * n, stream(0, 1)) == Arrival::OutOfOrder);
        assert_eq!(kept.count(), 74);
        assert_eq!(data.insert(0, stream(0, 1)), Arrival::Dropped);
    }

    proptest! {
        #[test]
        fn segments_of_any_cut_and_order_give_the_stream(
            segments in prop::collection::vec((0..600u64, 1..90usize), 0..60),
        ) {
            let mut data = Reassembly::new(0, 100_000);
            let mut got = Vec::new();
            for (start, len) in segments {
                data.insert(start, stream(start, len));
                got.extend(read_all(&mut data));
            }
            for start in (0..690).step_by(30) {
                data.insert(start, stream(start, 30));
            }
            got.extend(read_all(&mut data));
            prop_assert_eq!(got, stream(0, 690));
            prop_assert!(data.is_complete() && data.latest().next().is_none());
        }
    }
}
