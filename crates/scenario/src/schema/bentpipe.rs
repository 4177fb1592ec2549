//! The table `bentpipe` of a flow.

use bentpipe_association::Fec;
use bentpipe_units::{BitRate, ByteCount, Span};
use schemars::JsonSchema;
use serde::Deserialize;

use super::quantity::Quantity;

/// Settings of the product, as `bentpipe send` has them.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BentpipeTable {
    /// The rate to send at with `protocol = "bentpipe-rate"`; the least on the way without it.
    pub rate: Option<Quantity<BitRate>>,
    /// Congestion controller.
    pub controller: Option<String>,
    /// Whether losses are probed for their cause.
    pub probing: Option<bool>,
    /// Parity: "auto", "off", or a ratio to all that is sent.
    pub fec: Option<FecValue>,
    /// Most bytes that wait at either end of a connection.
    pub buffer: Option<Quantity<ByteCount>>,
    /// A connection ends when nothing was heard for so long.
    #[serde(alias = "patience")]
    pub idle_timeout: Option<Quantity<Span>>,
}

/// How much parity is sent.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum FecValue {
    /// A name.
    Name(FecName),
    /// A ratio to all that is sent.
    Ratio(f64),
}

/// Parity by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FecName {
    /// As losses ask for it.
    Auto,
    /// None.
    Off,
}

impl FecValue {
    /// What is meant, if it can be.
    pub(crate) fn fec(self) -> Option<Fec> {
        match self {
            Self::Name(FecName::Auto) => Some(Fec::Auto),
            Self::Name(FecName::Off) => Some(Fec::Off),
            Self::Ratio(ratio) => (0.0..=1.0).contains(&ratio).then_some(Fec::Ratio(ratio)),
        }
    }
}
