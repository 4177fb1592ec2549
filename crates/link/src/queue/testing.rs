//! Packets for the tests of queues: made up, and watched.

use std::collections::BTreeMap;

use bentpipe_units::{ByteCount, Instant, Seq32};
use bentpipe_wire::xcp::{RateChange, Request};
use bentpipe_wire::{Ecn, Kind};

use super::{Cumulative, Discipline, FlowKey, Held, LineState, Packets};
use crate::LossCause;

/// What became of the packets.
#[derive(Default)]
pub(crate) struct Watched {
    pub(crate) departed: Vec<(u32, Instant)>,
    pub(crate) lost: Vec<(u32, LossCause)>,
    pub(crate) marked: Vec<u32>,
    pub(crate) requests: BTreeMap<u32, Request>,
    pub(crate) copies: Vec<(u32, Seq32)>,
}

impl Packets for Watched {
    fn departs(&mut self, packet: &Held, at: Instant) {
        self.departed.push((packet.id, at));
    }

    fn lost(&mut self, packet: &Held, cause: LossCause) {
        self.lost.push((packet.id, cause));
    }

    fn mark(&mut self, packet: &Held) {
        assert!(matches!(packet.ecn, Ecn::Capable0 | Ecn::Capable1));
        self.marked.push(packet.id);
    }

    fn request(&self, packet: &Held) -> Option<Request> {
        self.requests.get(&packet.id).copied()
    }

    fn grant(&mut self, packet: &Held, change: RateChange) {
        let request = self.requests.get_mut(&packet.id).expect("a request");
        request.delta_throughput = change;
    }

    fn copy_of_ack(&mut self, packet: &Held, next: Seq32) -> Option<Held> {
        self.copies.push((packet.id, next));
        let id = 1000 + self.copies.len() as u32;
        Some(Held { id, ack: Some(Cumulative { next, plain: true }), ..*packet })
    }
}

/// A packet of 1000 bytes with data.
pub(crate) fn data(id: u32) -> Held {
    Held {
        id,
        line: 0,
        kind: Kind::DATA,
        ecn: Ecn::NotCapable,
        bytes: ByteCount::new(1000),
        flow: FlowKey(1),
        ack: None,
        first: false,
    }
}

/// A plain acknowledgment of 40 bytes.
pub(crate) fn ack(id: u32, flow: u64, next: u32) -> Held {
    Held {
        kind: Kind::ACK,
        bytes: ByteCount::new(40),
        flow: FlowKey(flow),
        ack: Some(Cumulative { next: Seq32::new(next), plain: true }),
        ..data(id)
    }
}

/// A time in milliseconds.
pub(crate) fn ms(n: u64) -> Instant {
    Instant::from_nanos(n * 1_000_000)
}

/// Puts packets into the queue while the line is busy.
pub(crate) fn fill(
    queue: &mut impl Discipline,
    watched: &mut Watched,
    packets: impl IntoIterator<Item = Held>,
) {
    for packet in packets {
        queue.enqueue(ms(0), LineState::Busy, packet, watched);
    }
}

/// Takes all that may go at `now`.
pub(crate) fn drain(queue: &mut impl Discipline, watched: &mut Watched, now: Instant) -> Vec<u32> {
    std::iter::from_fn(|| queue.dequeue(now, watched)).map(|packet| packet.id).collect()
}
