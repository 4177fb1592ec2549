//! What is cut, what is skipped and what is refused.

use super::*;

/// A pure acknowledgement with these bytes as options, decoded.
fn decoded(options: &[u8]) -> Result<Segment, DecodeError> {
    decoded_with(Flags::ACK, options)
}

fn decoded_with(flags: Flags, options: &[u8]) -> Result<Segment, DecodeError> {
    let plain = Segment { flags, ..ahead(7) };
    let mut bytes = encoded(&plain, &pseudo(&plain)).to_vec();
    bytes[12] = ((20 + options.len()) / 4) as u8 * 16;
    bytes.extend_from_slice(options);
    decode(repaired(bytes, &pseudo(&plain)), &pseudo(&plain))
}

fn acknowledgement() -> Segment {
    Segment { flags: Flags::ACK, ..ahead(7) }
}

fn blocks(count: u32) -> Options {
    let block = |n| SackBlock { first: Seq32::new(10 * n), end: Seq32::new(10 * n + 5) };
    Options::Sack((1..=count).map(block).collect())
}

fn stamped(options: Options) -> Segment {
    let timestamps = Some(Timestamps { value: 1, echo: 2 });
    Segment { timestamps, options, ..acknowledgement() }
}

/// What is left of a segment after a journey.
fn travelled(segment: &Segment) -> Segment {
    let bytes = encoded(segment, &pseudo(segment));
    assert_eq!(bytes.len(), segment.wire_len());
    decode(bytes, &pseudo(segment)).expect("a segment")
}

#[test]
fn four_sack_blocks_fit_alone_and_three_beside_timestamps() {
    let four = Segment { options: blocks(4), ..acknowledgement() };
    assert_eq!(travelled(&four), four);
    assert_eq!(travelled(&stamped(blocks(4))), stamped(blocks(3)));
    assert_eq!(travelled(&stamped(blocks(3))), stamped(blocks(3)));
}

#[test]
fn marks_of_scps_cost_no_sack_block() {
    let both = Scps::RECORD_BOUNDARY.with(Scps::CORRUPTION_EXPERIENCED);
    for scps in [Scps::RECORD_BOUNDARY, Scps::CORRUPTION_EXPERIENCED, both] {
        let marked = |segment| Segment { scps, ..segment };
        let full = marked(Segment { options: blocks(4), ..acknowledgement() });
        assert_eq!(travelled(&full), full);
        assert_eq!(travelled(&marked(stamped(blocks(4)))), marked(stamped(blocks(3))));
    }
}

#[test]
fn a_snack_vector_is_cut_to_the_room_there_is() {
    let snack = |length| {
        let vector = (0..length).collect();
        Options::Snack(Snack { hole_offset: 3, hole_size: 4, vector })
    };
    let alone = Segment { options: snack(33), ..acknowledgement() };
    assert_eq!(travelled(&alone), alone);
    assert_eq!(travelled(&stamped(snack(33))), stamped(snack(24)));
    let marked = |segment| Segment { scps: Scps::RECORD_BOUNDARY, ..segment };
    assert_eq!(travelled(&marked(stamped(snack(33)))), marked(stamped(snack(22))));
}

#[test]
fn no_blocks_are_no_option() {
    let empty = Segment { options: blocks(0), ..acknowledgement() };
    assert_eq!(travelled(&empty), acknowledgement());
}

#[test]
fn options_may_come_in_any_order_and_with_any_padding() {
    let options = [4, 2, 1, 3, 3, 9, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2, 2, 4, 5, 0xb4, 1, 1, 1, 0];
    let syn = SynOptions {
        mss: Some(1460),
        window_shift: Some(9),
        sack_permitted: true,
        ..SynOptions::default()
    };
    let expected = Segment { flags: Flags::SYN, ..stamped(Options::Syn(syn)) };
    assert_eq!(decoded_with(Flags::SYN, &options), Ok(expected));
}

#[test]
fn unknown_options_are_skipped_and_nothing_follows_the_end_of_the_list() {
    let options = [254, 4, 1, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2, 77, 2];
    assert_eq!(decoded(&options), Ok(stamped(Options::None)));
    assert_eq!(decoded(&[0, 22, 2, 5]), Ok(acknowledgement()));
}

#[test]
fn options_count_only_where_they_mean_something() {
    assert_eq!(
        decoded(&[2, 4, 5, 0xb4, 3, 3, 9, 4, 2, 20, 4, 0x60, 0, 0, 0, 0]),
        Ok(acknowledgement())
    );
    let sack = [1, 1, 5, 10, 0, 0, 0, 1, 0, 0, 0, 2];
    let plain_syn = Segment { flags: Flags::SYN, ..acknowledgement() };
    assert_eq!(decoded_with(Flags::SYN, &sack), Ok(plain_syn));
    assert!(matches!(decoded(&sack), Ok(Segment { options: Options::Sack(_), .. })));
}

#[test]
fn of_options_that_exclude_each_other_the_last_counts() {
    let sack_then_snack = [5, 10, 0, 0, 0, 1, 0, 0, 0, 2, 21, 6, 0, 3, 0, 4];
    let snack = Snack { hole_offset: 3, hole_size: 4, vector: List::new() };
    let expected = Segment { options: Options::Snack(snack), ..acknowledgement() };
    assert_eq!(decoded(&sack_then_snack), Ok(expected));
    let twice = decoded_with(Flags::SYN, &[2, 4, 0, 1, 2, 4, 0, 2]).expect("a segment");
    assert!(matches!(twice.options, Options::Syn(SynOptions { mss: Some(2), .. })));
}

#[test]
fn a_window_shift_beyond_fourteen_counts_as_fourteen() {
    let fourteen = SynOptions { window_shift: Some(14), ..SynOptions::default() };
    let expected =
        Segment { flags: Flags::SYN, options: Options::Syn(fourteen), ..acknowledgement() };
    assert_eq!(decoded_with(Flags::SYN, &[1, 3, 3, 15]), Ok(expected.clone()));
    let beyond = SynOptions { window_shift: Some(200), ..SynOptions::default() };
    assert_eq!(travelled(&Segment { options: Options::Syn(beyond), ..expected.clone() }), expected);
}

#[test]
fn an_option_of_an_illegal_length_is_named() {
    let cases: [(&[u8], u8, u8); 14] = [
        (&[254, 0, 1, 1], 254, 0),
        (&[254, 1, 1, 1], 254, 1),
        (&[1, 1, 254, 3], 254, 3),
        (&[1, 1, 1, 254], 254, 0),
        (&[2, 3, 5, 0], 2, 3),
        (&[2, 5, 5, 0xb4, 0, 0, 0, 0], 2, 5),
        (&[3, 2, 0, 0], 3, 2),
        (&[4, 3, 0, 0], 4, 3),
        (&[5, 2, 0, 0], 5, 2),
        (&[5, 6, 0, 0, 0, 0, 0, 0], 5, 6),
        (&[8, 8, 0, 0, 0, 0, 0, 0], 8, 8),
        (&[20, 3, 0, 0], 20, 3),
        (&[21, 5, 0, 0, 0, 0, 0, 0], 21, 5),
        (&[23, 3, 0, 0], 23, 3),
    ];
    for (options, kind, length) in cases {
        assert_eq!(
            decoded(options),
            Err(DecodeError::OptionLength { kind, length }),
            "{options:?}"
        );
    }
}

#[test]
fn a_header_of_a_wrong_length_is_named() {
    let plain = acknowledgement();
    let with_offset = |words: u8| {
        let mut bytes = encoded(&plain, &pseudo(&plain)).to_vec();
        bytes[12] = words << 4;
        decode(repaired(bytes, &pseudo(&plain)), &pseudo(&plain))
    };
    for words in 0..5 {
        let header = 4 * usize::from(words);
        assert_eq!(with_offset(words), Err(DecodeError::HeaderLength { header }));
    }
    for words in 6..16 {
        let header = 4 * usize::from(words);
        assert_eq!(with_offset(words), Err(DecodeError::HeaderPastEnd { header, length: 20 }));
    }
}

#[test]
fn fewer_than_twenty_bytes_are_too_short() {
    let plain = acknowledgement();
    let bytes = encoded(&plain, &pseudo(&plain));
    for length in 0..20 {
        let result = decode(bytes.slice(..length), &pseudo(&plain));
        assert_eq!(result, Err(DecodeError::TooShort { length }));
    }
}

#[test]
fn reserved_bits_are_ignored() {
    let plain = acknowledgement();
    let mut bytes = encoded(&plain, &pseudo(&plain)).to_vec();
    bytes[12] |= 0x0f;
    assert_eq!(decode(repaired(bytes, &pseudo(&plain)), &pseudo(&plain)), Ok(plain));
}

#[test]
fn both_zeros_of_ones_complement_are_a_checksum_of_zero() {
    let plain = acknowledgement();
    let mut bytes = encoded(&plain, &pseudo(&plain)).to_vec();
    // The acknowledgement number takes up what the checksum said.
    let sum = [bytes[16], bytes[17]];
    let ack = u16::from_be_bytes([bytes[10], bytes[11]]);
    let moved = u32::from(ack) + u32::from(u16::from_be_bytes(sum));
    let folded = (moved & 0xffff) as u16 + (moved >> 16) as u16;
    bytes[10..12].copy_from_slice(&folded.to_be_bytes());
    for zero in [0x00, 0xff] {
        bytes[16..18].fill(zero);
        assert!(decode(bytes.clone().into(), &pseudo(&plain)).is_ok(), "{zero:#04x}");
    }
}
