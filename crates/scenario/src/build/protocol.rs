//! The protocol of a flow, from its tables.

use std::sync::Arc;

use bentpipe_cc::Registry;
use bentpipe_sim::Protocol;

use super::settings::TableError;
use crate::problem::{Problem, problem};
use crate::schema::file::ScenarioFile;
use crate::schema::flow::FlowTable;
use crate::schema::protocol::ProtocolName;
use crate::schema::sctp::SctpTable;
use crate::schema::tcp::TcpTable;
use crate::schema::xstp::XstpTable;

/// What a table says of the two ends of a connection.
pub(crate) struct Leg<'a> {
    /// Where the table stands: `flows` or `proxies`, and its name there.
    pub(crate) path: [&'a str; 2],
    pub(crate) protocol: ProtocolName,
    pub(crate) xstp: &'a XstpTable,
    pub(crate) receiver: Option<&'a XstpTable>,
    pub(crate) tcp: &'a TcpTable,
    pub(crate) sctp: &'a SctpTable,
    pub(crate) sctp_receiver: Option<&'a SctpTable>,
    pub(crate) idle_timeout: IdleTimeout,
    /// What `controller` may name.
    pub(crate) controllers: &'a Registry,
}

/// How long ends wait for a peer that is silent (default of their tables).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IdleTimeout {
    /// That of their protocol.
    Protocol,
    /// None: a satellite that has set comes back.
    Endless,
}

impl IdleTimeout {
    /// The idle timeout of the flows of a scenario.
    pub(crate) const fn of(file: &ScenarioFile) -> Self {
        if file.constellation.is_some() { Self::Endless } else { Self::Protocol }
    }
}

impl<'a> Leg<'a> {
    /// The connection that the sender of a flow opens.
    pub(crate) fn of_flow(
        file: &ScenarioFile,
        name: &'a str,
        table: &'a FlowTable,
        controllers: &'a Registry,
    ) -> Self {
        Self {
            path: ["flows", name],
            protocol: table.protocol,
            xstp: &table.xstp,
            receiver: table.receiver.as_ref(),
            tcp: &table.tcp,
            sctp: &table.sctp,
            sctp_receiver: table.sctp_receiver.as_ref(),
            idle_timeout: IdleTimeout::of(file),
            controllers,
        }
    }
}

/// What runs at the ends of a connection; `more_paths` are the nodes of its further paths.
pub(crate) fn build(leg: &Leg<'_>, more_paths: Vec<[usize; 2]>) -> Result<Protocol, Problem> {
    let [kind, name] = leg.path;
    if leg.protocol != ProtocolName::Sctp && !more_paths.is_empty() {
        let message = "only `protocol = \"sctp\"` has more than one path";
        return problem(&[kind, name, "more_paths"], message);
    }
    let (idle_timeout, controllers) = (leg.idle_timeout, leg.controllers);
    match leg.protocol {
        ProtocolName::Xstp => {
            let sender = at(leg, "xstp", leg.xstp.config(None, idle_timeout, controllers))?;
            let receiver = match leg.receiver {
                Some(_) => {
                    at(leg, "receiver", leg.xstp.config(leg.receiver, idle_timeout, controllers))?
                }
                None => sender.clone(),
            };
            Ok(Protocol::Xstp { sender, receiver })
        }
        ProtocolName::Tcp => {
            let own = leg.tcp.receiver.as_deref();
            let sender = at(leg, "tcp", leg.tcp.config(None, idle_timeout, controllers))?;
            let receiver = match own {
                Some(_) => at(leg, "tcp.receiver", leg.tcp.config(own, idle_timeout, controllers))?,
                None => sender.clone(),
            };
            Ok(Protocol::Tcp { sender, receiver })
        }
        ProtocolName::Sctp => {
            let sender = at(leg, "sctp", leg.sctp.config(None, idle_timeout, controllers))?;
            let receiver = match leg.sctp_receiver {
                Some(_) => at(
                    leg,
                    "sctp_receiver",
                    leg.sctp.config(leg.sctp_receiver, idle_timeout, controllers),
                )?,
                None => sender.clone(),
            };
            Ok(Protocol::Sctp { sender, receiver, more_paths, address_changes: Vec::new() })
        }
        ProtocolName::Udp => Ok(Protocol::Udp),
        ProtocolName::Bentpipe | ProtocolName::BentpipeRate => {
            problem(&[kind, name, "protocol"], "it is a protocol of flows from host to host")
        }
    }
}

/// The settings of one end, or what is wrong with them in the table `at` of the connection.
fn at<C>(leg: &Leg<'_>, table: &str, config: Result<C, TableError>) -> Result<Arc<C>, Problem> {
    config.map(Arc::new).map_err(|error| {
        let keys = table.split('.').chain(error.key.split('.'));
        let path = leg.path.into_iter().chain(keys).map(str::to_owned).collect();
        Problem { path, message: error.problem }
    })
}
