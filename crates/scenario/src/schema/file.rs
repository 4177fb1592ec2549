//! The schema of scenario files.

use bentpipe_units::Span;
use indexmap::IndexMap;
use schemars::{JsonSchema, Schema, schema_for};
use serde::Deserialize;

use super::agent::AgentTable;
use super::constellation::ConstellationTable;
use super::flow::FlowTable;
use super::gateway::GatewaysTable;
use super::link::LinkTable;
use super::proxy::{ProxyTable, SchedulerTable};
use super::quantity::Quantity;
use super::radio::RadioTable;
use super::uplink::UplinkTable;

/// A scenario: nodes, links, flows.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScenarioFile {
    /// Name of the scenario.
    pub name: String,
    /// What it shows.
    #[serde(default)]
    pub description: String,
    /// Seed of every random draw, unless the command line gives one.
    #[serde(default = "default_seed")]
    pub seed: u64,
    /// The run ends here at the latest.
    pub duration: Option<Quantity<Span>>,
    /// What carries XSTP on the links; TCP and SCTP are in IPv4 with any of them.
    #[serde(default)]
    pub encapsulation: EncapsulationName,
    /// Time between samples of `run --samples`.
    pub sample_every: Option<Quantity<Span>>,
    /// Names of the nodes; with a constellation its stations are the nodes.
    #[serde(default)]
    pub nodes: Vec<String>,
    /// The links by name; with a constellation they are cables between its stations.
    #[serde(default)]
    pub links: IndexMap<String, LinkTable>,
    /// Uplinks that several links share, by name.
    #[serde(default)]
    pub uplinks: IndexMap<String, UplinkTable>,
    /// Radio channels that the stations at both ends of some links share, by name.
    #[serde(default)]
    pub radios: IndexMap<String, RadioTable>,
    /// What looks at packets on their way, by name.
    #[serde(default)]
    pub agents: IndexMap<String, AgentTable>,
    /// Proxies by name; flows name those that they pass.
    #[serde(default)]
    pub proxies: IndexMap<String, ProxyTable>,
    /// What lets the connections of proxies send in turn, by name.
    #[serde(default)]
    pub schedulers: IndexMap<String, SchedulerTable>,
    /// Gateways that carry flows of TCP.
    pub gateway: Option<GatewaysTable>,
    /// Satellites that carry the flows.
    pub constellation: Option<ConstellationTable>,
    /// The flows by name.
    pub flows: IndexMap<String, FlowTable>,
}

const fn default_seed() -> u64 {
    1
}

/// What carries XSTP on the links. TCP, SCTP and UDP are in IPv4 with any of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EncapsulationName {
    /// Nothing: segments as they are, as in the XSTP paper.
    #[default]
    Qlp,
    /// IPv4: 20 bytes for each packet.
    Ip,
    /// UDP over IPv4: 28 bytes for each packet.
    Udp,
    /// Packet radio, IPv4 with a source route over AX.25 by KISS: 77 bytes for each packet.
    Ax25,
    /// The same, with the header of XSTP compressed to 5 bytes on plain data.
    Ax25Compact,
}

/// The JSON Schema of scenario files.
pub fn schema() -> Schema {
    schema_for!(ScenarioFile)
}
