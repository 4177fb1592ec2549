//! Radio channels in a scenario file.

use bentpipe_units::{BitRate, Span};
use schemars::JsonSchema;
use serde::Deserialize;

use super::quantity::Quantity;

/// A channel that the stations at both ends of some links share: each one sends or listens. Stations that a link of the channel
/// joins hear each other.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RadioTable {
    /// The links that it carries, in both directions.
    pub links: Vec<String>,
    /// Bit rate, for all stations together.
    pub rate: Quantity<BitRate>,
    /// P of KISS, 0 to 255: a station takes a free channel with probability (P + 1) / 256; 63.
    pub persistence: Option<u8>,
    /// A station that did not take the free channel looks again after this time; 100 ms.
    pub slot_time: Option<Quantity<Span>>,
    /// From key-up to the first frame; 500 ms.
    pub tx_delay: Option<Quantity<Span>>,
    /// From the end of the last frame until the carrier is off; 0 s.
    pub tx_tail: Option<Quantity<Span>>,
    /// Others hear a carrier when it has been on for this long; 100 ms.
    pub carrier_detect: Option<Quantity<Span>>,
    /// Most frames behind one key-up; 7.
    pub max_frames: Option<u32>,
    /// What a station needs after each of its frames before it can send the next one; 0 s.
    pub proc_time: Option<Quantity<Span>>,
    /// A station waits for a free slot before it looks for the first time, too, as Dire Wolf does; false.
    pub slot_first: Option<bool>,
    /// Frames that come after key-up join the transmission; true.
    pub late_frames: Option<bool>,
}
