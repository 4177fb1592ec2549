//! Acknowledgements that come in heaps: how much more arrives at once than the rate explains.

use bentpipe_units::Instant;

/// The largest excess of so many rounds, twice, is kept.
const ROUNDS: u32 = 5;
/// An epoch has at most so many segments.
const EPOCH: f64 = (1 << 20) as f64;
/// The window grows by what the rate brings in so many seconds at most.
const LONGEST: f64 = 0.1;

/// The excess of acknowledged bytes (`extra_acked` in Linux).
#[derive(Debug)]
pub(super) struct Aggregation {
    began: Instant,
    acked: f64,
    largest: [f64; 2],
    at: usize,
    rounds: u32,
}

impl Aggregation {
    /// Nothing is acknowledged.
    pub(super) const fn new() -> Self {
        Self { began: Instant::ZERO, acked: 0.0, largest: [0.0; 2], at: 0, rounds: 0 }
    }

    /// The sender was idle.
    pub(super) const fn restart(&mut self, now: Instant) {
        (self.began, self.acked) = (now, 0.0);
    }

    /// So many bytes are acknowledged where the path has this `rate`; a round begins or not. The excess is at most
    /// the window.
    pub(super) fn take(
        &mut self,
        now: Instant,
        acked: f64,
        rate: f64,
        begins: bool,
        cwnd: f64,
        mss: f64,
    ) {
        if begins {
            self.rounds += 1;
            if self.rounds >= ROUNDS {
                self.rounds = 0;
                self.at = 1 - self.at;
                self.largest[self.at] = 0.0;
            }
        }
        let mut expected = rate * now.since(self.began).as_secs_f64();
        if self.acked <= expected || self.acked + acked >= EPOCH * mss {
            self.restart(now);
            expected = 0.0;
        }
        self.acked += acked;
        let excess = (self.acked - expected).min(cwnd);
        self.largest[self.at] = self.largest[self.at].max(excess);
    }

    /// Bytes that the window is larger for it.
    pub(super) fn window(&self, rate: f64) -> f64 {
        self.largest[0].max(self.largest[1]).min(rate * LONGEST)
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_units::Span;

    use super::*;

    #[test]
    fn what_comes_at_once_counts_beyond_what_the_rate_explains() {
        let mut aggregation = Aggregation::new();
        // 1 MB a second in heaps of 50 kB every 50 ms.
        for n in 1..20 {
            let now = Instant::ZERO + Span::from_millis(50 * n);
            aggregation.take(now, 5e4, 1e6, false, 1e6, 1e3);
        }
        assert_eq!(aggregation.window(1e6), 5e4);
        assert_eq!(aggregation.window(1e5), 1e4, "no more than 100 ms of the rate");
        for _ in 0..10 {
            aggregation.take(Instant::ZERO + Span::from_secs(9), 1.0, 1e6, true, 1e6, 1e3);
        }
        assert!(aggregation.window(1e6) < 5e4, "ten rounds ago");
    }
}
