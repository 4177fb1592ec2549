//! What queues on the path know of a packet, and what they do to it.

use bentpipe_link::LossCause;
use bentpipe_link::queue::{Cumulative, FlowKey, Held, Packets};
use bentpipe_units::{ByteCount, Instant, Seq32};
use bentpipe_wire::icmp::Quoted;
use bentpipe_wire::xcp::{RateChange, Request};
use bentpipe_wire::{Segment, tcp};

use crate::channel::Channel;
use crate::packet::{Arena, Packet, PacketId};
use crate::quoted::quote;
use crate::{Encapsulation, wire_mode};

/// What a queue knows of the packet, which waits for line `line` of its MAC.
pub(crate) fn describe(packet: &Packet, id: PacketId, line: u16) -> Held {
    let (source, destination) = packet.segment.ports();
    let key = [packet.from, packet.to, source, destination];
    Held {
        id,
        line,
        kind: packet.kind,
        ecn: packet.segment.ecn(),
        bytes: ByteCount::new(u64::from(packet.len)),
        flow: FlowKey(key.iter().fold(0, |key, part| key << 16 | u64::from(*part))),
        ack: Cumulative::of(&packet.segment),
        first: false,
    }
}

/// The packets of the simulator in the hands of one MAC.
pub(crate) struct InMac<'a> {
    pub(crate) now: Instant,
    pub(crate) arena: &'a mut Arena,
    pub(crate) channels: &'a mut [Channel],
    /// The channel of each line of the MAC.
    pub(crate) lines: &'a [u32],
    /// What departs, to be sent on when the MAC has been left alone.
    pub(crate) departures: &'a mut Vec<(Held, Instant)>,
    /// For each channel the node before it, where that tells senders of congestion by messages.
    pub(crate) tellers: &'a [Option<u16>],
    /// What they tell, to be sent when the MAC has been left alone.
    pub(crate) quenches: &'a mut Vec<Quench>,
    pub(crate) encapsulation: Encapsulation,
    pub(crate) wire: bool,
}

/// A message that a packet met congestion.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quench {
    /// The node that sends it, and the one it is for.
    pub(crate) nodes: [u16; 2],
    pub(crate) packet: Quoted,
}

impl InMac<'_> {
    fn channel(&mut self, packet: &Held) -> &mut Channel {
        &mut self.channels[self.lines[usize::from(packet.line)] as usize]
    }
}

impl InMac<'_> {
    /// The message that takes the place of a mark: to TCP alone, which hears it.
    fn quench(&mut self, packet: &Held) -> Option<Quench> {
        let channel = self.lines[usize::from(packet.line)] as usize;
        let teller = self.tellers.get(channel).copied().flatten()?;
        let marked = self.arena.get_mut(packet.id);
        let tells = matches!(marked.segment, Segment::Tcp(_)) && !marked.corrupt;
        // What a node says to itself needs no message.
        if !tells || marked.from == teller {
            return None;
        }
        let quoted = quote(&marked.segment, marked.from, marked.to, marked.len)?;
        Some(Quench { nodes: [teller, marked.from], packet: quoted })
    }
}

impl Packets for InMac<'_> {
    fn departs(&mut self, packet: &Held, at: Instant) {
        self.departures.push((*packet, at));
    }

    fn lost(&mut self, packet: &Held, cause: LossCause) {
        let now = self.now;
        self.channel(packet).count_loss(now, cause, packet.kind);
        self.arena.release(packet.id);
    }

    fn mark(&mut self, packet: &Held) {
        if let Some(quench) = self.quench(packet) {
            self.quenches.push(quench);
            self.channel(packet).summary.marked += 1;
        } else if self.arena.get_mut(packet.id).segment.mark() {
            self.channel(packet).summary.marked += 1;
        }
    }

    fn request(&self, packet: &Held) -> Option<Request> {
        self.arena.congestion(packet.id)?.request
    }

    fn grant(&mut self, packet: &Held, change: RateChange) {
        let header = self.arena.congestion_mut(packet.id);
        if let Some(request) = &mut header.request {
            request.delta_throughput = change;
        }
        let header = *header;
        if self.wire && !self.arena.get_mut(packet.id).corrupt {
            let bytes = self.arena.bytes_mut(packet.id);
            *bytes = wire_mode::with_congestion(bytes, &header);
        }
    }

    fn copy_of_ack(&mut self, packet: &Held, next: Seq32) -> Option<Held> {
        let original = self.arena.get_mut(packet.id);
        let Segment::Tcp(segment) = &original.segment else { return None };
        if original.corrupt {
            return None;
        }
        let segment = tcp::Segment { ack: next, ..segment.clone() };
        let (from, to, len, kind) = (original.from, original.to, original.len, original.kind);
        let (id, place) = self.arena.next();
        let segment = Segment::Tcp(segment);
        *place = Packet { from, to, len, kind, corrupt: false, asks: false, segment };
        if self.wire {
            *self.arena.bytes_mut(id) = self.arena.encode(id, self.encapsulation);
        }
        self.arena.take();
        let summary = &mut self.channel(packet).summary;
        summary.acks_added += 1;
        Some(Held { id, ack: Some(Cumulative { next, plain: true }), ..*packet })
    }
}
