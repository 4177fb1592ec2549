//! Round-trip time: smoothed value, variation, timeout (RFC 6298).

use bentpipe_units::Span;

/// An estimate of the round-trip time. All arithmetic is in whole nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct RttEstimator {
    srtt: Option<Span>,
    rttvar: Span,
    latest: Span,
    min: Span,
    initial: Span,
    rto_min: Span,
    /// The next sample counts as the first.
    forgotten: bool,
    /// The latest sample was far shorter than the estimate before it.
    shrank: bool,
}

/// A sample so many times shorter than the estimate says that what held everything up is over.
const SHRINKS: u64 = 8;

impl RttEstimator {
    /// An estimator that answers `initial` before the first sample and never gives a timeout below
    /// `rto_min`.
    pub const fn new(initial: Span, rto_min: Span) -> Self {
        let (srtt, zero) = (None, Span::ZERO);
        let min = Span::MAX;
        Self {
            srtt,
            rttvar: zero,
            latest: initial,
            min,
            initial,
            rto_min,
            forgotten: false,
            shrank: false,
        }
    }

    /// Takes a measurement (RFC 6298, section 2, gains 1/8 and 1/4).
    pub fn sample(&mut self, measured: Span) {
        self.sample_one_of(measured, measured, 1);
    }

    /// Takes a measurement, and counts the second of two in a row that are far shorter than the estimate as the first of
    /// all. Whoever sends a window in an estimated round trip gets a sample in as long a time, and with a small window
    /// an average over eight would take minutes to come down. One alone may be a lie.
    pub fn sample_or_restart(&mut self, measured: Span) {
        let shrinks = self.srtt.is_some_and(|srtt| measured * SHRINKS < srtt);
        if std::mem::replace(&mut self.shrank, shrinks) && shrinks {
            self.forget();
        }
        self.sample(measured);
    }

    /// The round trip over which a window is spread: the estimate, unless the latest sample was far shorter.
    pub fn spread(&self) -> Span {
        if self.shrank { self.srtt().min(self.latest * SHRINKS) } else { self.srtt() }
    }

    /// Takes one of `many` measurements of a round trip: their gains are so many times smaller, so that
    /// the history stays as long (RFC 7323, appendix G); only a deviation that grows counts in full, or a
    /// queue that fills within a round trip would outrun the timeout. `smoothed` is what the smoothed values are
    /// made of where a coarse clock rounds it.
    pub fn sample_one_of(&mut self, measured: Span, smoothed: Span, many: u64) {
        self.latest = measured;
        self.min = self.min.min(measured);
        let many = many.max(1);
        let known = self.srtt.filter(|_| !std::mem::take(&mut self.forgotten));
        self.srtt = Some(match known {
            None => {
                self.rttvar = smoothed / 2;
                smoothed
            }
            Some(srtt) => {
                let (rttvar, deviation) = (self.rttvar, srtt.abs_diff(smoothed));
                let weight = if deviation > rttvar { 4 } else { 4 * many };
                self.rttvar = (rttvar * (weight - 1) + deviation) / weight;
                (srtt * (8 * many - 1) + smoothed) / (8 * many)
            }
        });
    }

    /// Takes a measurement with a clock that ticked so many times meanwhile: the smoothed value is kept in whole
    /// eighths of a tick and the variation in quarters (Jacobson, "Congestion avoidance and control", SIGCOMM 1988,
    /// appendix A). What is cut off keeps the variation of a constant round trip above zero.
    pub fn sample_ticks(&mut self, measured: Span, ticks: u64, tick: Span) {
        self.latest = measured;
        self.min = self.min.min(measured);
        let (eighth, quarter) = (tick.as_nanos() as f64 / 8.0, tick.as_nanos() as f64 / 4.0);
        let in_units = |span: Span, unit: f64| (span.as_nanos() as f64 / unit).round() as u64;
        let known = self.srtt.filter(|_| !std::mem::take(&mut self.forgotten));
        let (srtt, rttvar) = match known {
            None => (8 * ticks, 2 * ticks),
            Some(srtt) => {
                let (srtt, rttvar) = (in_units(srtt, eighth), in_units(self.rttvar, quarter));
                let whole = srtt / 8;
                let deviation = ticks.abs_diff(whole);
                ((srtt + ticks - whole).max(1), (rttvar - rttvar / 4 + deviation).max(1))
            }
        };
        self.srtt = Some(Span::from_nanos((srtt as f64 * eighth).round() as u64));
        self.rttvar = Span::from_nanos((rttvar as f64 * quarter).round() as u64);
    }

    /// Timeout upon timeout has passed without a sample: the path may be another one, and the next sample
    /// counts as the first (RFC 6298, section 5, which allows it). Until then the values stay.
    pub const fn forget(&mut self) {
        self.forgotten = true;
    }

    /// The smoothed round-trip time, or the initial value before the first sample.
    pub fn srtt(&self) -> Span {
        self.srtt.unwrap_or(self.initial)
    }

    /// The smoothed round-trip time once there was a sample.
    pub const fn measured(&self) -> Option<Span> {
        self.srtt
    }

    /// The latest sample, or the initial value.
    pub const fn latest(&self) -> Span {
        self.latest
    }

    /// The smallest sample, or the initial value.
    pub fn min(&self) -> Span {
        if self.srtt.is_some() { self.min } else { self.initial }
    }

    /// The variation of the samples; zero before the first one.
    pub const fn rttvar(&self) -> Span {
        self.rttvar
    }

    /// The retransmission timeout without backoff: srtt + 4 rttvar, at least the minimum.
    pub fn rto(&self) -> Span {
        (self.srtt() + self.rttvar * 4).max(self.rto_min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Span {
        Span::from_millis(n)
    }

    #[test]
    fn the_first_sample_is_taken_as_it_is() {
        let mut rtt = RttEstimator::new(ms(1000), ms(100));
        assert_eq!((rtt.srtt(), rtt.measured()), (ms(1000), None));
        rtt.sample(ms(200));
        assert_eq!((rtt.srtt(), rtt.rto()), (ms(200), ms(600)));
    }

    #[test]
    fn later_samples_weigh_an_eighth_and_their_deviation_a_quarter() {
        let mut rtt = RttEstimator::new(ms(1000), ms(100));
        rtt.sample(ms(200));
        rtt.sample(ms(300));
        assert_eq!(rtt.srtt(), Span::from_micros(212_500));
        assert_eq!(rtt.rto(), Span::from_micros(212_500) + ms(100) * 4);
        assert_eq!((rtt.latest(), rtt.min()), (ms(300), ms(200)));
    }

    #[test]
    fn many_samples_of_a_round_trip_weigh_as_much_together_as_one() {
        let mut rtt = RttEstimator::new(ms(1000), ms(100));
        rtt.sample(ms(200));
        rtt.sample_one_of(ms(300), ms(300), 10);
        assert_eq!(rtt.srtt(), ms(200) + ms(100) / 80);
        assert_eq!(rtt.rttvar(), ms(100));
        rtt.sample_one_of(rtt.srtt(), rtt.srtt(), 10);
        assert_eq!(
            rtt.rttvar(),
            ms(100) * 39 / 40,
            "a small deviation weighs a tenth of a quarter"
        );
        rtt.sample_one_of(ms(600), ms(600), 10);
        assert!(rtt.rttvar() > ms(160), "a large one weighs a quarter");
        rtt.sample_one_of(ms(217), ms(220), 1);
        assert_eq!((rtt.latest(), rtt.min()), (ms(217), ms(200)));
    }

    #[test]
    fn what_is_forgotten_counts_until_the_next_sample_which_is_the_first() {
        let mut rtt = RttEstimator::new(ms(1000), ms(100));
        for _ in 0..100 {
            rtt.sample(ms(200));
        }
        rtt.forget();
        assert_eq!(rtt.rto(), ms(200));
        rtt.sample(ms(600));
        assert_eq!((rtt.srtt(), rtt.rto(), rtt.min()), (ms(600), ms(1800), ms(200)));
        rtt.sample(ms(600));
        assert_eq!(rtt.rto(), ms(600) + ms(225) * 4);
    }

    #[test]
    fn the_second_of_two_samples_far_below_the_estimate_replaces_it() {
        let mut rtt = RttEstimator::new(ms(1000), ms(1000));
        rtt.sample_or_restart(ms(10_000));
        assert_eq!(rtt.spread(), ms(10_000));
        rtt.sample_or_restart(ms(40));
        assert_eq!((rtt.srtt(), rtt.spread()), (ms(8_755), ms(320)));
        rtt.sample_or_restart(ms(9_000));
        rtt.sample_or_restart(ms(40));
        assert!(rtt.srtt() > ms(7_000));
        rtt.sample_or_restart(ms(40));
        assert_eq!((rtt.srtt(), rtt.rto()), (ms(40), ms(1000)));
    }

    #[test]
    fn a_constant_round_trip_is_estimated_exactly_and_the_timeout_keeps_its_floor() {
        let mut rtt = RttEstimator::new(ms(1000), ms(1000));
        for _ in 0..100 {
            rtt.sample(ms(200));
        }
        assert_eq!((rtt.srtt(), rtt.rto()), (ms(200), ms(1000)));
    }
}
