//! Every run of a sweep, by its number.

use bentpipe_scenario::{Override, Scenario, ScenarioError};
use bentpipe_sim::run;
use rayon::prelude::*;

use super::axis::Axis;
use super::hash::RunHash;
use super::seeds::Seeds;
use crate::compare::{Measured, Variant, Watch, chosen, end_to_end, with};
use crate::experiment::in_pool;
use crate::progress::Progress;

/// A scenario, the keys that are varied, the variants of its flows, and the seeds.
///
/// A cell is one value of each axis and one variant; its runs differ by their seed alone. The runs are numbered from 0 on:
/// the values of the first axis change last, then the further axes, the variants, and the seeds first.
#[derive(Clone, Debug)]
pub struct Sweep {
    scenario: Scenario,
    /// Of the run that nothing is varied in.
    name: String,
    identity: String,
    axes: Vec<Axis>,
    variants: Vec<Variant>,
    seeds: Seeds,
    flows: Vec<String>,
}

/// What is varied in a sweep.
#[derive(Clone, Debug)]
pub struct Varied {
    /// The keys and their values.
    pub axes: Vec<Axis>,
    /// What the flows are; if empty, what the scenario says.
    pub variants: Vec<Variant>,
    /// The seeds of each cell.
    pub seeds: Seeds,
    /// The flows that are measured and become the variants; if empty, all that send a file or without end.
    pub flows: Vec<String>,
}

/// One run of a sweep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// For each axis the place of its value.
    pub values: Vec<usize>,
    /// The place of the variant; 0 where there are none.
    pub variant: usize,
    /// The seed.
    pub seed: u64,
}

/// A cell, ready to run.
#[derive(Debug)]
pub(super) struct Cell {
    number: u64,
    scenario: Scenario,
    identity: [u8; 32],
    flows: Vec<usize>,
}

impl Sweep {
    /// Plans a sweep. Its cells are looked at by [`check`](Self::check).
    ///
    /// # Errors
    /// When a key is varied twice, a variant is there twice, there are more runs than can be numbered, or a file that the
    /// scenario reads is not there.
    pub fn new(scenario: Scenario, varied: Varied) -> Result<Self, ScenarioError> {
        let Varied { axes, variants, seeds, flows } = varied;
        let wrong = |message| ScenarioError {
            source: scenario.source().to_owned(),
            line: None,
            key: None,
            message,
        };
        let keys: Vec<&str> = axes.iter().map(Axis::key).collect();
        if let Some(key) = twice(&keys) {
            return Err(wrong(format!("`{key}` is varied twice: name all its values at once")));
        }
        let names: Vec<&str> = variants.iter().map(|variant| variant.name.as_str()).collect();
        if let Some(name) = twice(&names) {
            return Err(wrong(format!("the variant `{name}` is there twice")));
        }
        let points = axes.iter().map(|axis| axis.values().len() as u64);
        let mut counts = points.chain([variants.len().max(1) as u64, seeds.count()]);
        let total = counts.try_fold(1_u64, u64::checked_mul);
        if total.is_none() {
            return Err(wrong("there are more runs than 64 bits can count".to_owned()));
        }
        let name = scenario.run_spec(None, false)?.name;
        let identity = scenario.identity()?.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self { scenario, name, identity, axes, variants, seeds, flows })
    }

    /// The name of the scenario.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What tells the scenario from another, whatever they are called: a hash of its values and files.
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// The scenario.
    pub const fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// The keys that are varied.
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// The variants of the flows; none where the flows are what the scenario says.
    pub fn variants(&self) -> &[Variant] {
        &self.variants
    }

    /// The seeds of each cell.
    pub const fn seeds(&self) -> &Seeds {
        &self.seeds
    }

    /// The flows that are measured; if empty, all that send a file or without end.
    pub fn flows(&self) -> &[String] {
        &self.flows
    }

    /// How many runs there are.
    pub fn total(&self) -> u64 {
        self.cells() * self.seeds.count()
    }

    fn cells(&self) -> u64 {
        let points: u64 = self.axes.iter().map(|axis| axis.values().len() as u64).product();
        points * self.variants.len().max(1) as u64
    }

    /// What a run is; `None` for a number that is too high.
    pub fn place(&self, run: u64) -> Option<Place> {
        let (cell, seed) = (run / self.seeds.count(), run % self.seeds.count());
        let seed = self.seeds.nth(seed).filter(|_| cell < self.cells())?;
        let (mut rest, variants) = (cell, self.variants.len().max(1) as u64);
        let mut digit = |base: u64| {
            let digit = rest % base;
            rest /= base;
            // It is a place in a list.
            digit as usize
        };
        let variant = digit(variants);
        let mut values: Vec<usize> =
            self.axes.iter().rev().map(|axis| digit(axis.values().len() as u64)).collect();
        values.reverse();
        Some(Place { values, variant, seed })
    }

    /// Whether every cell can be run, before the first one is.
    ///
    /// # Errors
    /// The first that cannot: a key that does not exist, values that do not fit together, a variant that this scenario
    /// cannot have.
    pub fn check(&self, jobs: Option<usize>) -> Result<(), ScenarioError> {
        in_pool(jobs, || {
            let cells = (0..self.cells()).into_par_iter();
            // All of them, so that it is always the same one that is told.
            let wrong = cells.filter_map(|cell| Some((cell, self.cell(cell).err()?)));
            wrong.min_by_key(|(cell, _)| *cell).map_or(Ok(()), |(_, error)| Err(error))
        })
    }

    /// The cell of a run, for which `last` serves if it is the same.
    pub(super) fn cell_of<'c>(
        &self,
        run: u64,
        last: &'c mut Option<Cell>,
    ) -> Result<&'c Cell, ScenarioError> {
        let number = run / self.seeds.count();
        let known = last.take().filter(|cell| cell.number == number);
        Ok(last.insert(match known {
            Some(cell) => cell,
            None => self.cell(number)?,
        }))
    }

    fn cell(&self, number: u64) -> Result<Cell, ScenarioError> {
        let Some(place) = self.place(number * self.seeds.count()) else {
            let source = self.scenario.source().to_owned();
            let message = format!("the sweep has {} cells, and no {number}", self.cells());
            return Err(ScenarioError { source, line: None, key: None, message });
        };
        let changes: Vec<Override> =
            place.values.iter().zip(&self.axes).map(|(value, axis)| axis.change(*value)).collect();
        let varied = |error: ScenarioError| ScenarioError {
            source: error.source.replace("--set ", "--vary "),
            ..error
        };
        let point = self.scenario.with(&changes).map_err(varied)?;
        let spec = point.run_spec(None, false)?;
        let wrong = |message: String| ScenarioError {
            source: point.source().to_owned(),
            line: None,
            key: None,
            message,
        };
        let flows = chosen(&spec, &self.flows).map_err(wrong)?;
        let scenario = match self.variants.get(place.variant) {
            None => point,
            Some(variant) => {
                end_to_end(&spec, &flows).map_err(wrong)?;
                with(&point, &variant.changes(&spec, &flows).map_err(wrong)?, variant)?
            }
        };
        let identity = scenario.identity()?;
        Ok(Cell { number, scenario, identity, flows })
    }
}

impl Cell {
    /// What tells this run from every other, of this sweep or another one.
    pub(super) fn hash(&self, seed: u64) -> RunHash {
        RunHash::of(&self.identity, &self.flows, seed)
    }

    /// Lets the run happen, as long as somebody waits for it.
    pub(super) fn run(
        &self,
        seed: u64,
        progress: &dyn Progress,
    ) -> Result<Measured, ScenarioError> {
        let wrong = |message: String| ScenarioError {
            source: self.scenario.source().to_owned(),
            line: None,
            key: None,
            message,
        };
        let spec = self.scenario.run_spec(Some(seed), false)?;
        let mut watch = Watch::new(spec.flows.len(), progress);
        let summary = run(&spec, &mut watch);
        let summary = summary.map_err(|error| wrong(format!("seed {seed}: {error}")))?;
        if !progress.is_wanted() {
            return Err(wrong("broken off".to_owned()));
        }
        Ok(watch.measure(&spec, &summary, &self.flows))
    }
}

/// A name that is there twice.
fn twice<'n>(names: &[&'n str]) -> Option<&'n str> {
    let again = names.iter().enumerate().find(|(place, name)| names[..*place].contains(name));
    again.map(|(_, name)| *name)
}
