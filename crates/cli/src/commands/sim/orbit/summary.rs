//! What became of one route, for people.

use std::io::Write;

use bentpipe_orbit::{Names, Report};
use bentpipe_units::Span;

use super::Run;
use super::handovers::fields;
use crate::failure::Failure;
use crate::output::sim::table::thousands;

/// Handovers that the summary shows.
const SHOWN: usize = 10;

fn milliseconds(span: Span) -> String {
    thousands(span.as_secs_f64() * 1e3, 3)
}

/// Prints what became of the one pair.
pub(super) fn print(
    out: &mut impl Write,
    run: &Run<'_>,
    pair: (u32, u32),
    report: &Report,
) -> Result<(), Failure> {
    let Run { args, network, trips, .. } = run;
    let Some(delay) = report.delay else { return Ok(()) };
    let [from, to] = trips.names(pair);
    let count = |number: u64| thousands(number as f64, 0);
    writeln!(
        out,
        "{from} to {to} over {} ({} satellites): {} samples, {} s apart\n",
        args.constellation,
        count(network.constellation().satellites() as u64),
        count(report.samples),
        args.step.as_secs_f64(),
    )?;
    if let Some(start) = network.constellation().start() {
        writeln!(out, "  {:32} {start}", "start of the run")?;
    }
    let mut row = |name: &str, value: String| writeln!(out, "  {name:32} {value:>16}");
    row("one-way delay, min, ms", milliseconds(delay.min))?;
    row("  mean, ms", milliseconds(delay.mean))?;
    row("  median, ms", milliseconds(delay.median))?;
    row("  max, ms", milliseconds(delay.max))?;
    let (min, max) = report.hops.unwrap_or_default();
    row("hops", if min == max { format!("{max}") } else { format!("{min} to {max}") })?;
    let share = report.connected as f64 / report.samples.max(1) as f64;
    row("time with a route, %", format!("{:.3}", 100.0 * share))?;
    row("changes of the route", count(report.route_changes))?;
    for (number, place, seen) in [(pair.0, from, report.seen[0]), (pair.1, to, report.seen[1])] {
        let handovers = report.handovers_of(number) as u64;
        row(&format!("handovers at {place}"), count(handovers))?;
        row("  as seen by the samples", count(seen))?;
    }
    print_handovers(out, run.names, report)
}

fn print_handovers(out: &mut impl Write, names: &Names, report: &Report) -> Result<(), Failure> {
    if report.handovers.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n  {:>12}  {:20} {:24} to", "time, s", "station", "from")?;
    for handover in report.handovers.iter().take(SHOWN) {
        let [time, station, from, to] = fields(names, handover);
        let none = |name: String| if name.is_empty() { "none".to_owned() } else { name };
        writeln!(out, "  {time:>12}  {station:20} {:24} {}", none(from), none(to))?;
    }
    let more = report.handovers.len().saturating_sub(SHOWN);
    if more > 0 {
        writeln!(out, "  and {} more: --handovers FILE.csv or --json", thousands(more as f64, 0))?;
    }
    Ok(())
}
