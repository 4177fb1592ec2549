//! What is done with a segment that header prediction finds plain, and an answer in the place of
//! what it answers: the plain segment that arrives makes one leave, and that is written where the other one lies.
//!
//! The answer is what [`Endpoint::handle_segment`](crate::Endpoint::handle_segment) and the first steps of
//! [`empty`](crate::empty) do, in their order, at the two ends of a stream that goes one way: the next data at the end
//! that reads at once what comes, and an acknowledgement of new data at the end that writes. Where that does not hold
//! nothing is changed, and the general path is to be taken.

use bentpipe_units::Instant;
use bentpipe_wire::tcp::Segment;

use super::{Connection, Stage};
use crate::PathId;
use crate::tcp::receiver::Receiver;
use crate::tcp::sender::{Kind, Outgoing, has_plain_header};

/// What became of a segment that may be answered in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FastPath {
    /// It is to be taken by the general path; nothing was changed.
    NotTaken,
    /// It was taken, and nothing was written. Its payload, if it had one, is gone.
    Taken,
    /// It was taken, and in its place lies the segment that is to be sent first. A congestion header may go with it
    /// ([`NetworkFeedback::take_congestion`](crate::NetworkFeedback::take_congestion)).
    Answered,
}

impl Connection {
    /// Takes the next data of a stream whose reader has read everything before and reads this at once, and writes
    /// the acknowledgement if one is due. `path` is where the segment came from and the answer goes.
    ///
    /// Afterwards the connection is to be emptied unless it [is quiet](crate::Readiness::is_quiet).
    #[inline]
    pub fn fast_data(
        &mut self,
        now: Instant,
        path: PathId,
        segment: &mut Segment,
        read: impl FnOnce(&[u8]),
    ) -> FastPath {
        let plain = self.stage == Stage::Open
            && self.dirty.is_idle()
            && !self.dirty.has_news()
            && !self.tx.follows_queue()
            && !segment.payload.is_empty()
            && self.is_plain(now, segment)
            && self.is_next_data(segment)
            && self.rx.is_read_up();
        if !plain {
            return FastPath::NotTaken;
        }
        self.counters.segments_received += 1;
        self.path = path;
        self.hear_data(now, segment, |rx| rx.count_next(now, segment.payload.len()));
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
    /// Afterwards the connection is to be emptied unless it [is quiet](crate::Readiness::is_quiet).
    #[inline]
    pub fn fast_ack(&mut self, now: Instant, path: PathId, segment: &mut Segment) -> FastPath {
        let plain = self.stage == Stage::Open
            && !self.tx.follows_queue()
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

    /// Takes a segment of an open connection that is plain data or a plain acknowledgement. False when it is
    /// neither.
    #[inline]
    pub(super) fn handle_plain(&mut self, now: Instant, segment: &mut Segment) -> bool {
        self.is_plain(now, segment)
            && if segment.payload.is_empty() {
                self.take_plain_ack(now, segment)
            } else {
                self.take_plain_data(now, segment)
            }
    }

    /// The segment has a plain header with timestamps that are not old.
    #[inline]
    fn is_plain(&self, now: Instant, segment: &Segment) -> bool {
        has_plain_header(segment)
            && !self.ecn.ends_with_unmarked()
            && self.timestamps.are_right(now, segment.timestamps)
    }

    /// Takes the next data, which say nothing new to a sender that waits for nothing.
    fn take_plain_data(&mut self, now: Instant, segment: &mut Segment) -> bool {
        if !self.is_next_data(segment) {
            return false;
        }
        let payload = std::mem::take(&mut segment.payload);
        let arrival = self.hear_data(now, segment, |rx| rx.take_next(now, payload));
        self.count(arrival);
        if self.rx.wants_attention() {
            self.dirty.mark_receiver(self.tx.is_idle());
        }
        true
    }

    /// The next data, which say nothing new to a sender that waits for nothing.
    #[inline]
    fn is_next_data(&self, segment: &Segment) -> bool {
        self.tx.waits_for_nothing(segment.ack, segment.window)
            && self.rx.is_next(segment.seq, segment.payload.len())
    }

    /// The next data are taken, in whatever way: the peer is there, and an acknowledgement may wait for a time.
    #[inline(always)]
    fn hear_data<T>(
        &mut self,
        now: Instant,
        segment: &Segment,
        take: impl FnOnce(&mut Receiver) -> T,
    ) -> T {
        self.note_header(now, segment, self.rx.next() as i64);
        let echo = || self.timestamps.echo(now, segment.timestamps).map(|(_, since)| since);
        self.rx.hear_echo(echo);
        let waited = self.rx.deadline();
        let taken = take(&mut self.rx);
        self.dirty.mark_timer(waited.is_none() && self.rx.deadline().is_some());
        taken
    }

    /// Takes an acknowledgement that says nothing new to the receiving side.
    #[inline(never)]
    pub(super) fn take_plain_ack(&mut self, now: Instant, segment: &Segment) -> bool {
        let from = self.rx.next();
        let acked = self.tx.offset(segment.ack);
        if segment.seq != self.rx.wire(from) || acked <= self.tx.una() as i64 {
            return false;
        }
        let ack = self.read_ack(now, segment, acked as u64, from);
        let deadline = self.tx.late_at();
        if !self.tx.take_plain_ack(now, &ack) {
            return false;
        }
        // What is paced, and a controller with a timer, is looked at anew; the timer of the oldest segment mostly
        // becomes later.
        self.dirty.mark_timer(self.is_sooner_than(deadline) || self.tx.is_timed());
        self.note_header(now, segment, from as i64);
        self.dirty.mark_sender();
        true
    }

    /// Something that was sent counts as late sooner than it did.
    #[inline]
    fn is_sooner_than(&self, deadline: Option<Instant>) -> bool {
        match (self.tx.late_at(), deadline) {
            (Some(at), Some(before)) => at < before,
            (at, _) => at.is_some(),
        }
    }

    /// The peer is there, and the stamp of its segment counts.
    #[inline(always)]
    fn note_header(&mut self, now: Instant, segment: &Segment, offset: i64) {
        self.take_timestamps(now, segment, offset);
        self.dirty.mark_timer(self.keepalive.heard(now));
    }

    /// Writes the next full segment of new data, if nothing else is to be said and nothing but the windows decides
    /// whether it leaves. Gives whether it is the last one for now.
    #[inline]
    pub(super) fn encode_next(&mut self, now: Instant, place: &mut Segment) -> Option<bool> {
        if self.stage != Stage::Open || self.rx.wants_to_speak() || self.owes_something() {
            return None;
        }
        let deadline = self.tx.late_at();
        let (start, payload, last) = self.tx.next_plain(now)?;
        self.dirty.mark_timer(self.is_sooner_than(deadline));
        self.encode_data(
            now,
            place,
            Outgoing { start, payload, fin: false, push: false, kind: Kind::New, low: false },
        );
        Some(last)
    }

    /// A segment was written and another one would find no room in the window: then there is nothing more to
    /// send, as asking for it would find as well.
    #[inline]
    pub(super) fn is_spent(&mut self) -> bool {
        !self.rx.is_due() && !self.rx.is_readable() && !self.owes_something() && self.tx.is_spent()
    }

    /// Something is to be said that is neither data nor an acknowledgement.
    #[inline]
    fn owes_something(&self) -> bool {
        self.handshake.is_due()
            || self.ending.has_reset()
            || self.keepalive.is_due()
            || self.ecn.owes()
    }
}
