//! `bentpipe trace`: links as they were measured.

#[cfg(feature = "net")]
mod record;

use std::fs::File;
use std::io::Write;
use std::path::Path;

use bentpipe_orbit::{OrbitError, Policy, Survey};
use bentpipe_scenario::{ConstellationOptions, Ground, open_constellation};
use bentpipe_trace::import::{ImportOptions, import};
use bentpipe_trace::{Slots, Spread, Summary, Trace, hold, native, parquet, sparkline};
use bentpipe_units::Instant;
use comfy_table::{CellAlignment, Table, presets};

use crate::args::sim::{Measured, TraceCommand, TraceFromOrbit, TraceImport, TraceInfo};
use crate::commands::sim::json::print_json;
use crate::failure::Failure;
use crate::output::sim::file;

/// Bars of the picture of a trace.
const WIDTH: usize = 60;

/// Does what was asked.
pub(crate) fn trace(args: &crate::args::sim::Trace) -> Result<(), Failure> {
    match &args.what {
        TraceCommand::Info(args) => info(args),
        TraceCommand::Import(args) => import_all(args),
        #[cfg(feature = "net")]
        TraceCommand::Record(args) => record::record(args),
        #[cfg(feature = "net")]
        TraceCommand::Respond(args) => record::respond(args),
        TraceCommand::FromOrbit(args) => from_orbit(args),
    }
}

fn wrong(error: impl std::fmt::Display) -> Failure {
    Failure::Input(error.to_string())
}

/// The bytes of a file, or of a trace that comes with the program.
fn bytes(file: &str) -> Result<Vec<u8>, Failure> {
    bentpipe_trace::open(Path::new(file), file).map_err(wrong)
}

fn info(args: &TraceInfo) -> Result<(), Failure> {
    let rate = bytes(&args.file)?;
    let trace = match &args.delays {
        None => bentpipe_trace::read(&args.file, &rate),
        Some(file) => bentpipe_trace::read_pair((&args.file, &rate), (file, &bytes(file)?)),
    };
    let summary = Summary::of(&trace.map_err(wrong)?);
    if args.json {
        return print_json(&summary);
    }
    let mut out = anstream::stdout().lock();
    writeln!(out, "{}: {} s", args.file, summary.seconds)?;
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["", "min", "5 %", "median", "95 %", "max", "mean"]);
    let mut row = |name: &str, spread: Option<Spread>, unit: f64, digits: usize| {
        let Some(Spread { min, p5, median, p95, max, mean }) = spread else { return };
        let figures = [min, p5, median, p95, max, mean];
        let cells = figures.map(|figure| format!("{:.digits$}", figure / unit));
        table.add_row([name.to_owned()].into_iter().chain(cells));
    };
    row("rate, Mbit/s", summary.rate_bps, 1e6, 2);
    row("one-way delay, ms", summary.delay_s, 1e-3, 2);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    writeln!(out, "{table}")?;
    if let Some(loss) = summary.loss {
        writeln!(out, "loss: {:.3} %", 100.0 * loss)?;
    }
    if let Some((count, seconds)) = summary.outages.filter(|(count, _)| *count > 0) {
        writeln!(out, "outages: {count}, {seconds:.2} s in all")?;
    }
    match summary.slots {
        Some(Slots { period_s, first_s, ratio }) => writeln!(
            out,
            "slots: it changes every {period_s} s, first at {first_s} s, {ratio:.0} times as much as otherwise"
        )?,
        None => writeln!(out, "slots: none found")?,
    }
    writeln!(out, "{}", sparkline(&summary.picture, WIDTH))?;
    Ok(())
}

fn import_all(args: &TraceImport) -> Result<(), Failure> {
    let options = ImportOptions { way: args.way.into(), gap: args.gap, interval: args.interval };
    let mut traces = args.sources.iter().map(|Measured { source, file }| {
        let unread = |error: std::io::Error| wrong(format!("{file}: {error}"));
        match source {
            Some(source) => {
                let text = std::fs::read_to_string(file).map_err(unread)?;
                import(*source, file, &text, &options)
            }
            None => bentpipe_trace::read(file, &std::fs::read(file).map_err(unread)?),
        }
        .map_err(wrong)
    });
    let Some(first) = traces.next() else { return Ok(()) };
    let trace = traces.try_fold(first?, |all, next| Ok::<_, Failure>(all.with(next?)))?;
    write(&trace, args.out.as_deref(), args.sources.iter().map(|from| from.file.as_str()))
}

fn from_orbit(args: &TraceFromOrbit) -> Result<(), Failure> {
    let of = |error: OrbitError| wrong(format!("{}: {error}", args.constellation));
    let constellation = open_constellation(&args.constellation, &ConstellationOptions::default())?;
    let ground = Ground {
        name: &args.constellation,
        policy: args.ground.policy.map(Policy::from),
        usual: Policy::ShortestPath,
        ground_stations: args.ground.ground_stations,
        update_interval: args.ground.update_interval,
        ends: vec![(&args.ends.from, false), (&args.ends.to, args.to_host)],
        gateways: &[],
    };
    let mut network = ground.network(constellation)?;
    let (first, step) = (Instant::ZERO, args.step);
    let survey = Survey { from: 0, to: 1, first, end: first + args.duration, step };
    let (mut delay, mut up) = (Vec::new(), Vec::new());
    let report = survey
        .run(&mut network, |sample| {
            let route = sample.route.as_ref().map(|route| route.delay);
            hold(&mut up, sample.at, route.is_some());
            route.into_iter().for_each(|route| hold(&mut delay, sample.at, route));
        })
        .map_err(of)?;
    if report.connected == 0 {
        let (from, to) = (&args.ends.from.name, &args.ends.to.name);
        return Err(wrong(format!("there never is a route from {from} to {to}")));
    }
    let up = up.iter().any(|(_, up)| !up).then_some(up);
    let trace = Trace { delay: Some(delay), up, ..Trace::silent(args.duration) };
    let tracks = [&args.ends.from, &args.ends.to].into_iter().filter_map(|spot| spot.file());
    let tracks = tracks.filter_map(Path::to_str);
    let made_of = [args.constellation.as_str()].into_iter().chain(tracks);
    write(&trace, args.out.as_deref(), made_of)
}

/// Writes a trace into a file, which is none of those it was made of, and says so, or prints it. A file whose name ends in
/// `.parquet` is Parquet, any other one CSV.
fn write<'a>(
    trace: &Trace,
    path: Option<&Path>,
    made_of: impl IntoIterator<Item = &'a str>,
) -> Result<(), Failure> {
    let Some(path) = path else {
        let mut text = Vec::new();
        native::write(trace, &mut text).map_err(wrong)?;
        return Ok(std::io::stdout().write_all(&text)?);
    };
    fill(trace, path, file::create(path, made_of.into_iter().map(Path::new))?)
}

/// Writes a trace into an empty file and says so.
fn fill(trace: &Trace, path: &Path, file: File) -> Result<(), Failure> {
    // Whoever reads the trace from there reads nothing else.
    let to_stdout = same_file::is_same_file(path, "/dev/stdout").unwrap_or(false);
    if path.extension().is_some_and(|end| end.eq_ignore_ascii_case("parquet")) {
        parquet::write(trace, file).map_err(|error| Failure::writing(path, error))?;
    } else {
        native::write(trace, file).map_err(|error| Failure::writing(path, error))?;
    }
    if to_stdout {
        return Ok(());
    }
    Ok(writeln!(std::io::stdout(), "wrote {}", path.display())?)
}
