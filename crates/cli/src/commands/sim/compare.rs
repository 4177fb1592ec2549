//! `bentpipe compare`: variants of a flow on the same link, ranked.

use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};

use bentpipe_experiments::compare::{
    CompareOptions, Variant, compare as run_all, default_variants,
};
use bentpipe_record::{Comparison, ComparisonRow, Estimate};
use bentpipe_scenario::Scenario;

use crate::args::sim::{Compare, Format};
use crate::commands::sim::changed;
use crate::commands::sim::json::print_json;
use crate::failure::Failure;
use crate::output::columns::room;
use crate::output::sim::figure::{bars, distribution};
use crate::output::sim::file::Reserved;
use crate::output::sim::{progress::Bar, ranking};

/// Runs a scenario with each variant and prints the ranking.
pub(crate) fn compare(args: &Compare) -> Result<(), Failure> {
    if let Some(advice) = args.gone.advice() {
        return Err(Failure::Input(advice.to_owned()));
    }
    let scenario = changed(&Scenario::open(&args.scenario)?, &args.overrides)?;
    let options = CompareOptions {
        seeds: (1..=args.reps).collect(),
        jobs: args.jobs.map(usize::from),
        flows: args.flow.clone(),
    };
    let (variants, left_out) = match &args.variants[..] {
        [] => default_variants(&scenario, &args.flow)?,
        named => (named.to_vec(), Vec::new()),
    };
    let mut used = scenario.reads();
    used.push(scenario.source().into());
    let svg = reserve(args.svg.as_deref(), &used)?;
    used.extend(args.svg.clone());
    let distribution = reserve(args.distribution.as_deref(), &used)?;
    left_out.iter().for_each(|why| anstream::eprintln!("{why}"));
    let bar = Bar::new();
    let compared = run_all(&scenario, &variants, &options, &bar)?;
    bar.finish();
    let result = compared.ranking();
    svg.map(|file| draw(file, bars::svg(result))).transpose()?;
    distribution.map(|file| draw(file, distribution::svg(&compared))).transpose()?;
    let mut out = anstream::stdout().lock();
    match args.format {
        Format::Table => Ok(ranking::print(result, &legend(result, &variants), room(), &mut out)?),
        Format::Markdown => Ok(ranking::markdown(result, &mut out)?),
        Format::Csv => csv(result).and_then(|text| Ok(out.write_all(&text)?)),
        Format::Json => print_json(result),
    }
}

/// What the variants are, the best first.
fn legend(result: &Comparison, variants: &[Variant]) -> Vec<(String, String)> {
    let known = |row: &ComparisonRow| {
        let variant = variants.iter().find(|variant| variant.name == row.variant)?;
        Some((row.variant.clone(), variant.summary()?))
    };
    result.rows.iter().filter_map(known).collect()
}

/// The file for a picture, which is none of those that are used.
fn reserve<'a>(path: Option<&'a Path>, used: &[PathBuf]) -> Result<Option<Reserved<'a>>, Failure> {
    path.map(|path| Reserved::new(path, used.iter().map(PathBuf::as_path))).transpose()
}

fn draw(file: Reserved<'_>, picture: Result<String, Box<dyn Error>>) -> Result<(), Failure> {
    let path = file.path();
    let picture = picture.map_err(|error| Failure::writing(path, error))?;
    let written = file.empty()?.write_all(picture.as_bytes());
    written.map_err(|error| Failure::writing(path, error))
}

/// What is written of an estimate that may be missing.
fn mean_and_interval(estimate: Option<&Estimate>) -> [String; 2] {
    let ci95 = |e: &Estimate| e.ci95.map(|ci95| ci95.to_string()).unwrap_or_default();
    estimate.map(|e| [e.mean.to_string(), ci95(e)]).unwrap_or_default()
}

/// The ranking as CSV.
fn csv(result: &Comparison) -> Result<Vec<u8>, Failure> {
    written(result).map_err(|error| Failure::System(error.to_string()))
}

fn written(result: &Comparison) -> Result<Vec<u8>, csv::Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
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
    writer.into_inner().map_err(|error| error.into_error().into())
}
