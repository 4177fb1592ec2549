//! The endpoint of a flow, whatever its protocol.
//!
//! What a protocol adds to the simulator stands here: how its ends are opened, and how a segment that
//! belongs to no connection is answered.

use bentpipe_transport::{FullEndpoint, PathId, Ports, sctp, tcp, xstp};
use bentpipe_units::Instant;
use bentpipe_wire::Segment;

use crate::Protocol;
use crate::product::Hosted;

/// The endpoint of any protocol. What happens for every packet is compiled for each of them.
pub(crate) enum Connection {
    /// XSTP.
    Xstp(Box<xstp::Session>),
    /// TCP.
    Tcp(Box<tcp::Connection>),
    /// SCTP.
    Sctp(Box<sctp::Association>),
    /// The product's.
    Bentpipe(Box<Hosted>),
}

/// What an end has to be told apart from others, and to be opened with.
pub(crate) struct Place {
    /// Its ports.
    pub(crate) ports: Ports,
    /// The paths that are there from the start.
    pub(crate) paths: Vec<PathId>,
    /// What its numbers are drawn from.
    pub(crate) entropy: u64,
}

/// What a listener makes of a segment.
pub(crate) enum Accepted {
    /// A connection.
    Open(Connection),
    /// An answer without a connection.
    Answer(Segment),
    /// The segment does not open a connection.
    Refused,
}

impl From<Option<Connection>> for Accepted {
    fn from(connection: Option<Connection>) -> Self {
        connection.map_or(Self::Refused, Self::Open)
    }
}

impl Connection {
    /// The end that opens; datagrams have none.
    pub(crate) fn open(protocol: &Protocol, now: Instant, place: Place) -> Option<Self> {
        let Place { ports, paths, entropy } = place;
        let path = PathId(0);
        Some(match protocol {
            Protocol::Xstp { sender, .. } => {
                let session = xstp::Session::connect(sender.clone(), now, path, ports, entropy);
                Self::Xstp(Box::new(session))
            }
            Protocol::Tcp { sender, .. } => {
                let connection =
                    tcp::Connection::connect(sender.clone(), now, path, ports, entropy);
                Self::Tcp(Box::new(connection))
            }
            Protocol::Sctp { sender, .. } => {
                let identity = sctp::Identity {
                    ports,
                    paths,
                    addresses: Vec::new(),
                    key: COOKIE_KEY,
                    entropy,
                };
                let association = sctp::Association::connect(sender.clone(), now, identity);
                Self::Sctp(Box::new(association))
            }
            // Hosts open theirs themselves.
            Protocol::Udp | Protocol::Bentpipe { .. } => return None,
        })
    }

    /// The end that listens, at a segment for which there is no session.
    pub(crate) fn accept(
        protocol: &Protocol,
        now: Instant,
        path: PathId,
        segment: &mut Segment,
        place: &Place,
    ) -> Accepted {
        let entropy = place.entropy;
        match (protocol, segment) {
            (Protocol::Xstp { receiver, .. }, Segment::Xstp(begin)) => {
                let session = xstp::Session::accept(receiver.clone(), now, path, begin, entropy);
                session.map(|session| Self::Xstp(Box::new(session))).into()
            }
            (Protocol::Tcp { receiver, .. }, Segment::Tcp(syn)) => {
                let connection = tcp::Connection::accept(receiver.clone(), now, path, syn, entropy);
                connection.map(|connection| Self::Tcp(Box::new(connection))).into()
            }
            (Protocol::Sctp { receiver, .. }, Segment::Sctp(packet)) => {
                let listener = sctp::Listener::new(receiver.clone(), COOKIE_KEY, Vec::new());
                match listener.handle(now, path, &place.paths, packet, entropy) {
                    sctp::Answer::Open(association) => Accepted::Open(Self::Sctp(association)),
                    sctp::Answer::Reply(packet) => Accepted::Answer(Segment::Sctp(packet)),
                    sctp::Answer::Nothing => Accepted::Refused,
                }
            }
            (
                Protocol::Xstp { .. }
                | Protocol::Tcp { .. }
                | Protocol::Sctp { .. }
                | Protocol::Udp
                | Protocol::Bentpipe { .. },
                _,
            ) => Accepted::Refused,
        }
    }

    /// The endpoint, to be changed, where it matters little how fast it is reached.
    pub(crate) fn endpoint_mut(&mut self) -> &mut dyn FullEndpoint {
        match self {
            Self::Xstp(session) => &mut **session,
            Self::Tcp(connection) => &mut **connection,
            Self::Sctp(association) => &mut **association,
            Self::Bentpipe(hosted) => &mut **hosted,
        }
    }

    /// The endpoint, where it matters little how fast it is reached.
    pub(crate) fn endpoint(&self) -> &dyn FullEndpoint {
        match self {
            Self::Xstp(session) => &**session,
            Self::Tcp(connection) => &**connection,
            Self::Sctp(association) => &**association,
            Self::Bentpipe(hosted) => &**hosted,
        }
    }
}

/// Nobody forges cookies here; what matters is that runs are alike.
const COOKIE_KEY: sctp::CookieKey = sctp::CookieKey::new([0; 32]);

/// The answer to a segment that belongs to no connection, if it gets one.
pub(crate) fn no_session_reset(segment: &Segment) -> Option<Segment> {
    match segment {
        Segment::Xstp(segment) => xstp::no_session_reset(segment).map(Segment::Xstp),
        Segment::Tcp(segment) => tcp::no_session_reset(segment).map(Segment::Tcp),
        Segment::Sctp(packet) => sctp::out_of_the_blue(packet).map(Segment::Sctp),
        Segment::Udp(_) | Segment::Icmp(_) => None,
    }
}
