//! Congestion control: facts in, limits out.
//!
//! The sender tells a [`Controller`] what happened and obeys its [`Limits`]. Bytes in flight, rounds
//! and loss episodes are counted once, by the sender; what to send again is decided elsewhere. A
//! controller is one file here and one row in [`registry`], and runs under every protocol.

mod controller;
mod rate;
pub mod registry;
mod stp;

pub use controller::{
    Ack, Controller, Gauge, Limits, Loss, LossCause, PathRequest, PathView, Phase, RateSample,
    Sent, Signal, Snapshot,
};
pub use registry::{Build, BuildError, Choice, Row, find, rows};
