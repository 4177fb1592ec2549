//! The flows of a scenario file.

use bentpipe_units::{BitRate, ByteCount, Span};
use schemars::JsonSchema;
use serde::Deserialize;

use super::bentpipe::BentpipeTable;
use super::protocol::ProtocolName;
use super::quantity::Quantity;
use super::sctp::SctpTable;
use super::tcp::TcpTable;
use super::traffic::TrafficTable;
use super::xstp::XstpTable;

/// A bulk transfer.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowTable {
    /// Node that opens the connection and sends.
    pub from: String,
    /// Node that receives.
    pub to: String,
    /// When the connection is opened.
    pub start: Option<Quantity<Span>>,
    /// Size of the file; without it the flow sends without end.
    pub size: Option<Quantity<ByteCount>>,
    /// Size of each write of the application.
    pub chunk: Option<Quantity<ByteCount>>,
    /// Bytes of each write that are a header of the application's message: they are sent beside `size` and count as no data
    /// (default: 0).
    pub message_header: Option<Quantity<ByteCount>>,
    /// Rate at which the application writes; without it whenever there is room.
    pub rate: Option<Quantity<BitRate>>,
    /// What is sent instead of one file; `size` and `rate` are left out then.
    pub traffic: Option<TrafficTable>,
    /// The receiver opens the connection and asks with so many bytes for the file; without it the sender
    /// opens and sends.
    pub request: Option<Quantity<ByteCount>>,
    /// Which packets a queue that knows classes drops first.
    #[serde(default)]
    pub priority: PriorityName,
    /// Names of the proxies that split it, in the order of the way from the sender.
    #[serde(default)]
    pub through: Vec<String>,
    /// Buffers of these proxies for this flow, instead of their own.
    #[serde(default)]
    pub buffers: Vec<Quantity<ByteCount>>,
    /// Its share at schedulers that know weights (default: 1).
    pub weight: Option<u32>,
    /// What runs at both ends, or at those of the first leg if there are proxies.
    #[serde(default)]
    pub protocol: ProtocolName,
    /// Settings of XSTP at both ends.
    #[serde(default)]
    pub xstp: XstpTable,
    /// Settings of XSTP at the receiving end where they differ.
    pub receiver: Option<XstpTable>,
    /// Settings of TCP at both ends.
    #[serde(default)]
    pub tcp: TcpTable,
    /// Settings of SCTP at both ends.
    #[serde(default)]
    pub sctp: SctpTable,
    /// Settings of SCTP at the receiving end where they differ.
    pub sctp_receiver: Option<SctpTable>,
    /// Settings of the product at both ends.
    #[serde(default)]
    pub bentpipe: BentpipeTable,
    /// Further paths of SCTP between hosts with several addresses.
    #[serde(default)]
    pub more_paths: Vec<PathTable>,
    /// Addresses of SCTP's hosts that come and go while the association is open, in the order of time.
    #[serde(default)]
    pub address_changes: Vec<AddressChangeTable>,
    /// The flow is there so many times, each time between stations of its own like those that it names;
    /// with a constellation only.
    pub copies: Option<u16>,
}

/// A further path of an SCTP flow. A node is one address: a host with two stands there as two nodes,
/// each with links of its own.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PathTable {
    /// The other node of the sending host.
    pub from: String,
    /// The other node of the receiving host.
    pub to: String,
}

/// A host gets or loses an address, and tells its peer (RFC 5061). Both ends need `sctp.asconf`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddressChangeTable {
    /// When.
    pub at: Quantity<Span>,
    /// The node that is an address of the host from now on: one end of one of `more_paths`.
    pub add: Option<String>,
    /// Data go to and from the new address first.
    #[serde(default)]
    pub set_primary: bool,
    /// The node that is no address of the host any more.
    pub delete: Option<String>,
}

/// The class of a flow's packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PriorityName {
    /// The class of everything that says nothing.
    #[default]
    Normal,
    /// Dropped first by queues that know classes.
    Low,
}
