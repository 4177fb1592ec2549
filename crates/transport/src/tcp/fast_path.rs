//! An answer in the place of what it answers: the plain segment that arrives makes one leave, and that is written
//! where the other one lies.
//!
//! It is what [`Endpoint::handle_segment`](crate::Endpoint::handle_segment) and the first steps of [`empty`](crate::empty) do, in their order, at the two
//! ends of a stream that goes one way: the next data at the end that reads at once what comes, and an acknowledgement of
//! new data at the end that writes. Where that does not hold nothing is changed, and the general way is to be taken.

use bentpipe_units::Instant;
use bentpipe_wire::tcp::Segment;

use super::connection::{Connection, Stage, Work};
use crate::PathId;

/// What became of a segment that may be answered in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FastPath {
    /// It is to be taken the general way; nothing was changed.
    NotTaken,
    /// It was taken, and nothing was written. Its payload, if it had one, is gone.
    Taken,
    /// It was taken, and in its place lies the segment that is to be sent first. A congestion header may go with it
    /// ([`Endpoint::take_congestion`](crate::Endpoint::take_congestion)).
    Answered,
}

impl Connection {
    /// Takes the next data of a stream whose reader has read everything before and reads this at once, and writes
    /// the acknowledgement if one is due. `path` is where the segment came from and the answer goes.
    ///
    /// Afterwards the connection is to be emptied unless it [is quiet](crate::Endpoint::is_quiet).
    #[inline]
    pub fn fast_data(
        &mut self,
        now: Instant,
        path: PathId,
        segment: &mut Segment,
        read: impl FnOnce(&[u8]),
    ) -> FastPath {
        let plain = self.stage == Stage::Open
            && self.work == Work::Nothing
            && !self.has_news
            && !self.tx.follows_queue
            && !segment.payload.is_empty()
            && self.is_plain(now, segment)
            && self.tx.waits_for_nothing(segment.ack, segment.window)
            && self.rx.is_next(segment.seq, segment.payload.len())
            && self.rx.is_read_up();
        if !plain {
            return FastPath::NotTaken;
        }
        self.counters.segments_received += 1;
        self.path = path;
        let offset = self.rx.next() as i64;
        self.hear(now, segment, offset);
        let waited = self.rx.deadline();
        self.rx.count_next(now, segment.payload.len());
        self.timer_dirty |= waited.is_none() && self.rx.deadline().is_some();
        read(&segment.payload);
        self.rx.follow_reading();
        if !self.rx.is_due() {
            segment.payload.clear();
            return FastPath::Taken;
        }
        self.encode_ack_alone(now, segment);
        FastPath::Answered
    }

    /// Takes a plain acknowledgement and writes the next full segment if it may leave.
    ///
    /// Afterwards the connection is to be emptied unless it [is quiet](crate::Endpoint::is_quiet).
    #[inline]
    pub fn fast_ack(&mut self, now: Instant, path: PathId, segment: &mut Segment) -> FastPath {
        let plain = self.stage == Stage::Open
            && !self.tx.follows_queue
            && segment.payload.is_empty()
            && self.is_plain(now, segment)
            && self.take_plain_ack(now, segment);
        if !plain {
            return FastPath::NotTaken;
        }
        self.counters.segments_received += 1;
        self.path = path;
        if self.poll_next(now, segment) { FastPath::Answered } else { FastPath::Taken }
    }
}
