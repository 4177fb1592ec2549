//! Which acknowledgements give samples of the round trip.

use bentpipe_units::{Instant, Span};

/// What is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Timing {
    /// Every segment.
    All,
    /// One at a time, as stacks without timestamps do; none for now.
    Idle,
    /// One at a time: the one that left at `at` and ends before the offset `end`.
    One { end: u64, at: Instant },
}

impl Timing {
    /// With a sample from every acknowledgement, or one at a time.
    pub(super) const fn new(every_ack: bool) -> Self {
        if every_ack { Self::All } else { Self::Idle }
    }

    /// New data leave that end before this offset.
    #[inline(always)]
    pub(super) fn sent(&mut self, now: Instant, end: u64) {
        if *self == Self::Idle {
            *self = Self::One { end, at: now };
        }
    }

    /// What begins at this offset leaves again: the timed segment is it, or may have to wait for it at the peer
    /// (Karn).
    pub(super) fn resent(&mut self, start: u64) {
        if matches!(self, Self::One { end, .. } if start < *end) {
            *self = Self::Idle;
        }
    }

    /// Everything before this offset is acknowledged. Gives how long the timed segment took, if that was it.
    pub(super) fn acknowledged(&mut self, now: Instant, una: u64) -> Option<Span> {
        let Self::One { end, at } = *self else { return None };
        (end <= una).then(|| {
            *self = Self::Idle;
            now.since(at)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn one_segment_is_timed_and_the_next_one_after_it_arrived() {
        let mut timing = Timing::new(false);
        timing.sent(at(0), 1000);
        timing.sent(at(10), 2000);
        assert_eq!(timing.acknowledged(at(500), 999), None);
        assert_eq!(timing.acknowledged(at(600), 2000), Some(Span::from_millis(600)));
        assert_eq!(timing.acknowledged(at(700), 3000), None, "none was timed");
        timing.sent(at(700), 4000);
        assert_eq!(timing.acknowledged(at(1200), 4000), Some(Span::from_millis(500)));
    }

    #[test]
    fn a_segment_that_waits_for_a_repair_is_not_timed() {
        let mut timing = Timing::new(false);
        timing.sent(at(0), 2000);
        timing.resent(2000);
        assert!(matches!(timing, Timing::One { .. }), "the retransmission is behind it");
        timing.resent(0);
        assert_eq!(timing.acknowledged(at(900), 2000), None);
        timing.sent(at(900), 3000);
        assert_eq!(timing.acknowledged(at(1500), 3000), Some(Span::from_millis(600)));
    }
}
