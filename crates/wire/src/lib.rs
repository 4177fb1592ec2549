//! Bytes to typed segments and back, one module per header. Checked parsing, no state.
//!
//! [`Segment`] is what an endpoint emits and takes. The simulator hands it over as it is; real
//! sockets and the simulator's wire mode pass it through the codec of its protocol.

pub mod checksum;
pub mod kind;
pub mod qlp;
pub mod xstp;

pub use kind::Kind;

/// A segment of any protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment {
    /// A segment of the extended Satellite Transport Protocol.
    Xstp(xstp::Segment),
}

impl Default for Segment {
    /// An empty segment: a place to write one into.
    fn default() -> Self {
        Self::Xstp(xstp::Segment::default())
    }
}

impl Segment {
    /// Source and destination port.
    #[inline]
    pub const fn ports(&self) -> (u16, u16) {
        match self {
            Self::Xstp(segment) => (segment.source_port, segment.destination_port),
        }
    }

    /// True for a request to open a connection.
    #[inline]
    pub const fn opens(&self) -> bool {
        match self {
            Self::Xstp(segment) => matches!(segment.body, xstp::Body::Begin(_)),
        }
    }

    /// Length on the wire, header and payload, in bytes.
    #[inline]
    pub fn wire_len(&self) -> usize {
        match self {
            Self::Xstp(segment) => segment.wire_len(),
        }
    }

    /// Length on the wire and kind together, which every packet that is sent is asked for.
    #[inline]
    pub fn measure(&self) -> (usize, Kind) {
        match self {
            Self::Xstp(segment) => segment.measure(),
        }
    }

    /// What the segment carries, for link models and counters that must not read its fields.
    #[inline]
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Xstp(segment) => segment.kind(),
        }
    }
}
