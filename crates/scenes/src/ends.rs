//! The stations that a picture is about.

use std::collections::BTreeSet;

use bentpipe_orbit::{Network, Station};

/// The ends of routes between these pairs; all stations when there is no pair. An operator's gateways see nearly every
/// satellite, which would say nothing.
pub fn watched(network: &Network, pairs: &[(u32, u32)]) -> Vec<Station> {
    let ends: BTreeSet<u32> = pairs.iter().flat_map(|(from, to)| [*from, *to]).collect();
    let stations = (0..).zip(network.stations());
    let watched = stations.filter(|(number, _)| ends.is_empty() || ends.contains(number));
    watched.map(|(_, station)| station.clone()).collect()
}
