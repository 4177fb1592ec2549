//! When what arrived is acknowledged (RFC 5681, section 4.2).

use bentpipe_units::{Instant, Span};

use crate::tcp::Config;

/// Whether an acknowledgement is due, and when the next one is at the latest.
#[derive(Debug)]
pub(super) struct AckSchedule {
    /// So many segments make an acknowledgement due, and the first of them so much later.
    every: u32,
    delay: Span,
    /// So many segments are acknowledged at once after idle time, and so many still are.
    quick: u32,
    quick_left: u32,
    /// Idle time, and when the last segment came.
    idle: Span,
    heard: Option<Instant>,
    /// Reports of the same hole wait for so long, zero for not at all.
    compressed: Span,
    reports: Reports,
    /// Segments that are not acknowledged yet.
    pending: u32,
    due: bool,
    deadline: Option<Instant>,
}

/// Acknowledgements that report the same hole.
#[derive(Debug, Default)]
struct Reports {
    /// The offset of the hole, and how often it was reported.
    hole: u64,
    sent: u32,
    /// Reports that wait, and until when.
    waiting: u32,
    deadline: Option<Instant>,
}

/// So many reports of a hole are sent at once: the peer may go by duplicates.
const AT_ONCE: u32 = 3;
/// So many wait at most.
const MOST_WAITING: u32 = 44;
/// What a round trip is where none is known.
const UNKNOWN_RTT: Span = Span::from_millis(333);

impl AckSchedule {
    /// Nothing has arrived.
    pub(super) fn new(config: &Config) -> Self {
        Self {
            every: config.ack_every,
            delay: config.ack_delay,
            quick: config.quick_acks,
            quick_left: config.quick_acks,
            idle: UNKNOWN_RTT * 3,
            heard: None,
            compressed: config.compressed_acks,
            reports: Reports::default(),
            pending: 0,
            due: false,
            deadline: None,
        }
    }

    /// A round trip takes so long. So many acknowledgements are to be sent in one; 0 leaves that as it is.
    pub(super) fn know_rtt(&mut self, rtt: Span, acks: u32) {
        // A timeout of the peer.
        self.idle = (rtt * 3).max(rtt + Span::from_millis(200));
        self.compressed = self.compressed.min(rtt / 20);
        if acks > 0 {
            self.every = u32::MAX;
            self.delay = rtt / u64::from(acks);
        }
    }

    /// A segment more that is to be acknowledged with others, or late.
    #[inline(always)]
    pub(super) fn count(&mut self, now: Instant) {
        self.pending += 1;
        if self.quick > 0 {
            if self.heard.is_some_and(|at| now.since(at) > self.idle) {
                self.quick_left = self.quick;
            }
            self.heard = Some(now);
        }
        if self.quick_left > 0 {
            self.quick_left -= 1;
            self.due = true;
        }
        if self.pending >= self.every {
            self.due = true;
        } else if self.deadline.is_none() {
            self.deadline = Some(now + self.delay);
        }
    }

    /// A segment came that was not the next one, but `behind` the hole at this offset, or filled one: that is told.
    pub(super) fn report(&mut self, now: Instant, hole: u64, behind: bool) {
        if self.reports.hole != hole {
            self.reports = Reports { hole, ..Reports::default() };
        }
        let waits = behind && !self.compressed.is_zero() && self.quick_left == 0;
        if !waits || self.reports.sent < AT_ONCE {
            self.reports.sent += 1;
            self.due = true;
            return;
        }
        self.reports.waiting += 1;
        if self.reports.waiting >= MOST_WAITING {
            self.due = true;
        } else if self.reports.deadline.is_none() {
            self.reports.deadline = Some(now + self.compressed);
        }
    }

    /// An acknowledgement is to be sent at once if `wanted`.
    #[inline]
    pub(super) const fn ask(&mut self, wanted: bool) {
        self.due |= wanted;
    }

    /// Something is not acknowledged yet.
    pub(super) const fn is_pending(&self) -> bool {
        self.pending > 0
    }

    /// An acknowledgement is to be sent.
    #[inline]
    pub(super) const fn is_due(&self) -> bool {
        self.due
    }

    /// An acknowledgement leaves.
    #[inline(always)]
    pub(super) fn sent(&mut self) {
        self.stop();
        self.pending = 0;
    }

    /// No acknowledgement is to be sent.
    pub(super) fn stop(&mut self) {
        self.due = false;
        self.deadline = None;
        (self.reports.waiting, self.reports.deadline) = (0, None);
    }

    /// The delay of an acknowledgement may be over.
    pub(super) fn handle_timeout(&mut self, now: Instant) {
        self.due |= self.next().is_some_and(|at| at <= now);
    }

    /// When [`AckSchedule::handle_timeout`] must be called.
    #[inline]
    pub(super) fn deadline(&self) -> Option<Instant> {
        if self.due { None } else { self.next() }
    }

    #[inline]
    fn next(&self) -> Option<Instant> {
        Instant::earliest(self.deadline, self.reports.deadline)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_second_segment_or_the_delay_makes_an_acknowledgement_due() {
        let (now, delay) = (Instant::ZERO, Span::from_millis(200));
        let config = Config { ack_every: 2, ack_delay: delay, quick_acks: 0, ..Config::ns2() };
        let mut acks = AckSchedule::new(&config);
        acks.count(now);
        assert_eq!((acks.is_due(), acks.deadline()), (false, Some(now + delay)));
        acks.count(now);
        assert_eq!((acks.is_due(), acks.deadline()), (true, None));
        acks.sent();
        acks.count(now);
        acks.handle_timeout(now + delay);
        assert!(acks.is_due());
    }

    #[test]
    fn after_idle_time_segments_are_acknowledged_one_by_one_again() {
        let at = |ms| Instant::ZERO + Span::from_millis(ms);
        let config = Config { ack_every: 2, quick_acks: 1, ..Config::ns2() };
        let mut acks = AckSchedule::new(&config);
        acks.know_rtt(Span::from_millis(100), 0);
        let mut due = |ms| {
            acks.count(at(ms));
            let due = acks.is_due();
            acks.sent();
            due
        };
        assert!(due(0) && !due(10) && !due(309) && due(610));
    }

    #[test]
    fn after_three_reports_of_a_hole_the_next_ones_wait_for_a_millisecond() {
        let now = Instant::ZERO;
        let wait = Span::from_millis(1);
        let mut acks = AckSchedule::new(&Config { compressed_acks: wait, ..Config::ns2() });
        for _ in 0..3 {
            acks.report(now, 1_000, true);
            assert!(acks.is_due());
            acks.sent();
        }
        for _ in 0..43 {
            acks.report(now, 1_000, true);
            assert_eq!((acks.is_due(), acks.deadline()), (false, Some(now + wait)));
        }
        acks.report(now, 1_000, true);
        assert!(acks.is_due(), "so many wait");
        acks.sent();
        acks.report(now, 2_000, false);
        assert!(acks.is_due(), "another hole");
    }

    #[test]
    fn the_first_segments_may_be_acknowledged_at_once_and_the_others_by_the_round_trip() {
        let config = Config { ack_every: 2, quick_acks: 1, ..Config::ns2() };
        let mut acks = AckSchedule::new(&config);
        acks.count(Instant::ZERO);
        assert!(acks.is_due());
        acks.sent();
        acks.know_rtt(Span::from_millis(600), 4);
        (0..9).for_each(|_| acks.count(Instant::ZERO));
        assert_eq!(acks.deadline(), Some(Instant::ZERO + Span::from_millis(150)));
    }
}
