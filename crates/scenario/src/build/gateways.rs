//! The gateways of a run, and the flows that they carry.

use std::borrow::Cow;

use bentpipe_association::{Fec, Tuning};
use bentpipe_link::Direction;
use bentpipe_sim::{FlowSpec, GatewaySpec, GatewaysSpec, LinkSpec, Protocol, passed};
use bentpipe_units::Span;

use super::node;
use super::settings::unfit;
use crate::Extensions;
use crate::problem::{Problem, problem};
use crate::schema::bentpipe::FecValue;
use crate::schema::file::ScenarioFile;
use crate::schema::gateway::GatewaysTable;
use crate::schema::link::LinkTable;
use crate::schema::protocol::ProtocolName;
use crate::schema::quantity::Quantity;

/// Delay of the cable between a gateway and the host that it was given.
const CABLE: Span = Span::from_micros(100);
/// Time for gateways to find each other.
const UP_BEFORE: Span = Span::from_secs(5);

/// The file with a host beside each gateway that would be the end of a flow of TCP.
pub(super) fn with_hosts(file: &ScenarioFile) -> Result<Cow<'_, ScenarioFile>, Problem> {
    let Some(table) = &file.gateway else { return Ok(Cow::Borrowed(file)) };
    let mut with = file.clone();
    for gateway in [&table.terminal.node, &table.hub.node] {
        let host = format!("{gateway}-host");
        let mut is_end = false;
        for flow in with.flows.values_mut().filter(|flow| flow.protocol == ProtocolName::Tcp) {
            for end in [&mut flow.from, &mut flow.to] {
                if end == gateway {
                    end.clone_from(&host);
                    is_end = true;
                }
            }
        }
        if !is_end {
            continue;
        }
        if file.constellation.is_some() {
            let message = format!(
                "`{gateway}` is the end of a flow: with a constellation hosts are stations `beside` the gateway's"
            );
            return problem(&["gateway"], message);
        }
        with.nodes.push(host.clone());
        let between = [gateway.clone(), host];
        let cable = LinkTable { between, delay: Some(Quantity(CABLE)), ..LinkTable::default() };
        with.links.insert(format!("{gateway}-lan"), cable);
    }
    let up_before = table.up_before.map_or(UP_BEFORE, |span| span.0);
    for flow in with.flows.values_mut() {
        let start = flow.start.map_or(Span::ZERO, |start| start.0);
        flow.start = Some(Quantity(start + up_before));
    }
    Ok(Cow::Owned(with))
}

/// The gateways, which are told to the flows that they carry.
pub(super) fn gateways(
    file: &ScenarioFile,
    links: &[LinkSpec],
    flows: &mut [FlowSpec],
) -> Result<Option<GatewaysSpec>, Problem> {
    let Some(table) = &file.gateway else { return Ok(None) };
    let spec = spec(file, table)?;
    let both = [spec.terminal.node, spec.hub.node];
    let ends: Vec<_> = links.iter().map(|link| link.ends).collect();
    let mut carries = false;
    for flow in flows {
        if matches!(flow.protocol, Protocol::Bentpipe { .. })
            && [flow.from, flow.to].iter().any(|end| both.contains(end))
        {
            let message = "a gateway stands there; let the flow end at another node";
            return problem(&["flows", &flow.name], message);
        }
        if !matches!(flow.protocol, Protocol::Tcp { .. }) {
            continue;
        }
        let links = |from, to| passed(&ends, file.nodes.len(), [from, to]);
        let passed: Vec<usize> = match file.constellation {
            None => links(flow.from, flow.to)
                .iter()
                .map(|(link, direction)| ends[*link][usize::from(*direction == Direction::Forward)])
                .filter(|node| both.contains(node))
                .collect(),
            // Cables lead to the gateways, and satellites from one to the other.
            Some(_) => {
                let orders = [both, [both[1], both[0]]].into_iter();
                let mut joined = orders.filter(|[first, last]| {
                    !links(flow.from, *first).is_empty() && !links(*last, flow.to).is_empty()
                });
                joined.next().map(Vec::from).unwrap_or_default()
            }
        };
        let [first, last] = passed[..] else { continue };
        if !flow.proxies.is_empty() {
            let message = "gateways and proxies cannot both carry it";
            return problem(&["flows", &flow.name, "through"], message);
        }
        let opens = if flow.request.is_some() { last } else { first };
        if opens != spec.terminal.node {
            let message = "it is opened on the side of the hub, and connects to nothing behind a terminal: exchange \
                           the nodes of the gateways, or let the receiver ask with `request`";
            return problem(&["flows", &flow.name], message);
        }
        flow.gateways = Some([first, last]);
        carries = true;
    }
    if !carries {
        return problem(&["gateway"], "no flow of TCP passes both gateways");
    }
    Ok(Some(spec))
}

fn spec(file: &ScenarioFile, table: &GatewaysTable) -> Result<GatewaysSpec, Problem> {
    let at = |role: &str, table: &crate::schema::gateway::GatewayTable| {
        let node = node(file, &["gateway", role, "node"], &table.node)?;
        Ok(GatewaySpec { node, rate: table.rate.map(|rate| rate.0) })
    };
    let (terminal, hub) = (at("terminal", &table.terminal)?, at("hub", &table.hub)?);
    if terminal.node == hub.node {
        return problem(&["gateway", "hub", "node"], "the terminal stands there");
    }
    if terminal.rate.is_some() != hub.rate.is_some() {
        let message = "both gateways know the rate at which they send, or none does";
        return problem(&["gateway"], message);
    }
    let Some(fec) = table.fec.map_or(Some(Fec::Auto), FecValue::fec) else {
        return problem(&["gateway", "fec"], "it is \"auto\", \"off\" or a ratio from 0 to 1");
    };
    let controller = table.controller.clone();
    if controller.is_some() && hub.rate.is_some() {
        let message = "gateways that know a rate have no congestion controller";
        return problem(&["gateway", "controller"], message);
    }
    let tuning = Tuning { controller, ..Tuning::default() };
    if let Err(error) = tuning.config() {
        return problem(
            &["gateway", "controller"],
            unfit(&error, Extensions::default().controllers()).problem,
        );
    }
    let controller = tuning.controller;
    let buffer = table.buffer.map(|buffer| buffer.0);
    let early_accept = table.early_accept.unwrap_or(true);
    Ok(GatewaysSpec { terminal, hub, controller, fec, early_accept, buffer })
}
