//! Bytes to a message of ICMP and back.

use std::net::Ipv4Addr;

use bentpipe_wire::checksum::Checksum;
use bentpipe_wire::icmp::{LENGTH, Message, News, Quoted, decode, encode};
use bytes::{Bytes, BytesMut};

/// Decodes the input as it is and again, cut to its length, with the checksum that belongs to it.
///
/// # Panics
///
/// If something that decodes encodes to a message that is not equal.
pub fn icmp_message(data: &[u8]) {
    round_trip(Bytes::copy_from_slice(data));
    round_trip(with_icmp_checksum(data).into());
}

fn round_trip(bytes: Bytes) {
    let Ok(message) = decode(bytes) else { return };
    let mut again = BytesMut::new();
    encode(&message, &mut again);
    assert_eq!(decode(again.freeze()), Ok(message));
}

/// The input, cut to the length of a message, with its checksum put in its place; unchanged if it is too short.
pub fn with_icmp_checksum(data: &[u8]) -> Vec<u8> {
    let mut bytes = data.to_vec();
    if bytes.len() >= LENGTH {
        bytes.truncate(LENGTH);
        bytes[2..4].fill(0);
        let sum = Checksum::of(&bytes);
        bytes[2..4].copy_from_slice(&sum.to_be_bytes());
    }
    bytes
}

/// The bytes of messages about packets of two protocols.
pub fn icmp_seeds() -> Vec<Vec<u8>> {
    let message = |protocol, mtu| {
        let packet = Quoted {
            source: Ipv4Addr::new(10, 0, 0, 1),
            destination: Ipv4Addr::new(10, 0, 0, 2),
            protocol,
            length: 1500,
            ports: (49_152, 5002),
            number: 7,
        };
        let mut out = BytesMut::new();
        encode(&Message { news: News::TooBig { mtu }, packet }, &mut out);
        out.to_vec()
    };
    vec![message(6, 1000), message(132, 0)]
}
