//! The test vectors of `docs/protocols/xstp.md`, in both directions.

mod properties;
mod syntax;

use bentpipe_units::Seq32;
use bytes::{Bytes, BytesMut};
use smallvec::smallvec;

use super::*;
use crate::checksum::Checksum;
use crate::{Kind, PseudoHeader};

/// Name, bytes in hexadecimal and typed form of each vector. Ports 5001 and 5002, SQ 7, no
/// pseudo-header.
fn vectors() -> Vec<(&'static str, &'static str, Segment)> {
    let begin = Begin { mss: 1000, many_gaps: true, ts: 10000, ts_echo: 0 };
    let begin_ack = Begin { ts: 12000, ts_echo: 10000, ..begin };
    let data = |bytes: &'static [u8]| Flow { payload: bytes.into(), ..Flow::default() };
    let stat = Report {
        kind: ReportKind::Stat,
        ts_echo: 20000,
        received_at: None,
        next: Seq32::new(3),
        more: false,
        gaps: smallvec![Gap { lower: 0, upper: 1 }, Gap { lower: 2, upper: 4 }],
    };
    let ustat = Report {
        kind: ReportKind::Ustat,
        ts_echo: 0,
        gaps: smallvec![Gap { lower: 0, upper: 2 }],
        ..stat.clone()
    };
    let end_ack = Flow { end_ack: Some(Seq32::new(10000)), ..Flow::default() };
    vec![
        (
            "BGN",
            "1389138a10100040 00000000969d0707 03e8000000002710 00000000",
            // The published bytes have the flag byte 0.
            ahead(0, Body::Begin(Begin { many_gaps: false, ..begin })),
        ),
        (
            "BGNAK",
            "138a138910200040 0000000067ad0707 03e8000000002ee0 00002710",
            back(64, Body::BeginAck(Begin { many_gaps: false, ..begin_ack })),
        ),
        (
            "DATA",
            "1389138a10010040 0000000580cd0407 68656c6c6f",
            ahead(5, Body::Flow(data(b"hello"))),
        ),
        (
            "DATA and POLL",
            "1389138a10030040 00000006277f0507 00004e20776f726c6421",
            ahead(6, Body::Flow(Flow { poll: Some(20000), ..data(b"world!") })),
        ),
        (
            "POLL",
            "1389138a10020040 0000000772e10507 000050bb",
            ahead(7, Body::Flow(Flow { poll: Some(20667), ..Flow::default() })),
        ),
        (
            "STAT",
            "138a13891004003c 0000000071790907 00004e2000000003 0002000000000001 00020004",
            back(60, Body::Flow(Flow { report: Some(stat), ..Flow::default() })),
        ),
        (
            "USTAT",
            "138a13891008003c 00000000c09b0807 0000000000000003 0001000000000002",
            back(60, Body::Flow(Flow { report: Some(ustat), ..Flow::default() })),
        ),
        (
            "END",
            "1389138a10400040 000027109d550407",
            ahead(10000, Body::Flow(Flow { end: true, ..Flow::default() })),
        ),
        ("ENDAK", "138a138910800040 000000009c150507 00002710", back(64, Body::Flow(end_ack))),
        (
            "RST",
            "1389138a11000000 00000000c2e40507 00000001",
            Segment { window: 0, ..ahead(0, Body::Reset(ResetReason::NoSession)) },
        ),
    ]
}

/// A segment from port 5001 to 5002.
fn ahead(seq: u32, body: Body) -> Segment {
    Segment {
        source_port: 5001,
        destination_port: 5002,
        sq: 7,
        window: 64,
        seq: Seq32::new(seq),
        body,
    }
}

/// A segment from port 5002 to 5001.
fn back(window: u16, body: Body) -> Segment {
    Segment { source_port: 5002, destination_port: 5001, window, ..ahead(0, body) }
}

fn from_hex(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.chars().filter_map(|c| c.to_digit(16)).map(|d| d as u8).collect();
    digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// The bytes of the vector with this name.
fn vector(name: &str) -> Vec<u8> {
    let all = vectors();
    from_hex(all.iter().find(|(vector, ..)| *vector == name).expect("name of a vector").1)
}

fn encoded(segment: &Segment, pseudo: Option<&PseudoHeader>) -> Bytes {
    let mut out = BytesMut::new();
    encode(segment, pseudo, &mut out);
    out.freeze()
}

/// The same bytes with the checksum that belongs to them.
fn repaired(mut bytes: Vec<u8>) -> Bytes {
    if bytes.len() >= 16 {
        bytes[12..14].fill(0);
        let sum = Checksum::of(&bytes);
        bytes[12..14].copy_from_slice(&sum.to_be_bytes());
    }
    bytes.into()
}

#[test]
fn every_vector_encodes_to_its_published_bytes() {
    for (name, hex, segment) in vectors() {
        assert_eq!(encoded(&segment, None), from_hex(hex), "{name}");
    }
}

#[test]
fn every_vector_decodes_to_its_typed_form() {
    for (name, hex, segment) in vectors() {
        assert_eq!(decode(from_hex(hex).into(), None), Ok(segment), "{name}");
    }
}

#[test]
fn the_length_of_every_vector_is_known_without_encoding_it() {
    for (name, hex, segment) in vectors() {
        assert_eq!(segment.wire_len(), from_hex(hex).len(), "{name}");
    }
}

#[test]
fn every_single_bit_flip_in_every_vector_fails_the_checksum() {
    for (name, hex, _) in vectors() {
        let bytes = from_hex(hex);
        for bit in 0..8 * bytes.len() {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 0x80 >> (bit % 8);
            let result = decode(flipped.into(), None);
            assert!(
                matches!(result, Err(DecodeError::Checksum { .. })),
                "{name}, bit {bit}: {result:?}"
            );
        }
    }
}

#[test]
fn encoding_appends_to_what_is_there() {
    let (_, hex, segment) = vectors().swap_remove(2);
    let mut out = BytesMut::from(&b"odd"[..]);
    encode(&segment, None, &mut out);
    assert_eq!(out[..3], b"odd"[..]);
    assert_eq!(out[3..], from_hex(hex));
}

#[test]
fn the_payload_shares_the_memory_of_the_segment() {
    let bytes = Bytes::from(vector("DATA"));
    let payload = bytes.slice(16..);
    let Ok(Segment { body: Body::Flow(flow), .. }) = decode(bytes, None) else {
        panic!("DATA is a flow");
    };
    assert_eq!(flow.payload.as_ptr(), payload.as_ptr());
}

/// A STAT with `count` gaps of one number, one number apart.
fn stat_with_gaps(count: u16) -> Flow {
    let gaps = (0..count).map(|n| Gap { lower: 2 * n, upper: 2 * n + 1 }).collect();
    Flow {
        report: Some(Report {
            kind: ReportKind::Stat,
            ts_echo: 1,
            received_at: None,
            next: Seq32::new(9),
            more: false,
            gaps,
        }),
        ..Flow::default()
    }
}

#[test]
fn a_list_of_the_most_gaps_fits_beside_every_other_block() {
    let full = Flow {
        payload: Bytes::from_static(b"x"),
        poll: Some(2),
        end_ack: Some(Seq32::new(3)),
        ..stat_with_gaps(Report::MOST_GAPS as u16)
    };
    let segment = ahead(8, Body::Flow(full));
    assert_eq!(segment.header_len(), 255 * 4);
    assert_eq!(decode(encoded(&segment, None), None), Ok(segment));
}

#[test]
fn a_longer_list_is_cut_and_says_more() {
    for count in [Report::MOST_GAPS as u16 + 1, 300, 30_000] {
        let long = ahead(8, Body::Flow(stat_with_gaps(count)));
        let mut cut = stat_with_gaps(Report::MOST_GAPS as u16);
        cut.report.as_mut().expect("a report").more = true;
        let bytes = encoded(&long, None);
        assert_eq!(bytes.len(), long.wire_len());
        assert_eq!(decode(bytes, None), Ok(ahead(8, Body::Flow(cut))));
    }
}

#[test]
fn over_ip_the_checksum_covers_what_tcp_covers() {
    let (_, _, segment) = vectors().swap_remove(2);
    let v4 = PseudoHeader { source: [192, 0, 2, 1].into(), destination: [198, 51, 100, 7].into() };
    let v6 = PseudoHeader {
        source: [0x2001, 0xdb8, 0, 0, 0, 0, 0, 1].into(),
        destination: [0x2001, 0xdb8, 0, 0, 0, 0, 0, 0xbeef].into(),
    };
    let length = segment.wire_len() as u8;
    let v4_bytes = [192, 0, 2, 1, 198, 51, 100, 7, 0, 253, 0, length].to_vec();
    let v6_bytes = from_hex("20010db8000000000000000000000001 20010db800000000000000000000beef")
        .into_iter()
        .chain([0, 0, 0, length, 0, 0, 0, 253])
        .collect();
    for (pseudo, mut covered) in [(v4, v4_bytes), (v6, v6_bytes)] {
        let bytes = encoded(&segment, Some(&pseudo));
        covered.extend_from_slice(&bytes);
        assert_eq!(Checksum::of(&covered), 0, "a sum that includes its checksum is all ones");
        assert_eq!(decode(bytes.clone(), Some(&pseudo)), Ok(segment.clone()));
        assert!(matches!(decode(bytes, None), Err(DecodeError::Checksum { .. })));
    }
}

#[test]
fn a_segment_delivered_to_another_address_fails_the_checksum() {
    let (_, _, segment) = vectors().swap_remove(4);
    let meant = PseudoHeader { source: [10, 0, 0, 1].into(), destination: [10, 0, 0, 2].into() };
    let other = PseudoHeader { destination: [10, 0, 0, 3].into(), ..meant };
    let result = decode(encoded(&segment, Some(&meant)), Some(&other));
    assert!(matches!(result, Err(DecodeError::Checksum { .. })));
}

#[test]
fn the_types_of_a_segment_are_its_kind() {
    for (name, hex, segment) in vectors() {
        let bytes = from_hex(hex);
        let types = u16::from_be_bytes([bytes[4] & 0x0f, bytes[5]]);
        assert_eq!(Kind::from_bits(types), segment.kind(), "{name}");
    }
}
