//! Congestion control: facts in, limits out.
//!
//! The sender tells a [`Controller`] what happened and obeys its [`Limits`]. Bytes in flight, rounds
//! and loss episodes are counted once, by the sender; what to send again is decided elsewhere. A
//! controller is one file here and one row in [`registry`], and runs under every protocol.

mod astart;
mod backlog;
mod bandwidth;
mod bbr;
mod bbr3;
mod bottleneck;
mod bulk_repeat;
mod constant_rate;
mod controller;
mod cubic;
mod dvegas;
mod ensemble;
mod event;
mod family;
mod fast_start;
mod fixed;
mod highspeed;
mod hybla;
mod hystart;
mod jersey;
mod newvegas;
mod peach;
mod peach_plus;
mod probing;
mod rate;
pub mod registry;
mod reno;
mod scalable;
mod scps;
mod sctp;
mod shared;
mod star;
mod stcp;
mod stp;
mod swift;
#[cfg(test)]
mod testing;
mod trial_start;
mod vegas;
mod veno;
mod westwood;
mod westwood_plus;
mod window;
mod xcp;

pub use controller::{
    Controller, Copies, Gauge, Limits, LowPriority, PathRequest, PathView, Phase, Repair, Snapshot,
};
pub use ensemble::Ensemble;
pub use event::{Ack, Loss, LossCause, QueueLevel, RateSample, Sent, Signal};
pub use rate::DedicatedLink;
pub use registry::{Build, BuildError, Choice, Row, find, rows};
pub use shared::SharedState;
