//! Where an agent or a proxy of a variant stands.

use std::collections::VecDeque;

use bentpipe_link::ModelSpec;
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
    let Some((node, link)) = last.filter(|_| spec.constellation.is_none()) else {
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

/// The keys of gateways at both ends of the last link of some flows, and their values: the terminal is on the side of
/// whoever opens. A scenario without gateways gets both at once, for one alone cannot be.
pub(super) fn gateways(
    spec: &RunSpec,
    flows: &[usize],
    know_rate: bool,
) -> Result<Vec<(String, String)>, String> {
    let mut places = Vec::new();
    for flow in flows.iter().map(|index| &spec.flows[*index]) {
        let before = before_last_link(spec, flow)?;
        let number = spec.links.iter().position(|link| link.name == before.link);
        let number = number.ok_or_else(|| format!("there is no link `{}`", before.link))?;
        let near = spec.nodes.iter().position(|node| *node == before.node);
        let mut ends = [near.unwrap_or(flow.from), flow.to];
        if flow.request.is_some() {
            ends.reverse();
        }
        if !places.contains(&(number, ends)) {
            places.push((number, ends));
        }
    }
    let [(link, [terminal, hub])] = places[..] else {
        return Err(
            "gateways carry all flows over one link, and these have several last ones".to_owned()
        );
    };
    let link = &spec.links[link];
    let mut both = Vec::new();
    for (role, node) in [("terminal", terminal), ("hub", hub)] {
        let mut keys = vec![("node", format!("{:?}", spec.nodes[node]))];
        if know_rate {
            let models = if link.ends[0] == node { &link.forward_link } else { &link.return_link };
            let rate = models.iter().find_map(|model| match model {
                ModelSpec::Rate { rate, .. } | ModelSpec::FadingRate { rate, .. } => Some(*rate),
                ModelSpec::Rain(spec) => Some(spec.rate()),
                _ => None,
            });
            let rate = rate.ok_or_else(|| format!("link `{}` says no rate", link.name))?;
            keys.push(("rate", format!("\"{rate}\"")));
        }
        both.push((role, keys));
    }
    if spec.gateways.is_some() {
        let keys = both.into_iter().flat_map(|(role, keys)| {
            keys.into_iter().map(move |(key, value)| (format!("gateway.{role}.{key}"), value))
        });
        return Ok(keys.collect());
    }
    let table = |keys: &[(&str, String)]| {
        let pairs: Vec<_> = keys.iter().map(|(key, value)| format!("{key} = {value}")).collect();
        format!("{{ {} }}", pairs.join(", "))
    };
    let roles: Vec<_> =
        both.iter().map(|(role, keys)| format!("{role} = {}", table(keys))).collect();
    Ok(vec![("gateway".to_owned(), format!("{{ {} }}", roles.join(", ")))])
}

/// The links on the way of a flow's data, each with its models in that direction and the node before it; `None` with a
/// constellation.
pub(super) fn way<'a>(
    spec: &'a RunSpec,
    flow: &FlowSpec,
) -> Option<Vec<(&'a str, &'a [ModelSpec], &'a str)>> {
    if spec.constellation.is_some() {
        return None;
    }
    let (mut at, mut way) = (flow.to, Vec::new());
    while at != flow.from {
        let (before, number) = last_link(spec, flow.from, at)?;
        let link = &spec.links[number];
        let forward = link.ends[0] == before;
        let models = if forward { &link.forward_link } else { &link.return_link };
        way.push((link.name.as_str(), models.as_slice(), spec.nodes[before].as_str()));
        at = before;
    }
    Some(way)
}

/// The last node and link on the path with the fewest links.
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
