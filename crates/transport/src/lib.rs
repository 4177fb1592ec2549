//! Protocol state machines without I/O.
//!
//! An [`Endpoint`] is told the time and handed segments; it answers with segments, events and its
//! next deadline. The same machine runs under the simulator's virtual clock and on real sockets,
//! both through the one loop in [`drive`].

pub mod demux;
pub mod drive;
pub mod endpoint;
pub mod rtt;
pub mod tcp;
pub mod xstp;

pub use drive::{Host, drain};
pub use endpoint::{Endpoint, Event, Failure, PathId, SenderState, WriteError};
