//! What is done with a segment of a connection that both ends know (RFC 9293, section 3.10.7.4, with
//! the defences of RFC 5961).

use bentpipe_units::Instant;
use bentpipe_wire::tcp::{Flags, Scps, Segment};

use super::{Connection, Stage};
use crate::Failure;
use crate::tcp::ack_in::AckIn;
use crate::tcp::reassembly::Arrival;
use crate::tcp::receiver::Receiver;

impl Connection {
    /// A segment while our SYN is out (RFC 9293, section 3.10.7.3).
    #[cold]
    pub(super) fn handle_in_syn_sent(&mut self, now: Instant, segment: &Segment) {
        let flags = segment.flags;
        let acknowledges = flags.contains(Flags::ACK);
        if acknowledges && self.tx.offset(segment.ack) != 1 {
            self.ignore();
            if !flags.contains(Flags::RST) {
                self.ending.reset(segment.ack, None);
            }
            return;
        }
        if flags.contains(Flags::RST) {
            if acknowledges {
                self.drop_connection(Some(Failure::ResetByPeer));
            } else {
                self.ignore();
            }
            return;
        }
        if !flags.contains(Flags::SYN) {
            return self.ignore();
        }
        self.take_syn(now, segment);
        if acknowledges {
            self.establish(now, segment.window, false);
            self.rx.acknowledge_now();
        } else {
            // Both ends opened at once.
            self.stage = Stage::SynReceived;
            self.handshake.ask();
        }
    }

    /// The peer's SYN, with or without an acknowledgement.
    pub(super) fn take_syn(&mut self, now: Instant, segment: &Segment) {
        self.handshake.take_offer(&self.config, segment);
        self.timestamps.agree(self.handshake.has_timestamps());
        self.ecn.agree(self.handshake.ecn());
        if let Some(stamps) = segment.timestamps.filter(|_| self.timestamps.is_agreed()) {
            self.timestamps.take(now, stamps.value);
        }
        let unit = self.handshake.window_unit(&self.config);
        self.rx = Receiver::new(self.config.clone(), segment.seq, unit);
    }

    /// Our SYN is acknowledged by a segment whose window field is `window`.
    fn establish(&mut self, now: Instant, window: u16, scaled: bool) {
        let options = self.timestamps.len();
        let (agreed, measured) = self.handshake.complete(now, &self.config, options);
        if let Some(measured) = measured {
            self.tx.sample_handshake(measured);
            self.rx.know_rtt(measured);
        }
        let unit = if scaled { agreed.window_unit } else { 1 };
        self.tx.open(now, agreed, u64::from(window) * unit, 0);
        self.stage = Stage::Open;
        self.pending.connect();
        self.keepalive.opened(now);
    }

    /// Takes over the timestamp of a segment at or before what was acknowledged last.
    #[inline(always)]
    pub(super) fn take_timestamps(&mut self, now: Instant, segment: &Segment, offset: i64) {
        if let Some(stamps) = segment.timestamps
            && self.timestamps.is_agreed()
            && self.rx.is_up_to_acked(offset)
        {
            self.timestamps.take(now, stamps.value);
        }
    }

    #[inline(never)]
    pub(super) fn handle_synchronized(&mut self, now: Instant, segment: &mut Segment) {
        let flags = segment.flags;
        let (offset, len) = (self.rx.offset(segment.seq), segment.seq_len());
        if self.is_same_syn(segment, offset) {
            return self.handle_syn_again(now, segment);
        }
        if !flags.contains(Flags::RST) && !self.timestamps.are_right(now, segment.timestamps) {
            // RFC 7323, section 5.3, rule R1; a segment without its stamp is dropped.
            self.ignore();
            if segment.timestamps.is_some() {
                self.answer(now, len);
            }
            return;
        }
        if !self.rx.accepts(offset, len) {
            return self.handle_unacceptable(now, segment, offset);
        }
        if flags.contains(Flags::RST) {
            return self.handle_reset(now, offset);
        }
        if flags.contains(Flags::SYN) {
            // RFC 5961, section 4.
            return self.handle_new_syn(now, segment);
        }
        if !flags.contains(Flags::ACK) {
            return self.ignore();
        }
        self.take_timestamps(now, segment, offset);
        if self.stage == Stage::SynReceived && !self.complete_handshake(now, segment) {
            return;
        }
        self.keepalive.heard(now);
        if !self.handle_ack(now, segment, offset) {
            return;
        }
        if self.ecn.take(segment, self.rx.unacknowledged()) {
            self.rx.acknowledge_now();
        }
        if !segment.payload.is_empty() || flags.contains(Flags::FIN) {
            self.handle_data(now, segment, offset);
        }
        self.end_if_done(now);
    }

    /// The peer's SYN once more, or its SYN-ACK after both opened at once.
    fn is_same_syn(&self, segment: &Segment, offset: i64) -> bool {
        self.stage == Stage::SynReceived
            && segment.flags.contains(Flags::SYN)
            && !segment.flags.contains(Flags::RST)
            && offset == 0
    }

    #[cold]
    fn handle_syn_again(&mut self, now: Instant, segment: &Segment) {
        if segment.flags.contains(Flags::ACK) {
            if self.tx.offset(segment.ack) == 1 {
                self.establish(now, segment.window, false);
                self.rx.acknowledge_now();
            } else {
                self.ignore();
            }
        } else {
            self.handshake.ask();
        }
    }

    /// Our SYN-ACK is acknowledged. False when the segment acknowledges something else.
    fn complete_handshake(&mut self, now: Instant, segment: &Segment) -> bool {
        if self.tx.offset(segment.ack) != 1 {
            self.ignore();
            self.ending.reset(segment.ack, None);
            return false;
        }
        self.establish(now, segment.window, true);
        true
    }

    fn handle_unacceptable(&mut self, now: Instant, segment: &Segment, offset: i64) {
        if self.stage == Stage::TimeWait && self.is_reopening(segment) {
            return self.drop_connection(None);
        }
        if segment.flags.contains(Flags::RST) {
            return self.ignore();
        }
        let len = segment.seq_len();
        if self.rx.is_acked_last(offset + i64::from(len)) {
            // The acknowledgement of this segment was lost, and this is its retransmission: the answer echoes its stamp.
            // The first one's is from before a timeout, which the peer would take for the round trip. Linux does alike.
            self.take_timestamps(now, segment, offset);
        }
        if segment.payload.is_empty() {
            self.ignore();
        } else {
            self.counters.duplicate_segments += 1;
            self.rx.note_twice(segment.seq, segment.payload.len());
        }
        if self.stage == Stage::TimeWait {
            self.ending.wait_until(now + self.config.time_wait);
        }
        self.answer(now, len);
    }

    /// RFC 5961, section 3: only a reset with the very next number counts.
    #[cold]
    fn handle_reset(&mut self, now: Instant, offset: i64) {
        if offset == self.rx.next() as i64 {
            let failure = (self.stage != Stage::TimeWait).then_some(Failure::ResetByPeer);
            self.drop_connection(failure);
        } else {
            self.ignore();
            self.answer(now, 0);
        }
    }

    #[cold]
    fn handle_new_syn(&mut self, now: Instant, segment: &Segment) {
        if self.stage == Stage::TimeWait && self.is_reopening(segment) {
            return self.drop_connection(None);
        }
        self.ignore();
        self.answer(now, 0);
    }

    /// A SYN behind everything that came before (RFC 9293, section 3.6.1).
    fn is_reopening(&self, segment: &Segment) -> bool {
        segment.opens() && self.rx.offset(segment.seq) >= self.rx.next() as i64
    }

    /// Answers a segment that was not taken. Segments that carry nothing are answered only so often
    /// (RFC 5961, section 7): two ends must not keep each other busy.
    fn answer(&mut self, now: Instant, len: u32) {
        if len > 0 && !self.config.ack_disorder_at_once && self.stage == Stage::Open {
            self.rx.count_segment(now);
        } else if len > 0 || self.challenges.take(now) {
            self.rx.acknowledge_now();
        }
    }

    /// Hands the acknowledgement to the sender. False when it is one of what was never sent, or too old
    /// to be the peer's (RFC 5961, section 5).
    fn handle_ack(&mut self, now: Instant, segment: &Segment, offset: i64) -> bool {
        let acked = self.tx.offset(segment.ack);
        if !self.tx.is_credible(acked) {
            self.ignore();
            self.answer(now, 0);
            return false;
        }
        if acked < self.tx.una() as i64 || !self.tx.is_open() {
            return true;
        }
        let ack = self.read_ack(now, segment, acked as u64, offset.max(0) as u64);
        self.tx.handle_ack(now, &ack, segment);
        true
    }

    /// What a segment at the offset `from` says to the sender that acknowledges everything before `acked`.
    #[inline(always)]
    pub(super) fn read_ack(&self, now: Instant, segment: &Segment, acked: u64, from: u64) -> AckIn {
        let marked = self.ecn.is_agreed() && segment.flags.contains(Flags::ECE);
        AckIn {
            offset: acked,
            from,
            window: u64::from(segment.window) * self.tx.agreed().window_unit,
            pure: segment.seq_len() == 0,
            marked,
            tells_mark: marked && self.ecn.tells_each(),
            corrupt: segment.scps.contains(Scps::CORRUPTION_EXPERIENCED),
            echo: self.timestamps.echo(now, segment.timestamps),
        }
    }

    fn handle_data(&mut self, now: Instant, segment: &mut Segment, offset: i64) {
        if self.rx.has_ended() {
            return self.ignore();
        }
        let payload = std::mem::take(&mut segment.payload);
        let fin = segment.flags.contains(Flags::FIN);
        if let Some(rtt) = self.tx.measured_rtt() {
            self.rx.know_rtt(rtt);
        }
        let echo = || self.timestamps.echo(now, segment.timestamps).map(|(_, since)| since);
        self.rx.hear_echo(echo);
        let arrival = self.rx.handle_data(now, offset, payload, fin);
        self.count(arrival);
        if self.rx.has_ended() {
            self.pending.peer_close();
        }
    }

    pub(super) fn count(&mut self, arrival: Arrival) {
        match arrival {
            Arrival::Duplicate => self.counters.duplicate_segments += 1,
            Arrival::Dropped => self.ignore(),
            Arrival::InOrder | Arrival::FilledGap | Arrival::OutOfOrder => {}
        }
    }
}
