//! The endpoint of a flow, whatever its protocol.
//!
//! What a protocol adds to the simulator stands here: how its ends are opened, and how a segment that
//! belongs to no connection is answered.

use bentpipe_transport::xstp::{self, Ports};
use bentpipe_transport::{Endpoint, PathId, tcp};
use bentpipe_units::Instant;
use bentpipe_wire::Segment;

use crate::Protocol;

/// The endpoint of any protocol. What happens for every packet is compiled for each of them.
pub(crate) enum Connection {
    /// XSTP.
    Xstp(Box<xstp::Session>),
    /// TCP.
    Tcp(Box<tcp::Connection>),
}

impl Connection {
    /// The end that opens. `entropy` makes its numbers hard to guess.
    pub(crate) fn open(
        protocol: &Protocol,
        now: Instant,
        path: PathId,
        ports: Ports,
        entropy: u64,
    ) -> Self {
        match protocol {
            Protocol::Xstp { sender, .. } => {
                let session = xstp::Session::connect(sender.clone(), now, path, ports, entropy);
                Self::Xstp(Box::new(session))
            }
            Protocol::Tcp { sender, .. } => {
                let connection =
                    tcp::Connection::connect(sender.clone(), now, path, ports, entropy);
                Self::Tcp(Box::new(connection))
            }
        }
    }

    /// The end that listens, at a segment for which there is no session; `None` when the segment does
    /// not open one.
    pub(crate) fn accept(
        protocol: &Protocol,
        now: Instant,
        path: PathId,
        segment: &Segment,
        entropy: u64,
    ) -> Option<Self> {
        match (protocol, segment) {
            (Protocol::Xstp { receiver, .. }, Segment::Xstp(begin)) => {
                let session = xstp::Session::accept(receiver.clone(), now, path, begin, entropy)?;
                Some(Self::Xstp(Box::new(session)))
            }
            (Protocol::Tcp { receiver, .. }, Segment::Tcp(syn)) => {
                let connection =
                    tcp::Connection::accept(receiver.clone(), now, path, syn, entropy)?;
                Some(Self::Tcp(Box::new(connection)))
            }
            (Protocol::Xstp { .. } | Protocol::Tcp { .. }, _) => None,
        }
    }

    /// The endpoint, where it matters little how fast it is reached.
    pub(crate) fn endpoint(&self) -> &dyn Endpoint {
        match self {
            Self::Xstp(session) => &**session,
            Self::Tcp(connection) => &**connection,
        }
    }
}

/// The answer to a segment that belongs to no connection, if it gets one.
pub(crate) fn no_session_reset(segment: &Segment) -> Option<Segment> {
    match segment {
        Segment::Xstp(segment) => xstp::no_session_reset(segment).map(Segment::Xstp),
        Segment::Tcp(segment) => tcp::no_session_reset(segment).map(Segment::Tcp),
    }
}
