//! The contract of an endpoint, as a connection keeps it.

use bentpipe_record::TransportCounters;
use bentpipe_units::{ByteCount, Instant, Seq32};
use bentpipe_wire::Segment;
use bentpipe_wire::xcp::Header;
use bytes::Bytes;

use super::{Connection, Stage};
use crate::tcp::dirty::Work;
use crate::{
    Endpoint, Event, Failure, Inspect, LocalQueue, NetworkFeedback, PathId, ProxyLeg, Readiness,
    SenderState, WriteError,
};

impl Endpoint for Connection {
    #[inline]
    fn handle_segment(&mut self, now: Instant, path: PathId, segment: &mut Segment) {
        let Segment::Tcp(segment) = segment else { return self.ignore() };
        self.counters.segments_received += 1;
        if self.stage == Stage::Open && self.handle_plain(now, segment) {
            self.path = path;
            return;
        }
        self.dirty.mark();
        match self.stage {
            Stage::Closed => self.ignore(),
            Stage::SynSent => self.handle_in_syn_sent(now, segment),
            Stage::SynReceived | Stage::Open | Stage::TimeWait => {
                self.path = path;
                self.handle_synchronized(now, segment);
            }
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.dirty.mark();
        if self.ending.is_over(now) {
            return self.drop_connection(None);
        }
        if self.handshake.handle_timeout(now).is_err() {
            return self.drop_connection(Some(Failure::NoAnswer));
        }
        if self.is_silent() && self.keepalive.handle_timeout(now, &self.config).is_err() {
            self.abort_with(Failure::NoResponse);
        }
        self.rx.handle_timeout(now);
        if self.tx.handle_timeout(now).is_err() {
            self.abort_with(Failure::NoResponse);
        }
    }

    fn write(&mut self, _now: Instant, data: &mut Bytes) -> Result<usize, WriteError> {
        let over = matches!(self.stage, Stage::Closed | Stage::TimeWait);
        if over || self.tx.is_closing() {
            return Err(WriteError::Closed);
        }
        if self.dirty.is_idle() && self.tx.waits_for_window() {
            // What is written goes behind what could not leave either.
            self.dirty.mark_news(true);
        } else {
            self.dirty.mark();
        }
        Ok(self.tx.write(data))
    }

    fn read(&mut self, _now: Instant) -> Option<Bytes> {
        let bytes = self.rx.read()?;
        if self.dirty.is_idle() {
            self.follow_reader();
        }
        Some(bytes)
    }

    fn close(&mut self, _now: Instant) {
        self.dirty.mark();
        // While the connection opens this is remembered: what was written is still delivered.
        self.tx.close();
    }

    fn abort(&mut self, _now: Instant) {
        self.dirty.mark();
        if self.stage != Stage::Closed {
            self.abort_with(Failure::Aborted);
        }
    }

    #[inline]
    fn poll_transmit(&mut self, now: Instant, place: &mut Segment) -> Option<PathId> {
        if !self.readiness().may_transmit {
            return None;
        }
        if self.dirty.work() == Work::Anything {
            self.poll_anything(now, place)
        } else {
            self.poll_acknowledgement(now, place)
        }
    }

    fn poll_event(&mut self) -> Option<Event> {
        if !self.dirty.has_news() {
            return self.rx.take_readable().then_some(Event::Readable);
        }
        let event = self.pending.next(|| self.rx.take_readable(), || self.tx.take_writable());
        self.dirty.set_news(event.is_some());
        event
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let sides = Instant::earliest(self.tx.deadline(), self.rx.deadline());
        let silence = self.keepalive.deadline(&self.config).filter(|_| self.is_silent());
        let silence = Instant::earliest(self.ending.deadline(), silence);
        Instant::earliest(sides, Instant::earliest(self.handshake.deadline(), silence))
    }

    #[inline]
    fn take_timer_dirty(&mut self) -> bool {
        self.dirty.take_timer()
    }

    fn is_closed(&self) -> bool {
        self.stage == Stage::Closed && !self.ending.has_reset()
    }

    #[inline]
    fn readiness(&self) -> Readiness {
        let may_transmit = match self.dirty.work() {
            Work::Nothing => false,
            // The application reads first: that opens the window which the acknowledgement states.
            Work::Acknowledgement => !self.rx.is_readable(),
            Work::Anything => true,
        };
        Readiness { may_transmit, is_quiet: self.dirty.is_quiet() }
    }
}

impl ProxyLeg for Connection {
    fn reserve_receive_buffer(&mut self, _now: Instant, bytes: ByteCount) {
        self.dirty.mark_timer(true);
        self.rx.reserve(bytes.get());
        self.follow_reader();
    }

    fn defer_acks(&mut self, now: Instant, bytes: ByteCount) {
        self.dirty.mark_timer(true);
        self.rx.defer(bytes.get());
        self.follow_reader();
        self.end_if_done(now);
    }

    fn unacknowledged(&self) -> ByteCount {
        ByteCount::new(self.tx.kept())
    }

    fn override_cwnd(&mut self, _now: Instant, window: ByteCount) {
        self.tx.override_cwnd(window.get());
        self.dirty.mark();
    }
}

impl NetworkFeedback for Connection {
    #[inline]
    fn take_congestion(&mut self) -> Option<Header> {
        self.feedback.take_header()
    }

    fn handle_congestion(&mut self, now: Instant, header: &Header) {
        if let Some(request) = &header.request {
            self.feedback.take_request(request);
        }
        if self.stage == Stage::Open && self.tx.handle_feedback(now, header.reverse_feedback) {
            self.dirty.mark();
        }
    }

    #[inline]
    fn follows_queue(&self) -> bool {
        self.tx.follows_queue()
    }

    fn handle_queue(&mut self, now: Instant, queue: &LocalQueue) {
        self.dirty.mark_timer(true);
        self.tx.handle_queue(now, queue);
    }

    fn handle_packet_too_big(&mut self, now: Instant, _path: PathId, mtu: u16, number: u32) {
        // Only what is under way can have been too long, and only what is longer than that (RFC 5927, section 7).
        if self.tx.is_longer(Seq32::new(number), mtu) {
            self.set_path_mtu(now, mtu);
        } else {
            self.ignore();
        }
    }

    fn handle_source_quench(&mut self, now: Instant, number: u32) {
        // Only what is under way can have met congestion (RFC 5927, section 6).
        if self.tx.is_outstanding(Seq32::new(number)) {
            self.tx.handle_mark(now);
            self.dirty.mark();
        } else {
            self.ignore();
        }
    }

    fn handle_link_state(&mut self, now: Instant, up: bool) {
        self.dirty.mark();
        self.tx.follow_link(now, up);
        if self.tx.is_resting() {
            self.handshake.rest();
        } else if self.stage == Stage::Open {
            // The peer had no way to be heard.
            self.keepalive.heard(now);
        }
    }
}

impl Inspect for Connection {
    fn unsent(&self) -> usize {
        self.tx.unsent() as usize
    }

    fn sender_state(&self) -> SenderState {
        self.tx.state()
    }

    fn counters(&self) -> TransportCounters {
        let (reductions, timeouts) = self.tx.reductions_and_timeouts();
        let reorder_peak_bytes = self.rx.most_out_of_order();
        TransportCounters { reductions, timeouts, reorder_peak_bytes, ..self.counters }
    }

    fn controller_name(&self) -> &'static str {
        self.config.controller.name()
    }
}
