//! Which links of a scenario are emulated.

use bentpipe_emulator::ConstellationPath;
use bentpipe_link::{Hop, Path};
use bentpipe_sim::{LinkSpec, RunSpec};

/// What the packets pass.
pub(in crate::commands) struct Links {
    passed: Passed,
    seed: u64,
}

/// What the first flow passes.
enum Passed {
    Links(Vec<Hop>),
    Satellites(Box<ConstellationPath>),
}

impl Links {
    /// The links that the first flow passes, if there is one.
    pub(in crate::commands) fn of(spec: &RunSpec) -> Option<Self> {
        let flow = spec.flows.first()?;
        let passed = match &spec.constellation {
            Some(constellation) => Passed::Satellites(Box::new(ConstellationPath {
                network: constellation.network.clone(),
                ends: [flow.from as u32, flow.to as u32],
                uplinks: [flow.from, flow.to].map(|end| constellation.ground[end].up.clone()),
                downlinks: [flow.from, flow.to].map(|end| constellation.ground[end].down.clone()),
                handover: constellation.handover.clone(),
                trouble: |error| {
                    anstream::eprintln!("bentpipe: {error}; nothing finds a route from now on");
                },
            })),
            None => Passed::Links(hops(spec)?),
        };
        Some(Self { passed, seed: spec.seed })
    }

    /// A path over them.
    pub(in crate::commands) fn path<P>(&self) -> Path<P> {
        match &self.passed {
            Passed::Links(hops) => Path::new(hops, self.seed),
            Passed::Satellites(satellites) => satellites.path(self.seed),
        }
    }

    /// What they are called, in order.
    pub(super) fn names(&self) -> String {
        match &self.passed {
            Passed::Links(hops) => {
                let names: Vec<&str> = hops.iter().map(|hop| hop.name.as_str()).collect();
                names.join(", ")
            }
            Passed::Satellites(path) => {
                let stations = path.network.stations();
                let [from, to] = path.ends.map(|end| stations[end as usize].name.as_str());
                format!("{}, {from} to {to}", path.network.constellation().name())
            }
        }
    }
}

/// The links that the first flow passes, in order.
fn hops(spec: &RunSpec) -> Option<Vec<Hop>> {
    let flow = spec.flows.first()?;
    let mut reached: Vec<(usize, Vec<Hop>)> = vec![(flow.from, Vec::new())];
    let mut next = 0;
    // Fewest links first, links in the order of the scenario: as the simulator routes.
    while let Some((at, hops)) = reached.get(next).cloned() {
        if at == flow.to {
            return Some(hops);
        }
        for link in &spec.links {
            let Some((to, hop)) = leave(link, at) else { continue };
            if reached.iter().all(|(node, _)| *node != to) {
                reached.push((to, [&hops[..], &[hop]].concat()));
            }
        }
        next += 1;
    }
    None
}

/// The other end of a link and what happens on the way there.
fn leave(link: &LinkSpec, at: usize) -> Option<(usize, Hop)> {
    let [a, b] = link.ends;
    let (to, forward_link, return_link) = match at {
        _ if at == a => (b, &link.forward_link, &link.return_link),
        _ if at == b => (a, &link.return_link, &link.forward_link),
        _ => return None,
    };
    let (forward_link, return_link) = (forward_link.clone(), return_link.clone());
    Some((to, Hop { name: link.name.clone(), forward_link, return_link }))
}
