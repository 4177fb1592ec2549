//! The associations of a host, without sockets and without a clock.
//!
//! Like an endpoint it is told the time. Change something (hand over datagrams, the time, writes), then
//! [`Associations::flush`], send what is in the outboxes, and call again at the next deadline.

mod readdressing;
mod upkeep;

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bentpipe_transport::sctp::{
    Answer, Association, Config, CookieKey, Identity, Listener, out_of_the_blue,
};
use bentpipe_transport::{Endpoint as _, Event, Host, PathId, Ports, drain};
use bentpipe_units::Instant;
use bentpipe_wire::sctp::{self, Packet};
use bentpipe_wire::{Ecn, Segment};
use bytes::Bytes;
use slab::Slab;

use super::connection::PathChange;
use super::local::Local;
use super::paths::{Path, Paths};
use bentpipe_association::endpoint::{Entropy, Outbox, Timers};
use bentpipe_association::stream::{Accepted, ConnectionId, Stream, Streams};

/// Most associations of a host; a peer that opens more is refused.
const MOST_ASSOCIATIONS: usize = 1024;
/// Ports of associations that this host opens begin here (RFC 6335, section 6).
const FIRST_PORT: u16 = 49_152;
/// Most changes of paths that wait for somebody to ask.
const MOST_CHANGES: usize = 32;

/// How the association of a packet is found. UDP ports do not count: translators change them.
type Ends = (IpAddr, Ports);

/// What became of datagrams that belong to no association.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Datagrams that are no SCTP packets, or damaged ones.
    pub malformed: u64,
    /// Packets of no association here.
    pub strays: u64,
}

/// The associations of a host.
pub struct Associations {
    local: Local,
    key: CookieKey,
    /// Who waits on which port.
    listener: Option<(u16, Arc<Config>, Listener)>,
    connections: Slab<Connection>,
    by_ends: HashMap<Ends, usize>,
    timers: Timers<usize>,
    /// Connections to be drained.
    dirty: Vec<usize>,
    accepted: Accepted,
    /// What each socket has to send, and what of it may be cut into fragments.
    outboxes: Vec<Outbox>,
    outboxes_fragmented: Vec<Outbox>,
    entropy: Entropy,
    counters: Counters,
    place: Segment,
    events: Vec<Event>,
}

/// One association.
#[derive(Debug)]
struct Connection {
    stream: Stream<Association>,
    paths: Paths,
    changes: VecDeque<PathChange>,
    watcher: Option<Waker>,
    /// The peer has named its addresses.
    learned: bool,
    /// The peer opened it, and the application has not taken it yet.
    unaccepted: bool,
    /// It was changed and is to be drained.
    dirty: bool,
    /// This host's address is gone, and there was no other: the peer is told with the next one.
    stranded: Option<IpAddr>,
    /// Addresses that are none of the peer's, from which it told changes: the answers go there.
    guests: Vec<PathId>,
}

/// What surrounds an association while it is drained.
struct DrainContext<'a> {
    paths: &'a Paths,
    dropped: bool,
    outboxes: &'a mut [Outbox],
    outboxes_fragmented: &'a mut [Outbox],
    place: &'a mut Segment,
    events: &'a mut Vec<Event>,
}

impl Host<Association> for DrainContext<'_> {
    fn place(&mut self) -> &mut Segment {
        self.place
    }

    fn transmit(&mut self, _now: Instant, path: PathId) {
        if let Segment::Sctp(packet) = &*self.place
            && let Some(known) = self.paths.get(path)
        {
            let may_fragment = packet.may_fragment;
            put(
                packet,
                *known,
                if may_fragment { self.outboxes_fragmented } else { self.outboxes },
            );
        }
    }

    fn event(&mut self, now: Instant, association: &mut Association, event: Event) {
        if self.dropped {
            while association.read(now).is_some() || association.receive().is_some() {}
        }
        self.events.push(event);
    }
}

fn put(packet: &Packet, path: Path, outboxes: &mut [Outbox]) {
    outboxes[path.socket].push(path.to, packet.ecn, |out| sctp::encode(packet, out));
}

impl Associations {
    /// The associations of a host with these sockets: none.
    pub fn new(local: Local, mut entropy: Entropy) -> Self {
        let mut secret = [0; 32];
        for part in secret.chunks_exact_mut(8) {
            part.copy_from_slice(&entropy().to_be_bytes());
        }
        let outboxes = || std::iter::repeat_with(Outbox::default).take(local.count()).collect();
        Self {
            outboxes: outboxes(),
            outboxes_fragmented: outboxes(),
            local,
            key: CookieKey::new(secret),
            listener: None,
            connections: Slab::new(),
            by_ends: HashMap::new(),
            timers: Timers::default(),
            dirty: Vec::new(),
            accepted: Accepted::default(),
            entropy,
            counters: Counters::default(),
            place: Segment::default(),
            events: Vec::new(),
        }
    }

    /// Lets anybody open associations to service `port`.
    pub fn listen(&mut self, port: u16, config: Arc<Config>) {
        let listener = Listener::new(config.clone(), self.key.clone(), self.local.announced());
        self.listener = Some((port, config, listener));
    }

    /// Opens an association to service `port` of the peer at `to`. `None` when no socket leads there or each
    /// port of this end has an association with that service.
    pub fn connect(
        &mut self,
        now: Instant,
        to: SocketAddr,
        port: u16,
        config: Arc<Config>,
    ) -> Option<ConnectionId> {
        let (socket, to) = self.local.path_to(to.ip(), to.port())?;
        let path = Path { socket, to };
        let drawn = (self.entropy)() as u16;
        let free = |local: &u16| {
            !self.by_ends.contains_key(&(path.ip(), Ports { local: *local, peer: port }))
        };
        let mut ports = (0..=u16::MAX - FIRST_PORT).map(|n| FIRST_PORT | drawn.wrapping_add(n));
        let local = ports.find(free)?;
        let identity = Identity {
            ports: Ports { local, peer: port },
            paths: vec![Paths::PRIMARY],
            addresses: self.local.announced(),
            key: self.key.clone(),
            entropy: (self.entropy)(),
        };
        let association = Association::connect(config, now, identity);
        Some(ConnectionId(self.add(association, path, false)))
    }

    fn add(&mut self, mut association: Association, path: Path, unaccepted: bool) -> usize {
        let ports = association.ports();
        association.name_path(Paths::PRIMARY, self.ends(&path));
        let id = self.connections.insert(Connection {
            stream: Stream::new(association),
            paths: Paths::new(path),
            changes: VecDeque::new(),
            watcher: None,
            learned: false,
            unaccepted,
            dirty: false,
            stranded: None,
            guests: Vec::new(),
        });
        self.by_ends.insert((path.ip(), ports), id);
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

    /// The next association that a peer opened, and where that is.
    pub(super) fn poll_accept(&mut self, cx: &Context<'_>) -> Poll<(SocketAddr, ConnectionId)> {
        self.accepted.poll(cx).map(|id| (self.peer(id), id))
    }

    /// Where the primary path of an association leads.
    fn peer(&self, id: ConnectionId) -> SocketAddr {
        self.address(id.0, Paths::PRIMARY)
    }

    fn address(&self, id: usize, path: PathId) -> SocketAddr {
        let paths = &self.connections[id].paths;
        let known = paths.get(path).or_else(|| paths.first());
        known.map_or(([0, 0, 0, 0], 0).into(), |known| SocketAddr::new(known.ip(), known.to.port()))
    }

    /// A datagram arrived at a socket, with this mark in its IP header.
    pub fn handle_datagram(
        &mut self,
        now: Instant,
        socket: usize,
        from: SocketAddr,
        ecn: Ecn,
        bytes: &[u8],
    ) {
        let Ok(mut packet) = sctp::decode(Bytes::copy_from_slice(bytes)) else {
            self.counters.malformed += 1;
            return;
        };
        packet.ecn = ecn;
        let path = Path { socket, to: from };
        let ports = Ports { local: packet.destination_port, peer: packet.source_port };
        let known = self.by_ends.get(&(path.ip(), ports)).copied();
        let Some(id) = known.or_else(|| self.moved(now, path, ports, &packet)) else {
            return self.handle_unknown(now, path, packet);
        };
        let Some(connection) = self.connections.get_mut(id) else { return };
        let Some(number) = connection.paths.find_at(path.socket, path.ip()) else { return };
        if connection.stream.endpoint.is_authentic(&packet) {
            connection.paths.seen(number, path);
        }
        connection.stream.endpoint.handle_segment(now, number, &mut Segment::Sctp(packet));
        // Before the peer tries them, or its packets would be strays.
        if !connection.learned && !connection.stream.endpoint.peer_addresses().is_empty() {
            self.learn(now, id);
        }
        self.mark_dirty(id);
    }

    /// A packet of no association: the peer opens one, or it is told that there is none.
    fn handle_unknown(&mut self, now: Instant, path: Path, mut packet: Packet) {
        if self.is_of_somebody(&packet) {
            self.counters.strays += 1;
            return;
        }
        let entropy = (self.entropy)();
        let room = self.connections.len() < MOST_ASSOCIATIONS;
        let listener = self.listener.as_ref();
        let listener = listener.filter(|(port, ..)| room && *port == packet.destination_port);
        let answer = match listener {
            Some((.., listener)) => listener.handle(now, Paths::PRIMARY, &[], &mut packet, entropy),
            None => out_of_the_blue(&packet).map_or(Answer::Nothing, Answer::Reply),
        };
        match answer {
            Answer::Open(association) => {
                let id = self.add(*association, path, true);
                self.learn(now, id);
            }
            Answer::Reply(reply) => {
                self.counters.strays += u64::from(!packet.opens());
                put(&reply, path, &mut self.outboxes);
            }
            Answer::Nothing => self.counters.strays += 1,
        }
    }

    /// Lets the time pass.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some(id) = self.timers.pop(now) {
            if let Some(connection) = self.connections.get_mut(id) {
                connection.stream.endpoint.handle_timeout(now);
                self.mark_dirty(id);
            }
        }
    }

    /// Drains what was changed, until nothing is left to be sent or told.
    pub fn flush(&mut self, now: Instant) {
        while let Some(id) = self.dirty.pop() {
            self.drain(now, id);
        }
        self.forget_lost_sockets();
    }

    fn drain(&mut self, now: Instant, id: usize) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        if !std::mem::take(&mut connection.dirty) {
            return;
        }
        let mut context = DrainContext {
            paths: &connection.paths,
            dropped: connection.stream.dropped,
            outboxes: &mut self.outboxes,
            outboxes_fragmented: &mut self.outboxes_fragmented,
            place: &mut self.place,
            events: &mut self.events,
        };
        let deadline = drain(&mut connection.stream.endpoint, now, &mut context);
        for guest in connection.guests.drain(..) {
            connection.paths.keep(|path| path != guest);
        }
        self.timers.set(id, deadline);
        for event in self.events.drain(..) {
            connection.stream.note(event);
        }
        if connection.unaccepted && connection.stream.status.connected {
            connection.unaccepted = false;
            self.accepted.push(id);
        }
        self.note_changes(now, id);
        self.forget_if_over(id);
    }

    /// The next thing that happened to a path of an association, until its end.
    pub(super) fn poll_change(
        &mut self,
        id: ConnectionId,
        cx: &Context<'_>,
    ) -> Poll<Option<PathChange>> {
        let connection = &mut self.connections[id.0];
        let change = connection.changes.pop_front();
        if change.is_some() || connection.stream.endpoint.is_closed() {
            return Poll::Ready(change);
        }
        connection.watcher = Some(cx.waker().clone());
        Poll::Pending
    }

    /// The datagrams that a socket has to send.
    pub fn outbox(&mut self, socket: usize) -> &mut Outbox {
        &mut self.outboxes[socket]
    }

    /// The datagrams that a socket has to send and that may be cut into fragments, because they were made
    /// for a longer path.
    pub fn outbox_fragmented(&mut self, socket: usize) -> &mut Outbox {
        &mut self.outboxes_fragmented[socket]
    }

    /// When [`Associations::handle_timeout`] must be called.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.timers.next()
    }

    /// What it dropped.
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }
}

impl Streams for Associations {
    type Endpoint = Association;

    fn stream(&self, id: ConnectionId) -> &Stream<Association> {
        &self.connections[id.0].stream
    }

    fn stream_mut(&mut self, id: ConnectionId) -> &mut Stream<Association> {
        &mut self.connections[id.0].stream
    }

    fn changed(&mut self, id: ConnectionId) {
        self.mark_dirty(id.0);
    }

    fn was_read(&mut self, id: ConnectionId) -> bool {
        // A peer that had no room left is told that it has some again.
        let owes = self.connections[id.0].stream.endpoint.owes_report();
        if owes {
            self.mark_dirty(id.0);
        }
        owes
    }
}

impl std::fmt::Debug for Associations {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Associations")
            .field("local", &self.local)
            .field("connections", &self.connections.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
