//! Running experiments: every point, variant and replication, spread over the cores.

use std::collections::BTreeMap;
use std::sync::Arc;

use bentpipe_record::{Experiments, Figure, Point, RunSummary};
use bentpipe_scenario::{Override, Scenario, ScenarioError};
use bentpipe_sim::{RunSpec, run};
use bentpipe_units::Span;
use rayon::prelude::*;

use super::claims::Judge;
use super::metrics::{METRICS, Outcome, metric};
use super::spec::{Experiment, FigureSpec, SweepSpec};
use super::stats::Estimate;
use super::trace::Trace;
use super::watch::{Watch, WatchSpec};
use crate::progress::Progress;

/// How experiments are run.
#[derive(Clone, Debug, Default)]
pub struct SweepOptions {
    /// Replications instead of the experiment's own; sweeps that are scripted keep theirs.
    pub reps: Option<u64>,
    /// Threads; none for one on each core. The result does not depend on it.
    pub jobs: Option<usize>,
    /// Values of every scenario, over those of points and variants.
    pub set: Vec<Override>,
    /// Places on the x axes; none for all. What is claimed of all of them is not judged by some.
    pub points: Vec<f64>,
}

/// Where scenarios happen that are not simulated.
pub trait Laboratory: Sync {
    /// Lets one happen once.
    ///
    /// # Errors
    /// When it cannot happen there, or something went wrong.
    fn run(&self, scenario: &Scenario, seed: u64) -> Result<RunSummary, String>;
}

/// Values of one metric over the replications, for one place and variant.
pub(super) type Values = Vec<f64>;

/// All that was measured in one sweep.
#[derive(Debug)]
pub(super) struct SweepResult {
    /// Places on the x axis, in order.
    pub(super) xs: Vec<f64>,
    /// The variants in the order of the experiment.
    pub(super) variants: Vec<String>,
    /// By variant and metric: the values at each place.
    values: BTreeMap<(String, &'static str), Vec<Values>>,
}

impl SweepResult {
    /// What was measured of one metric, for each variant place by place; the places are 0, 1, ...
    #[cfg(test)]
    pub(super) fn by_hand(metric: &'static str, measured: &[(&str, Vec<Values>)]) -> Self {
        let places = measured.first().map_or(0, |(_, values)| values.len());
        Self {
            xs: (0..places).map(|place| place as f64).collect(),
            variants: measured.iter().map(|(name, _)| (*name).to_owned()).collect(),
            values: measured
                .iter()
                .map(|(name, values)| (((*name).to_owned(), metric), values.clone()))
                .collect(),
        }
    }

    /// The values of a metric for a variant, place by place.
    pub(super) fn values(&self, variant: &str, metric: &'static str) -> &[Values] {
        self.values.get(&(variant.to_owned(), metric)).map_or(&[], Vec::as_slice)
    }
}

/// One run of a sweep.
struct Job {
    sweep: usize,
    variant: usize,
    point: usize,
    scenario: Arc<Scenario>,
    seed: u64,
    spec: RunSpec,
    /// Time between samples, if there are any.
    every: Option<Span>,
    watch: Option<WatchSpec>,
}

impl Job {
    /// Lets the run happen, watched or sampled if it is to be.
    fn run(&self, laboratory: Option<&dyn Laboratory>) -> Result<(RunSummary, Trace), String> {
        let mut trace = Trace::new(&self.spec, self.every);
        if let Some(laboratory) = laboratory {
            return Ok((laboratory.run(&self.scenario, self.seed)?, trace));
        }
        let failed = |error: bentpipe_sim::BuildError| error.to_string();
        let Some(watch) = self.watch else {
            return Ok((run(&self.spec, &mut trace).map_err(failed)?, trace));
        };
        let mut watch = Watch::new(watch, self.spec.flows.len());
        let summary = run(&self.spec, &mut watch).map_err(failed)?;
        Ok((RunSummary { steady: Some(watch.steady()), ..summary }, trace))
    }
}

/// Runs experiments and judges them, in the simulator or in a laboratory.
///
/// # Errors
/// When an experiment is not valid, has none of the points, or a run failed.
pub fn run_all(
    experiments: &[Experiment],
    options: &SweepOptions,
    laboratory: Option<&dyn Laboratory>,
    progress: &dyn Progress,
) -> Result<Experiments, ScenarioError> {
    for experiment in experiments {
        experiment.check()?;
        if laboratory.is_some() {
            experiment.check_unwatched()?;
        }
    }
    let some = experiments.iter().map(|experiment| experiment.at(&options.points));
    let experiments = &some.collect::<Result<Vec<_>, _>>()?[..];
    let mut sweeps = Vec::new();
    let mut jobs = Vec::new();
    for (number, experiment) in experiments.iter().enumerate() {
        for sweep in &experiment.sweeps {
            plan(experiment, sweep, sweeps.len(), options, &mut jobs)?;
            sweeps.push((number, sweep));
        }
    }
    progress.total(jobs.len() as u64);
    let work = || -> Result<Vec<Vec<f64>>, ScenarioError> {
        jobs.par_iter()
            .map(|job| {
                if !progress.is_wanted() {
                    return Err(ScenarioError {
                        source: job.spec.name.clone(),
                        line: None,
                        key: None,
                        message: "broken off".to_owned(),
                    });
                }
                let done = job.run(laboratory).map_err(|message| ScenarioError {
                    source: job.spec.name.clone(),
                    line: None,
                    key: None,
                    message,
                });
                progress.done();
                done.map(|(run, trace)| take_metrics(&Outcome { run: &run, trace: &trace }))
            })
            .collect()
    };
    let taken = in_pool(options.jobs, work)?;
    let mut results: Vec<SweepResult> =
        sweeps.iter().map(|(number, sweep)| empty(&experiments[*number], sweep)).collect();
    for (job, metrics) in jobs.iter().zip(taken) {
        let (number, _) = sweeps[job.sweep];
        let variant = &experiments[number].variants[job.variant].name;
        for (metric, value) in METRICS.iter().zip(metrics) {
            let key = (variant.clone(), metric.name);
            if let Some(places) = results[job.sweep].values.get_mut(&key) {
                places[job.point].push(value);
            }
        }
    }
    Ok(judge(experiments, &sweeps, &results))
}

/// Works on so many threads, one on each core if none is given.
pub(crate) fn in_pool<R: Send>(jobs: Option<usize>, work: impl FnOnce() -> R + Send) -> R {
    match rayon::ThreadPoolBuilder::new().num_threads(jobs.unwrap_or(0)).build() {
        Ok(pool) => pool.install(work),
        Err(_) => work(),
    }
}

/// Every run of a sweep, in a fixed order.
fn plan(
    experiment: &Experiment,
    sweep: &SweepSpec,
    number: usize,
    options: &SweepOptions,
    jobs: &mut Vec<Job>,
) -> Result<(), ScenarioError> {
    let own = sweep.replications.unwrap_or(experiment.replications);
    // What has no chance in it is the same every time.
    let reps = if own == 1 { 1 } else { options.reps.unwrap_or(own).max(1) };
    for (point_number, point) in sweep.points.iter().enumerate() {
        for (variant_number, variant) in experiment.variants.iter().enumerate() {
            let scenario = experiment.scenario(sweep, point, variant)?.with(&options.set)?;
            let scenario = Arc::new(scenario);
            for seed in 1..=reps {
                let spec = scenario.run_spec(Some(seed), false)?;
                jobs.push(Job {
                    sweep: number,
                    variant: variant_number,
                    point: point_number,
                    scenario: scenario.clone(),
                    seed,
                    spec,
                    every: experiment.sample_every.map(|every| every.0),
                    watch: experiment.watch,
                });
            }
        }
    }
    Ok(())
}

fn take_metrics(outcome: &Outcome<'_>) -> Vec<f64> {
    METRICS.iter().map(|metric| (metric.take)(outcome)).collect()
}

fn empty(experiment: &Experiment, sweep: &SweepSpec) -> SweepResult {
    let mut values = BTreeMap::new();
    for variant in &experiment.variants {
        for metric in METRICS {
            let places = vec![Values::new(); sweep.points.len()];
            values.insert((variant.name.clone(), metric.name), places);
        }
    }
    let variants = experiment.variants.iter().map(|variant| variant.name.clone()).collect();
    SweepResult { xs: sweep.points.iter().map(|point| point.x).collect(), variants, values }
}

fn judge(
    experiments: &[Experiment],
    sweeps: &[(usize, &SweepSpec)],
    results: &[SweepResult],
) -> Experiments {
    // Where the data of each figure are, for claims that look at another figure.
    let mut figures = Vec::new();
    for (number, experiment) in experiments.iter().enumerate() {
        for figure in &experiment.figures {
            let data = sweeps
                .iter()
                .position(|(owner, sweep)| *owner == number && sweep.name == figure.sweep);
            if let Some(data) = data {
                figures.push((experiment, figure, data));
            }
        }
    }
    let find = |id: &str, name: &str| {
        let found = figures.iter().find(|(e, f, _)| e.id == id && f.figure == name)?;
        Some(&results[found.2])
    };
    let documents = figures.iter().map(|(experiment, figure, data)| {
        let result = &results[*data];
        let judge = Judge {
            experiment: &experiment.id,
            default_metric: &figure.metric,
            result,
            find: &find,
        };
        Figure {
            id: experiment.id.clone(),
            figure: figure.figure.clone(),
            title: figure.title.clone(),
            x_label: sweeps[*data].1.x_label.clone(),
            metric: figure.metric.clone(),
            points: points(experiment, figure, result),
            claims: figure.claims.iter().map(|claim| judge.judge(claim)).collect(),
        }
    });
    Experiments { experiments: documents.collect() }
}

fn points(experiment: &Experiment, figure: &FigureSpec, result: &SweepResult) -> Vec<Point> {
    let mut points = Vec::new();
    for name in std::iter::once(&figure.metric).chain(&figure.also) {
        let Some(metric) = metric(name) else { continue };
        for (place, x) in result.xs.iter().enumerate() {
            for variant in &experiment.variants {
                let values = &result.values(&variant.name, metric.name)[place];
                let Estimate { mean, sd, ci95, n } = Estimate::of(values);
                let (variant, metric) = (variant.name.clone(), metric.name.to_owned());
                points.push(Point { x: *x, variant, metric, mean, sd, ci95, n });
            }
        }
    }
    points
}
