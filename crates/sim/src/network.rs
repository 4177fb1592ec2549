//! Nodes and links: everything between the endpoints.

use bentpipe_link::{ModelSpec, Passing, Streams};
use bentpipe_record::LinkSummary;
use bentpipe_units::{ByteCount, Instant};
use bentpipe_wire::{Kind, Segment};

use crate::channel::Channel;
use crate::events::{EventQueue, Slot};
use crate::observer::{Observer, PacketSeen};
use crate::packet::{Arena, Load, Packet, PacketId};
use crate::routes::Routes;
use crate::{Encapsulation, RunSpec, wire_mode};

/// The network and the event queue. Channels are the first components of the queue.
pub(crate) struct Network<'o> {
    pub(crate) queue: EventQueue,
    pub(crate) channels: Vec<Channel>,
    pub(crate) packet_hops: u64,
    pub(crate) observer: &'o mut dyn Observer,
    arena: Arena,
    routes: Routes,
    encapsulation: Encapsulation,
    wire: bool,
    watched: bool,
}

impl<'o> Network<'o> {
    /// The network of a run, with room in the queue for `others` components besides the channels.
    pub(crate) fn new(spec: &RunSpec, others: usize, observer: &'o mut dyn Observer) -> Self {
        let streams = Streams::new(spec.seed);
        let mut channels = Vec::new();
        let mut ends = Vec::new();
        for link in &spec.links {
            let [a, b] = link.ends;
            for (from, to, way, models) in
                [(a, b, "forth", &link.forth), (b, a, "back", &link.back)]
            {
                let series = ModelSpec::build_series(models, &streams, &link.name, way);
                let flips = streams.stream(&format!("link/{}/{way}/flips", link.name));
                let summary = LinkSummary {
                    name: link.name.clone(),
                    from: spec.nodes[from].clone(),
                    to: spec.nodes[to].clone(),
                    ..LinkSummary::default()
                };
                channels.push(Channel::new(to as u16, series, flips, summary));
                ends.push((from, to));
            }
        }
        let watched = observer.wants_packets();
        Self {
            queue: EventQueue::new(channels.len() + others),
            packet_hops: 0,
            observer,
            arena: Arena::default(),
            routes: Routes::new(spec.nodes.len(), &ends),
            encapsulation: spec.encapsulation,
            wire: spec.wire,
            watched,
            channels,
        }
    }

    /// True when links lead from one node to the other.
    pub(crate) fn connects(&self, from: usize, to: usize) -> bool {
        self.routes.next(from as u16, to as u16).is_some()
    }

    /// Sends a segment from one node to another.
    pub(crate) fn send(&mut self, now: Instant, from: u16, to: u16, segment: Segment) {
        let len = segment.wire_len() as u32 + self.encapsulation.overhead().get() as u32;
        let kind = segment.kind();
        let load = if self.wire {
            Load::Wire(wire_mode::encode(&segment, self.encapsulation, from, to))
        } else {
            Load::Typed(segment)
        };
        let packet = self.arena.insert(Packet { from, to, len, kind, corrupt: false, load });
        self.enter(now, from, to, packet, len, kind);
    }

    /// The packet leaves node `at` by the channel towards `to`.
    fn enter(&mut self, now: Instant, at: u16, to: u16, packet: PacketId, len: u32, kind: Kind) {
        let Some(index) = self.routes.next(at, to) else {
            self.arena.remove(packet);
            return;
        };
        if self.watched {
            self.show(now, index, packet);
        }
        let serial = self.queue.next_serial();
        let channel = &mut self.channels[index as usize];
        let passing = Passing { bytes: ByteCount::new(u64::from(len)), kind };
        if !channel.offer(now, serial, packet, &passing) {
            self.arena.remove(packet);
        } else if let Some(next) = channel.next()
            && next.serial == serial
        {
            self.queue.set_arrival(index, next.at, serial);
        }
    }

    fn show(&mut self, now: Instant, channel: u32, packet: PacketId) {
        let encapsulation = self.encapsulation;
        let Some(packet) = self.arena.get_mut(packet) else { return };
        let (from, to) = (packet.from, packet.to);
        let encoded;
        let bytes = match &packet.load {
            Load::Typed(segment) => {
                encoded = wire_mode::encode(segment, encapsulation, from, to);
                &encoded
            }
            Load::Wire(bytes) => bytes,
        };
        let seen = PacketSeen { from, to, encapsulation, bytes };
        self.observer.packet(now, channel as usize, &seen);
    }

    /// The next packet of a channel arrives: it goes on, or it is here. Returns node, sender and
    /// segment when it is.
    pub(crate) fn arrive(&mut self, now: Instant, slot: Slot) -> Option<(u16, u16, Segment)> {
        let channel = &mut self.channels[slot as usize];
        let arrived = channel.arrive()?;
        let node = channel.to;
        match channel.next() {
            Some(next) => self.queue.set_arrival(slot, next.at, next.serial),
            None => self.queue.clear(slot),
        }
        self.packet_hops += 1;
        let packet = self.arena.get_mut(arrived.packet)?;
        if arrived.corrupt {
            packet.corrupt = true;
            if let Load::Wire(bytes) = &packet.load {
                let flips = &mut self.channels[slot as usize].flips;
                let (from, to) = (packet.from, packet.to);
                let flipped = wire_mode::corrupt(bytes, self.encapsulation, from, to, flips);
                packet.load = Load::Wire(flipped);
            }
        }
        if packet.to != node {
            let (to, len, kind) = (packet.to, packet.len, packet.kind);
            self.enter(now, node, to, arrived.packet, len, kind);
            return None;
        }
        let packet = self.arena.remove(arrived.packet)?;
        let segment = match packet.load {
            // The checksum finds it.
            Load::Typed(_) if packet.corrupt => None,
            Load::Typed(segment) => Some(segment),
            Load::Wire(bytes) => {
                wire_mode::decode(bytes, self.encapsulation, packet.from, packet.to)
            }
        };
        segment.map(|segment| (node, packet.from, segment))
    }
}
