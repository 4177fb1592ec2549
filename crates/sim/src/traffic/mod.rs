//! Traffic of many pieces: packets at intervals, bursts, files one after another, web pages.

mod draw;
mod generator;
mod session;

pub use draw::Draw;
pub(crate) use generator::Generator;
pub(crate) use session::Session;

use bentpipe_units::{ByteCount, Span};

/// What a flow sends, piece by piece. Each piece has a time from the moment at which it came up to
/// the moment at which its last byte has arrived, waits included.
#[derive(Clone, Debug, PartialEq)]
pub enum TrafficSpec {
    /// Packets at equal intervals (CBR), over one connection.
    Constant {
        /// Bytes of a packet.
        packet: ByteCount,
        /// From one packet to the next.
        interval: Span,
        /// Width of the uniform noise on each interval, as share of it, in 0..=1.
        jitter: f64,
        /// How many; `None` without end.
        count: Option<u64>,
    },
    /// Bursts of packets at equal intervals, with silence in between, over one connection.
    OnOff {
        /// Bytes of a packet.
        packet: ByteCount,
        /// From one packet to the next in a burst.
        interval: Span,
        /// Length of a burst in seconds; at least one packet.
        on: Draw,
        /// Length of a silence in seconds.
        off: Draw,
        /// How many packets in all; `None` without end.
        count: Option<u64>,
    },
    /// Files of one size, each over a connection of its own, the next one after the one before has
    /// arrived.
    Files {
        /// Size of a file.
        size: ByteCount,
        /// Seconds from the arrival of one to the begin of the next.
        pause: Draw,
        /// How many; `None` without end.
        count: Option<u64>,
    },
    /// Users who read pages, each page with objects, after ns-2's `PagePool/WebTraf`.
    Web(WebSpec),
}

/// Users who read pages.
#[derive(Clone, Debug, PartialEq)]
pub struct WebSpec {
    /// Sessions, each a user.
    pub sessions: u32,
    /// From the start of one session to that of the next.
    pub session_gap: Span,
    /// Pages that a session reads.
    pub pages: u32,
    /// Objects of a page, rounded up, at least 1.
    pub objects: Draw,
    /// Seconds from the last object of a page, arrived, to the next page.
    pub inter_page: Draw,
    /// Pages begin `inter_page` after the begin of the one before, whether or not it is there.
    pub start_to_start: bool,
    /// Seconds from the request for an object to that for the next one of the page.
    pub inter_object: Draw,
    /// Bytes of an object, rounded up, at least 1 and at most 100 MB.
    pub object: Draw,
    /// How objects share connections.
    pub connections: Connections,
}

/// How web objects share connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connections {
    /// HTTP/1.1: each session has one connection, on which objects follow each other without waiting
    /// for requests.
    Persistent,
    /// HTTP/1.0: each object has one of its own. All sessions of the flow together have at most so
    /// many at once; objects beyond wait.
    PerObject(u32),
}

impl TrafficSpec {
    /// Connections at the same time.
    pub(crate) fn connections(&self) -> u32 {
        match self {
            Self::Constant { .. } | Self::OnOff { .. } | Self::Files { .. } => 1,
            Self::Web(web) => match web.connections {
                Connections::Persistent => web.sessions.max(1),
                Connections::PerObject(most) => most.max(1),
            },
        }
    }

    /// Whether a connection carries several pieces.
    pub(crate) fn is_persistent(&self) -> bool {
        match self {
            Self::Constant { .. } | Self::OnOff { .. } => true,
            Self::Files { .. } => false,
            Self::Web(web) => web.connections == Connections::Persistent,
        }
    }

    /// Whether pieces come by the clock alone.
    pub(crate) const fn is_timed(&self) -> bool {
        matches!(self, Self::Constant { .. } | Self::OnOff { .. })
    }

    /// True when it ends by itself.
    pub const fn ends(&self) -> bool {
        match self {
            Self::Constant { count, .. }
            | Self::OnOff { count, .. }
            | Self::Files { count, .. } => count.is_some(),
            Self::Web(_) => true,
        }
    }
}
