//! Claims: statements of a paper in a form that a measurement can bear out or not.

use bentpipe_record::Claim;
use serde::Deserialize;

use super::metrics::metric;
use super::ranks::End;
use super::stats::Estimate;
use super::sweep::{SweepResult, Values};

/// A statement and its test.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimSpec {
    /// The statement, with the paper's figure where it gives one.
    pub text: String,
    /// The paper leaves it open: it is measured and reported, no more.
    #[serde(default)]
    pub informative: bool,
    #[serde(flatten)]
    test: Test,
}

/// The places on the x axis that a test looks at: those of `at`, or those from `from_x` on.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Places {
    pub(super) at: Option<Vec<f64>>,
    pub(super) from_x: Option<f64>,
}

/// How a statement is tested. Differences are those of paired replications.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Test {
    /// At every place the mean of `variant` is not below that of `than`, and the 95 % interval of the
    /// paired difference excludes the opposite.
    Better {
        metric: Option<String>,
        variant: String,
        than: String,
        #[serde(flatten)]
        places: Places,
    },
    /// The gain of `variant` over `over` in percent lies in a range at every place.
    Gain {
        metric: Option<String>,
        variant: String,
        over: String,
        min: Option<f64>,
        max: Option<f64>,
        #[serde(flatten)]
        places: Places,
    },
    /// The largest gain is at least `min` percent.
    BestGain { metric: Option<String>, variant: String, over: String, min: f64 },
    /// The means go up or down along the places, no step significantly the other way.
    Trend { metric: Option<String>, variant: String, direction: Direction, xs: Vec<f64> },
    /// The same for the ratio of two variants.
    RelativeTrend {
        metric: Option<String>,
        variant: String,
        over: String,
        direction: Direction,
        xs: Vec<f64>,
    },
    /// From each of the places `xs` to the next the mean becomes `ratio` times what it was, within a share
    /// `tolerance` of that ratio.
    Steps { metric: Option<String>, variant: String, ratio: f64, tolerance: f64, xs: Vec<f64> },
    /// The largest mean is at most `ratio` times the smallest.
    Flat {
        metric: Option<String>,
        variant: String,
        ratio: f64,
        #[serde(flatten)]
        places: Places,
    },
    /// The mean lies in a range at every place; `above` excludes its end.
    Range {
        metric: Option<String>,
        variant: String,
        above: Option<f64>,
        min: Option<f64>,
        max: Option<f64>,
        #[serde(flatten)]
        places: Places,
    },
    /// Over all places together, the mean is not significantly below that of another figure.
    NotBelow { metric: Option<String>, variant: String, than_figure: String },
    /// The mean gain is larger than in another figure.
    LargerGain { metric: Option<String>, variant: String, over: String, than_figure: String },
    /// The mean gain is smaller than in a figure of another experiment.
    SmallerGain {
        metric: Option<String>,
        variant: String,
        over: String,
        than_experiment: String,
        than_figure: String,
        #[serde(flatten)]
        places: Places,
    },
    /// At every place each of `variants` is better than each of the others, and the 95 % intervals of
    /// the paired differences exclude the opposite. With `less` a smaller value is better.
    Top {
        metric: Option<String>,
        variants: Vec<String>,
        #[serde(default)]
        less: bool,
        #[serde(flatten)]
        places: Places,
    },
    /// The same, worse than each of the others.
    Bottom {
        metric: Option<String>,
        variants: Vec<String>,
        #[serde(default)]
        less: bool,
        #[serde(flatten)]
        places: Places,
    },
    /// The spread of all variants' means, as share of their mean, is smaller at one place than at
    /// another.
    SmallerSpread { metric: Option<String>, at_x: f64, than_at_x: f64 },
    /// Over all places of some figures, each an experiment and a figure, the ranks of `variant` have
    /// the smallest sum.
    LowestRankSum { metric: Option<String>, variant: String, figures: Vec<[String; 2]> },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Direction {
    Rising,
    Falling,
}

impl ClaimSpec {
    /// The metric of the claim, if it is not its figure's.
    pub(super) fn metric(&self) -> Option<&String> {
        match &self.test {
            Test::Better { metric, .. }
            | Test::Gain { metric, .. }
            | Test::BestGain { metric, .. }
            | Test::Trend { metric, .. }
            | Test::RelativeTrend { metric, .. }
            | Test::Steps { metric, .. }
            | Test::Flat { metric, .. }
            | Test::Range { metric, .. }
            | Test::NotBelow { metric, .. }
            | Test::LargerGain { metric, .. }
            | Test::SmallerGain { metric, .. }
            | Test::Top { metric, .. }
            | Test::Bottom { metric, .. }
            | Test::SmallerSpread { metric, .. }
            | Test::LowestRankSum { metric, .. } => metric.as_ref(),
        }
    }

    /// The variants that the claim names.
    pub(super) fn variants(&self) -> Vec<&String> {
        match &self.test {
            Test::Better { variant, than: other, .. }
            | Test::Gain { variant, over: other, .. }
            | Test::BestGain { variant, over: other, .. }
            | Test::RelativeTrend { variant, over: other, .. }
            | Test::LargerGain { variant, over: other, .. }
            | Test::SmallerGain { variant, over: other, .. } => vec![variant, other],
            Test::Trend { variant, .. }
            | Test::Steps { variant, .. }
            | Test::Flat { variant, .. }
            | Test::Range { variant, .. }
            | Test::NotBelow { variant, .. }
            | Test::LowestRankSum { variant, .. } => vec![variant],
            Test::Top { variants, .. } | Test::Bottom { variants, .. } => variants.iter().collect(),
            Test::SmallerSpread { .. } => Vec::new(),
        }
    }
}

/// Judges claims on the result of a sweep.
pub(super) struct Judge<'a> {
    pub(super) experiment: &'a str,
    pub(super) default_metric: &'a str,
    pub(super) result: &'a SweepResult,
    /// The data of a figure, by experiment and figure; none if it is not part of the run.
    pub(super) find: &'a dyn Fn(&str, &str) -> Option<&'a SweepResult>,
}

/// Whether it holds, and what was measured.
pub(super) type Verdict = (bool, String);

impl<'a> Judge<'a> {
    /// Judges one claim.
    pub(super) fn judge(&self, claim: &ClaimSpec) -> Claim {
        let (holds, measured) = self.verdict(claim);
        Claim { text: claim.text.clone(), holds, measured, informative: claim.informative }
    }

    fn verdict(&self, claim: &ClaimSpec) -> Verdict {
        let name = claim.metric().map_or(self.default_metric, String::as_str);
        let Some(metric) = metric(name).map(|m| m.name) else {
            return (false, format!("no metric `{name}`"));
        };
        let values = |variant: &str| self.result.values(variant, metric);
        match &claim.test {
            Test::Better { variant, than, places, .. } => {
                self.better(values(variant), values(than), places)
            }
            Test::Gain { variant, over, min, max, places, .. } => {
                self.gain(values(variant), values(over), *min, *max, places)
            }
            Test::BestGain { variant, over, min, .. } => {
                let gains = self.gains(values(variant), values(over), &Places::default());
                let best = gains.iter().map(|g| g.1).fold(f64::NEG_INFINITY, f64::max);
                (best >= *min, format!("at most {best:+.1} %"))
            }
            Test::Trend { variant, direction, xs, .. } => {
                self.trend(values(variant), None, *direction, xs)
            }
            Test::RelativeTrend { variant, over, direction, xs, .. } => {
                self.trend(values(variant), Some(values(over)), *direction, xs)
            }
            Test::Steps { variant, ratio, tolerance, xs, .. } => {
                self.steps(values(variant), *ratio, *tolerance, xs)
            }
            Test::Flat { variant, ratio, places, .. } => self.flat(values(variant), *ratio, places),
            Test::Range { variant, above, min, max, places, .. } => {
                self.range(values(variant), *above, *min, *max, places)
            }
            Test::NotBelow { variant, than_figure, .. } => {
                match (self.find)(self.experiment, than_figure) {
                    Some(other) => not_below(values(variant), other.values(variant, metric)),
                    None => not_run(than_figure),
                }
            }
            Test::LargerGain { variant, over, than_figure, .. } => {
                let other = (self.find)(self.experiment, than_figure);
                self.compare_gains(variant, over, metric, other, &Places::default(), than_figure)
            }
            Test::SmallerGain { variant, over, than_experiment, than_figure, places, .. } => {
                let other = (self.find)(than_experiment, than_figure);
                let (larger, measured) =
                    self.compare_gains(variant, over, metric, other, places, than_figure);
                (other.is_some() && !larger, measured)
            }
            Test::Top { variants, less, places, .. } => {
                self.ends(End::Top, variants, *less, metric, places)
            }
            Test::Bottom { variants, less, places, .. } => {
                self.ends(End::Bottom, variants, *less, metric, places)
            }
            Test::SmallerSpread { at_x, than_at_x, .. } => self.spread(metric, *at_x, *than_at_x),
            Test::LowestRankSum { variant, figures, .. } => self.rank_sum(variant, metric, figures),
        }
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

    fn better(&self, these: &[Values], those: &[Values], places: &Places) -> Verdict {
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

    fn gains(&self, these: &[Values], those: &[Values], places: &Places) -> Vec<(f64, f64)> {
        let gain = |place: &usize| {
            let (a, b) = (Estimate::of(&these[*place]).mean, Estimate::of(&those[*place]).mean);
            (self.result.xs[*place], 100.0 * (a / b - 1.0))
        };
        self.places(places).iter().map(gain).collect()
    }

    fn gain(
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

    fn trend(
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
        let found: Vec<_> = xs
            .iter()
            .filter_map(|x| self.result.xs.iter().position(|known| known == x))
            .map(series)
            .collect();
        let estimates: Vec<_> = found.iter().map(|values| Estimate::of(values)).collect();
        // A step may go the other way by chance, the whole may not.
        let against = estimates.windows(2).filter(|pair| {
            let step = sign * (pair[1].mean - pair[0].mean);
            step < -(pair[0].ci95 + pair[1].ci95)
        });
        let against = against.count();
        let (Some(first), Some(last)) = (estimates.first(), estimates.last()) else {
            return (false, "nothing was measured there".into());
        };
        let whole = sign * (last.mean - first.mean) > 0.0;
        let digits = if first.mean.abs() >= 100.0 { 0 } else { 2 };
        let means: Vec<_> = estimates.iter().map(|e| format!("{:.digits$}", e.mean)).collect();
        (whole && against == 0 && estimates.len() == xs.len(), means.join(", "))
    }

    fn steps(&self, these: &[Values], ratio: f64, tolerance: f64, xs: &[f64]) -> Verdict {
        let place = |x: &f64| self.result.xs.iter().position(|known| known == x);
        let found = xs.iter().filter_map(place).map(|place| Estimate::of(&these[place]).mean);
        let means: Vec<f64> = found.collect();
        let ratios: Vec<f64> = means.windows(2).map(|pair| pair[1] / pair[0]).collect();
        let near = |found: &f64| (found / ratio - 1.0).abs() <= tolerance;
        let holds = ratios.iter().all(near) && ratios.len() + 1 == xs.len();
        let list: Vec<_> = ratios.iter().map(|ratio| format!("{ratio:.3}")).collect();
        (holds, list.join(", "))
    }

    fn flat(&self, these: &[Values], ratio: f64, places: &Places) -> Verdict {
        let means = self.places(places).into_iter().map(|place| Estimate::of(&these[place]).mean);
        let means: Vec<f64> = means.collect();
        let low = means.iter().copied().fold(f64::INFINITY, f64::min);
        let high = means.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        (high / low <= ratio, format!("{low:.2} to {high:.2}: a factor of {:.2}", high / low))
    }

    fn range(
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

    fn compare_gains(
        &self,
        variant: &str,
        over: &str,
        metric: &'static str,
        other: Option<&'a SweepResult>,
        places: &Places,
        name: &str,
    ) -> Verdict {
        let Some(other) = other else { return not_run(name) };
        let these = self.gains(
            self.result.values(variant, metric),
            self.result.values(over, metric),
            places,
        );
        let judge = Judge { result: other, ..*self };
        let those = judge.gains(other.values(variant, metric), other.values(over, metric), places);
        let mean = |gains: &[(f64, f64)]| {
            gains.iter().map(|g| g.1).sum::<f64>() / gains.len().max(1) as f64
        };
        let (this, that) = (mean(&these), mean(&those));
        (this > that, format!("{this:+.1} % on average here, {that:+.1} % there"))
    }
}

/// Over all places together no worse: the paired relative difference is not below zero.
fn not_below(these: &[Values], those: &[Values]) -> Verdict {
    let relative: Vec<f64> = these
        .iter()
        .zip(those)
        .map(|(a, b)| Estimate::of(a).mean / Estimate::of(b).mean - 1.0)
        .collect();
    let estimate = Estimate::of(&relative);
    let measured = format!("{:+.1} % on average over the points", 100.0 * estimate.mean);
    (!estimate.is_below_zero() && !relative.is_empty(), measured)
}

fn not_run(figure: &str) -> Verdict {
    (false, format!("figure {figure} is not part of this run"))
}
