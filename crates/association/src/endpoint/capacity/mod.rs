//! What a path carries, found out while nobody uses it, and when the first content is sent by it.
//!
//! A packet train is some datagrams as long as the path allows, sent at once. The bottleneck lets one after the other
//! through, so that the times at which they arrive tell its rate (packet dispersion). The host that sent them is told
//! these times, and its next connection begins with a window of that size (careful resume) in place of slow start.
//!
//! Trains become longer, so that no slow link is busy for long; they cost so many bytes in an hour at most. Who has content for a path
//! of which nothing is known begins with a train of that length, and does not wait for silence: slow start would take as many
//! round trips as the path carries windows of doubling size, and this takes two.

mod arrivals;
mod ledger;
mod message;
mod pace;
mod prober;

use bentpipe_units::ByteCount;

pub(super) use self::arrivals::Arrivals;
pub(super) use self::ledger::Ledger;
#[cfg(test)]
pub(super) use self::message::Arrival;
pub(super) use self::message::{CapacityProbe, CapacityReport};
pub(super) use self::prober::{Prober, Train};

/// What finding out the rate of a shared link costs in an hour, unless it is said otherwise.
pub const LEARN: ByteCount = ByteCount::new(100_000);
