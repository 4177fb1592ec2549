//! Nodes and links: everything between the endpoints.

mod first_link;
mod icmp;
mod passing;
pub(crate) mod queues;
mod routers;
mod unseen;

use std::collections::BTreeSet;
use std::ops::Range;

use bentpipe_link::mac::Mac;
use bentpipe_link::queue::{Held, Packets};
use bentpipe_link::{Direction, ModelSpec, Passing, Streams};
use bentpipe_orbit::OrbitError;
use bentpipe_record::LinkSummary;
use bentpipe_units::{ByteCount, Instant};
use bentpipe_wire::xcp::Header;
use bentpipe_wire::{Kind, Segment};

use self::routers::Routers;
use self::unseen::Unseen;
use crate::agents::Agents;
use crate::channel::Channel;
use crate::cut_through::{CutThrough, only_feeders};
use crate::events::{EventQueue, Slot};
use crate::flows::low_ports;
use crate::held::{InMac, describe};
use crate::macs::Macs;
use crate::observer::Observer;
use crate::outages::Outages;
use crate::packet::{Arena, Label, Packet, PacketId};
use crate::routes::Routes;
use crate::topology::Topology;
use crate::{Encapsulation, RunSpec, wire_mode};

/// The network and the event queue. Channels are the first components of the queue.
///
/// A packet passes a whole [stretch](CutThrough) of channels at once.
pub(crate) struct Network<'o> {
    pub(crate) queue: EventQueue,
    pub(crate) channels: Vec<Channel>,
    pub(crate) observer: &'o mut dyn Observer,
    arena: Arena,
    routes: Routes,
    cut_through: CutThrough,
    macs: Macs,
    agents: Agents,
    /// Where the packets of each channel come from.
    near_ends: Vec<u16>,
    /// Ports by which MACs know connections of low priority: those that listen.
    low: BTreeSet<u16>,
    routers: Routers,
    /// Links that tell how they are.
    outages: Outages,
    /// What moves, where a constellation carries the flows.
    topology: Option<Box<Topology>>,
    encapsulation: Encapsulation,
    end: Instant,
    wire: bool,
    watched: bool,
    /// The congestion header of the packet that is sent next.
    congestion: Option<Header>,
    /// What is sent goes before what waits in the MAC before its first channel.
    goes_first: bool,
    /// Packets that the observer will see when their time comes.
    unseen: Unseen,
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
            for (from, to, direction, models) in [
                (a, b, Direction::Forward, &link.forward_link),
                (b, a, Direction::Return, &link.return_link),
            ] {
                let direction = direction.stream();
                let series = ModelSpec::build_series(models, &streams, &link.name, direction);
                let flips = streams.stream(&format!("link/{}/{direction}/flips", link.name));
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
        let far_ends: Vec<u16> = channels.iter().map(|channel| channel.to).collect();
        let feeders = only_feeders(spec, &routes, &far_ends, &keeps_order);
        let first_mac = channels.len() + others;
        let macs = Macs::new(spec, &streams, first_mac as Slot);
        let first_agent = first_mac + spec.macs.len();
        let agents = Agents::new(spec, first_agent as Slot);
        let mac = |channel| macs.before(channel).is_some();
        let routers = Routers::new(spec);
        let looked_at = |channel: u32| {
            agents.stand_at(ends[channel as usize].0 as u16) || routers.is_narrow(channel)
        };
        let cut_through = match &spec.constellation {
            Some(_) => CutThrough::none(spec.nodes.len()),
            None => CutThrough::new(&routes, &far_ends, &feeders, mac, looked_at),
        };
        let watched = observer.wants_packets();
        let mut queue = EventQueue::new(first_agent + spec.agents.len());
        let mut arena = Arena::default();
        let topology = spec.constellation.as_ref().map(|sky| {
            let cables = ends.iter().map(|(from, to)| (*from as u16, *to as u16));
            Box::new(Topology::new(sky, spec, cables, &mut queue, &mut arena))
        });
        Self {
            queue,
            observer,
            arena,
            routes,
            cut_through,
            macs,
            agents,
            low: low_ports(&spec.flows),
            near_ends: ends.iter().map(|(from, _)| *from as u16).collect(),
            routers,
            outages: Outages::new(spec),
            topology,
            encapsulation: spec.encapsulation,
            end: Instant::ZERO + spec.duration,
            wire: spec.wire,
            watched,
            congestion: None,
            goes_first: false,
            unseen: Unseen::default(),
            channels,
        }
    }

    /// True when links lead from one node to the other.
    pub(crate) fn connects(&self, from: usize, to: usize) -> bool {
        self.topology.is_some() || self.routes.next(from as u16, to as u16).is_some()
    }

    /// Packets that crossed a channel, counted once for each.
    pub(crate) fn packet_hops(&self) -> u64 {
        let cables = self.channels.iter();
        let moving = self.topology.iter().flat_map(|t| &t.links).map(|link| &link.channel);
        cables.chain(moving).map(|channel| channel.summary.delivered).sum()
    }

    /// What became of the packets on each direction of a link; over a constellation of those that carried some.
    pub(crate) fn links(&self, spec: &RunSpec) -> Vec<LinkSummary> {
        let mut links: Vec<_> = self.channels.iter().map(|c| c.summary.clone()).collect();
        for [name, from, to] in spec.directions().into_iter().skip(links.len()) {
            let [name, from, to] = [name, from, to].map(str::to_owned);
            links.push(LinkSummary { name, from, to, ..LinkSummary::default() });
        }
        for link in self.topology.iter().flat_map(|topology| &topology.links) {
            links[link.class].add(&link.channel.summary);
        }
        // An operator has a hundred stations: those that carried nothing would hide the others.
        links.retain(|link| self.topology.is_none() || link.packets > 0);
        links
    }

    /// What moves.
    pub(crate) fn topology(&self) -> Option<&Topology> {
        self.topology.as_deref()
    }

    /// Makes the checks of the moving links that are due.
    ///
    /// # Errors
    /// When a satellite is no longer in orbit.
    pub(crate) fn check(&mut self, now: Instant) -> Result<(), OrbitError> {
        match &mut self.topology {
            Some(topology) => topology.check(now, &mut self.queue, &mut self.arena),
            None => Ok(()),
        }
    }

    /// Where the next segment is to be written.
    #[inline]
    pub(crate) fn place(&mut self) -> &mut Segment {
        &mut self.arena.next().1.segment
    }

    /// Sends what was written to that place from one node to another. Returns its length on a link.
    #[inline]
    pub(crate) fn send(&mut self, now: Instant, from: u16, to: u16) -> ByteCount {
        self.launch(now, from, from, to)
    }

    /// Sends what was written to that place from `node`, in the name of `from`.
    #[inline(always)]
    fn launch(&mut self, now: Instant, node: u16, from: u16, to: u16) -> ByteCount {
        let (id, packet) = self.arena.next();
        (packet.from, packet.to, packet.corrupt) = (from, to, false);
        packet.asks = self.congestion.is_some();
        if packet.asks {
            self.attach_congestion(id);
        }
        let label = self.seal(id);
        self.arena.take();
        self.enter(now, node, label);
        ByteCount::new(u64::from(label.len))
    }

    /// Sends back the segment of TCP that was written into the place of the one that had arrived; it is so long and
    /// carries this.
    #[inline(never)]
    pub(crate) fn answer(&mut self, now: Instant, id: PacketId, (len, kind): (usize, Kind)) {
        let packet = self.arena.get_mut(id);
        (packet.from, packet.to) = (packet.to, packet.from);
        (packet.len, packet.kind) = (len as u32 + Encapsulation::Ip.overhead().get() as u32, kind);
        packet.asks = self.congestion.is_some();
        let (mut label, node) = (packet.label(id), packet.from);
        if packet.asks || self.wire {
            self.attach_congestion(id);
            label = self.seal(id);
        }
        self.enter(now, node, label);
    }

    /// The packet gets the congestion header that what is sent next has, if there is one.
    #[inline(never)]
    fn attach_congestion(&mut self, id: PacketId) {
        if let Some(header) = self.congestion.take() {
            *self.arena.congestion_mut(id) = header.in_steps();
        }
    }

    /// The packet leaves node `node`, over as many channels as it passes at once.
    #[inline(always)]
    fn enter(&mut self, now: Instant, node: u16, label: Label) {
        if self.routers.drops_any() && self.drops_too_big(now, node, label) {
            return;
        }
        let hops = self.cut_through.hops(node, label.to);
        self.travel(now, node, now, hops, None, label, label.passing());
    }

    /// The packet passes these channels from `at` on. `last` is the one that it comes from; if there
    /// is none at all, it waits at `node`.
    #[expect(clippy::too_many_arguments, reason = "in one place for every packet, and inlined")]
    #[inline(always)]
    fn travel(
        &mut self,
        now: Instant,
        node: u16,
        mut at: Instant,
        hops: Range<u32>,
        mut last: Option<u32>,
        label: Label,
        passing: Passing,
    ) {
        let packet = label.packet;
        let serial = self.queue.next_serial();
        for hop in hops {
            let index = self.cut_through.channel(hop);
            if self.watched {
                self.show_later(at, index, packet);
            }
            let line = self.channels[index as usize].pass_line(at, self.end, passing.bytes);
            let leaves = line.or_else(|| self.pass(now, at, index, packet, passing));
            let Some(leaves) = leaves else { return };
            at = leaves;
            last = Some(index);
        }
        let Some(last) = last else {
            return match self.topology {
                None => self.wait(now, node, label),
                Some(_) => self.enter_topology(now, node, serial, label),
            };
        };
        if self.channels[last as usize].push(at, serial, label, false) {
            self.queue.set_arrival(last, at, serial);
        }
    }

    /// A packet passes any channel. When it does not come out, it is released.
    #[inline(never)]
    fn pass(
        &mut self,
        now: Instant,
        at: Instant,
        index: u32,
        packet: PacketId,
        passing: Passing,
    ) -> Option<Instant> {
        let (leaves, corrupt) = self.channels[index as usize].pass(now, at, self.end, &passing);
        match leaves {
            None => self.arena.release(packet),
            Some(_) if corrupt => self.corrupt(index, packet),
            Some(_) => {}
        }
        leaves
    }

    /// The packet waits in the MAC before the first channel, or there is no way.
    #[inline(never)]
    fn wait(&mut self, now: Instant, node: u16, Label { packet, to, .. }: Label) {
        let channel = self.routes.next(node, to);
        let place = channel.and_then(|channel| Some((channel, self.macs.before(channel)?)));
        let Some((channel, (mac, line))) = place else { return self.arena.release(packet) };
        if self.watched {
            self.show_later(now, channel, packet);
        }
        let mut held = describe(self.arena.get_mut(packet), packet, line);
        held.first = self.goes_first;
        let (source, destination) = self.arena.get_mut(packet).segment.ports();
        if self.low.contains(&source) || self.low.contains(&destination) {
            held.kind = held.kind.with(Kind::LOW);
        }
        self.channels[channel as usize].offer(now, held.bytes.get());
        self.change_mac(now, mac, |mac, packets| mac.enqueue(now, held, packets));
    }

    /// The timer of a MAC fired.
    pub(crate) fn serve(&mut self, now: Instant, slot: Slot) {
        self.queue.clear(slot);
        let mac = self.macs.index(slot);
        self.change_mac(now, mac, |mac, packets| mac.handle_timeout(now, packets));
    }

    /// Changes a MAC, sends on what departs and sets its timer.
    fn change_mac(
        &mut self,
        now: Instant,
        index: u32,
        change: impl FnOnce(&mut dyn Mac, &mut dyn Packets),
    ) {
        let Self { macs, arena, channels, routers, encapsulation, wire, .. } = self;
        let Routers { tellers, quenches, .. } = routers;
        macs.with(index, |mac, lines, departures| {
            let (encapsulation, wire) = (*encapsulation, *wire);
            let mut packets = InMac {
                now,
                arena,
                channels,
                lines,
                departures,
                tellers,
                quenches,
                encapsulation,
                wire,
            };
            change(mac, &mut packets);
        });
        let departures = self.macs.take_departures();
        for (held, at) in &departures {
            self.depart(now, index, held, *at);
        }
        self.macs.put_back(departures);
        self.macs.set_timer(now, index, &mut self.queue);
        self.send_quenches(now);
    }

    /// A packet leaves its MAC at `at`.
    fn depart(&mut self, now: Instant, mac: u32, held: &Held, at: Instant) {
        let index = self.macs.channel(mac, held.line);
        let passing = Passing { bytes: held.bytes, kind: held.kind };
        self.observer.departs(at, index as usize, held.bytes);
        let (leaves, corrupt) = self.channels[index as usize].pass_on(at, self.end, &passing);
        let Some(at) = leaves else { return self.arena.release(held.id) };
        if corrupt {
            self.corrupt(index, held.id);
        }
        let label = self.arena.get_mut(held.id).label(held.id);
        let node = self.near_ends[index as usize];
        let mut hops = self.cut_through.hops_behind_mac(node, label.to);
        hops.next();
        self.travel(now, node, at, hops, Some(index), label, passing);
    }

    /// The packet leaves a node for another one over one link, which may move.
    #[inline(never)]
    fn enter_topology(&mut self, now: Instant, node: u16, serial: u64, label: Label) {
        let (packet, passing) = (label.packet, label.passing());
        let Some(topology) = &mut self.topology else { return self.arena.release(packet) };
        let Some(slot) = topology.next(node, label.to) else {
            topology.count_no_route();
            return self.arena.release(packet);
        };
        let moving = topology.index(slot);
        if self.watched {
            let direction = moving.map_or(slot as usize, |index| topology.links[index].class);
            self.show_later(now, direction as u32, packet);
        }
        let arrives = match (moving, &mut self.topology) {
            (Some(index), Some(topology)) => topology.pass(now, index, &passing),
            _ => {
                let channel = &mut self.channels[slot as usize];
                let (leaves, corrupt) = channel.pass(now, now, self.end, &passing);
                leaves.map(|leaves| (leaves, corrupt))
            }
        };
        let Some((at, corrupt)) = arrives else { return self.arena.release(packet) };
        if corrupt {
            self.corrupt(slot, packet);
        }
        let damaged = corrupt && moving.is_some();
        if self.channel(slot).push(at, serial, label, damaged) {
            self.queue.set_arrival(slot, at, serial);
        }
    }

    /// The direction of a link that is this component.
    #[inline]
    fn channel(&mut self, slot: Slot) -> &mut Channel {
        match self.topology.as_mut().and_then(|topology| topology.link_of(slot)) {
            Some(link) => &mut link.channel,
            None => &mut self.channels[slot as usize],
        }
    }

    #[cold]
    fn corrupt(&mut self, channel: u32, id: PacketId) {
        self.arena.get_mut(id).corrupt = true;
        if self.wire {
            let mut flips = self.channel(channel).flips.clone();
            let packet = self.arena.get_mut(id);
            let envelope = packet.envelope(self.encapsulation);
            let bytes = self.arena.bytes_mut(id);
            *bytes = wire_mode::corrupt(bytes, &envelope, &mut flips);
            self.channel(channel).flips = flips;
        }
    }

    #[cold]
    fn show_later(&mut self, at: Instant, channel: u32, id: PacketId) {
        let packet = self.arena.get_mut(id);
        let envelope = packet.envelope(self.encapsulation);
        let bytes = if self.wire {
            self.arena.bytes_mut(id).clone()
        } else {
            self.arena.encode(id, self.encapsulation)
        };
        if at <= self.end {
            let order = (at, self.queue.next_serial());
            self.unseen.add(order, channel as usize, envelope, bytes);
        }
    }

    /// Shows the observer all packets that entered a channel by now.
    pub(crate) fn show(&mut self, now: Instant) {
        self.unseen.show(now, self.observer);
    }

    /// The next packet of a channel arrives: it goes on, or it is here. Returns its number when it
    /// is; the caller reads it and then releases it.
    #[inline]
    pub(crate) fn arrive(&mut self, now: Instant, slot: Slot) -> Option<PacketId> {
        if self.watched {
            self.show(now);
        }
        let channel = &mut self.channels[slot as usize];
        let arrived = channel.arrive()?;
        let node = channel.to;
        match channel.next() {
            Some(next) => {
                self.queue.set_arrival(slot, next.at, next.serial);
                if next.label.to == node {
                    self.arena.fetch(next.label.packet);
                }
            }
            None => self.queue.clear(slot),
        }
        self.arrive_at(now, node, arrived.label)
    }

    /// A packet arrives at a node.
    #[inline(always)]
    fn arrive_at(&mut self, now: Instant, node: u16, label: Label) -> Option<PacketId> {
        if label.to != node {
            self.pass_on(now, node, label);
            return None;
        }
        if self.arena.get_mut(label.packet).corrupt || self.wire {
            return self.read_bytes(label.packet);
        }
        Some(label.packet)
    }

    /// The next packet of a link that moves arrives.
    #[inline(never)]
    pub(crate) fn arrive_moving(&mut self, now: Instant, slot: Slot) -> Option<PacketId> {
        if self.watched {
            self.show(now);
        }
        let topology = self.topology.as_mut()?;
        let index = topology.index(slot)?;
        let (label, node) = topology.arrive(index, &mut self.queue)?;
        self.arrive_at(now, node, label)
    }

    /// A packet goes on from a node that it is not for.
    #[inline(never)]
    fn pass_on(&mut self, now: Instant, node: u16, label: Label) {
        if self.agents.is_empty() {
            self.enter(now, node, label);
        } else {
            self.pass_agent(now, node, label.packet);
        }
    }

    /// A packet that is corrupt, or consists of bytes, arrives at the node that it is for.
    #[inline(never)]
    fn read_bytes(&mut self, id: PacketId) -> Option<PacketId> {
        let packet = self.arena.get_mut(id);
        let segment = if self.wire {
            let envelope = packet.envelope(self.encapsulation);
            let bytes = std::mem::take(self.arena.bytes_mut(id));
            wire_mode::decode(bytes, &envelope)
        } else {
            None // The checksum finds what is corrupt.
        };
        let Some((segment, congestion)) = segment else {
            self.arena.release(id);
            return None;
        };
        if let Some(header) = congestion {
            *self.arena.congestion_mut(id) = header;
        }
        self.arena.get_mut(id).segment = segment;
        Some(id)
    }

    /// Works out how long a packet is and what it carries, and its bytes in wire mode.
    #[inline(always)]
    fn seal(&mut self, id: PacketId) -> Label {
        let packet = self.arena.get_mut(id);
        let (len, kind) = packet.segment.measure();
        let len = self.encapsulation.length(&packet.segment, len);
        let header = if packet.asks { Header::LENGTH as u32 } else { 0 };
        (packet.len, packet.kind) = (len + header, kind);
        let label = packet.label(id);
        if self.wire {
            *self.arena.bytes_mut(id) = self.arena.encode(id, self.encapsulation);
        }
        label
    }

    /// A packet that has arrived.
    #[inline]
    pub(crate) fn packet(&mut self, id: PacketId) -> &mut Packet {
        self.arena.get_mut(id)
    }

    /// What is sent next has this congestion header between its segment and the IP header.
    pub(crate) fn set_congestion(&mut self, header: Header) {
        self.congestion = Some(header);
    }

    /// The congestion header of a packet that has arrived.
    pub(crate) fn congestion(&self, id: PacketId) -> Option<Header> {
        self.arena.congestion(id)
    }

    /// The segment of a packet was read.
    #[inline]
    pub(crate) fn release(&mut self, id: PacketId) {
        self.arena.release(id);
    }
}
