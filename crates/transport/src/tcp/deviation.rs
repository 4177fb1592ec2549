//! The margin of the timeout as Linux has it.

use bentpipe_units::Span;

/// The mean deviation of the round trip, four times. One that becomes shorter hardly raises it, and what it was at most
/// in a round trip counts for several.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Deviation {
    mean: Span,
    /// The largest mean of this round trip, and what counts.
    largest: Span,
    margin: Span,
    /// The round trip ends when this offset is acknowledged.
    ends: u64,
}

/// What an acknowledgement says of the place in the stream: what is acknowledged, and what was sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) una: u64,
    pub(super) next: u64,
}

impl Deviation {
    /// The timeout is so much longer than the smoothed round trip.
    pub(super) const fn margin(&self) -> Span {
        self.margin
    }

    /// A sample where the smoothed round trip was `srtt`, or nothing was known. The margin is at least so long.
    pub(super) fn sample(&mut self, srtt: Option<Span>, measured: Span, least: Span, place: Place) {
        let Some(srtt) = srtt else {
            self.mean = measured * 2;
            self.margin = self.mean.max(least);
            (self.largest, self.ends) = (self.margin, place.next);
            return;
        };
        let apart = srtt.abs_diff(measured);
        let quarter = self.mean / 4;
        if apart <= quarter {
            self.mean = self.mean - (quarter - apart);
        } else if measured < srtt {
            self.mean = self.mean + (apart - quarter) / 8;
        } else {
            self.mean = self.mean + (apart - quarter);
        }
        self.largest = self.largest.max(self.mean);
        self.margin = self.margin.max(self.largest);
        if place.una > self.ends {
            if self.largest < self.margin {
                self.margin = self.margin - (self.margin - self.largest) / 4;
            }
            (self.ends, self.largest) = (place.next, least);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST: Span = Span::from_millis(200);

    fn ms(n: u64) -> Span {
        Span::from_millis(n)
    }

    fn known() -> Deviation {
        let mut deviation = Deviation::default();
        deviation.sample(None, ms(600), LEAST, Place { una: 1, next: 10 });
        deviation
    }

    #[test]
    fn the_first_sample_gives_a_timeout_of_three_round_trips() {
        assert_eq!(known().margin(), ms(1_200));
    }

    #[test]
    fn steady_round_trips_bring_the_margin_down_to_its_least() {
        let mut deviation = known();
        for n in 1..200u64 {
            let place = Place { una: 10 * n + 1, next: 10 * (n + 1) };
            deviation.sample(Some(ms(600)), ms(600), LEAST, place);
        }
        assert!(deviation.margin() < ms(202), "{}", deviation.margin());
    }

    #[test]
    fn a_round_trip_that_becomes_shorter_hardly_raises_it() {
        let (mut longer, mut shorter) = (known(), known());
        let place = Place { una: 1, next: 10 };
        longer.sample(Some(ms(600)), ms(1_200), LEAST, place);
        shorter.sample(Some(ms(1_200)), ms(600), LEAST, place);
        assert_eq!(longer.margin(), ms(1_500));
        assert_eq!(shorter.margin(), ms(1_237) + Span::from_micros(500));
    }
}
