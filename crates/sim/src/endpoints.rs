//! The ends of the connections and how segments find them.

use bentpipe_link::{Stream, Streams};
use bentpipe_transport::demux::Demux;
use bentpipe_transport::xstp::{self, Ports};
use bentpipe_transport::{Endpoint, Event, Host, PathId, drain, tcp};
use bentpipe_units::Instant;
use bentpipe_wire::Segment;

use crate::app::{App, Progress};
use crate::events::Slot;
use crate::network::Network;
use crate::packet::PacketId;
use crate::{FlowSpec, Protocol};

/// Port of the first flow's listener; the others follow.
const SERVER_PORT: u16 = 5002;
/// Port of the first flow's client; the others follow.
const CLIENT_PORT: u16 = 49_152;

/// One end of a flow.
pub(crate) struct End {
    /// Its endpoint; none before the connection is opened.
    pub(crate) endpoint: Option<Connection>,
    app: App,
    node: u16,
    peer: u16,
    start: Option<Instant>,
    protocol: Protocol,
    ports: Ports,
    entropy: Stream,
}

/// The endpoint of any protocol. What happens for every packet is compiled for each of them.
pub(crate) enum Connection {
    /// XSTP.
    Xstp(Box<xstp::Session>),
}

impl Connection {
    /// The endpoint, where it matters little how fast it is reached.
    pub(crate) fn endpoint(&self) -> &dyn Endpoint {
        match self {
            Self::Xstp(session) => &**session,
        }
    }
}

/// All ends: those of flow `n` are 2n (it opens and sends) and 2n+1 (it listens and receives).
pub(crate) struct Endpoints {
    ends: Vec<End>,
    demux: Vec<Demux<u32>>,
    first_slot: Slot,
}

/// What an endpoint sees of the rest while it is drained.
struct Around<'a, 'o> {
    network: &'a mut Network<'o>,
    app: &'a mut App,
    node: u16,
    peer: u16,
}

impl<E: Endpoint> Host<E> for Around<'_, '_> {
    fn place(&mut self) -> &mut Segment {
        self.network.place()
    }

    fn transmit(&mut self, now: Instant, _path: PathId) {
        self.network.send(now, self.node, self.peer);
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
        let mut demux: Vec<Demux<u32>> = (0..nodes).map(|_| Demux::default()).collect();
        for (index, flow) in flows.iter().enumerate() {
            let client = CLIENT_PORT.wrapping_add(index as u16);
            let server = SERVER_PORT.wrapping_add(index as u16);
            let name = &flow.name;
            let (from, to) = (flow.from as u16, flow.to as u16);
            ends.push(End {
                endpoint: None,
                app: App::source(flow.source),
                node: from,
                peer: to,
                start: Some(flow.source.start),
                protocol: flow.protocol.clone(),
                ports: Ports { local: client, peer: server },
                entropy: streams.stream(&format!("flow/{name}/client")),
            });
            demux[flow.from].insert(PathId(u32::from(to)), client, server, 2 * index as u32);
            ends.push(End {
                endpoint: None,
                app: App::sink(),
                node: to,
                peer: from,
                start: None,
                protocol: flow.protocol.clone(),
                ports: Ports { local: server, peer: client },
                entropy: streams.stream(&format!("flow/{name}/server")),
            });
            demux[flow.to].listen(server, 2 * index as u32 + 1);
        }
        Self { ends, demux, first_slot }
    }

    /// Sets the timers that open the connections.
    pub(crate) fn schedule_starts(&self, network: &mut Network<'_>) {
        for (index, end) in self.ends.iter().enumerate() {
            if let Some(start) = end.start {
                network.queue.set_timer(self.first_slot + index as Slot, start);
            }
        }
    }

    /// The end of this number.
    pub(crate) fn end(&self, index: usize) -> &End {
        &self.ends[index]
    }

    /// A packet arrived at the node that it is for.
    pub(crate) fn arrive(&mut self, now: Instant, network: &mut Network<'_>, id: PacketId) {
        let packet = network.packet(id);
        let (node, path) = (packet.to, PathId(u32::from(packet.from)));
        let (peer_port, local_port) = packet.segment.ports();
        let session = self.demux[node as usize].session(path, local_port, peer_port);
        match session {
            Some(index) if !packet.segment.opens() => {
                let done = self.ends[index as usize].arrive(now, path, &mut packet.segment);
                network.release(id);
                if !done {
                    self.settle(now, network, index);
                }
            }
            session => self.knock(now, network, id, session),
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
        let path = PathId(u32::from(from));
        let (peer_port, local_port) = packet.segment.ports();
        let mut segment = std::mem::take(&mut packet.segment);
        network.release(id);
        if let Some(index) = session {
            let _ = self.ends[index as usize].arrive(now, path, &mut segment);
            self.settle(now, network, index);
            if self.demux[node as usize].session(path, local_port, peer_port).is_some() {
                return;
            }
        }
        self.listen(now, network, node, from, &segment);
    }

    /// A segment for which there is no session: a listener takes it, or it is answered by a reset.
    fn listen(
        &mut self,
        now: Instant,
        network: &mut Network<'_>,
        node: u16,
        from: u16,
        segment: &Segment,
    ) {
        let (peer_port, local_port) = segment.ports();
        let path = PathId(u32::from(from));
        let listener = self.demux[node as usize].listener(local_port);
        let accepted = listener.and_then(|index| {
            let end = &mut self.ends[index as usize];
            let entropy = end.entropy.bits();
            let Protocol::Xstp { receiver, .. } = &end.protocol;
            let Segment::Xstp(begin) = segment else { return None };
            let session = xstp::Session::accept(receiver.clone(), now, path, begin, entropy)?;
            end.endpoint = Some(Connection::Xstp(Box::new(session)));
            Some(index)
        });
        if let Some(index) = accepted {
            self.demux[node as usize].insert(path, local_port, peer_port, index);
            self.settle(now, network, index);
            return;
        }
        let reset = match segment {
            Segment::Xstp(segment) => xstp::no_session_reset(segment).map(Segment::Xstp),
            Segment::Tcp(segment) => tcp::no_session_reset(segment).map(Segment::Tcp),
        };
        if let Some(reset) = reset {
            *network.place() = reset;
            network.send(now, node, from);
        }
    }

    /// The timer of an end fired. Returns false when there was nothing to do yet.
    pub(crate) fn fire(&mut self, now: Instant, network: &mut Network<'_>, slot: Slot) -> bool {
        let index = slot - self.first_slot;
        network.queue.clear(slot);
        let end = &mut self.ends[index as usize];
        if end.start.is_some_and(|start| start <= now) {
            end.start = None;
            let Protocol::Xstp { sender, .. } = &end.protocol;
            let entropy = end.entropy.bits();
            let path = PathId(u32::from(end.peer));
            let session = xstp::Session::connect(sender.clone(), now, path, end.ports, entropy);
            end.endpoint = Some(Connection::Xstp(Box::new(session)));
            self.settle(now, network, index);
            return true;
        }
        let (endpoint_due, app_due) = end.let_time_pass(now);
        if endpoint_due || app_due {
            self.settle(now, network, index);
        } else if let Some(next) = end.next_timer() {
            // It was put off since it was set.
            network.queue.set_timer(slot, next);
        }
        endpoint_due || app_due
    }

    /// Drains an end after a change and sets its timer.
    #[inline]
    fn settle(&mut self, now: Instant, network: &mut Network<'_>, index: u32) {
        let end = &mut self.ends[index as usize];
        let mut around = Around { network, app: &mut end.app, node: end.node, peer: end.peer };
        let deadline = match &mut end.endpoint {
            Some(Connection::Xstp(session)) => drain(&mut **session, now, &mut around),
            None => return,
        };
        if deadline.is_none() && end.is_closed() {
            // From now on there is no such session, and its segments are answered by a reset.
            let path = PathId(u32::from(end.peer));
            self.demux[end.node as usize].remove(path, end.ports.local, end.ports.peer);
        }
        let next = Instant::earliest(deadline, end.app.next_timer());
        if let Some(next) = next {
            network.queue.set_timer(self.first_slot + index, next.max(now));
        }
    }
}

impl End {
    /// A segment arrived. True when that was all: otherwise the end must be drained.
    #[inline]
    fn arrive(&mut self, now: Instant, path: PathId, segment: &mut Segment) -> bool {
        match &mut self.endpoint {
            Some(Connection::Xstp(session)) => {
                arrive(now, path, segment, &mut **session, &mut self.app)
            }
            None => true,
        }
    }

    /// Time has come to this point: calls the endpoint, or else the application, if it is due.
    /// Returns whether each of them was.
    fn let_time_pass(&mut self, now: Instant) -> (bool, bool) {
        match &mut self.endpoint {
            Some(Connection::Xstp(session)) => let_time_pass(now, &mut **session, &mut self.app),
            None => (false, false),
        }
    }

    /// When endpoint or application want to be called next.
    fn next_timer(&self) -> Option<Instant> {
        let endpoint =
            self.endpoint.as_ref().and_then(|connection| connection.endpoint().poll_timeout());
        Instant::earliest(endpoint, self.app.next_timer())
    }

    fn is_closed(&self) -> bool {
        self.endpoint.as_ref().is_some_and(|connection| connection.endpoint().is_closed())
    }

    /// How far its application is.
    pub(crate) fn progress(&self) -> Progress {
        self.app.progress()
    }
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
