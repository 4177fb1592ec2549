//! A load that leaves evenly.

use bentpipe_units::{BitRate, ByteCount, Instant, Span};

/// What a sender that was late makes up for, and no more.
const MOST_LATE: Span = Span::from_millis(20);

/// When the next datagram of a load may leave.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pacer {
    rate: BitRate,
    next: Instant,
    count: u64,
}

impl Pacer {
    /// A load that begins at a time.
    pub(super) const fn new(rate: BitRate, begin: Instant) -> Self {
        Self { rate, next: begin, count: 0 }
    }

    /// Its rate.
    pub(super) const fn rate(&self) -> BitRate {
        self.rate
    }

    /// When the next one leaves.
    pub(super) const fn next(&self) -> Instant {
        self.next
    }

    /// The number of the datagram that leaves now, if one does.
    pub(super) fn take(&mut self, now: Instant, size: ByteCount) -> Option<u64> {
        if now < self.next {
            return None;
        }
        self.next = self.next.max(now.before(MOST_LATE)) + self.rate.time_for(size);
        self.count += 1;
        Some(self.count - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_has_its_rate_and_catches_up_with_little() {
        let rate = BitRate::from_bps(8_000_000);
        let mut pacer = Pacer::new(rate, Instant::ZERO);
        let at = |ms| Instant::ZERO + Span::from_millis(ms);
        let mut taken =
            |ms| std::iter::from_fn(|| pacer.take(at(ms), ByteCount::new(1000))).count();
        assert_eq!((taken(0), taken(1), taken(2), taken(10)), (1, 1, 1, 8));
        assert_eq!(taken(10_000), 21, "no more than 20 ms and what is due");
        assert_eq!(pacer.rate(), rate);
    }
}
