//! Claims: statements of a paper in a form that a measurement can bear out or not.

use bentpipe_record::{Bound, Claim};
use serde::Deserialize;

use super::metrics::metric;
use super::ranks::End;
use super::sweep::SweepResult;
use super::verdicts::{Missing, Verdict, gains_text, not_below};

/// A statement and its test.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimSpec {
    /// The statement, with the paper's figure where it gives one.
    pub text: String,
    /// The paper leaves it open: it is measured and reported, no more.
    #[serde(default)]
    pub informative: bool,
    /// Whose the bound is that decides.
    #[serde(default)]
    pub bound: Bound,
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
    /// The means go up or down along the places: no step significantly the other way, and the 95 % interval
    /// of the paired difference between the last and the first excludes the opposite.
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
    /// The means lie on a straight line from the first of the places `xs` to the last, within a share
    /// `tolerance` of it.
    Line { metric: Option<String>, variant: String, tolerance: f64, xs: Vec<f64> },
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
    /// another, and the 95 % interval of the difference (jackknife over the replications) excludes the
    /// opposite.
    SmallerSpread { metric: Option<String>, at_x: f64, than_at_x: f64 },
    /// Over all places of some figures, each an experiment and a figure, the ranks of `variant` have
    /// the smallest sum.
    LowestRankSum { metric: Option<String>, variant: String, figures: Vec<[String; 2]> },
}

/// Which way a trend goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Direction {
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
            | Test::Line { metric, .. }
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
            | Test::Line { variant, .. }
            | Test::Flat { variant, .. }
            | Test::Range { variant, .. }
            | Test::NotBelow { variant, .. }
            | Test::LowestRankSum { variant, .. } => vec![variant],
            Test::Top { variants, .. } | Test::Bottom { variants, .. } => variants.iter().collect(),
            Test::SmallerSpread { .. } => Vec::new(),
        }
    }

    /// The places on the x axis that the claim names.
    pub(super) fn places(&self) -> Vec<f64> {
        match &self.test {
            Test::Better { places, .. }
            | Test::Gain { places, .. }
            | Test::Flat { places, .. }
            | Test::Range { places, .. }
            | Test::SmallerGain { places, .. }
            | Test::Top { places, .. }
            | Test::Bottom { places, .. } => places.at.clone().unwrap_or_default(),
            Test::Trend { xs, .. }
            | Test::RelativeTrend { xs, .. }
            | Test::Steps { xs, .. }
            | Test::Line { xs, .. } => xs.clone(),
            Test::SmallerSpread { at_x, than_at_x, .. } => vec![*at_x, *than_at_x],
            Test::BestGain { .. }
            | Test::NotBelow { .. }
            | Test::LargerGain { .. }
            | Test::LowestRankSum { .. } => Vec::new(),
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

impl<'a> Judge<'a> {
    /// Judges one claim.
    pub(super) fn judge(&self, claim: &ClaimSpec) -> Claim {
        let (holds, measured) = match self.verdict(claim) {
            Ok((holds, measured)) => (Some(holds), measured),
            Err(missing) => (None, missing.to_string()),
        };
        let ClaimSpec { text, informative, bound, .. } = claim;
        Claim { text: text.clone(), holds, measured, informative: *informative, bound: *bound }
    }

    fn verdict(&self, claim: &ClaimSpec) -> Result<Verdict, Missing> {
        let name = claim.metric().map_or(self.default_metric, String::as_str);
        let Some(metric) = metric(name).map(|m| m.name) else {
            return Ok((false, format!("no metric `{name}`")));
        };
        let values = |variant: &str| self.result.values(variant, metric);
        let other = |experiment: &str, figure: &str| {
            (self.find)(experiment, figure).ok_or_else(|| Missing::new(experiment, figure))
        };
        Ok(match &claim.test {
            Test::Better { variant, than, places, .. } => {
                self.better(values(variant), values(than), places)
            }
            Test::Gain { variant, over, min, max, places, .. } => {
                self.gain(values(variant), values(over), *min, *max, places)
            }
            Test::BestGain { variant, over, min, .. } => {
                self.best_gain(values(variant), values(over), *min)
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
            Test::Line { variant, tolerance, xs, .. } => self.line(values(variant), *tolerance, xs),
            Test::Flat { variant, ratio, places, .. } => self.flat(values(variant), *ratio, places),
            Test::Range { variant, above, min, max, places, .. } => {
                self.range(values(variant), *above, *min, *max, places)
            }
            Test::NotBelow { variant, than_figure, .. } => {
                let other = other(self.experiment, than_figure)?;
                not_below(values(variant), other.values(variant, metric))
            }
            Test::LargerGain { variant, over, than_figure, .. } => {
                let other = other(self.experiment, than_figure)?;
                let all = Places::default();
                let gain = |judge: &Self| judge.mean_gain(variant, over, metric, &all);
                let (here, there) = (gain(self), gain(&self.on(other)));
                (here > there, gains_text(here, there))
            }
            Test::SmallerGain { variant, over, than_experiment, than_figure, places, .. } => {
                let other = other(than_experiment, than_figure)?;
                let gain = |judge: &Self| judge.mean_gain(variant, over, metric, places);
                let (here, there) = (gain(self), gain(&self.on(other)));
                (here < there, gains_text(here, there))
            }
            Test::Top { variants, less, places, .. } => {
                self.ends(End::Top, variants, *less, metric, places)
            }
            Test::Bottom { variants, less, places, .. } => {
                self.ends(End::Bottom, variants, *less, metric, places)
            }
            Test::SmallerSpread { at_x, than_at_x, .. } => self.spread(metric, *at_x, *than_at_x),
            Test::LowestRankSum { variant, figures, .. } => {
                self.rank_sum(variant, metric, figures)?
            }
        })
    }
}
