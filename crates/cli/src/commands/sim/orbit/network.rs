//! The satellites and stations that a command line means.

use bentpipe_orbit::{Constellation, Network, Policy};
use bentpipe_scenario::{ConstellationOptions, Ground, open_constellation};

use super::trips::Trips;
use crate::args::sim::Orbit;
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
) -> Result<Network, Failure> {
    let ends = trips.places.iter().enumerate();
    let ground = Ground {
        name: &args.constellation,
        policy: args.ground.policy.map(Policy::from),
        usual: Policy::LongestHold,
        ground_stations: args.ground.ground_stations,
        update_interval: args.ground.update_interval,
        ends: ends.map(|(number, spot)| (*spot, args.to_host && trips.ends_at(number))).collect(),
        gateways: &args.gateway,
    };
    Ok(ground.network(constellation)?)
}
