//! `bentpipe compare`: variants of a flow on the same link, ranked.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use bentpipe_experiments::compare::{CompareOptions, compare as run_all, default_variants};
use bentpipe_record::{Comparison, ComparisonRow, Estimate};
use bentpipe_scenario::Scenario;

use crate::args::sim::Compare;
use crate::commands::sim::changed;
use crate::commands::sim::json::print_json;
use crate::failure::Failure;
use crate::output::sim::file::Reserved;
use crate::output::sim::{bars, progress::Bar, ranking};

/// Runs a scenario with each variant and prints the ranking.
pub(crate) fn compare(args: &Compare) -> Result<(), Failure> {
    let scenario = changed(&Scenario::open(&args.scenario)?, &args.overrides)?;
    let options = CompareOptions {
        reps: args.reps,
        jobs: args.jobs.map(usize::from),
        flows: args.flow.clone(),
    };
    let (variants, left_out) = match &args.variants[..] {
        [] => default_variants(&scenario, &args.flow)?,
        named => (named.to_vec(), Vec::new()),
    };
    let files = Files::reserve(args, &scenario)?;
    left_out.iter().for_each(|why| anstream::eprintln!("{why}"));
    let bar = Bar::new();
    let result = run_all(&scenario, &variants, &options, &bar)?;
    bar.finish();
    files.write(&result)?;
    if args.json {
        return print_json(&result);
    }
    let known = |row: &ComparisonRow| {
        let variant = variants.iter().find(|variant| variant.name == row.variant)?;
        Some((row.variant.clone(), variant.summary()?))
    };
    let legend: Vec<_> = result.rows.iter().filter_map(known).collect();
    Ok(ranking::print(&result, &legend, &mut anstream::stdout().lock())?)
}

/// The files for the results. What is in them stays there until there are some.
struct Files<'a> {
    csv: Option<Reserved<'a>>,
    svg: Option<Reserved<'a>>,
}

impl<'a> Files<'a> {
    /// Opens the files, none of which the scenario reads.
    fn reserve(args: &'a Compare, scenario: &Scenario) -> Result<Self, Failure> {
        let mut used = scenario.reads();
        used.push(scenario.source().into());
        let mut open = |path: &'a Option<PathBuf>| {
            let Some(path) = path else { return Ok(None) };
            let reserved = Reserved::new(path, used.iter().map(PathBuf::as_path))?;
            used.push(path.clone());
            Ok::<_, Failure>(Some(reserved))
        };
        Ok(Self { csv: open(&args.csv)?, svg: open(&args.svg)? })
    }

    fn write(self, result: &Comparison) -> Result<(), Failure> {
        if let Some(csv) = self.csv {
            let path = csv.path();
            write_csv(csv.empty()?, result).map_err(|error| Failure::writing(path, error))?;
        }
        if let Some(svg) = self.svg {
            let path = svg.path();
            let picture = bars::svg(result).map_err(|error| Failure::writing(path, error))?;
            let written = svg.empty()?.write_all(picture.as_bytes());
            written.map_err(|error| Failure::writing(path, error))?;
        }
        Ok(())
    }
}

/// What is written of an estimate that may be missing.
fn mean_and_interval(estimate: Option<&Estimate>) -> [String; 2] {
    let ci95 = |e: &Estimate| e.ci95.map(|ci95| ci95.to_string()).unwrap_or_default();
    estimate.map(|e| [e.mean.to_string(), ci95(e)]).unwrap_or_default()
}

fn write_csv(out: File, result: &Comparison) -> Result<(), csv::Error> {
    let mut writer = csv::Writer::from_writer(out);
    let measures = [
        "goodput_bps",
        "to_best_percent",
        "utilisation",
        "overhead_percent",
        "fairness",
        "queueing_delay_s",
        "connection_time_s",
    ];
    let columns = measures.iter().flat_map(|name| [(*name).to_owned(), format!("{name}_ci95")]);
    let ends = ["complete", "replications"].map(str::to_owned);
    let header = ["rank", "variant"].map(str::to_owned).into_iter().chain(columns).chain(ends);
    writer.write_record(header)?;
    for row in &result.rows {
        let measured = [
            Some(&row.goodput),
            Some(&row.to_best),
            row.utilisation.as_ref(),
            row.overhead.as_ref(),
            row.fairness.as_ref(),
            row.queueing_delay.as_ref(),
            row.connection_time.as_ref(),
        ];
        let fields = [row.rank.to_string(), row.variant.clone()]
            .into_iter()
            .chain(measured.into_iter().flat_map(mean_and_interval))
            .chain([row.complete, result.replications].map(|count| count.to_string()));
        writer.write_record(fields)?;
    }
    writer.flush()?;
    Ok(())
}
