//! What an experiment found: points, and claims judged on them.

use serde::Serialize;

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
    /// Whether it holds.
    pub holds: bool,
    /// What was measured, in words.
    pub measured: String,
    /// True when the statement is only reported and cannot fail.
    pub informative: bool,
}
