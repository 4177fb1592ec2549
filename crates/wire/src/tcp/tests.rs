//! Segments whose bytes were written down by hand, encoded and decoded.

mod properties;
mod syntax;

use bentpipe_units::Seq32;
use bytes::{Bytes, BytesMut};

use super::*;
use crate::checksum::Checksum;
use crate::{Ecn, Kind, PseudoHeader};

const CLIENT: [u8; 4] = [192, 0, 2, 1];
const SERVER: [u8; 4] = [198, 51, 100, 7];

/// Name, bytes in hexadecimal, typed form and kind. Even ones go from client to server; the bytes
/// are ports, SEQ and ACK, then the rest of the fixed header, options, payload.
fn vectors() -> Vec<(&'static str, &'static str, Segment, Kind)> {
    let block = |first, end| SackBlock { first: Seq32::new(first), end: Seq32::new(end) };
    let blocks = [
        block(0x0102_035a, 0x0102_03aa),
        block(0x0102_040a, 0x0102_045a),
        block(0xffff_fffa, 5), // across the wrap
    ];
    let psh_ack = Flags::PSH.with(Flags::ACK);
    vec![
        (
            "SYN with everything",
            "1389005001020304 00000000 b0c2ffff980c0000 \
             020405b4 0402080a0000271000000000 01030307 14046000",
            Segment {
                ack: Seq32::new(0),
                flags: Flags::SYN.with(Flags::ECE).with(Flags::CWR),
                window: 65_535,
                timestamps: Some(Timestamps { value: 10_000, echo: 0 }),
                options: Options::Syn(SynOptions {
                    mss: Some(1460),
                    window_shift: Some(7),
                    sack_permitted: true,
                    scps: Some(ScpsCapabilities {
                        bits: ScpsCapabilities::SNACK1 | ScpsCapabilities::SNACK2,
                        connection_id: 0,
                    }),
                }),
                ..ahead(0x0102_0304)
            },
            Kind::BGN,
        ),
        (
            "SYN-ACK",
            "00501389fffffff0 01020305 705210006fc30000 020405b4 04020000",
            Segment {
                seq: Seq32::new(0xffff_fff0),
                ack: Seq32::new(0x0102_0305),
                flags: Flags::SYN.with(Flags::ACK).with(Flags::ECE),
                window: 4096,
                options: Options::Syn(SynOptions {
                    mss: Some(1460),
                    sack_permitted: true,
                    ..SynOptions::default()
                }),
                ..back()
            },
            Kind::BGNAK,
        ),
        (
            "data with timestamps",
            "1389005001020305 fffffff1 801801f6d3c90000 0101080a00002a3000002ee0 68656c6c6f",
            Segment {
                flags: psh_ack,
                timestamps: Some(Timestamps { value: 10_800, echo: 12_000 }),
                payload: Bytes::from_static(b"hello"),
                ..ahead(0x0102_0305)
            },
            Kind::DATA,
        ),
        (
            "three SACK blocks",
            "00501389fffffff1 0102030a f01020006ff10000 0101080a00002ee100002a30 \
             0101051a 0102035a010203aa 0102040a0102045a fffffffa00000005",
            Segment {
                timestamps: Some(Timestamps { value: 12_001, echo: 10_800 }),
                options: Options::Sack(blocks.into_iter().collect()),
                ..back()
            },
            Kind::ACK,
        ),
        (
            "FIN that ends a record",
            "138900500102030a fffffff1 601101f683c40000 16020000",
            Segment {
                flags: Flags::FIN.with(Flags::ACK),
                scps: Scps::RECORD_BOUNDARY,
                ..ahead(0x0102_030a)
            },
            Kind::END,
        ),
        (
            "SNACK under corruption",
            "00501389fffffff1 0102030a a01020000e7f0000 1702080a00002ee100002a30 15080001 0002a005",
            Segment {
                timestamps: Some(Timestamps { value: 12_001, echo: 10_800 }),
                scps: Scps::CORRUPTION_EXPERIENCED,
                options: Options::Snack(Snack {
                    hole_offset: 1,
                    hole_size: 2,
                    vector: [0xa0, 0x05].into_iter().collect(),
                }),
                ..back()
            },
            Kind::ACK,
        ),
        (
            "urgent data",
            "1389005000000007 00000009 503801f68c6c0002 2121",
            Segment {
                ack: Seq32::new(9),
                flags: psh_ack.with(Flags::URG),
                urgent: 2,
                payload: Bytes::from_static(b"!!"),
                ..ahead(7)
            },
            Kind::DATA,
        ),
        (
            "RST",
            "00501389fffffff1 00000000 50040000afd90000",
            Segment { ack: Seq32::new(0), flags: Flags::RST, window: 0, ..back() },
            Kind::RST,
        ),
    ]
}

/// A segment from the client.
fn ahead(seq: u32) -> Segment {
    Segment {
        source_port: 5001,
        destination_port: 80,
        seq: Seq32::new(seq),
        ack: Seq32::new(0xffff_fff1),
        window: 502,
        ..Segment::default()
    }
}

/// A pure acknowledgement from the server.
fn back() -> Segment {
    Segment {
        source_port: 80,
        destination_port: 5001,
        seq: Seq32::new(0xffff_fff1),
        ack: Seq32::new(0x0102_030a),
        flags: Flags::ACK,
        window: 8192,
        ..Segment::default()
    }
}

/// The addresses around a segment.
fn pseudo(segment: &Segment) -> PseudoHeader {
    let [source, destination] =
        if segment.source_port == 80 { [SERVER, CLIENT] } else { [CLIENT, SERVER] };
    PseudoHeader { source: source.into(), destination: destination.into() }
}

fn from_hex(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.chars().filter_map(|c| c.to_digit(16)).map(|d| d as u8).collect();
    digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

fn encoded(segment: &Segment, pseudo: &PseudoHeader) -> Bytes {
    let mut out = BytesMut::new();
    encode(segment, pseudo, &mut out);
    out.freeze()
}

/// The same bytes with the checksum that belongs to them.
fn repaired(mut bytes: Vec<u8>, pseudo: &PseudoHeader) -> Bytes {
    if bytes.len() >= 20 {
        let sum = PseudoHeader::checksum(Some(pseudo), PROTOCOL, &bytes, 16);
        bytes[16..18].copy_from_slice(&sum.to_be_bytes());
    }
    bytes.into()
}

#[test]
fn every_vector_encodes_to_its_bytes() {
    for (name, hex, segment, _) in vectors() {
        assert_eq!(encoded(&segment, &pseudo(&segment)), from_hex(hex), "{name}");
    }
}

#[test]
fn every_vector_decodes_to_its_typed_form() {
    for (name, hex, segment, _) in vectors() {
        assert_eq!(decode(from_hex(hex).into(), &pseudo(&segment)), Ok(segment), "{name}");
    }
}

#[test]
fn length_and_kind_of_every_vector_are_known_without_encoding_it() {
    for (name, hex, segment, kind) in vectors() {
        let length = from_hex(hex).len();
        assert_eq!(segment.measure(), (length, kind), "{name}");
        assert_eq!((segment.wire_len(), segment.kind()), (length, kind), "{name}");
        assert_eq!(segment.opens(), kind == Kind::BGN, "{name}");
    }
}

#[test]
fn every_single_bit_flip_in_every_vector_fails_the_checksum() {
    for (name, hex, segment, _) in vectors() {
        let bytes = from_hex(hex);
        for bit in 0..8 * bytes.len() {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 0x80 >> (bit % 8);
            let result = decode(flipped.into(), &pseudo(&segment));
            assert!(
                matches!(result, Err(DecodeError::Checksum { .. })),
                "{name}, bit {bit}: {result:?}"
            );
        }
    }
}

#[test]
fn a_segment_takes_a_number_for_each_byte_and_one_each_for_syn_and_fin() {
    let lengths = vectors().into_iter().map(|(name, .., segment, _)| (name, segment.seq_len()));
    let expected = [1, 1, 5, 0, 1, 0, 2, 0];
    for ((name, length), expected) in lengths.zip(expected) {
        assert_eq!(length, expected, "{name}");
    }
}

#[test]
fn a_segment_that_does_several_things_is_of_all_these_kinds() {
    let data = Bytes::from_static(b"last words");
    let with = |flags| Segment { flags, payload: data.clone(), ..ahead(1) }.kind();
    assert_eq!(with(Flags::FIN.with(Flags::ACK)), Kind::DATA.with(Kind::END));
    assert_eq!(with(Flags::SYN), Kind::DATA.with(Kind::BGN));
    assert_eq!(with(Flags::RST.with(Flags::ACK)), Kind::DATA.with(Kind::RST));
    assert_eq!(Segment::default().kind(), Kind::NONE);
}

#[test]
fn a_syn_that_acknowledges_closes_or_resets_opens_nothing() {
    for other in [Flags::ACK, Flags::FIN, Flags::RST] {
        assert!(!Segment { flags: Flags::SYN.with(other), ..ahead(1) }.opens());
    }
}

#[test]
fn encoding_appends_to_what_is_there() {
    let (_, hex, segment, _) = vectors().swap_remove(2);
    let mut out = BytesMut::from(&b"odd"[..]);
    encode(&segment, &pseudo(&segment), &mut out);
    assert_eq!(out[..3], b"odd"[..]);
    assert_eq!(out[3..], from_hex(hex));
}

#[test]
fn the_payload_shares_the_memory_of_the_segment() {
    let (_, hex, segment, _) = vectors().swap_remove(2);
    let bytes = Bytes::from(from_hex(hex));
    let payload = bytes.slice(32..);
    let decoded = decode(bytes, &pseudo(&segment)).expect("a segment");
    assert_eq!(decoded.payload.as_ptr(), payload.as_ptr());
}

#[test]
fn the_mark_of_a_router_is_not_among_the_bytes() {
    let (_, hex, segment, _) = vectors().swap_remove(2);
    let marked = Segment { ecn: Ecn::Congestion, ..segment };
    assert_eq!(encoded(&marked, &pseudo(&marked)), from_hex(hex));
}

#[test]
fn the_checksum_covers_the_addresses_of_either_family() {
    let (_, _, segment, _) = vectors().swap_remove(2);
    let v6 = PseudoHeader {
        source: [0x2001, 0xdb8, 0, 0, 0, 0, 0, 1].into(),
        destination: [0x2001, 0xdb8, 0, 0, 0, 0, 0, 0xbeef].into(),
    };
    let length = segment.wire_len() as u8;
    let v4_bytes = [&CLIENT[..], &SERVER, &[0, 6, 0, length]].concat();
    let v6_bytes = from_hex("20010db8000000000000000000000001 20010db800000000000000000000beef")
        .into_iter()
        .chain([0, 0, 0, length, 0, 0, 0, 6])
        .collect();
    for (pseudo, mut covered) in [(pseudo(&segment), v4_bytes), (v6, v6_bytes)] {
        let bytes = encoded(&segment, &pseudo);
        covered.extend_from_slice(&bytes);
        assert_eq!(Checksum::of(&covered), 0, "a sum that includes its checksum is all ones");
        assert_eq!(decode(bytes.clone(), &pseudo), Ok(segment.clone()));
        let other = PseudoHeader { destination: [10, 0, 0, 3].into(), ..pseudo };
        assert!(matches!(decode(bytes, &other), Err(DecodeError::Checksum { .. })));
    }
}
