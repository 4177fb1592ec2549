//! Where an agent or a proxy of a variant stands.

use std::collections::VecDeque;

use bentpipe_sim::{FlowSpec, RunSpec};

/// A node and a link of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) node: String,
    pub(super) link: String,
}

/// The last node before the receiver of a flow, and the link between them.
pub(super) fn before_last_link(spec: &RunSpec, flow: &FlowSpec) -> Result<Place, String> {
    let last = last_link(spec, flow.from, flow.to).filter(|(node, _)| *node != flow.from);
    let Some((node, link)) = last.filter(|_| spec.sky.is_none()) else {
        let message =
            "an addition needs a node between the ends, and links that stay where they are";
        return Err(format!("flow `{}`: {message}", flow.name));
    };
    Ok(Place { node: spec.nodes[node].clone(), link: spec.links[link].name.clone() })
}

/// Those of each flow; each place once.
pub(super) fn before_last_links(spec: &RunSpec, flows: &[usize]) -> Result<Vec<Place>, String> {
    let mut places = Vec::new();
    for flow in flows.iter().map(|index| &spec.flows[*index]) {
        let place = before_last_link(spec, flow)?;
        if !places.contains(&place) {
            places.push(place);
        }
    }
    Ok(places)
}

/// The last node and link on the way with the fewest links.
fn last_link(spec: &RunSpec, from: usize, to: usize) -> Option<(usize, usize)> {
    let mut reached = vec![None; spec.nodes.len()];
    let mut frontier = VecDeque::from([from]);
    while let Some(at) = frontier.pop_front() {
        for (number, link) in spec.links.iter().enumerate() {
            let Some(end) = link.ends.iter().position(|end| *end == at) else { continue };
            let next = link.ends[1 - end];
            if next != from && reached[next].is_none() {
                reached[next] = Some((at, number));
                frontier.push_back(next);
            }
        }
    }
    reached[to]
}
