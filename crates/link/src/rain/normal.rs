//! The standard normal distribution.

use std::f64::consts::{SQRT_2, TAU};

use crate::Stream;

/// Where the bisection for a quantile begins: beyond lies less than 1e-23.
const FURTHEST: f64 = 10.0;
/// Halvings, after which nothing is left of the interval but its last digit.
const HALVINGS: u32 = 60;

/// The probability that a draw lies above `x`.
pub(super) fn above(x: f64) -> f64 {
    libm::erfc(x / SQRT_2) / 2.0
}

/// What is exceeded with probability `p`.
pub(super) fn exceeded(p: f64) -> f64 {
    let (mut low, mut high) = (-FURTHEST, FURTHEST);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if above(middle) > p {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

/// A draw, by Box and Muller.
pub(super) fn draw(stream: &mut Stream) -> f64 {
    // 1 - unit() lies in (0, 1], so that the logarithm is finite.
    let radius = libm::sqrt(-2.0 * libm::log(1.0 - stream.unit()));
    radius * libm::cos(TAU * stream.unit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Streams;

    #[test]
    fn quantiles_are_those_of_every_table() {
        for (p, x) in [(0.5, 0.0), (0.05, 1.644_853_627), (0.001, 3.090_232_306), (0.9, -1.281_552)]
        {
            assert!((exceeded(p) - x).abs() < 1e-6, "{p}: {}", exceeded(p));
            assert!((above(exceeded(p)) / p - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn draws_have_the_tails_of_the_law() {
        let mut stream = Streams::new(1).stream("normal");
        let draws: Vec<f64> = (0..200_000).map(|_| draw(&mut stream)).collect();
        for x in [-2.0, -1.0, 0.0, 1.0, 2.0] {
            let share = draws.iter().filter(|draw| **draw > x).count() as f64 / 200_000.0;
            // Four standard deviations at most.
            assert!((share - above(x)).abs() < 0.0045, "{x}: {share}");
        }
    }
}
