//! Chunks that were sent and are not acknowledged up to them.

use std::collections::VecDeque;

use bentpipe_units::{Instant, Seq32};

use super::send_queue::Fragment;

/// What is known of a chunk that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    /// On its way.
    InFlight,
    /// Reported beyond a gap. The peer may still change its mind.
    Acked,
    /// To be retransmitted.
    Lost,
}

/// A chunk that was sent.
#[derive(Debug)]
pub(super) struct Sent {
    pub(super) fragment: Fragment,
    /// Index of the path that it took last.
    pub(super) path: usize,
    pub(super) sent_at: Instant,
    pub(super) transmissions: u32,
    /// Reports of it missing since it was last sent.
    pub(super) misses: u8,
    pub(super) status: Status,
    /// It was found lost by reports once; another time only a timer finds it.
    pub(super) fast_done: bool,
    /// It was found lost by a timer.
    pub(super) timed_out: bool,
    /// It was acknowledged before, which the peer may have taken back.
    pub(super) counted: bool,
}

/// Chunks from the first that is not acknowledged on.
#[derive(Debug)]
pub(super) struct Flight {
    first: Seq32,
    chunks: VecDeque<Sent>,
    /// User bytes of chunks in flight.
    in_flight: usize,
    /// User bytes of all chunks.
    bytes: usize,
    /// Number of chunks with [`Status::Lost`] and [`Status::Acked`].
    lost: usize,
    acked: usize,
}

impl Flight {
    /// Nothing sent; the first chunk will have this TSN.
    pub(super) const fn new(first: Seq32) -> Self {
        Self { first, chunks: VecDeque::new(), in_flight: 0, bytes: 0, lost: 0, acked: 0 }
    }

    /// The lowest TSN that is not acknowledged.
    pub(super) const fn first(&self) -> Seq32 {
        self.first
    }

    /// The TSN of the next new chunk.
    pub(super) fn next(&self) -> Seq32 {
        self.first.plus(self.chunks.len() as u32)
    }

    pub(super) fn len(&self) -> usize {
        self.chunks.len()
    }

    pub(super) const fn in_flight(&self) -> usize {
        self.in_flight
    }

    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) const fn acked(&self) -> usize {
        self.acked
    }

    pub(super) const fn has_lost(&self) -> bool {
        self.lost > 0
    }

    /// The chunk at this place from the first on.
    pub(super) fn get(&self, index: usize) -> Option<&Sent> {
        self.chunks.get(index)
    }

    /// The chunk with this TSN.
    pub(super) fn of(&self, tsn: Seq32) -> Option<&Sent> {
        self.chunks.get(tsn.distance_from(self.first) as usize)
    }

    pub(super) fn tsn(&self, index: usize) -> Seq32 {
        self.first.plus(index as u32)
    }

    /// A new chunk leaves.
    pub(super) fn push(&mut self, now: Instant, fragment: Fragment, path: usize) -> Seq32 {
        let tsn = self.next();
        self.bytes += fragment.payload.len();
        self.in_flight += fragment.payload.len();
        self.chunks.push_back(Sent {
            fragment,
            path,
            sent_at: now,
            transmissions: 1,
            misses: 0,
            status: Status::InFlight,
            fast_done: false,
            timed_out: false,
            counted: false,
        });
        tsn
    }

    /// A lost chunk leaves again.
    pub(super) fn again(&mut self, now: Instant, index: usize, path: usize) -> Option<&Sent> {
        self.set(index, Status::InFlight);
        let chunk = self.chunks.get_mut(index)?;
        (chunk.path, chunk.sent_at, chunk.misses) = (path, now, 0);
        chunk.transmissions += 1;
        Some(chunk)
    }

    /// Acknowledged up to it: the first chunk goes.
    pub(super) fn pop(&mut self) -> Option<Sent> {
        self.set(0, Status::Acked);
        let chunk = self.chunks.pop_front()?;
        self.acked -= 1;
        self.bytes -= chunk.fragment.payload.len();
        self.first = self.first.plus(1);
        Some(chunk)
    }

    /// Changes what is known of a chunk.
    pub(super) fn set(&mut self, index: usize, status: Status) {
        let Some(chunk) = self.chunks.get_mut(index) else { return };
        let length = chunk.fragment.payload.len();
        match std::mem::replace(&mut chunk.status, status) {
            Status::InFlight => self.in_flight -= length,
            Status::Acked => self.acked -= 1,
            Status::Lost => self.lost -= 1,
        }
        match status {
            Status::InFlight => self.in_flight += length,
            Status::Acked => {
                self.acked += 1;
                chunk.counted = true;
            }
            Status::Lost => self.lost += 1,
        }
    }

    /// A chunk was found lost, by a timer or by reports.
    pub(super) fn lose(&mut self, index: usize, timed_out: bool) {
        self.set(index, Status::Lost);
        if let Some(chunk) = self.chunks.get_mut(index) {
            chunk.timed_out = timed_out;
            chunk.fast_done |= !timed_out;
            chunk.misses = 0;
        }
    }

    /// A report says that a chunk in flight is missing; gives how often that was said.
    pub(super) fn miss(&mut self, index: usize) -> u8 {
        let Some(chunk) = self.chunks.get_mut(index) else { return 0 };
        chunk.misses = chunk.misses.saturating_add(1);
        chunk.misses
    }

    /// Place of the first chunk from `from` on that is to be retransmitted.
    pub(super) fn next_lost(&self, from: usize) -> Option<usize> {
        if self.lost == 0 {
            return None;
        }
        let mut rest = self.chunks.iter().enumerate().skip(from);
        rest.find(|(_, chunk)| chunk.status == Status::Lost).map(|(index, _)| index)
    }

    /// TSN of the first chunk in flight on a path.
    pub(super) fn earliest_on(&self, path: usize) -> Option<Seq32> {
        let on = |chunk: &Sent| chunk.status == Status::InFlight && chunk.path == path;
        self.chunks.iter().position(on).map(|index| self.tsn(index))
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self, first: Seq32) {
        *self = Self::new(first);
    }
}
