//! Random amounts: sizes, numbers and times.

use bentpipe_link::Stream;

/// A distribution of amounts that are never below zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Draw {
    /// Always the same.
    Constant(f64),
    /// Exponential with this mean.
    Exponential(f64),
    /// Pareto with this mean and shape, which is above 1: never below mean (shape - 1) / shape.
    Pareto(f64, f64),
    /// Pareto of the second kind, Lomax, with this mean and shape, which is above 1: from 0 on.
    Lomax(f64, f64),
}

impl Draw {
    /// The mean.
    pub const fn mean(self) -> f64 {
        match self {
            Self::Constant(mean)
            | Self::Exponential(mean)
            | Self::Pareto(mean, _)
            | Self::Lomax(mean, _) => mean,
        }
    }

    /// One amount. Draws nothing when it is constant.
    pub(crate) fn draw(self, stream: &mut Stream) -> f64 {
        // In (0, 1], so that no power of it is infinite.
        let mut unit = || 1.0 - stream.unit();
        match self {
            Self::Constant(amount) => amount,
            Self::Exponential(mean) => -mean * libm::log(unit()),
            Self::Pareto(mean, shape) => {
                mean * (shape - 1.0) / shape * libm::pow(unit(), -1.0 / shape)
            }
            Self::Lomax(mean, shape) => {
                mean * (shape - 1.0) * (libm::pow(unit(), -1.0 / shape) - 1.0)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_link::Streams;

    use super::*;

    fn sorted(draw: Draw) -> Vec<f64> {
        let mut stream = Streams::new(1).stream("draw");
        let mut drawn: Vec<f64> = (0..200_000).map(|_| draw.draw(&mut stream)).collect();
        drawn.sort_by(f64::total_cmp);
        drawn
    }

    #[test]
    fn means_are_those_that_were_asked_for() {
        // With a shape of 3 the variance is finite, so that a mean is something to look at.
        for draw in [
            Draw::Constant(5.0),
            Draw::Exponential(5.0),
            Draw::Pareto(5.0, 3.0),
            Draw::Lomax(5.0, 3.0),
        ] {
            let drawn = sorted(draw);
            let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
            assert!((mean / draw.mean() - 1.0).abs() < 0.02, "{draw:?}: {mean}");
        }
    }

    #[test]
    fn quantiles_are_those_of_the_laws() {
        // Where the shape is 1.2, as in traffic, quantiles say more than means.
        for share in [0.1f64, 0.5, 0.9, 0.99] {
            let left = 1.0 - share;
            let pareto = 10.0 * 0.2 / 1.2 * left.powf(-1.0 / 1.2);
            let lomax = 10.0 * 0.2 * (left.powf(-1.0 / 1.2) - 1.0);
            for (draw, right) in [
                (Draw::Pareto(10.0, 1.2), pareto),
                (Draw::Lomax(10.0, 1.2), lomax),
                (Draw::Exponential(10.0), -10.0 * left.ln()),
            ] {
                let found = sorted(draw)[(share * 200_000.0) as usize];
                assert!((found / right - 1.0).abs() < 0.04, "{draw:?} at {share}: {found}");
            }
        }
        assert!(sorted(Draw::Pareto(10.0, 1.2))[0] >= 10.0 * 0.2 / 1.2);
    }
}
