//! The table of gateways in a scenario file.

use bentpipe_units::{BitRate, ByteCount, Span};
use schemars::JsonSchema;
use serde::Deserialize;

use super::bentpipe::FecValue;
use super::quantity::Quantity;

/// Two gateways: they carry the flows of TCP that pass both of them. A gateway whose node is the end of such a flow gets a
/// host beside it, which is the flow's end then.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GatewaysTable {
    /// The one on the side of those who open connections.
    pub terminal: GatewayTable,
    /// The one that connects to where they want to get.
    pub hub: GatewayTable,
    /// Congestion controller of the window that all flows share while nobody knows a rate, as in the gateway's configuration.
    pub controller: Option<String>,
    /// Parity: "auto", "off", or a ratio to all that is sent.
    pub fec: Option<FecValue>,
    /// The terminal answers before the hub has connected [default: true], as in the gateway's configuration.
    pub early_accept: Option<bool>,
    /// Most bytes of a flow that wait at either gateway.
    pub buffer: Option<Quantity<ByteCount>>,
    /// The gateways are there so long before the flows: what the flows say of their start is counted from then on.
    /// [default: 5 s]
    pub up_before: Option<Quantity<Span>>,
}

/// A gateway.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GatewayTable {
    /// The node where it stands.
    pub node: String,
    /// The rate at which it sends to the other one over a link that nobody shares; without one it finds out. Both say one, or
    /// none.
    pub rate: Option<Quantity<BitRate>>,
}
