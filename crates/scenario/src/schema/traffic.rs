//! The traffic of a flow in a scenario file, where it is no single file.

use bentpipe_units::{ByteCount, Span};
use schemars::JsonSchema;
use serde::Deserialize;

use super::draw::DrawTable;
use super::quantity::{Probability, Quantity};

/// What a flow sends, piece by piece.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum TrafficTable {
    /// Packets at equal intervals.
    Cbr {
        /// Bytes of a packet.
        packet: Quantity<ByteCount>,
        /// From one packet to the next.
        interval: Quantity<Span>,
        /// Width of the uniform noise on each interval, as share of it; 0.
        jitter: Option<Probability>,
        /// How many; without it there is no end.
        count: Option<u64>,
    },
    /// Bursts of packets with silence in between.
    OnOff {
        /// Bytes of a packet.
        packet: Quantity<ByteCount>,
        /// From one packet to the next in a burst.
        interval: Quantity<Span>,
        /// Length of a burst; exponential with mean 500 ms.
        on: Option<DrawTable<Quantity<Span>>>,
        /// Length of a silence; exponential with mean 500 ms.
        off: Option<DrawTable<Quantity<Span>>>,
        /// How many packets in all; without it there is no end.
        count: Option<u64>,
    },
    /// Files one after another, each over a connection of its own.
    Files {
        /// Size of a file.
        size: Quantity<ByteCount>,
        /// From the arrival of one to the begin of the next; none.
        pause: Option<DrawTable<Quantity<Span>>>,
        /// How many; without it there is no end.
        count: Option<u64>,
    },
    /// Users who read web pages.
    Web {
        /// Users; 1.
        sessions: Option<u32>,
        /// From the start of one user to that of the next; 0 s.
        session_gap: Option<Quantity<Span>>,
        /// Pages that each user reads; 10.
        pages: Option<u32>,
        /// Objects of a page; 1.
        objects: Option<DrawTable<f64>>,
        /// From the arrival of a page to the next one; exponential with mean 1 s.
        inter_page: Option<DrawTable<Quantity<Span>>>,
        /// `inter_page` counts from the begin of a page; false.
        start_to_start: Option<bool>,
        /// From the request for one object to that for the next; exponential with mean 10 ms.
        inter_object: Option<DrawTable<Quantity<Span>>>,
        /// Size of an object; Lomax with mean 12 kB and shape 1.2.
        object: Option<DrawTable<Quantity<ByteCount>>>,
        /// How objects share connections; per-object.
        connections: Option<ConnectionsName>,
        /// Most connections at the same time, of all users together, with `per-object`; 32.
        most: Option<u32>,
    },
}

/// How web objects share connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ConnectionsName {
    /// Each user has one, on which objects follow each other: HTTP/1.1 with pipelining.
    Persistent,
    /// Each object has one of its own: HTTP/1.0.
    PerObject,
}
