//! A run without a single route.

use bentpipe_orbit::{Network, Node, Report};
use bentpipe_scenario::Spot;

use super::trips::Trips;
use crate::args::sim::Orbit;
use crate::failure::Failure;

/// Why there is no figure to show.
pub(super) fn no_route(
    args: &Orbit,
    network: &Network,
    trips: &Trips<'_>,
    reports: &[Report],
) -> Failure {
    let samples = reports.first().map_or(0, |report| report.samples);
    if samples == 0 {
        let message = "--duration: 0 s leaves no time to sample; it must be more, such as 1 h";
        return Failure::Input(message.to_owned());
    }
    let satellite = |node| matches!(node, Node::Satellite(_));
    let linked = network.links().any(|(a, b)| satellite(a) && satellite(b));
    let blind = |(number, spot): &(u32, &Spot)| {
        reports.iter().all(|report| report.handovers_of(*number) == 0)
            && network.satellites_of(*number).next().is_none()
            && !spot.name.is_empty()
    };
    let ends = (0..).zip(trips.places.iter().copied());
    let name = &args.constellation;
    let message = match ends.filter(|_| !trips.several()).find(blind) {
        Some((_, spot)) => format!(
            "{name}: no satellite was above its mask at {} ({}) at any time: no coverage",
            spot.name, spot.place
        ),
        None => {
            let route = match trips.pairs[..] {
                [pair] => {
                    let [from, to] = trips.names(pair);
                    format!("from {from} to {to}")
                }
                _ => format!("between any of {} pairs of places", trips.pairs.len()),
            };
            let why = if linked {
                "at none of them did both ends have satellites above the mask that links join; a lower \
                 --mask or a longer --duration may help"
            } else {
                "satellites without links between them need a --gateway, or a satellite that both ends \
                 use"
            };
            format!("{name}: no route {route} at any of {samples} samples; {why}")
        }
    };
    Failure::Input(message)
}
