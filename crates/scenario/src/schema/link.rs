//! The links of a scenario file.

use std::collections::BTreeMap;

use bentpipe_units::{BitRate, ByteCount, Span};
use schemars::JsonSchema;
use serde::Deserialize;

use super::named::Named;
use super::quantity::{Probability, Quantity};
use super::queue::QueueTable;
use super::rain::RainTable;
use super::trace::TraceTable;

/// A link between two nodes. A packet meets the models in the order of the keys below; for another
/// order put several links in a row.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkTable {
    /// The two nodes.
    pub between: [String; 2],
    /// The longest packet that it carries, encapsulation included; none carries all. Not with a constellation.
    pub mtu: Option<Quantity<ByteCount>>,
    /// The router before it tells the sender of a packet that was too long (default: true).
    pub icmp: Option<bool>,
    /// Line rate; none sends at once.
    pub rate: Option<Quantity<BitRate>>,
    /// What may wait for the line, drop-tail; or a discipline.
    pub queue: Option<Named<QueueTable>>,
    /// Times at which the line has another rate, in their order; with a drop-tail queue, and without agents.
    #[serde(default)]
    pub fades: Vec<FadeTable>,
    /// Rain on the way to the satellite: the line becomes slower or loses; with a `rate` and a drop-tail queue.
    pub rain: Option<RainTable>,
    /// A trace of its rate, delay, losses and outages over time; in place of `rate` and `delay` where it has them.
    pub trace: Option<Named<TraceTable>>,
    /// Probability that a bit is wrong.
    pub ber: Option<Probability>,
    /// Probability that a packet is lost.
    pub loss: Option<Probability>,
    /// A code that corrects wrong bits; with `ber`.
    pub fec: Option<FecTable>,
    /// Losses in bursts; each direction has a channel of its own.
    pub gilbert_elliott: Option<GilbertElliottTable>,
    /// The link retransmits what `ber`, `loss` and `gilbert_elliott` lose or damage.
    pub arq: Option<ArqTable>,
    /// Times at which the link is down, in both directions.
    #[serde(default)]
    pub blackouts: Vec<BlackoutTable>,
    /// Times at which the link is down again and again, in both directions.
    pub blackout_every: Option<PeriodicBlackoutTable>,
    /// Hosts beside it learn at once when it goes down and when it is up again. Not with a constellation.
    #[serde(default)]
    pub link_state: bool,
    /// A queue that would mark a packet of TCP tells its sender by a message of ICMP in place of that (BECN). Not with a
    /// constellation.
    #[serde(default)]
    pub becn: bool,
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
    #[serde(rename = "forward", alias = "forth")]
    pub forward_link: Option<LinkDirection>,
    /// What is different from the second node to the first.
    #[serde(rename = "return", alias = "back")]
    pub return_link: Option<LinkDirection>,
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
    /// Rain in this direction; what it leaves out is that of the link.
    pub rain: Option<RainTable>,
    /// A trace of this direction.
    pub trace: Option<Named<TraceTable>>,
    /// Probability that a bit is wrong.
    pub ber: Option<Probability>,
    /// Probability that a packet is lost.
    pub loss: Option<Probability>,
    /// A code that corrects wrong bits.
    pub fec: Option<FecTable>,
    /// Losses in bursts.
    pub gilbert_elliott: Option<GilbertElliottTable>,
    /// Retransmissions by the link.
    pub arq: Option<ArqTable>,
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
    /// Probability that a packet is lost which meets it good (default: 0).
    pub loss_good: Option<Probability>,
    /// Probability that a packet is lost which meets it bad (default: 1).
    pub loss_bad: Option<Probability>,
}

/// A block code. The line rate is that of the bits that carry packets.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FecTable {
    /// Bits of a block on the link, 64 to 1,000,000.
    pub block: u32,
    /// Bits of a block that carry packets, 64 to `block`.
    pub payload: u32,
    /// Wrong bits that are corrected in a block, fewer than `block`.
    pub corrects: u32,
}

/// Retransmissions by the link itself (selective repeat).
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArqTable {
    /// Transmissions of a packet before it is given up, 1 to 1,000.
    pub tries: u32,
    /// Time from one transmission to the next: the round trip of the link, and what it takes to answer.
    pub timeout: Quantity<Span>,
    /// Packets that may be on their way without acknowledgement; the next one waits (default: any number).
    pub window: Option<u32>,
    /// One that is retransmitted holds up those behind it (default: true).
    pub in_order: Option<bool>,
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
