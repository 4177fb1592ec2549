//! The satellites and stations that a command line means.

use bentpipe_orbit::{Cable, Constellation, Network, OrbitError, Station};
use bentpipe_scenario::{ConstellationOptions, open_constellation};

use super::trips::Trips;
use crate::args::{Orbit, Spot};
use crate::failure::Failure;

/// The constellation that a name or a file means.
pub(super) fn constellation(args: &Orbit) -> Result<Constellation, Failure> {
    let options = ConstellationOptions { mask: args.mask, nearest: args.isl, start: args.start };
    Ok(open_constellation(&args.constellation, &options)?)
}

pub(super) fn network(
    args: &Orbit,
    constellation: Constellation,
    trips: &Trips<'_>,
) -> Result<Network, OrbitError> {
    let policy = args.policy.into();
    let end = |spot: &Spot| Station { policy, ..Station::terminal(&spot.name, spot.place) };
    let mut stations: Vec<_> = trips.places.iter().map(|spot| end(spot)).collect();
    let first = stations.len() as u32;
    stations.extend(args.gateway.iter().map(|spot| Station::gateway(&spot.name, spot.place)));
    let gateways = first..stations.len() as u32;
    let cables = gateways.clone().flat_map(|a| (a + 1..gateways.end).map(move |b| (a, b)));
    let cables: Vec<Cable> = cables.map(|(a, b)| Cable { a, b, delay: None }).collect();
    Network::new(constellation, stations, &cables, args.update_interval)
}
