//! The typed form of a TCP segment.

use bentpipe_units::Seq32;
use bytes::Bytes;

use super::layout;
use super::{Flags, Options, Timestamps};
use crate::{Ecn, Kind};

/// Length of the fixed header in bytes.
pub(super) const FIXED_HEADER: usize = 20;

/// One TCP segment (RFC 9293, section 3.1).
///
/// Everything is plain to read and to write in place. What goes beyond the room that a header has
/// for options is cut where a list can be cut.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Port of the end that sent it.
    pub source_port: u16,
    /// Port of the end it is meant for.
    pub destination_port: u16,
    /// Number of the first byte, or of the SYN if there is one.
    pub seq: Seq32,
    /// The number that is expected next; no meaning without [`Flags::ACK`].
    pub ack: Seq32,
    /// Control bits.
    pub flags: Flags,
    /// ECN field of the IP header around the segment, on which a router leaves its mark. It is not
    /// part of TCP's bytes: whoever writes and reads the IP header carries it over.
    pub ecn: Ecn,
    /// The sender asks to be dropped first where room is short: the Lower Effort code point of the IP
    /// header (RFC 8622). Like `ecn` it is not part of TCP's bytes.
    pub low_priority: bool,
    /// Receive window as it is on the wire, before it is scaled (RFC 7323, section 2).
    pub window: u16,
    /// Offset of the end of urgent data from `seq`; no meaning without [`Flags::URG`].
    pub urgent: u16,
    /// The timestamps option.
    pub timestamps: Option<Timestamps>,
    /// The other options.
    pub options: Options,
    /// Options of SCPS-TP that carry nothing.
    pub scps: Scps,
    /// The user bytes; empty when there are none.
    pub payload: Bytes,
}

/// Options of SCPS-TP that carry nothing (CCSDS 714.0-B), as a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scps(u8);

impl Scps {
    /// Neither.
    pub const NONE: Self = Self(0);
    /// The segment ends a record, kind 22.
    pub const RECORD_BOUNDARY: Self = Self(1);
    /// The sender receives damaged packets, so that losses are no sign of congestion, kind 23.
    pub const CORRUPTION_EXPERIENCED: Self = Self(2);

    /// The set of everything in either.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// True if the set holds all of `other`.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// How many there are.
    pub(super) const fn len(self) -> usize {
        self.0.count_ones() as usize
    }
}

impl Segment {
    /// Length of a header without options, in bytes.
    pub const PLAIN_HEADER: usize = FIXED_HEADER;
    /// Length of the timestamps option with its padding, in bytes.
    const TIMESTAMPS: usize = 12;

    /// A SYN without ACK.
    #[inline]
    pub const fn opens(&self) -> bool {
        self.flags.contains(Flags::SYN)
            && !self.flags.intersects(Flags::ACK.with(Flags::RST).with(Flags::FIN))
    }

    /// Sequence numbers that the segment takes: its bytes, and one each for SYN and FIN (SEG.LEN in
    /// RFC 9293, section 3.4).
    #[inline]
    pub const fn seq_len(&self) -> u32 {
        self.payload.len() as u32
            + self.flags.contains(Flags::SYN) as u32
            + self.flags.contains(Flags::FIN) as u32
    }

    /// What the segment carries. [`Kind::ACK`] is one that does nothing but acknowledge.
    #[inline(always)]
    pub const fn kind(&self) -> Kind {
        let mut kind = if self.payload.is_empty() { Kind::NONE } else { Kind::DATA };
        if self.flags.intersects(Flags::SYN.with(Flags::FIN).with(Flags::RST)) {
            kind = kind.with(self.control());
        }
        if kind.is_empty() && self.flags.contains(Flags::ACK) {
            kind = Kind::ACK;
        }
        if self.low_priority { kind.with(Kind::LOW) } else { kind }
    }

    /// What opens, closes or aborts.
    const fn control(&self) -> Kind {
        let mut kind = Kind::NONE;
        if self.flags.contains(Flags::SYN) {
            kind = if self.flags.contains(Flags::ACK) { Kind::BGNAK } else { Kind::BGN };
        }
        if self.flags.contains(Flags::FIN) {
            kind = kind.with(Kind::END);
        }
        if self.flags.contains(Flags::RST) {
            kind = kind.with(Kind::RST);
        }
        kind
    }

    /// Length of the whole segment in bytes, and what it carries.
    #[inline]
    pub fn measure(&self) -> (usize, Kind) {
        (self.wire_len(), self.kind())
    }

    /// Length of the header with its options and padding in bytes, a multiple of 4 up to 60.
    #[inline(always)]
    pub fn header_len(&self) -> usize {
        let timestamps_only = matches!(self.options, Options::None) && self.scps == Scps::NONE;
        match (timestamps_only, self.timestamps) {
            (true, None) => FIXED_HEADER,
            (true, Some(_)) => FIXED_HEADER + Self::TIMESTAMPS,
            (false, _) => FIXED_HEADER + layout::lay_out(self).padded().len(),
        }
    }

    /// Length of the whole segment in bytes.
    #[inline]
    pub fn wire_len(&self) -> usize {
        self.header_len() + self.payload.len()
    }
}
