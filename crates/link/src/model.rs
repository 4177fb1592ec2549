//! The contract of a link model.

use std::fmt::Debug;

use bentpipe_units::{ByteCount, Instant};
use bentpipe_wire::Kind;

/// What a link may know of a packet that passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passing {
    /// Length on this link, all headers included.
    pub bytes: ByteCount,
    /// What the packet carries; only scripted models look at it.
    pub kind: Kind,
}

/// Why a packet did not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LossCause {
    /// The queue was full.
    QueueFull,
    /// A loss model drew it.
    Random,
    /// The link was down.
    Blackout,
    /// The channel's state dropped it.
    Channel,
    /// A script named it.
    Scripted,
    /// A queue dropped it before it was full.
    Early,
    /// A queue removed it, as a later packet says all that it says.
    Filtered,
    /// It met others on a shared channel once too often.
    Collision,
    /// It is longer than what the link carries.
    PacketTooBig,
}

/// What a model does with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It leaves the model at this time.
    Leaves(Instant),
    /// It leaves with bit errors, which the receiver's checksum finds.
    LeavesCorrupt(Instant),
    /// It is gone.
    Lost(LossCause),
}

/// One thing that happens to packets on their way.
///
/// Calls come in order of `at`, except where an earlier model of the series reorders packets; a
/// model must give a defined answer in any order. `at` never lies before the `now` of the last
/// [`Model::forget_before`].
pub trait Model: Debug + Send {
    /// The packet enters the model at `at`.
    fn pass(&mut self, at: Instant, packet: &Passing) -> Fate;

    /// No later call has an earlier `at`: history from before `now` may be dropped.
    fn forget_before(&mut self, _now: Instant) {}
}
