//! Packets as a diagram of time and sequence has them.

use bentpipe_sim::PacketSeen;
use bentpipe_wire::xstp::Body;
use bentpipe_wire::{tcp, xstp};
use bytes::Bytes;
use serde::Serialize;

/// Most packets of a run that are shown one by one.
pub(super) const MOST_PACKETS: usize = 20_000;

/// A packet that was handed to a direction of a link.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Packet {
    /// Simulated seconds.
    time_s: f64,
    /// The direction of a link, numbered as in the list of links of the run.
    direction: usize,
    /// The numbers of the nodes that sent it and that it is for.
    from: u16,
    to: u16,
    /// Bytes of the segment.
    bytes: usize,
    /// What its header says; nothing of protocols whose segments are sealed or have no numbers.
    #[serde(flatten)]
    header: Option<Header>,
}

/// The numbers of a segment: bytes in TCP, segments in XSTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
struct Header {
    source_port: u16,
    destination_port: u16,
    seq: u32,
    /// What it takes of the numbers.
    length: u32,
    ack: Option<u32>,
}

impl Packet {
    pub(super) fn of(time_s: f64, direction: usize, seen: &PacketSeen<'_>) -> Self {
        let bytes = Bytes::copy_from_slice(seen.bytes);
        let header = match seen.envelope.protocol {
            tcp::PROTOCOL => of_tcp(bytes, seen),
            xstp::PROTOCOL => of_xstp(bytes, seen),
            _ => None,
        };
        let (from, to) = (seen.envelope.from, seen.envelope.to);
        Self { time_s, direction, from, to, bytes: seen.bytes.len(), header }
    }
}

fn of_tcp(bytes: Bytes, seen: &PacketSeen<'_>) -> Option<Header> {
    let segment = tcp::decode(bytes, &seen.envelope.addresses()).ok()?;
    Some(Header {
        source_port: segment.source_port,
        destination_port: segment.destination_port,
        seq: segment.seq.get(),
        length: segment.payload.len() as u32,
        ack: segment.flags.contains(tcp::Flags::ACK).then(|| segment.ack.get()),
    })
}

fn of_xstp(bytes: Bytes, seen: &PacketSeen<'_>) -> Option<Header> {
    // Its checksum covers addresses where it is in IP.
    let alone = xstp::decode(bytes.clone(), None);
    let segment = alone.or_else(|_| xstp::decode(bytes, Some(&seen.envelope.addresses()))).ok()?;
    let flow = match &segment.body {
        Body::Flow(flow) => Some(flow),
        Body::Begin(_) | Body::BeginAck(_) | Body::Reset(_) => None,
    };
    Some(Header {
        source_port: segment.source_port,
        destination_port: segment.destination_port,
        seq: segment.seq.get(),
        length: flow.map_or(0, |flow| u32::from(!flow.payload.is_empty())),
        ack: flow.and_then(|flow| flow.report.as_ref()).map(|report| report.next.get()),
    })
}
