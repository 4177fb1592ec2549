//! What the headers around a segment say.

use std::net::{IpAddr, Ipv4Addr};

use bentpipe_wire::{Ecn, PseudoHeader, Segment};

use crate::Encapsulation;

/// What the headers around a segment say: with it the segment's bytes can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Envelope {
    /// Node that sent it.
    pub from: u16,
    /// Node that it is for.
    pub to: u16,
    /// What carries it.
    pub encapsulation: Encapsulation,
    /// IP protocol number of the segment, also where it is not in IP; that of the congestion header where one
    /// stands before the segment.
    pub protocol: u8,
    /// ECN field of the IP header.
    pub ecn: Ecn,
    /// The Lower Effort code point of the IP header (RFC 8622).
    pub low_priority: bool,
}

impl Envelope {
    /// The envelope of a segment in a run whose XSTP is carried like this.
    pub(crate) const fn of(
        segment: &Segment,
        encapsulation: Encapsulation,
        from: u16,
        to: u16,
    ) -> Self {
        let encapsulation = encapsulation.of(segment);
        let low_priority = matches!(segment, Segment::Tcp(segment) if segment.low_priority);
        let (protocol, ecn) = (segment.ip_protocol(), segment.ecn());
        Self { from, to, encapsulation, protocol, ecn, low_priority }
    }

    /// The addresses of both ends.
    pub(crate) fn addresses(&self) -> PseudoHeader {
        PseudoHeader {
            source: IpAddr::V4(address(self.from)),
            destination: IpAddr::V4(address(self.to)),
        }
    }
}

/// The address that a node has in pseudo headers and captures: 10.0.0.1 for node 0, and so on.
pub(crate) const fn address(node: u16) -> Ipv4Addr {
    let n = node as u32 + 1;
    Ipv4Addr::new(10, (n >> 16) as u8, (n >> 8) as u8, n as u8)
}
