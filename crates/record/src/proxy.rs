//! What a proxy held and did.

use bentpipe_units::{ByteCount, Instant};
use serde::Serialize;

use crate::TransportCounters;

/// What a proxy did for one flow.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ProxySummary {
    /// Name of the proxy.
    pub name: String,
    /// Name of the flow.
    pub flow: String,
    /// Node where the proxy stands.
    pub node: String,
    /// Bytes that it held on their way from the sender to the receiver.
    #[serde(rename = "forward")]
    pub forward_link: Occupancy,
    /// Bytes that it held on their way back.
    #[serde(rename = "return")]
    pub return_link: Occupancy,
    /// Connections of which one leg was reset and the other with it.
    pub resets: u64,
    /// Counters of its ends of the legs towards the sender.
    pub near: TransportCounters,
    /// Counters of its ends of the legs towards the receiver.
    pub far: TransportCounters,
}

/// How full a buffer was: bytes that were read from one leg and not acknowledged on the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Occupancy {
    /// The most at a time, in bytes.
    pub peak: u64,
    /// The mean over the run, in bytes.
    pub mean: f64,
}

/// The state of a proxy at one moment, for one flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProxySample {
    /// When it was taken.
    pub at: Instant,
    /// Index of the flow in the scenario.
    pub flow: usize,
    /// Number of the proxy on the flow's way, from 0.
    pub proxy: usize,
    /// Bytes held on their way to the receiver: not yet acknowledged on the far leg.
    pub occupied: ByteCount,
    /// Those of them that are not under way on the far leg.
    pub backlog: ByteCount,
}
