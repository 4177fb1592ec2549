//! What an experiment found: points, and claims judged on them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The document that `bentpipe reproduce --json` prints.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Experiments {
    /// One entry for each figure.
    pub experiments: Vec<Figure>,
}

/// One figure of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// Identity of the experiment, such as `E1`.
    pub id: String,
    /// Number of the figure in the paper, or a name where the paper prints none.
    pub figure: String,
    /// What the figure shows.
    pub title: String,
    /// What the x axis counts.
    pub x_label: String,
    /// The metric that the figure draws; the others stand beside it in `points`.
    pub metric: String,
    /// What was measured.
    pub points: Vec<Point>,
    /// What the paper says of it, judged.
    pub claims: Vec<Claim>,
}

/// The mean of one metric at one place.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Place on the x axis.
    pub x: f64,
    /// What was varied, such as `on` and `off`.
    pub variant: String,
    /// Name of the metric.
    pub metric: String,
    /// Mean over the replications.
    pub mean: f64,
    /// Standard deviation over the replications.
    pub sd: f64,
    /// Half width of the 95 % confidence interval of the mean (Student's t).
    pub ci95: f64,
    /// Replications.
    pub n: u64,
}

/// A statement and whether the measurement bears it out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Claim {
    /// The statement, with the paper's figure where it gives one.
    pub text: String,
    /// Whether it holds; `None` where that was not judged, as a figure that it needs is not part of the run.
    pub holds: Option<bool>,
    /// What was measured, in words.
    pub measured: String,
    /// True when the statement is only reported and cannot fail.
    pub informative: bool,
    /// Whose the bound is that decides.
    pub bound: Bound,
}

/// Whose the bound of a claim is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// The paper states it.
    #[default]
    Paper,
    /// The paper says something, but not how much: the line is of those who wrote the experiment.
    Ours,
}

/// How many claims hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Claims of papers that hold.
    pub holding: usize,
    /// Those that were judged and can fail.
    pub claims: usize,
    /// Claims with bounds of our own that hold.
    pub holding_ours: usize,
    /// Those that were judged and can fail.
    pub claims_ours: usize,
    /// Claims that were not judged.
    pub not_judged: usize,
}

impl Tally {
    /// Counts these claims; those that are only reported do not count.
    pub fn of<'c>(claims: impl IntoIterator<Item = &'c Claim>) -> Self {
        let mut tally = Self::default();
        for claim in claims.into_iter().filter(|claim| !claim.informative) {
            let Some(holds) = claim.holds else {
                tally.not_judged += 1;
                continue;
            };
            let (holding, claims) = match claim.bound {
                Bound::Paper => (&mut tally.holding, &mut tally.claims),
                Bound::Ours => (&mut tally.holding_ours, &mut tally.claims_ours),
            };
            *claims += 1;
            *holding += usize::from(holds);
        }
        tally
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { holding, claims, holding_ours, claims_ours, not_judged } = self;
        write!(f, "{holding} of {claims} claims hold")?;
        if *claims_ours > 0 {
            write!(f, ", and {holding_ours} of {claims_ours} with bounds of our own")?;
        }
        if *not_judged > 0 {
            write!(f, "; {not_judged} not judged")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(holds: Option<bool>, informative: bool, bound: Bound) -> Claim {
        Claim { text: String::new(), holds, measured: String::new(), informative, bound }
    }

    #[test]
    fn bounds_of_our_own_are_counted_apart_and_what_is_only_reported_not_at_all() {
        let (paper, ours) = (Bound::Paper, Bound::Ours);
        let mut claims = vec![
            claim(Some(true), false, paper),
            claim(Some(false), false, paper),
            claim(Some(true), true, paper),
        ];
        assert_eq!(Tally::of(&claims).to_string(), "1 of 2 claims hold");
        claims.extend([claim(Some(true), false, ours), claim(None, false, paper)]);
        let said = "1 of 2 claims hold, and 1 of 1 with bounds of our own; 1 not judged";
        assert_eq!(Tally::of(&claims).to_string(), said);
    }
}
