//! The XSTP connections of a node, whatever carries its frames, without a link and without a clock.
//!
//! Like an endpoint it is told the time. Change something (hand over frames, the time, writes), then
//! flush, send the frames that wait, and call again at the next deadline.

mod connection;
mod framing;
mod opener;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::task::{Context, Poll};

use bentpipe_transport::xstp::{Config, Session, no_session_reset};
use bentpipe_transport::{Endpoint as _, Event, PathId, Ports, drain};
use bentpipe_units::Instant;
use bentpipe_wire::{Segment, xstp};
use slab::Slab;

use bentpipe_association::endpoint::{Entropy, Timers};
use bentpipe_association::stream::{Accepted, ConnectionId, Stream, Streams};

use connection::{Connection, DrainContext, Key};
pub use framing::{Dropped, Framing, Unfit};
pub use opener::Opener;

/// Most connections of a node; a peer that opens more is told that there is no such session.
const MOST_CONNECTIONS: usize = 1024;
/// Ports of connections that this node opens begin here (RFC 6335, section 6).
const FIRST_PORT: u16 = 49_152;
/// A node has one way to each of its peers.
const PATH: PathId = PathId(0);

/// The XSTP connections of a node.
pub struct Sessions<F: Framing> {
    framing: F,
    /// Settings of connections that peers open; none when nobody may.
    listens: Option<Arc<Config>>,
    connections: Slab<Connection<F::Peer>>,
    numbers: HashMap<Key<F::Peer>, usize>,
    timers: Timers<usize>,
    /// Connections to be drained.
    dirty: Vec<usize>,
    accepted: Accepted,
    outbox: VecDeque<F::Frame>,
    entropy: Entropy,
    dropped: Dropped,
    place: Segment,
    events: Vec<Event>,
}

impl<F: Framing> Sessions<F> {
    /// The connections of a node that frames its segments so: none.
    pub(crate) fn new(framing: F, entropy: Entropy) -> Self {
        Self {
            framing,
            listens: None,
            connections: Slab::new(),
            numbers: HashMap::new(),
            timers: Timers::default(),
            dirty: Vec::new(),
            accepted: Accepted::default(),
            outbox: VecDeque::new(),
            entropy,
            dropped: Dropped::default(),
            place: Segment::default(),
            events: Vec::new(),
        }
    }

    /// Lets peers open connections.
    pub(crate) fn listen(&mut self, config: Arc<Config>) {
        self.listens = Some(config);
    }

    /// Opens a connection to service `port` of a peer.
    pub(crate) fn connect(
        &mut self,
        now: Instant,
        peer: F::Peer,
        port: u16,
        config: Arc<Config>,
    ) -> ConnectionId {
        // One that this node has used lately may still be known to the peer.
        let mut local = FIRST_PORT | (self.entropy)() as u16;
        while self.numbers.contains_key(&(peer, local, port)) {
            local = FIRST_PORT | local.wrapping_add(1);
        }
        let ports = Ports { local, peer: port };
        let session = Session::connect(config, now, PATH, ports, (self.entropy)());
        ConnectionId(self.add(peer, session, false))
    }

    fn add(&mut self, peer: F::Peer, session: Session, unaccepted: bool) -> usize {
        let stream = Stream::new(session);
        let connection = Connection { stream, peer, unaccepted, dirty: false };
        let key = connection.key();
        let id = self.connections.insert(connection);
        self.numbers.insert(key, id);
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
    pub(crate) fn poll_accept(&mut self, cx: &Context<'_>) -> Poll<(F::Peer, ConnectionId)> {
        self.accepted.poll(cx).map(|id| (self.connections[id.0].peer, id))
    }

    /// A frame arrived.
    pub(crate) fn handle_frame(&mut self, now: Instant, frame: F::Frame) {
        let (source, segment) = match self.framing.unwrap(frame) {
            Ok(unwrapped) => unwrapped,
            Err(why) => return self.dropped.count(why),
        };
        let key = (source, segment.destination_port, segment.source_port);
        let opens = matches!(segment.body, xstp::Body::Begin(_));
        let Some(&id) = self.numbers.get(&key) else {
            return self.handle_unknown(now, source, &segment);
        };
        let request = opens.then(|| segment.clone());
        let stream = &mut self.connections[id].stream;
        stream.endpoint.handle_segment(now, PATH, &mut Segment::Xstp(segment));
        self.mark_dirty(id);
        let Some(request) = request else { return };
        // The peer may have started anew; if the old session gives way, its request can be heard.
        self.drain(now, id);
        if !self.numbers.contains_key(&key) {
            self.handle_unknown(now, source, &request);
        }
    }

    /// A segment for which there is no session: the peer opens one, or it is told that there is none.
    fn handle_unknown(&mut self, now: Instant, source: F::Peer, segment: &xstp::Segment) {
        let room = self.connections.len() < MOST_CONNECTIONS;
        let entropy = (self.entropy)();
        let opened = self
            .listens
            .clone()
            .filter(|_| room)
            .and_then(|config| Session::accept(config, now, PATH, segment, entropy));
        if let Some(session) = opened {
            self.add(source, session, true);
        } else if let Some(reset) = no_session_reset(segment) {
            self.framing.wrap(source, &reset, &mut self.outbox);
        }
    }

    /// The link is gone: all connections fail.
    pub(crate) fn give_up(&mut self, now: Instant) {
        for (id, connection) in &mut self.connections {
            connection.stream.endpoint.abort(now);
            if !std::mem::replace(&mut connection.dirty, true) {
                self.dirty.push(id);
            }
        }
        self.flush(now);
        self.outbox.clear();
    }

    /// Lets the time pass.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        while let Some(id) = self.timers.pop(now) {
            if let Some(connection) = self.connections.get_mut(id) {
                connection.stream.endpoint.handle_timeout(now);
                self.mark_dirty(id);
            }
        }
    }

    /// Drains what was changed, until nothing is left to be sent or told.
    pub(crate) fn flush(&mut self, now: Instant) {
        while let Some(id) = self.dirty.pop() {
            self.drain(now, id);
        }
    }

    fn drain(&mut self, now: Instant, id: usize) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        if !std::mem::take(&mut connection.dirty) {
            return;
        }
        let mut context = DrainContext {
            framing: &mut self.framing,
            peer: connection.peer,
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
        let key = connection.key();
        let forget = connection.stream.dropped || connection.unaccepted;
        if self.numbers.get(&key) == Some(&id) {
            self.numbers.remove(&key);
        }
        if forget {
            self.timers.set(id, None);
            self.connections.remove(id);
        }
    }

    /// Takes a frame that is to be sent.
    pub(crate) fn next_frame(&mut self) -> Option<F::Frame> {
        self.outbox.pop_front()
    }

    /// When [`Sessions::handle_timeout`] must be called.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.timers.next()
    }

    /// What it dropped.
    pub(crate) const fn dropped(&self) -> &Dropped {
        &self.dropped
    }
}

impl<F: Framing> Streams for Sessions<F> {
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

impl<F: Framing> std::fmt::Debug for Sessions<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sessions")
            .field("framing", &self.framing)
            .field("connections", &self.connections.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
