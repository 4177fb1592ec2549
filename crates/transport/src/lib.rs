//! Protocol state machines without I/O.
//!
//! An [`Endpoint`] is told the time and handed segments; it answers with segments, events and its
//! next deadline. The same machine runs under the simulator's virtual clock and on real sockets,
//! both through the one loop in [`drive`].

pub mod demux;
pub mod drive;
pub mod endpoint;
mod local_queue;
pub mod path_mtu;
mod pending_events;
mod ports;
pub mod rtt;
pub mod sctp;
mod send_buffer;
pub mod tcp;
pub mod xstp;

pub use drive::{Host, drain, drain_untimed, poll_events};
pub use endpoint::{
    Endpoint, Event, Failure, FullEndpoint, Inspect, NetworkFeedback, PathId, ProxyLeg, Readiness,
    SenderState, WriteError,
};
pub use local_queue::LocalQueue;
pub use ports::Ports;

/// Shortest payload of a full segment, whoever asks for it: one byte in a segment would multiply
/// packets and work a thousandfold at a peer's word.
const LEAST_MSS: u16 = 64;
