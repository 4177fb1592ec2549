//! A shared uplink in a scenario file.

use bentpipe_link::station::{Access, AlohaConfig, CfDamaConfig, Demand, Requests, TdmaConfig};
use bentpipe_units::{BitRate, ByteCount, Span};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::named::{Choice, Named};
use crate::quantity::Quantity;

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
        /// Mean wait before a packet is sent again; 1 s.
        mean_backoff: Option<Quantity<Span>>,
        /// How often a packet is sent again; 3.
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

impl AccessTable {
    /// The protocol for so many terminals.
    ///
    /// # Errors
    /// The key that can not be, and why.
    pub(crate) fn spec(
        &self,
        rate: BitRate,
        terminals: usize,
    ) -> Result<Access, (&'static str, String)> {
        match *self {
            Self::Aloha { header, echo, timeout, mean_backoff, retries } => {
                let default = AlohaConfig::default();
                let config = AlohaConfig {
                    header: header.map_or(default.header, |size| size.0),
                    echo: echo.map_or(default.echo, |span| span.0),
                    timeout: timeout.map_or(default.timeout, |span| span.0),
                    mean_backoff: mean_backoff.map_or(default.mean_backoff, |span| span.0),
                    retries: retries.unwrap_or(default.retries),
                };
                if config.timeout < config.echo {
                    let (timeout, echo) = (config.timeout, config.echo);
                    return Err(("timeout", format!("{timeout} is below `echo`, {echo}")));
                }
                Ok(Access::Aloha(config))
            }
            Self::TdmaDama { frame, slots, grant_delay, demand } => {
                let default = TdmaConfig::default();
                let config = TdmaConfig {
                    frame: frame.map_or(default.frame, |span| span.0),
                    slots: slots.unwrap_or(default.slots),
                    grant_delay: grant_delay.map_or(default.grant_delay, |span| span.0),
                    demand: match demand {
                        Some(DemandName::Volume) | None => Demand::Volume,
                        Some(DemandName::RateAndVolume) => Demand::RateAndVolume,
                    },
                };
                let least = terminals.div_ceil(8) + 1;
                if (config.slots as usize) < least {
                    let message = format!(
                        "{}: {terminals} terminals need {least} or more, one slot for requests \
                         for each 8 of them and one for data",
                        config.slots
                    );
                    return Err(("slots", message));
                }
                let slot = config.frame / u64::from(config.slots);
                if rate.bytes_in(slot) == ByteCount::ZERO {
                    let message = format!("{}: a slot has no room for a byte", config.frame);
                    return Err(("frame", message));
                }
                Ok(Access::Tdma(config))
            }
            Self::CfDama {
                payload,
                overhead,
                slots,
                minislot,
                minislots,
                backoff,
                grant_delay,
                requests,
                free,
            } => {
                let default = CfDamaConfig::default();
                let config = CfDamaConfig {
                    payload: payload.map_or(default.payload, |size| size.0),
                    overhead: overhead.map_or(default.overhead, |size| size.0),
                    slots: slots.unwrap_or(default.slots),
                    minislot: minislot.map_or(default.minislot, |size| size.0),
                    minislots: minislots.unwrap_or(default.minislots),
                    backoff: backoff.unwrap_or(default.backoff),
                    grant_delay: grant_delay.map_or(default.grant_delay, |span| span.0),
                    requests: match requests {
                        Some(RequestsName::Minislot) => Requests::Minislot,
                        Some(RequestsName::Piggyback) => Requests::Piggyback,
                        Some(RequestsName::Both) | None => Requests::Both,
                        Some(RequestsName::Random) => Requests::Random,
                        Some(RequestsName::RandomAndPiggyback) => Requests::RandomAndPiggyback,
                    },
                    free: free.unwrap_or(default.free),
                };
                if config.payload == ByteCount::ZERO {
                    return Err(("payload", "0 B: it must be above zero".to_owned()));
                }
                if config.slots == 0 {
                    return Err(("slots", "0: it must be 1 or more".to_owned()));
                }
                for (key, value) in [("minislots", minislots), ("backoff", backoff)] {
                    if value.is_some() && !config.requests.are_random() {
                        return Err((key, "it needs `requests = \"random\"`".to_owned()));
                    }
                    if value == Some(0) {
                        return Err((key, "0: it must be 1 or more".to_owned()));
                    }
                }
                if !config.free && config.requests == Requests::Piggyback {
                    let message = "without free slots nobody could ever ask by `piggyback`";
                    return Err(("requests", message.to_owned()));
                }
                Ok(Access::CfDama(config))
            }
        }
    }
}
