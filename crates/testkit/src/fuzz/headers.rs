//! Bytes to a UDP datagram and to an XCP header, and back.

use bentpipe_wire::{udp, xcp};
use bytes::{Bytes, BytesMut};

use super::ADDRESSES;

/// Decodes the input as a UDP datagram as it is, and again with the length and the checksum that belong to it.
///
/// # Panics
///
/// If something that decodes encodes to other bytes.
pub fn udp_datagram(data: &[u8]) {
    for bytes in [Bytes::copy_from_slice(data), with_udp_checksum(data).into()] {
        let Ok(datagram) = udp::decode(bytes.clone(), &ADDRESSES) else { continue };
        let mut again = BytesMut::new();
        udp::encode(&datagram, &ADDRESSES, &mut again);
        assert_eq!(again, bytes, "encoding of {datagram:?}");
    }
}

/// The input with the length and the checksum of a datagram put in their places; unchanged if it is too short to have
/// them.
pub fn with_udp_checksum(data: &[u8]) -> Vec<u8> {
    let Some(([a, b, c, d, ..], payload)) = data.split_first_chunk::<8>() else {
        return data.to_vec();
    };
    let source_port = u16::from_be_bytes([*a, *b]);
    let destination_port = u16::from_be_bytes([*c, *d]);
    let payload = Bytes::copy_from_slice(payload);
    let mut bytes = BytesMut::new();
    udp::encode(&udp::Datagram { source_port, destination_port, payload }, &ADDRESSES, &mut bytes);
    bytes.to_vec()
}

/// Decodes the input as the congestion header of XCP.
///
/// # Panics
///
/// If something that decodes is encoded to what is decoded otherwise.
pub fn xcp_header(data: &[u8]) {
    let Ok(header) = xcp::Header::decode(data) else { return };
    let mut again = BytesMut::new();
    header.encode(&mut again);
    assert_eq!(xcp::Header::decode(&again), Ok(header));
}

/// A datagram, and headers with and without a request.
pub fn header_seeds() -> [Vec<Vec<u8>>; 2] {
    let payload = Bytes::from_static(b"payload");
    let mut datagram = BytesMut::new();
    let whole = udp::Datagram { source_port: 4000, destination_port: 53, payload };
    udp::encode(&whole, &ADDRESSES, &mut datagram);
    let header = |request| {
        let mut bytes = BytesMut::new();
        let reverse_feedback = xcp::RateChange::default();
        xcp::Header { protocol: 6, request, reverse_feedback }.encode(&mut bytes);
        bytes.to_vec()
    };
    [vec![datagram.to_vec()], vec![header(None), header(Some(xcp::Request::default()))]]
}
