//! `bentpipe reproduce`: a paper's experiments, run again and judged.

mod report;

use std::io::Write;
use std::path::Path;

use bentpipe_experiments::Experiment;
#[cfg(feature = "net")]
use bentpipe_experiments::Laboratory;
use bentpipe_experiments::experiment::{SweepOptions, find, metric, run_all};
use bentpipe_record::{Experiments, Figure, Tally};
use serde_json::{Value, json};

use crate::args::sim::Reproduce;
#[cfg(feature = "net")]
use crate::commands::processes;
use crate::commands::sim::json::{print_json, to_json};
use crate::failure::Failure;
use crate::output::sim::figure::{bars, lines, vega};
use crate::output::sim::file::Reserved;
use crate::output::sim::{map, progress::Bar, table};

/// Runs experiments, prints them and writes their files.
pub(crate) fn reproduce(args: &Reproduce) -> Result<(), Failure> {
    let experiments = find(&args.ids)?;
    let options = SweepOptions {
        reps: args.reps,
        jobs: args.jobs.map(usize::from),
        set: args.overrides.clone(),
        points: args.points.clone(),
    };
    #[cfg(feature = "net")]
    let (options, laboratory) = place(args, options);
    #[cfg(not(feature = "net"))]
    let laboratory = None;
    let origin = Origin { options: &options, in_real_time: laboratory.is_some() };
    // Before the work, not after it.
    if let Some(dir) = &args.out {
        std::fs::create_dir_all(dir).map_err(|error| Failure::writing(dir, error))?;
    }
    let used: Vec<&Path> = args.ids.iter().map(Path::new).collect();
    let report = args.report.as_deref().map(|path| Reserved::new(path, used)).transpose()?;
    let bar = Bar::new();
    let result = run_all(&experiments, &options, laboratory, &bar)?;
    bar.finish();
    if let Some(dir) = &args.out {
        for figure in &result.experiments {
            let experiment = experiments.iter().find(|experiment| experiment.id == figure.id);
            write_files(dir, figure, experiment, &origin)?;
        }
        for experiment in &experiments {
            if let Some((figure, network)) = experiment.map()? {
                let path = dir.join(format!("{}.svg", file_stem(&experiment.id, figure)));
                map::write_network(&path, network).map_err(|e| Failure::writing(&path, e))?;
            }
        }
    }
    if let Some(file) = report {
        let path = file.path();
        let page = report::html(&experiments, &result, &origin);
        let page = page.map_err(|error| Failure::writing(path, error))?;
        let written = file.empty()?.write_all(page.as_bytes());
        written.map_err(|error| Failure::writing(path, error))?;
    }
    if args.json {
        return print_json(&result);
    }
    print(&result, args)
}

/// Where runs happen, and how many at a time.
#[cfg(feature = "net")]
fn place(
    args: &Reproduce,
    options: SweepOptions,
) -> (SweepOptions, Option<&'static dyn Laboratory>) {
    if args.via.is_none() {
        return (options, None);
    }
    let jobs = options.jobs.or(Some(processes::AT_ONCE));
    (SweepOptions { jobs, ..options }, Some(&processes::Processes))
}

/// How results came about.
struct Origin<'a> {
    options: &'a SweepOptions,
    in_real_time: bool,
}

impl Origin<'_> {
    /// What `--set` changed in all scenarios.
    fn changed(&self) -> Vec<String> {
        self.options.set.iter().map(|change| format!("{}={}", change.key, change.value)).collect()
    }

    /// Where the runs happened.
    const fn place(&self) -> &'static str {
        if self.in_real_time { "in real time, over message queues" } else { "in the simulator" }
    }
}

fn print(result: &Experiments, args: &Reproduce) -> Result<(), Failure> {
    let mut stdout = anstream::stdout().lock();
    for figure in &result.experiments {
        table::print(figure, &mut stdout)?;
    }
    let claims = result.experiments.iter().flat_map(|figure| &figure.claims);
    writeln!(stdout, "{}", Tally::of(claims))?;
    if let Some(page) = &args.report {
        writeln!(stdout, "the report is in {}", page.display())?;
    }
    if let Some(dir) = &args.out {
        writeln!(stdout, "CSV, JSON, SVG and Vega-Lite of each figure are in {}", dir.display())?;
    }
    Ok(())
}

/// A name that is a file name everywhere.
fn file_stem(id: &str, figure: &str) -> String {
    let name =
        if figure.starts_with(id) { figure.to_owned() } else { format!("{id} fig {figure}") };
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    name.chars().map(plain).collect::<String>().replace("--", "-")
}

fn write_files(
    dir: &Path,
    figure: &Figure,
    experiment: Option<&Experiment>,
    origin: &Origin<'_>,
) -> Result<(), Failure> {
    let stem = file_stem(&figure.id, &figure.figure);
    let path = dir.join(format!("{stem}.csv"));
    write_csv(&path, figure).map_err(|error| Failure::writing(&path, error))?;
    let path = dir.join(format!("{stem}.json"));
    std::fs::write(&path, to_json(figure)? + "\n").map_err(|e| Failure::writing(&path, e))?;
    let source = source(figure, experiment, origin);
    let label = metric(&figure.metric).map_or("", |metric| metric.label);
    let path = dir.join(format!("{stem}.vl.json"));
    let spec = vega::spec(figure, label, &source);
    std::fs::write(&path, to_json(&spec)? + "\n").map_err(|e| Failure::writing(&path, e))?;
    let path = dir.join(format!("{stem}.svg"));
    let drawn = lines::svg(figure, label, source).map_err(|e| Failure::writing(&path, e))?;
    std::fs::write(&path, drawn).map_err(|error| Failure::writing(&path, error))
}

/// What a figure was made of.
fn source(figure: &Figure, experiment: Option<&Experiment>, origin: &Origin<'_>) -> Value {
    let runs = figure.points.iter().map(|point| point.n).max().unwrap_or(0);
    json!({
        "experiment": figure.id,
        "figure": figure.figure,
        "metric": figure.metric,
        "scenario": experiment.map(|experiment| &experiment.scenario),
        "seeds": bars::seeds(runs),
        "set": origin.changed(),
        "ran": origin.place(),
    })
}

fn write_csv(path: &Path, figure: &Figure) -> Result<(), csv::Error> {
    let mut writer = csv::Writer::from_path(path)?;
    for point in &figure.points {
        writer.serialize(point)?;
    }
    writer.flush()?;
    Ok(())
}
