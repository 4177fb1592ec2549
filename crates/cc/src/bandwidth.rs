//! The rate at which data are delivered, filtered in Westwood's way.

use bentpipe_units::{Instant, Span};

/// The filter of TCP Westwood: a low-pass filter in continuous time, discretised by Tustin's rule, whose
/// samples may come at any distance.
#[derive(Debug)]
pub(crate) struct TustinFilter {
    /// Cut-off time in seconds.
    tau: f64,
    estimate: f64,
    sample: f64,
    last: Option<Instant>,
    /// Bytes acknowledged at the instant of the last sample, after it was taken.
    pending: f64,
}

/// A sample is due at least this often in each cut-off time (`m` of the paper); the rate is taken as zero
/// where none came.
const SAMPLES_PER_TAU: f64 = 2.0;
/// So many samples of zero leave nothing of any estimate.
const FORGOTTEN: f64 = 64.0;

impl TustinFilter {
    /// A filter with this cut-off time.
    pub(crate) const fn new(tau: Span) -> Self {
        let tau = tau.as_nanos() as f64 / 1e9;
        Self { tau, estimate: 0.0, sample: 0.0, last: None, pending: 0.0 }
    }

    /// So many bytes were acknowledged now.
    pub(crate) fn take(&mut self, now: Instant, bytes: f64) {
        let Some(last) = self.last else {
            self.last = Some(now);
            return;
        };
        self.pending += bytes;
        let elapsed = now.since(last).as_secs_f64();
        if elapsed <= 0.0 {
            return;
        }
        self.last = Some(now);
        let parts = libm::ceil(elapsed * SAMPLES_PER_TAU / self.tau).max(1.0);
        let delta = elapsed / parts;
        if parts > FORGOTTEN {
            (self.estimate, self.sample) = (0.0, 0.0);
        } else {
            for _ in 1..parts as u64 {
                self.filter(0.0, delta);
            }
        }
        self.filter(self.pending / delta, delta);
        self.pending = 0.0;
    }

    fn filter(&mut self, sample: f64, delta: f64) {
        let twice = 2.0 * self.tau;
        self.estimate =
            ((twice - delta) * self.estimate + delta * (sample + self.sample)) / (twice + delta);
        self.sample = sample;
    }

    /// Bytes per second.
    pub(crate) const fn get(&self) -> f64 {
        self.estimate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: f64) -> Instant {
        Instant::ZERO + Span::from_secs_f64(seconds)
    }

    #[test]
    fn a_steady_stream_is_estimated_at_its_rate() {
        let mut filter = TustinFilter::new(Span::from_millis(500));
        for n in 0..1000 {
            filter.take(at(f64::from(n) * 0.01), 1000.0);
        }
        assert!((filter.get() - 100_000.0).abs() < 1.0, "{}", filter.get());
    }

    #[test]
    fn after_the_cut_off_time_a_step_has_come_through_by_two_thirds() {
        let mut filter = TustinFilter::new(Span::from_millis(500));
        for n in 0..=50 {
            filter.take(at(f64::from(n) * 0.01), 1000.0);
        }
        // 1 - 1/e of 100 kB/s.
        assert!((filter.get() / 100_000.0 - 0.632).abs() < 0.01, "{}", filter.get());
    }

    #[test]
    fn bunched_acknowledgements_are_overestimated_as_westwood_plus_found() {
        let mut filter = TustinFilter::new(Span::from_millis(500));
        for round in 0..50 {
            for n in 0..10 {
                filter.take(at(f64::from(round) * 0.1 + f64::from(n) * 0.001), 1000.0);
            }
        }
        assert!(filter.get() > 3.0 * 100_000.0, "{}", filter.get());
    }

    #[test]
    fn silence_is_forgotten() {
        let mut filter = TustinFilter::new(Span::from_millis(500));
        for n in 0..1000 {
            filter.take(at(f64::from(n) * 0.01), 1000.0);
        }
        filter.take(at(12.0), 1000.0);
        assert!((1500.0..3500.0).contains(&filter.get()), "{}", filter.get());
        filter.take(at(100.0), 1000.0);
        assert!(filter.get() < 1000.0, "{}", filter.get());
    }

    #[test]
    fn data_acknowledged_at_the_same_instant_belong_to_one_sample() {
        let (mut one, mut two) =
            (TustinFilter::new(Span::from_secs(1)), TustinFilter::new(Span::from_secs(1)));
        for n in 0..10 {
            one.take(at(f64::from(n)), 2000.0);
            two.take(at(f64::from(n)), 1000.0);
            two.take(at(f64::from(n)), 1000.0);
        }
        assert!((one.get() - two.get()).abs() < 600.0, "{} {}", one.get(), two.get());
    }
}
