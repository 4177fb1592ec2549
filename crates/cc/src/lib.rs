//! Congestion control: facts in, limits out.
//!
//! The sender tells a [`Controller`] what happened and obeys its [`Limits`]. Bytes in flight, rounds
//! and loss episodes are counted once, by the sender; what to send again is decided elsewhere. A
//! controller is one file here and one row in [`registry`], and runs under every protocol.

mod backlog;
mod bandwidth;
mod controller;
mod cubic;
mod event;
mod family;
mod highspeed;
mod hybla;
mod rate;
pub mod registry;
mod reno;
mod scalable;
mod stp;
#[cfg(test)]
mod testing;
mod vegas;
mod veno;
mod westwood;
mod westwood_plus;
mod window;

pub use controller::{
    Controller, Copies, Gauge, Limits, LowPriority, PathRequest, PathView, Phase, Repair, Snapshot,
};
pub use event::{Ack, Loss, LossCause, QueueLevel, RateSample, Sent, Signal};
pub use registry::{Build, BuildError, Choice, Row, find, rows};
