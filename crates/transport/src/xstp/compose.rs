//! What leaves a session: single segments, and composites of what its parts want to send.

use bentpipe_units::{Instant, Seq32};
use bentpipe_wire::Kind;
use bentpipe_wire::xstp::{Begin, Body, Flow, Segment};

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
            || self.closing
            || self.stray.is_some()
            || self.reset.is_some()
            || self.begin.is_due()
            || self.end.is_due()
            || self.begin_ack.is_some()
            || self.end_ack.is_some()
    }

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
    pub(super) fn poll_composite(&mut self, now: Instant) -> Option<(Segment, bool)> {
        if !self.state.is_synchronized() {
            return None;
        }
        let mut flow = Flow { report: self.rx.take_report(), ..Flow::default() };
        let (mut seq, mut retransmission) = (None, false);
        // A long list and data together would outgrow the path: the list goes alone, the data next.
        let long = flow.report.as_ref().is_some_and(|r| 4 * r.gaps.len() > PIGGYBACK_ROOM);
        if !long && let Some(data) = self.tx.poll_transmit(now) {
            seq = Some(data.seq);
            retransmission = data.retransmission;
            flow.payload = data.payload;
            flow.poll = data.poll;
        }
        self.maybe_end();
        flow.end_ack = self.end_ack.take();
        if self.end.is_due() && flow.payload.is_empty() {
            self.end.sent(now);
            flow.end = true;
        }
        if flow.kind().is_empty() {
            return None;
        }
        let seq = seq.unwrap_or_else(|| self.tx.cache.next());
        Some((self.segment(seq, Body::Flow(flow)), retransmission))
    }

    pub(super) fn count_sent(&mut self, segment: &Segment, retransmission: bool) {
        let kind = segment.kind();
        let (header, payload) = (segment.header_len() as u64, segment.payload_len() as u64);
        let c = &mut self.counters;
        c.segments_sent += 1;
        c.bytes_sent += header + payload;
        if kind.contains(Kind::DATA) {
            if retransmission {
                c.retransmitted_segments += 1;
                c.retransmitted_bytes += header + payload;
            } else {
                c.data_segments += 1;
                c.payload_bytes += payload;
                c.first_header_bytes += header;
            }
        }
        c.polls_sent += u64::from(kind.contains(Kind::POLL));
        c.stats_sent += u64::from(kind.contains(Kind::STAT));
        c.ustats_sent += u64::from(kind.contains(Kind::USTAT));
    }
}
