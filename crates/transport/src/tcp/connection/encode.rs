//! Writing segments.

use bentpipe_units::{Instant, Seq32};
use bentpipe_wire::Ecn;
use bentpipe_wire::tcp::{Flags, Options, Scps, Segment};

use super::{Connection, Stage};
use crate::tcp::sender::{Kind, Outgoing};

impl Connection {
    /// Writes the next segment, if there is one.
    pub(super) fn encode(&mut self, now: Instant, place: &mut Segment) -> bool {
        if self.ending.has_reset() {
            self.encode_reset(place);
        } else if self.handshake.is_due() && !self.tx.is_resting() {
            self.encode_syn(now, place);
        } else {
            return self.encode_open(now, place);
        }
        self.count_segment(place.wire_len());
        true
    }

    /// Writes an acknowledgement that is all there is to send.
    #[inline(always)]
    pub(super) fn encode_ack_alone(&mut self, now: Instant, place: &mut Segment) {
        self.encode_ack(now, place);
        self.count_segment(place.header_len());
    }

    #[inline(always)]
    fn count_segment(&mut self, wire_len: usize) {
        self.counters.segments_sent += 1;
        self.counters.bytes_sent += wire_len as u64;
    }

    fn encode_open(&mut self, now: Instant, place: &mut Segment) -> bool {
        if !matches!(self.stage, Stage::Open | Stage::TimeWait) {
            return false;
        }
        if let Some(payload) = self.tx.take_probe(now) {
            self.encode_probe(now, place);
            place.payload = payload;
            self.count_segment(place.wire_len());
            return true;
        }
        if let Some((offset, flags)) = self.ecn.take_owed() {
            self.encode_earlier_ack(now, place, offset, flags);
            return true;
        }
        // What is missing is told by itself: a full segment has no room for it.
        if !(self.rx.is_due() && self.rx.has_report()) {
            let wire = Segment::PLAIN_HEADER as u64 + u64::from(self.timestamps.len());
            let clock = self.timestamps.clock(now);
            if let Some(outgoing) = self.tx.next_segment(now, clock, wire) {
                self.encode_data(now, place, outgoing);
                return true;
            }
        }
        if self.rx.is_due() {
            self.encode_ack_alone(now, place);
            return true;
        }
        if self.keepalive.take_due() {
            self.encode_probe(now, place);
            self.count_segment(place.header_len());
            return true;
        }
        false
    }

    /// The parts that every segment of an open connection has.
    #[inline(always)]
    fn encode_common(&mut self, now: Instant, place: &mut Segment) {
        let said = self.rx.take_ack();
        self.encode_header(now, place, said, self.ecn.flags());
    }

    /// Those parts with this acknowledgement and window.
    #[inline(always)]
    fn encode_header(
        &mut self,
        now: Instant,
        place: &mut Segment,
        (ack, window): (Seq32, u16),
        flags: Flags,
    ) {
        place.source_port = self.ports.local;
        place.destination_port = self.ports.peer;
        (place.ack, place.window) = (ack, window);
        place.flags = flags;
        place.ecn = Ecn::NotCapable;
        place.low_priority = false;
        place.urgent = 0;
        place.timestamps = self.timestamps.is_agreed().then(|| self.timestamps.option(now));
        place.options = Options::None;
        place.scps = Scps::NONE;
    }

    #[inline(always)]
    pub(super) fn encode_data(&mut self, now: Instant, place: &mut Segment, outgoing: Outgoing) {
        self.encode_common(now, place);
        let Outgoing { start, payload, fin, push, kind, low } = outgoing;
        place.low_priority = low;
        place.seq = self.tx.wire(start);
        if push {
            place.flags = place.flags.with(Flags::PSH);
        }
        if fin {
            place.flags = place.flags.with(Flags::FIN);
            if kind == Kind::New && !self.rx.has_ended() {
                self.ending.end_first();
            }
        }
        place.payload = payload;
        self.write_congestion_header(now, !place.payload.is_empty());
        // RFC 3168, section 6.1.5: retransmissions are never marked.
        if self.ecn.is_agreed() && kind == Kind::New && !place.payload.is_empty() {
            place.ecn = self.ecn.codepoint();
            if self.tx.take_cwr() {
                place.flags = place.flags.with(Flags::CWR);
            }
        }
        self.count_data(place.header_len(), place.payload.len() as u64, kind);
    }

    /// Writes the congestion header of a segment that leaves, if it has one; only data ask for anything.
    #[inline(always)]
    fn write_congestion_header(&mut self, now: Instant, data: bool) {
        if self.tx.is_explicit() || self.feedback.is_wanted() {
            let request = if data { self.tx.request(now) } else { None };
            self.feedback.write(request);
        }
    }

    /// Counts a segment with so many bytes of the stream; a FIN alone has none.
    #[inline(always)]
    fn count_data(&mut self, header: usize, payload: u64, kind: Kind) {
        self.count_segment(header + payload as usize);
        if payload == 0 {
            return;
        }
        let header = header as u64;
        let counters = &mut self.counters;
        match kind {
            Kind::New => {
                counters.payload_bytes += payload;
                counters.first_header_bytes += header;
                counters.data_segments += 1;
            }
            Kind::Retransmission => {
                counters.retransmitted_segments += 1;
                counters.retransmitted_bytes += header + payload;
            }
            Kind::Copy => {}
        }
    }

    #[inline(always)]
    fn encode_ack(&mut self, now: Instant, place: &mut Segment) {
        self.encode_common(now, place);
        place.seq = self.tx.wire(self.tx.next());
        place.payload.clear();
        self.write_congestion_header(now, false);
        if self.tx.agreed().reports && self.rx.has_report() {
            self.encode_report(place);
        }
    }

    /// Writes an acknowledgement of less than what came.
    #[cold]
    fn encode_earlier_ack(&mut self, now: Instant, place: &mut Segment, offset: u64, flags: Flags) {
        let said = self.rx.take_ack_of(offset);
        self.encode_header(now, place, said, flags);
        place.seq = self.tx.wire(self.tx.next());
        place.payload.clear();
        self.count_segment(place.header_len());
    }

    #[inline(never)]
    fn encode_report(&mut self, place: &mut Segment) {
        if let Some(unit) = self.tx.agreed().snacks {
            // What a header has room for, and beside timestamps.
            let most = if self.timestamps.is_agreed() { 24 } else { 33 };
            let snack = self.rx.take_snack(unit, most);
            place.options = snack.map_or(Options::None, Options::Snack);
        } else {
            let most = if self.timestamps.is_agreed() { 3 } else { 4 };
            place.options = Options::Sack(self.rx.take_blocks().take(most).collect());
        }
    }

    /// A segment that the peer answers: its number is one that it has acknowledged (RFC 9293,
    /// section 3.8.4).
    #[cold]
    fn encode_probe(&mut self, now: Instant, place: &mut Segment) {
        self.encode_ack(now, place);
        place.seq = self.tx.wire(self.tx.una() - 1);
    }

    #[cold]
    fn encode_reset(&mut self, place: &mut Segment) {
        let Some((seq, ack)) = self.ending.take_reset() else { return };
        let flags = if ack.is_some() { Flags::RST.with(Flags::ACK) } else { Flags::RST };
        *place = Segment {
            source_port: self.ports.local,
            destination_port: self.ports.peer,
            seq,
            ack: ack.unwrap_or_default(),
            flags,
            ..Segment::default()
        };
    }

    /// Writes our SYN or SYN-ACK.
    #[cold]
    fn encode_syn(&mut self, now: Instant, place: &mut Segment) {
        let ack = if self.handshake.is_answer() { self.rx.wire(1) } else { Default::default() };
        let timestamps = self.timestamps.option(now);
        *place = Segment {
            source_port: self.ports.local,
            destination_port: self.ports.peer,
            seq: self.tx.wire(0),
            ack,
            window: self.rx.syn_window(),
            ..self.handshake.take_syn(now, &self.config, timestamps)
        };
    }
}
