//! What leaves a session: single segments, and composites of what its parts want to send.

use bentpipe_units::{Instant, Seq32};
use bentpipe_wire::Kind;
use bentpipe_wire::xstp::{Begin, Body, Flow, Report, Segment};

use super::session::Session;
use super::timestamp;

/// Room for extension blocks that may join a full data segment without making the packet long.
const PIGGYBACK_ROOM: usize = 40;

impl Session {
    /// Whether there is something to send.
    #[inline]
    pub(super) fn may_transmit(&self) -> bool {
        self.tx.has_work()
            || self.rx.has_report()
            || self.has_single()
            || self.closing.is_wanted()
            || self.closing.is_due()
            || self.closing.has_answer()
    }

    /// Whether a segment that combines with nothing is due.
    #[inline]
    pub(super) fn has_single(&self) -> bool {
        self.stray.is_some() || self.reset.is_some() || self.opening.has_segment()
    }

    /// Whether the peer knows the session, or is about to.
    #[inline]
    fn may_send_data(&self) -> bool {
        self.state.is_synchronized() || self.opening.may_send_early_data()
    }

    /// Writes a header. Body and header go into their place field by field: a segment that is
    /// built elsewhere and moved costs more than everything else that is done to it.
    #[inline]
    fn write_header(&mut self, place: &mut Segment, seq: Seq32) {
        place.source_port = self.ports.local;
        place.destination_port = self.ports.peer;
        place.sq = self.sq;
        place.window = self.rx.offered();
        place.seq = seq;
    }

    fn begin_body(&self, ts: u32, ts_echo: u32) -> Begin {
        Begin { mss: self.config.mss, many_gaps: true, ts, ts_echo }
    }

    /// BGN, BGNAK and RST, which never combine. True when there was one.
    pub(super) fn poll_single(&mut self, now: Instant, place: &mut Segment) -> bool {
        if let Some(stray) = self.stray.take() {
            *place = stray;
        } else if let Some(reason) = self.reset.take() {
            self.write_header(place, self.tx.cache.next());
            place.window = 0;
            place.body = Body::Reset(reason);
        } else if self.opening.take_request(now) {
            // The same BGN each time, except that its timestamp dates the latest one.
            self.write_header(place, self.isn);
            place.body = Body::Begin(self.begin_body(timestamp::at(now), 0));
        } else if let Some(echo) = self.opening.take_answer(&self.config) {
            self.write_header(place, self.isn);
            place.body = Body::BeginAck(self.begin_body(timestamp::at(now), echo));
        } else {
            return false;
        }
        self.count_sent(place, false);
        true
    }

    /// A plain data segment, if that is all there is to send now. Nearly all segments of a sender are.
    #[inline]
    pub(super) fn poll_plain(&mut self, now: Instant, place: &mut Segment) -> bool {
        if !self.may_send_data()
            || self.has_single()
            || self.rx.has_report()
            || self.closing.has_answer()
        {
            return false;
        }
        let Some((seq, payload)) = self.tx.next_plain(now) else { return false };
        let len = payload.len() as u64;
        self.write_header(place, seq);
        let flow = place.flow_mut();
        flow.payload = payload;
        flow.poll = None;
        if flow.report.is_some() {
            flow.report = None;
        }
        flow.end_ack = None;
        flow.end = false;
        self.count_data(len + Segment::PLAIN_HEADER as u64, len);
        true
    }

    /// The report that is due, alone: for hosts whose data wait for their turns, for a peer takes the time until it is
    /// answered for the path's. True when there was one.
    #[cold]
    pub fn poll_report(&mut self, place: &mut Segment) -> bool {
        if !self.may_send_data() || !self.rx.has_report() {
            return false;
        }
        let Some(report) = self.rx.take_report() else { return false };
        self.write_header(place, self.tx.cache.next());
        place.body = Body::Flow(Flow { report: Some(report), ..Flow::default() });
        self.count_sent(place, false);
        true
    }

    /// Everything else, merged as far as it may be. True when there was something.
    pub(super) fn poll_composite(&mut self, now: Instant, place: &mut Segment) -> bool {
        if !self.may_send_data() {
            return false;
        }
        let report = if self.rx.has_report() { self.rx.take_report() } else { None };
        // A long list and data together would outgrow the path: the list goes alone, the data next.
        let long = report.as_ref().is_some_and(|r| 4 * r.gaps.len() > PIGGYBACK_ROOM);
        let data = if long { None } else { self.tx.poll_transmit(now) };
        let end_ack = self.closing.take_answer();
        let Some(data) = data else { return self.poll_control(now, place, report, end_ack) };
        self.write_header(place, data.seq);
        *place.flow_mut() =
            Flow { payload: data.payload, poll: data.poll, report, end_ack, end: false };
        self.count_sent(place, data.retransmission);
        true
    }

    /// A segment without data and without a POLL.
    fn poll_control(
        &mut self,
        now: Instant,
        place: &mut Segment,
        report: Option<Report>,
        end_ack: Option<Seq32>,
    ) -> bool {
        self.maybe_end();
        let end = self.closing.is_due();
        if end {
            self.closing.sent(now);
        }
        if report.is_none() && end_ack.is_none() && !end {
            return false;
        }
        self.write_header(place, self.tx.cache.next());
        place.body = Body::Flow(Flow { report, end_ack, end, ..Flow::default() });
        self.count_sent(place, false);
        true
    }

    /// Counts a segment that leaves.
    fn count_sent(&mut self, segment: &Segment, retransmission: bool) {
        let (all, kind) = (segment.wire_len() as u64, segment.kind());
        let payload = segment.payload_len() as u64;
        if payload > 0 && !retransmission {
            self.count_data(all, payload);
        } else {
            self.counters.segments_sent += 1;
            self.counters.bytes_sent += all;
        }
        let c = &mut self.counters;
        if payload > 0 && retransmission {
            c.retransmitted_segments += 1;
            c.retransmitted_bytes += all;
        }
        if kind.contains(Kind::POLL) {
            c.polls_sent += 1;
            self.opening.polled();
        }
        c.stats_sent += u64::from(kind.contains(Kind::STAT));
        c.ustats_sent += u64::from(kind.contains(Kind::USTAT));
    }

    /// Counts a segment with new data.
    #[inline]
    fn count_data(&mut self, all: u64, payload: u64) {
        let c = &mut self.counters;
        c.segments_sent += 1;
        c.bytes_sent += all;
        c.data_segments += 1;
        c.payload_bytes += payload;
        c.first_header_bytes += all - payload;
    }
}
