//! The twin in the simulator.

use bentpipe_sim::{Silent, run as simulate};

use super::{Case, Measured};
use crate::failure::Failure;

/// Runs it.
pub(super) fn run(case: &Case) -> Result<Measured, Failure> {
    let spec = &case.spec;
    let summary = simulate(spec, &mut Silent).map_err(|error| Failure::Input(error.to_string()))?;
    let flow = &summary.flows[0];
    let (Some(first_byte), Some(last_byte)) = (flow.first_byte_after, flow.metrics.connection_time)
    else {
        let why = flow.failure.clone().unwrap_or_else(|| "it did not arrive in time".to_owned());
        return Err(Failure::System(format!("simulated: {why}")));
    };
    let [near, far] = case.nodes.map(|node| &spec.nodes[node]);
    let entering = |from: &str| {
        let beside = |link: &&bentpipe_record::LinkSummary| link.from == from;
        // Of the links that leave this gateway, the one towards the other gateway is not that to its host.
        let first = bentpipe_sim::passed(&ends(case), spec.nodes.len(), towards(case, from));
        let name = first.first().map(|(link, _)| spec.links[*link].name.as_str());
        let found =
            summary.links.iter().filter(beside).find(|link| Some(link.name.as_str()) == name);
        found.map_or(0, |link| link.bytes)
    };
    let Some(sender) = summary.gateways.iter().find(|gateway| gateway.node == *near) else {
        return Err(Failure::System(format!("simulated: {near} is no gateway")));
    };
    Ok(Measured {
        first_byte,
        last_byte,
        link_bytes: [entering(near), entering(far)],
        retransmitted: sender.retransmitted_segments,
        parity: sender.parity_datagrams,
        srtt: sender.srtt_seconds.unwrap_or_default(),
    })
}

fn ends(case: &Case) -> Vec<[usize; 2]> {
    case.spec.links.iter().map(|link| link.ends).collect()
}

/// From a gateway to the other one.
fn towards(case: &Case, from: &str) -> [usize; 2] {
    let [near, far] = case.nodes;
    if case.spec.nodes[near] == from { [near, far] } else { [far, near] }
}
