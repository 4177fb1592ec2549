//! The law of rain attenuation over the year: Recommendation ITU-R P.1853-1, annex 1, section 2.2, steps A and C.

use std::ops::RangeInclusive;

use bentpipe_units::{Decibels, Percent};

use super::error::RainError;
use super::normal;
use super::slant_path::{EXCEEDED, RainStatistics};

/// Parts of the year to which the law is fitted, in percent, as far as it rains that much.
const FITTED: [f64; 12] = [0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 3.0, 5.0];
/// Parts of the year in which it rains somewhere on a way.
const PROBABILITIES: RangeInclusive<f64> = 0.1..=20.0;

/// Rain attenuation as a function of a standard normal draw: the logarithm is normal, and an offset less leaves nothing
/// for the part of the year in which it does not rain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Lognormal {
    mean: f64,
    sigma: f64,
    offset: f64,
}

impl Lognormal {
    /// The law of a way on which it rains for this part of the year, 0.1 to 20 %.
    ///
    /// # Errors
    /// When the part is out of its range.
    pub(super) fn fit(statistics: &RainStatistics, rains: Percent) -> Result<Self, RainError> {
        if !PROBABILITIES.contains(&rains.0) {
            let (least, most) = PROBABILITIES.into_inner();
            let problem = format!("{rains}: it must lie in {least} to {most} %");
            return Err(RainError::new("rain_probability", problem));
        }
        let points = FITTED.iter().filter(|part| **part <= rains.0).map(|part| {
            let Decibels(db) = statistics.exceeded(Percent(*part));
            (normal::exceeded(part / 100.0), libm::log(db))
        });
        let (mean, sigma) = straight_line(&points.collect::<Vec<_>>());
        let offset = libm::exp(mean + sigma * normal::exceeded(rains.0 / 100.0));
        Ok(Self { mean, sigma, offset })
    }

    /// The attenuation that belongs to a draw.
    pub(super) fn attenuation(&self, draw: f64) -> Decibels {
        Decibels((libm::exp(self.mean + self.sigma * draw) - self.offset).max(0.0))
    }

    /// The draw to which an attenuation above zero belongs.
    fn draw_of(&self, attenuation: Decibels) -> f64 {
        (libm::log(attenuation.0 + self.offset) - self.mean) / self.sigma
    }

    /// The draw to which the attenuation belongs that is exceeded for this part of the year, 0.001 to 5 %.
    ///
    /// # Errors
    /// When the part is out of its range.
    pub(super) fn draw_at(
        &self,
        statistics: &RainStatistics,
        part: Percent,
    ) -> Result<f64, RainError> {
        if !EXCEEDED.contains(&part.0) {
            let (least, most) = EXCEEDED.into_inner();
            let problem = format!("{part}: it must lie in {least} to {most} %");
            return Err(RainError::new("exceeded", problem));
        }
        Ok(self.draw_of(statistics.exceeded(part)))
    }
}

/// Where the straight line of least squares through some points begins, and how it rises.
fn straight_line(points: &[(f64, f64)]) -> (f64, f64) {
    let mean =
        |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / points.len() as f64;
    let (x, y) = (mean(|(x, _)| *x), mean(|(_, y)| *y));
    let (xy, xx) = (mean(|(x, y)| x * y), mean(|(x, _)| x * x));
    let slope = (xy - x * y) / (xx - x * x);
    (y - slope * x, slope)
}

#[cfg(test)]
mod tests {
    use super::super::testing::path;
    use super::*;

    fn statistics() -> RainStatistics {
        path(20.0).statistics().expect("a way")
    }

    #[test]
    fn a_line_through_points_on_it_is_found() {
        let points = [1.0, 2.0, 5.0].map(|x| (x, 3.0 - 2.0 * x));
        let (begins, slope) = straight_line(&points);
        assert!((begins - 3.0).abs() < 1e-12 && (slope + 2.0).abs() < 1e-12);
    }

    #[test]
    fn the_law_is_near_the_statistics_and_nothing_when_it_does_not_rain() {
        let statistics = statistics();
        let law = Lognormal::fit(&statistics, Percent(5.0)).expect("a law");
        for part in [0.01, 0.03, 0.1, 0.3] {
            let fitted = law.attenuation(normal::exceeded(part / 100.0)).0;
            let Decibels(asked) = statistics.exceeded(Percent(part));
            // The offset, which the recommendation subtracts, and what a straight line misses.
            assert!(
                (fitted - asked).abs() < 0.12 * asked + law.offset,
                "{part} %: {fitted} {asked}"
            );
        }
        assert!(law.attenuation(normal::exceeded(0.049)).0 > 0.0);
        assert_eq!(law.attenuation(normal::exceeded(0.051)).0, 0.0);
    }

    #[test]
    fn a_run_can_begin_at_what_is_exceeded_for_a_part_of_the_year() {
        let statistics = statistics();
        let law = Lognormal::fit(&statistics, Percent(5.0)).expect("a law");
        for part in [Percent(0.01), Percent(0.1), Percent(1.0)] {
            let draw = law.draw_at(&statistics, part).expect("a part");
            let Decibels(db) = law.attenuation(draw);
            assert!((db - statistics.exceeded(part).0).abs() < 1e-9, "{part}");
        }
        let error = law.draw_at(&statistics, Percent(6.0)).expect_err("too often").to_string();
        assert_eq!(error, "`exceeded`: 6 %: it must lie in 0.001 to 5 %");
        let error = Lognormal::fit(&statistics, Percent(50.0)).expect_err("always").to_string();
        assert_eq!(error, "`rain_probability`: 50 %: it must lie in 0.1 to 20 %");
    }
}
