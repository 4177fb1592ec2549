//! The typed form of TCP's options.

use bentpipe_units::Seq32;

use super::list::List;

/// The timestamps option, kind 8 (RFC 7323, section 3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timestamps {
    /// TSval: the sender's clock, in ticks of its own choice.
    pub value: u32,
    /// TSecr: the `value` that it answers; no meaning without ACK.
    pub echo: u32,
}

/// The options of which a segment has those of one kind only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Options {
    /// None of them.
    #[default]
    None,
    /// What is agreed when a connection opens; in a SYN.
    Syn(SynOptions),
    /// What arrived out of order; not in a SYN.
    Sack(SackBlocks),
    /// What is missing (SCPS-TP); not in a SYN.
    Snack(Snack),
}

/// Options of a SYN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SynOptions {
    /// Largest payload that the sender can take, in bytes without options, kind 2 (RFC 9293,
    /// section 3.7.1). 0 is what a peer may say and no size to work with.
    pub mss: Option<u16>,
    /// Places by which the windows that the sender will state are to be shifted left, 0 to
    /// [`SynOptions::LARGEST_SHIFT`], kind 3 (RFC 7323, section 2). The window of the SYN is not.
    pub window_shift: Option<u8>,
    /// The sender understands SACK, kind 4 (RFC 2018, section 2).
    pub sack_permitted: bool,
    /// What the sender can of SCPS-TP, kind 20.
    pub scps: Option<ScpsCapabilities>,
}

impl SynOptions {
    /// Largest shift of a window: a larger one counts as this (RFC 7323, section 2.3).
    pub const LARGEST_SHIFT: u8 = 14;

    /// True when none is there.
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A block that arrived out of order: `first .. end`, half open, in bytes (RFC 2018, section 3).
///
/// Whether it lies in the window, is sorted or says that something came twice (RFC 2883) is for the
/// endpoint to judge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlock {
    /// Sequence number of its first byte.
    pub first: Seq32,
    /// Sequence number after its last byte.
    pub end: Seq32,
}

/// The blocks of the SACK option, kind 5. Beside timestamps there is room for three on the wire:
/// a fourth is cut.
pub type SackBlocks = List<SackBlock, 4>;

/// What an end can of SCPS-TP, kind 20 (CCSDS 714.0-B, SCPS capabilities option).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScpsCapabilities {
    /// The bits below; others are kept as they came.
    pub bits: u8,
    /// Identifies the connection under header compression; 0 without.
    pub connection_id: u8,
}

impl ScpsCapabilities {
    /// Best-effort transport service.
    pub const BETS: u8 = 0x80;
    /// SNACK of the first hole.
    pub const SNACK1: u8 = 0x40;
    /// SNACK of the first hole and the bit vector.
    pub const SNACK2: u8 = 0x20;
    /// Header compression.
    pub const COMPRESSION: u8 = 0x10;
    /// Timestamps of the network layer.
    pub const NETWORK_TIMESTAMPS: u8 = 0x08;
}

/// A selective negative acknowledgement, kind 21 (CCSDS 714.0-B, SNACK option). Lengths are in
/// segments of the peer's MSS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Snack {
    /// From the acknowledgement number to the first hole.
    pub hole_offset: u16,
    /// Length of the first hole.
    pub hole_size: u16,
    /// What follows the hole, a bit for each segment, the highest first: 1 is missing. A header has
    /// room for at most 34 bytes, fewer beside other options; what is beyond is cut.
    pub vector: List<u8, 33>,
}
