//! Why bytes are no TCP segment.

/// Why bytes are no TCP segment. Tests are made in the order of the variants.
///
/// [`DecodeError::Checksum`] is damage on the way; the others but `TooShort` arrived as they were
/// sent and are a syntax error of the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Fewer bytes than the fixed header has, so not even a checksum.
    #[error("{length} bytes are shorter than the fixed header of 20")]
    TooShort {
        /// Bytes there are.
        length: usize,
    },
    /// The checksum does not match.
    #[error("checksum {found:#06x} where the bytes give {computed:#06x}")]
    Checksum {
        /// What the header says.
        found: u16,
        /// What the other bytes and the pseudo header give.
        computed: u16,
    },
    /// The data offset is before the end of the fixed header.
    #[error("header of {header} bytes, shorter than the fixed one of 20")]
    HeaderLength {
        /// Header length that is stated, in bytes.
        header: usize,
    },
    /// The header claims to reach past the end of the segment.
    #[error("header of {header} bytes in a segment of {length}")]
    HeaderPastEnd {
        /// Header length that is stated, in bytes.
        header: usize,
        /// Length of the segment in bytes.
        length: usize,
    },
    /// The length of an option is below two, beyond the header or not one that its kind can have.
    /// RFC 9293, section 3.1, suggests to reset such a connection.
    #[error("option of kind {kind} with a length of {length}")]
    OptionLength {
        /// Kind of the option.
        kind: u8,
        /// Length that is stated; 0 when the header ends before it.
        length: u8,
    },
}
