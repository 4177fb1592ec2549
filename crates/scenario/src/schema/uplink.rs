//! Shared uplinks in a scenario file.

use bentpipe_units::{BitRate, ByteCount, Span};
use schemars::JsonSchema;
use serde::Deserialize;

use super::named::{Choice, Named};
use super::quantity::Quantity;

/// An uplink that several links share, all in their direction to one node.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UplinkTable {
    /// The node at its end: the hub.
    pub to: String,
    /// The links to it, one for each terminal.
    pub links: Vec<String>,
    /// Rate of the uplink, for all terminals together.
    pub rate: Quantity<BitRate>,
    /// Who sends when.
    pub access: Named<AccessTable>,
}

/// Who sends when on a shared uplink.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(tag = "protocol", rename_all = "kebab-case", deny_unknown_fields)]
pub enum AccessTable {
    /// Unslotted ALOHA: send at once, and again after a collision.
    Aloha {
        /// Link header of each transmission; 16 B.
        header: Option<Quantity<ByteCount>>,
        /// From the end of a transmission until its sender has heard it; 250 ms.
        echo: Option<Quantity<Span>>,
        /// From the end of a transmission until its sender takes it for lost; 270 ms.
        timeout: Option<Quantity<Span>>,
        /// Mean wait before a packet is retransmitted; 1 s.
        mean_backoff: Option<Quantity<Span>>,
        /// How often a packet is retransmitted; 3.
        retries: Option<u32>,
    },
    /// TDMA with slots in proportion to what terminals have asked for.
    TdmaDama {
        /// Length of a frame; 50 ms.
        frame: Option<Quantity<Span>>,
        /// Slots in a frame, those for requests included; 64.
        slots: Option<u32>,
        /// From a request to the first frame that knows of it; 500 ms.
        grant_delay: Option<Quantity<Span>>,
        /// What is asked for: what waits, or that and what has come since; volume.
        demand: Option<DemandName>,
    },
    /// Combined free and demand assignment.
    CfDama {
        /// Bytes of packets that a slot carries; 128 B.
        payload: Option<Quantity<ByteCount>>,
        /// Other bytes of a slot; 8 B.
        overhead: Option<Quantity<ByteCount>>,
        /// Data slots in a frame; 128.
        slots: Option<u32>,
        /// Length of a minislot, of which each terminal has one in each frame unless requests are random; 8 B.
        minislot: Option<Quantity<ByteCount>>,
        /// With random requests: minislots in a frame that all terminals share; 8.
        minislots: Option<u32>,
        /// With random requests: after a collision a terminal waits for fewer frames than this; 8.
        backoff: Option<u32>,
        /// From a request to the first slot that it can get; 500 ms.
        grant_delay: Option<Quantity<Span>>,
        /// How terminals ask; both.
        requests: Option<RequestsName>,
        /// Slots that nobody has asked for go to the terminals by turns; true.
        free: Option<bool>,
    },
}

/// What a terminal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DemandName {
    /// The bytes that wait.
    Volume,
    /// Those, and as many as came since the last request.
    RateAndVolume,
}

/// How terminals ask for slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RequestsName {
    /// In a minislot of their own in each frame.
    Minislot,
    /// On the data that they send.
    Piggyback,
    /// Both ways.
    Both,
    /// In one of the minislots that all share, chosen at random.
    Random,
    /// So, and on the data that they send.
    RandomAndPiggyback,
}

impl Choice for AccessTable {
    const KEY: &'static str = "protocol";
    const EXPECTED: &'static str =
        "\"aloha\", \"tdma-dama\", \"cf-dama\", or a table with one of them as `protocol`";
}
