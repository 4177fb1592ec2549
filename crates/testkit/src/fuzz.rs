//! What the fuzz targets do with their input, and a driver that does it without a fuzzer.
//!
//! The targets under `fuzz/` only call these functions, so that the same checks run in the ordinary
//! tests, with a fixed number of deterministic inputs.

mod headers;
mod icmp;
mod radio;
mod sctp;
mod tcp;

use bentpipe_units::Seq32;
use bentpipe_wire::checksum::Checksum;
use bentpipe_wire::qlp;
use bentpipe_wire::xstp::{
    Begin, Body, Context, Flow, Gap, Report, ReportKind, ResetReason, Segment, decode,
    decode_compact, encode, encode_compact,
};
use bytes::{Bytes, BytesMut};

pub use headers::{header_seeds, udp_datagram, with_udp_checksum, xcp_header};
pub use icmp::{icmp_message, icmp_seeds, with_icmp_checksum};
pub use radio::{kiss_stream, radio_frame, radio_seeds};
pub use sctp::{sctp_packet, sctp_seeds, with_sctp_checksum};
pub use tcp::{ADDRESSES, tcp_seeds, tcp_segment, with_tcp_checksum};

/// Length of the fixed XSTP header in bytes.
const HEADER: usize = 16;

/// Decodes the input as it is and again with the checksum that belongs to it, because a fuzzer
/// hardly ever finds that by itself.
///
/// # Panics
///
/// If something that decodes encodes to other bytes.
pub fn xstp_segment(data: &[u8]) {
    round_trip(&Bytes::copy_from_slice(data));
    round_trip(&with_checksum(data).into());
}

/// Decodes the input as a segment with a compressed header, near a number that the input begins with.
///
/// # Panics
///
/// If something that decodes encodes to other bytes.
pub fn compact_segment(data: &[u8]) {
    let Some((near, data)) = data.split_first_chunk::<4>() else { return };
    let near = Seq32::new(u32::from_be_bytes(*near));
    let context = Context { source_port: 1, destination_port: 2, sq: 3, near };
    let bytes = Bytes::copy_from_slice(data);
    let Ok(segment) = decode_compact(bytes.clone(), &context) else { return };
    let mut again = BytesMut::new();
    encode_compact(&segment, usize::MAX, &mut again);
    assert_eq!(again, bytes, "encoding of {segment:?}");
}

/// Decodes the input as a frame of the queue link protocol as it is, and again with the length and a
/// protocol that belong to it.
///
/// # Panics
///
/// If something that decodes encodes to other bytes.
pub fn qlp_frame(data: &[u8]) {
    frame_round_trip(&Bytes::copy_from_slice(data));
    frame_round_trip(&with_length(data).into());
}

fn frame_round_trip(bytes: &Bytes) {
    let Ok(frame) = qlp::decode(bytes.clone()) else { return };
    let mut again = BytesMut::new();
    assert_eq!(qlp::encode(&frame, &mut again), Ok(()), "encoding of {frame:?}");
    assert_eq!(again, bytes, "encoding of {frame:?}");
}

/// The input with the length of its payload and one of the two protocols put into the header of a
/// queue link frame; unchanged if it is too short to have one or too long to be one.
pub fn with_length(data: &[u8]) -> Vec<u8> {
    let mut bytes = data.to_vec();
    let length = data.len().checked_sub(qlp::HEADER).map(u16::try_from);
    if let Some(Ok(length)) = length {
        let protocol = 1 + u16::from(bytes[7] % 2);
        bytes[4..6].copy_from_slice(&length.to_be_bytes());
        bytes[6..8].copy_from_slice(&protocol.to_be_bytes());
    }
    bytes
}

fn round_trip(bytes: &Bytes) {
    let Ok(segment) = decode(bytes.clone(), None) else { return };
    assert_eq!(segment.wire_len(), bytes.len(), "length of {segment:?}");
    let mut again = BytesMut::with_capacity(bytes.len());
    encode(&segment, None, &mut again);
    assert_eq!(again, bytes, "encoding of {segment:?}");
}

/// The input with the checksum of an XSTP segment without pseudo-header put in its place; unchanged
/// if it is too short to have one.
pub fn with_checksum(data: &[u8]) -> Vec<u8> {
    let mut bytes = data.to_vec();
    if bytes.len() >= HEADER {
        bytes[12..14].fill(0);
        let sum = Checksum::of(&bytes);
        bytes[12..14].copy_from_slice(&sum.to_be_bytes());
    }
    bytes
}

/// Calls `target` with `count` inputs: a quarter of them random bytes, the others seeds with up to
/// seven changes. The same inputs every time.
pub fn bounded_runs(count: u64, seeds: &[Vec<u8>], target: fn(&[u8])) {
    let mut random = SplitMix64(0x6265_6e74_7069_7065);
    for run in 0..count {
        let input = if run % 4 == 0 {
            let longest = if run % 64 == 0 { 1500 } else { 64 };
            let length = random.below(longest + 1);
            random.bytes(length)
        } else {
            let mut input = seeds[random.below(seeds.len())].clone();
            for _ in 0..random.below(8) {
                mutate(&mut input, seeds, &mut random);
            }
            input
        };
        target(&input);
    }
}

/// One change of the kinds that a parser gets wrong.
fn mutate(input: &mut Vec<u8>, seeds: &[Vec<u8>], random: &mut SplitMix64) {
    const EDGES: [u8; 8] = [0, 1, 4, 5, 0x7f, 0x80, 0xfe, 0xff];
    let at = random.below(input.len() + 1);
    let length = random.below(9).min(input.len() - at);
    match random.below(8) {
        0 => input.truncate(at),
        1 => {
            let added = random.below(9);
            input.extend(random.bytes(added));
        }
        2 => drop(input.drain(at..at + length)),
        3 => {
            let copy = input[at..at + length].to_vec();
            input.splice(at..at, copy);
        }
        4 => {
            // The front of one segment and the rest of another.
            let other = &seeds[random.below(seeds.len())];
            input.truncate(at);
            input.extend(other.get(at..).unwrap_or(&[]));
        }
        what => {
            // Half of the single bytes are in the fixed header, where types and lengths are.
            let range = if random.below(2) == 0 { HEADER.min(input.len()) } else { input.len() };
            if range == 0 {
                return;
            }
            let byte = &mut input[random.below(range)];
            match what {
                5 => *byte ^= 1 << random.below(8),
                6 => *byte = EDGES[random.below(EDGES.len())],
                _ => *byte = random.next() as u8,
            }
        }
    }
}

/// The bytes of an XSTP segment of every type, and of the largest composite.
pub fn xstp_seeds() -> Vec<Vec<u8>> {
    let begin = Begin { mss: 1000, many_gaps: true, ts: 10_000, ts_echo: 0 };
    let report = |kind, ends: &[(u16, u16)]| {
        Some(Report {
            kind,
            ts_echo: if kind == ReportKind::Stat { 20_000 } else { 0 },
            received_at: None,
            next: Seq32::new(3),
            more: false,
            gaps: ends.iter().map(|&(lower, upper)| Gap { lower, upper }).collect(),
        })
    };
    let flow = Flow::default;
    let everything = Flow {
        payload: Bytes::from_static(b"hello, world"),
        poll: Some(20_667),
        report: report(ReportKind::Stat, &[(0, 1), (2, 4), (9, 60)]),
        end_ack: Some(Seq32::new(10_000)),
        end: false,
    };
    let bodies = [
        Body::Begin(begin),
        Body::BeginAck(Begin { ts: 12_000, ts_echo: 10_000, ..begin }),
        Body::Reset(ResetReason::NoSession),
        Body::Flow(Flow { payload: Bytes::from_static(b"hello"), ..flow() }),
        Body::Flow(Flow { payload: Bytes::from_static(b"world!"), poll: Some(20_000), ..flow() }),
        Body::Flow(Flow { poll: Some(20_667), ..flow() }),
        Body::Flow(Flow { report: report(ReportKind::Stat, &[]), ..flow() }),
        Body::Flow(Flow { report: report(ReportKind::Stat, &[(0, 1), (2, 4)]), ..flow() }),
        Body::Flow(Flow { report: report(ReportKind::Ustat, &[(0, 2)]), ..flow() }),
        Body::Flow(Flow { end: true, ..flow() }),
        Body::Flow(Flow { end_ack: Some(Seq32::new(10_000)), ..flow() }),
        Body::Flow(Flow { payload: Bytes::new(), end: true, ..everything.clone() }),
        Body::Flow(everything),
    ];
    bodies.into_iter().map(encoded).collect()
}

fn encoded(body: Body) -> Vec<u8> {
    let segment = Segment {
        source_port: 5001,
        destination_port: 5002,
        sq: 7,
        window: 64,
        seq: Seq32::new(5),
        body,
    };
    let mut out = BytesMut::new();
    encode(&segment, None, &mut out);
    out.to_vec()
}

/// Steele, Lea and Flood's generator: no dependency, and its output never changes.
struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`, which is not 0. The bias is of no account for such small ends.
    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.next() as u8).collect()
    }
}
