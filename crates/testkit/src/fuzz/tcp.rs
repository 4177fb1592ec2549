//! Bytes to a TCP segment and back.

use std::net::{IpAddr, Ipv4Addr};

use bentpipe_units::Seq32;
use bentpipe_wire::PseudoHeader;
use bentpipe_wire::checksum::Checksum;
use bentpipe_wire::tcp::{
    Flags, Options, PROTOCOL, SackBlock, Scps, ScpsCapabilities, Segment, Snack, SynOptions,
    Timestamps, decode, encode,
};
use bytes::{Bytes, BytesMut};

/// Length of the fixed TCP header in bytes.
const HEADER: usize = 20;
const SOURCE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const DESTINATION: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
/// Addresses that the checksum of every TCP input covers.
pub const ADDRESSES: PseudoHeader =
    PseudoHeader { source: IpAddr::V4(SOURCE), destination: IpAddr::V4(DESTINATION) };

/// Decodes the input as it is and again with the checksum that belongs to it.
///
/// # Panics
///
/// If something that decodes encodes to a segment that is not equal.
pub fn tcp_segment(data: &[u8]) {
    round_trip(Bytes::copy_from_slice(data));
    round_trip(with_tcp_checksum(data).into());
}

/// Options come in many forms and are written in one, so that it is the segments that must be equal.
fn round_trip(bytes: Bytes) {
    let Ok(segment) = decode(bytes, &ADDRESSES) else { return };
    let again = encoded(&segment);
    assert_eq!(segment.wire_len(), again.len(), "length of {segment:?}");
    assert_eq!(decode(again.into(), &ADDRESSES), Ok(segment));
}

/// The input with the checksum of a TCP segment between the [`ADDRESSES`] put in its place; unchanged
/// if it is too short to have one.
pub fn with_tcp_checksum(data: &[u8]) -> Vec<u8> {
    let mut bytes = data.to_vec();
    if bytes.len() >= HEADER {
        bytes[16..18].fill(0);
        let mut sum = Checksum::new();
        sum.add(&SOURCE.octets());
        sum.add(&DESTINATION.octets());
        sum.add(&[0, PROTOCOL]);
        sum.add(&(bytes.len() as u32).to_be_bytes());
        sum.add(&bytes);
        bytes[16..18].copy_from_slice(&sum.finish().to_be_bytes());
    }
    bytes
}

/// The bytes of TCP segments of every type and with every option.
pub fn tcp_seeds() -> Vec<Vec<u8>> {
    let ack = Segment {
        source_port: 5001,
        destination_port: 80,
        seq: Seq32::new(1000),
        ack: Seq32::new(2000),
        flags: Flags::ACK,
        window: 502,
        ..Segment::default()
    };
    let syn = SynOptions {
        mss: Some(1460),
        window_shift: Some(7),
        sack_permitted: true,
        scps: Some(ScpsCapabilities { bits: 0x60, connection_id: 1 }),
    };
    let block = |n: u32| SackBlock { first: Seq32::new(100 * n), end: Seq32::new(100 * n + 50) };
    let sack = |count| Options::Sack((1..=count).map(block).collect());
    let snack = Snack { hole_offset: 1, hole_size: 2, vector: (0..9).collect() };
    let timestamps = Some(Timestamps { value: 10_000, echo: 20_000 });
    let payload = Bytes::from_static(b"hello, world");
    let segments = [
        Segment { flags: Flags::SYN, options: Options::Syn(syn), timestamps, ..ack.clone() },
        Segment {
            flags: Flags::SYN.with(Flags::ACK),
            options: Options::Syn(SynOptions { scps: None, window_shift: None, ..syn }),
            ..ack.clone()
        },
        Segment { payload: payload.clone(), ..ack.clone() },
        Segment { payload, timestamps, flags: Flags::PSH.with(Flags::ACK), ..ack.clone() },
        Segment { options: sack(3), timestamps, ..ack.clone() },
        Segment { options: sack(4), ..ack.clone() },
        Segment {
            options: Options::Snack(snack),
            timestamps,
            scps: Scps::CORRUPTION_EXPERIENCED,
            ..ack.clone()
        },
        Segment { scps: Scps::RECORD_BOUNDARY, flags: Flags::FIN.with(Flags::ACK), ..ack.clone() },
        Segment { flags: Flags::RST, ..ack.clone() },
        ack,
    ];
    segments.iter().map(encoded).collect()
}

fn encoded(segment: &Segment) -> Vec<u8> {
    let mut out = BytesMut::new();
    encode(segment, &ADDRESSES, &mut out);
    out.to_vec()
}
