//! Messages of ICMP about a packet: that it was too long for a link (RFC 792; RFC 1191, section 4), and that a router is
//! congested.

use std::net::Ipv4Addr;

use bytes::{Buf, BufMut, Bytes, BytesMut};

use crate::checksum::Checksum;

/// IP protocol number of ICMP.
pub const PROTOCOL: u8 = 1;
/// Length of the message in bytes: its header, the quoted IP header and the eight bytes behind that.
pub const LENGTH: usize = HEADER + IP_HEADER + 8;

const HEADER: usize = 8;
const IP_HEADER: usize = 20;
/// "Destination unreachable" and "fragmentation needed and DF set".
const PACKET_TOO_BIG: [u8; 2] = [3, 4];
/// "Source Quench", deprecated by RFC 6633.
const SOURCE_QUENCH: [u8; 2] = [4, 0];
/// Version 4, a header of five words.
const VERSION_AND_LENGTH: u8 = 0x45;
/// The flag that forbids routers to cut the packet.
const DONT_FRAGMENT: u16 = 0x4000;
/// What is left of the hop limit, as far as anybody cares.
const HOP_LIMIT: u8 = 64;

/// What a router tells the sender of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// What became of the packet.
    pub news: News,
    /// The packet.
    pub packet: Quoted,
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// It was longer than what the next link carries, and was dropped.
    TooBig {
        /// The longest packet that the link carries, in bytes with the IP header.
        mtu: u16,
    },
    /// It met congestion and went on: the message stands for the mark that the packet would have got.
    Congestion,
}

/// What the message quotes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quoted {
    /// Address of its sender, to whom the message goes.
    pub source: Ipv4Addr,
    /// Address that it was for.
    pub destination: Ipv4Addr,
    /// IP protocol number of what it carried.
    pub protocol: u8,
    /// Length in bytes with the IP header.
    pub length: u16,
    /// Its source and its destination port.
    pub ports: (u16, u16),
    /// The four bytes behind the ports: in TCP the sequence number.
    pub number: u32,
}

/// Why bytes are no such message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The message has another length.
    #[error("{length} bytes, not 36")]
    Length {
        /// Bytes there are.
        length: usize,
    },
    /// The checksum does not match.
    #[error("the checksum does not match")]
    Checksum,
    /// It is another message, or quotes something else than a plain header of IPv4.
    #[error("not a message that a packet is too long or met congestion")]
    Other,
}

/// Appends the bytes of a message, [`LENGTH`] of them, to `out`.
pub fn encode(message: &Message, out: &mut BytesMut) {
    let start = out.len();
    let (type_and_code, mtu) = match message.news {
        News::TooBig { mtu } => (PACKET_TOO_BIG, mtu),
        News::Congestion => (SOURCE_QUENCH, 0),
    };
    out.put_slice(&type_and_code);
    out.put_u32(0); // the checksum, below, and two unused bytes
    out.put_u16(mtu);
    let packet = &message.packet;
    out.put_u8(VERSION_AND_LENGTH);
    out.put_u8(0);
    out.put_u16(packet.length);
    out.put_u16(0);
    out.put_u16(DONT_FRAGMENT);
    out.put_u8(HOP_LIMIT);
    out.put_u8(packet.protocol);
    out.put_u16(0); // the header's own checksum, below
    out.put_slice(&packet.source.octets());
    out.put_slice(&packet.destination.octets());
    let header = Checksum::of(&out[start + HEADER..]);
    out[start + HEADER + 10..][..2].copy_from_slice(&header.to_be_bytes());
    out.put_u16(packet.ports.0);
    out.put_u16(packet.ports.1);
    out.put_u32(packet.number);
    let sum = Checksum::of(&out[start..]);
    out[start + 2..][..2].copy_from_slice(&sum.to_be_bytes());
}

/// Reads a message. The checksum comes first.
///
/// # Errors
///
/// See [`DecodeError`].
pub fn decode(mut bytes: Bytes) -> Result<Message, DecodeError> {
    let length = bytes.len();
    if length != LENGTH {
        return Err(DecodeError::Length { length });
    }
    if Checksum::of(&bytes) != 0 {
        return Err(DecodeError::Checksum);
    }
    let type_and_code = [bytes[0], bytes[1]];
    bytes.advance(HEADER - 2);
    let mtu = bytes.get_u16();
    let news = match type_and_code {
        PACKET_TOO_BIG => News::TooBig { mtu },
        SOURCE_QUENCH if mtu == 0 => News::Congestion,
        _ => return Err(DecodeError::Other),
    };
    if bytes.get_u8() != VERSION_AND_LENGTH {
        return Err(DecodeError::Other);
    }
    bytes.advance(1);
    let length = bytes.get_u16();
    bytes.advance(5);
    let protocol = bytes.get_u8();
    bytes.advance(2);
    let (source, destination) = (bytes.get_u32().into(), bytes.get_u32().into());
    let ports = (bytes.get_u16(), bytes.get_u16());
    let number = bytes.get_u32();
    Ok(Message { news, packet: Quoted { source, destination, protocol, length, ports, number } })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message() -> Message {
        let packet = Quoted {
            source: Ipv4Addr::new(10, 0, 0, 1),
            destination: Ipv4Addr::new(10, 0, 0, 4),
            protocol: 6,
            length: 1500,
            ports: (49_152, 5002),
            number: 0xdead_beef,
        };
        Message { news: News::TooBig { mtu: 1000 }, packet }
    }

    fn encoded() -> Bytes {
        let mut out = BytesMut::from(&b"before"[..]);
        encode(&message(), &mut out);
        out.freeze().split_off(6)
    }

    #[test]
    fn a_message_has_the_bytes_of_the_rfcs_and_survives() {
        let bytes = encoded();
        assert_eq!(bytes.len(), LENGTH);
        assert_eq!(bytes[..2], [3, 4]);
        assert_eq!(bytes[4..8], [0, 0, 0x03, 0xe8]);
        // The quoted header is one of IPv4, with the flag that made it too long and a right checksum.
        assert_eq!((bytes[8], bytes[14], bytes[17]), (0x45, 0x40, 6));
        assert_eq!(Checksum::of(&bytes[8..28]), 0);
        assert_eq!(bytes[32..], [0xde, 0xad, 0xbe, 0xef]);
        assert_eq!(decode(bytes), Ok(message()));
    }

    #[test]
    fn congestion_is_told_by_the_message_of_rfc_792() {
        let mut out = BytesMut::new();
        let message = Message { news: News::Congestion, ..message() };
        encode(&message, &mut out);
        assert_eq!(out[..2], [4, 0]);
        assert_eq!(decode(out.freeze()), Ok(message));
    }

    #[test]
    fn any_wrong_bit_is_found_and_other_messages_are_not_taken() {
        let right = encoded();
        for bit in 0..LENGTH * 8 {
            let mut bytes = BytesMut::from(&right[..]);
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(decode(bytes.freeze()), Err(DecodeError::Checksum), "bit {bit}");
        }
        assert_eq!(decode(right.slice(..35)), Err(DecodeError::Length { length: 35 }));
        // "Host unreachable", with a checksum that fits.
        let mut other = BytesMut::from(&right[..]);
        other[1] = 1;
        let sum = u16::from_be_bytes([other[2], other[3]]) + 3;
        other[2..4].copy_from_slice(&sum.to_be_bytes());
        assert_eq!(decode(other.freeze()), Err(DecodeError::Other));
    }
}
