//! What the application gets and is told besides the events of every endpoint.

use std::net::IpAddr;

use bytes::Bytes;
use smallvec::SmallVec;

use crate::PathId;

/// A message that arrived, or a part of one that was too long to wait for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Stream that it came on.
    pub stream: u16,
    /// What the peer's application says the bytes are.
    pub ppid: u32,
    /// It was delivered out of its stream's order.
    pub unordered: bool,
    /// The message ends here. Where the receive buffer is too small for a message, its parts come one
    /// after the other, with nothing else of the same stream between them.
    pub complete: bool,
    /// The bytes, in the pieces that they came in.
    pub pieces: SmallVec<[Bytes; 1]>,
}

impl Message {
    /// Number of bytes.
    pub fn len(&self) -> usize {
        self.pieces.iter().map(Bytes::len).sum()
    }

    /// True when there are no bytes, which no message of a peer is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// What happened to an association as a whole or to one of its paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The path was tried and works.
    PathConfirmed(PathId),
    /// The path did not answer too often: new data take another one.
    PathInactive(PathId),
    /// The path answers again.
    PathActive(PathId),
    /// The peer lost the association and began it anew: what was not delivered is lost, streams begin
    /// at their beginning.
    Restarted,
    /// The peer has this address, too: a path may be added, and named.
    PeerAddressAdded(IpAddr),
    /// The peer has this address no more: its paths are gone.
    PeerAddressDeleted(IpAddr),
    /// The peer has taken a change of this end's addresses.
    Readdressed,
    /// The peer refused a change of this end's addresses, for the reason with this code.
    ReaddressRefused(u16),
}

/// Why a message cannot be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// This side has closed the association, or it is gone.
    #[error("the association is closed for sending")]
    Closed,
    /// There is no such stream.
    #[error("stream {stream}: the peer takes streams 0 to {last}")]
    NoSuchStream {
        /// The stream asked for.
        stream: u16,
        /// The last one there is.
        last: u16,
    },
    /// The send buffer has no room now; [`Event::Writable`](crate::Event::Writable) tells when to try
    /// again.
    #[error("a message of {length} B finds {space} B of room")]
    NoRoom {
        /// Length of the message in bytes.
        length: usize,
        /// Bytes that are free.
        space: usize,
    },
    /// The message would never fit into the send buffer.
    #[error("a message of {length} B: it must have 1 to {most} B")]
    Length {
        /// Length of the message in bytes.
        length: usize,
        /// Size of the send buffer in bytes.
        most: usize,
    },
}
