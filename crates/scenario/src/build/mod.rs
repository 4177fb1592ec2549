//! From a scenario file to a run.

mod access;
mod address_changes;
mod agents;
mod aqm;
mod bentpipe;
mod constellation;
mod constellation_file;
pub(crate) mod copies;
mod draw;
mod flow;
mod gateways;
mod ground_stations;
mod link;
mod losses;
mod macs;
mod places;
mod protocol;
mod proxies;
mod queue;
mod radio;
mod rain;
mod sctp;
mod settings;
mod tcp;
mod trace;
mod track;
mod traffic;
mod xstp;

pub use constellation_file::{ConstellationOptions, open_constellation};

use bentpipe_link::Direction;
use bentpipe_sim::{Encapsulation, FlowSpec, LinkSpec, RunSpec};
use bentpipe_units::Span;

use self::agents::agents;
use self::flow::flow;
use self::link::{Origin, link};
use self::macs::{holds, macs, marks};
use crate::Extensions;
use crate::error::did_you_mean;
use crate::problem::{Problem, problem};
use crate::schema::file::{EncapsulationName, ScenarioFile};

/// A run without a duration of its own ends here: a year.
const LONGEST_RUN: Span = Span::from_secs(366 * 86_400);

/// The run of a scenario that came from `source`.
pub(crate) fn run_spec(
    file: &ScenarioFile,
    source: &str,
    extensions: &Extensions,
    seed: Option<u64>,
    wire: bool,
) -> Result<RunSpec, Problem> {
    let seed = seed.unwrap_or(file.seed);
    let file = &constellation::with_stations(copies::spread(file)?.as_ref())?;
    let file = &*gateways::with_hosts(file)?;
    if file.nodes.len() > usize::from(u16::MAX) {
        return problem(&["nodes"], "more than 65535 nodes");
    }
    for (index, name) in file.nodes.iter().enumerate() {
        if file.nodes[..index].contains(name) {
            return problem(&["nodes"], format!("duplicate node name `{name}`"));
        }
    }
    if file.flows.is_empty() {
        return problem(&["flows"], "there is no flow: nothing would happen");
    }
    let origin = Origin { source, brought: extensions.links() };
    let macs = macs(file, extensions.links())?;
    let links: Result<Vec<_>, _> = file
        .links
        .iter()
        .enumerate()
        .map(|(n, (name, table))| {
            let held = Direction::BOTH.map(|direction| holds(&macs, n, direction));
            link(file, name, table, (held, marks(&macs, n)), origin)
        })
        .collect();
    let mut links = links?;
    let flows: Result<Vec<_>, _> = file
        .flows
        .iter()
        .map(|(name, table)| flow(file, name, table, &links, extensions))
        .collect();
    let mut flows = flows?;
    let gateways = gateways::gateways(file, &links, &mut flows)?;
    let agents = agents(file)?;
    let table = file.constellation.as_ref();
    if table.is_some() && !macs.is_empty() {
        let message = "queues with a discipline, shared uplinks and radio channels need links that stay where they are";
        return problem(&["constellation"], message);
    }
    let constellation = table
        .map(|table| constellation::constellation(table, origin, &mut links, seed))
        .transpose()?;
    if constellation.is_none() {
        connected(file, &links, &flows)?;
    }
    Ok(RunSpec {
        name: file.name.clone(),
        nodes: file.nodes.clone(),
        links,
        macs,
        agents,
        constellation,
        schedulers: proxies::schedulers(file)?,
        gateways,
        flows,
        seed,
        duration: file.duration.map_or(LONGEST_RUN, |d| d.0),
        encapsulation: match file.encapsulation {
            EncapsulationName::Qlp => Encapsulation::Qlp,
            EncapsulationName::Ip => Encapsulation::Ip,
            EncapsulationName::Udp => Encapsulation::Udp,
            EncapsulationName::Ax25 => Encapsulation::Ax25,
            EncapsulationName::Ax25Compact => Encapsulation::Ax25Compact,
        },
        wire,
    })
}

fn node(file: &ScenarioFile, path: &[&str], name: &str) -> Result<usize, Problem> {
    if let Some(index) = file.nodes.iter().position(|node| node == name) {
        return Ok(index);
    }
    let known = file.nodes.iter().map(String::as_str);
    let hint = did_you_mean(name, known);
    problem(path, format!("there is no node `{name}`{hint}"))
}

/// Every flow's receiver can be reached.
fn connected(file: &ScenarioFile, links: &[LinkSpec], flows: &[FlowSpec]) -> Result<(), Problem> {
    for flow in flows {
        let mut reached = vec![false; file.nodes.len()];
        let mut frontier = vec![flow.from];
        while let Some(at) = frontier.pop() {
            if std::mem::replace(&mut reached[at], true) {
                continue;
            }
            for link in links {
                if let Some(place) = link.ends.iter().position(|end| *end == at) {
                    frontier.push(link.ends[1 - place]);
                }
            }
        }
        let stops = flow.proxies.iter().map(|proxy| proxy.node).chain([flow.to]);
        if let Some(lost) = stops.into_iter().find(|stop| !reached[*stop]) {
            let (from, to) = (&file.nodes[flow.from], &file.nodes[lost]);
            let message = format!("no links lead from `{from}` to `{to}`");
            return problem(&["flows", &flow.name], message);
        }
    }
    Ok(())
}
