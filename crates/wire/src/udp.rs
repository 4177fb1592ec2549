//! Datagrams of UDP (RFC 768).

use bytes::{Buf, BufMut, Bytes, BytesMut};

use crate::{Kind, PseudoHeader};

/// IP protocol number of UDP.
pub const PROTOCOL: u8 = 17;
/// Length of the header in bytes.
const HEADER: usize = 8;
/// Where the checksum stands.
const CHECKSUM_AT: usize = 6;

/// One datagram.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Datagram {
    /// Port of the end that sent it.
    pub source_port: u16,
    /// Port of the end it is meant for.
    pub destination_port: u16,
    /// The user bytes, at most [`Datagram::LONGEST_PAYLOAD`].
    pub payload: Bytes,
}

impl Datagram {
    /// Most user bytes of a datagram in IPv4.
    pub const LONGEST_PAYLOAD: usize = 65_535 - 20 - HEADER;

    /// Length of header and payload in bytes.
    #[inline]
    pub const fn wire_len(&self) -> usize {
        HEADER + self.payload.len()
    }

    /// What it carries: data.
    #[inline]
    pub const fn kind(&self) -> Kind {
        Kind::DATA
    }
}

/// Why bytes are no datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Fewer bytes than the header has.
    #[error("{length} bytes are shorter than the header of 8")]
    TooShort {
        /// Bytes there are.
        length: usize,
    },
    /// The checksum does not match, or there is none.
    #[error("checksum {found:#06x} where the bytes give {computed:#06x}")]
    Checksum {
        /// What the header says.
        found: u16,
        /// What the other bytes and the pseudo header give.
        computed: u16,
    },
    /// The length in the header is not that of the datagram.
    #[error("a length of {stated} in a datagram of {length} bytes")]
    Length {
        /// What the header says.
        stated: u16,
        /// Bytes there are.
        length: usize,
    },
}

/// The checksum of a datagram's bytes; a sum of zero is written as its other form, for zero stands
/// for none.
fn checksum(bytes: &[u8], pseudo: &PseudoHeader) -> u16 {
    match PseudoHeader::checksum(Some(pseudo), PROTOCOL, bytes, CHECKSUM_AT) {
        0 => 0xffff,
        sum => sum,
    }
}

/// Appends the bytes of a datagram, [`Datagram::wire_len`] of them, to `out`.
pub fn encode(datagram: &Datagram, pseudo: &PseudoHeader, out: &mut BytesMut) {
    let start = out.len();
    out.reserve(datagram.wire_len());
    out.put_u16(datagram.source_port);
    out.put_u16(datagram.destination_port);
    out.put_u16(datagram.wire_len() as u16);
    out.put_u16(0); // the checksum, below
    out.put_slice(&datagram.payload);
    let sum = checksum(&out[start..], pseudo);
    out[start + CHECKSUM_AT..start + CHECKSUM_AT + 2].copy_from_slice(&sum.to_be_bytes());
}

/// Reads a datagram. The checksum comes first and is required. The payload shares the memory of
/// `bytes`.
///
/// # Errors
///
/// See [`DecodeError`].
pub fn decode(mut bytes: Bytes, pseudo: &PseudoHeader) -> Result<Datagram, DecodeError> {
    let length = bytes.len();
    let Some((mut header, _)) = bytes.split_at_checked(HEADER) else {
        return Err(DecodeError::TooShort { length });
    };
    let source_port = header.get_u16();
    let destination_port = header.get_u16();
    let stated = header.get_u16();
    let found = header.get_u16();
    let computed = checksum(&bytes, pseudo);
    if found != computed {
        return Err(DecodeError::Checksum { found, computed });
    }
    if usize::from(stated) != length {
        return Err(DecodeError::Length { stated, length });
    }
    bytes.advance(HEADER);
    Ok(Datagram { source_port, destination_port, payload: bytes })
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;

    fn pseudo() -> PseudoHeader {
        let address = |last| IpAddr::V4(Ipv4Addr::new(10, 0, 0, last));
        PseudoHeader { source: address(1), destination: address(2) }
    }

    fn bytes(payload: &'static [u8]) -> BytesMut {
        let payload = Bytes::from_static(payload);
        let datagram = Datagram { source_port: 4000, destination_port: 53, payload };
        let mut bytes = BytesMut::new();
        encode(&datagram, &pseudo(), &mut bytes);
        assert_eq!(decode(bytes.clone().freeze(), &pseudo()), Ok(datagram));
        bytes
    }

    #[test]
    fn a_datagram_is_written_as_the_rfc_draws_it() {
        // The sum by hand: addresses, protocol, length, ports, length, payload.
        let sum = 0x0a00_u32 + 1 + 0x0a00 + 2 + 17 + 11 + 4000 + 53 + 11 + 0x6162 + 0x6300;
        let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
        let [high, low] = sum.to_be_bytes();
        assert_eq!(&bytes(b"abc")[..], [0x0f, 0xa0, 0, 53, 0, 11, high, low, b'a', b'b', b'c']);
        assert_eq!(bytes(b"").len(), 8);
    }

    #[test]
    fn every_wrong_bit_is_found() {
        let right = bytes(b"twelve bytes");
        for bit in 0..right.len() * 8 {
            let mut wrong = right.clone();
            wrong[bit / 8] ^= 1 << (bit % 8);
            assert!(decode(wrong.freeze(), &pseudo()).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn what_is_cut_is_refused() {
        let right = bytes(b"twelve bytes").freeze();
        assert_eq!(decode(right.slice(..7), &pseudo()), Err(DecodeError::TooShort { length: 7 }));
        assert!(decode(right.slice(..19), &pseudo()).is_err());
        let mut long = BytesMut::from(&right[..]);
        long.put_u16(0);
        assert!(decode(long.freeze(), &pseudo()).is_err(), "bytes of zero at the end");
    }

    #[test]
    fn a_sum_of_zero_is_not_written_as_none() {
        // The payload is the complement of everything else.
        let zero = bytes(&[0, 0]);
        let fill = [zero[6], zero[7]];
        let datagram = Datagram {
            source_port: 4000,
            destination_port: 53,
            payload: Bytes::copy_from_slice(&fill),
        };
        let mut bytes = BytesMut::new();
        encode(&datagram, &pseudo(), &mut bytes);
        assert_eq!(bytes[6..8], [0xff, 0xff]);
        assert_eq!(decode(bytes.freeze(), &pseudo()), Ok(datagram));
    }
}
