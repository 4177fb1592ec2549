//! The ends of the connections and how segments find them.

mod end;
mod ends;
mod fast_path;
mod readdressing;

use std::mem;

use bentpipe_link::Streams;
use bentpipe_transport::tcp::FastPath;
use bentpipe_transport::{Endpoint, Event, Host, NetworkFeedback, PathId, drain, drain_untimed};
use bentpipe_units::Instant;
use bentpipe_wire::icmp::{Message, News};
use bentpipe_wire::xcp::Header;
use bentpipe_wire::{Segment, sctp, tcp};

use crate::app::App;
use crate::components::Components;
use crate::connection::{Accepted, Connection, no_session_reset};
use crate::datagrams::Datagrams;
use crate::envelope::node_at;
use crate::events::Slot;
use crate::flows::pairs_of;
use crate::generated::{Generated, Outcome};
use crate::network::Network;
use crate::packet::PacketId;
use crate::product::Products;
use crate::proxies::Proxies;
use crate::traffic::Generator;
use crate::{BuildError, Protocol, RunSpec};

use self::end::pair;
pub(crate) use self::end::{End, Proxied, proxy_ends};
pub(crate) use self::ends::Ends;

/// Everything at the ends of the links: the ends of flows, with who makes their traffic up, carries it on, or hosts it.
pub(crate) struct Endpoints {
    pub(crate) ends: Ends,
    /// The first pair of each flow, and how many it has.
    pub(crate) pairs: Vec<(usize, usize)>,
    /// The flows whose traffic is generated.
    pub(crate) generated: Vec<Generated>,
    pub(crate) datagrams: Datagrams,
    /// What is deployed.
    pub(crate) products: Products,
    /// Ends whose generator must look at them.
    pub(crate) touched: Vec<u32>,
    pub(crate) first_generator: Slot,
    /// The proxies on the path.
    pub(crate) proxies: Proxies,
}

/// What an endpoint sees of the rest while it is drained.
struct DrainContext<'a, 'o> {
    network: &'a mut Network<'o>,
    app: &'a mut App,
    paths: &'a [[u16; 2]],
    path_bytes: &'a mut [u64],
}

impl<E: Endpoint> Host<E> for DrainContext<'_, '_> {
    fn place(&mut self) -> &mut Segment {
        self.network.place()
    }

    fn congestion(&mut self, header: Header) {
        self.network.set_congestion(header);
    }

    fn transmit(&mut self, now: Instant, path: PathId) {
        let [node, peer] = self.paths[path.0 as usize];
        if let Some(bytes) = self.path_bytes.get_mut(path.0 as usize) {
            *bytes += self.network.place().wire_len() as u64;
        }
        let _ = self.network.send(now, node, peer);
    }

    fn event(&mut self, now: Instant, endpoint: &mut E, event: Event) {
        self.app.on_event(now, endpoint, event);
    }
}

impl Endpoints {
    /// The ends of all flows, and where their timers are among the components.
    ///
    /// # Errors
    /// When gateways cannot be like this.
    pub(crate) fn new(
        spec: &RunSpec,
        streams: &Streams,
        components: &Components,
    ) -> Result<Self, BuildError> {
        let flows = &spec.flows;
        let mut ends = Ends::new(spec.nodes.len(), components.first_end);
        let (mut pairs, mut generated) = (Vec::new(), Vec::new());
        for flow in flows {
            let first = ends.len() / 2;
            let connected = flow.traffic.as_ref().filter(|_| !flow.is_datagrams());
            let generator = connected.map(|traffic| {
                let start = flow.source.start;
                generated.push(Generated {
                    generator: Generator::new(traffic, &flow.name, start, streams),
                    first,
                    source: flow.source,
                    past: Outcome::default(),
                });
                generated.len() as u32 - 1
            });
            pairs.push((first, pairs_of(flow)));
            for number in 0..pairs_of(flow) {
                let source = ends.add(pair(flow, first + number, number, generator, streams));
                let (opens, listens) = match flow.request {
                    None => (source, source + 1),
                    Some(_) => (source + 1, source),
                };
                ends.enter(opens);
                ends.listen(listens);
            }
        }
        let proxies = Proxies::new(flows, &pairs, &spec.schedulers, streams, &mut ends, components);
        let datagrams = Datagrams::new(flows, streams, components.first_datagrams);
        let mut products = Products::new(spec, streams, components.first_product)?;
        products.add_ends(spec, &pairs, streams, &mut ends);
        let (touched, first_generator) = (Vec::new(), components.first_generator());
        Ok(Self { ends, pairs, generated, datagrams, products, touched, first_generator, proxies })
    }

    /// Sets the timers that open the connections.
    pub(crate) fn schedule_starts(&self, network: &mut Network<'_>) {
        for (index, end) in self.ends.iter().enumerate() {
            if let Some(start) = end.start {
                self.ends.set_timer(&mut network.queue, index, start);
            }
        }
        for index in 0..self.generated.len() {
            self.set_generator_timer(network, index as u32);
        }
        self.datagrams.schedule_starts(network);
        self.products.schedule_starts(network);
    }

    /// Bytes that both ends of a flow sent on each path, where there are several.
    pub(crate) fn path_bytes(&self, flow: usize) -> Vec<u64> {
        let first = 2 * self.pairs[flow].0;
        let [source, sink] = [first, first + 1].map(|end| &self.ends[end].path_bytes);
        source.iter().zip(sink).map(|(a, b)| a + b).collect()
    }

    /// The source of a flow; of its first connection if it has several. Datagrams have none.
    pub(crate) fn source(&self, flow: usize) -> Option<&Connection> {
        let (first, count) = self.pairs[flow];
        self.ends.get(2 * first).filter(|_| count > 0)?.endpoint.as_ref()
    }

    /// A packet arrived at the node that it is for.
    #[inline]
    pub(crate) fn arrive(&mut self, now: Instant, network: &mut Network<'_>, id: PacketId) {
        if !self.take_fast_path(now, network, id) {
            self.arrive_any(now, network, id);
        }
    }

    /// Takes a plain segment of TCP, and sends what it makes leave in the packet that brought it. False, and nothing
    /// changed, when it is to be taken as any other.
    #[inline(always)]
    fn take_fast_path(&mut self, now: Instant, network: &mut Network<'_>, id: PacketId) -> bool {
        let packet = network.packet(id);
        let (node, from) = (packet.to, packet.from);
        let Segment::Tcp(segment) = &mut packet.segment else { return false };
        let ports = (segment.destination_port, segment.source_port);
        let session = self.ends.session(node, Protocol::TCP, from, ports);
        let Some(index) = session.filter(|_| !packet.asks) else { return false };
        let Some((outcome, connection)) = self.ends[index as usize].take_plain(now, segment) else {
            return false;
        };
        match outcome {
            FastPath::NotTaken => return false,
            FastPath::Taken => network.release(id),
            FastPath::Answered => {
                let measured = segment.measure();
                if let Some(header) = connection.take_congestion() {
                    network.set_congestion(header);
                }
                network.answer(now, id, measured);
            }
        }
        if !connection.readiness().is_quiet {
            self.drain(now, network, index);
        }
        true
    }

    /// The same for packets that are not answered in place.
    fn arrive_any(&mut self, now: Instant, network: &mut Network<'_>, id: PacketId) {
        let packet = network.packet(id);
        let (node, from) = (packet.to, packet.from);
        match self.ends.session_of(node, from, &packet.segment) {
            Some(index) if !packet.segment.opens() => {
                let end = &mut self.ends[index as usize];
                let path = end.path_of(node, from);
                if packet.asks {
                    end.handle_congestion(now, network, id);
                }
                let done = end.handle_segment(now, path, &mut network.packet(id).segment);
                network.release(id);
                if !done {
                    self.drain(now, network, index);
                    if !self.touched.is_empty() {
                        self.follow_up(now, network);
                    }
                }
            }
            session => {
                self.arrive_unmatched(now, network, id, session);
                self.follow_up(now, network);
            }
        }
    }

    /// A request to open, or a segment for which there is no session, as for no datagram. Where there is a session, the
    /// request is a duplicate or the peer started anew; if the old session gives way to it, a
    /// listener may take it.
    #[cold]
    fn arrive_unmatched(
        &mut self,
        now: Instant,
        network: &mut Network<'_>,
        id: PacketId,
        session: Option<u32>,
    ) {
        let packet = network.packet(id);
        let (from, node) = (packet.from, packet.to);
        if let Segment::Udp(datagram) = &packet.segment {
            if !self.products.receive(now, [node, from], datagram) {
                self.datagrams.arrive(now, node, datagram);
            }
            return network.release(id);
        }
        if let Segment::Icmp(message) = packet.segment {
            network.release(id);
            return self.handle_icmp(now, network, node, &message);
        }
        let mut segment = mem::take(&mut packet.segment);
        network.release(id);
        if let Some(index) = session {
            let end = &mut self.ends[index as usize];
            let path = end.path_of(node, from);
            let _ = end.handle_segment(now, path, &mut segment);
            self.drain(now, network, index);
            if self.ends.session_of(node, from, &segment).is_some() {
                return;
            }
        }
        self.listen(now, network, node, from, segment);
    }

    /// A segment for which there is no session: a listener takes it, or it is answered by a reset.
    fn listen(
        &mut self,
        now: Instant,
        network: &mut Network<'_>,
        node: u16,
        from: u16,
        mut segment: Segment,
    ) {
        let (peer_port, local_port) = segment.ports();
        // Another port of the peer is that of a connection that was here before: its request is late.
        let listener = self
            .ends
            .listener(node, Protocol::index_of(&segment), local_port)
            .filter(|index| self.ends[*index as usize].ports.peer == peer_port);
        let accepted = listener.map_or(Accepted::Refused, |index| {
            let end = &mut self.ends[index as usize];
            let path = end.path_of(node, from);
            let (protocol, place) = end.place();
            Connection::accept(protocol, now, path, &mut segment, &place)
        });
        let answer = match (accepted, listener) {
            (Accepted::Open(mut connection), Some(index)) => {
                let end = &mut self.ends[index as usize];
                network.notify_if_down(now, connection.endpoint_mut(), end.paths[0]);
                end.endpoint = Some(connection);
                end.name_paths();
                self.ends.enter(index as usize);
                return self.drain(now, network, index);
            }
            (Accepted::Answer(answer), _) => Some(answer),
            _ => no_session_reset(&segment),
        };
        if let Some(answer) = answer {
            *network.place() = answer;
            let _ = network.send(now, node, from);
        }
    }

    /// A link went down or came up: the ends beside it that use it first are told.
    pub(crate) fn handle_link_state(
        &mut self,
        now: Instant,
        network: &mut Network<'_>,
        link: u32,
        up: bool,
    ) {
        for index in 0..self.ends.len() {
            let end = &mut self.ends[index];
            let beside = network.first_link(end.paths[0]) == Some(link);
            let Some(connection) = end.endpoint.as_mut().filter(|_| beside) else { continue };
            connection.endpoint_mut().handle_link_state(now, up);
            self.drain(now, network, index as u32);
            self.follow_up(now, network);
        }
    }

    /// A router says what became of a packet of some end of a node.
    fn handle_icmp(
        &mut self,
        now: Instant,
        network: &mut Network<'_>,
        node: u16,
        message: &Message,
    ) {
        let Message { news, packet } = message;
        let protocol = match packet.protocol {
            tcp::PROTOCOL => Protocol::TCP,
            sctp::PROTOCOL => Protocol::SCTP,
            _ => return,
        };
        let Some(peer) = node_at(packet.destination) else { return };
        let Some(index) = self.ends.session(node, protocol, peer, packet.ports) else { return };
        let end = &mut self.ends[index as usize];
        let path = end.path_of(node, peer);
        if let Some(connection) = &mut end.endpoint {
            let endpoint = connection.endpoint_mut();
            match *news {
                News::TooBig { mtu } => {
                    endpoint.handle_packet_too_big(now, path, mtu, packet.number);
                }
                News::Congestion => endpoint.handle_source_quench(now, packet.number),
            }
            self.drain(now, network, index);
        }
    }

    /// The end opens its connection.
    pub(crate) fn open(&mut self, now: Instant, network: &mut Network<'_>, index: u32) {
        let end = &mut self.ends[index as usize];
        end.endpoint = if let Protocol::Bentpipe { sender, .. } = &end.protocol {
            let hosted = self.products.open(now, end.paths[0], end.ports.peer, sender, index);
            hosted.map(|hosted| Connection::Bentpipe(Box::new(hosted)))
        } else {
            let (protocol, place) = end.place();
            Connection::open(protocol, now, place)
        };
        end.name_paths();
        end.notify_if_down(now, network);
        self.drain(now, network, index);
    }

    /// The timer of an end fired. Returns false when there was nothing to do yet.
    pub(crate) fn fire(&mut self, now: Instant, network: &mut Network<'_>, slot: Slot) -> bool {
        let index = self.ends.of_slot(slot);
        network.queue.clear(slot);
        let end = &mut self.ends[index as usize];
        if end.start.is_some_and(|start| start <= now) {
            end.start = None;
            self.open(now, network, index);
            return true;
        }
        let (endpoint_due, app_due) = end.handle_timeout(now);
        let proxied = end.proxied;
        let relay_due = proxied.is_some_and(|proxied| self.proxies.handle_timeout(now, proxied));
        let due = endpoint_due || app_due || relay_due;
        if due {
            self.drain(now, network, index);
            self.follow_up(now, network);
        }
        // It may have been put off since it was set, or only one of those that share it was due.
        let relay_timer = proxied.and_then(|proxied| self.proxies.next_timer(proxied));
        let next = Instant::earliest(self.ends[index as usize].next_timer(), relay_timer);
        if let Some(next) = next {
            network.queue.set_timer(slot, next.max(now));
        }
        due
    }

    /// Drains an end after a change and sets its timer.
    #[inline]
    pub(crate) fn drain(&mut self, now: Instant, network: &mut Network<'_>, index: u32) {
        let end = &mut self.ends[index as usize];
        if let Some(proxied) = end.proxied {
            return self.proxies.drain(now, network, &mut self.ends, proxied);
        }
        if let App::Socket(_) = end.app {
            self.products.touch(end.paths[0][0]);
        }
        let End { app, paths, path_bytes, readdressing, .. } = end;
        let mut context = DrainContext { network, app, paths, path_bytes };
        let deadline = match &mut end.endpoint {
            Some(Connection::Xstp(session)) => drain(&mut **session, now, &mut context),
            Some(Connection::Tcp(connection)) => {
                let own = context.network.notify_queue(now, &mut **connection, context.paths[0]);
                drain_untimed(&mut **connection, now, &mut context);
                if let Some(own) = own {
                    context.network.notify_overflow(now, &mut **connection, own);
                }
                let untimed = end.generator.is_none() && context.app.next_timer().is_none();
                if !connection.take_timer_dirty() && untimed {
                    return;
                }
                connection.poll_timeout()
            }
            Some(Connection::Sctp(association)) => {
                let mut deadline = drain(&mut **association, now, &mut context);
                while let Some(own) = readdressing
                    && own.follow(now, association)
                {
                    deadline = drain(&mut **association, now, &mut context);
                }
                Instant::earliest(deadline, readdressing.as_ref().and_then(|own| own.next_timer()))
            }
            Some(Connection::Bentpipe(hosted)) => {
                self.products.touch(context.paths[0][0]);
                drain(&mut **hosted, now, &mut context)
            }
            None => return,
        };
        if deadline.is_none() && end.is_closed() {
            // From now on there is no such session, and its segments are answered by a reset.
            self.ends.leave(index as usize);
        }
        let end = &self.ends[index as usize];
        if end.generator.is_some() {
            self.touched.push(index);
        }
        let next = Instant::earliest(deadline, end.app.next_timer());
        if let Some(next) = next {
            self.ends.set_timer(&mut network.queue, index as usize, next.max(now));
        }
    }
}
