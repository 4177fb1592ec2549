//! Which links of a scenario are emulated.

use bentpipe_net::emulate::{Hop, Path, Sky};
use bentpipe_sim::{LinkSpec, RunSpec};

/// What the packets pass.
pub(in crate::commands) struct Links {
    way: Way,
    seed: u64,
}

/// The way of the first flow.
enum Way {
    Links(Vec<Hop>),
    Satellites(Box<Sky>),
}

impl Links {
    /// The links on the way of the first flow, if there is one.
    pub(in crate::commands) fn of(spec: &RunSpec) -> Option<Self> {
        let flow = spec.flows.first()?;
        let way = match &spec.sky {
            Some(sky) => Way::Satellites(Box::new(Sky {
                network: sky.network.clone(),
                ends: [flow.from as u32, flow.to as u32],
                uplinks: [flow.from, flow.to].map(|end| sky.ground[end].up.clone()),
                downlinks: [flow.from, flow.to].map(|end| sky.ground[end].down.clone()),
                trouble: |error| {
                    anstream::eprintln!("bentpipe: {error}; nothing finds a way from now on");
                },
            })),
            None => Way::Links(hops(spec)?),
        };
        Some(Self { way, seed: spec.seed })
    }

    /// A path over them.
    pub(in crate::commands) fn path<P>(&self) -> Path<P> {
        match &self.way {
            Way::Links(hops) => Path::new(hops, self.seed),
            Way::Satellites(sky) => Path::over_satellites(sky, self.seed),
        }
    }

    /// What they are called, in order.
    pub(super) fn names(&self) -> String {
        match &self.way {
            Way::Links(hops) => {
                let names: Vec<&str> = hops.iter().map(|hop| hop.name.as_str()).collect();
                names.join(", ")
            }
            Way::Satellites(sky) => {
                let stations = sky.network.stations();
                let [from, to] = sky.ends.map(|end| stations[end as usize].name.as_str());
                format!("{}, {from} to {to}", sky.network.constellation().name())
            }
        }
    }
}

/// The links on the way of the first flow, in order.
fn hops(spec: &RunSpec) -> Option<Vec<Hop>> {
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
