//! The flows of a run.

use bentpipe_sim::{FlowSpec, LinkSpec, SourceSpec};
use bentpipe_units::{ByteCount, Instant, Span};

use super::protocol::{self, Leg};
use super::{address_changes, bentpipe, node, proxies};
use crate::Extensions;
use crate::problem::{Problem, problem};
use crate::schema::file::ScenarioFile;
use crate::schema::flow::{FlowTable, PathTable, PriorityName};
use crate::schema::protocol::ProtocolName;
use crate::schema::traffic::TrafficTable;

/// Size of a write when a flow does not say.
const CHUNK: ByteCount = ByteCount::new(1000);

/// A flow.
pub(super) fn flow(
    file: &ScenarioFile,
    name: &str,
    table: &FlowTable,
    links: &[LinkSpec],
    extensions: &Extensions,
) -> Result<FlowSpec, Problem> {
    let from = node(file, &["flows", name, "from"], &table.from)?;
    let to = node(file, &["flows", name, "to"], &table.to)?;
    if from == to {
        return problem(&["flows", name, "to"], format!("`{}` cannot send to itself", table.to));
    }
    let chunk = table.chunk.map_or(CHUNK, |c| c.0);
    if chunk == ByteCount::ZERO || chunk.get() > u64::from(u16::MAX) {
        return problem(&["flows", name, "chunk"], format!("{chunk}: it must lie in 1..=65535 B"));
    }
    if table.size.is_some_and(|size| size.0 == ByteCount::ZERO) {
        return problem(&["flows", name, "size"], "0 B: leave the key out to send without end");
    }
    let message_header = table.message_header.map_or(ByteCount::ZERO, |header| header.0);
    if message_header >= chunk {
        let message = format!("{message_header}: it must be less than `chunk`, {chunk}");
        return problem(&["flows", name, "message_header"], message);
    }
    let traffic = table.traffic.as_ref().map(|traffic| traffic.spec(name)).transpose()?;
    if table.request.is_some_and(|request| !(1..=65_535).contains(&request.0.get())) {
        return problem(&["flows", name, "request"], "it must lie in 1..=65535 B");
    }
    let given = [
        ("size", table.size.is_some()),
        ("rate", table.rate.is_some()),
        ("request", table.request.is_some()),
        ("message_header", table.message_header.is_some()),
    ];
    for (key, given) in given {
        if traffic.is_some() && given {
            let message = format!("`{key}` is for one file and has no meaning with `traffic`");
            return problem(&["flows", name, key], message);
        }
    }
    if traffic.as_ref().is_some_and(|traffic| !traffic.ends()) && file.duration.is_none() {
        let message = "without `count` the traffic never ends: the scenario needs a `duration`";
        return problem(&["flows", name, "traffic"], message);
    }
    if table.size.is_none() && traffic.is_none() && file.duration.is_none() {
        let message = "without `size` the flow never ends: the scenario needs a `duration`";
        return problem(&["flows", name], message);
    }
    let timed =
        matches!(table.traffic, Some(TrafficTable::Cbr { .. } | TrafficTable::OnOff { .. }));
    if table.protocol == ProtocolName::Udp && !timed {
        let message = "datagrams need a `traffic` of the kind \"cbr\" or \"on-off\"";
        return problem(&["flows", name, "traffic"], message);
    }
    let leg = Leg::of_flow(file, name, table, extensions.controllers());
    let more_paths = more_paths(file, name, table)?;
    let protocol = match table.protocol {
        ProtocolName::Bentpipe | ProtocolName::BentpipeRate if more_paths.is_empty() => {
            bentpipe::build(file, name, table, links, [from, to])?
        }
        _ => protocol::build(&leg, more_paths)?,
    };
    let protocol = address_changes::add(file, name, table, [from, to], protocol)?;
    let (protocol, proxies) =
        proxies::split(file, name, table, [from, to], protocol, extensions.controllers())?;
    Ok(FlowSpec {
        name: name.to_owned(),
        from,
        to,
        protocol,
        proxies,
        gateways: None,
        source: SourceSpec {
            start: Instant::ZERO + table.start.map_or(Span::ZERO, |s| s.0),
            size: table.size.map(|s| s.0),
            chunk,
            message_header,
            rate: table.rate.map(|r| r.0),
        },
        traffic,
        request: table.request.map(|request| request.0),
        low_priority: table.priority == PriorityName::Low,
    })
}

/// The nodes of the further paths of a flow.
fn more_paths(
    file: &ScenarioFile,
    flow: &str,
    table: &FlowTable,
) -> Result<Vec<[usize; 2]>, Problem> {
    let path = |(number, path): (usize, &PathTable)| {
        let number = number.to_string();
        let at = |key| ["flows", flow, "more_paths", &number, key];
        Ok([node(file, &at("from"), &path.from)?, node(file, &at("to"), &path.to)?])
    };
    table.more_paths.iter().enumerate().map(path).collect()
}
