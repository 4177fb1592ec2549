//! The traffic of a flow, where it is no single file.

use bentpipe_sim::{Connections, Draw, TrafficSpec, WebSpec};
use bentpipe_units::{ByteCount, Span};

use crate::problem::{Problem, problem};
use crate::schema::draw::{Amount, DrawTable};
use crate::schema::quantity::Quantity;
use crate::schema::traffic::{ConnectionsName, TrafficTable};

/// Most connections of one flow at the same time: each has ports of its own.
const MOST_CONNECTIONS: u32 = 4096;

/// A random amount of a key, or what is used without it.
fn draw<T: Amount>(
    flow: &str,
    key: &str,
    table: Option<&DrawTable<T>>,
    default: Draw,
) -> Result<Draw, Problem> {
    let Some(table) = table else { return Ok(default) };
    table.draw().or_else(|(part, message)| problem(&["flows", flow, "traffic", key, part], message))
}

fn above_zero(flow: &str, key: &str, is_zero: bool) -> Result<(), Problem> {
    if is_zero {
        return problem(&["flows", flow, "traffic", key], "it must be above zero");
    }
    Ok(())
}

impl TrafficTable {
    /// The traffic of a flow.
    pub(crate) fn spec(&self, flow: &str) -> Result<TrafficSpec, Problem> {
        let half_a_second = Draw::Exponential(0.5);
        match self {
            Self::Cbr { packet, interval, jitter, count } => {
                timed(flow, packet, interval)?;
                Ok(TrafficSpec::Constant {
                    packet: packet.0,
                    interval: interval.0,
                    jitter: jitter.map_or(0.0, |share| share.0),
                    count: *count,
                })
            }
            Self::OnOff { packet, interval, on, off, count } => {
                timed(flow, packet, interval)?;
                Ok(TrafficSpec::OnOff {
                    packet: packet.0,
                    interval: interval.0,
                    on: draw(flow, "on", on.as_ref(), half_a_second)?,
                    off: draw(flow, "off", off.as_ref(), half_a_second)?,
                    count: *count,
                })
            }
            Self::Files { size, pause, count } => {
                above_zero(flow, "size", size.0 == ByteCount::ZERO)?;
                let pause = draw(flow, "pause", pause.as_ref(), Draw::Constant(0.0))?;
                Ok(TrafficSpec::Files { size: size.0, pause, count: *count })
            }
            Self::Web {
                sessions,
                session_gap,
                pages,
                objects,
                inter_page,
                start_to_start,
                inter_object,
                object,
                connections,
                most,
            } => {
                let sessions = connections_of(flow, "sessions", sessions.unwrap_or(1))?;
                let limit = connections_of(flow, "most", most.unwrap_or(32))?;
                let connections = match connections {
                    Some(ConnectionsName::Persistent) if most.is_some() => {
                        let message = "every user has one connection: `most` needs `per-object`";
                        return problem(&["flows", flow, "traffic", "most"], message);
                    }
                    Some(ConnectionsName::Persistent) => Connections::Persistent,
                    Some(ConnectionsName::PerObject) | None => Connections::PerObject(limit),
                };
                let (second, hundredth) = (Draw::Exponential(1.0), Draw::Exponential(0.01));
                Ok(TrafficSpec::Web(WebSpec {
                    sessions,
                    session_gap: session_gap.map_or(Span::ZERO, |gap| gap.0),
                    pages: pages.unwrap_or(10),
                    objects: draw(flow, "objects", objects.as_ref(), Draw::Constant(1.0))?,
                    inter_page: draw(flow, "inter_page", inter_page.as_ref(), second)?,
                    start_to_start: start_to_start.unwrap_or(false),
                    inter_object: draw(flow, "inter_object", inter_object.as_ref(), hundredth)?,
                    object: draw(flow, "object", object.as_ref(), Draw::Lomax(12_000.0, 1.2))?,
                    connections,
                }))
            }
        }
    }
}

fn timed(
    flow: &str,
    packet: &Quantity<ByteCount>,
    interval: &Quantity<Span>,
) -> Result<(), Problem> {
    above_zero(flow, "packet", packet.0 == ByteCount::ZERO)?;
    above_zero(flow, "interval", interval.0.is_zero())
}

fn connections_of(flow: &str, key: &str, count: u32) -> Result<u32, Problem> {
    if (1..=MOST_CONNECTIONS).contains(&count) {
        return Ok(count);
    }
    let message = format!("{count}: it must lie in 1..={MOST_CONNECTIONS}");
    problem(&["flows", flow, "traffic", key], message)
}
