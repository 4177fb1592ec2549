//! Every reason to refuse bytes whose checksum is right, and that it is looked at first.

use super::*;

/// Decodes a vector after `change`, with its checksum repaired.
fn changed(name: &str, change: impl FnOnce(&mut Vec<u8>)) -> Result<Segment, DecodeError> {
    let mut bytes = vector(name);
    change(&mut bytes);
    decode(repaired(bytes), None)
}

#[test]
fn fewer_than_sixteen_bytes_are_too_short() {
    for length in 0..16 {
        let bytes = vector("END")[..length].to_vec();
        assert_eq!(decode(bytes.into(), None), Err(DecodeError::TooShort { length }));
    }
}

#[test]
fn damage_is_told_apart_from_bad_syntax() {
    let mut bytes = vector("DATA");
    bytes[4] = 0x2f; // a wrong version and reserved bits, but the checksum comes first
    let result = decode(bytes.into(), None);
    assert!(matches!(result, Err(DecodeError::Checksum { found: 0x80cd, .. })), "{result:?}");
}

#[test]
fn a_checksum_of_zero_is_checked_as_any_other() {
    let mut bytes = vector("DATA");
    bytes[12..14].fill(0);
    let error = DecodeError::Checksum { found: 0, computed: 0x80cd };
    assert_eq!(decode(bytes.into(), None), Err(error));
}

#[test]
fn a_checksum_of_zero_is_not_sent_nor_taken_as_ffff() {
    // The window is chosen so that the words sum to 0xffff.
    let mut segment = ahead(10000, Body::Flow(Flow { end: true, ..Flow::default() }));
    segment.window += 0x9d55;
    let mut bytes = encoded(&segment, None).to_vec();
    assert_eq!(bytes[12..14], [0, 0]);
    assert_eq!(decode(bytes.clone().into(), None), Ok(segment));
    bytes[12..14].fill(0xff);
    let error = DecodeError::Checksum { found: 0xffff, computed: 0 };
    assert_eq!(decode(bytes.into(), None), Err(error));
}

#[test]
fn every_version_but_one_is_refused() {
    for version in (0..16).filter(|version| *version != 1) {
        let result = changed("END", |bytes| bytes[4] = version << 4);
        assert_eq!(result, Err(DecodeError::Version(version)));
    }
}

#[test]
fn every_reserved_type_bit_is_refused() {
    for bit in [0x200_u16, 0x400, 0x800] {
        let result = changed("END", |bytes| bytes[4] |= (bit >> 8) as u8);
        assert_eq!(result, Err(DecodeError::ReservedTypeBits(bit)));
    }
}

#[test]
fn of_all_type_sets_exactly_the_legal_ones_pass() {
    let alone = [Kind::BGN, Kind::BGNAK, Kind::RST];
    for bits in 0..0x200 {
        let kind = Kind::from_bits(bits);
        let composite = !kind.is_empty()
            && !alone.iter().any(|part| kind.intersects(*part))
            && !kind.contains(Kind::STAT.with(Kind::USTAT))
            && !kind.contains(Kind::DATA.with(Kind::END));
        let mut bytes = vec![0; 16];
        bytes[4..6].copy_from_slice(&(0x1000 | bits).to_be_bytes());
        if kind.intersects(Kind::BGN.with(Kind::BGNAK)) {
            bytes.extend([0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        }
        for (part, length) in [(Kind::POLL, 4), (Kind::ENDAK, 4), (Kind::RST, 4)] {
            bytes.resize(bytes.len() + if kind.contains(part) { length } else { 0 }, 0);
        }
        if kind.intersects(Kind::STAT.with(Kind::USTAT)) {
            bytes.resize(bytes.len() + 12, 0);
        }
        bytes[14] = (bytes.len() / 4) as u8;
        if kind.contains(Kind::DATA) {
            bytes.push(b'x');
        }
        match decode(repaired(bytes), None) {
            Ok(segment) => {
                assert!(composite || alone.contains(&kind), "{bits:#05x}");
                assert_eq!(segment.kind(), kind);
            }
            Err(error) => {
                assert!(!composite && !alone.contains(&kind), "{bits:#05x}: {error}");
                assert_eq!(error, DecodeError::IllegalTypes(kind));
            }
        }
    }
}

#[test]
fn a_header_past_the_end_is_refused() {
    let result = changed("POLL", |bytes| bytes[14] = 6);
    assert_eq!(result, Err(DecodeError::HeaderPastEnd { header: 24, length: 20 }));
}

#[test]
fn a_header_shorter_than_its_fixed_part_is_refused() {
    for words in 0..4 {
        let result = changed("END", |bytes| bytes[14] = words);
        let header = 4 * usize::from(words);
        assert_eq!(result, Err(DecodeError::HeaderLength { header }));
    }
}

#[test]
fn a_header_shorter_than_its_blocks_is_refused() {
    for (name, words) in [("BGN", 6), ("BGNAK", 4), ("POLL", 4), ("ENDAK", 4), ("RST", 4)] {
        let result = changed(name, |bytes| bytes[14] = words);
        let header = 4 * usize::from(words);
        assert_eq!(result, Err(DecodeError::HeaderLength { header }), "{name}");
    }
}

#[test]
fn a_report_that_counts_more_gaps_than_it_has_is_refused() {
    for words in 4..9 {
        let result = changed("STAT", |bytes| bytes[14] = words);
        let header = 4 * usize::from(words);
        assert_eq!(result, Err(DecodeError::HeaderLength { header }));
    }
    let result = changed("STAT", |bytes| bytes[25] = 3);
    assert_eq!(result, Err(DecodeError::HeaderLength { header: 36 }));
}

#[test]
fn a_header_longer_than_its_blocks_is_refused() {
    let result = changed("DATA and POLL", |bytes| bytes[14] = 6);
    assert_eq!(result, Err(DecodeError::HeaderLength { header: 24 }));
    let result = changed("STAT", |bytes| bytes[25] = 1);
    assert_eq!(result, Err(DecodeError::HeaderLength { header: 36 }));
}

#[test]
fn an_mss_of_zero_is_refused() {
    for name in ["BGN", "BGNAK"] {
        assert_eq!(changed(name, |bytes| bytes[16..18].fill(0)), Err(DecodeError::ZeroMss));
    }
}

#[test]
fn the_flag_for_many_gaps_is_the_lowest_bit() {
    let (_, _, mut segment) = vectors().swap_remove(0);
    let Body::Begin(begin) = &mut segment.body else { panic!("BGN comes first") };
    begin.many_gaps = true;
    assert_eq!(changed("BGN", |bytes| bytes[18] = 1), Ok(segment));
}

#[test]
fn every_unknown_flag_of_a_begin_is_refused() {
    for bit in 1..8 {
        let flags = 1 | 1 << bit;
        let result = changed("BGN", |bytes| bytes[18] = flags);
        assert_eq!(result, Err(DecodeError::BeginFlags(flags)));
    }
}

#[test]
fn every_bit_of_the_reserved_byte_of_a_begin_is_refused() {
    for bit in 0..8 {
        let result = changed("BGNAK", |bytes| bytes[19] = 1 << bit);
        assert_eq!(result, Err(DecodeError::BeginReserved(1 << bit)));
    }
}

#[test]
fn every_unknown_flag_of_a_report_is_refused() {
    for name in ["STAT", "USTAT"] {
        for bit in 1..16 {
            let flags: u16 = 1 | 1 << bit;
            let result = changed(name, |b| b[26..28].copy_from_slice(&flags.to_be_bytes()));
            assert_eq!(result, Err(DecodeError::ReportFlags(flags)));
        }
    }
}

#[test]
fn the_flag_more_is_the_lowest_bit() {
    let result = changed("STAT", |bytes| bytes[27] = 1).expect("a legal STAT");
    let Body::Flow(Flow { report: Some(report), .. }) = result.body else { panic!("a STAT") };
    assert!(report.more);
}

#[test]
fn more_gaps_than_are_ever_sent_are_refused() {
    // A header with nothing but a STAT would have room for 248.
    let mut bytes = vector("STAT");
    bytes[14] = 7 + 247;
    bytes[24..26].copy_from_slice(&247_u16.to_be_bytes());
    bytes.truncate(28);
    for n in 0..247_u16 {
        bytes.extend((2 * n).to_be_bytes());
        bytes.extend((2 * n + 1).to_be_bytes());
    }
    assert_eq!(decode(repaired(bytes), None), Err(DecodeError::TooManyGaps(247)));
}

#[test]
fn a_gap_without_numbers_is_refused() {
    // The second gap of the vector is 2..4.
    for upper in 0..=2 {
        let result = changed("STAT", |bytes| bytes[35] = upper);
        let error = DecodeError::EmptyGap { lower: 2, upper: upper.into() };
        assert_eq!(result, Err(error));
    }
}

#[test]
fn gaps_that_overlap_or_touch_or_go_back_are_refused() {
    // The first gap of the vector is 0..1.
    for lower in 0..=1 {
        let result = changed("STAT", |bytes| bytes[33] = lower);
        let error = DecodeError::GapOrder { previous: 1, lower: lower.into() };
        assert_eq!(result, Err(error));
    }
}

#[test]
fn the_first_gap_of_a_stat_begins_at_the_next_number() {
    let result = changed("STAT", |bytes| bytes[28..32].copy_from_slice(&[0, 1, 0, 2]));
    assert_eq!(result, Err(DecodeError::FirstGap { lower: 1 }));
}

#[test]
fn the_first_gap_of_a_ustat_begins_anywhere() {
    let result = changed("USTAT", |bytes| bytes[29] = 1).expect("a legal USTAT");
    let Body::Flow(Flow { report: Some(report), .. }) = result.body else { panic!("a USTAT") };
    assert_eq!(report.gaps[..], [Gap { lower: 1, upper: 2 }]);
}

#[test]
fn data_without_payload_is_refused() {
    let result = changed("DATA", |bytes| bytes.truncate(16));
    assert_eq!(result, Err(DecodeError::DataWithoutPayload));
}

#[test]
fn payload_without_data_is_refused() {
    for (name, ..) in vectors().iter().filter(|(name, ..)| !name.starts_with("DATA")) {
        let result = changed(name, |bytes| bytes.push(0));
        assert_eq!(result, Err(DecodeError::PayloadWithoutData { length: 1 }), "{name}");
    }
}

#[test]
fn an_unknown_reason_of_a_reset_is_kept() {
    let result = changed("RST", |bytes| bytes[19] = 99).expect("a legal RST");
    assert_eq!(result.body, Body::Reset(ResetReason::Other(99)));
}
