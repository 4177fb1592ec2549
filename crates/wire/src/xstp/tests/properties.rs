//! What holds for any segment and for any bytes.

use std::net::IpAddr;

use proptest::collection::{btree_set, vec};
use proptest::option;
use proptest::prelude::*;

use super::*;

/// Legal lists: every second of a set of sorted, distinct numbers begins a gap.
fn gaps(kind: ReportKind) -> impl Strategy<Value = GapList> {
    let few = btree_set(any::<u16>(), 0..12);
    let many = btree_set(any::<u16>(), 0..2 * Report::MOST_GAPS);
    prop_oneof![4 => few, 1 => many].prop_map(move |bounds| {
        let bounds: Vec<u16> = bounds.into_iter().collect();
        let base = match kind {
            ReportKind::Stat => bounds.first().copied().unwrap_or(0),
            ReportKind::Ustat => 0,
        };
        let pairs = bounds.chunks_exact(2);
        pairs.map(|pair| Gap { lower: pair[0] - base, upper: pair[1] - base }).collect()
    })
}

fn report() -> impl Strategy<Value = Report> {
    let kind = prop_oneof![Just(ReportKind::Stat), Just(ReportKind::Ustat)];
    kind.prop_flat_map(|kind| {
        (any::<u32>(), any::<u32>(), any::<bool>(), gaps(kind)).prop_map(
            move |(ts_echo, next, more, gaps)| Report {
                kind,
                ts_echo,
                received_at: None,
                next: Seq32::new(next),
                more,
                gaps,
            },
        )
    })
}

fn flow() -> impl Strategy<Value = Flow> {
    let payload = prop_oneof![Just(Vec::new()), vec(any::<u8>(), 1..40)];
    (
        payload,
        option::of(any::<u32>()),
        option::of(report()),
        option::of(any::<u32>()),
        any::<bool>(),
    )
        .prop_map(|(payload, poll, report, end_ack, end)| Flow {
            end: end && payload.is_empty(),
            payload: payload.into(),
            poll,
            report,
            end_ack: end_ack.map(Seq32::new),
        })
        .prop_filter("a flow has at least one part", |flow| !flow.kind().is_empty())
}

fn begin() -> impl Strategy<Value = Begin> {
    (1..=u16::MAX, any::<bool>(), any::<u32>(), any::<u32>())
        .prop_map(|(mss, many_gaps, ts, ts_echo)| Begin { mss, many_gaps, ts, ts_echo })
}

fn body() -> impl Strategy<Value = Body> {
    let reason = prop_oneof![0..8_u32, any::<u32>()].prop_map(ResetReason::from_code);
    prop_oneof![
        1 => begin().prop_map(Body::Begin),
        1 => begin().prop_map(Body::BeginAck),
        1 => reason.prop_map(Body::Reset),
        6 => flow().prop_map(Body::Flow),
    ]
}

fn segment() -> impl Strategy<Value = Segment> {
    let ports = any::<(u16, u16)>();
    let rest = any::<(u8, u16, u32)>();
    (ports, rest, body()).prop_map(|((source_port, destination_port), (sq, window, seq), body)| {
        Segment { source_port, destination_port, sq, window, seq: Seq32::new(seq), body }
    })
}

/// None, or the addresses of an IPv4 or IPv6 packet.
fn pseudo() -> impl Strategy<Value = Option<PseudoHeader>> {
    let v4 = any::<[[u8; 4]; 2]>().prop_map(|both| both.map(IpAddr::from));
    let v6 = any::<[[u8; 16]; 2]>().prop_map(|both| both.map(IpAddr::from));
    option::of(
        prop_oneof![v4, v6].prop_map(|[source, destination]| PseudoHeader { source, destination }),
    )
}

/// A legal segment with a few bytes overwritten and its end cut or extended.
fn mutated() -> impl Strategy<Value = Vec<u8>> {
    let overwritten = vec((any::<prop::sample::Index>(), any::<u8>()), 0..4);
    let added = vec(any::<u8>(), 0..5);
    (segment(), overwritten, 0..20_usize, added).prop_map(|(segment, overwritten, cut, added)| {
        let mut bytes = encoded(&segment, None).to_vec();
        for (place, byte) in overwritten {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        bytes.truncate(bytes.len() - cut.saturating_sub(8));
        bytes.extend(added);
        bytes
    })
}

/// Decodes, and if that succeeds proves that there is no other encoding.
fn decodes_to_its_own_encoding(bytes: Bytes) -> Result<(), TestCaseError> {
    if let Ok(segment) = decode(bytes.clone(), None) {
        prop_assert_eq!(encoded(&segment, None), bytes);
    }
    Ok(())
}

proptest! {
    #[test]
    fn every_legal_segment_survives_encoding_and_decoding(
        segment in segment(),
        pseudo in pseudo(),
    ) {
        let bytes = encoded(&segment, pseudo.as_ref());
        prop_assert_eq!(bytes.len(), segment.wire_len());
        prop_assert_eq!(decode(bytes, pseudo.as_ref()), Ok(segment));
    }

    #[test]
    fn random_bytes_are_refused_or_are_their_own_encoding(bytes in vec(any::<u8>(), 0..80)) {
        decodes_to_its_own_encoding(repaired(bytes.clone()))?;
        decodes_to_its_own_encoding(bytes.into())?;
    }

    #[test]
    fn mutated_segments_are_refused_or_are_their_own_encoding(bytes in mutated()) {
        decodes_to_its_own_encoding(repaired(bytes.clone()))?;
        decodes_to_its_own_encoding(bytes.into())?;
    }

    #[test]
    fn illegal_flows_encode_without_panic_and_are_refused(
        flow in flow(),
        gaps in vec(any::<(u16, u16)>(), 0..600),
    ) {
        let report = Report {
            kind: ReportKind::Stat,
            ts_echo: 0,
            received_at: None,
            next: Seq32::new(0),
            more: false,
            gaps: gaps.into_iter().map(|(lower, upper)| Gap { lower, upper }).collect(),
        };
        let flow = Flow {
            payload: Bytes::from_static(b"DATA beside END"),
            report: Some(report),
            end: true,
            ..flow
        };
        let segment = ahead(0, Body::Flow(flow));
        let bytes = encoded(&segment, None);
        prop_assert_eq!(bytes.len(), segment.wire_len());
        prop_assert_eq!(decode(bytes, None), Err(DecodeError::IllegalTypes(segment.kind())));
    }

    #[test]
    fn a_flipped_bit_in_any_segment_fails_the_checksum(
        segment in segment(),
        pseudo in pseudo(),
        bit in any::<prop::sample::Index>(),
    ) {
        let mut bytes = encoded(&segment, pseudo.as_ref()).to_vec();
        let bit = bit.index(8 * bytes.len());
        bytes[bit / 8] ^= 1 << (bit % 8);
        let result = decode(bytes.into(), pseudo.as_ref());
        let refused = matches!(result, Err(DecodeError::Checksum { .. }));
        prop_assert!(refused, "{:?}", result);
    }
}
