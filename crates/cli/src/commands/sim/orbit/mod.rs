//! `bentpipe orbit`: routes over satellites, over time.

mod document;
mod files;
mod handovers;
mod network;
mod no_route;
mod ranking;
mod summary;
mod trips;

use std::io::Write;

use bentpipe_orbit::{Names, Network, OrbitError, Report, Surveys};
use bentpipe_scenes::czml::Window;
use bentpipe_units::Instant;

use crate::args::sim::Orbit;
use crate::commands::sim::json::print_json;
use crate::failure::Failure;
use files::Files;
use trips::Trips;

/// What was asked and what became of it.
struct Run<'a> {
    args: &'a Orbit,
    trips: &'a Trips<'a>,
    /// The network at its end.
    network: &'a Network,
    names: &'a Names,
    /// One of each pair.
    reports: &'a [Report],
}

/// Samples routes and prints what became of them.
pub(crate) fn orbit(args: &Orbit) -> Result<(), Failure> {
    let wrong = |error: OrbitError| Failure::Input(format!("{}: {error}", args.constellation));
    let trips = Trips::of(args)?;
    let mut network = network::network(args, network::constellation(args)?, &trips)?;
    let new = network.clone();
    let names = Names::of(&network);
    let first = Instant::ZERO + args.first;
    let window = Window { first, end: first + args.duration, step: args.step };
    let mut files = Files::create(args, window, &network, &trips)?;
    let surveys = Surveys { pairs: trips.pairs.clone(), first, end: window.end, step: window.step };
    let reports =
        surveys.run(&mut network, |samples| files.see(&trips, &names, samples)).map_err(wrong)?;
    if reports.iter().all(|report| report.delay.is_none()) {
        return Err(no_route::no_route(args, &network, &trips, &reports));
    }
    let run = Run { args, trips: &trips, network: &network, names: &names, reports: &reports };
    let written = files.finish(&run, &new)?;
    if args.json {
        return print_json(&document::json(&run));
    }
    let mut out = std::io::stdout().lock();
    match (&trips.pairs[..], &reports[..]) {
        ([pair], [report]) => summary::print(&mut out, &run, *pair, report)?,
        _ => ranking::print(&mut out, &run)?,
    }
    for path in written {
        writeln!(out, "wrote {}", path.display())?;
    }
    Ok(())
}
