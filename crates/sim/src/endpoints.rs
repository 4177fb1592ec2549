//! The ends of the connections and how segments find them.

use std::collections::BTreeSet;

use bentpipe_link::{Stream, Streams};
use bentpipe_transport::demux::Demux;
use bentpipe_transport::xstp::Ports;
use bentpipe_transport::{Endpoint, Event, Host, PathId, drain};
use bentpipe_units::Instant;
use bentpipe_wire::Segment;

use crate::app::{App, Progress};
use crate::connection::{Accepted, Connection, Place, no_session_reset};
use crate::events::Slot;
use crate::generated::{Generated, Outcome};
use crate::network::Network;
use crate::packet::PacketId;
use crate::traffic::Generator;
use crate::{FlowSpec, Protocol};

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
    paths: Vec<[u16; 2]>,
    /// Bytes of packets sent on each path, where there are several.
    pub(crate) path_bytes: Vec<u64>,
    start: Option<Instant>,
    pub(crate) protocol: Protocol,
    pub(crate) ports: Ports,
    entropy: Stream,
    /// The generator of its traffic.
    pub(crate) generator: Option<u32>,
}

/// Who has which ports, for each node and protocol: ports of different protocols have nothing to do
/// with each other.
pub(crate) type Demuxes = Vec<[Demux<u32>; Protocol::COUNT]>;

/// All ends, in pairs: the one that opens and sends and the one that listens and receives. A flow has
/// one pair, or as many as its traffic has connections at the same time.
pub(crate) struct Endpoints {
    pub(crate) ends: Vec<End>,
    /// The first pair of each flow, and how many it has.
    pub(crate) pairs: Vec<(usize, usize)>,
    /// The flows whose traffic is generated.
    pub(crate) generated: Vec<Generated>,
    /// Ends whose generator must look at them.
    pub(crate) touched: Vec<u32>,
    pub(crate) demux: Demuxes,
    pub(crate) first_slot: Slot,
}

/// Pairs of ends that a flow needs.
pub(crate) fn pairs_of(flow: &FlowSpec) -> usize {
    flow.traffic.as_ref().map_or(1, |traffic| traffic.connections() as usize)
}

/// The listening ports of flows of low priority.
pub(crate) fn low_ports(flows: &[FlowSpec]) -> BTreeSet<u16> {
    let pairs = flows.iter().flat_map(|flow| (0..pairs_of(flow)).map(|_| flow.low_priority));
    let low = pairs.enumerate().filter(|(_, low)| *low);
    low.map(|(pair, _)| SERVER_PORT.wrapping_add(pair as u16)).collect()
}

/// What an endpoint sees of the rest while it is drained.
struct Around<'a, 'o> {
    network: &'a mut Network<'o>,
    app: &'a mut App,
    paths: &'a [[u16; 2]],
    path_bytes: &'a mut [u64],
}

impl<E: Endpoint> Host<E> for Around<'_, '_> {
    fn place(&mut self) -> &mut Segment {
        self.network.place()
    }

    fn transmit(&mut self, now: Instant, path: PathId) {
        let [node, peer] = self.paths[path.0 as usize];
        if let Some(bytes) = self.path_bytes.get_mut(path.0 as usize) {
            *bytes += self.network.place().wire_len() as u64;
        }
        self.network.send(now, node, peer);
    }

    fn event(&mut self, now: Instant, endpoint: &mut E, event: Event) {
        self.app.on_event(now, endpoint, event);
    }
}

impl Endpoints {
    /// The ends of all flows; their timers are components `first_slot` and on.
    pub(crate) fn new(
        flows: &[FlowSpec],
        nodes: usize,
        streams: &Streams,
        first_slot: Slot,
    ) -> Self {
        let mut ends = Vec::new();
        let mut demux = Demuxes::new();
        demux.resize_with(nodes, Default::default);
        let (mut pairs, mut generated) = (Vec::new(), Vec::new());
        for flow in flows {
            let first = ends.len() / 2;
            let generator = flow.traffic.as_ref().map(|traffic| {
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
                source.enter(&mut demux, index);
                sink.listen(&mut demux, index + 1);
                ends.extend([source, sink]);
            }
        }
        Self { ends, pairs, generated, touched: Vec::new(), demux, first_slot }
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
    }

    /// Bytes that both ends of a flow sent on each path, where there are several.
    pub(crate) fn path_bytes(&self, flow: usize) -> Vec<u64> {
        let first = 2 * self.pairs[flow].0;
        let [source, sink] = [first, first + 1].map(|end| &self.ends[end].path_bytes);
        source.iter().zip(sink).map(|(a, b)| a + b).collect()
    }

    /// The source of a flow; of its first connection if it has several.
    pub(crate) fn source(&self, flow: usize) -> &End {
        &self.ends[2 * self.pairs[flow].0]
    }

    /// A packet arrived at the node that it is for.
    pub(crate) fn arrive(&mut self, now: Instant, network: &mut Network<'_>, id: PacketId) {
        let packet = network.packet(id);
        let (node, from) = (packet.to, packet.from);
        let (peer_port, local_port) = packet.segment.ports();
        let demux = &self.demux[node as usize][Protocol::index_of(&packet.segment)];
        match demux.session(PathId(u32::from(from)), local_port, peer_port) {
            Some(index) if !packet.segment.opens() => {
                let end = &mut self.ends[index as usize];
                let path = end.path_of(node, from);
                let done = end.arrive(now, path, &mut packet.segment);
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

    /// A request to open, or a segment for which there is no session. Where there is a session, the
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
        let mut segment = std::mem::take(&mut packet.segment);
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
            (Accepted::Open(connection), Some(index)) => {
                let end = &mut self.ends[index as usize];
                end.endpoint = Some(connection);
                end.enter(&mut self.demux, index);
                return self.settle(now, network, index);
            }
            (Accepted::Answer(answer), _) => Some(answer),
            _ => no_session_reset(&segment),
        };
        if let Some(answer) = answer {
            *network.place() = answer;
            network.send(now, node, from);
        }
    }

    /// The end opens its connection.
    pub(crate) fn open(&mut self, now: Instant, network: &mut Network<'_>, index: u32) {
        let end = &mut self.ends[index as usize];
        let (protocol, place) = end.place();
        end.endpoint = Some(Connection::open(protocol, now, place));
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
        if endpoint_due || app_due {
            self.settle(now, network, index);
            self.follow_up(now, network);
        } else if let Some(next) = end.next_timer() {
            // It was put off since it was set.
            network.queue.set_timer(slot, next);
        }
        endpoint_due || app_due
    }

    /// Drains an end after a change and sets its timer.
    #[inline]
    pub(crate) fn settle(&mut self, now: Instant, network: &mut Network<'_>, index: u32) {
        let end = &mut self.ends[index as usize];
        let End { app, paths, path_bytes, .. } = end;
        let mut around = Around { network, app, paths, path_bytes };
        let deadline = match &mut end.endpoint {
            Some(Connection::Xstp(session)) => drain(&mut **session, now, &mut around),
            Some(Connection::Tcp(connection)) => drain(&mut **connection, now, &mut around),
            Some(Connection::Sctp(association)) => drain(&mut **association, now, &mut around),
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
    fn listen(&self, demux: &mut Demuxes, index: u32) {
        for [node, _] in &self.paths {
            demux[usize::from(*node)][self.protocol.index()].listen(self.ports.local, index);
        }
    }

    /// Number of the path between two nodes; that of the first stands for any that is not known.
    #[inline]
    fn path_of(&self, node: u16, peer: u16) -> PathId {
        let known = self.paths.iter().position(|path| *path == [node, peer]);
        PathId(known.unwrap_or(0) as u32)
    }

    /// What the endpoint is to be opened with.
    fn place(&mut self) -> (&Protocol, Place) {
        let paths = self.paths.len() as u32;
        let entropy = self.entropy.bits();
        (&self.protocol, Place { ports: self.ports, paths, entropy })
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
            None => true,
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
            None => (false, false),
        }
    }

    /// When endpoint or application want to be called next.
    fn next_timer(&self) -> Option<Instant> {
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
    let client = CLIENT_PORT.wrapping_add(index as u16);
    let server = SERVER_PORT.wrapping_add(index as u16);
    let entropy = |side: &str| match number {
        0 => streams.stream(&format!("flow/{}/{side}", flow.name)),
        _ => streams.stream(&format!("flow/{}/{number}/{side}", flow.name)),
    };
    let source = End {
        endpoint: None,
        app: App::source(flow.source),
        paths: flow.paths().map(|[from, to]| [from as u16, to as u16]).collect(),
        path_bytes: path_bytes(flow),
        start: generator.is_none().then_some(flow.source.start),
        protocol: flow.protocol.clone(),
        ports: Ports { local: client, peer: server },
        entropy: entropy("client"),
        generator,
    };
    let sink = End {
        endpoint: None,
        app: if generator.is_some() { App::followed_sink() } else { App::sink() },
        paths: flow.paths().map(|[from, to]| [to as u16, from as u16]).collect(),
        path_bytes: path_bytes(flow),
        start: None,
        protocol: flow.protocol.clone(),
        ports: Ports { local: server, peer: client },
        entropy: entropy("server"),
        generator,
    };
    [source, sink]
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
    let quiet = app.only_reads() && endpoint.is_quiet();
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
