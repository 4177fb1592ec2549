//! The route as it goes on, on a thread of its own and as far as the page takes it.

use bentpipe_orbit::{Change, Network, Node, OrbitError};
use bentpipe_units::Instant;
use tokio::sync::mpsc;

use super::asked::Asked;
use super::told::{Handover, IslChange, Part, Sample};
use crate::answer::Wrong;

/// Samples that the page is told at once.
const AT_ONCE: usize = 60;
/// The ends of the route, which come first among the stations.
const ENDS: [u32; 2] = [0, 1];

/// Follows the route from the start to its end, or until the page is gone.
pub(super) fn follow(asked: &Asked, network: Network, told: &mpsc::Sender<Result<Part, Wrong>>) {
    if let Err(error) = tell(asked, network, told) {
        drop(told.blocking_send(Err(Wrong::plain(error.to_string()))));
    }
}

fn tell(
    asked: &Asked,
    mut network: Network,
    told: &mpsc::Sender<Result<Part, Wrong>>,
) -> Result<(), OrbitError> {
    let (duration, step) = asked.times();
    let end = Instant::ZERO + duration;
    let satellites = network.constellation().satellites() as u32;
    let [from, to] = ENDS.map(Node::Station);
    let (mut at, mut part) = (Instant::ZERO, Part::default());
    while at <= end {
        let Part { handovers, isls, .. } = &mut part;
        network.advance(at, |at, change| {
            let time_s = at.as_secs_f64();
            match change {
                Change::Handover { station, from, to } if ENDS.contains(&station) => {
                    handovers.push(Handover { time_s, station, from, to });
                }
                // An operator's gateways follow all satellites.
                Change::Handover { .. } => {}
                Change::IslUp { a, b } => isls.push(IslChange { time_s, a, b, up: true }),
                Change::IslDown { a, b } => isls.push(IslChange { time_s, a, b, up: false }),
            }
        })?;
        let route = network.route(from, to, at)?;
        part.samples.push(Sample::of(at.as_secs_f64(), route.as_ref(), satellites));
        at += step;
        part.is_last = at > end;
        if part.is_last || part.samples.len() >= AT_ONCE {
            let Ok(()) = told.blocking_send(Ok(std::mem::take(&mut part))) else { return Ok(()) };
        }
    }
    Ok(())
}
