//! The receiving side: delivery in order, and reports of what is missing.

use std::collections::VecDeque;
use std::sync::Arc;

use bentpipe_units::{Instant, Seq32, Span};
use bentpipe_wire::xstp::{Gap, GapList, ReceiveTimestamp, Report, ReportKind};
use bytes::Bytes;

use super::receive_cache::ReceiveCache;
use super::{Config, timestamp};

/// Segments for a reader who has read everything, whatever room there is: it will have read them before there is less.
const KEEPING_UP: usize = 16;

/// The receiving side of a session.
#[derive(Debug)]
pub(super) struct Receiver {
    config: Arc<Config>,
    mss: u16,
    cache: ReceiveCache,
    /// VR(H): one past the highest number that was expected so far.
    highest: Seq32,
    ready: VecDeque<Bytes>,
    ready_bytes: usize,
    /// Bytes that were read and still count as unread.
    reserved: usize,
    /// Bytes that the host has room for, beside those that are held.
    room: usize,
    /// The credit that belongs to so many bytes that are free and so many segments out of order; it is asked
    /// for far more often than it changes.
    known_credit: (usize, usize, u16),
    readable: bool,
    /// The peer understands a USTAT with more than one gap.
    many_gaps: bool,
    last_poll: Option<u32>,
    tracked: Option<TrackedGap>,
    stat_due: Option<Asked>,
    ustat_due: Option<(Seq32, Seq32)>,
    last_end_report: Option<Instant>,
}

/// A POLL that waits for its STAT.
#[derive(Clone, Copy, Debug)]
struct Asked {
    ts: u32,
    /// When it came, if the STAT is to say so.
    received_at: Option<ReceiveTimestamp>,
}

/// A gap that is not reported yet: it may be reordering.
#[derive(Clone, Copy, Debug)]
struct TrackedGap {
    lower: Seq32,
    upper: Seq32,
    /// Segments of it that have not arrived.
    missing: u32,
    /// Segments that arrived beyond it.
    beyond: u32,
}

/// What became of a data segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    /// It is new.
    New,
    /// It had arrived before.
    Duplicate,
    /// It lies outside the window or is longer than agreed.
    Ignored,
}

impl Receiver {
    /// A receiver that expects `first`.
    pub(super) fn new(config: Arc<Config>, first: Seq32, mss: u16, many_gaps: bool) -> Self {
        Self {
            mss,
            cache: ReceiveCache::new(first),
            highest: first,
            ready: VecDeque::new(),
            ready_bytes: 0,
            reserved: 0,
            room: usize::MAX,
            known_credit: (usize::MAX, 0, 0),
            readable: false,
            many_gaps: many_gaps && !config.ustat_single,
            last_poll: None,
            tracked: None,
            stat_due: None,
            ustat_due: None,
            last_end_report: None,
            config,
        }
    }

    /// Receive credit in segments: those that wait out of order, which lie inside it, and as many of full
    /// length as the rest of the buffer holds. Its right edge never moves back: what arrives takes no more
    /// room than was kept for it.
    #[inline]
    pub(super) fn credit(&mut self) -> u16 {
        let (free, waiting) = (self.free(), self.cache.segments());
        if (self.known_credit.0, self.known_credit.1) != (free, waiting) {
            let credit = (waiting + free / usize::from(self.mss)).min(usize::from(u16::MAX));
            self.known_credit = (free, waiting, credit as u16);
        }
        self.known_credit.2
    }

    /// What the peer is told of it: what the host has room for, too. This edge may move back. A reader who keeps up
    /// gets a few segments in any case.
    #[inline]
    pub(super) fn offered(&mut self) -> u16 {
        let credit = self.credit();
        if self.room == usize::MAX {
            return credit;
        }
        let least = if self.ready.is_empty() { KEEPING_UP * usize::from(self.mss) } else { 0 };
        let fits = self.cache.segments() + self.room.max(least) / usize::from(self.mss);
        credit.min(fits.min(usize::from(u16::MAX)) as u16)
    }

    /// Bytes that wait to be read, or for a missing segment.
    #[inline]
    pub(super) const fn held(&self) -> usize {
        self.ready_bytes + self.cache.bytes()
    }

    /// The reader has read everything, and goes on with this number.
    pub(super) fn waits_for(&self, seq: Seq32) -> bool {
        self.ready.is_empty() && seq == self.cache.next()
    }

    /// Everything up to this number has come.
    pub(super) fn has_received(&self, seq: Seq32) -> bool {
        seq.is_before(self.cache.next())
    }

    /// Segments that wait to be read, or for a missing one.
    pub(super) fn segments(&self) -> usize {
        self.ready.len() + self.cache.segments()
    }

    /// Bytes of the receive buffer that are free.
    fn free(&self) -> usize {
        (self.config.rcv_buf.get() as usize).saturating_sub(self.held() + self.reserved)
    }

    /// True when the number lies within the credit.
    #[inline]
    fn has_room_for(&self, seq: Seq32) -> bool {
        let place = seq.distance_from(self.cache.next());
        let full = (place as usize + 1).saturating_sub(self.cache.segments());
        place < u32::from(u16::MAX) && full * usize::from(self.mss) <= self.free()
    }

    /// Nothing waits for a missing segment.
    pub(super) fn is_complete(&self) -> bool {
        self.cache.is_empty()
    }

    /// A data segment arrived.
    #[inline]
    pub(super) fn handle_data(&mut self, seq: Seq32, payload: Bytes) -> Arrival {
        let next = self.cache.next();
        if payload.len() > usize::from(self.mss) {
            return Arrival::Ignored;
        }
        if self.cache.has(seq) {
            return Arrival::Duplicate;
        }
        if !self.has_room_for(seq) {
            return Arrival::Ignored;
        }
        if seq == next && self.cache.is_empty() && self.tracked.is_none() {
            self.deliver(payload);
            self.cache.advance_past_delivered();
            self.highest = self.highest.latest(self.cache.next());
        } else {
            self.handle_around_gaps(seq, payload);
        }
        Arrival::New
    }

    /// A new data segment arrived, and something is missing before or after it.
    #[inline(never)]
    fn handle_around_gaps(&mut self, seq: Seq32, payload: Bytes) {
        if seq == self.cache.next() {
            self.deliver(payload);
            self.cache.advance_past_delivered();
            while let Some(payload) = self.cache.take_next() {
                self.deliver(payload);
            }
            self.highest = self.highest.latest(self.cache.next());
        } else {
            self.cache.insert(seq, payload);
            self.track_gap(seq);
        }
        // A tracked gap that was filled was reordering.
        if let Some(gap) = &mut self.tracked
            && !seq.is_before(gap.lower)
            && seq.is_before(gap.upper)
        {
            gap.missing -= 1;
            self.tracked = self.tracked.filter(|gap| gap.missing > 0);
        }
    }

    #[inline(always)]
    fn deliver(&mut self, payload: Bytes) {
        self.ready_bytes += payload.len();
        self.readable = self.readable || self.ready.is_empty();
        self.ready.push_back(payload);
    }

    /// A segment arrived beyond VR(R).
    fn track_gap(&mut self, seq: Seq32) {
        if let Some(gap) = &mut self.tracked
            && !seq.is_before(gap.upper)
        {
            gap.beyond += 1;
        }
        if seq.is_after(self.highest) {
            // A second gap: the first is reported at once.
            if let Some(first) = self.tracked.take() {
                self.report_gap(first.lower, first.upper);
            }
            let missing = seq.distance_from(self.highest);
            let (lower, upper) = (self.highest, seq);
            self.tracked = Some(TrackedGap { lower, upper, missing, beyond: 1 });
        }
        if !seq.is_before(self.highest) {
            self.highest = seq.plus(1);
        }
        if let Some(gap) = self.tracked
            && gap.beyond >= self.config.ustat_delay
        {
            self.tracked = None;
            self.report_gap(gap.lower, gap.upper);
        }
    }

    /// A USTAT over this range is due; it joins one that is due already.
    fn report_gap(&mut self, lower: Seq32, upper: Seq32) {
        self.ustat_due = Some(match self.ustat_due {
            None => (lower, upper),
            Some((first, end)) => {
                (if lower.is_before(first) { lower } else { first }, end.latest(upper))
            }
        });
    }

    /// A POLL arrived: everything before `sent_before` has left the sender. Old ones are ignored.
    pub(super) fn handle_poll(&mut self, now: Instant, ts: u32, sent_before: Seq32) {
        if self.last_poll.is_some_and(|last| !timestamp::is_newer(ts, last)) {
            return;
        }
        self.last_poll = Some(ts);
        self.expect_up_to(sent_before);
        let received_at = self.config.receive_timestamps.then(|| timestamp::receive_timestamp(now));
        self.stat_due = Some(Asked { ts, received_at });
    }

    /// The peer has sent everything before `end`. True when all of it is here; otherwise a USTAT
    /// lists what is missing, at most once in `rtt`.
    pub(super) fn handle_end(&mut self, now: Instant, end: Seq32, rtt: Span) -> bool {
        if end == self.cache.next() && self.is_complete() {
            return true;
        }
        self.expect_up_to(end);
        let again = self.last_end_report.is_none_or(|last| now.since(last) >= rtt);
        if again && self.highest.is_after(self.cache.next()) {
            self.last_end_report = Some(now);
            self.report_gap(self.cache.next(), self.highest);
        }
        false
    }

    /// Lost segments at the end of the stream are known only from the sender's word. A sender that could not know
    /// the credit may have sent more than it: what lies within it is missing nevertheless.
    fn expect_up_to(&mut self, sent_before: Seq32) {
        let next = self.cache.next();
        if sent_before.is_after(next) {
            let sent = sent_before.distance_from(next).min(u32::from(self.credit()));
            self.highest = self.highest.latest(next.plus(sent));
        }
    }

    /// Whether a report is due.
    #[inline]
    pub(super) fn has_report(&self) -> bool {
        self.stat_due.is_some() || self.ustat_due.is_some()
    }

    /// The report that is due, a STAT before a USTAT. The STAT covers the tracked gap.
    #[inline(never)]
    pub(super) fn take_report(&mut self) -> Option<Report> {
        if let Some(Asked { ts: ts_echo, received_at }) = self.stat_due.take() {
            self.ustat_due = None;
            self.tracked = None;
            let (gaps, more) = self.gaps(self.cache.next(), self.highest);
            let (kind, next) = (ReportKind::Stat, self.cache.next());
            return Some(Report { kind, ts_echo, received_at, next, more, gaps });
        }
        let (lower, upper) = self.ustat_due.take()?;
        let (mut gaps, more) = self.gaps(lower, upper);
        if !self.many_gaps
            && let (Some(first), Some(last)) = (gaps.first().copied(), gaps.last().copied())
        {
            gaps.clear();
            gaps.push(Gap { lower: first.lower, upper: last.upper });
        }
        // Filled in the meantime.
        if gaps.is_empty() {
            return None;
        }
        let (kind, next) = (ReportKind::Ustat, self.cache.next());
        Some(Report { kind, ts_echo: 0, received_at: None, next, more, gaps })
    }

    fn gaps(&self, from: Seq32, end: Seq32) -> (GapList, bool) {
        let next = self.cache.next();
        let offset = |seq: Seq32| seq.distance_from(next).min(u32::from(u16::MAX)) as u16;
        let most = self.config.stat_max_gaps as usize;
        let mut gaps = GapList::new();
        for (lower, upper) in self.cache.missing(from, end) {
            if gaps.len() == most {
                return (gaps, true);
            }
            gaps.push(Gap { lower: offset(lower), upper: offset(upper) });
        }
        (gaps, false)
    }

    /// The next bytes in order.
    pub(super) fn read(&mut self) -> Option<Bytes> {
        let payload = self.ready.pop_front()?;
        self.ready_bytes -= payload.len();
        Some(payload)
    }

    /// The host has room for so many bytes more, whatever the buffer has.
    #[inline]
    pub(super) const fn limit(&mut self, room: usize) {
        self.room = room;
    }

    /// So many bytes that were read count as unread. The peer learns of room by the report that its next
    /// POLL brings.
    pub(super) const fn reserve(&mut self, bytes: usize) {
        self.reserved = bytes;
    }

    /// There is something new to read; true once.
    pub(super) fn take_readable(&mut self) -> bool {
        std::mem::take(&mut self.readable)
    }

    /// The session is gone. What was delivered can still be read.
    pub(super) fn drop_all(&mut self) {
        self.cache.clear();
        self.tracked = None;
        self.stat_due = None;
        self.ustat_due = None;
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_units::ByteCount;
    use proptest::prelude::*;

    use super::*;

    const MSS: u16 = 100;

    fn receiver(segments: u64) -> Receiver {
        let rcv_buf = ByteCount::new(segments * u64::from(MSS));
        let config = Config { mss: MSS, rcv_buf, ..Config::default() };
        Receiver::new(Arc::new(config), Seq32::default(), MSS, true)
    }

    #[test]
    fn short_segments_that_wait_leave_room_for_more() {
        let mut receiver = receiver(10);
        let half = Bytes::from_static(&[0; MSS as usize / 2]);
        let first = Seq32::default();
        for place in 1..10 {
            assert_eq!(receiver.handle_data(first.plus(place), half.clone()), Arrival::New);
        }
        // Nine halves, the missing one, and what is left of ten full ones.
        assert_eq!(receiver.credit(), 9 + 1 + 4);
        assert_eq!(receiver.handle_data(first.plus(14), half.clone()), Arrival::Ignored);
        assert_eq!(receiver.handle_data(first.plus(13), half), Arrival::New);
    }

    #[test]
    fn of_what_was_sent_beyond_the_credit_the_part_within_it_is_missing() {
        let mut receiver = receiver(10);
        receiver.handle_poll(Instant::ZERO, 1, Seq32::default().plus(64));
        let report = receiver.take_report().expect("an answer");
        assert_eq!(report.gaps.as_slice(), [Gap { lower: 0, upper: 10 }]);
    }

    #[test]
    fn a_stat_says_when_its_poll_came_and_not_when_it_left_if_it_is_to() {
        for is_told in [true, false] {
            let config = Config { receive_timestamps: is_told, ..Config::default() };
            let mut receiver = Receiver::new(Arc::new(config), Seq32::default(), MSS, true);
            let came = Instant::ZERO + Span::from_secs(3_000);
            receiver.handle_poll(came, 7, Seq32::default());
            receiver.handle_poll(came + Span::from_secs(1), 7, Seq32::default());
            let report = receiver.take_report().expect("an answer");
            let told = is_told.then(|| timestamp::receive_timestamp(came));
            assert_eq!(report.received_at, told, "the POLL came twice");
        }
    }

    proptest! {
        #[test]
        fn the_right_edge_never_moves_back_and_the_buffer_holds_all_within_it(
            arrivals in prop::collection::vec((0u32..30, 1..=MSS, any::<bool>()), 1..200),
        ) {
            let mut receiver = receiver(12);
            let mut edge = Seq32::default().plus(12);
            for (ahead, len, reads) in arrivals {
                let next = receiver.cache.next();
                let seq = next.plus(ahead);
                let fits = seq.is_before(edge);
                let arrival = receiver.handle_data(seq, Bytes::from(vec![0; len.into()]));
                prop_assert_eq!(arrival == Arrival::Ignored, !fits);
                if reads {
                    while receiver.read().is_some() {}
                }
                let unread = receiver.ready_bytes + receiver.cache.bytes();
                prop_assert!(unread <= 12 * usize::from(MSS));
                let now = receiver.cache.next().plus(u32::from(receiver.credit()));
                prop_assert!(!now.is_before(edge));
                edge = now;
            }
        }
    }
}
