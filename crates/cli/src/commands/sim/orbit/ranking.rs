//! What became of several routes: a row for each.

use std::io::Write;

use bentpipe_orbit::Report;
use bentpipe_units::Span;
use comfy_table::{CellAlignment, Table, presets};

use super::Run;
use crate::failure::Failure;
use crate::output::sim::table::thousands;

const HEADER: [&str; 10] = [
    "from",
    "to",
    "great circle, km",
    "one-way delay, min, ms",
    "median, ms",
    "max, ms",
    "median / fibre",
    "hops",
    "time with a route, %",
    "handovers at from",
];
/// Columns that are names.
const NAMES: usize = 2;

pub(super) fn print(out: &mut impl Write, run: &Run<'_>) -> Result<(), Failure> {
    let count = |number: u64| thousands(number as f64, 0);
    writeln!(
        out,
        "{} pairs of places over {} ({} satellites): {} samples, {} s apart\n",
        run.trips.pairs.len(),
        run.args.constellation,
        count(run.network.constellation().satellites() as u64),
        count(run.reports.first().map_or(0, |report| report.samples)),
        run.args.step.as_secs_f64(),
    )?;
    if let Some(start) = run.network.constellation().start() {
        writeln!(out, "start of the run: {start}\n")?;
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(HEADER);
    for (pair, report) in run.trips.pairs.iter().zip(run.reports) {
        table.add_row(row(run, *pair, report));
    }
    for column in table.column_iter_mut().skip(NAMES) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    Ok(writeln!(out, "{table}")?)
}

fn row(run: &Run<'_>, (from, to): (u32, u32), report: &Report) -> [String; HEADER.len()] {
    let none = || "-".to_owned();
    let ms = |span: Span| thousands(span.as_secs_f64() * 1e3, 3);
    let ends = [from, to].map(|station| run.trips.place(station));
    let earth = run.network.constellation().earth();
    let circle = earth.great_circle(ends[0].place, ends[1].place);
    let fibre = earth.fibre_delay(circle).as_secs_f64();
    let [min, median, max, ratio] = match report.delay {
        None => [(); 4].map(|()| none()),
        Some(delay) => {
            let ratio = delay.median.as_secs_f64() / fibre;
            [ms(delay.min), ms(delay.median), ms(delay.max), format!("{ratio:.2}")]
        }
    };
    let hops = match report.hops {
        None => none(),
        Some((least, most)) if least == most => most.to_string(),
        Some((least, most)) => format!("{least} to {most}"),
    };
    let share = report.connected as f64 / report.samples.max(1) as f64;
    [
        ends[0].name.clone(),
        ends[1].name.clone(),
        thousands(circle.0, 0),
        min,
        median,
        max,
        ratio,
        hops,
        format!("{:.3}", 100.0 * share),
        thousands(report.handovers_of(from) as f64, 0),
    ]
}
