//! Why bytes are no SCTP packet.

/// Why bytes are no SCTP packet.
///
/// [`DecodeError::Checksum`] is damage on the way; the others but `TooShort` arrived as they were
/// sent and are a syntax error of the peer. The packet is then ignored as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Fewer bytes than the common header has, so not even a checksum.
    #[error("{length} bytes are shorter than the common header of 12")]
    TooShort {
        /// Bytes there are.
        length: usize,
    },
    /// The checksum does not match.
    #[error("checksum {found:#010x} where the bytes give {computed:#010x}")]
    Checksum {
        /// What the header says.
        found: u32,
        /// What the bytes give.
        computed: u32,
    },
    /// There is no chunk in the packet.
    #[error("a packet without chunks")]
    NoChunk,
    /// The bytes after the last chunk are too few for the header of another.
    #[error("{left} bytes where the next chunk should begin")]
    ChunkHeader {
        /// Bytes there are.
        left: usize,
    },
    /// The length of a chunk is below four, reaches with its padding past the end of the packet or is
    /// not one that its type can have.
    #[error("chunk of type {kind} with a length of {length}")]
    ChunkLength {
        /// Type of the chunk.
        kind: u8,
        /// Length that is stated, in bytes.
        length: u16,
    },
    /// A chunk that must be alone in its packet is not (RFC 9260, section 6.10).
    #[error("a chunk of type {kind} together with others")]
    NotAlone {
        /// Type of the chunk.
        kind: u8,
    },
    /// The bytes after the last parameter or cause are too few for another.
    #[error("{left} bytes where the next parameter or cause should begin")]
    ItemHeader {
        /// Bytes there are.
        left: usize,
    },
    /// The length of a parameter or cause is below four, reaches past the end of its chunk or is not
    /// one that its type can have.
    #[error("parameter or cause {kind} with a length of {length}")]
    ItemLength {
        /// Type of the parameter or code of the cause.
        kind: u16,
        /// Length that is stated, in bytes.
        length: u16,
    },
}
