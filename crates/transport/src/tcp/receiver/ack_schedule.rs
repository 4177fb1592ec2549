//! When what arrived is acknowledged (RFC 5681, section 4.2).

use bentpipe_units::{Instant, Span};

use crate::tcp::Config;

/// Whether an acknowledgement is due, and when the next one is at the latest.
#[derive(Debug)]
pub(super) struct AckSchedule {
    /// So many segments make an acknowledgement due, and the first of them so much later.
    every: u32,
    delay: Span,
    /// So many segments are still acknowledged at once.
    quick_left: u32,
    /// Segments that are not acknowledged yet.
    pending: u32,
    due: bool,
    deadline: Option<Instant>,
}

impl AckSchedule {
    /// Nothing has arrived.
    pub(super) const fn new(config: &Config) -> Self {
        Self {
            every: config.ack_every,
            delay: config.ack_delay,
            quick_left: config.quick_acks,
            pending: 0,
            due: false,
            deadline: None,
        }
    }

    /// So many acknowledgements are to be sent in a round trip; 0 leaves it as it is.
    pub(super) fn spread_over(&mut self, rtt: Span, acks: u32) {
        if acks > 0 {
            self.every = u32::MAX;
            self.delay = rtt / u64::from(acks);
        }
    }

    /// A segment more that is to be acknowledged with others, or late.
    #[inline(always)]
    pub(super) fn count(&mut self, now: Instant) {
        self.pending += 1;
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

    /// An acknowledgement is to be sent at once if `wanted`.
    #[inline]
    pub(super) const fn ask(&mut self, wanted: bool) {
        self.due |= wanted;
    }

    /// An acknowledgement is to be sent.
    #[inline]
    pub(super) const fn is_due(&self) -> bool {
        self.due
    }

    /// An acknowledgement leaves.
    #[inline(always)]
    pub(super) const fn sent(&mut self) {
        self.stop();
        self.pending = 0;
    }

    /// No acknowledgement is to be sent.
    pub(super) const fn stop(&mut self) {
        self.due = false;
        self.deadline = None;
    }

    /// The delay of an acknowledgement may be over.
    pub(super) fn handle_timeout(&mut self, now: Instant) {
        self.due |= self.deadline.is_some_and(|at| at <= now);
    }

    /// When [`AckSchedule::handle_timeout`] must be called.
    #[inline]
    pub(super) fn deadline(&self) -> Option<Instant> {
        if self.due { None } else { self.deadline }
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
    fn the_first_segments_may_be_acknowledged_at_once_and_the_others_by_the_round_trip() {
        let config = Config { ack_every: 2, quick_acks: 1, ..Config::ns2() };
        let mut acks = AckSchedule::new(&config);
        acks.count(Instant::ZERO);
        assert!(acks.is_due());
        acks.sent();
        acks.spread_over(Span::from_millis(600), 4);
        (0..9).for_each(|_| acks.count(Instant::ZERO));
        assert_eq!(acks.deadline(), Some(Instant::ZERO + Span::from_millis(150)));
    }
}
