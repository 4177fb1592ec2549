//! Which links of a scenario are emulated, with the queues and agents on them.

use bentpipe_emulator::{ConstellationPath, Packet, TcpAgent};
use bentpipe_link::mac::MacSpec;
use bentpipe_link::{Carried, Direction, Hop, Path, StationLine};
use bentpipe_sim::{AgentSpec, RunSpec, hold_before_agents, passed};

/// What the packets pass.
pub(in crate::commands) struct Links {
    passed: Passed,
    seed: u64,
}

/// What the first flow passes.
enum Passed {
    Links(Way),
    Satellites(Box<ConstellationPath>),
}

/// Links one after the other, and what stands on them.
#[derive(Default)]
struct Way {
    hops: Vec<Hop>,
    stations: Vec<(MacSpec, Vec<StationLine>)>,
    /// The node, counted along the way, and the direction in which packets leave it over the agent's link.
    agents: Vec<(usize, Direction, AgentSpec)>,
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
            None => Passed::Links(Way::of(&hold_before_agents(spec), [flow.from, flow.to])?),
        };
        Some(Self { passed, seed: spec.seed })
    }

    /// Whether agents stand on them, which see packets of IP only.
    pub(in crate::commands) fn have_agents(&self) -> bool {
        matches!(&self.passed, Passed::Links(way) if !way.agents.is_empty())
    }

    /// A path over them, without agents.
    pub(in crate::commands) fn path<P: Carried>(&self) -> Path<P> {
        match &self.passed {
            Passed::Links(way) => {
                let mut path = Path::new(&way.hops, self.seed);
                for (mac, lines) in &way.stations {
                    path.add_station(mac, lines);
                }
                path
            }
            Passed::Satellites(satellites) => satellites.path(self.seed),
        }
    }

    /// A path over them with their agents.
    pub(in crate::commands) fn packet_path(&self) -> Path<Packet> {
        let mut path = self.path();
        if let Passed::Links(way) = &self.passed {
            for (node, out, agent) in &way.agents {
                path.add_agent(*node, *out, Box::new(TcpAgent::new(agent.build())));
            }
        }
        path
    }

    /// What they are called, in order.
    pub(in crate::commands) fn names(&self) -> String {
        match &self.passed {
            Passed::Links(way) => {
                let names: Vec<&str> = way.hops.iter().map(|hop| hop.name.as_str()).collect();
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

impl Way {
    /// The way that packets take from one node to another in the simulator, if there is one.
    fn of(spec: &RunSpec, ends: [usize; 2]) -> Option<Self> {
        let between: Vec<_> = spec.links.iter().map(|link| link.ends).collect();
        let taken = passed(&between, spec.nodes.len(), ends);
        if taken.is_empty() && ends[0] != ends[1] {
            return None;
        }
        let hops = taken.iter().map(|(link, direction)| {
            let link = &spec.links[*link];
            let (forward_link, return_link) = match direction {
                Direction::Forward => (link.forward_link.clone(), link.return_link.clone()),
                Direction::Return => (link.return_link.clone(), link.forward_link.clone()),
            };
            Hop { name: link.name.clone(), forward_link, return_link }
        });
        // The link and direction of a scenario as the way has them.
        let on_way = |link: usize, direction: Direction| {
            let hop = taken.iter().position(|(passed, _)| *passed == link)?;
            let along = taken[hop].1 == direction;
            Some((hop, if along { Direction::Forward } else { Direction::Return }))
        };
        let stations = spec.macs.iter().filter_map(|place| {
            let line = |(link, direction): &(usize, Direction)| StationLine {
                name: format!("link/{}/{}", spec.links[*link].name, direction.name()),
                feeds: on_way(*link, *direction),
            };
            let lines: Vec<_> = place.lines.iter().map(line).collect();
            let stands = lines.iter().any(|line| line.feeds.is_some());
            stands.then(|| (place.mac.clone(), lines))
        });
        let agents = spec.agents.iter().filter_map(|place| {
            let out = spec.links[place.link].ends[0] == place.node;
            let out = if out { Direction::Forward } else { Direction::Return };
            let (hop, out) = on_way(place.link, out)?;
            let node = if out == Direction::Forward { hop } else { hop + 1 };
            Some((node, out, place.agent))
        });
        Some(Self { stations: stations.collect(), agents: agents.collect(), hops: hops.collect() })
    }
}
