//! Which protocol on this link: one scenario, several variants of its flows, the same seeds.

mod course;
mod flows;
mod measure;
mod place;
mod variant;

use std::ops::RangeInclusive;

use bentpipe_record::{Comparison, ComparisonRow, Estimate as Mean, LimitCounts};
use bentpipe_scenario::{Override, Scenario, ScenarioError};
use bentpipe_sim::run;
use rayon::prelude::*;

pub use self::course::{Course, courses};
pub(crate) use self::flows::{changes, chosen, end_to_end};
pub use self::measure::{Measured, slowest_line};
pub(crate) use self::measure::{Watch, jain};
pub use self::variant::{DEFAULT_VARIANTS, NamedVariant, Variant, named};
use crate::experiment::{Estimate, Progress, in_pool};

/// How a comparison is run.
#[derive(Clone, Debug, Default)]
pub struct CompareOptions {
    /// Runs of each variant, with seeds 1 and on; at least 1.
    pub reps: u64,
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
) -> Result<Comparison, ScenarioError> {
    let wrong = |message: String| ScenarioError {
        source: scenario.source().to_owned(),
        line: None,
        key: None,
        message,
    };
    let spec = scenario.run_spec(None, false)?;
    let flows = chosen(&spec, &options.flows).map_err(&wrong)?;
    end_to_end(&spec, &flows).map_err(&wrong)?;
    let reps = options.reps.max(1);
    let mut changed = Vec::new();
    for variant in variants {
        let changes = variant.changes(&spec, &flows).map_err(&wrong)?;
        changed.push(with(scenario, &changes, variant)?);
    }
    let run_all = |seeds: RangeInclusive<u64>| {
        let mut jobs = Vec::new();
        for (number, changed) in changed.iter().enumerate() {
            for seed in seeds.clone() {
                jobs.push((number, changed.run_spec(Some(seed), false)?));
            }
        }
        let taken: Vec<Result<Measured, ScenarioError>> = in_pool(options.jobs, || {
            let measured = jobs.par_iter().map(|(_, spec)| {
                let mut watch = Watch::new(spec.flows.len());
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
    progress.total(reps * variants.len() as u64);
    let mut measured = vec![Vec::new(); variants.len()];
    let take = |runs: Vec<(usize, Measured)>, measured: &mut Vec<Vec<Measured>>| {
        runs.into_iter().for_each(|(number, run)| measured[number].push(run));
    };
    // Where two seeds give the same everywhere there is no chance in it, and more seeds say nothing more.
    take(run_all(1..=reps.min(2))?, &mut measured);
    let chance =
        reps < 2 || measured.iter().any(|runs| runs.windows(2).any(|two| two[0] != two[1]));
    if chance {
        take(run_all(reps.min(2) + 1..=reps)?, &mut measured);
    } else {
        measured.iter_mut().for_each(|runs| runs.truncate(1));
    }
    let replications = if chance { reps } else { 1 };
    let names = flows.iter().map(|flow| spec.flows[*flow].name.clone()).collect();
    Ok(Comparison {
        scenario: spec.name.clone(),
        flows: names,
        replications,
        chance,
        rows: ranked(variants, &measured),
    })
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

/// A row for each variant, the best goodput first; equal ones in the order they were asked for.
fn ranked(variants: &[Variant], measured: &[Vec<Measured>]) -> Vec<ComparisonRow> {
    let goodputs = |runs: &[Measured]| runs.iter().map(|run| run.goodput).collect::<Vec<_>>();
    let mut order: Vec<usize> = (0..variants.len()).collect();
    let mean = |number: usize| Estimate::of(&goodputs(&measured[number])).mean;
    order.sort_by(|a, b| mean(*b).total_cmp(&mean(*a)));
    let best = order.first().map(|best| goodputs(&measured[*best])).unwrap_or_default();
    let row = |(place, &number): (usize, &usize)| {
        let runs = &measured[number];
        let of = |take: fn(&Measured) -> Option<f64>| {
            let values: Vec<f64> = runs.iter().filter_map(take).collect();
            (!values.is_empty()).then(|| estimate(&values))
        };
        let shortfalls: Vec<f64> =
            runs.iter().zip(&best).map(|(run, best)| 100.0 * (run.goodput / best - 1.0)).collect();
        ComparisonRow {
            rank: place as u64 + 1,
            variant: variants[number].name.clone(),
            goodput: estimate(&goodputs(runs)),
            to_best: estimate(&shortfalls),
            utilisation: of(|run| run.utilisation),
            limited_by: runs.iter().map(|run| run.limits).sum::<LimitCounts>().shares(),
            overhead: of(|run| Some(run.overhead)),
            fairness: of(|run| run.fairness),
            queueing_delay: of(|run| run.queueing_delay),
            connection_time: of(|run| run.connection_time),
            complete: runs.iter().filter(|run| run.complete).count() as u64,
        }
    };
    order.iter().enumerate().map(row).collect()
}

fn estimate(values: &[f64]) -> Mean {
    let Estimate { mean, sd, ci95, n } = Estimate::of(values);
    let several = |value: f64| (n > 1).then_some(value);
    Mean { mean, sd: several(sd), ci95: several(ci95), n }
}
