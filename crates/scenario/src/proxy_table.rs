//! Proxies that split flows, and what lets their connections send, as tables of a scenario file.

use std::sync::Arc;

use bentpipe_cc::Registry;
use bentpipe_pep::scheduler::Turns;
use bentpipe_pep::split;
use bentpipe_sim::{Protocol, ProxySpec, SchedulerSpec, Sharing};
use bentpipe_transport::{sctp, tcp, xstp};
use bentpipe_units::{BitRate, ByteCount};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::ScenarioFile;
use crate::build::{Problem, node, problem};
use crate::error::did_you_mean;
use crate::file::FlowTable;
use crate::protocol::{self, Leg, Patience, ProtocolName};
use crate::quantity::Quantity;
use crate::sctp_table::SctpTable;
use crate::tcp_table::TcpTable;
use crate::xstp_table::XstpTable;

/// A proxy that ends connections and opens others that lead on. Flows that pass it name it in
/// `through`; each of them has connections of its own in it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProxyTable {
    /// Node where it stands.
    pub node: String,
    /// Bytes that it holds for each connection and direction, not acknowledged ones included; the
    /// buffers of its own ends of the two legs if left out.
    pub buffer: Option<Quantity<ByteCount>>,
    /// Room that one acknowledgement makes is told to the other leg in steps of a segment.
    #[serde(default)]
    pub paced: bool,
    /// Acknowledges to the sender what the leg behind it has acknowledged and so many bytes more, if the
    /// leg before it is TCP; left out, everything is acknowledged that has come.
    pub spoof_window: Option<Quantity<ByteCount>>,
    /// Name of the scheduler that lets the leg behind it send; without one it sends when it may.
    pub scheduler: Option<String>,
    /// What runs on the leg behind it, towards the receiver.
    #[serde(default)]
    pub protocol: ProtocolName,
    /// Settings of XSTP at both ends of that leg.
    #[serde(default)]
    pub xstp: XstpTable,
    /// Settings of XSTP at its receiving end where they differ.
    pub receiver: Option<XstpTable>,
    /// Settings of TCP at both ends of that leg.
    #[serde(default)]
    pub tcp: TcpTable,
    /// Settings of SCTP at both ends of that leg.
    #[serde(default)]
    pub sctp: SctpTable,
    /// Settings of SCTP at its receiving end where they differ.
    pub sctp_receiver: Option<SctpTable>,
}

/// What lets several connections of proxies send in turn, at one rate.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SchedulerTable {
    /// Rate of packets, all headers included.
    pub rate: Quantity<BitRate>,
    /// In what order, or by windows.
    #[serde(default)]
    pub turns: TurnsName,
    /// Size of segments, for windows.
    pub segment: Option<Quantity<ByteCount>>,
}

/// In what order connections send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TurnsName {
    /// One segment each, in turn.
    #[default]
    RoundRobin,
    /// Shares in proportion to the weights of flows.
    Weighted,
    /// No turns: windows that follow the use of the line (SaTPEP). The legs must be TCP.
    Satpep,
}

/// Size of segments where a scheduler does not say.
const SEGMENT: ByteCount = ByteCount::new(1460);

/// The schedulers of a scenario, in their order.
pub(crate) fn schedulers(file: &ScenarioFile) -> Result<Vec<SchedulerSpec>, Problem> {
    let build = |(name, table): (&String, &SchedulerTable)| {
        Ok(SchedulerSpec {
            name: name.clone(),
            rate: table.rate.0,
            sharing: match table.turns {
                TurnsName::RoundRobin => Sharing::Turns(Turns::RoundRobin),
                TurnsName::Weighted => Sharing::Turns(Turns::Weighted),
                TurnsName::Satpep => Sharing::Windows(table.segment.map_or(SEGMENT, |s| s.0)),
            },
        })
    };
    file.schedulers.iter().map(build).collect()
}

/// The proxies of a flow, and the protocol of its first leg with the buffer of the first proxy.
pub(crate) fn split(
    file: &ScenarioFile,
    flow: &str,
    table: &FlowTable,
    ends: [usize; 2],
    mut first: Protocol,
    controllers: &Registry,
) -> Result<(Protocol, Vec<ProxySpec>), Problem> {
    check(flow, table)?;
    let mut proxies: Vec<ProxySpec> = Vec::new();
    let mut buffers = Vec::new();
    for (number, name) in table.through.iter().enumerate() {
        let index = number.to_string();
        let at = ["flows", flow, "through", &index];
        let Some(proxy) = file.proxies.get(name) else {
            let hint = did_you_mean(name, file.proxies.keys().map(String::as_str));
            return problem(&at, format!("there is no proxy `{name}`{hint}"));
        };
        let stands = node(file, &["proxies", name, "node"], &proxy.node)?;
        if proxy.protocol == ProtocolName::Udp {
            let message = "a proxy carries bytes on by a connection, and datagrams have none";
            return problem(&["proxies", name, "protocol"], message);
        }
        if ends.contains(&stands) || proxies.iter().any(|other| other.node == stands) {
            let message = format!("`{name}` stands at `{}`, where the flow is already", proxy.node);
            return problem(&at, message);
        }
        buffers.push(table.buffers.get(number).or(proxy.buffer.as_ref()).map(|buffer| buffer.0));
        proxies.push(ProxySpec {
            name: name.clone(),
            node: stands,
            protocol: protocol::build(&leg(file, name, proxy, controllers), Vec::new())?,
            relay: split::Config {
                paced: proxy.paced,
                spoof_window: proxy.spoof_window.map(|window| window.0),
            },
            scheduler: scheduler(file, name, proxy)?.map(|line| (line, table.weight.unwrap_or(1))),
        });
    }
    let wrong = |number: usize, message: String| {
        let name = &table.through[number];
        match table.buffers.get(number) {
            Some(_) => problem(&["flows", flow, "buffers", &number.to_string()], message),
            None => problem(&["proxies", name, "buffer"], message),
        }
    };
    for number in 0..=proxies.len() {
        let near = number.checked_sub(1).and_then(|before| Some((before, buffers[before]?)));
        let far = buffers.get(number).and_then(|buffer| Some((number, (*buffer)?)));
        let leg = match number.checked_sub(1) {
            None => &mut first,
            Some(before) => &mut proxies[before].protocol,
        };
        let defers = table.through.get(number).filter(|name| defers(file, name));
        if let Some(name) = defers
            && !matches!(leg, Protocol::Tcp { .. })
        {
            let message = "only TCP before the proxy can wait with acknowledgements";
            return problem(&["proxies", name, "spoof_window"], message);
        }
        if let Some(name) = defers
            && matches!(leg, Protocol::Tcp { sender, .. } if sender.release_reported)
        {
            let message = "the leg before the proxy frees what is reported (`release_reported`), before \
                           it is acknowledged";
            return problem(&["proxies", name, "spoof_window"], message);
        }
        for (sends, found) in [(true, near), (false, far)] {
            if let Some((proxy, buffer)) = found {
                set_buffer(leg, sends, buffer).or_else(|message| wrong(proxy, message))?;
            }
        }
    }
    Ok((first, proxies))
}

/// The proxy of this name waits for the acknowledgements of the leg behind it.
fn defers(file: &ScenarioFile, name: &str) -> bool {
    file.proxies.get(name).is_some_and(|proxy| proxy.spoof_window.is_some())
}

fn check(flow: &str, table: &FlowTable) -> Result<(), Problem> {
    if table.protocol == ProtocolName::Udp && !table.through.is_empty() {
        let message = "proxies split connections, and datagrams have none";
        return problem(&["flows", flow, "through"], message);
    }
    if !table.through.is_empty() && !table.more_paths.is_empty() {
        let message =
            "an association with several paths can not be split by proxies on one of them";
        return problem(&["flows", flow, "through"], message);
    }
    if table.buffers.len() > table.through.len() {
        let message = format!(
            "{} buffers for {} proxies: `through` names the proxies",
            table.buffers.len(),
            table.through.len()
        );
        return problem(&["flows", flow, "buffers"], message);
    }
    if table.weight == Some(0) {
        return problem(&["flows", flow, "weight"], "0: it must be 1 or more");
    }
    Ok(())
}

fn leg<'a>(
    file: &ScenarioFile,
    name: &'a str,
    proxy: &'a ProxyTable,
    controllers: &'a Registry,
) -> Leg<'a> {
    Leg {
        path: ["proxies", name],
        protocol: proxy.protocol,
        xstp: &proxy.xstp,
        receiver: proxy.receiver.as_ref(),
        tcp: &proxy.tcp,
        sctp: &proxy.sctp,
        sctp_receiver: proxy.sctp_receiver.as_ref(),
        patience: Patience::of(file),
        controllers,
    }
}

fn scheduler(
    file: &ScenarioFile,
    proxy: &str,
    table: &ProxyTable,
) -> Result<Option<usize>, Problem> {
    let Some(name) = &table.scheduler else { return Ok(None) };
    match file.schedulers.get_index_of(name) {
        Some(index) => {
            let windows = file.schedulers[index].turns == TurnsName::Satpep;
            if windows && table.protocol != ProtocolName::Tcp {
                let message = "only TCP takes the windows of `satpep`";
                return problem(&["proxies", proxy, "scheduler"], message);
            }
            Ok(Some(index))
        }
        None => {
            let hint = did_you_mean(name, file.schedulers.keys().map(String::as_str));
            let message = format!("there is no scheduler `{name}`{hint}");
            problem(&["proxies", proxy, "scheduler"], message)
        }
    }
}

/// Gives the sending or the receiving end of a leg, which belongs to a proxy, its buffer for both
/// directions.
fn set_buffer(leg: &mut Protocol, sends: bool, buffer: ByteCount) -> Result<(), String> {
    macro_rules! set {
        ($sender:ident, $receiver:ident, $room:expr) => {{
            let config = Arc::make_mut(if sends { $sender } else { $receiver });
            (config.snd_buf, config.rcv_buf) = (buffer, buffer);
            config.rcv_buf = $room(&*config);
            config.validate().map_err(|error| error.to_string())
        }};
    }
    match leg {
        Protocol::Xstp { sender, receiver } => set!(sender, receiver, |_: &xstp::Config| buffer),
        // A window may be stated too large by less than its unit.
        Protocol::Tcp { sender, receiver } => set!(sender, receiver, |config: &tcp::Config| {
            ByteCount::new((buffer.get() + 1).saturating_sub(config.window_unit()))
        }),
        Protocol::Sctp { sender, receiver, .. } => {
            set!(sender, receiver, |_: &sctp::Config| buffer)
        }
        Protocol::Udp => Ok(()),
    }
}
