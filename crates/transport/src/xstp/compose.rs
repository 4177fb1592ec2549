//! What leaves a session: single segments, and composites of what its parts want to send.

use bentpipe_units::{Instant, Seq32};
use bentpipe_wire::xstp::{Begin, Body, Flow, Report, ReportKind, Segment};

use super::session::Session;
use super::timestamp;

/// Room for extension blocks that may join a full data segment without making the packet long.
const PIGGYBACK_ROOM: usize = 40;

impl Session {
    /// Whether there may be something to send. Most arrivals at a receiver ask for nothing.
    #[inline]
    pub(super) fn has_work(&self) -> bool {
        self.tx.has_work()
            || self.rx.has_report()
            || self.has_single()
            || self.closing
            || self.end.is_due()
            || self.end_ack.is_some()
    }

    /// Whether a segment that combines with nothing is due.
    #[inline]
    pub(super) fn has_single(&self) -> bool {
        self.stray.is_some()
            || self.reset.is_some()
            || self.begin.is_due()
            || self.begin_ack.is_some()
    }

    #[inline]
    fn segment(&self, seq: Seq32, body: Body) -> Segment {
        Segment {
            source_port: self.ports.local,
            destination_port: self.ports.peer,
            sq: self.sq,
            window: self.rx.credit(),
            seq,
            body,
        }
    }

    fn begin_body(&self, ts: u32, ts_echo: u32) -> Begin {
        Begin { mss: self.config.mss, many_gaps: true, ts, ts_echo }
    }

    /// BGN, BGNAK and RST, which never combine.
    pub(super) fn poll_single(&mut self, now: Instant) -> Option<Segment> {
        if let Some(stray) = self.stray.take() {
            return Some(stray);
        }
        if let Some(reason) = self.reset.take() {
            let reset = self.segment(self.tx.cache.next(), Body::Reset(reason));
            return Some(Segment { window: 0, ..reset });
        }
        if self.begin.is_due() {
            self.begin.sent(now);
            // The same BGN each time, except that its timestamp dates the latest one.
            self.begin_sent = Some((self.begin_sent.map_or(now, |(first, _)| first), now));
            let begin = self.begin_body(timestamp::at(now), 0);
            return Some(self.segment(self.isn, Body::Begin(begin)));
        }
        let echo = self.begin_ack.take()?;
        let begin = self.begin_body(timestamp::at(now), echo);
        Some(self.segment(self.isn, Body::BeginAck(begin)))
    }

    /// Everything else, merged as far as it may be.
    #[inline]
    pub(super) fn poll_composite(&mut self, now: Instant) -> Option<Segment> {
        if !self.state.is_synchronized() {
            return None;
        }
        let report = self.rx.take_report();
        // A long list and data together would outgrow the path: the list goes alone, the data next.
        let long = report.as_ref().is_some_and(|r| 4 * r.gaps.len() > PIGGYBACK_ROOM);
        let data = if long { None } else { self.tx.poll_transmit(now) };
        let end_ack = self.end_ack.take();
        let Some(data) = data else { return self.poll_control(now, report, end_ack) };
        let flow = Flow { payload: data.payload, poll: data.poll, report, end_ack, end: false };
        let segment = self.segment(data.seq, Body::Flow(flow));
        self.count_sent(&segment, data.retransmission);
        Some(segment)
    }

    /// A segment without data and without a POLL.
    fn poll_control(
        &mut self,
        now: Instant,
        report: Option<Report>,
        end_ack: Option<Seq32>,
    ) -> Option<Segment> {
        self.maybe_end();
        let end = self.end.is_due();
        if end {
            self.end.sent(now);
        }
        if report.is_none() && end_ack.is_none() && !end {
            return None;
        }
        let flow = Flow { report, end_ack, end, ..Flow::default() };
        let segment = self.segment(self.tx.cache.next(), Body::Flow(flow));
        self.count_sent(&segment, false);
        Some(segment)
    }

    /// Counts a segment that leaves.
    #[inline]
    pub(super) fn count_sent(&mut self, segment: &Segment, retransmission: bool) {
        let (header, payload) = (segment.header_len() as u64, segment.payload_len() as u64);
        let c = &mut self.counters;
        c.segments_sent += 1;
        c.bytes_sent += header + payload;
        let Body::Flow(flow) = &segment.body else { return };
        if payload > 0 {
            if retransmission {
                c.retransmitted_segments += 1;
                c.retransmitted_bytes += header + payload;
            } else {
                c.data_segments += 1;
                c.payload_bytes += payload;
                c.first_header_bytes += header;
            }
        }
        c.polls_sent += u64::from(flow.poll.is_some());
        match flow.report.as_ref().map(|report| report.kind) {
            Some(ReportKind::Stat) => c.stats_sent += 1,
            Some(ReportKind::Ustat) => c.ustats_sent += 1,
            None => {}
        }
    }
}
