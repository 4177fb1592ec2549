//! Packets as bytes: encoding, real bit errors, the checksum.

use std::net::{IpAddr, Ipv4Addr};

use bentpipe_link::Stream;
use bentpipe_wire::{Segment, xstp};
use bytes::{Bytes, BytesMut};

use crate::Encapsulation;

/// The address that a node has in pseudo headers and captures: 10.0.0.1 for node 0, and so on.
pub(crate) const fn address(node: u16) -> Ipv4Addr {
    let n = node as u32 + 1;
    Ipv4Addr::new(10, (n >> 16) as u8, (n >> 8) as u8, n as u8)
}

/// The pseudo header that the checksum covers, if the encapsulation has one.
fn pseudo_header(how: Encapsulation, from: u16, to: u16) -> Option<xstp::PseudoHeader> {
    (how == Encapsulation::Ip).then(|| xstp::PseudoHeader {
        source: IpAddr::V4(address(from)),
        destination: IpAddr::V4(address(to)),
    })
}

/// The bytes of a segment.
pub(crate) fn encode(segment: &Segment, how: Encapsulation, from: u16, to: u16) -> Bytes {
    let mut bytes = BytesMut::with_capacity(segment.wire_len());
    match segment {
        Segment::Xstp(segment) => {
            xstp::encode(segment, pseudo_header(how, from, to).as_ref(), &mut bytes);
        }
    }
    bytes.freeze()
}

/// The segment of some bytes; `None` when the checksum or the syntax is wrong.
pub(crate) fn decode(bytes: Bytes, how: Encapsulation, from: u16, to: u16) -> Option<Segment> {
    xstp::decode(bytes, pseudo_header(how, from, to).as_ref()).map(Segment::Xstp).ok()
}

/// Flips bits of a packet that a link corrupted. A sixteen-bit checksum misses one pattern of errors
/// in 65,536; such a pattern is drawn again, so that wire mode and typed mode tell the same story.
pub(crate) fn corrupt(
    bytes: &Bytes,
    how: Encapsulation,
    from: u16,
    to: u16,
    stream: &mut Stream,
) -> Bytes {
    loop {
        let mut flipped = BytesMut::from(&bytes[..]);
        // One wrong bit most of the time, now and then several.
        let count = 1 + stream.bits().trailing_ones();
        for _ in 0..count {
            let bit = stream.below(flipped.len() as u64 * 8);
            flipped[(bit / 8) as usize] ^= 1 << (bit % 8);
        }
        let flipped = flipped.freeze();
        if decode(flipped.clone(), how, from, to).is_none() {
            return flipped;
        }
    }
}
