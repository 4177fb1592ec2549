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
}

impl RttEstimator {
    /// An estimator that answers `initial` before the first sample and never gives a timeout below
    /// `rto_min`.
    pub const fn new(initial: Span, rto_min: Span) -> Self {
        let (srtt, zero) = (None, Span::ZERO);
        Self { srtt, rttvar: zero, latest: initial, min: Span::MAX, initial, rto_min }
    }

    /// Takes a measurement (RFC 6298, section 2, gains 1/8 and 1/4).
    pub fn sample(&mut self, measured: Span) {
        self.latest = measured;
        self.min = self.min.min(measured);
        self.srtt = Some(match self.srtt {
            None => {
                self.rttvar = measured / 2;
                measured
            }
            Some(srtt) => {
                self.rttvar = (self.rttvar * 3 + srtt.abs_diff(measured)) / 4;
                (srtt * 7 + measured) / 8
            }
        });
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
    fn a_constant_round_trip_is_estimated_exactly_and_the_timeout_keeps_its_floor() {
        let mut rtt = RttEstimator::new(ms(1000), ms(1000));
        for _ in 0..100 {
            rtt.sample(ms(200));
        }
        assert_eq!((rtt.srtt(), rtt.rto()), (ms(200), ms(1000)));
    }
}
