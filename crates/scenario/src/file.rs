//! The schema of scenario files.

use std::collections::BTreeMap;

use bentpipe_orbit::Degrees;
use bentpipe_units::{BitRate, ByteCount, Span};
use indexmap::IndexMap;
use schemars::{JsonSchema, Schema, schema_for};
use serde::Deserialize;

use crate::agent_table::AgentTable;
use crate::named::Named;
use crate::protocol::ProtocolName;
use crate::proxy_table::{ProxyTable, SchedulerTable};
use crate::quantity::{Probability, Quantity, Room};
use crate::queue_table::QueueTable;
use crate::sctp_table::SctpTable;
use crate::tcp_table::TcpTable;
use crate::traffic_table::TrafficTable;
use crate::uplink_table::UplinkTable;
use crate::xstp_table::XstpTable;

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
    /// What looks at packets on their way, by name.
    #[serde(default)]
    pub agents: IndexMap<String, AgentTable>,
    /// Proxies by name; flows name those that they pass.
    #[serde(default)]
    pub proxies: IndexMap<String, ProxyTable>,
    /// What lets the connections of proxies send in turn, by name.
    #[serde(default)]
    pub schedulers: IndexMap<String, SchedulerTable>,
    /// Satellites that carry the flows.
    pub constellation: Option<SkyTable>,
    /// The flows by name.
    pub flows: IndexMap<String, FlowTable>,
}

const fn default_seed() -> u64 {
    1
}

/// What carries XSTP on the links. TCP, SCTP and UDP are in IPv4 with any of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum EncapsulationName {
    /// Nothing: segments as they are, as in the XSTP paper.
    #[default]
    Qlp,
    /// IPv4: 20 bytes for each packet.
    Ip,
    /// UDP over IPv4: 28 bytes for each packet.
    Udp,
}

/// Satellites that carry the flows, and the stations on the ground.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SkyTable {
    /// A constellation that is known by name, as in `bentpipe orbit`: iridium, starlink, geo:-101, ...
    pub name: Option<String>,
    /// Or a file: shells in TOML, or element sets of real satellites; beside the scenario file.
    pub file: Option<String>,
    /// Satellites are used above this elevation; that of the constellation if left out.
    pub elevation_mask: Option<Quantity<Degrees>>,
    /// When the run of element sets starts, in UTC; at their latest epoch if left out.
    pub start: Option<String>,
    /// Satellites of element sets are linked to so many nearest ones; to none if left out.
    pub nearest: Option<u8>,
    /// Time from one check of the links to the next; 10 s if left out.
    pub check: Option<Quantity<Span>>,
    /// How stations choose satellites: hold if left out, and all for gateways.
    pub policy: Option<PolicyName>,
    /// Links between stations and satellites.
    #[serde(default)]
    pub ground: SkyLinkTable,
    /// Links between satellites.
    #[serde(default)]
    pub isl: SkyLinkTable,
    /// The stations by name: the nodes of the scenario.
    pub stations: IndexMap<String, StationTable>,
}

/// How a station chooses satellites.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PolicyName {
    /// Keeps a satellite while it is above the mask.
    Hold,
    /// Takes the highest one at every check.
    Best,
    /// Takes the highest but one at every check.
    Second,
    /// Uses all that are above the mask.
    All,
}

/// Links to or between satellites; their delay is that of the way.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SkyLinkTable {
    /// Line rate; none sends at once.
    pub rate: Option<Quantity<BitRate>>,
    /// What may wait for the line: drop-tail.
    pub queue: Option<Quantity<Room>>,
    /// Probability that a bit is wrong.
    pub ber: Option<Probability>,
    /// Probability that a packet is lost.
    pub loss: Option<Probability>,
    /// What is different from stations to satellites; of no meaning between satellites.
    pub up: Option<LinkDirection>,
    /// What is different from satellites to stations; of no meaning between satellites.
    pub down: Option<LinkDirection>,
}

/// A station on the ground.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StationTable {
    /// A city that is known, or latitude and longitude in degrees such as "37.9,-122.3"; the name of the
    /// station if left out. "anywhere" is drawn anew with every seed.
    pub place: Option<String>,
    /// The southernmost and the northernmost latitude of "anywhere"; -60 deg and 60 deg if left out.
    pub latitudes: Option<[Quantity<Degrees>; 2]>,
    /// It stands where this other station does, which has a place of its own.
    pub beside: Option<String>,
    /// Traffic of others passes through it.
    #[serde(default)]
    pub gateway: bool,
    /// How it chooses satellites, if not as the others.
    pub policy: Option<PolicyName>,
    /// How many satellites of each shell it uses at a time; 1 if left out.
    pub links: Option<u8>,
    /// Names of the shells whose satellites it uses; all if left out.
    #[serde(default)]
    pub shells: Vec<String>,
    /// Links between it and satellites, where they differ from those of the others.
    pub ground: Option<SkyLinkTable>,
}

/// A link between two nodes. A packet meets the models in the order of the keys below; for another
/// order put several links in a row.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkTable {
    /// The two nodes.
    pub between: [String; 2],
    /// The longest packet that it carries, encapsulation included; none carries all. Not with a constellation.
    pub mtu: Option<Quantity<ByteCount>>,
    /// The router before it tells the sender of a packet that was too long; true if left out.
    pub icmp: Option<bool>,
    /// Line rate; none sends at once.
    pub rate: Option<Quantity<BitRate>>,
    /// What may wait for the line, drop-tail; or a discipline.
    pub queue: Option<Named<QueueTable>>,
    /// Times at which the line has another rate, in their order; with a drop-tail queue, and without agents.
    #[serde(default)]
    pub fades: Vec<FadeTable>,
    /// Probability that a bit is wrong.
    pub ber: Option<Probability>,
    /// Probability that a packet is lost.
    pub loss: Option<Probability>,
    /// Losses in bursts; each direction has a channel of its own.
    pub gilbert_elliott: Option<GilbertElliottTable>,
    /// Times at which the link is down, both ways.
    #[serde(default)]
    pub blackouts: Vec<BlackoutTable>,
    /// Times at which the link is down again and again, both ways.
    pub blackout_every: Option<PeriodicBlackoutTable>,
    /// Hosts beside it learn at once when it goes down and when it is up again. Not with a constellation.
    #[serde(default)]
    pub link_state: bool,
    /// Drops or delays of chosen packets. Each direction counts its own packets.
    #[serde(default)]
    pub script: Vec<RuleTable>,
    /// Propagation delay, one way.
    pub delay: Option<Quantity<Span>>,
    /// The paper's channel of two states.
    pub xdeldrop: Option<XDelDropTable>,
    /// Models of the program that reads the file, which brings them.
    #[serde(default)]
    pub custom: Vec<CustomTable>,
    /// What is different from the first node to the second.
    pub forth: Option<LinkDirection>,
    /// What is different from the second node to the first.
    pub back: Option<LinkDirection>,
}

/// What differs in one direction of a link.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkDirection {
    /// Line rate.
    pub rate: Option<Quantity<BitRate>>,
    /// What may wait for the line; or a discipline.
    pub queue: Option<Named<QueueTable>>,
    /// Times at which the line has another rate.
    pub fades: Option<Vec<FadeTable>>,
    /// Probability that a bit is wrong.
    pub ber: Option<Probability>,
    /// Probability that a packet is lost.
    pub loss: Option<Probability>,
    /// Losses in bursts.
    pub gilbert_elliott: Option<GilbertElliottTable>,
    /// Drops or delays of chosen packets.
    pub script: Option<Vec<RuleTable>>,
    /// Propagation delay.
    pub delay: Option<Quantity<Span>>,
    /// Models of the program that reads the file.
    pub custom: Option<Vec<CustomTable>>,
}

/// A model that the program brings.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CustomTable {
    /// Its name.
    pub name: String,
    /// Values of its parameters.
    #[serde(default)]
    pub parameters: BTreeMap<String, f64>,
}

/// A channel that is good or bad and changes from packet to packet; the first packet meets it good.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GilbertElliottTable {
    /// Probability that it turns bad behind a packet that met it good.
    pub to_bad: Probability,
    /// Probability that it turns good behind a packet that met it bad.
    pub to_good: Probability,
    /// Probability that a packet is lost which meets it good; 0 if left out.
    pub loss_good: Option<Probability>,
    /// Probability that a packet is lost which meets it bad; 1 if left out.
    pub loss_bad: Option<Probability>,
}

/// A time at which a line has another rate.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FadeTable {
    /// When it begins.
    pub at: Quantity<Span>,
    /// How long it lasts.
    pub lasts: Quantity<Span>,
    /// The rate meanwhile.
    pub rate: Quantity<BitRate>,
}

/// A time at which a link is down.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BlackoutTable {
    /// When it begins.
    pub at: Quantity<Span>,
    /// How long it lasts.
    pub lasts: Quantity<Span>,
}

/// Times at which a link is down again and again.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PeriodicBlackoutTable {
    /// When the first one begins.
    pub first: Quantity<Span>,
    /// From one begin to the next.
    pub every: Quantity<Span>,
    /// How long each lasts.
    pub lasts: Quantity<Span>,
}

/// What a script does to chosen packets.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RuleTable {
    /// What the packets carry, all of it: data, poll, stat, ustat, bgn, bgnak, end, endak, rst; in TCP
    /// data, syn, syn-ack, fin, rst, ack; in SCTP data, init, init-ack, cookie, sack, heartbeat,
    /// shutdown, shutdown-ack, abort.
    pub kind: Vec<String>,
    /// The first of them, counted from 1.
    pub nth: u64,
    /// How many in a row.
    #[serde(default = "default_count")]
    pub count: u64,
    /// They come this much later; without it they are lost.
    pub late: Option<Quantity<Span>>,
}

const fn default_count() -> u64 {
    1
}

/// The paper's channel: by turns good and bad, with a delay drawn for each stay.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct XDelDropTable {
    /// The state at the start.
    pub good: StateTable,
    /// The other state.
    pub bad: StateTable,
    /// Packets do not overtake each other.
    #[serde(default)]
    pub fifo: bool,
    /// Each direction has a channel of its own.
    #[serde(default)]
    pub independent: bool,
}

/// One state of the channel.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StateTable {
    /// Mean length of a stay.
    pub mean: Quantity<Span>,
    /// Probability that a packet is dropped.
    pub drop: Probability,
    /// The same while the delay is the shorter one, if it differs.
    pub drop_at_min_delay: Option<Probability>,
    /// The shorter delay, one way.
    pub delay_min: Quantity<Span>,
    /// The longer delay, one way.
    pub delay_max: Quantity<Span>,
}

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
    /// Its share at schedulers that know weights; 1 if left out.
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
    /// Further paths of SCTP between hosts with several addresses.
    #[serde(default)]
    pub more_paths: Vec<PathTable>,
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

/// The JSON Schema of scenario files.
pub fn schema() -> Schema {
    schema_for!(ScenarioFile)
}
