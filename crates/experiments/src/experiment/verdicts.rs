//! What claims that look at one figure, or at two, come to.

use super::claims::{Direction, Judge, Places};
use super::stats::Estimate;
use super::sweep::{SweepResult, Values};

/// Whether it holds, and what was measured.
pub(super) type Verdict = (bool, String);

/// A figure that a claim needs and that was not measured.
#[derive(Debug, thiserror::Error)]
#[error("{experiment}, figure {figure}, is not part of this run")]
pub(super) struct Missing {
    experiment: String,
    figure: String,
}

impl Missing {
    pub(super) fn new(experiment: &str, figure: &str) -> Self {
        Self { experiment: experiment.to_owned(), figure: figure.to_owned() }
    }
}

impl<'a> Judge<'a> {
    /// The same with the data of another figure.
    pub(super) const fn on(&self, result: &'a SweepResult) -> Self {
        Judge { result, ..*self }
    }

    /// Indices of the places that a test looks at.
    pub(super) fn places(&self, places: &Places) -> Vec<usize> {
        let wanted = |x: f64| match (&places.at, places.from_x) {
            (Some(at), _) => at.contains(&x),
            (None, Some(from)) => x >= from,
            (None, None) => true,
        };
        self.result.xs.iter().enumerate().filter(|(_, x)| wanted(**x)).map(|(i, _)| i).collect()
    }

    /// Indices of these places; fewer than there are if one of them was not measured.
    fn known(&self, xs: &[f64]) -> Vec<usize> {
        xs.iter().filter_map(|x| self.result.xs.iter().position(|known| known == x)).collect()
    }

    /// The mean of `these` is not below that of `those` at any place, beyond doubt.
    pub(super) fn better(&self, these: &[Values], those: &[Values], places: &Places) -> Verdict {
        let places = self.places(places);
        let (mut worse, mut unsure) = (Vec::new(), Vec::new());
        for &place in &places {
            let difference = Estimate::of_difference(&these[place], &those[place]);
            let text = format!("{} ({:+.4})", self.result.xs[place], difference.mean);
            if difference.mean.is_nan() || difference.mean < 0.0 {
                worse.push(text);
            } else if difference.mean - difference.ci95 < 0.0 {
                unsure.push(text);
            }
        }
        let mut measured = format!("at {} of {} points", places.len() - worse.len(), places.len());
        if !worse.is_empty() {
            measured += &format!("; not at x = {}", worse.join(", "));
        }
        if !unsure.is_empty() {
            measured += &format!("; within the paired 95 % interval at x = {}", unsure.join(", "));
        }
        (worse.is_empty() && unsure.is_empty() && !places.is_empty(), measured)
    }

    /// Gains in percent, each with its place.
    fn gains(&self, these: &[Values], those: &[Values], places: &Places) -> Vec<(f64, f64)> {
        let gain = |place: &usize| {
            let (a, b) = (Estimate::of(&these[*place]).mean, Estimate::of(&those[*place]).mean);
            (self.result.xs[*place], 100.0 * (a / b - 1.0))
        };
        self.places(places).iter().map(gain).collect()
    }

    /// The gain lies in a range at every place.
    pub(super) fn gain(
        &self,
        these: &[Values],
        those: &[Values],
        min: Option<f64>,
        max: Option<f64>,
        places: &Places,
    ) -> Verdict {
        let gains = self.gains(these, those, places);
        let inside = |g: f64| min.is_none_or(|min| g >= min) && max.is_none_or(|max| g <= max);
        let outside: Vec<_> = gains.iter().filter(|(_, g)| !inside(*g)).collect();
        let low = gains.iter().map(|g| g.1).fold(f64::INFINITY, f64::min);
        let high = gains.iter().map(|g| g.1).fold(f64::NEG_INFINITY, f64::max);
        let mut measured = format!("{low:+.1} to {high:+.1} %");
        if gains.len() == 1 {
            measured = format!("{low:+.1} %");
        }
        if !outside.is_empty() {
            let list: Vec<_> = outside.iter().map(|(x, g)| format!("{g:+.1} % at {x}")).collect();
            measured += &format!("; outside: {}", list.join(", "));
        }
        (outside.is_empty() && !gains.is_empty(), measured)
    }

    /// The largest gain of all places is at least `min` percent.
    pub(super) fn best_gain(&self, these: &[Values], those: &[Values], min: f64) -> Verdict {
        let gains = self.gains(these, those, &Places::default());
        let best = gains.iter().map(|g| g.1).fold(f64::NEG_INFINITY, f64::max);
        (best >= min, format!("at most {best:+.1} %"))
    }

    /// The gain on average over the places.
    pub(super) fn mean_gain(
        &self,
        variant: &str,
        over: &str,
        metric: &'static str,
        places: &Places,
    ) -> f64 {
        let values = |name| self.result.values(name, metric);
        let gains = self.gains(values(variant), values(over), places);
        gains.iter().map(|g| g.1).sum::<f64>() / gains.len() as f64
    }

    /// The means, or their ratios to `over`, go one way along the places.
    pub(super) fn trend(
        &self,
        these: &[Values],
        over: Option<&[Values]>,
        direction: Direction,
        xs: &[f64],
    ) -> Verdict {
        let sign = if direction == Direction::Rising { 1.0 } else { -1.0 };
        let series = |place: usize| -> Values {
            let values = &these[place];
            match over {
                None => values.clone(),
                Some(over) => values.iter().zip(&over[place]).map(|(a, b)| a / b).collect(),
            }
        };
        let found: Vec<Values> = self.known(xs).into_iter().map(series).collect();
        let (Some(first), Some(last)) = (found.first(), found.last()) else {
            return (false, "nothing was measured there".into());
        };
        let estimates: Vec<_> = found.iter().map(|values| Estimate::of(values)).collect();
        // A step may go the other way by chance, the whole may not.
        let against = estimates.windows(2).any(|pair| {
            let step = sign * (pair[1].mean - pair[0].mean);
            step.is_nan() || step < -(pair[0].ci95 + pair[1].ci95)
        });
        let whole = Estimate::of_difference(last, first);
        let rises = sign * whole.mean > 0.0;
        let sure = sign * whole.mean >= whole.ci95;
        let digits = if estimates[0].mean.abs() >= 100.0 { 0 } else { 2 };
        let means: Vec<_> = estimates.iter().map(|e| format!("{:.digits$}", e.mean)).collect();
        let mut measured = means.join(", ");
        if rises && !sure {
            measured += "; the first and the last not told apart";
        }
        (rises && sure && !against && found.len() == xs.len(), measured)
    }

    /// Each mean is `ratio` times the one before, nearly.
    pub(super) fn steps(
        &self,
        these: &[Values],
        ratio: f64,
        tolerance: f64,
        xs: &[f64],
    ) -> Verdict {
        let found = self.known(xs).into_iter().map(|place| Estimate::of(&these[place]).mean);
        let means: Vec<f64> = found.collect();
        let ratios: Vec<f64> = means.windows(2).map(|pair| pair[1] / pair[0]).collect();
        let near = |found: &f64| (found / ratio - 1.0).abs() <= tolerance;
        let holds = ratios.iter().all(near) && ratios.len() + 1 == xs.len();
        let list: Vec<_> = ratios.iter().map(|ratio| format!("{ratio:.3}")).collect();
        (holds, list.join(", "))
    }

    /// The means lie on a straight line from the first place to the last, nearly.
    pub(super) fn line(&self, these: &[Values], tolerance: f64, xs: &[f64]) -> Verdict {
        let means: Vec<f64> =
            self.known(xs).into_iter().map(|place| Estimate::of(&these[place]).mean).collect();
        if means.len() != xs.len() || xs.len() < 3 {
            return (false, "not three places were measured".into());
        }
        let (first, last) = ((xs[0], means[0]), (xs[xs.len() - 1], means[means.len() - 1]));
        let slope = (last.1 - first.1) / (last.0 - first.0);
        let off =
            xs.iter().zip(&means).map(|(x, mean)| mean / (first.1 + slope * (x - first.0)) - 1.0);
        let off: Vec<f64> = off.collect();
        let list: Vec<_> = off.iter().map(|off| format!("{:+.1} %", 100.0 * off)).collect();
        (off.iter().all(|off| off.abs() <= tolerance), format!("{} off it", list.join(", ")))
    }

    /// The largest mean is at most `ratio` times the smallest.
    pub(super) fn flat(&self, these: &[Values], ratio: f64, places: &Places) -> Verdict {
        let means = self.places(places).into_iter().map(|place| Estimate::of(&these[place]).mean);
        let means: Vec<f64> = means.collect();
        let low = means.iter().copied().fold(f64::INFINITY, f64::min);
        let high = means.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let holds = high / low <= ratio && !means.iter().any(|mean| mean.is_nan());
        (holds, format!("{low:.2} to {high:.2}: a factor of {:.2}", high / low))
    }

    /// The mean lies in a range at every place.
    pub(super) fn range(
        &self,
        these: &[Values],
        above: Option<f64>,
        min: Option<f64>,
        max: Option<f64>,
        places: &Places,
    ) -> Verdict {
        let places = self.places(places);
        let means: Vec<f64> =
            places.iter().map(|place| Estimate::of(&these[*place]).mean).collect();
        let inside = |m: f64| {
            above.is_none_or(|above| m > above)
                && min.is_none_or(|min| m >= min)
                // A round trip is measured to the microsecond.
                && max.is_none_or(|max| m <= max + 1e-5)
        };
        let holds = !means.is_empty() && means.iter().all(|m| inside(*m));
        let list: Vec<_> = means.iter().map(|m| format!("{m:.3}")).collect();
        (holds, list.join(", "))
    }
}

/// Over all places together no worse: the paired relative difference is not below zero.
pub(super) fn not_below(these: &[Values], those: &[Values]) -> Verdict {
    let relative: Vec<f64> = these
        .iter()
        .zip(those)
        .map(|(a, b)| Estimate::of(a).mean / Estimate::of(b).mean - 1.0)
        .collect();
    let estimate = Estimate::of(&relative);
    let measured = format!("{:+.1} % on average over the points", 100.0 * estimate.mean);
    (!estimate.is_below_zero() && !relative.is_empty(), measured)
}

/// Two gains on average, in words.
pub(super) fn gains_text(here: f64, there: f64) -> String {
    format!("{here:+.1} % on average here, {there:+.1} % there")
}

#[cfg(test)]
mod tests;
