//! Congestion control: facts in, limits out.
//!
//! The sender tells a [`Controller`] what happened and obeys its [`Limits`]. Bytes in flight, rounds
//! and loss episodes are counted once, by the sender; what to send again is decided elsewhere. A
//! controller is one file in `algorithms` and one row in `registry`, and runs under every protocol.

mod algorithms;
mod backlog;
mod bandwidth;
mod bottleneck;
mod controller;
mod ensemble;
mod event;
mod family;
mod hystart;
mod probing;
mod registry;
mod row;
mod shared;
#[cfg(test)]
mod testing;
mod trial_start;
mod window;

pub use algorithms::rate::DedicatedLink;
pub use controller::{
    Controller, Copies, Gauge, Limits, LowPriority, PathRequest, PathView, Phase, Repair, Snapshot,
};
pub use ensemble::Ensemble;
pub use event::{Ack, Loss, LossCause, QueueLevel, RateSample, Sent, Signal};
pub use registry::{BuildError, Choice, find, rows};
pub use row::{Build, Parameter, Row};
pub use shared::SharedState;
