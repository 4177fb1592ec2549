//! Bytes to typed segments and back, one module per header. Checked parsing, no state.
//!
//! [`Segment`] is what an endpoint emits and takes. The simulator hands it over as it is; real
//! sockets and the simulator's wire mode pass it through the codec of its protocol.
//!
//! ```
//! use bentpipe_wire::xstp::{self, Segment};
//! use bytes::BytesMut;
//!
//! let data = xstp::Flow { payload: "a file".into(), ..xstp::Flow::default() };
//! let segment = Segment { body: xstp::Body::Flow(data), ..Segment::default() };
//! let mut bytes = BytesMut::new();
//! xstp::encode(&segment, None, &mut bytes);
//! let bytes = bytes.freeze();
//! assert_eq!(xstp::decode(bytes.clone(), None)?, segment);
//! // A byte that is missing is an error, never a panic.
//! assert!(xstp::decode(bytes.slice(1..), None).is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod checksum;
mod ecn;
pub mod icmp;
pub mod kind;
mod pseudo;
pub mod qlp;
pub mod radio;
pub mod sctp;
pub mod tcp;
pub mod udp;
pub mod xcp;
pub mod xstp;

pub use ecn::Ecn;
pub use kind::Kind;
pub use pseudo::PseudoHeader;

/// A segment of any protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment {
    /// A segment of the extended Satellite Transport Protocol.
    Xstp(xstp::Segment),
    /// A segment of TCP.
    Tcp(tcp::Segment),
    /// A packet of SCTP.
    Sctp(sctp::Packet),
    /// A datagram of UDP.
    Udp(udp::Datagram),
    /// A message of ICMP about a packet that was too long.
    Icmp(icmp::Message),
}

// Packets of the simulator have no room for more.
const _: () = assert!(size_of::<Segment>() == size_of::<xstp::Segment>());

impl Default for Segment {
    /// An empty segment: a place to write one into.
    fn default() -> Self {
        Self::Xstp(xstp::Segment::default())
    }
}

impl Segment {
    /// The XSTP segment in its place: the one that is there, or an empty one.
    #[inline]
    pub fn xstp_mut(&mut self) -> &mut xstp::Segment {
        if !matches!(self, Self::Xstp(_)) {
            *self = Self::Xstp(xstp::Segment::default());
        }
        match self {
            Self::Xstp(segment) => segment,
            _ => unreachable!("it was just made one of XSTP"),
        }
    }

    /// The TCP segment in its place: the one that is there, or an empty one.
    #[inline]
    pub fn tcp_mut(&mut self) -> &mut tcp::Segment {
        if !matches!(self, Self::Tcp(_)) {
            *self = Self::Tcp(tcp::Segment::default());
        }
        match self {
            Self::Tcp(segment) => segment,
            _ => unreachable!("it was just made one of TCP"),
        }
    }

    /// The SCTP packet in its place: the one that is there, or an empty one.
    #[inline]
    pub fn sctp_mut(&mut self) -> &mut sctp::Packet {
        if !matches!(self, Self::Sctp(_)) {
            *self = Self::Sctp(sctp::Packet::default());
        }
        match self {
            Self::Sctp(packet) => packet,
            _ => unreachable!("it was just made one of SCTP"),
        }
    }

    /// Number by which an IP header announces the segment.
    #[inline]
    pub const fn ip_protocol(&self) -> u8 {
        match self {
            Self::Xstp(_) => xstp::PROTOCOL,
            Self::Tcp(_) => tcp::PROTOCOL,
            Self::Sctp(_) => sctp::PROTOCOL,
            Self::Udp(_) => udp::PROTOCOL,
            Self::Icmp(_) => icmp::PROTOCOL,
        }
    }

    /// ECN field of the IP header around the segment. XSTP, datagrams and ICMP have no answer to
    /// marks and are never marked.
    #[inline]
    pub const fn ecn(&self) -> Ecn {
        match self {
            Self::Xstp(_) | Self::Udp(_) | Self::Icmp(_) => Ecn::NotCapable,
            Self::Tcp(segment) => segment.ecn,
            Self::Sctp(packet) => packet.ecn,
        }
    }

    /// A congested router marks it, in the IP header, which no checksum of the segment covers. False when nobody would heed a mark.
    #[inline]
    pub fn mark(&mut self) -> bool {
        match self {
            Self::Xstp(_) | Self::Udp(_) | Self::Icmp(_) => return false,
            Self::Tcp(segment) => segment.ecn = Ecn::Congestion,
            Self::Sctp(packet) => packet.ecn = Ecn::Congestion,
        }
        true
    }

    /// Source and destination port; a message of ICMP goes to the end that had sent what it quotes.
    #[inline]
    pub const fn ports(&self) -> (u16, u16) {
        match self {
            Self::Xstp(segment) => (segment.source_port, segment.destination_port),
            Self::Tcp(segment) => (segment.source_port, segment.destination_port),
            Self::Sctp(packet) => (packet.source_port, packet.destination_port),
            Self::Udp(datagram) => (datagram.source_port, datagram.destination_port),
            Self::Icmp(message) => (message.packet.ports.1, message.packet.ports.0),
        }
    }

    /// True for a request to open a connection.
    #[inline]
    pub fn opens(&self) -> bool {
        match self {
            Self::Xstp(segment) => matches!(segment.body, xstp::Body::Begin(_)),
            Self::Tcp(segment) => segment.opens(),
            Self::Sctp(packet) => packet.opens(),
            Self::Udp(_) | Self::Icmp(_) => false,
        }
    }

    /// Length on the wire, header and payload, in bytes.
    #[inline]
    pub fn wire_len(&self) -> usize {
        match self {
            Self::Xstp(segment) => segment.wire_len(),
            Self::Tcp(segment) => segment.wire_len(),
            Self::Sctp(packet) => packet.wire_len(),
            Self::Udp(datagram) => datagram.wire_len(),
            Self::Icmp(_) => icmp::LENGTH,
        }
    }

    /// Length on the wire and kind together, which every packet that is sent is asked for.
    #[inline(always)]
    pub fn measure(&self) -> (usize, Kind) {
        match self {
            Self::Xstp(segment) => segment.measure(),
            Self::Tcp(segment) => segment.measure(),
            Self::Sctp(packet) => packet.measure(),
            Self::Udp(datagram) => (datagram.wire_len(), datagram.kind()),
            Self::Icmp(_) => (icmp::LENGTH, Kind::NONE),
        }
    }

    /// What the segment carries, for link models and counters that must not read its fields.
    #[inline]
    pub fn kind(&self) -> Kind {
        match self {
            Self::Xstp(segment) => segment.kind(),
            Self::Tcp(segment) => segment.kind(),
            Self::Sctp(packet) => packet.kind(),
            Self::Udp(datagram) => datagram.kind(),
            Self::Icmp(_) => Kind::NONE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_keeps_what_it_holds_and_gives_way_to_another_protocol() {
        let mut place = Segment::default();
        place.tcp_mut().window = 7;
        assert_eq!(place.tcp_mut().window, 7);
        assert_eq!((place.ip_protocol(), place.wire_len()), (6, 20));
        assert_eq!(*place.xstp_mut(), xstp::Segment::default());
        place.xstp_mut().window = 9;
        assert_eq!(place.xstp_mut().window, 9);
        assert_eq!((place.ip_protocol(), place.ecn()), (253, Ecn::NotCapable));
        place.sctp_mut().tag = 5;
        assert_eq!(place.sctp_mut().tag, 5);
        assert_eq!((place.ip_protocol(), place.wire_len()), (132, 12));
    }
}
