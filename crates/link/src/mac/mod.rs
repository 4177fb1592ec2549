//! Media access: who sends when, from queues that hold packets.
//!
//! A [`Mac`] has one or more lines, each with a queue. [`Line`] is a transmitter of its own; the
//! others are terminals that share one uplink, or
//! stations that share one radio channel. Like a queue it is told the time, and has one
//! deadline for all its lines.

mod aloha;
mod cf_dama;
mod contention;
mod csma;
mod frame;
mod line;
mod rows;
mod spec;
mod tdma;
mod terminal;
#[cfg(test)]
mod testing;

pub use aloha::{Aloha, AlohaConfig};
pub use cf_dama::{CfDama, CfDamaConfig, Requests};
pub use csma::{Csma, CsmaConfig, Hop};
pub use line::Line;
pub use rows::{RADIO, UPLINKS};
pub use spec::{Access, MacSpec};
pub use tdma::{Demand, Tdma, TdmaConfig};

use std::fmt::Debug;

use bentpipe_units::Instant;

use crate::queue::{Backlog, Held, Packets};

/// Sends packets from queues.
pub trait Mac: Debug + Send {
    /// A packet comes to the line [`Held::line`].
    fn enqueue(&mut self, now: Instant, packet: Held, packets: &mut dyn Packets);

    /// The deadline of [`Mac::poll_timeout`] has come. Too early does no harm.
    fn handle_timeout(&mut self, now: Instant, packets: &mut dyn Packets);

    /// When [`Mac::handle_timeout`] must be called; `None` when nothing waits.
    fn poll_timeout(&self) -> Option<Instant>;

    /// What waits for a line, what is being sent left out.
    fn waiting(&self, line: u16) -> Backlog;
}
