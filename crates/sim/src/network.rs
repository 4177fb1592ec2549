//! Nodes and links: everything between the endpoints.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use bentpipe_link::{Fate, ModelSpec, Passing, Streams};
use bentpipe_record::LinkSummary;
use bentpipe_units::{ByteCount, Instant};
use bentpipe_wire::{Kind, Segment};
use bytes::Bytes;

use crate::channel::Channel;
use crate::events::{EventQueue, Slot};
use crate::observer::{Observer, PacketSeen};
use crate::packet::{Arena, Load, PacketId};
use crate::routes::Routes;
use crate::{Encapsulation, RunSpec, wire_mode};

/// The network and the event queue. Channels are the first components of the queue.
///
/// A packet that crosses several channels needs an event at a router only if something else may come
/// between. Where all packets of a channel come from one other channel, in order, a packet passes
/// both at once: the second channel is asked at the time at which the packet will get there.
pub(crate) struct Network<'o> {
    pub(crate) queue: EventQueue,
    pub(crate) channels: Vec<Channel>,
    pub(crate) observer: &'o mut dyn Observer,
    arena: Arena,
    routes: Routes,
    encapsulation: Encapsulation,
    overhead: u32,
    end: Instant,
    wire: bool,
    watched: bool,
    /// Packets that the observer will see when their time comes.
    unseen: BinaryHeap<Unseen>,
}

/// A packet that entered a channel ahead of its time: ordered by time and serial, first ones last.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Unseen {
    order: Reverse<(Instant, u64)>,
    channel: usize,
    from: u16,
    to: u16,
    bytes: Bytes,
}

impl<'o> Network<'o> {
    /// The network of a run, with room in the queue for `others` components besides the channels.
    pub(crate) fn new(spec: &RunSpec, others: usize, observer: &'o mut dyn Observer) -> Self {
        let streams = Streams::new(spec.seed);
        let mut channels = Vec::new();
        let mut ends = Vec::new();
        let mut keeps_order = Vec::new();
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
                keeps_order.push(models.iter().all(ModelSpec::keeps_order));
            }
        }
        let routes = Routes::new(spec.nodes.len(), &ends);
        find_only_feeders(spec, &routes, &mut channels, &keeps_order);
        let watched = observer.wants_packets();
        Self {
            queue: EventQueue::new(channels.len() + others),
            observer,
            arena: Arena::default(),
            routes,
            encapsulation: spec.encapsulation,
            overhead: spec.encapsulation.overhead().get() as u32,
            end: Instant::ZERO + spec.duration,
            wire: spec.wire,
            watched,
            unseen: BinaryHeap::new(),
            channels,
        }
    }

    /// True when links lead from one node to the other.
    pub(crate) fn connects(&self, from: usize, to: usize) -> bool {
        self.routes.next(from as u16, to as u16).is_some()
    }

    /// Packets that crossed a channel, counted once for each.
    pub(crate) fn packet_hops(&self) -> u64 {
        self.channels.iter().map(|channel| channel.summary.delivered).sum()
    }

    /// Sends a segment from one node to another.
    #[inline]
    pub(crate) fn send(&mut self, now: Instant, from: u16, to: u16, segment: Segment) {
        let len = segment.wire_len() as u32 + self.overhead;
        let kind = segment.kind();
        let load = if self.wire {
            Load::Wire(wire_mode::encode(&segment, self.encapsulation, from, to))
        } else {
            Load::Typed(segment)
        };
        let packet = self.arena.insert(from, to, len, kind, load);
        self.enter(now, from, to, packet, len, kind);
    }

    /// The packet leaves node `node` for `to`, over as many channels as it passes at once.
    #[inline]
    fn enter(&mut self, now: Instant, node: u16, to: u16, packet: PacketId, len: u32, kind: Kind) {
        let passing = Passing { bytes: ByteCount::new(u64::from(len)), kind };
        let serial = self.queue.next_serial();
        let mut at = now;
        let Some(mut index) = self.routes.next(node, to) else {
            self.arena.remove(packet);
            return;
        };
        loop {
            if self.watched {
                self.show_later(at, index, packet);
            }
            let channel = &mut self.channels[index as usize];
            let far_end = channel.to;
            match channel.pass(now, at, self.end, &passing) {
                Fate::Leaves(leaves) => at = leaves,
                Fate::LeavesCorrupt(leaves) => {
                    at = leaves;
                    self.corrupt(index, packet);
                }
                Fate::Lost(_) => {
                    self.arena.remove(packet);
                    return;
                }
            }
            if far_end == to {
                break;
            }
            match self.routes.next(far_end, to) {
                Some(next) if self.channels[next as usize].only_feeder == Some(index) => {
                    index = next;
                }
                _ => break,
            }
        }
        if self.channels[index as usize].push(at, serial, packet) {
            self.queue.set_arrival(index, at, serial);
        }
    }

    fn corrupt(&mut self, channel: u32, packet: PacketId) {
        let packet = self.arena.get_mut(packet);
        packet.corrupt = true;
        if let Load::Wire(bytes) = &packet.load {
            let flips = &mut self.channels[channel as usize].flips;
            let (from, to) = (packet.from, packet.to);
            let flipped = wire_mode::corrupt(bytes, self.encapsulation, from, to, flips);
            packet.load = Load::Wire(flipped);
        }
    }

    fn show_later(&mut self, at: Instant, channel: u32, packet: PacketId) {
        let packet = self.arena.get_mut(packet);
        let (from, to) = (packet.from, packet.to);
        let bytes = match &packet.load {
            Load::Typed(segment) => wire_mode::encode(segment, self.encapsulation, from, to),
            Load::Wire(bytes) => bytes.clone(),
            Load::Nothing => return,
        };
        if at <= self.end {
            let order = Reverse((at, self.queue.next_serial()));
            self.unseen.push(Unseen { order, channel: channel as usize, from, to, bytes });
        }
    }

    /// Shows the observer all packets that entered a channel by now.
    pub(crate) fn show(&mut self, now: Instant) {
        while let Some(first) = self.unseen.peek()
            && first.order.0.0 <= now
            && let Some(packet) = self.unseen.pop()
        {
            let Unseen { order, channel, from, to, bytes } = packet;
            let encapsulation = self.encapsulation;
            let seen = PacketSeen { from, to, encapsulation, bytes: &bytes };
            self.observer.packet(order.0.0, channel, &seen);
        }
    }

    /// The next packet of a channel arrives: it goes on, or it is here. Returns node, sender and
    /// segment when it is.
    #[inline]
    pub(crate) fn arrive(&mut self, now: Instant, slot: Slot) -> Option<(u16, u16, Segment)> {
        if self.watched {
            self.show(now);
        }
        let channel = &mut self.channels[slot as usize];
        let arrived = channel.arrive()?;
        let node = channel.to;
        match channel.next() {
            Some(next) => self.queue.set_arrival(slot, next.at, next.serial),
            None => self.queue.clear(slot),
        }
        let packet = self.arena.get_mut(arrived.packet);
        let (from, to) = (packet.from, packet.to);
        if to != node {
            let (len, kind) = (packet.len, packet.kind);
            self.enter(now, node, to, arrived.packet, len, kind);
            return None;
        }
        let corrupt = packet.corrupt;
        let segment = match self.arena.remove(arrived.packet) {
            Load::Typed(segment) if !corrupt => segment,
            // The checksum finds it.
            Load::Typed(_) | Load::Nothing => return None,
            Load::Wire(bytes) => wire_mode::decode(bytes, self.encapsulation, from, to)?,
        };
        Some((node, from, segment))
    }
}

/// Finds the channels whose packets all come from one other channel, in order.
fn find_only_feeders(
    spec: &RunSpec,
    routes: &Routes,
    channels: &mut [Channel],
    keeps_order: &[bool],
) {
    // For each channel, what packets come from: other channels, or the node itself.
    let mut feeders: Vec<BTreeSet<Option<u32>>> = vec![BTreeSet::new(); channels.len()];
    for flow in &spec.flows {
        let (a, b) = (flow.from as u16, flow.to as u16);
        for (from, to) in [(a, b), (b, a)] {
            let mut before = None;
            for channel in routes.path(from, to, |c| channels[c as usize].to) {
                feeders[channel as usize].insert(before);
                before = Some(channel);
            }
        }
    }
    for (channel, feeders) in channels.iter_mut().zip(feeders) {
        if let (1, Some(Some(feeder))) = (feeders.len(), feeders.first()) {
            channel.only_feeder = Some(*feeder).filter(|feeder| keeps_order[*feeder as usize]);
        }
    }
}
