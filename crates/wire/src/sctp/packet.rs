//! The typed form of an SCTP packet.

use smallvec::SmallVec;

use super::Chunk;
use crate::{Ecn, Kind};

/// Length of the common header in bytes.
pub(super) const COMMON_HEADER: usize = 12;

/// The chunks of a packet. Nearly every packet has one: it lies in place.
pub type Chunks = SmallVec<[Chunk; 1]>;

/// One SCTP packet (RFC 9260, section 3).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// Port of the end that sent it.
    pub source_port: u16,
    /// Port of the end it is meant for.
    pub destination_port: u16,
    /// Verification tag: the receiver's initiate tag; 0 in a packet with an INIT.
    pub tag: u32,
    /// ECN field of the IP header around the packet, on which a router leaves its mark. It is not
    /// part of SCTP's bytes: whoever writes and reads the IP header carries it over.
    pub ecn: Ecn,
    /// It is longer than its path carries in one and may be cut by IP: its chunks were made for a longer
    /// path (RFC 9260, section 6.9). Like the ECN field this is nothing of SCTP's bytes.
    pub may_fragment: bool,
    /// The chunks in their order.
    pub chunks: Chunks,
}

impl Packet {
    /// Length of the common header in bytes.
    pub const HEADER: usize = COMMON_HEADER;

    /// True for a packet with an INIT, which asks to open an association.
    #[inline]
    pub fn opens(&self) -> bool {
        matches!(self.chunks.first(), Some(Chunk::Init(_)))
    }

    /// What the packet carries. [`Kind::ACK`] is one that does nothing but acknowledge.
    #[inline]
    pub fn kind(&self) -> Kind {
        let kinds = self.chunks.iter().map(Chunk::kind);
        let kind = kinds.fold(Kind::NONE, Kind::with);
        let rest = kind.without(Kind::ACK);
        if rest.is_empty() { kind } else { rest }
    }

    /// Length of the whole packet in bytes, padding included.
    #[inline]
    pub fn wire_len(&self) -> usize {
        COMMON_HEADER + self.chunks.iter().map(Chunk::padded_len).sum::<usize>()
    }

    /// Length of the whole packet in bytes, and what it carries.
    #[inline]
    pub fn measure(&self) -> (usize, Kind) {
        (self.wire_len(), self.kind())
    }
}
