//! A session as whoever drives it sees it: the contract of endpoints and its extensions.

use bentpipe_record::{ProbingSummary, TransportCounters};
use bentpipe_units::{ByteCount, Instant};
use bentpipe_wire::Segment;
use bentpipe_wire::xstp::{Body, ResetReason};
use bytes::Bytes;

use super::Session;
use crate::xstp::State;
use crate::xstp::control::Exhausted;
use crate::xstp::silence::Silence;
use crate::{
    Endpoint, Event, Failure, Inspect, NetworkFeedback, PathId, ProxyLeg, Readiness, SenderState,
    WriteError,
};

impl Endpoint for Session {
    #[inline]
    fn handle_segment(&mut self, now: Instant, path: PathId, segment: &mut Segment) {
        let Segment::Xstp(segment) = segment else { return self.ignore() };
        if segment.sq != self.sq && self.is_of_other_session(segment) {
            self.dirty.mark();
            return;
        }
        if self.state == State::Closed {
            return self.ignore();
        }
        self.counters.segments_received += 1;
        self.silence = Silence::new(now);
        self.path = path;
        if let Body::Flow(flow) = &mut segment.body {
            if flow.is_plain_data() && self.state.is_synchronized() {
                self.handle_data(segment.seq, flow);
                let has_work = self.rx.has_report() || self.closing.is_wanted();
                self.dirty.mark_work_if(has_work);
                return;
            }
            if self.state.is_synchronized() {
                self.handle_flow(now, segment.seq, segment.window, flow);
            } else {
                self.ignore();
                self.miss_answer(now);
            }
        } else {
            self.handle_single(now, segment);
        }
        self.dirty.mark();
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.dirty.mark();
        if self.opening.handle_timeout(now) == Err(Exhausted) {
            return self.drop_session(now, Some(Failure::NoAnswer));
        }
        if self.closing.handle_timeout(now) == Err(Exhausted) {
            return self.reset(now, ResetReason::NoResponse, Failure::NoResponse);
        }
        if self.closing.quiet_until().is_some_and(|until| until <= now) {
            return self.drop_session(now, None);
        }
        self.handle_silence(now);
        self.tx.handle_timeout(now);
    }

    fn write(&mut self, _now: Instant, data: &mut Bytes) -> Result<usize, WriteError> {
        let open = self.state.sends() || self.state == State::BgnSent;
        if !open || self.closing.is_wanted() {
            return Err(WriteError::Closed);
        }
        self.dirty.mark();
        Ok(self.tx.write(data))
    }

    fn read(&mut self, _now: Instant) -> Option<Bytes> {
        self.rx.read()
    }

    fn close(&mut self, _now: Instant) {
        self.dirty.mark();
        self.closing.want();
        self.tx.flush();
    }

    fn abort(&mut self, now: Instant) {
        self.dirty.mark();
        if self.state != State::Closed {
            self.reset(now, ResetReason::UserAbort, Failure::Aborted);
        }
    }

    fn poll_transmit(&mut self, now: Instant, place: &mut Segment) -> Option<PathId> {
        if !self.dirty.has_work() {
            return None;
        }
        let place = place.xstp_mut();
        if self.poll_plain(now, place) {
            return Some(self.path);
        }
        let path = if self.may_transmit() { self.transmit(now, place) } else { None };
        self.dirty.set_work(path.is_some());
        path
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
        let control = Instant::earliest(self.opening.deadline(), self.closing.deadline());
        let silence = Instant::earliest(self.closing.quiet_until(), self.silence_deadline());
        Instant::earliest(self.tx.deadline(), Instant::earliest(control, silence))
    }

    fn is_closed(&self) -> bool {
        self.state == State::Closed && self.reset.is_none() && self.stray.is_none()
    }

    fn readiness(&self) -> Readiness {
        Readiness { may_transmit: true, is_quiet: self.dirty.is_clean() }
    }
}

impl ProxyLeg for Session {
    fn reserve_receive_buffer(&mut self, _now: Instant, bytes: ByteCount) {
        self.rx.reserve(bytes.get() as usize);
    }

    fn unacknowledged(&self) -> ByteCount {
        ByteCount::new((self.tx.buffer.len() + self.tx.cache.bytes()) as u64)
    }
}

impl NetworkFeedback for Session {}

impl Inspect for Session {
    fn unsent(&self) -> usize {
        self.tx.buffer.len()
    }

    fn sender_state(&self) -> SenderState {
        let snapshot = self.tx.governor.snapshot();
        SenderState {
            cwnd: snapshot.cwnd,
            ssthresh: snapshot.ssthresh,
            srtt: self.tx.rtt.measured(),
            in_flight: ByteCount::new(self.tx.cache.bytes() as u64),
            phase: snapshot.phase,
            activity: self.tx.activity_name(),
            limit: self.tx.limit(),
        }
    }

    fn counters(&self) -> TransportCounters {
        TransportCounters { reductions: self.tx.governor.reductions(), ..self.counters }
    }

    fn probing_summary(&self) -> Option<ProbingSummary> {
        self.config.probing.then(|| self.tx.probing.summary())
    }

    fn controller_name(&self) -> &'static str {
        self.config.controller.name()
    }
}
