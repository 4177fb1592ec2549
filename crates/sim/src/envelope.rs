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
    pub fn addresses(&self) -> PseudoHeader {
        PseudoHeader {
            source: IpAddr::V4(address(self.from)),
            destination: IpAddr::V4(address(self.to)),
        }
    }
}

/// The network that nodes have their addresses in: 10.0.0.0.
const NET: u32 = 10 << 24;

/// The address that a node has in pseudo headers and captures: 10.0.0.1 for node 0, and so on.
pub(crate) const fn address(node: u16) -> Ipv4Addr {
    Ipv4Addr::from_bits(NET + 1 + node as u32)
}

/// The node that has an address.
pub(crate) fn node_at(address: Ipv4Addr) -> Option<u16> {
    let number = address.to_bits().checked_sub(NET)?.checked_sub(1)?;
    u16::try_from(number).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_node_has_an_address_of_its_own_and_others_are_no_nodes() {
        for (node, text) in [(0, "10.0.0.1"), (254, "10.0.0.255"), (65_535, "10.1.0.0")] {
            assert_eq!(address(node), text.parse::<Ipv4Addr>().expect("an address"));
            assert_eq!(node_at(address(node)), Some(node));
        }
        for other in ["10.0.0.0", "10.1.0.1", "9.255.255.255", "192.0.2.1"] {
            assert_eq!(node_at(other.parse().expect("an address")), None, "{other}");
        }
    }
}
