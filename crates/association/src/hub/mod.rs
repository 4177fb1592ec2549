//! Everything behind one socket, without the socket: associations, the connections inside them, their
//! timers, and the datagrams that wait to be sent.
//!
//! Like an endpoint, a hub is told the time. Change something (hand over datagrams, the time, writes),
//! then [`Hub::flush`], send what is in the outbox, and call again at the next deadline.

mod association;
mod connection;
mod control;
mod datagrams;
mod early;
mod ecn;
mod epoch;
#[doc(hidden)]
pub mod fuzz;
mod gate;
mod handshake;
mod identity;
mod line;
mod liveness;
mod marks;
mod memory;
mod number;
mod numbering;
mod object;
mod outbox;
pub mod parity;
mod path_mtu;
mod pieces;
mod receive;
mod roaming;
mod roster;
mod route;
mod settings;
mod sharing;
mod status;
mod switch;
mod switch_pause;
mod timers;
mod times;
mod upkeep;
mod watch;
mod ways;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::task::{Context, Poll};

use bentpipe_transport::xstp::{Config, Session};
use bentpipe_transport::{Endpoint as _, Event, Host, PathId, Ports, drain, hear};
use bentpipe_units::{ByteCount, Instant, Seq32};
use bentpipe_wire::{Segment, xstp};
use bytes::BytesMut;
use rustc_hash::FxHashMap;
use slab::Slab;
use slotmap::SlotMap;

use self::association::Association;
use self::connection::Connection;
use self::datagrams::Inbox;
use self::gate::Gate;
use self::identity::Identity;
use self::line::Line;
use self::number::put_number;
use self::numbering::Numbering;
use self::object::Object;
use self::settings::Settings;
pub use self::timers::Timers;
pub use self::times::Times;
use crate::key::{PublicKey, SecretKey};
use crate::secure::{Admission, Index, Responder, Security};
use crate::stream::{Accepted, Stream};

pub use self::datagrams::MOST_DATAGRAM;
pub use self::identity::Entropy;
pub use self::line::Share;
pub use self::outbox::{Outbox, Train};
pub use self::parity::Fec;
pub use self::route::{Carrier, Route};
pub use self::status::{ConnectionRef, PeerState};
pub use self::watch::{Plan, PlannedWay};
pub use self::ways::LINKS;
pub use crate::stream::{ConnectionId, StreamError, Streams};

/// Room for the gap list of a report in one datagram, in bytes.
const REPORT_ROOM: usize = 1160;
/// Most connections in one association; a peer that opens more is told that there is no such session.
const MOST_CONNECTIONS: usize = 65_536;

/// Segments that may follow the request to open a connection before it is answered: a request of an
/// application, and less than the smallest receive buffer.
const EARLY_CREDIT: u16 = 64;

slotmap::new_key_type! {
    /// Names an association. One that is gone has a name that no other gets.
    struct AssociationId;
}

/// What a timer belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Owner {
    Host,
    Association(AssociationId),
    Connection(usize),
}

/// Everything behind one socket.
pub struct Hub {
    identity: Identity,
    gate: Gate,
    settings: Settings,
    associations: SlotMap<AssociationId, Association>,
    by_index: FxHashMap<Index, AssociationId>,
    by_peer: BTreeMap<PublicKey, AssociationId>,
    /// Numbers of connections between this host and peers without an association.
    numbered: BTreeMap<PublicKey, Numbering>,
    connections: Slab<Connection>,
    timers: Timers<Owner>,
    /// Connections to be drained.
    stirred: Vec<usize>,
    accepted: Accepted,
    /// Datagrams of peers' applications.
    inbox: Inbox,
    outbox: Outbox,
    /// The links of this host, and the shares of peers in them.
    lines: [Line<AssociationId>; LINKS],
    shares: BTreeMap<PublicKey, [Option<Share>; LINKS]>,
    scratch: Scratch,
}

/// Memory that is used again and again.
#[derive(Debug, Default)]
struct Scratch {
    place: Segment,
    opened: BytesMut,
    events: Vec<Event>,
}

/// What surrounds a connection while it is drained.
struct DrainContext<'a> {
    association: &'a mut Association,
    outbox: &'a mut Outbox,
    scratch: &'a mut Scratch,
    object: &'a mut Object,
    /// The connection had something to send before.
    busy: bool,
    number: u32,
    way: usize,
    dropped: bool,
}

impl Host<Session> for DrainContext<'_> {
    fn place(&mut self) -> &mut Segment {
        &mut self.scratch.place
    }

    fn transmit(&mut self, now: Instant, _path: PathId) {
        let Segment::Xstp(segment) = &self.scratch.place else { return };
        let (number, association) = (self.number, &mut *self.association);
        let write = |out: &mut BytesMut| {
            put_number(number, out);
            xstp::encode_compact(segment, REPORT_ROOM, out);
        };
        let opens = matches!(segment.body, xstp::Body::Begin(_) | xstp::Body::BeginAck(_));
        if opens && (association.early.collects() || !association.is_up()) {
            return association.early.put(number, write);
        }
        let weighty = is_weighty(&segment.body);
        let (object, waited) = (&mut *self.object, self.busy);
        association.send(now, self.way, weighty, self.outbox, |out| {
            let before = out.len();
            write(out);
            if weighty {
                object.sent(now, ByteCount::new((out.len() - before) as u64), waited);
            }
        });
    }

    fn event(&mut self, now: Instant, session: &mut Session, event: Event) {
        if self.dropped {
            while session.read(now).is_some() {}
        }
        self.scratch.events.push(event);
    }
}

impl Hub {
    /// The hub of the host with this key. `calendar` are the nanoseconds since 1970 at the time zero of
    /// the clock.
    pub fn new(
        key: SecretKey,
        security: Security,
        calendar: u64,
        entropy: Entropy,
        now: Instant,
    ) -> Self {
        let responder = Responder::new(security, key.clone());
        let mut identity = Identity::new(key, security, calendar, entropy, now);
        let mut secret = [0; 32];
        for part in secret.chunks_exact_mut(8) {
            part.copy_from_slice(&identity.draw().to_be_bytes());
        }
        let admission = Admission::new(security, identity.public_key(), now, secret);
        Self {
            identity,
            gate: Gate::new(responder, admission),
            settings: Settings::default(),
            associations: SlotMap::with_key(),
            by_index: FxHashMap::default(),
            by_peer: BTreeMap::new(),
            numbered: BTreeMap::new(),
            connections: Slab::new(),
            timers: Timers::default(),
            stirred: Vec::new(),
            accepted: Accepted::default(),
            inbox: Inbox::default(),
            outbox: Outbox::default(),
            lines: std::array::from_fn(|_| Line::unlimited()),
            shares: BTreeMap::new(),
            scratch: Scratch::default(),
        }
    }

    /// The public key of this host.
    pub fn public_key(&self) -> PublicKey {
        self.identity.public_key()
    }

    /// Lets a peer associate with this host.
    pub fn allow(&mut self, peer: PublicKey) {
        self.gate.allow(peer);
    }

    /// Whether what this host sends is protected by parity, in associations that begin from now on.
    pub fn set_fec(&mut self, fec: Fec) {
        self.settings.set_fec(fec);
    }

    /// What the connections of one peer, at most so many, may hold together, in associations that begin from now
    /// on: bytes that wait to be sent, acknowledged or read. Half of it is split evenly between them.
    pub fn limit_memory(&mut self, bytes: ByteCount, connections: usize) {
        self.settings.limit_memory(bytes, connections);
    }

    /// The times in requests, to be kept over a restart.
    pub const fn times(&self) -> &Times {
        self.identity.times()
    }

    /// The times as they were kept, a while before this host ended. To be called before anything is sent, and what
    /// [`Hub::times`] says then is to be kept at once: the epoch of this process is among it, and no later one may have the
    /// same.
    pub fn set_times(&mut self, times: Times) {
        self.identity.set_times(times);
    }

    /// Lets peers open connections.
    pub fn listen(&mut self, config: Arc<Config>) {
        self.settings.listen(config);
    }

    /// The next connection that a peer opened.
    pub fn poll_accept(&mut self, cx: &Context<'_>) -> Poll<ConnectionId> {
        self.accepted.poll(cx)
    }

    /// Whose connection it is.
    pub fn peer(&self, id: ConnectionId) -> PublicKey {
        self.associations[self.connections[id.0].association].peer
    }

    /// The ways by which a peer is reached, in associations to come. This host watches them and sends by the
    /// first one that works, and the peer does too.
    pub fn plan(&mut self, peer: PublicKey, plan: Plan) {
        self.settings.plan(peer, plan);
    }

    /// Opens a connection to service `port` of a peer. If there is no [`Hub::plan`] for it and it has not proved to be
    /// elsewhere, it is reached by `route`, and sought there again whenever it does not answer.
    pub fn connect(
        &mut self,
        now: Instant,
        route: impl Into<Route>,
        peer: PublicKey,
        port: u16,
        config: Arc<Config>,
    ) -> ConnectionId {
        self.allow(peer);
        let route = route.into();
        let id = match self.by_peer.get(&peer) {
            Some(id) => *id,
            None => self.associate(now, peer, route),
        };
        let association = &mut self.associations[id];
        association.ways.set_home(route);
        let number = association.roster.next_number();
        let ports = Ports { local: number as u16, peer: port };
        let mut session = Session::connect(config, now, PathId(0), ports, self.identity.draw());
        if association.is_up() {
            session.start_early(now, EARLY_CREDIT);
        }
        let connection = self.add(now, id, number, session, false);
        self.stir(connection);
        ConnectionId(connection)
    }

    fn associate(&mut self, now: Instant, peer: PublicKey, route: Route) -> AssociationId {
        let numbering = self.numbered.remove(&peer);
        let us = self.identity.public_key();
        let association = self.settings.associate(now, us, peer, route, numbering);
        let id = self.associations.insert(association);
        self.by_peer.insert(peer, id);
        self.apply_shares(now, id);
        id
    }

    fn add(
        &mut self,
        now: Instant,
        association: AssociationId,
        number: u32,
        mut session: Session,
        unaccepted: bool,
    ) -> usize {
        let way = self.choose_way(association);
        session.limit_payload(self.associations[association].payload_room(number, way));
        let connection = Connection {
            stream: Stream::new(session),
            association,
            number,
            way,
            near: Seq32::default(),
            unaccepted,
            busy: false,
            holds: 0,
            lost: None,
            waits: false,
            stirred: false,
            member: None,
            ahead: false,
            object: Object::NONE,
        };
        let id = self.connections.insert(connection);
        let association = &mut self.associations[association];
        association.roster.add(number, id);
        self.join_others(now, id);
        id
    }

    /// A connection was changed and has to be drained.
    fn stir(&mut self, id: usize) {
        if let Some(connection) = self.connections.get_mut(id)
            && !std::mem::replace(&mut connection.stirred, true)
        {
            self.stirred.push(id);
        }
    }

    /// Drains what was changed, until nothing is left to be sent or told.
    pub fn flush(&mut self, now: Instant) {
        let mut next = 0;
        while let Some(&id) = self.stirred.get(next) {
            next += 1;
            self.drain(now, id);
        }
        self.stirred.clear();
        self.serve(now);
    }

    fn drain(&mut self, now: Instant, id: usize) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        if !std::mem::take(&mut connection.stirred) {
            return;
        }
        let has_turns = connection.member.is_some();
        let (endpoint, mut context) = self.context(id);
        let association = &*context.association;
        let in_turn = has_turns && association.is_up() && !association.early.collects();
        let deadline = if in_turn {
            // What is due and can not be sent yet is no reason to ring again.
            hear(endpoint, now, &mut context).filter(|deadline| *deadline > now)
        } else {
            drain(endpoint, now, &mut context)
        };
        if in_turn && !endpoint.is_quiet() {
            self.wait_for_turn(id);
        }
        self.settle(now, id, deadline);
    }

    /// The session of a connection and what surrounds it.
    fn context(&mut self, id: usize) -> (&mut Session, DrainContext<'_>) {
        let connection = &mut self.connections[id];
        let context = DrainContext {
            association: &mut self.associations[connection.association],
            outbox: &mut self.outbox,
            scratch: &mut self.scratch,
            object: &mut connection.object,
            busy: connection.busy,
            number: connection.number,
            way: connection.way,
            dropped: connection.stream.dropped,
        };
        (&mut connection.stream.endpoint, context)
    }

    /// What follows from what a connection has told and sent; it rings next at `deadline`.
    fn settle(&mut self, now: Instant, id: usize, deadline: Option<Instant>) {
        self.count(id);
        self.weigh(now, id);
        let connection = &mut self.connections[id];
        let owner = connection.association;
        let association = &mut self.associations[owner];
        for event in self.scratch.events.drain(..) {
            connection.stream.note(event);
        }
        let is_busy = connection.stream.endpoint.has_unsent();
        let was_busy = std::mem::replace(&mut connection.busy, is_busy);
        association.shield.drained(was_busy, is_busy, connection.stream.endpoint.round_trip());
        if was_busy
            && !is_busy
            && let Some(began) = connection.object.began_short()
        {
            association.shield.object_ended(now, began);
        }
        self.timers.set(Owner::Connection(id), deadline);
        let told = &connection.stream.told;
        let is_open = told.connected && told.failed.is_none();
        if connection.unaccepted && is_open && association.is_up() {
            connection.unaccepted = false;
            let epoch = association.keys.epoch();
            association.roster.accept(epoch, connection.number);
            self.accepted.push(id);
        }
        let closed = connection.stream.endpoint.is_closed();
        let gone = closed && (connection.stream.dropped || connection.unaccepted);
        let coming = association.keys.is_coming();
        // What a peer opened that has not proved to be there is for the peer to go on with.
        let proven =
            association.unproven.is_none() || association.roster.is_ours(connection.number);
        let asks = !association.is_up() && !coming && !association.early.collects() && proven;
        if gone {
            self.timers.set(Owner::Connection(id), None);
            association.shield.drained(connection.busy, false, None);
            association.memory.change(connection.holds, 0);
            if connection.waits {
                association.memory.forget(id);
            }
            association.roster.remove(connection.number, id);
            self.leave_line(id);
            self.connections.remove(id);
        }
        // Nobody needs keys for a connection that is over.
        if asks && !closed {
            self.ask(now, owner);
        } else {
            self.set_timer(now, owner);
        }
    }

    /// When [`Hub::handle_timeout`] must be called.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.timers.next()
    }

    /// The datagrams to be sent.
    pub fn outbox(&mut self) -> &mut Outbox {
        &mut self.outbox
    }

    /// Connections that exist, open or not.
    pub fn connections(&self) -> usize {
        self.connections.len()
    }
}

/// Whether a segment brings the peer's application on: its loss costs time.
fn is_weighty(body: &xstp::Body) -> bool {
    match body {
        xstp::Body::Flow(flow) => !flow.payload.is_empty() || flow.end,
        xstp::Body::Begin(_) | xstp::Body::BeginAck(_) => true,
        xstp::Body::Reset(_) => false,
    }
}

impl Streams for Hub {
    type Endpoint = Session;

    fn stream(&self, id: ConnectionId) -> &Stream {
        &self.connections[id.0].stream
    }

    fn stream_mut(&mut self, id: ConnectionId) -> &mut Stream {
        &mut self.connections[id.0].stream
    }

    fn changed(&mut self, id: ConnectionId) {
        self.stir(id.0);
    }

    fn was_read(&mut self, id: ConnectionId) -> bool {
        self.count(id.0);
        false
    }

    fn room(&mut self, id: ConnectionId) -> usize {
        self.room_of(id.0)
    }

    fn was_written(&mut self, id: ConnectionId) {
        self.count(id.0);
    }

    fn shortages(&self) -> Arc<AtomicUsize> {
        self.settings.tight()
    }
}

impl std::fmt::Debug for Hub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hub")
            .field("associations", &self.associations.len())
            .field("connections", &self.connections.len())
            .finish_non_exhaustive()
    }
}
