//! The proxies of a flow, and what lets their connections send.

use std::sync::Arc;

use bentpipe_cc::Registry;
use bentpipe_pep::scheduler::Discipline;
use bentpipe_pep::split;
use bentpipe_sim::{Protocol, ProxySpec, SchedulerSpec, Sharing};
use bentpipe_transport::{sctp, tcp, xstp};
use bentpipe_units::ByteCount;

use super::node;
use super::protocol::{self, IdleTimeout, Leg};
use crate::error::did_you_mean;
use crate::problem::{Problem, problem};
use crate::schema::file::ScenarioFile;
use crate::schema::flow::FlowTable;
use crate::schema::protocol::ProtocolName;
use crate::schema::proxy::{DisciplineName, ProxyTable, SchedulerTable};

/// Size of segments where a scheduler does not say.
const SEGMENT: ByteCount = ByteCount::new(1460);

/// The least memory that connections may share, and the largest threshold.
const LEAST_POOL: ByteCount = ByteCount::new(10_000);
const MOST_THRESHOLD: f64 = 1000.0;

/// The schedulers of a scenario, in their order.
pub(crate) fn schedulers(file: &ScenarioFile) -> Result<Vec<SchedulerSpec>, Problem> {
    let build = |(name, table): (&String, &SchedulerTable)| {
        Ok(SchedulerSpec {
            name: name.clone(),
            rate: table.rate.0,
            sharing: match table.discipline {
                DisciplineName::RoundRobin => Sharing::Turns(Discipline::RoundRobin),
                DisciplineName::Weighted => Sharing::Turns(Discipline::Weighted),
                DisciplineName::Satpep => Sharing::Windows(table.segment.map_or(SEGMENT, |s| s.0)),
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
        let pool = pool(name, proxy)?;
        let own = table.buffers.get(number).or(proxy.buffer.as_ref()).map(|buffer| buffer.0);
        let buffer = own.or(pool.map(|pool| pool.size));
        buffers.push(buffer);
        proxies.push(ProxySpec {
            name: name.clone(),
            node: stands,
            protocol: protocol::build(&leg(file, name, proxy, controllers), Vec::new())?,
            relay: split::Config {
                paced: proxy.paced,
                spoof_window: proxy.spoof_window.map(|window| window.0),
                buffer,
            },
            pool,
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
    let pooled: Vec<bool> = proxies.iter().map(|proxy| proxy.pool.is_some()).collect();
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
                // The proxy gives parts of all of it from the start on.
                if !sends
                    && pooled[proxy]
                    && let Protocol::Tcp { receiver, .. } = &mut *leg
                {
                    Arc::make_mut(receiver).rcv_buf_initial = None;
                }
            }
        }
    }
    Ok((first, proxies))
}

/// The memory that the connections of a proxy share.
fn pool(name: &str, proxy: &ProxyTable) -> Result<Option<split::Pool>, Problem> {
    let wrong = |key, message: &str| problem(&["proxies", name, key], message);
    match (proxy.pool.as_ref(), proxy.threshold) {
        (Some(size), _) if size.0 < LEAST_POOL => wrong("pool", "it is at least 10 kB"),
        (_, Some(threshold)) if !(threshold > 0.0 && threshold <= MOST_THRESHOLD) => {
            wrong("threshold", "it is above 0, and 1000 at most")
        }
        (None, Some(_)) => wrong("threshold", "it is of the free bytes of a `pool`"),
        (None, None) => Ok(None),
        (Some(size), threshold) => {
            Ok(Some(split::Pool { size: size.0, threshold: threshold.unwrap_or(1.0) }))
        }
    }
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
    if matches!(table.protocol, ProtocolName::Bentpipe | ProtocolName::BentpipeRate)
        && !table.through.is_empty()
    {
        let message = "proxies split TCP, XSTP and SCTP; the product's connections are encrypted";
        return problem(&["flows", flow, "through"], message);
    }
    if !table.through.is_empty() && !table.more_paths.is_empty() {
        let message = "an association with several paths cannot be split by proxies on one of them";
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
        idle_timeout: IdleTimeout::of(file),
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
            let windows = file.schedulers[index].discipline == DisciplineName::Satpep;
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
        // They are never behind a proxy.
        Protocol::Udp | Protocol::Bentpipe { .. } => Ok(()),
    }
}
