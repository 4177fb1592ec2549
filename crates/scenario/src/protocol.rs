//! The protocol of a flow, from its tables.

use std::sync::Arc;

use bentpipe_sim::Protocol;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::build::Problem;
use crate::file::FlowTable;
use crate::settings::TableError;

/// What runs at both ends of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ProtocolName {
    /// The extended Satellite Transport Protocol, set by the tables `xstp` and `receiver`.
    #[default]
    Xstp,
    /// TCP, set by the table `tcp`.
    Tcp,
    /// The Stream Control Transmission Protocol, set by the tables `sctp` and `sctp_receiver`.
    Sctp,
    /// Datagrams, which nobody acknowledges; each packet of `traffic` is one.
    Udp,
}

/// What runs at the ends of the flow `name`; `more_paths` are the nodes of its further paths.
pub(crate) fn build(
    name: &str,
    table: &FlowTable,
    more_paths: Vec<[usize; 2]>,
) -> Result<Protocol, Problem> {
    if table.protocol != ProtocolName::Sctp && !more_paths.is_empty() {
        let path = ["flows", name, "more_paths"].map(str::to_owned).into();
        let message = "only `protocol = \"sctp\"` has more than one path".to_owned();
        return Err(Problem { path, message });
    }
    match table.protocol {
        ProtocolName::Xstp => {
            let own = table.receiver.as_ref();
            let sender = at(name, "xstp", table.xstp.config(None))?;
            let receiver = match own {
                Some(_) => at(name, "receiver", table.xstp.config(own))?,
                None => sender.clone(),
            };
            Ok(Protocol::Xstp { sender, receiver })
        }
        ProtocolName::Tcp => {
            let own = table.tcp.receiver.as_deref();
            let sender = at(name, "tcp", table.tcp.config(None))?;
            let receiver = match own {
                Some(_) => at(name, "tcp.receiver", table.tcp.config(own))?,
                None => sender.clone(),
            };
            Ok(Protocol::Tcp { sender, receiver })
        }
        ProtocolName::Sctp => {
            let own = table.sctp_receiver.as_ref();
            let sender = at(name, "sctp", table.sctp.config(None))?;
            let receiver = match own {
                Some(_) => at(name, "sctp_receiver", table.sctp.config(own))?,
                None => sender.clone(),
            };
            Ok(Protocol::Sctp { sender, receiver, more_paths })
        }
        ProtocolName::Udp => Ok(Protocol::Udp),
    }
}

/// The settings of one end, or what is wrong with them in the table `at` of the flow.
fn at<C>(flow: &str, table: &str, config: Result<C, TableError>) -> Result<Arc<C>, Problem> {
    config.map(Arc::new).map_err(|error| {
        let keys = table.split('.').chain(error.key.split('.'));
        let path = ["flows", flow].into_iter().chain(keys).map(str::to_owned).collect();
        Problem { path, message: error.problem }
    })
}
