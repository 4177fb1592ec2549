//! How variants of the same flows fared on the same link.

use serde::Serialize;

use crate::LimitShares;

/// The document that `bentpipe compare --format json` prints.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Comparison {
    /// Name of the scenario.
    pub scenario: String,
    /// The flows that were compared.
    pub flows: Vec<String>,
    /// Runs of each variant, with seeds 1 and on.
    pub replications: u64,
    /// False when all runs of each variant were the same: there is no chance in it, and it was not repeated further.
    pub chance: bool,
    /// The variants, the best goodput first.
    pub rows: Vec<ComparisonRow>,
}

/// One variant. What no run had is `null`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparisonRow {
    /// Place by mean goodput, from 1.
    pub rank: u64,
    /// Name of the variant.
    pub variant: String,
    /// Bits per second of user data that arrived, of all compared flows together.
    pub goodput: Estimate,
    /// The goodput against that of the first variant in the same replication: % more, below zero for less.
    pub to_best: Estimate,
    /// Share of the slowest link of the path that its packets took, with all headers; none where no link has a rate.
    pub utilisation: Option<Estimate>,
    /// What held back the compared flows, as shares of the time.
    pub limited_by: Option<LimitShares>,
    /// Bytes of both ends that are no first-time user data, % of the user data.
    pub overhead: Option<Estimate>,
    /// Jain's index of the flows' goodputs, where there are several.
    pub fairness: Option<Estimate>,
    /// Mean smoothed round-trip time above its least, in seconds.
    pub queueing_delay: Option<Estimate>,
    /// Seconds until the last file was there, over the runs in which all arrived.
    pub connection_time: Option<Estimate>,
    /// Runs in which every file arrived whole.
    pub complete: u64,
}

/// A mean over replications.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Standard deviation; none of one replication.
    pub sd: Option<f64>,
    /// Half width of the 95 % confidence interval of the mean (Student's t); none of one replication.
    pub ci95: Option<f64>,
    /// Replications.
    pub n: u64,
}
