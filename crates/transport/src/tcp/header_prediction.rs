//! Header prediction: a short way for what nearly all segments are (Jacobson, "4BSD TCP header
//! prediction", CCR 20(2), 1990).
//!
//! Two kinds take it: the next data at an end that sends nothing, and the acknowledgement of one or two
//! whole segments at an end that misses nothing. What leaves has a short way as well: the next full segment
//! while nothing is to be repaired. And at the end of a flight, whether another segment would leave is known
//! without encoding it. Each does the steps of the general way in their
//! order and leaves out those of which its conditions say that they change nothing; where a condition does
//! not hold, nothing is changed and the general way of [`super::receive`] and [`super::acks`] is taken.

use bentpipe_cc::{Ack, LowPriority};
use bentpipe_units::{ByteCount, Instant};
use bentpipe_wire::Ecn;
use bentpipe_wire::tcp::{Flags, Options, Scps, Segment};
use bytes::Bytes;

use super::acks::AckIn;
use super::connection::{Connection, Stage, Work};
use super::recovery::Recovery;
use super::sender::Sender;
use super::transmit::{Kind, Outgoing};

/// Flags that are something else than data and an acknowledgement.
const UNUSUAL: Flags =
    Flags::SYN.with(Flags::FIN).with(Flags::RST).with(Flags::URG).with(Flags::ECE).with(Flags::CWR);

/// So many acknowledgements after a repair are looked at by the fine timers of a controller.
const LOOKED_AT: u32 = 2;

impl Connection {
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

    /// The segment has nothing but a number, an acknowledgement, a window and its timestamps.
    #[inline]
    pub(super) fn is_plain(&self, now: Instant, segment: &Segment) -> bool {
        segment.flags.contains(Flags::ACK)
            && !segment.flags.intersects(UNUSUAL)
            && segment.ecn != Ecn::Congestion
            && segment.scps == Scps::NONE
            && matches!(segment.options, Options::None)
            && self.is_stamped_right(now, segment)
    }

    /// Takes the next data, which say nothing new to a sender that waits for nothing.
    fn take_plain_data(&mut self, now: Instant, segment: &mut Segment) -> bool {
        let plain = self.tx.waits_for_nothing(segment.ack, segment.window)
            && self.rx.is_next(segment.seq, segment.payload.len());
        if !plain {
            return false;
        }
        let offset = self.rx.offset(segment.seq);
        self.hear(now, segment, offset);
        let waited = self.rx.deadline();
        let payload = std::mem::take(&mut segment.payload);
        let arrival = self.rx.take_next(now, payload);
        self.count(arrival);
        self.timer_dirty |= waited.is_none() && self.rx.deadline().is_some();
        if self.rx.wants_attention() {
            self.mark_receiver_dirty();
        }
        true
    }

    /// Takes an acknowledgement that says nothing new to the receiving side.
    #[inline(never)]
    pub(super) fn take_plain_ack(&mut self, now: Instant, segment: &Segment) -> bool {
        let from = self.rx.next();
        let acked = self.tx.offset(segment.ack);
        if segment.seq != self.rx.wire(from) || acked <= self.tx.board.una() as i64 {
            return false;
        }
        let ack = AckIn {
            offset: acked as u64,
            from,
            window: u64::from(segment.window) * self.tx.agreed.window_unit,
            pure: true,
            marked: false,
            corrupt: false,
            echo: self.echo_of(now, segment),
        };
        let deadline = self.tx.rto_at;
        if !self.tx.take_plain_ack(now, &ack) {
            return false;
        }
        // What is paced, and a controller with a timer, is looked at anew; the timer of the oldest segment mostly
        // becomes later.
        let sooner = match (self.tx.rto_at, deadline) {
            (Some(at), Some(before)) => at < before,
            (at, _) => at.is_some(),
        };
        self.timer_dirty |=
            sooner || self.tx.limits.pacing.is_some() || self.tx.controller.next_timer().is_some();
        self.hear(now, segment, from as i64);
        self.work = Work::Anything;
        true
    }

    /// The peer is there, and the stamp of its segment counts.
    #[inline(always)]
    pub(super) fn hear(&mut self, now: Instant, segment: &Segment, offset: i64) {
        if let Some(stamps) = segment.timestamps
            && self.stamped
            && self.rx.is_up_to_acked(offset)
        {
            self.timestamps.take(now, stamps.value);
        }
        self.last_heard = now;
        self.keepalives = 0;
    }

    /// Writes the next full segment of new data, if nothing else is to be said and nothing but the windows decides
    /// whether it leaves. Gives whether it is the last one for now.
    #[inline]
    pub(super) fn encode_next(&mut self, now: Instant, place: &mut Segment) -> Option<bool> {
        let plain = self.stage == Stage::Open
            && !self.handshake.due
            && self.reset.is_none()
            && !self.keepalive_due
            && !self.rx.wants_to_speak();
        if !plain {
            return None;
        }
        let (start, payload, last) = self.tx.next_plain(now)?;
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
        !self.rx.is_due()
            && !self.rx.is_readable()
            && !self.keepalive_due
            && !self.handshake.due
            && self.reset.is_none()
            && self.tx.is_spent()
    }
}

impl Sender {
    /// Takes the acknowledgement of one or two whole segments that were sent once each, while nothing is
    /// reported, lost or being repaired.
    #[inline(always)]
    fn take_plain_ack(&mut self, now: Instant, ack: &AckIn) -> bool {
        let may_be_mistaken = self.may_undo && self.first_repair.is_some() && ack.echo.is_some();
        let plain = self.open
            && self.cycle.is_none()
            && !self.fin_sent
            && self.counted == 0
            && self.edge > ack.offset
            && self.acks_since_repair >= LOOKED_AT
            && !may_be_mistaken;
        let Some((segments, newest)) = self.board.whole_before(ack.offset).filter(|_| plain) else {
            return false;
        };
        if !self.recovery.on_plain_ack() {
            return false;
        }
        let una = self.board.una();
        let acked = ack.offset - una;
        let was_limited = una <= self.limited_before;
        self.burst_left = self.config.max_burst;
        (self.timeouts_in_row, self.excused) = (0, false);
        self.take_window(ack);
        self.board.acknowledge_whole(segments, ack.offset);
        self.buffer.acknowledge(ack.offset - 1);
        self.measure(now, ack, acked, Some(now.since(newest.sent_at)));
        let rate_sample = self.delivery.take(now, acked, Some(&newest), self.rtt.min());
        let told = Ack {
            bytes: ByteCount::new(acked),
            advanced: ByteCount::new(acked),
            segments,
            newest_sent_at: newest.sent_at,
            rate_sample,
            acks: 1,
            in_recovery: false,
        };
        self.tell_ack(now, &told, was_limited);
        self.duplicates = 0;
        self.acks_since_repair = self.acks_since_repair.saturating_add(1);
        self.follow_controller();
        self.restart_timer(now);
        self.probes.may_follow_ack();
        true
    }

    /// The next full segment of new data, while nothing is to be repaired, something is under way and more waits
    /// behind it: its offset, its bytes, and whether it is the last one that the windows allow.
    #[inline(always)]
    fn next_plain(&mut self, now: Instant) -> Option<(u64, Bytes, bool)> {
        let full = self.mss();
        let start = self.board.next();
        let plain = self.plainly
            && self.open
            && self.cycle.is_none()
            && self.limits.pacing.is_none()
            && !self.probe_window
            && self.rto_at.is_some()
            && self.board.outstanding() > 0
            && self.buffer.len() as u64 >= 2 * full
            && self.edge >= start + 2 * full
            && !self.board.has_lost()
            && self.controller.low_priority() == LowPriority::Nothing;
        if !plain {
            return None;
        }
        let in_flight = self.in_flight();
        if in_flight == 0 || in_flight + full > self.recovery.window(self.cwnd) {
            return None;
        }
        let payload = self.buffer.take_whole(full as usize)?;
        let stamp = self.delivery.stamp(now, false);
        self.board.push(full as u32, false, now, stamp);
        self.timing.sent(now, start + full);
        if self.recovery.follows_departures()
            && let Some((_, segment)) = self.board.last()
        {
            self.recovery.departs(&self.board, segment);
        }
        self.last_sent = Some(now);
        // As has_window would say: what left counts in full.
        debug_assert_eq!(self.in_flight(), in_flight + full);
        let last = in_flight + 2 * full > self.recovery.window(self.cwnd);
        if last {
            self.limited_before = self.board.next();
            (self.pace_at, self.persist_at) = (None, None);
            self.probes.stop();
        }
        Some((start, payload, last))
    }

    /// A full segment waits for nothing but the congestion window.
    fn is_spent(&mut self) -> bool {
        let full = self.mss();
        let spent = self.open
            && self.cycle.is_none()
            && self.limits.pacing.is_none()
            && self.config.max_burst == 0
            && !self.probe_window
            && self.board.outstanding() > 0
            && self.buffer.len() as u64 >= full
            && self.edge >= self.board.next() + full
            && self.board.next_repair().is_none()
            && !self.has_window(full)
            && !matches!(self.controller.low_priority(), LowPriority::Probes { .. });
        if spent {
            (self.pace_at, self.persist_at) = (None, None);
            self.probes.stop();
        }
        spent
    }
}
