//! Why bytes are no XSTP segment.

use crate::Kind;

/// Why bytes are no XSTP segment. Tests are made in the order of the variants, except that what is
/// wrong inside the extension blocks is found in the order of the bytes.
///
/// [`DecodeError::Checksum`] is damage on the way; everything else but `TooShort` arrived as it was
/// sent and is a syntax error of the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Fewer bytes than the fixed header has, so not even a checksum.
    #[error("{length} bytes are shorter than the fixed header of 16")]
    TooShort {
        /// Bytes there are.
        length: usize,
    },
    /// The checksum does not match. Of the two zeros of one's complement only 0x0000 is sent and
    /// accepted, so that a segment has exactly one encoding.
    #[error("checksum {found:#06x} where the bytes give {computed:#06x}")]
    Checksum {
        /// What the header says.
        found: u16,
        /// What the other bytes give.
        computed: u16,
    },
    /// A version of the protocol that this codec does not speak.
    #[error("version {0}, not 1")]
    Version(u8),
    /// Type bits without a meaning are set.
    #[error("reserved type bits {0:#05x} are set")]
    ReservedTypeBits(u16),
    /// No type bit is set, or a combination that is not allowed.
    #[error("types {:#05x} do not go together", .0.bits())]
    IllegalTypes(Kind),
    /// The header claims to reach past the end of the segment.
    #[error("header of {header} bytes in a segment of {length}")]
    HeaderPastEnd {
        /// Header length that is stated, in bytes.
        header: usize,
        /// Length of the segment in bytes.
        length: usize,
    },
    /// The header is shorter or longer than its fixed part, the blocks that the type bits announce
    /// and the gaps that the report counts.
    #[error("header of {header} bytes does not fit the blocks it has")]
    HeaderLength {
        /// Header length that is stated, in bytes.
        header: usize,
    },
    /// A BGN or BGNAK with an MSS of 0.
    #[error("an MSS of 0")]
    ZeroMss,
    /// Flags of a BGN or BGNAK without a meaning are set.
    #[error("unknown flags {0:#04x} in a BGN or BGNAK")]
    BeginFlags(u8),
    /// The reserved byte of a BGN or BGNAK is not 0.
    #[error("reserved byte {0:#04x} in a BGN or BGNAK")]
    BeginReserved(u8),
    /// Flags of a STAT or USTAT without a meaning are set.
    #[error("unknown flags {0:#06x} in a report")]
    ReportFlags(u16),
    /// A report counts more gaps than [`Report::MOST_GAPS`](super::Report::MOST_GAPS).
    #[error("{0} gaps in a report")]
    TooManyGaps(u16),
    /// A gap ends where it begins, or before.
    #[error("gap from {lower} to {upper}")]
    EmptyGap {
        /// Offset of its first number.
        lower: u16,
        /// Offset of its end.
        upper: u16,
    },
    /// A gap begins before the end of the one before it, or at it: touching gaps are one gap.
    #[error("gap from {lower} after one that ends at {previous}")]
    GapOrder {
        /// End of the gap before.
        previous: u16,
        /// Offset of the first number of the gap.
        lower: u16,
    },
    /// The first gap of a STAT does not begin at N(R), though N(R) is missing by its definition.
    #[error("the first gap of a STAT begins at {lower}, not 0")]
    FirstGap {
        /// Offset of the first number of the gap.
        lower: u16,
    },
    /// Flags of a compressed header that do not go together.
    #[error("flags {0:#04x} of a compressed header do not go together")]
    CompactFlags(u8),
    /// A number of a compressed header is longer than it need be or too large.
    #[error("a number that is out of range or not in its shortest form")]
    Number,
    /// DATA is announced and there is no payload.
    #[error("DATA without payload")]
    DataWithoutPayload,
    /// DATA is not announced and there is payload.
    #[error("{length} bytes of payload without DATA")]
    PayloadWithoutData {
        /// Bytes after the header.
        length: usize,
    },
}
