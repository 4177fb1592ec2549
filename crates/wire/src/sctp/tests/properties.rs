//! What holds for any packet and for any bytes.

use std::net::IpAddr;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

fn blob() -> impl Strategy<Value = Bytes> {
    vec(any::<u8>(), 0..40).prop_map(Bytes::from)
}

fn tsn() -> impl Strategy<Value = Seq32> {
    any::<u32>().prop_map(Seq32::new)
}

fn parameters() -> impl Strategy<Value = Parameter> {
    prop_oneof![
        any::<u32>().prop_map(|n| Parameter::Ipv4(n.into())),
        any::<u128>().prop_map(|n| Parameter::Ipv6(n.into())),
        blob().prop_map(Parameter::Cookie),
        blob().prop_map(Parameter::Unrecognized),
        any::<u32>().prop_map(Parameter::CookiePreservative),
        blob().prop_map(Parameter::HostName),
        vec(any::<u16>(), 0..5).prop_map(Parameter::SupportedAddresses),
        Just(Parameter::EcnCapable),
        blob().prop_map(Parameter::Random),
        blob().prop_map(Parameter::Chunks),
        vec(any::<u16>(), 0..5).prop_map(Parameter::HmacAlgorithms),
        blob().prop_map(Parameter::SupportedExtensions),
        (0x8009..=u16::MAX, blob()).prop_map(|(kind, value)| Parameter::Other { kind, value }),
    ]
}

fn causes() -> impl Strategy<Value = Cause> {
    prop_oneof![
        any::<u16>().prop_map(Cause::InvalidStream),
        vec(any::<u16>(), 0..4).prop_map(Cause::MissingParameters),
        any::<u32>().prop_map(Cause::StaleCookie),
        Just(Cause::OutOfResource),
        blob().prop_map(Cause::UnresolvableAddress),
        blob().prop_map(Cause::UnrecognizedChunk),
        Just(Cause::InvalidParameter),
        blob().prop_map(Cause::UnrecognizedParameters),
        tsn().prop_map(Cause::NoUserData),
        Just(Cause::CookieWhileShuttingDown),
        blob().prop_map(Cause::RestartWithNewAddresses),
        blob().prop_map(Cause::UserAbort),
        blob().prop_map(Cause::ProtocolViolation),
        (14..=u16::MAX, blob()).prop_map(|(code, value)| Cause::Other { code, value }),
    ]
}

fn inits() -> impl Strategy<Value = Box<Init>> {
    (any::<(u32, u32, u16, u16)>(), tsn(), vec(parameters(), 0..5)).prop_map(
        |((tag, window, outbound_streams, inbound_streams), initial_tsn, parameters)| {
            Box::new(Init {
                tag,
                window,
                outbound_streams,
                inbound_streams,
                initial_tsn,
                parameters,
            })
        },
    )
}

fn data() -> impl Strategy<Value = Chunk> {
    (tsn(), any::<(u16, u16, u32, u8)>(), blob()).prop_map(
        |(tsn, (stream, ssn, ppid, flags), payload)| {
            let flags = DataFlags::from_bits(flags);
            Chunk::Data(Data { tsn, stream, ssn, ppid, flags, payload })
        },
    )
}

fn sacks() -> impl Strategy<Value = Chunk> {
    (tsn(), any::<u32>(), vec(any::<(u16, u16)>(), 0..8), vec(any::<u32>(), 0..8)).prop_map(
        |(cumulative, window, gaps, duplicates)| {
            let gaps = gaps.into_iter().map(|(start, end)| GapBlock { start, end }).collect();
            let duplicates = duplicates.into_iter().collect();
            Chunk::Sack(Sack { cumulative, window, gaps, duplicates })
        },
    )
}

fn address() -> impl Strategy<Value = IpAddr> {
    prop_oneof![
        any::<u32>().prop_map(|n| IpAddr::V4(n.into())),
        any::<u128>().prop_map(|n| IpAddr::V6(n.into()))
    ]
}

fn asconfs() -> impl Strategy<Value = Chunk> {
    let change = prop_oneof![
        address().prop_map(AddressChange::Add),
        address().prop_map(AddressChange::Delete),
        address().prop_map(AddressChange::SetPrimary),
        (0xc006..=u16::MAX, blob()).prop_map(|(kind, value)| AddressChange::Other { kind, value }),
    ];
    let request = (any::<u32>(), change)
        .prop_map(|(correlation, change)| AsconfRequest { correlation, change });
    (tsn(), address(), vec(request, 0..4)).prop_map(|(serial, known, requests)| {
        Chunk::Asconf(Box::new(Asconf { serial, known, requests }))
    })
}

fn asconf_acks() -> impl Strategy<Value = Chunk> {
    let outcome = prop_oneof![
        Just(AsconfOutcome::Success),
        vec(causes(), 0..3).prop_map(AsconfOutcome::Refused),
        (0xc006..=u16::MAX, blob()).prop_map(|(kind, value)| AsconfOutcome::Other { kind, value }),
    ];
    let answer = (any::<u32>(), outcome)
        .prop_map(|(correlation, outcome)| AsconfAnswer { correlation, outcome });
    (tsn(), vec(answer, 0..4))
        .prop_map(|(serial, answers)| Chunk::AsconfAck(Box::new(AsconfAck { serial, answers })))
}

fn auths() -> impl Strategy<Value = Chunk> {
    (any::<(u16, u16)>(), blob()).prop_map(|((key, algorithm), code)| {
        Chunk::Auth(Box::new(Auth { key, algorithm, code, covered: Bytes::new() }))
    })
}

fn chunks() -> impl Strategy<Value = Chunk> {
    let known = [0x80, 0x84, 0xc1];
    let new_kinds = (16..=u8::MAX).prop_filter("known", move |kind| !known.contains(kind));
    let unknown = (new_kinds, any::<u8>(), blob())
        .prop_map(|(kind, flags, value)| Chunk::Unknown(UnknownChunk { kind, flags, value }));
    prop_oneof![
        3 => data(),
        3 => sacks(),
        1 => blob().prop_map(Chunk::Heartbeat),
        1 => blob().prop_map(Chunk::HeartbeatAck),
        1 => (any::<bool>(), vec(causes(), 0..4))
            .prop_map(|(reflected, causes)| Chunk::Abort { reflected, causes }),
        1 => vec(causes(), 0..4).prop_map(Chunk::Error),
        1 => tsn().prop_map(Chunk::Shutdown),
        1 => Just(Chunk::ShutdownAck),
        1 => blob().prop_map(Chunk::CookieEcho),
        1 => Just(Chunk::CookieAck),
        1 => tsn().prop_map(Chunk::Ecne),
        1 => tsn().prop_map(Chunk::Cwr),
        1 => (0..1500_u16).prop_map(Chunk::Pad),
        1 => auths(),
        1 => asconfs(),
        1 => asconf_acks(),
        1 => unknown,
    ]
}

fn packets() -> impl Strategy<Value = Packet> {
    let alone = prop_oneof![
        inits().prop_map(Chunk::Init),
        inits().prop_map(Chunk::InitAck),
        any::<bool>().prop_map(|reflected| Chunk::ShutdownComplete { reflected }),
    ];
    let list = prop_oneof![1 => alone.prop_map(|chunk| vec![chunk]), 3 => vec(chunks(), 1..5)];
    (any::<(u16, u16, u32)>(), list).prop_map(|((source_port, destination_port, tag), list)| {
        let ecn = Ecn::NotCapable;
        Packet { source_port, destination_port, tag, ecn, chunks: list.into(), ..Packet::default() }
    })
}

/// Decodes, and if that succeeds proves that the packet encodes to one that is equal.
fn decodes_to_what_it_encodes_to(bytes: Bytes) -> Result<(), TestCaseError> {
    if let Ok(packet) = decode(bytes) {
        let again = encoded(&packet);
        prop_assert_eq!(again.len(), packet.wire_len());
        prop_assert_eq!(decode(again), Ok(packet));
    }
    Ok(())
}

proptest! {
    #[test]
    fn every_packet_survives_encoding_and_decoding(packet in packets()) {
        let bytes = encoded(&packet);
        prop_assert_eq!(bytes.len(), packet.wire_len());
        prop_assert_eq!(bytes.len() % 4, 0);
        prop_assert_eq!(decode(bytes), Ok(packet));
    }

    #[test]
    fn random_bytes_are_refused_or_encode_to_an_equal_packet(bytes in vec(any::<u8>(), 0..80)) {
        decodes_to_what_it_encodes_to(repaired(&bytes))?;
        decodes_to_what_it_encodes_to(bytes.into())?;
    }

    #[test]
    fn packets_with_wrong_bytes_are_refused_or_encode_to_an_equal_packet(
        packet in packets(),
        changes in vec(any::<(prop::sample::Index, u8)>(), 1..4),
    ) {
        let mut bytes = encoded(&packet)[12..].to_vec();
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        decodes_to_what_it_encodes_to(repaired(&bytes))?;
    }

    #[test]
    fn a_flipped_bit_in_any_packet_fails_the_checksum(
        packet in packets(),
        bit in any::<prop::sample::Index>(),
    ) {
        let mut bytes = encoded(&packet).to_vec();
        let bit = bit.index(8 * bytes.len());
        bytes[bit / 8] ^= 1 << (bit % 8);
        let result = decode(bytes.into());
        let refused = matches!(result, Err(DecodeError::Checksum { .. }));
        prop_assert!(refused, "{:?}", result);
    }
}
