//! Which protocol on this link: one scenario, several variants of its flows, the same seeds.

mod compared;
mod course;
mod flows;
mod measure;
mod place;
mod ranking;
mod variant;

use bentpipe_record::Comparison;
use bentpipe_scenario::{Override, Scenario, ScenarioError};
use bentpipe_sim::run;
use rayon::prelude::*;

pub use self::compared::{Compared, ComparedRun};
pub use self::course::{Course, courses};
pub(crate) use self::flows::{changes, chosen, end_to_end};
pub use self::measure::{Measured, slowest_line};
pub(crate) use self::measure::{Watch, jain};
#[cfg(feature = "parquet")]
pub(crate) use self::ranking::estimate;
use self::ranking::ranked;
pub use self::variant::{DEFAULT_VARIANTS, NamedVariant, Variant, named};
use crate::experiment::in_pool;
use crate::progress::Progress;

/// How a comparison is run.
#[derive(Clone, Debug, Default)]
pub struct CompareOptions {
    /// Seeds of the runs of each variant; without any there is one run, with seed 1.
    pub seeds: Vec<u64>,
    /// Threads; none for one on each core. The result does not depend on it.
    pub jobs: Option<usize>,
    /// The flows that are compared; if empty, all that send a file or without end.
    pub flows: Vec<String>,
}

/// Runs a scenario with each of some variants and ranks them by goodput, the best first.
///
/// # Errors
/// When a flow or a variant cannot be, or a run fails.
pub fn compare(
    scenario: &Scenario,
    variants: &[Variant],
    options: &CompareOptions,
    progress: &dyn Progress,
) -> Result<Compared, ScenarioError> {
    let wrong = |message: String| ScenarioError {
        source: scenario.source().to_owned(),
        line: None,
        key: None,
        message,
    };
    let spec = scenario.run_spec(None, false)?;
    let flows = chosen(&spec, &options.flows).map_err(&wrong)?;
    end_to_end(&spec, &flows).map_err(&wrong)?;
    let seeds = if options.seeds.is_empty() { &[1][..] } else { &options.seeds };
    let mut changed = Vec::new();
    for variant in variants {
        let changes = variant.changes(&spec, &flows).map_err(&wrong)?;
        changed.push(with(scenario, &changes, variant)?);
    }
    let run_all = |seeds: &[u64]| {
        let mut jobs = Vec::new();
        for (number, changed) in changed.iter().enumerate() {
            for seed in seeds {
                jobs.push((number, changed.run_spec(Some(*seed), false)?));
            }
        }
        let taken: Vec<Result<Measured, ScenarioError>> = in_pool(options.jobs, || {
            let measured = jobs.par_iter().map(|(_, spec)| {
                let mut watch = Watch::new(spec.flows.len(), progress);
                let summary = run(spec, &mut watch).map_err(|error| wrong(error.to_string()));
                progress.done();
                summary.map(|summary| watch.measure(spec, &summary, &flows))
            });
            measured.collect()
        });
        let numbers = jobs.into_iter().map(|(number, _)| number);
        numbers
            .zip(taken)
            .map(|(number, taken)| Ok((number, taken?)))
            .collect::<Result<Vec<_>, _>>()
    };
    progress.total((seeds.len() * variants.len()) as u64);
    let wanted = || match progress.is_wanted() {
        true => Ok(()),
        false => Err(wrong("broken off".to_owned())),
    };
    let mut measured = vec![Vec::new(); variants.len()];
    let take = |runs: Vec<(usize, Measured)>, measured: &mut Vec<Vec<Measured>>| {
        runs.into_iter().for_each(|(number, run)| measured[number].push(run));
    };
    // Where two seeds give the same everywhere there is no chance in it, and more seeds say nothing more.
    let (first, rest) = seeds.split_at(seeds.len().min(2));
    take(run_all(first)?, &mut measured);
    wanted()?;
    let chance =
        seeds.len() < 2 || measured.iter().any(|runs| runs.windows(2).any(|two| two[0] != two[1]));
    if chance {
        take(run_all(rest)?, &mut measured);
        wanted()?;
    } else {
        measured.iter_mut().for_each(|runs| runs.truncate(1));
    }
    let names = flows.iter().map(|flow| spec.flows[*flow].name.clone()).collect();
    let ranking = Comparison {
        scenario: spec.name.clone(),
        flows: names,
        replications: if chance { seeds.len() as u64 } else { 1 },
        chance,
        rows: ranked(variants, &measured),
    };
    let runs = variants.iter().zip(&measured).flat_map(|(variant, runs)| {
        runs.iter().zip(seeds).map(|(run, seed)| ComparedRun {
            variant: variant.name.clone(),
            seed: *seed,
            measured: run.clone(),
        })
    });
    Ok(Compared::new(ranking, runs.collect()))
}

/// The scenario with a variant in the flows that [`compare`] compares.
///
/// # Errors
/// When the variant cannot be.
pub fn as_variant(scenario: &Scenario, variant: &Variant) -> Result<Scenario, ScenarioError> {
    let wrong = |message: String| ScenarioError {
        source: scenario.source().to_owned(),
        line: None,
        key: None,
        message,
    };
    let spec = scenario.run_spec(None, false)?;
    let flows = chosen(&spec, &[]).map_err(wrong)?;
    end_to_end(&spec, &flows).map_err(wrong)?;
    with(scenario, &variant.changes(&spec, &flows).map_err(wrong)?, variant)
}

/// What is compared where nothing is named: what this scenario can have of [`DEFAULT_VARIANTS`], and why not the rest.
///
/// # Errors
/// When the scenario itself cannot be.
pub fn default_variants(
    scenario: &Scenario,
    flows: &[String],
) -> Result<(Vec<Variant>, Vec<String>), ScenarioError> {
    let spec = scenario.run_spec(None, false)?;
    let flows = chosen(&spec, flows).unwrap_or_default();
    let (mut can, mut why_not) = (Vec::new(), Vec::new());
    for variant in DEFAULT_VARIANTS.iter().filter_map(|name| name.parse::<Variant>().ok()) {
        let built = variant.changes(&spec, &flows).and_then(|changes| {
            let changed = with(scenario, &changes, &variant);
            changed.and_then(|changed| changed.run_spec(None, false)).map_err(|error| error.message)
        });
        match built {
            Err(why) => why_not.push(format!("without {}: {why}", variant.name)),
            Ok(_) => can.push(variant),
        }
    }
    Ok((can, why_not))
}

/// The scenario with the values of a variant.
pub(crate) fn with(
    scenario: &Scenario,
    changes: &[Override],
    variant: &Variant,
) -> Result<Scenario, ScenarioError> {
    scenario
        .with(changes)
        .map_err(|error| ScenarioError { source: format!("variant {}", variant.name), ..error })
}
