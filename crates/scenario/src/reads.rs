//! The files that a scenario reads besides its own.

use std::path::{Path, PathBuf};

use crate::ScenarioFile;
use crate::schema::constellation::SatelliteLinkTable;
use crate::schema::link::LinkTable;
use crate::schema::named::Named;
use crate::schema::rain::RainTable;
use crate::schema::trace::TraceTable;

/// The files that a scenario from `source` names: traces, attenuations, tracks, element sets. What comes with the program is
/// among them under a name that no file has.
pub(crate) fn files(file: &ScenarioFile, source: &str) -> Vec<PathBuf> {
    let beside = Path::new(source).parent().unwrap_or(Path::new(""));
    named(file).into_iter().map(|name| beside.join(name)).collect()
}

/// The same, as the scenario names them.
pub(crate) fn named(file: &ScenarioFile) -> Vec<&str> {
    let mut names: Vec<&str> = file.links.values().flat_map(of_link).collect();
    if let Some(constellation) = &file.constellation {
        names.extend(constellation.file.as_deref());
        let tracks = constellation.stations.values().filter_map(|station| station.track.as_ref());
        names.extend(tracks.filter_map(|Named(track)| track.file.as_deref()));
        let stations =
            constellation.stations.values().filter_map(|station| station.ground.as_ref());
        let tables = [&constellation.ground, &constellation.isl, &constellation.gateway_links];
        for table in tables.into_iter().chain(stations) {
            let ways = [&table.up, &table.down].into_iter().flatten();
            names.extend(ways.filter_map(|way| way.trace.as_ref()).flat_map(of_trace));
        }
    }
    names
}

/// The files that are read for a run, each as often as it is read: what stands for both directions of a link twice, what stands for
/// all stations for each of them.
pub(crate) fn read(file: &ScenarioFile) -> Vec<&str> {
    let mut names = Vec::new();
    for link in file.links.values() {
        for way in [&link.forward_link, &link.return_link].map(Option::as_ref) {
            let trace = way.and_then(|way| way.trace.as_ref()).or(link.trace.as_ref());
            names.extend(trace.into_iter().flat_map(of_trace));
            let own = way.and_then(|way| way.rain.as_ref()).and_then(of_rain);
            names.extend(own.or_else(|| link.rain.as_ref().and_then(of_rain)));
        }
    }
    if let Some(constellation) = &file.constellation {
        names.extend(constellation.file.as_deref());
        names.extend(of_moving(&constellation.isl, None));
        names.extend(of_moving(&constellation.gateway_links, None));
        for station in constellation.stations.values() {
            names.extend(of_moving(&constellation.ground, station.ground.as_ref()));
            let beside = station.beside.as_ref();
            let there = beside.and_then(|other| constellation.stations.get(other));
            let track = station.track.as_ref().or_else(|| there?.track.as_ref());
            names.extend(track.and_then(|Named(track)| track.file.as_deref()));
        }
    }
    names
}

/// The traces of links to satellites, of which some have a table of their `own`.
fn of_moving<'a>(
    all: &'a SatelliteLinkTable,
    own: Option<&'a SatelliteLinkTable>,
) -> impl Iterator<Item = &'a str> {
    let up = own.and_then(|own| own.up.as_ref()).or(all.up.as_ref());
    let down = own.and_then(|own| own.down.as_ref()).or(all.down.as_ref());
    [up, down].into_iter().flatten().filter_map(|way| way.trace.as_ref()).flat_map(of_trace)
}

fn of_link(link: &LinkTable) -> Vec<&str> {
    let ways = || [&link.forward_link, &link.return_link].into_iter().flatten();
    let traces = link.trace.iter().chain(ways().filter_map(|way| way.trace.as_ref()));
    let rains = link.rain.iter().chain(ways().filter_map(|way| way.rain.as_ref()));
    traces.flat_map(of_trace).chain(rains.filter_map(of_rain)).collect()
}

fn of_trace(Named(trace): &Named<TraceTable>) -> impl Iterator<Item = &str> {
    std::iter::once(trace.file.as_str()).chain(trace.delays.as_deref())
}

fn of_rain(rain: &RainTable) -> Option<&str> {
    rain.attenuation.as_ref().map(|Named(table)| table.file.as_str())
}
