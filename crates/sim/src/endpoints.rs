//! The ends of the connections and how segments find them.

mod fast_path;

use std::collections::BTreeSet;
use std::mem;

use bentpipe_link::{Stream, Streams};
use bentpipe_pep::split::Side;
use bentpipe_transport::demux::Demux;
use bentpipe_transport::{Endpoint, Event, Host, PathId, Ports, drain, empty};
use bentpipe_units::Instant;
use bentpipe_wire::Segment;
use bentpipe_wire::xcp::Header;

use crate::app::{App, Progress};
use crate::components::Components;
use crate::connection::{Accepted, Connection, Place, no_session_reset};
use crate::datagrams::{self, Datagrams};
use crate::events::Slot;
use crate::generated::{Generated, Outcome};
use crate::network::Network;
use crate::packet::PacketId;
use crate::product::Products;
use crate::splices::{Spliced, Splices};
use crate::traffic::Generator;
use crate::{BuildError, FlowSpec, Protocol, RunSpec};

/// Port of the first flow's listener; the others follow.
const SERVER_PORT: u16 = 5002;
/// Port of the first flow's client; the others follow.
const CLIENT_PORT: u16 = 49_152;

/// One end of a flow.
pub(crate) struct End {
    /// Its endpoint; none before the connection is opened.
    pub(crate) endpoint: Option<Connection>,
    pub(crate) app: App,
    /// For each path the node of this end and that of the peer.
    pub(crate) paths: Vec<[u16; 2]>,
    /// Bytes of packets sent on each path, where there are several.
    pub(crate) path_bytes: Vec<u64>,
    pub(crate) start: Option<Instant>,
    pub(crate) protocol: Protocol,
    pub(crate) ports: Ports,
    pub(crate) entropy: Stream,
    /// The generator of its traffic.
    pub(crate) generator: Option<u32>,
    /// The proxy that it belongs to.
    pub(crate) spliced: Option<Spliced>,
}

/// Who has which ports, for each node and protocol: ports of different protocols have nothing to do
/// with each other.
pub(crate) type Demuxes = Vec<[Demux<u32>; Protocol::COUNT]>;

/// All ends, in pairs: the one that opens and sends and the one that listens and receives. A flow has
/// one pair, or as many as its traffic has connections at the same time. Behind them are those of the
/// proxies, in pairs as well: the one that listens and the one that opens.
pub(crate) struct Endpoints {
    pub(crate) ends: Vec<End>,
    /// The first pair of each flow, and how many it has.
    pub(crate) pairs: Vec<(usize, usize)>,
    /// The flows whose traffic is generated.
    pub(crate) generated: Vec<Generated>,
    pub(crate) datagrams: Datagrams,
    /// What is deployed.
    pub(crate) products: Products,
    /// Ends whose generator must look at them.
    pub(crate) touched: Vec<u32>,
    pub(crate) demux: Demuxes,
    pub(crate) first_slot: Slot,
    /// The proxies on the way.
    pub(crate) splices: Splices,
}

/// Ends of all flows, those of proxies included.
pub(crate) fn count_ends(flows: &[FlowSpec]) -> usize {
    let gateways = |flow: &FlowSpec| usize::from(flow.gateways.is_some());
    flows.iter().map(|flow| 2 * pairs_of(flow) * (1 + flow.proxies.len() + gateways(flow))).sum()
}

/// Pairs of ends that a flow needs; datagrams need none.
pub(crate) fn pairs_of(flow: &FlowSpec) -> usize {
    if flow.is_datagrams() {
        return 0;
    }
    flow.traffic.as_ref().map_or(1, |traffic| traffic.connections() as usize)
}

/// The ports of flows of low priority: those of listeners and of datagrams.
pub(crate) fn low_ports(flows: &[FlowSpec]) -> BTreeSet<u16> {
    let pairs = flows.iter().flat_map(|flow| (0..pairs_of(flow)).map(|_| flow.low_priority));
    let low = pairs.enumerate().filter(|(_, low)| *low);
    let listening = low.map(|(pair, _)| SERVER_PORT.wrapping_add(pair as u16));
    listening.chain(datagrams::low_ports(flows)).collect()
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
        let mut ends = Vec::new();
        let mut demux = Demuxes::new();
        demux.resize_with(spec.nodes.len(), Default::default);
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
                let index = ends.len() as u32;
                let [source, sink] = pair(flow, first + number, number, generator, streams);
                let (opens, listens) = match flow.request {
                    None => ((&source, index), (&sink, index + 1)),
                    Some(_) => ((&sink, index + 1), (&source, index)),
                };
                opens.0.enter(&mut demux, opens.1);
                listens.0.listen(&mut demux, listens.1);
                ends.extend([source, sink]);
            }
        }
        let splices = Splices::new(flows, &pairs, &spec.schedulers, streams, &mut ends, &mut demux);
        let datagrams = Datagrams::new(flows, streams, components.first_datagrams);
        let mut products = Products::new(spec, streams, components.first_product)?;
        products.add_ends(spec, &pairs, streams, &mut ends, &mut demux);
        let (touched, first_slot) = (Vec::new(), components.first_end);
        Ok(Self {
            ends,
            pairs,
            generated,
            datagrams,
            products,
            touched,
            demux,
            first_slot,
            splices,
        })
    }

    /// Sets the timers that open the connections.
    pub(crate) fn schedule_starts(&self, network: &mut Network<'_>) {
        for (index, end) in self.ends.iter().enumerate() {
            if let Some(start) = end.start {
                network.queue.set_timer(self.first_slot + index as Slot, start);
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

    /// The same for packets that are not [answered in place](Endpoints::turn).
    fn arrive_any(&mut self, now: Instant, network: &mut Network<'_>, id: PacketId) {
        let packet = network.packet(id);
        let (node, from) = (packet.to, packet.from);
        let (peer_port, local_port) = packet.segment.ports();
        let demux = &self.demux[node as usize][Protocol::index_of(&packet.segment)];
        match demux.session(PathId(u32::from(from)), local_port, peer_port) {
            Some(index) if !packet.segment.opens() => {
                let end = &mut self.ends[index as usize];
                let path = end.path_of(node, from);
                if packet.asks {
                    end.hear_routers(now, network, id);
                }
                let done = end.arrive(now, path, &mut network.packet(id).segment);
                network.release(id);
                if !done {
                    self.settle(now, network, index);
                    if !self.touched.is_empty() {
                        self.follow_up(now, network);
                    }
                }
            }
            session => {
                self.knock(now, network, id, session);
                self.follow_up(now, network);
            }
        }
    }

    /// A request to open, or a segment for which there is no session, as for no datagram. Where there is a session, the
    /// request is a duplicate or the peer started anew; if the old session gives way to it, a
    /// listener may take it.
    #[cold]
    fn knock(
        &mut self,
        now: Instant,
        network: &mut Network<'_>,
        id: PacketId,
        session: Option<u32>,
    ) {
        let packet = network.packet(id);
        let (from, node) = (packet.from, packet.to);
        let (peer_port, local_port) = packet.segment.ports();
        if let Segment::Udp(datagram) = &packet.segment {
            if !self.products.receive(now, [node, from], datagram) {
                self.datagrams.arrive(now, node, datagram);
            }
            return network.release(id);
        }
        if let Segment::Icmp(message) = packet.segment {
            network.release(id);
            return self.hear_too_long(now, network, node, &message);
        }
        let mut segment = mem::take(&mut packet.segment);
        network.release(id);
        if let Some(index) = session {
            let end = &mut self.ends[index as usize];
            let path = end.path_of(node, from);
            let _ = end.arrive(now, path, &mut segment);
            self.settle(now, network, index);
            let demux = &self.demux[node as usize][Protocol::index_of(&segment)];
            if demux.session(PathId(u32::from(from)), local_port, peer_port).is_some() {
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
        let demux = &self.demux[node as usize][Protocol::index_of(&segment)];
        // Another port of the peer is that of a connection that was here before: its request is late.
        let listener = demux
            .listener(local_port)
            .filter(|index| self.ends[*index as usize].ports.peer == peer_port);
        let accepted = listener.map_or(Accepted::Refused, |index| {
            let end = &mut self.ends[index as usize];
            let path = end.path_of(node, from);
            let (protocol, place) = end.place();
            Connection::accept(protocol, now, path, &mut segment, place)
        });
        let answer = match (accepted, listener) {
            (Accepted::Open(mut connection), Some(index)) => {
                let end = &mut self.ends[index as usize];
                network.tell_if_down(now, connection.endpoint_mut(), end.paths[0]);
                end.endpoint = Some(connection);
                end.enter(&mut self.demux, index);
                return self.settle(now, network, index);
            }
            (Accepted::Answer(answer), _) => Some(answer),
            _ => no_session_reset(&segment),
        };
        if let Some(answer) = answer {
            *network.place() = answer;
            let _ = network.send(now, node, from);
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
        end.tell_if_down(now, network);
        self.settle(now, network, index);
    }

    /// The timer of an end fired. Returns false when there was nothing to do yet.
    pub(crate) fn fire(&mut self, now: Instant, network: &mut Network<'_>, slot: Slot) -> bool {
        let index = slot - self.first_slot;
        network.queue.clear(slot);
        let end = &mut self.ends[index as usize];
        if end.start.is_some_and(|start| start <= now) {
            end.start = None;
            self.open(now, network, index);
            return true;
        }
        let (endpoint_due, app_due) = end.let_time_pass(now);
        let spliced = end.spliced;
        let relay_due = spliced.is_some_and(|spliced| self.splices.let_time_pass(now, spliced));
        let due = endpoint_due || app_due || relay_due;
        if due {
            self.settle(now, network, index);
            self.follow_up(now, network);
        }
        // It may have been put off since it was set, or only one of those that share it was due.
        let relay_timer = spliced.and_then(|spliced| self.splices.next_timer(spliced));
        let next = Instant::earliest(self.ends[index as usize].next_timer(), relay_timer);
        if let Some(next) = next {
            network.queue.set_timer(slot, next.max(now));
        }
        due
    }

    /// Drains an end after a change and sets its timer.
    #[inline]
    pub(crate) fn settle(&mut self, now: Instant, network: &mut Network<'_>, index: u32) {
        let end = &mut self.ends[index as usize];
        if let Some(spliced) = end.spliced {
            return self.settle_splice(now, network, spliced);
        }
        if let App::Socket(_) = end.app {
            self.products.touch(end.paths[0][0]);
        }
        let End { app, paths, path_bytes, .. } = end;
        let mut context = DrainContext { network, app, paths, path_bytes };
        let deadline = match &mut end.endpoint {
            Some(Connection::Xstp(session)) => drain(&mut **session, now, &mut context),
            Some(Connection::Tcp(connection)) => {
                let own = context.network.tell_queue(now, &mut **connection, context.paths[0]);
                empty(&mut **connection, now, &mut context);
                if let Some(own) = own {
                    context.network.tell_overflow(now, &mut **connection, own);
                }
                let untimed = end.generator.is_none() && context.app.next_timer().is_none();
                if !connection.take_timer_dirty() && untimed {
                    return;
                }
                connection.poll_timeout()
            }
            Some(Connection::Sctp(association)) => drain(&mut **association, now, &mut context),
            Some(Connection::Bentpipe(hosted)) => {
                self.products.touch(context.paths[0][0]);
                drain(&mut **hosted, now, &mut context)
            }
            None => return,
        };
        if deadline.is_none() && end.is_closed() {
            // From now on there is no such session, and its segments are answered by a reset.
            end.leave(&mut self.demux);
        }
        if end.generator.is_some() {
            self.touched.push(index);
        }
        let next = Instant::earliest(deadline, end.app.next_timer());
        if let Some(next) = next {
            network.queue.set_timer(self.first_slot + index, next.max(now));
        }
    }
}

impl End {
    /// Segments of its connection find it, whatever path they come by.
    pub(crate) fn enter(&self, demux: &mut Demuxes, index: u32) {
        for [node, peer] in &self.paths {
            let demux = &mut demux[usize::from(*node)][self.protocol.index()];
            demux.insert(PathId(u32::from(*peer)), self.ports.local, self.ports.peer, index);
        }
    }

    /// They find it no more.
    pub(crate) fn leave(&self, demux: &mut Demuxes) {
        for [node, peer] in &self.paths {
            let demux = &mut demux[usize::from(*node)][self.protocol.index()];
            demux.remove(PathId(u32::from(*peer)), self.ports.local, self.ports.peer);
        }
    }

    /// Requests to open find it at each of its nodes.
    pub(crate) fn listen(&self, demux: &mut Demuxes, index: u32) {
        for [node, _] in &self.paths {
            demux[usize::from(*node)][self.protocol.index()].listen(self.ports.local, index);
        }
    }

    /// Number of the path between two nodes; that of the first stands for any that is not known.
    #[inline]
    fn path_of(&self, node: u16, peer: u16) -> PathId {
        let known = match &self.paths[..] {
            [_] => None,
            paths => paths.iter().position(|path| *path == [node, peer]),
        };
        PathId(known.unwrap_or(0) as u32)
    }

    /// What the endpoint is to be opened with.
    pub(crate) fn place(&mut self) -> (&Protocol, Place) {
        let paths = self.paths.len() as u32;
        let entropy = self.entropy.bits();
        (&self.protocol, Place { ports: self.ports, paths, entropy })
    }

    /// A packet with a congestion header arrived.
    #[cold]
    fn hear_routers(&mut self, now: Instant, network: &Network<'_>, id: PacketId) {
        if let (Some(connection), Some(header)) = (&mut self.endpoint, network.congestion(id)) {
            connection.endpoint_mut().handle_congestion(now, &header);
        }
    }

    /// A segment arrived. True when that was all: otherwise the end must be drained.
    #[inline(always)]
    fn arrive(&mut self, now: Instant, path: PathId, segment: &mut Segment) -> bool {
        match &mut self.endpoint {
            Some(Connection::Xstp(session)) => {
                arrive(now, path, segment, &mut **session, &mut self.app)
            }
            Some(Connection::Tcp(connection)) => {
                arrive(now, path, segment, &mut **connection, &mut self.app)
            }
            Some(Connection::Sctp(association)) => {
                arrive(now, path, segment, &mut **association, &mut self.app)
            }
            Some(Connection::Bentpipe(_)) | None => true,
        }
    }

    /// Time has come to this point: calls the endpoint, or else the application, if it is due.
    /// Returns whether each of them was.
    fn let_time_pass(&mut self, now: Instant) -> (bool, bool) {
        match &mut self.endpoint {
            Some(Connection::Xstp(session)) => let_time_pass(now, &mut **session, &mut self.app),
            Some(Connection::Tcp(connection)) => {
                let_time_pass(now, &mut **connection, &mut self.app)
            }
            Some(Connection::Sctp(association)) => {
                let_time_pass(now, &mut **association, &mut self.app)
            }
            Some(Connection::Bentpipe(hosted)) => let_time_pass(now, &mut **hosted, &mut self.app),
            None => (false, false),
        }
    }

    /// When endpoint or application want to be called next.
    pub(crate) fn next_timer(&self) -> Option<Instant> {
        let endpoint =
            self.endpoint.as_ref().and_then(|connection| connection.endpoint().poll_timeout());
        Instant::earliest(endpoint, self.app.next_timer())
    }

    /// The application has got more to send.
    pub(crate) fn feed(&mut self, now: Instant) {
        match &mut self.endpoint {
            Some(Connection::Xstp(session)) => {
                self.app.on_event(now, &mut **session, Event::Writable);
            }
            Some(Connection::Tcp(connection)) => {
                self.app.on_event(now, &mut **connection, Event::Writable);
            }
            Some(Connection::Sctp(association)) => {
                self.app.on_event(now, &mut **association, Event::Writable);
            }
            Some(Connection::Bentpipe(hosted)) => {
                self.app.on_event(now, &mut **hosted, Event::Writable);
            }
            None => {}
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.endpoint.as_ref().is_some_and(|connection| connection.endpoint().is_closed())
    }

    /// How far its application is.
    pub(crate) fn progress(&self) -> Progress {
        self.app.progress()
    }
}

/// Room to count bytes on each path, where there are several.
fn path_bytes(flow: &FlowSpec) -> Vec<u64> {
    let count = flow.paths().count();
    if count > 1 { vec![0; count] } else { Vec::new() }
}

/// The two ends of connection `number` of a flow; `index` numbers the pairs of all flows.
fn pair(
    flow: &FlowSpec,
    index: usize,
    number: usize,
    generator: Option<u32>,
    streams: &Streams,
) -> [End; 2] {
    let (client, server) = ports(index);
    let entropy = |side: &str| match number {
        0 => streams.stream(&format!("flow/{}/{side}", flow.name)),
        _ => streams.stream(&format!("flow/{}/{number}/{side}", flow.name)),
    };
    let mut source = End {
        endpoint: None,
        app: App::source(flow.source),
        paths: flow.paths().map(|[from, to]| [from as u16, to as u16]).collect(),
        path_bytes: path_bytes(flow),
        start: generator.is_none().then_some(flow.source.start),
        protocol: flow.protocol.clone(),
        ports: Ports { local: client, peer: server },
        entropy: entropy("client"),
        generator,
        spliced: None,
    };
    let mut sink = End {
        endpoint: None,
        app: if generator.is_some() { App::followed_sink() } else { App::sink() },
        paths: flow.paths().map(|[from, to]| [to as u16, from as u16]).collect(),
        path_bytes: path_bytes(flow),
        start: None,
        protocol: flow.protocol.clone(),
        ports: Ports { local: server, peer: client },
        entropy: entropy("server"),
        generator,
        spliced: None,
    };
    if let Some(last) = flow.proxies.last() {
        sink.paths = vec![[flow.to as u16, last.node as u16]];
        sink.protocol = last.protocol.clone();
    }
    if let Some([_, last]) = flow.gateways {
        sink.paths = vec![[flow.to as u16, last as u16]];
    }
    if let Some(request) = flow.request {
        (source.app, sink.app) = (App::server(flow.source, request), App::client(request));
        mem::swap(&mut source.ports, &mut sink.ports);
        mem::swap(&mut source.start, &mut sink.start);
        (source.protocol, sink.protocol) = (source.protocol.turned(), sink.protocol.turned());
    }
    [source, sink]
}

/// The two ends that a proxy has of connection `index`, the `number`th of its flow: the one that listens
/// and the one that opens. They have the ports that the outer ends of the connection have.
pub(crate) fn proxy_ends(
    flow: &FlowSpec,
    index: usize,
    number: usize,
    splice: u32,
    proxy: usize,
    streams: &Streams,
) -> [End; 2] {
    let name = &flow.proxies[proxy].name;
    let (client, server) = ports(index);
    let end = |nodes: [usize; 2], protocol, ports, side, which| End {
        endpoint: None,
        app: App::Relay,
        paths: vec![nodes.map(|node| node as u16)],
        path_bytes: Vec::new(),
        start: None,
        protocol,
        ports,
        entropy: match number {
            0 => streams.stream(&format!("flow/{}/{name}/{which}", flow.name)),
            _ => streams.stream(&format!("flow/{}/{number}/{name}/{which}", flow.name)),
        },
        generator: None,
        spliced: Some(Spliced { splice, side }),
    };
    let ([before, here], from_sender) = flow.leg(proxy);
    let ([_, behind], to_receiver) = flow.leg(proxy + 1);
    let (listens, opens) = match flow.request {
        None => (([here, before], from_sender.clone()), ([here, behind], to_receiver.clone())),
        Some(_) => (([here, behind], to_receiver.turned()), ([here, before], from_sender.turned())),
    };
    let listening = Ports { local: server, peer: client };
    let opening = Ports { local: client, peer: server };
    [
        end(listens.0, listens.1, listening, Side::Near, "near"),
        end(opens.0, opens.1, opening, Side::Far, "far"),
    ]
}

/// The ports of connection `index` of all: the client's and the server's.
pub(crate) const fn ports(index: usize) -> (u16, u16) {
    (CLIENT_PORT.wrapping_add(index as u16), SERVER_PORT.wrapping_add(index as u16))
}

#[inline]
fn arrive(
    now: Instant,
    path: PathId,
    segment: &mut Segment,
    endpoint: &mut impl Endpoint,
    app: &mut App,
) -> bool {
    endpoint.handle_segment(now, path, segment);
    let quiet = app.only_reads() && endpoint.readiness().is_quiet;
    if quiet && let Some(event) = endpoint.poll_event() {
        app.on_event(now, endpoint, event);
    }
    quiet
}

fn let_time_pass(now: Instant, endpoint: &mut impl Endpoint, app: &mut App) -> (bool, bool) {
    let endpoint_due = endpoint.poll_timeout().is_some_and(|at| at <= now);
    let app_due = !endpoint_due && app.next_timer().is_some_and(|at| at <= now);
    if endpoint_due {
        endpoint.handle_timeout(now);
    } else if app_due {
        app.on_timer(now, endpoint);
    }
    (endpoint_due, app_due)
}
