//! Protocol state machines without I/O.
//!
//! An [`Endpoint`] is told the time and handed segments; it answers with segments, events and its
//! next deadline. The same machine runs under the simulator's virtual clock and on real sockets,
//! both through the one loop in [`drive`].
//!
//! The first thing that a client has to send is a request to open:
//!
//! ```
//! use std::sync::Arc;
//!
//! use bentpipe_transport::xstp::{Config, Session};
//! use bentpipe_transport::{Endpoint, PathId, Ports};
//! use bentpipe_units::Instant;
//! use bentpipe_wire::{Kind, Segment};
//!
//! let ports = Ports { local: 5001, peer: 5002 };
//! let mut client = Session::connect(Arc::new(Config::default()), Instant::ZERO, PathId(0), ports, 7);
//! let mut segment = Segment::default();
//! assert_eq!(client.poll_transmit(Instant::ZERO, &mut segment), Some(PathId(0)));
//! assert!(segment.kind().contains(Kind::BGN));
//! // Nothing more until there is an answer, or a timeout.
//! assert_eq!(client.poll_transmit(Instant::ZERO, &mut segment), None);
//! assert!(client.poll_timeout().is_some());
//! ```
//!
//! The example `drive_by_hand` of the crate `bentpipe` has both ends and the wire between them.

pub mod demux;
pub mod drive;
pub mod endpoint;
mod local_queue;
pub mod path_mtu;
pub mod payload_size;
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
