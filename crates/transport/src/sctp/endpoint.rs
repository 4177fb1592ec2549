//! An association as the endpoint of any protocol.

use bentpipe_record::TransportCounters;
use bentpipe_units::{ByteCount, Instant};
use bentpipe_wire::Segment;
use bentpipe_wire::sctp::Cause;
use bytes::Bytes;

use super::State;
use super::association::Association;
use super::config::LEAST_MTU;
use crate::{
    Endpoint, Event, Failure, Inspect, NetworkFeedback, PathId, ProxyLeg, SenderState, WriteError,
};

impl Endpoint for Association {
    fn handle_segment(&mut self, now: Instant, path: PathId, segment: &mut Segment) {
        let Segment::Sctp(packet) = segment else { return self.ignore() };
        if self.state == State::Closed || packet.chunks.is_empty() {
            return self.ignore();
        }
        if !self.ends.accepts(packet) {
            return self.handle_other_tag(path, packet);
        }
        self.counters.segments_received += 1;
        self.heard = now;
        self.process(now, path, packet);
        self.tx.renew_bursts();
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.state == State::Closed {
            return;
        }
        self.rx.handle_timeout(now);
        if self.opening.handle_timeout(now, self.config.max_init_retransmits).is_err() {
            return self.drop_all(Some(Failure::NoAnswer));
        }
        if self.silence_ends().is_some_and(|at| at <= now) {
            return self.drop_all(Some(Failure::NoResponse));
        }
        match self.changes.handle_timeout(now, self.config.association_max_retrans) {
            Ok(None) => {}
            Ok(Some(path)) => self.tx.asconf_timed_out(now, path),
            Err(_) => return self.drop_all(Some(Failure::NoResponse)),
        }
        let closing = self.closing_timed_out(now);
        if closing.is_err() || self.tx.handle_timeout(now, self.state.heart_beats()).is_err() {
            return self.drop_all(Some(Failure::NoResponse));
        }
        self.tx.renew_bursts();
    }

    fn write(&mut self, _now: Instant, data: &mut Bytes) -> Result<usize, WriteError> {
        if !self.takes_writes() {
            return Err(WriteError::Closed);
        }
        self.tx.renew_bursts();
        Ok(self.tx.write(data))
    }

    fn read(&mut self, _now: Instant) -> Option<Bytes> {
        self.rx.read()
    }

    fn close(&mut self, _now: Instant) {
        self.closing.want();
        self.tx.flushing = true;
        self.move_on();
    }

    fn abort(&mut self, _now: Instant) {
        if self.state != State::Closed {
            self.give_up(Cause::UserAbort(Bytes::new()), Failure::Aborted);
        }
    }

    fn poll_transmit(&mut self, now: Instant, place: &mut Segment) -> Option<PathId> {
        let path = self.transmit(now, place.sctp_mut())?;
        let (length, _) = place.measure();
        self.counters.segments_sent += 1;
        self.counters.bytes_sent += length as u64;
        Some(path)
    }

    fn poll_event(&mut self) -> Option<Event> {
        let takes_writes = self.takes_writes();
        self.pending.next(|| self.rx.take_readable(), || self.tx.take_writable() && takes_writes)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        if self.state == State::Closed {
            return None;
        }
        let control = Instant::earliest(self.opening.deadline(), self.closing.deadline());
        let control = Instant::earliest(control, self.changes.deadline());
        let data =
            Instant::earliest(self.rx.deadline(), self.tx.deadline(self.state.heart_beats()));
        Instant::earliest(Instant::earliest(control, data), self.silence_ends())
    }

    fn is_closed(&self) -> bool {
        self.state == State::Closed && !self.outbox.has_packets()
    }
}

impl ProxyLeg for Association {
    fn reserve_receive_buffer(&mut self, _now: Instant, bytes: ByteCount) {
        self.rx.reserve(bytes.get() as usize);
    }

    fn unacknowledged(&self) -> ByteCount {
        ByteCount::new(self.tx.kept() as u64)
    }
}

impl NetworkFeedback for Association {
    fn handle_packet_too_big(&mut self, now: Instant, path: PathId, mtu: u16, number: u32) {
        // Who is not on the path does not know the tag (RFC 9260, section 10).
        let is_known = number != 0 && number == self.ends.peer_tag();
        // A router that wants less than packets can have is heard once, or all would be retransmitted at each word of it.
        let mtu = mtu.max(LEAST_MTU);
        match self.tx.index_of(path).filter(|_| is_known) {
            Some(index) if mtu < self.tx.paths[index].mtu => self.tx.told_mtu(now, index, mtu),
            _ => self.ignore(),
        }
    }
}

impl Inspect for Association {
    fn unsent(&self) -> usize {
        self.tx.queue.len()
    }

    fn sender_state(&self) -> SenderState {
        let path = &self.tx.paths[self.tx.data_path()];
        let snapshot = path.controller.snapshot();
        let waiting = self.tx.queue.len() > 0;
        let activity = match self.tx.flight.len() {
            0 if !waiting => "idle",
            _ if waiting && self.tx.peer_window == 0 => "persisting",
            _ => "transmitting",
        };
        SenderState {
            cwnd: snapshot.cwnd,
            ssthresh: snapshot.ssthresh,
            srtt: path.rtt.measured(),
            in_flight: ByteCount::new(self.tx.flight.in_flight() as u64),
            phase: snapshot.phase,
            activity,
            limit: self.tx.limit(),
        }
    }

    fn counters(&self) -> TransportCounters {
        let (reductions, timeouts) = (self.tx.reductions, self.tx.timeouts);
        TransportCounters { reductions, timeouts, ..self.counters }
    }

    fn controller_name(&self) -> &'static str {
        self.config.controller.name()
    }
}
