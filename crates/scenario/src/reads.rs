//! The files that a scenario reads besides its own.

use std::path::{Path, PathBuf};

use crate::ScenarioFile;
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
