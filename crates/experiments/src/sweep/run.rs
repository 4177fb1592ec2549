//! Running the runs of a sweep.

use std::num::NonZero;

use bentpipe_scenario::ScenarioError;

use super::columns::{Values, values};
use super::hash::RunHash;
use super::in_order::in_order;
use super::plan::{Cell, Sweep};
use crate::progress::Progress;

/// What a run came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The number of the run in its sweep.
    pub run: u64,
    /// What tells it from others.
    pub hash: RunHash,
    /// What was measured.
    pub values: Values,
    /// Whether it was known before.
    pub is_known: bool,
}

impl Sweep {
    /// Runs these runs, on so many threads or one on each core, and gives the rows to `take` in the order of the runs. What
    /// `known` knows is not run again. Rows do not depend on the number of threads, nor on which runs are asked for together.
    ///
    /// # Errors
    /// When a run cannot be, `take` fails, or nobody waits any more.
    pub fn run<E: From<ScenarioError> + Send>(
        &self,
        runs: impl Iterator<Item = u64> + Send,
        jobs: Option<usize>,
        known: &(impl Fn(RunHash) -> Option<Values> + Sync),
        progress: &dyn Progress,
        take: impl FnMut(Row) -> Result<(), E>,
    ) -> Result<(), E> {
        let cores = || std::thread::available_parallelism().map_or(1, NonZero::get);
        let work = |run: u64, last: &mut Option<Cell>| {
            let cell = self.cell_of(run, last)?;
            let seed = self.place(run).map_or(0, |place| place.seed);
            let hash = cell.hash(seed);
            let (values, is_known) = match known(hash) {
                Some(values) => (values, true),
                None => (values(&cell.run(seed, progress)?), false),
            };
            progress.done();
            Ok(Row { run, hash, values, is_known })
        };
        in_order(runs, jobs.unwrap_or_else(cores), work, take)
    }
}
