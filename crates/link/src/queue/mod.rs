//! Queues that hold packets: what waits, what goes next, what is lost or changed meanwhile.
//!
//! A [`Discipline`] is a state machine without packets of its own. It knows what it must know of a
//! packet as [`Held`], is told the time, and says through [`Packets`] what shall happen to a packet.
//! Whoever owns the packets, a simulator or a gateway, does it.

mod ack_filter;
mod ack_priority;
mod ack_reconstruction;
mod bandwidth;
mod codel;
#[cfg(test)]
mod conservation;
mod control;
mod discipline;
mod drop_tail;
mod dualpi2;
mod fifo;
mod fq_codel;
mod fuzzy;
mod limit;
mod pi;
mod pie;
mod priority;
mod red;
mod rows;
mod spec;
mod stamped;
#[cfg(test)]
pub(crate) mod testing;
mod xcp;

pub use ack_filter::AckFilter;
pub use ack_priority::AckPriority;
pub use ack_reconstruction::{AckReconstruction, AckReconstructionConfig};
pub use bandwidth::BandwidthRouter;
pub use codel::Codel;
pub use control::CodelConfig;
pub use discipline::{Backlog, Cumulative, Discipline, FlowKey, Held, LineState, Packets};
pub use drop_tail::DropTail;
pub use dualpi2::{DualPi2, DualPi2Config};
pub use fq_codel::{FqCodel, FqCodelConfig};
pub use fuzzy::{Fuzzy, FuzzyConfig};
pub use limit::QueueLimit;
pub use pie::{Pie, PieConfig};
pub use priority::DropLowPriority;
pub use red::{Red, RedConfig};
pub use rows::QUEUES;
pub use spec::{DisciplineSpec, QueueSpec};
pub use xcp::XcpRouter;
