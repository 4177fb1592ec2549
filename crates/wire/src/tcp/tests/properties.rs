//! What holds for any segment and for any bytes.

use std::net::IpAddr;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::*;

fn syn_options() -> impl Strategy<Value = Options> {
    let scps = any::<(u8, u8)>()
        .prop_map(|(bits, connection_id)| ScpsCapabilities { bits, connection_id });
    (option::of(any::<u16>()), option::of(0..=14_u8), any::<bool>(), option::of(scps)).prop_map(
        |(mss, window_shift, sack_permitted, scps)| {
            let syn = SynOptions { mss, window_shift, sack_permitted, scps };
            if syn == SynOptions::default() { Options::None } else { Options::Syn(syn) }
        },
    )
}

/// Lists that fit beside timestamps and both marks of SCPS.
fn other_options() -> impl Strategy<Value = Options> {
    let blocks = vec(any::<(u32, u32)>(), 1..=3).prop_map(|blocks| {
        let block = |(first, end)| SackBlock { first: Seq32::new(first), end: Seq32::new(end) };
        Options::Sack(blocks.into_iter().map(block).collect())
    });
    let snack = (any::<(u16, u16)>(), vec(any::<u8>(), 0..=20)).prop_map(
        |((hole_offset, hole_size), vector)| {
            let vector = vector.into_iter().collect();
            Options::Snack(Snack { hole_offset, hole_size, vector })
        },
    );
    prop_oneof![Just(Options::None), blocks, snack]
}

fn segment() -> impl Strategy<Value = Segment> {
    let timestamps = any::<(u32, u32)>().prop_map(|(value, echo)| Timestamps { value, echo });
    let fields = any::<(u16, u16, u32, u32, u8, u16, u16)>();
    let marks = prop_oneof![
        Just(Scps::NONE),
        Just(Scps::RECORD_BOUNDARY),
        Just(Scps::CORRUPTION_EXPERIENCED),
        Just(Scps::RECORD_BOUNDARY.with(Scps::CORRUPTION_EXPERIENCED)),
    ];
    let payload = prop_oneof![Just(Vec::new()), vec(any::<u8>(), 1..40)];
    (fields, option::of(timestamps), syn_options(), other_options(), marks, payload).prop_map(
        |(fields, timestamps, syn, other, marks, payload)| {
            let (source_port, destination_port, seq, ack, flags, window, urgent) = fields;
            let flags = Flags::from_bits(flags);
            Segment {
                source_port,
                destination_port,
                seq: Seq32::new(seq),
                ack: Seq32::new(ack),
                flags,
                ecn: Ecn::NotCapable,
                window,
                urgent,
                timestamps,
                options: if flags.contains(Flags::SYN) { syn } else { other },
                low_priority: false,
                scps: marks,
                payload: payload.into(),
            }
        },
    )
}

/// The addresses of an IPv4 or IPv6 packet.
fn addresses() -> impl Strategy<Value = PseudoHeader> {
    let v4 = any::<[[u8; 4]; 2]>().prop_map(|both| both.map(IpAddr::from));
    let v6 = any::<[[u8; 16]; 2]>().prop_map(|both| both.map(IpAddr::from));
    prop_oneof![v4, v6].prop_map(|[source, destination]| PseudoHeader { source, destination })
}

fn some_addresses() -> PseudoHeader {
    PseudoHeader { source: CLIENT.into(), destination: SERVER.into() }
}

/// A header whose options are any bytes, most of them with the kinds that are known.
fn with_any_options() -> impl Strategy<Value = Vec<u8>> {
    let known = prop_oneof![0..=5_u8, Just(8), 20..=23_u8, any::<u8>()];
    let option = (known, 0..14_u8, vec(any::<u8>(), 0..12));
    let exact = |(kind, slack, body): (u8, u8, Vec<u8>)| {
        let length = if slack < 12 { 2 + body.len() as u8 } else { slack };
        [vec![kind, length], body].concat()
    };
    (segment(), vec(option.prop_map(exact), 0..6)).prop_map(|(segment, options)| {
        let mut bytes = encoded(&segment, &some_addresses())[..20].to_vec();
        let mut options = options.concat();
        options.resize(options.len().next_multiple_of(4).min(40), 0);
        bytes[12] = ((20 + options.len()) / 4) as u8 * 16;
        bytes.extend(options);
        bytes
    })
}

/// Decodes, and if that succeeds proves that the segment encodes to one that is equal.
fn decodes_to_what_it_encodes_to(bytes: Bytes) -> Result<(), TestCaseError> {
    let pseudo = some_addresses();
    if let Ok(segment) = decode(bytes, &pseudo) {
        let again = encoded(&segment, &pseudo);
        prop_assert_eq!(again.len(), segment.wire_len());
        prop_assert_eq!(decode(again, &pseudo), Ok(segment));
    }
    Ok(())
}

proptest! {
    #[test]
    fn every_segment_survives_encoding_and_decoding(
        segment in segment(),
        pseudo in addresses(),
    ) {
        let bytes = encoded(&segment, &pseudo);
        prop_assert_eq!(bytes.len(), segment.wire_len());
        prop_assert_eq!(decode(bytes, &pseudo), Ok(segment));
    }

    #[test]
    fn random_bytes_are_refused_or_encode_to_an_equal_segment(bytes in vec(any::<u8>(), 0..80)) {
        decodes_to_what_it_encodes_to(repaired(bytes.clone(), &some_addresses()))?;
        decodes_to_what_it_encodes_to(bytes.into())?;
    }

    #[test]
    fn any_options_are_refused_or_encode_to_an_equal_segment(bytes in with_any_options()) {
        decodes_to_what_it_encodes_to(repaired(bytes, &some_addresses()))?;
    }

    #[test]
    fn a_flipped_bit_in_any_segment_fails_the_checksum(
        segment in segment(),
        pseudo in addresses(),
        bit in any::<prop::sample::Index>(),
    ) {
        let mut bytes = encoded(&segment, &pseudo).to_vec();
        let bit = bit.index(8 * bytes.len());
        bytes[bit / 8] ^= 1 << (bit % 8);
        let result = decode(bytes.into(), &pseudo);
        let refused = matches!(result, Err(DecodeError::Checksum { .. }));
        prop_assert!(refused, "{:?}", result);
    }
}
