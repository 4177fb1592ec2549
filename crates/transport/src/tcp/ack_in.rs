//! An acknowledgement that came.

use bentpipe_units::Span;

/// An acknowledgement, as the connection read it from a segment.
#[derive(Clone, Copy, Debug)]
pub(in crate::tcp) struct AckIn {
    /// Offset up to which everything is acknowledged.
    pub(in crate::tcp) offset: u64,
    /// Offset of the segment that carries it, in the peer's stream.
    pub(in crate::tcp) from: u64,
    /// The peer's window in bytes.
    pub(in crate::tcp) window: u64,
    /// It carries nothing else: it may be a duplicate.
    pub(in crate::tcp) pure: bool,
    /// The peer has seen a congestion mark.
    pub(in crate::tcp) marked: bool,
    /// All that it acknowledges was marked.
    pub(in crate::tcp) tells_mark: bool,
    /// Somebody on the path says that what it asks for was damaged on a link (the corruption-experienced
    /// option of CCSDS 714.0-B).
    pub(in crate::tcp) corrupt: bool,
    /// The stamp that it echoes, and the time since then.
    pub(in crate::tcp) echo: Option<(u32, Span)>,
}
