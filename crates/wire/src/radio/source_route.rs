//! IPv4 with a source route of Dynamic Source Routing (RFC 791; RFC 4728, section 6): 60 bytes before each segment.
//!
//! The 20 bytes of the IPv4 header, protocol 48, are followed by a DSR Options header, which here always has 40:
//!
//! | bytes | field |
//! |---|---|
//! | 1 | protocol of the payload |
//! | 1 | flow state and reserved: 0 |
//! | 2 | length of what follows in the header: 36 |
//! | 1, 1 | option 96, source route; its length, 2 + 4 for each address |
//! | 2 | flags and salvage: 0; segments left, in the lower six bits |
//! | 4 each, none to seven | the nodes between source and destination |
//! | rest | option 0, PadN |
//!
//! The XSTP paper counts 60 bytes of IP header "including source routing options" (section 7.2). It shows no bytes; the
//! order is that of RFC 4728, of which the paper's authors had a draft. PadN is how a header of any number of hops gets the
//! length that the paper gives to all of them.

use std::net::Ipv4Addr;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use smallvec::SmallVec;

use crate::checksum::Checksum;

/// Bytes of both headers.
pub const HEADER: usize = IPV4 + DSR;
/// Most nodes between source and destination: more addresses would leave no room for the option that pads.
pub const MOST_HOPS: usize = 7;
/// Bytes of the IPv4 header.
const IPV4: usize = 20;
/// Bytes of the DSR Options header.
const DSR: usize = 40;
/// Bytes of it that are counted in its length field.
const OPTIONS: usize = DSR - 4;
/// IP protocol number of DSR.
const PROTOCOL: u8 = 48;
/// The option with the route.
const SOURCE_ROUTE: u8 = 96;
/// The option that pads.
const PAD_N: u8 = 0;
/// Version 4, five words.
const VERSION_AND_LENGTH: u8 = 0x45;
/// Where the checksum stands in the IPv4 header.
const CHECKSUM_AT: usize = 10;
/// Most bytes that a packet carries.
const LONGEST_PAYLOAD: usize = u16::MAX as usize - HEADER;

/// A packet and the way that it goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The node that it comes from.
    pub source: Ipv4Addr,
    /// The node that it is for.
    pub destination: Ipv4Addr,
    /// Number that tells its fragments from others; no node cuts packets.
    pub identification: u16,
    /// How many nodes may still pass it on.
    pub time_to_live: u8,
    /// The nodes between source and destination, in order; at most [`MOST_HOPS`].
    pub hops: SmallVec<[Ipv4Addr; MOST_HOPS]>,
    /// How many of them have not passed it on yet.
    pub segments_left: u8,
    /// IP protocol number of the payload.
    pub protocol: u8,
    /// The segment.
    pub payload: Bytes,
}

/// A packet that cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// More nodes on the way than the header has room for.
    #[error("{hops} nodes between source and destination: the header has room for 7")]
    Hops {
        /// Nodes there are.
        hops: usize,
    },
    /// More nodes left than there are.
    #[error("{left} segments left of a route over {hops} nodes")]
    SegmentsLeft {
        /// What the packet says.
        left: u8,
        /// Nodes there are.
        hops: usize,
    },
    /// More bytes than the length field can tell.
    #[error("a payload of {length} bytes: a packet carries at most 65475")]
    Payload {
        /// Bytes there are.
        length: usize,
    },
}

/// Why bytes are no packet. Tests are made in the order of the variants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Fewer bytes than the headers have.
    #[error("{length} bytes are shorter than the headers of 60")]
    TooShort {
        /// Bytes there are.
        length: usize,
    },
    /// The checksum of the IPv4 header does not match.
    #[error("the checksum of the IPv4 header is wrong")]
    Checksum,
    /// No IPv4 without options, or cut into fragments, or no DSR in it.
    #[error("no whole IPv4 packet with a source route")]
    Ip,
    /// The length in the header is not that of the packet.
    #[error("a length of {stated} in a packet of {length} bytes")]
    Length {
        /// What the header says.
        stated: u16,
        /// Bytes there are.
        length: usize,
    },
    /// The header of DSR is not of the form above.
    #[error("no DSR Options header of 40 bytes with a source route alone")]
    SourceRoute,
}

/// Appends the bytes of a packet to `out`.
///
/// # Errors
///
/// When header fields cannot hold what the packet says; `out` is unchanged then.
pub fn encode(packet: &Packet, out: &mut BytesMut) -> Result<(), EncodeError> {
    let (hops, left, length) = (packet.hops.len(), packet.segments_left, packet.payload.len());
    if hops > MOST_HOPS {
        return Err(EncodeError::Hops { hops });
    }
    if usize::from(left) > hops {
        return Err(EncodeError::SegmentsLeft { left, hops });
    }
    if length > LONGEST_PAYLOAD {
        return Err(EncodeError::Payload { length });
    }
    let mut ip = [0; IPV4];
    let mut fields = &mut ip[..];
    fields.put_u8(VERSION_AND_LENGTH);
    fields.put_u8(0);
    fields.put_u16((HEADER + length) as u16);
    fields.put_u16(packet.identification);
    fields.put_u16(0);
    fields.put_u8(packet.time_to_live);
    fields.put_u8(PROTOCOL);
    fields.put_u16(0);
    fields.put_slice(&packet.source.octets());
    fields.put_slice(&packet.destination.octets());
    let checksum = Checksum::of(&ip);
    ip[CHECKSUM_AT..CHECKSUM_AT + 2].copy_from_slice(&checksum.to_be_bytes());
    out.put_slice(&ip);
    let route = 4 + 4 * hops;
    out.put_u8(packet.protocol);
    out.put_u8(0);
    out.put_u16(OPTIONS as u16);
    out.put_u8(SOURCE_ROUTE);
    out.put_u8((route - 2) as u8);
    out.put_u16(left.into());
    for hop in &packet.hops {
        out.put_slice(&hop.octets());
    }
    let padding = OPTIONS - route;
    out.put_u8(PAD_N);
    out.put_u8((padding - 2) as u8);
    out.put_bytes(0, padding - 2);
    out.put_slice(&packet.payload);
    Ok(())
}

/// Reads a packet. The payload shares the memory of `bytes`.
///
/// # Errors
///
/// Anything that [`encode`] does not produce: see [`DecodeError`].
pub fn decode(mut bytes: Bytes) -> Result<Packet, DecodeError> {
    let length = bytes.len();
    if length < HEADER {
        return Err(DecodeError::TooShort { length });
    }
    if Checksum::of(&bytes[..IPV4]) != 0 {
        return Err(DecodeError::Checksum);
    }
    let payload = bytes.split_off(HEADER);
    let (version, service) = (bytes.get_u8(), bytes.get_u8());
    let (stated, identification, fragment) = (bytes.get_u16(), bytes.get_u16(), bytes.get_u16());
    let (time_to_live, carried, checksum) = (bytes.get_u8(), bytes.get_u8(), bytes.get_u16());
    let plain = [version, service, carried] == [VERSION_AND_LENGTH, 0, PROTOCOL];
    // One's complement has two zeros; a sum of anything but zeros gives the one that is not written.
    if !plain || fragment != 0 || checksum == u16::MAX {
        return Err(DecodeError::Ip);
    }
    if usize::from(stated) != length {
        return Err(DecodeError::Length { stated, length });
    }
    let (source, destination) = (address(&mut bytes), address(&mut bytes));
    let (protocol, flags, options) = (bytes.get_u8(), bytes.get_u8(), bytes.get_u16());
    let (option, route, left) = (bytes.get_u8(), bytes.get_u8(), bytes.get_u16());
    let hops = usize::from(route).wrapping_sub(2) / 4;
    let well_formed = flags == 0
        && usize::from(options) == OPTIONS
        && option == SOURCE_ROUTE
        && hops <= MOST_HOPS
        && usize::from(route) == 2 + 4 * hops
        && usize::from(left) <= hops;
    if !well_formed {
        return Err(DecodeError::SourceRoute);
    }
    let hops = (0..hops).map(|_| address(&mut bytes)).collect();
    let (pad, padding) = (bytes.get_u8(), bytes.get_u8());
    if pad != PAD_N || usize::from(padding) != bytes.len() || bytes.iter().any(|byte| *byte != 0) {
        return Err(DecodeError::SourceRoute);
    }
    let segments_left = left as u8;
    Ok(Packet {
        source,
        destination,
        identification,
        time_to_live,
        hops,
        segments_left,
        protocol,
        payload,
    })
}

/// Takes an address from bytes that have one.
fn address(bytes: &mut Bytes) -> Ipv4Addr {
    Ipv4Addr::from_bits(bytes.get_u32())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn packet(hops: &[Ipv4Addr]) -> Packet {
        Packet {
            source: [44, 0, 0, 1].into(),
            destination: [44, 0, 0, 2].into(),
            identification: 7,
            time_to_live: 64,
            hops: hops.iter().copied().collect(),
            segments_left: hops.len() as u8,
            protocol: 253,
            payload: Bytes::from_static(b"segment"),
        }
    }

    fn bytes_of(packet: &Packet) -> BytesMut {
        let mut out = BytesMut::new();
        assert_eq!(encode(packet, &mut out), Ok(()));
        out
    }

    #[test]
    fn sixty_bytes_stand_before_each_segment_over_however_many_hops() {
        for hops in 0..=MOST_HOPS {
            let whole = packet(&vec![[44, 0, 0, 9].into(); hops]);
            let bytes = bytes_of(&whole);
            assert_eq!(bytes.len(), 60 + whole.payload.len());
            assert_eq!(decode(bytes.freeze()), Ok(whole));
        }
        let eight = packet(&[[44, 0, 0, 9].into(); 8]);
        assert_eq!(encode(&eight, &mut BytesMut::new()), Err(EncodeError::Hops { hops: 8 }));
    }

    #[test]
    fn the_bytes_are_those_of_rfc_791_and_rfc_4728() {
        let bytes = bytes_of(&packet(&[[44, 0, 0, 9].into()]));
        assert_eq!(&bytes[..10], &[0x45, 0, 0, 67, 0, 7, 0, 0, 64, 48]);
        assert_eq!(Checksum::of(&bytes[..20]), 0);
        assert_eq!(&bytes[12..20], &[44, 0, 0, 1, 44, 0, 0, 2]);
        assert_eq!(&bytes[20..32], &[253, 0, 0, 36, 96, 6, 0, 1, 44, 0, 0, 9]);
        assert_eq!(&bytes[32..34], &[0, 26], "26 bytes of padding behind this one");
        assert!(bytes[34..60].iter().all(|byte| *byte == 0));
        assert_eq!(&bytes[60..], b"segment");
    }

    #[test]
    fn what_is_no_packet_is_refused_for_what_is_wrong_with_it() {
        let bytes = bytes_of(&packet(&[[44, 0, 0, 9].into()]));
        let changed = |place: usize, value: u8| {
            let mut bytes = bytes.clone();
            bytes[place] = value;
            if place < IPV4 {
                bytes[CHECKSUM_AT..CHECKSUM_AT + 2].fill(0);
                let checksum = Checksum::of(&bytes[..IPV4]);
                bytes[CHECKSUM_AT..CHECKSUM_AT + 2].copy_from_slice(&checksum.to_be_bytes());
            }
            decode(bytes.freeze())
        };
        assert_eq!(
            decode(bytes.clone().freeze().slice(..59)),
            Err(DecodeError::TooShort { length: 59 })
        );
        let mut damaged = bytes.clone();
        damaged[15] ^= 1;
        assert_eq!(decode(damaged.freeze()), Err(DecodeError::Checksum));
        for (place, value) in [(0, 0x46), (1, 4), (6, 0x20), (9, 17)] {
            assert_eq!(changed(place, value), Err(DecodeError::Ip), "byte {place}");
        }
        assert_eq!(changed(3, 66), Err(DecodeError::Length { stated: 66, length: 67 }));
        for (place, value) in
            [(21, 1), (23, 40), (24, 1), (25, 7), (25, 34), (27, 2), (32, 1), (33, 25), (40, 1)]
        {
            assert_eq!(changed(place, value), Err(DecodeError::SourceRoute), "byte {place}");
        }
    }

    proptest! {
        #[test]
        fn every_packet_survives_its_encoding(
            addresses in prop::collection::vec(any::<[u8; 4]>(), 2..10),
            (identification, time_to_live, left, protocol) in any::<(u16, u8, u8, u8)>(),
            payload in prop::collection::vec(any::<u8>(), 0..300),
        ) {
            let hops = addresses[2..].iter().map(|hop| Ipv4Addr::from(*hop));
            let whole = Packet {
                source: addresses[0].into(),
                destination: addresses[1].into(),
                identification,
                time_to_live,
                segments_left: left % (addresses.len() as u8 - 1),
                hops: hops.collect(),
                protocol,
                payload: payload.into(),
            };
            let bytes = bytes_of(&whole);
            prop_assert_eq!(bytes.len(), HEADER + whole.payload.len());
            prop_assert_eq!(decode(bytes.freeze()), Ok(whole));
        }
    }
}
