//! What a comparison came to: the ranking, and the runs that it is made of.

use bentpipe_record::{Comparison, Estimate};
use bentpipe_scenario::did_you_mean;

use super::measure::Measured;
use super::ranking::estimate;

/// A comparison with each of its runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    ranking: Comparison,
    runs: Vec<ComparedRun>,
}

/// One run of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedRun {
    /// Name of the variant.
    pub variant: String,
    /// Seed of the run.
    pub seed: u64,
    /// What it came to.
    pub measured: Measured,
}

impl Compared {
    pub(super) const fn new(ranking: Comparison, runs: Vec<ComparedRun>) -> Self {
        Self { ranking, runs }
    }

    /// The variants, the best goodput first.
    pub const fn ranking(&self) -> &Comparison {
        &self.ranking
    }

    /// The ranking alone.
    pub fn into_ranking(self) -> Comparison {
        self.ranking
    }

    /// Every run, variant by variant as they were asked for, and in the order of the seeds.
    pub fn runs(&self) -> &[ComparedRun] {
        &self.runs
    }

    /// How much more of a measure one variant has than another with the same seed: over the seeds for which both have it.
    ///
    /// # Errors
    /// When a variant was not compared, or no seed has the measure for both.
    pub fn paired(
        &self,
        one: &str,
        other: &str,
        measure: impl Fn(&Measured) -> Option<f64>,
    ) -> Result<Estimate, String> {
        let [one, other] = [self.runs_of(one)?, self.runs_of(other)?];
        let pairs = one.iter().zip(&other);
        let differences: Vec<f64> = pairs
            .filter_map(|(a, b)| Some(measure(&a.measured)? - measure(&b.measured)?))
            .collect();
        if differences.is_empty() {
            return Err("no two runs with the same seed both have it".to_owned());
        }
        Ok(estimate(&differences))
    }

    fn runs_of(&self, variant: &str) -> Result<Vec<&ComparedRun>, String> {
        let is_it = |name: &str| name == variant || name.strip_prefix("tcp-") == Some(variant);
        let runs: Vec<_> = self.runs.iter().filter(|run| is_it(&run.variant)).collect();
        let names = self.ranking.rows.iter().map(|row| row.variant.as_str());
        match runs.is_empty() {
            true => {
                let hint = did_you_mean(variant, names);
                Err(format!("`{variant}` was not compared{hint}"))
            }
            false => Ok(runs),
        }
    }
}
