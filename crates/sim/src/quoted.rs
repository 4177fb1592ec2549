//! What messages of ICMP quote of packets.

use bentpipe_wire::icmp::Quoted;
use bentpipe_wire::{Segment, tcp};

use crate::envelope::address;

/// What a message says of a packet. There is none about messages (RFC 1122, section 3.2.2), nor about what is not in IP.
pub(crate) fn quote(segment: &Segment, from: u16, to: u16, len: u32) -> Option<Quoted> {
    let number = match segment {
        Segment::Tcp(tcp::Segment { seq, .. }) => seq.get(),
        Segment::Sctp(packet) => packet.tag,
        Segment::Udp(_) => 0,
        Segment::Xstp(_) | Segment::Icmp(_) => return None,
    };
    Some(Quoted {
        source: address(from),
        destination: address(to),
        protocol: segment.ip_protocol(),
        length: u16::try_from(len).unwrap_or(u16::MAX),
        ports: segment.ports(),
        number,
    })
}
