//! Which links of a scenario are emulated.

use bentpipe_net::emulate::Hop;
use bentpipe_sim::{LinkSpec, RunSpec};

/// The links on the way of the first flow, in order.
pub(super) fn hops(spec: &RunSpec) -> Option<Vec<Hop>> {
    let flow = spec.flows.first()?;
    let mut ways: Vec<(usize, Vec<Hop>)> = vec![(flow.from, Vec::new())];
    let mut next = 0;
    // Fewest links first, links in the order of the scenario: as the simulator routes.
    while let Some((at, way)) = ways.get(next).cloned() {
        if at == flow.to {
            return Some(way);
        }
        for link in &spec.links {
            let Some((to, hop)) = leave(link, at) else { continue };
            if ways.iter().all(|(node, _)| *node != to) {
                ways.push((to, [&way[..], &[hop]].concat()));
            }
        }
        next += 1;
    }
    None
}

/// The other end of a link and what happens on the way there.
fn leave(link: &LinkSpec, at: usize) -> Option<(usize, Hop)> {
    let [a, b] = link.ends;
    let (to, forth, back) = match at {
        _ if at == a => (b, &link.forth, &link.back),
        _ if at == b => (a, &link.back, &link.forth),
        _ => return None,
    };
    Some((to, Hop { name: link.name.clone(), forth: forth.clone(), back: back.clone() }))
}
