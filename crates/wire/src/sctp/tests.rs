//! Packets and their bytes.

mod properties;

use bentpipe_units::Seq32;
use bytes::{Bytes, BytesMut};

use super::*;
use crate::{Ecn, Kind};

fn encoded(packet: &Packet) -> Bytes {
    let mut out = BytesMut::new();
    encode(packet, &mut out);
    out.freeze()
}

fn packet(chunks: impl IntoIterator<Item = Chunk>) -> Packet {
    Packet {
        source_port: 5001,
        destination_port: 5002,
        tag: 0x0102_0304,
        ecn: Ecn::NotCapable,
        may_fragment: false,
        chunks: chunks.into_iter().collect(),
    }
}

/// A packet of these chunk bytes with the right checksum.
fn repaired(chunks: &[u8]) -> Bytes {
    let mut bytes = [&[0; 12][..], chunks].concat();
    let sum = crc32c::crc32c(&bytes);
    bytes[8..12].copy_from_slice(&sum.to_le_bytes());
    bytes.into()
}

fn sack(gaps: usize, duplicates: usize) -> Sack {
    Sack {
        gaps: (0..gaps as u16).map(|n| GapBlock { start: n, end: n + 1 }).collect(),
        duplicates: (0..duplicates as u32).collect(),
        ..Sack::default()
    }
}

#[test]
fn the_checksum_is_crc32c() {
    assert_eq!(crc32c::crc32c(b"123456789"), 0xe306_9283);
}

#[test]
fn data_is_laid_out_as_rfc_9260_draws_it() {
    let data = Data {
        tsn: Seq32::new(0x1112_1314),
        stream: 0x2122,
        ssn: 0x3132,
        ppid: 0x4142_4344,
        flags: DataFlags::WHOLE.with(DataFlags::UNORDERED),
        payload: Bytes::from_static(b"hello"),
    };
    let bytes = encoded(&packet([Chunk::Data(data)]));
    assert_eq!(bytes[..8], [0x13, 0x89, 0x13, 0x8a, 1, 2, 3, 4]);
    assert_eq!(bytes[12..16], [0, 7, 0, 21], "type, U B E, length without padding");
    assert_eq!(
        bytes[16..28],
        [0x11, 0x12, 0x13, 0x14, 0x21, 0x22, 0x31, 0x32, 0x41, 0x42, 0x43, 0x44]
    );
    assert_eq!(bytes[28..], *b"hello\0\0\0");
}

#[test]
fn a_sack_is_laid_out_as_rfc_9260_draws_it() {
    let sack = Sack {
        cumulative: Seq32::new(9),
        window: 0x0001_0000,
        gaps: [GapBlock { start: 2, end: 3 }].into_iter().collect(),
        duplicates: [7].into_iter().collect(),
    };
    let bytes = encoded(&packet([Chunk::Sack(sack)]));
    assert_eq!(
        bytes[12..],
        [3, 0, 0, 24, 0, 0, 0, 9, 0, 1, 0, 0, 0, 1, 0, 1, 0, 2, 0, 3, 0, 0, 0, 7]
    );
}

#[test]
fn asconf_is_laid_out_as_rfc_5061_draws_it() {
    let requests = vec![
        AsconfRequest { correlation: 7, change: AddressChange::Add([10, 0, 0, 2].into()) },
        AsconfRequest { correlation: 8, change: AddressChange::Delete([10, 0, 0, 1].into()) },
    ];
    let known = [10, 0, 0, 1].into();
    let asconf = Asconf { serial: Seq32::new(0x0102_0304), known, requests };
    let expected = [
        &[0xc1, 0, 0, 48, 1, 2, 3, 4][..],
        &[0, 5, 0, 8, 10, 0, 0, 1],
        &[0xc0, 1, 0, 16, 0, 0, 0, 7, 0, 5, 0, 8, 10, 0, 0, 2],
        &[0xc0, 2, 0, 16, 0, 0, 0, 8, 0, 5, 0, 8, 10, 0, 0, 1],
    ];
    assert_eq!(bytes_of(&[Chunk::Asconf(Box::new(asconf))]), expected.concat());
    let refused = AsconfOutcome::Refused(vec![Cause::Other { code: 0xa0, value: Bytes::new() }]);
    let answers = vec![AsconfAnswer { correlation: 8, outcome: refused }];
    let ack = AsconfAck { serial: Seq32::new(5), answers };
    let expected = [0x80, 0, 0, 20, 0, 0, 0, 5, 0xc0, 3, 0, 12, 0, 0, 0, 8, 0, 0xa0, 0, 4];
    assert_eq!(bytes_of(&[Chunk::AsconfAck(Box::new(ack))]), &expected[..]);
}

#[test]
fn auth_covers_the_chunks_behind_it_as_they_came() {
    let code = Bytes::from_static(&[9; 20]);
    let auth = Auth { key: 0, algorithm: 1, code, covered: Bytes::new() };
    let packet = Packet {
        chunks: [Chunk::Auth(Box::new(auth)), Chunk::CookieAck].into_iter().collect(),
        ..Packet::default()
    };
    let bytes = encoded(&packet);
    assert_eq!(bytes[12..20], [0x0f, 0, 0, 28, 0, 0, 0, 1]);
    let Chunk::Auth(found) = &decode(bytes).expect("a packet").chunks[0] else { panic!("AUTH") };
    assert_eq!(found.covered, &[11, 0, 0, 4][..]);
}

#[test]
fn padding_is_laid_out_as_rfc_4820_draws_it() {
    let bytes = encoded(&packet([Chunk::Heartbeat(Bytes::from_static(b"time")), Chunk::Pad(6)]));
    assert_eq!(bytes[24..], [0x84, 0, 0, 10, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(decode(bytes).expect("a packet").chunks[1], Chunk::Pad(6));
}

#[test]
fn an_ecne_may_count_its_marks() {
    let counted = repaired(&[12, 0, 0, 12, 0, 0, 0, 7, 0, 0, 0, 2]);
    assert_eq!(decode(counted).expect("a packet").chunks[..], [Chunk::Ecne(Seq32::new(7))]);
    assert!(decode(repaired(&[13, 0, 0, 12, 0, 0, 0, 7, 0, 0, 0, 2])).is_err(), "a CWR does not");
}

#[test]
fn a_sack_holds_as_many_gaps_as_its_length_can_count_and_no_more() {
    assert_eq!(Sack::MOST_GAPS, 16_379);
    let most = packet([Chunk::Sack(sack(Sack::MOST_GAPS, 0))]);
    assert_eq!(decode(encoded(&most)), Ok(most));
    let more = packet([Chunk::Sack(sack(Sack::MOST_GAPS + 9, 3))]);
    let Ok(cut) = decode(encoded(&more)) else { panic!("a packet") };
    assert_eq!(cut, packet([Chunk::Sack(sack(Sack::MOST_GAPS, 0))]));
    assert_eq!(encoded(&more).len(), more.wire_len());
    let mixed = packet([Chunk::Sack(sack(Sack::MOST_GAPS - 2, 9))]);
    assert_eq!(decode(encoded(&mixed)), Ok(packet([Chunk::Sack(sack(Sack::MOST_GAPS - 2, 2))])));
}

#[test]
fn the_last_parameter_may_count_its_padding_or_not() {
    let init = |length: u8, parameter: &[u8]| {
        let fixed = [1, 0, 0, length, 0, 0, 0, 1, 0, 0, 16, 0, 0, 1, 0, 2, 0, 0, 0, 3];
        repaired(&[&fixed, parameter].concat())
    };
    let parameter = [0, 11, 0, 5, b'h', 0, 0, 0];
    let counted = decode(init(28, &parameter));
    let uncounted = decode(init(25, &parameter));
    assert_eq!(counted, uncounted);
    let Ok(packet) = counted else { panic!("a packet") };
    let [Chunk::Init(init)] = &packet.chunks[..] else { panic!("an INIT") };
    assert_eq!(init.parameters, [Parameter::HostName(Bytes::from_static(b"h"))]);
    assert_eq!((init.outbound_streams, init.inbound_streams), (1, 2));
}

#[test]
fn chunks_past_the_end_and_of_wrong_length_are_refused() {
    let length = |kind, length| Err(DecodeError::ChunkLength { kind, length });
    assert_eq!(decode(repaired(&[])), Err(DecodeError::NoChunk));
    assert_eq!(decode(repaired(&[8, 0])), Err(DecodeError::ChunkHeader { left: 2 }));
    assert_eq!(decode(repaired(&[8, 0, 0, 3])), length(8, 3));
    assert_eq!(decode(repaired(&[8, 0, 0, 8])), length(8, 8));
    assert_eq!(decode(repaired(&[8, 0, 0, 5, 0])), length(8, 5), "the padding is missing");
    assert_eq!(decode(repaired(&[8, 0, 0, 8, 0, 0, 0, 0])), length(8, 8));
    assert_eq!(decode(repaired(&[7, 0, 0, 4])), length(7, 4));
    assert_eq!(decode(repaired(&[0, 3, 0, 8, 0, 0, 0, 0])), length(0, 8));
    let short = [3, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0];
    assert_eq!(decode(repaired(&short)), length(3, 16), "a gap that is not there");
    let item = Err(DecodeError::ItemLength { kind: 1, length: 8 });
    assert_eq!(decode(repaired(&[9, 0, 0, 8, 0, 1, 0, 8])), item);
    let short = Err(DecodeError::TooShort { length: 11 });
    assert_eq!(decode(Bytes::from_static(&[0; 11])), short);
}

#[test]
fn what_must_be_alone_is_refused_in_company() {
    let init = Chunk::Init(Box::default());
    let complete = Chunk::ShutdownComplete { reflected: false };
    for chunk in [init, Chunk::InitAck(Box::default()), complete] {
        assert_eq!(decode(encoded(&packet([chunk.clone()]))), Ok(packet([chunk.clone()])));
        for both in [[chunk.clone(), Chunk::CookieAck], [Chunk::CookieAck, chunk.clone()]] {
            let refused = decode(encoded(&packet(both)));
            assert!(matches!(refused, Err(DecodeError::NotAlone { .. })), "{refused:?}");
        }
    }
}

#[test]
fn the_highest_bits_of_an_unknown_type_say_what_to_do() {
    let action = |stop, report| UnknownAction { stop, report };
    for (kind, expected) in
        [(0x3f, action(true, false)), (0x7f, action(true, true)), (0xbf, action(false, false))]
    {
        assert_eq!(UnknownAction::of_chunk(kind), expected);
        assert_eq!(UnknownAction::of_parameter(u16::from(kind) << 8), expected);
    }
    assert_eq!(UnknownAction::of_chunk(0xff), action(false, true));
}

#[test]
fn a_packet_is_an_acknowledgement_only_if_it_is_nothing_else() {
    let sack = || Chunk::Sack(Sack::default());
    assert_eq!(packet([sack()]).kind(), Kind::ACK);
    let data = Chunk::Data(Data::default());
    assert_eq!(packet([sack(), data]).kind(), Kind::DATA);
    assert_eq!(packet([Chunk::CookieAck, sack()]).kind(), Kind::COOKIE);
    assert!(packet([Chunk::Init(Box::default())]).opens());
    assert!(!packet([sack()]).opens());
}
