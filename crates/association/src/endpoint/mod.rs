//! Everything behind one socket, without the socket: associations, the connections inside them, their
//! timers, and the datagrams that wait to be sent.
//!
//! Like a session of one protocol, an endpoint is told the time. Change something (hand over datagrams, the time,
//! writes), then [`Endpoint::flush`], send what is in the outbox, and call again at the next deadline.
//!
//! # States of an association
//!
//! | state | what it has | what moves it on | where |
//! |---|---|---|---|
//! | none | at most the numbers of connections of before | the application connects: *asked*; a request of a peer that is allowed: *offered* | `mod.rs`, `handshake.rs` |
//! | no keys | connections, perhaps | one of them has something to say: *asked*; the last one is forgotten: *none* | `association/drain.rs`, `drive.rs` |
//! | asked | a request | its answer: *up*; a cookie: the same request with a proof; no answer: another one by the next path; no connection needs it: *no keys* | `handshake.rs`, `association/context.rs` |
//! | offered | keys that the peer has not used, and the connections of an epoch that it has not proved | a datagram under them: *up*; none for 15 s: *no keys*, and those connections end | `receive.rs`, `association/context.rs`, `association/epoch.rs` |
//! | up | keys that seal | others take their place in time: *up*; they are too old: *no keys*; either host shuts down: *no keys*, and connections end; the peer proves a new epoch: *up*, and connections of before end | `association/context.rs`, `association/epoch.rs` |
//!
//! *Asked* and *offered* may come together, and beside *up*; [`Keyring`](crate::secure::Keyring) has the rules. An
//! endpoint that was shut down stays in *no keys*: it neither asks nor answers.
//!
//! # States of a connection
//!
//! | state | what moves it on | where |
//! |---|---|---|
//! | opening, without keys | its request travels in a handshake message | `early.rs`, `association/drain.rs` |
//! | opening | the peer's answer: *open*; refused, or no answer: *failed*; new keys: the request is repeated | `receive.rs`, `association/context.rs` |
//! | opened by the peer | the association is *up* and the session connected: the application gets it, *open*; the epoch turns out to be another: *failed* | `association/drain.rs`, `association/epoch.rs` |
//! | open | both ends close: *ended*; an error, or the peer has a new epoch: *failed* | `bentpipe_transport::xstp`, `association/epoch.rs` |
//! | ended, failed | the application lets go of it, or never had it: forgotten | `association/drain.rs` |
//!
//! Beside that a connection may be *dirty*, until it is drained (`connections.rs`); wait for memory (`memory.rs`);
//! and wait for its round on a link of a known rate (`shaper.rs`).

mod association;
mod capacity;
mod carried;
mod connection;
mod connections;
mod control;
mod datagrams;
mod directory;
mod drive;
mod early;
mod ecn;
mod ecn_feedback;
mod egress;
mod fragments;
#[doc(hidden)]
pub mod fuzz;
mod gate;
mod handshake;
mod identity;
mod lasting;
mod links;
mod liveness;
mod memory;
mod names;
mod number;
mod numbering;
mod object;
mod outbox;
pub mod parity;
mod path;
mod path_memory;
mod path_monitor;
mod path_mtu;
mod paths;
mod receive;
mod roaming;
mod roster;
mod route;
mod settings;
mod shaper;
mod status;
mod streams;
mod switch_pause;
mod timers;
mod times;

use std::sync::Arc;
use std::task::{Context, Poll};

use bentpipe_record::TransportCounters;
use bentpipe_transport::xstp::{Config, Session};
use bentpipe_transport::{Inspect as _, PathId, Ports, SenderState};
use bentpipe_tunnel::Datagram;
use bentpipe_units::{BitRate, ByteCount, Instant};
use bytes::BytesMut;

use self::association::{PeerContext, Scratch};
use self::connections::Connections;
use self::datagrams::Inbox;
use self::directory::Directory;
use self::egress::Egress;
use self::gate::Gate;
use self::identity::Identity;
use self::names::{AssociationId, Owner};
use self::settings::Settings;
use crate::key::{PublicKey, SecretKey};
use crate::secure::{Admission, Responder, Security};
use crate::stream::Accepted;

pub use self::capacity::LEARN;
pub use self::datagrams::Datagrams;
pub use self::identity::Entropy;
pub use self::links::{LINKS, LinkPlan, Links};
pub use self::outbox::{Outbox, Train};
pub use self::parity::Fec;
pub use self::path_memory::{PathMemory, PathRecord};
pub use self::path_monitor::{Multipath, Plan, PlannedPath};
pub use self::route::{Outer, Route};
pub use self::shaper::Share;
pub use self::status::{ConnectionRef, PeerState, RecoveryCounters};
pub use self::timers::Timers;
pub use self::times::Times;
pub use crate::stream::{ConnectionId, Kept, StreamError, Streams};

/// Segments that may follow the request to open a connection before it is answered: as many of the longest as the
/// smallest receive buffer holds, 64 kB.
const EARLY_CREDIT: u16 = 44;

/// Everything behind one socket.
pub struct Endpoint {
    identity: Identity,
    gate: Gate,
    settings: Settings,
    directory: Directory,
    connections: Connections,
    egress: Egress,
    timers: Timers<Owner>,
    accepted: Accepted,
    /// Datagrams of peers' applications.
    inbox: Inbox,
    /// What the datagram that came last carries, in memory that is used again.
    opened: BytesMut,
    scratch: Scratch,
}

impl Endpoint {
    /// The endpoint of the host with this key. `calendar` are the nanoseconds since 1970 at the time zero of
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
            directory: Directory::default(),
            connections: Connections::default(),
            egress: Egress::default(),
            timers: Timers::default(),
            accepted: Accepted::default(),
            inbox: Inbox::default(),
            opened: BytesMut::new(),
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

    /// What it may cost in an hour, such as [`LEARN`], for each peer, to find out by packet trains what a path carries whose rate is not known,
    /// in associations that begin from now on. Nothing is found out without a word.
    pub fn set_learning(&mut self, an_hour: ByteCount) {
        self.settings.set_learning(an_hour);
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
    /// [`Endpoint::times`] says then is to be kept at once: the epoch of this process is among it, and no later one
    /// may have the same.
    pub fn set_times(&mut self, times: Times) {
        self.identity.set_times(times);
    }

    /// What the paths to peers carried, to be kept over a restart.
    pub fn path_memory(&self) -> PathMemory {
        self.directory.path_memory(&self.identity)
    }

    /// What the paths to peers carried before this host began. To be called before anything is sent.
    pub fn set_path_memory(&mut self, memory: PathMemory) {
        self.directory.set_path_memory(memory);
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
        self.directory.get(self.connections.get(id.0).association()).peer()
    }

    /// The paths by which a peer is reached, in associations to come. This host monitors them and sends by the
    /// first one that works, and the peer does too.
    pub fn plan(&mut self, peer: PublicKey, plan: Plan) {
        self.settings.plan(peer, plan);
    }

    /// Opens a connection to service `port` of a peer. If there is no [`Endpoint::plan`] for it and it has not
    /// proved to be elsewhere, it is reached by `route`, and sought there again whenever it does not answer.
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
        let id = match self.directory.of_peer(peer) {
            Some(id) => id,
            None => self.associate(now, peer, route),
        };
        let association = self.directory.get_mut(id);
        association.set_home(route);
        let (number, is_up) = (association.next_number(), association.is_up());
        let ports = Ports { local: number as u16, peer: port };
        let mut session = Session::connect(config, now, PathId(0), ports, self.identity.draw());
        if is_up {
            session.start_early(now, EARLY_CREDIT);
        }
        ConnectionId(self.context(id).add(now, number, session, None))
    }

    /// A connection keeps to this link, counted from 0: what it sends goes by no other one, and waits while that does not work.
    pub fn bind(&mut self, now: Instant, id: ConnectionId, link: usize) {
        let association = self.connections.get(id.0).association();
        self.context(association).bind(now, id.0, link);
    }

    /// Bytes that the host lets a connection hold beyond what it holds.
    pub fn room_to_hold(&self, id: ConnectionId) -> usize {
        let connection = self.connections.get(id.0);
        connection.room_to_hold(self.directory.get(connection.association()).memory_state())
    }

    /// The links to a peer; none where there is no association.
    pub fn links(&self, peer: PublicKey) -> Links {
        let id = self.directory.of_peer(peer);
        id.map_or_else(Links::default, |id| self.directory.get(id).links())
    }

    /// A link may be used from now on, or no more: what is sent to peers with a [`Plan`] goes by others, and while none of
    /// those works it waits. The peers do the same.
    pub fn set_link_open(&mut self, now: Instant, link: usize, is_open: bool) {
        self.settings.set_link_open(link, is_open);
        for id in self.directory.ids() {
            self.context(id).set_link_open(now, link, is_open);
        }
    }

    /// Bytes that each link has carried, both directions, headers of IP and of UDP or TCP included.
    pub fn carried_by_links(&self) -> [ByteCount; LINKS] {
        self.directory.carried().map(ByteCount::new)
    }

    fn associate(&mut self, now: Instant, peer: PublicKey, route: Route) -> AssociationId {
        let lasting = self.directory.take_lasting(peer);
        let us = self.identity.public_key();
        let seed = self.identity.draw();
        let mut association = self.settings.associate(now, us, peer, route, lasting, seed);
        let calendar = self.identity.calendar_at(now);
        let before = self.directory.remembered(peer);
        association.remember(before.map(|record| record?.path(calendar)));
        let id = self.directory.insert(association);
        self.context(id).apply_shares(now);
        id
    }

    /// An association, and what it may touch.
    fn context(&mut self, id: AssociationId) -> PeerContext<'_> {
        PeerContext::new(
            id,
            self.directory.split(id),
            (&mut self.connections, &mut self.egress),
            &mut self.timers,
            &mut self.identity,
            &mut self.accepted,
            &mut self.scratch,
        )
    }

    /// Counts what a connection holds.
    fn count(&mut self, id: ConnectionId) {
        let association = self.connections.get(id.0).association();
        self.connections.count(id.0, self.directory.get_mut(association).memory());
    }

    /// Ends all connections and tells the peers, before this host ends: from then on it asks nobody and answers
    /// no request. Who does not hear it finds out by himself, when nobody answers.
    pub fn shut_down(&mut self, now: Instant) {
        self.identity.close();
        for id in self.directory.ids() {
            self.context(id).shut_down(now);
        }
        self.flush(now);
    }

    /// All that this host sends over a link to peers with a [`Share`] of it leaves at this rate at most.
    /// `link` counts from 0 and is less than [`LINKS`].
    pub fn set_rate(&mut self, now: Instant, link: usize, rate: BitRate) {
        self.egress.set_rate(now, link, rate);
    }

    /// What is sent to a peer over a link takes this share of it, now and in associations to come.
    pub fn set_share(&mut self, now: Instant, link: usize, peer: PublicKey, share: Share) {
        if self.egress.set_share(link, peer, share)
            && let Some(id) = self.directory.of_peer(peer)
        {
            self.context(id).apply_shares(now);
        }
    }

    /// The rate of this host's own first link, if it is bounded.
    pub fn link_rate(&self) -> Option<BitRate> {
        self.egress.link_rate()
    }

    /// How datagrams of applications are carried, in associations that begin from now on.
    pub fn set_datagrams(&mut self, datagrams: Datagrams) {
        self.inbox.limit(&datagrams);
        self.settings.set_datagrams(datagrams);
    }

    /// Carries a datagram to a peer. False if it is lost already: it is longer than
    /// [`MOST_DATAGRAM`](bentpipe_tunnel::MOST_DATAGRAM), or there is no association.
    pub fn send_datagram(&mut self, now: Instant, peer: PublicKey, datagram: Datagram) -> bool {
        let Some(id) = self.directory.of_peer(peer) else { return false };
        self.context(id).send_datagram(now, datagram)
    }

    /// The next datagram that has come, and from whom.
    pub fn poll_datagram(&mut self, cx: &Context<'_>) -> Poll<(PublicKey, Datagram)> {
        self.inbox.poll(cx)
    }

    /// What the connections of a peer hold.
    pub fn held(&self, peer: PublicKey) -> ByteCount {
        let held = self.directory.of_peer(peer).map_or(0, |id| self.directory.get(id).held());
        ByteCount::new(held as u64)
    }

    /// A reference to a connection.
    pub fn reference(&self, id: ConnectionId) -> ConnectionRef {
        let number = self.connections.get(id.0).number();
        ConnectionRef::new(id.0, self.peer(id), number)
    }

    /// What the sender and the counters of a connection say, while it exists.
    pub fn look(&self, of: ConnectionRef) -> Option<(SenderState, TransportCounters)> {
        let connection = self.connections.find(of.id())?;
        // Numbers are never given twice within an association; a peer that associates anew begins again.
        let same = self.reference(ConnectionId(of.id())) == of;
        let session = connection.session();
        same.then(|| (session.sender_state(), session.counters()))
    }

    /// What is known of a peer.
    pub fn peer_state(&self, peer: PublicKey) -> PeerState {
        let shares = self.egress.shares(peer).unwrap_or_default();
        match self.directory.of_peer(peer) {
            Some(id) => {
                let association = self.directory.get(id);
                let mut state = association.state(shares);
                for connection in association.connections() {
                    let connection = self.connections.get(connection);
                    state.recovery.add_connection(&connection.session().counters());
                }
                state
            }
            None => PeerState { share: shares[0], ..PeerState::default() },
        }
    }

    /// The datagrams to be sent.
    pub fn outbox(&mut self) -> &mut Outbox {
        self.egress.outbox()
    }

    /// Connections that exist, open or not.
    pub fn connections(&self) -> usize {
        self.connections.len()
    }
}

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Endpoint")
            .field("associations", &self.directory.len())
            .field("connections", &self.connections.len())
            .finish_non_exhaustive()
    }
}
