//! The XSTP connections of a node, without queues and without a clock.
//!
//! Like an endpoint it is told the time. Change something (hand over frames, the time, writes), then
//! [`Sessions::flush`], send the frames that wait, and call again at the next deadline.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll};

use bentpipe_transport::demux::Demux;
use bentpipe_transport::xstp::{Config, Session, no_session_reset};
use bentpipe_transport::{Endpoint as _, Event, Host, PathId, Ports, drain};
use bentpipe_units::Instant;
use bentpipe_wire::qlp::{Frame, Header, NodeId, Protocol};
use bentpipe_wire::{Segment, xstp};
use bytes::BytesMut;
use slab::Slab;

use super::interface::Counters;
use bentpipe_association::endpoint::{Entropy, Timers};
use bentpipe_association::stream::{Accepted, ConnectionId, Stream, Streams};

/// Most connections of a node; a peer that opens more is told that there is no such session.
const MOST_CONNECTIONS: usize = 1024;
/// Ports of connections that this node opens begin here (RFC 6335, section 6).
const FIRST_PORT: u16 = 49_152;

/// The XSTP connections of a node.
pub struct Sessions {
    node: NodeId,
    /// Settings of connections that peers open; none when nobody may.
    listens: Option<Arc<Config>>,
    connections: Slab<Connection>,
    demux: Demux<usize>,
    timers: Timers<usize>,
    /// Connections to be drained.
    dirty: Vec<usize>,
    accepted: Accepted,
    outbox: VecDeque<Frame>,
    entropy: Entropy,
    counters: Counters,
    place: Segment,
    events: Vec<Event>,
}

/// One connection.
#[derive(Debug)]
struct Connection {
    stream: Stream,
    peer: NodeId,
    /// The peer opened it, and the application has not taken it yet.
    unaccepted: bool,
    /// It was changed and is to be drained.
    dirty: bool,
}

/// What surrounds a connection while it is drained.
struct DrainContext<'a> {
    header: Header,
    dropped: bool,
    outbox: &'a mut VecDeque<Frame>,
    place: &'a mut Segment,
    events: &'a mut Vec<Event>,
}

impl Host<Session> for DrainContext<'_> {
    fn place(&mut self) -> &mut Segment {
        self.place
    }

    fn transmit(&mut self, _now: Instant, _path: PathId) {
        let Segment::Xstp(segment) = &*self.place else { return };
        self.outbox.push_back(framed(self.header, segment));
    }

    fn event(&mut self, now: Instant, session: &mut Session, event: Event) {
        if self.dropped {
            while session.read(now).is_some() {}
        }
        self.events.push(event);
    }
}

fn framed(header: Header, segment: &xstp::Segment) -> Frame {
    let mut payload = BytesMut::with_capacity(segment.wire_len());
    xstp::encode(segment, None, &mut payload);
    Frame { header, payload: payload.freeze() }
}

const fn path_to(peer: NodeId) -> PathId {
    PathId(peer.0 as u32)
}

impl Sessions {
    /// The connections of this node: none.
    pub(super) fn new(node: NodeId, entropy: Entropy) -> Self {
        Self {
            node,
            listens: None,
            connections: Slab::new(),
            demux: Demux::default(),
            timers: Timers::default(),
            dirty: Vec::new(),
            accepted: Accepted::default(),
            outbox: VecDeque::new(),
            entropy,
            counters: Counters::default(),
            place: Segment::default(),
            events: Vec::new(),
        }
    }

    /// Lets peers open connections.
    pub(super) fn listen(&mut self, config: Arc<Config>) {
        self.listens = Some(config);
    }

    /// Opens a connection to service `port` of a peer.
    pub(super) fn connect(
        &mut self,
        now: Instant,
        peer: NodeId,
        port: u16,
        config: Arc<Config>,
    ) -> ConnectionId {
        let path = path_to(peer);
        // One that this node has used lately may still be known to the peer.
        let mut local = FIRST_PORT | (self.entropy)() as u16;
        while self.demux.session(path, local, port).is_some() {
            local = FIRST_PORT | local.wrapping_add(1);
        }
        let ports = Ports { local, peer: port };
        let session = Session::connect(config, now, path, ports, (self.entropy)());
        ConnectionId(self.add(peer, session, false))
    }

    fn add(&mut self, peer: NodeId, session: Session, unaccepted: bool) -> usize {
        let ports = session.ports();
        let stream = Stream::new(session);
        let id = self.connections.insert(Connection { stream, peer, unaccepted, dirty: false });
        self.demux.insert(path_to(peer), ports.local, ports.peer, id);
        self.mark_dirty(id);
        id
    }

    fn mark_dirty(&mut self, id: usize) {
        if let Some(connection) = self.connections.get_mut(id)
            && !std::mem::replace(&mut connection.dirty, true)
        {
            self.dirty.push(id);
        }
    }

    /// The next connection that a peer opened, and who that is.
    pub(super) fn poll_accept(&mut self, cx: &Context<'_>) -> Poll<(NodeId, ConnectionId)> {
        self.accepted.poll(cx).map(|id| (self.connections[id.0].peer, id))
    }

    /// A frame arrived.
    pub(super) fn handle_frame(&mut self, now: Instant, frame: Frame) {
        let Header { destination, source, protocol } = frame.header;
        if destination != self.node || protocol != Protocol::Xstp {
            self.counters.unwanted += 1;
            return;
        }
        let Ok(segment) = xstp::decode(frame.payload, None) else {
            self.counters.malformed += 1;
            return;
        };
        let (local, peer) = (segment.destination_port, segment.source_port);
        let session = self.demux.session(path_to(source), local, peer);
        let opens = matches!(segment.body, xstp::Body::Begin(_));
        let Some(id) = session else { return self.handle_unknown(now, source, &segment) };
        let request = opens.then(|| segment.clone());
        let stream = &mut self.connections[id].stream;
        stream.endpoint.handle_segment(now, path_to(source), &mut Segment::Xstp(segment));
        self.mark_dirty(id);
        let Some(request) = request else { return };
        // The peer may have started anew; if the old session gives way, its request can be heard.
        self.drain(now, id);
        if self.demux.session(path_to(source), local, peer).is_none() {
            self.handle_unknown(now, source, &request);
        }
    }

    /// A segment for which there is no session: the peer opens one, or it is told that there is none.
    fn handle_unknown(&mut self, now: Instant, source: NodeId, segment: &xstp::Segment) {
        let room = self.connections.len() < MOST_CONNECTIONS;
        let entropy = (self.entropy)();
        let opened = self
            .listens
            .clone()
            .filter(|_| room)
            .and_then(|config| Session::accept(config, now, path_to(source), segment, entropy));
        if let Some(session) = opened {
            self.add(source, session, true);
        } else if let Some(reset) = no_session_reset(segment) {
            self.outbox.push_back(framed(self.header_to(source), &reset));
        }
    }

    const fn header_to(&self, destination: NodeId) -> Header {
        Header { destination, source: self.node, protocol: Protocol::Xstp }
    }

    /// Lets the time pass.
    pub(super) fn handle_timeout(&mut self, now: Instant) {
        while let Some(id) = self.timers.pop(now) {
            if let Some(connection) = self.connections.get_mut(id) {
                connection.stream.endpoint.handle_timeout(now);
                self.mark_dirty(id);
            }
        }
    }

    /// Drains what was changed, until nothing is left to be sent or told.
    pub(super) fn flush(&mut self, now: Instant) {
        while let Some(id) = self.dirty.pop() {
            self.drain(now, id);
        }
    }

    fn drain(&mut self, now: Instant, id: usize) {
        let Some(peer) = self.connections.get(id).map(|connection| connection.peer) else { return };
        let header = self.header_to(peer);
        let connection = &mut self.connections[id];
        if !std::mem::take(&mut connection.dirty) {
            return;
        }
        let mut context = DrainContext {
            header,
            dropped: connection.stream.dropped,
            outbox: &mut self.outbox,
            place: &mut self.place,
            events: &mut self.events,
        };
        let deadline = drain(&mut connection.stream.endpoint, now, &mut context);
        for event in self.events.drain(..) {
            connection.stream.note(event);
        }
        self.timers.set(id, deadline);
        if connection.unaccepted && connection.stream.status.connected {
            connection.unaccepted = false;
            self.accepted.push(id);
        }
        if !connection.stream.endpoint.is_closed() {
            return;
        }
        // From now on there is no such session, and its segments are answered by a reset.
        let ports = connection.stream.endpoint.ports();
        let forget = connection.stream.dropped || connection.unaccepted;
        if self.demux.session(path_to(peer), ports.local, ports.peer) == Some(id) {
            self.demux.remove(path_to(peer), ports.local, ports.peer);
        }
        if forget {
            self.timers.set(id, None);
            self.connections.remove(id);
        }
    }

    /// Takes a frame that is to be sent.
    pub(super) fn next_frame(&mut self) -> Option<Frame> {
        self.outbox.pop_front()
    }

    /// When [`Sessions::handle_timeout`] must be called.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.timers.next()
    }

    /// What it dropped.
    pub(super) const fn counters(&self) -> &Counters {
        &self.counters
    }
}

impl Streams for Sessions {
    type Endpoint = Session;

    fn stream(&self, id: ConnectionId) -> &Stream {
        &self.connections[id.0].stream
    }

    fn stream_mut(&mut self, id: ConnectionId) -> &mut Stream {
        &mut self.connections[id.0].stream
    }

    fn changed(&mut self, id: ConnectionId) {
        self.mark_dirty(id.0);
    }
}

impl std::fmt::Debug for Sessions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sessions")
            .field("node", &self.node)
            .field("connections", &self.connections.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
