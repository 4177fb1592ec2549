//! One association: its keys as they come and go, and what is known of the peer.
//!
//! What only this association knows is here; what an association does with its connections, with the socket and with
//! the names of its keys is in [`PeerContext`].

mod context;
mod drain;
mod epoch;
mod messages;
mod switch;
mod transmit;

use bentpipe_cc::KnownPath;
use bentpipe_transport::xstp::SharedPath;
use bentpipe_tunnel::PathPlan;
use bentpipe_units::{BitRate, ByteCount, Instant};
use bentpipe_wire::xstp::PLAIN_HEADER;
use bytes::{Bytes, BytesMut};

pub(super) use self::context::PeerContext;
pub(super) use self::drain::Scratch;
use super::capacity::{Arrivals, Prober};
use super::carried::Carried;
use super::control::MESSAGE_HEADER;
use super::early::Early;
use super::ecn_feedback::EcnFeedback;
use super::fragments::Fragments;
use super::lasting::{Before, Lasting};
use super::links::{LINKS, Links};
use super::liveness::Liveness;
use super::memory::Memory;
use super::number::number_len;
use super::parity::{Fec, FecState, PARITY_HEADER};
use super::paths::{MAX_PATHS, Paths};
use super::roster::Roster;
use super::route::{Outer, Route};
use super::shaper::{PeerShaper, Shapers, Share};
use super::status::{PeerState, RecoveryCounters};
use super::switch_pause::SwitchPause;
use crate::key::PublicKey;
use crate::secure::{Agreed, Index, Initiator, Keyring, OVERHEAD, Request, Slot, Traffic};

/// What a request of the peer brought, to be looked at once the peer has used the keys that it asked for.
#[derive(Debug)]
pub(super) struct Held {
    /// Where the answer went: the peer is there if it uses the keys.
    pub(super) route: Route,
    /// Segments that open connections.
    pub(super) segments: Vec<Bytes>,
}

/// An authentic datagram.
#[derive(Debug)]
pub(super) struct Opened {
    /// Its number.
    pub(super) number: u64,
    /// It is the first one that shows that the peer has new keys.
    pub(super) agreed: Option<Agreed<Held>>,
    /// It is the newest one under keys that count.
    pub(super) is_newest: bool,
}

/// One association.
#[derive(Debug)]
pub(super) struct Association {
    peer: PublicKey,
    paths: Paths,
    /// Its keys as they come and go.
    keys: Keyring<Traffic, Box<Initiator>, Held>,
    /// The epoch of the peer whose connections exist although it has not used its keys yet.
    unproven: Option<u64>,
    /// The path that the latest request went.
    asked_by: Option<usize>,
    /// Segments that open connections and travel with the next handshake message.
    early: Early,
    roster: Roster,
    liveness: Liveness,
    fragments: Fragments,
    /// Congestion marks, those seen here and those that the peer saw.
    ecn_feedback: EcnFeedback,
    /// What protects against losses, both directions.
    fec: FecState,
    /// What its connections hold.
    memory: Memory,
    /// What the connections over each direction share where the rate is not known.
    shared: [Option<SharedPath>; MAX_PATHS],
    /// What links were to the peer in associations before.
    before: Before,
    /// Trains that tell what the path in use carries where the rate is not known, and those of the peer.
    prober: Prober,
    arrivals: Arrivals,
    switch_pause: SwitchPause,
    /// Datagrams of applications.
    carried: Carried,
    /// The shapers to the peer over each link whose rate is known.
    shapers: Shapers,
    /// Connections that are forgotten, and parity.
    recovery: RecoveryCounters,
}

/// Bytes of a POLL, which a full segment may carry as well.
const POLL: usize = 4;

impl Association {
    /// An association without keys. This host's key is the larger one, or the peer's is.
    pub(super) fn new(
        peer: PublicKey,
        is_larger: bool,
        (paths, carried): (Paths, Carried),
        lasting: Lasting,
        fec: Fec,
        memory: Memory,
    ) -> Self {
        Self {
            peer,
            paths,
            keys: Keyring::new(is_larger),
            unproven: None,
            asked_by: None,
            early: Early::default(),
            roster: Roster::new(lasting.numbering),
            liveness: Liveness::default(),
            fragments: Fragments::default(),
            ecn_feedback: EcnFeedback::default(),
            fec: FecState::new(fec, memory.for_parity()),
            memory,
            shared: [const { None }; MAX_PATHS],
            before: Before { carried: lasting.carried, paths: [None; LINKS] },
            prober: Prober::new(lasting.ledger),
            arrivals: Arrivals::default(),
            switch_pause: SwitchPause::default(),
            carried,
            shapers: [const { None }; LINKS],
            recovery: RecoveryCounters::default(),
        }
    }

    pub(super) const fn peer(&self) -> PublicKey {
        self.peer
    }

    /// What outlives it.
    pub(super) fn into_lasting(self) -> Lasting {
        let carried = self.carried_by_links();
        let (numbering, ledger) = (self.roster.into_numbering(), self.prober.into_ledger());
        Lasting { numbering, ledger, carried }
    }

    /// Its links carried this in associations or processes before.
    pub(super) const fn remember(&mut self, links: [Option<KnownPath>; LINKS]) {
        self.before.paths = links;
    }

    /// What its paths carry, and when that was seen: what was sent by them counts, and what trains found where nothing was.
    pub(super) fn seen_paths(&self) -> Vec<(usize, Instant, KnownPath)> {
        let seen = |path: usize| {
            let learned = || self.prober.learned(path).map(|learned| (learned.at, learned.known));
            let sent = self.shared[path].as_ref().and_then(SharedPath::observed);
            let (at, known) = sent.or_else(learned)?;
            Some((self.paths.get(path).link(), at, known))
        };
        self.paths.in_use().into_iter().filter_map(seen).collect()
    }

    /// An application of this host says that the peer is there.
    pub(super) fn set_home(&mut self, route: Route) {
        self.paths.set_home(route);
    }

    /// A number for a connection that this host opens.
    pub(super) fn next_number(&mut self) -> u32 {
        self.roster.next_number()
    }

    /// The connection of this number.
    pub(super) fn find(&self, number: u32) -> Option<usize> {
        self.roster.find(number)
    }

    pub(super) const fn memory_state(&self) -> &Memory {
        &self.memory
    }

    pub(super) const fn memory(&mut self) -> &mut Memory {
        &mut self.memory
    }

    /// Bytes that its connections hold.
    pub(super) const fn held(&self) -> usize {
        self.memory.held()
    }

    /// A handshake message is being written, which takes along what opens connections now.
    pub(super) fn set_collects(&mut self, collects: bool) {
        self.early.set_collects(collects);
    }

    /// The segments that go with the answer to a request. What finds no room there is retransmitted.
    pub(super) fn take_early(&mut self) -> Vec<u8> {
        let payload = self.early.payload();
        let _ = self.early.take_rest();
        payload
    }

    /// Whether the peer may open a connection of this number.
    pub(super) fn may_open(&self, number: u32) -> bool {
        let epoch = self.unproven.or(self.keys.epoch());
        // What was opened and has ended is not opened again by a request that is repeated because the answer was lost.
        let is_new = !self.roster.is_ours(number) && !self.roster.was_accepted(epoch, number);
        is_new && self.memory.has_place(self.roster.opened())
    }

    /// What is known of the peer, which has these shares of the links.
    pub(super) fn state(&self, shares: [Option<Share>; LINKS]) -> PeerState {
        let main = self.paths.get(self.paths.main());
        let (address, link) = (main.route().address, main.link());
        let monitored = self.paths.round_trip(self.paths.main());
        PeerState {
            address: Some(address).filter(|address| address.port() != 0),
            srtt: monitored.or(self.fec.round_trip()),
            loss: self.fec.measured_losses(),
            connections: self.roster.len(),
            held: ByteCount::new(self.held() as u64),
            capacity: self.prober.learned(self.paths.main()).map(|learned| learned.known.rate),
            share: shares[link],
            link,
            outer: main.route().outer,
            recovery: self.recovery,
            tunnel: self.carried.counters(),
        }
    }

    /// The links to the peer.
    pub(super) fn links(&self) -> Links {
        self.paths.links()
    }

    /// A datagram of so many bytes came by this route.
    pub(super) fn count(&mut self, from: &Route, bytes: usize) {
        self.paths.count(self.paths.of(from), from.headers() + bytes);
    }

    /// Bytes that each link has carried with the peer, in this association and those before.
    pub(super) fn carried_by_links(&self) -> [u64; LINKS] {
        let (now, before) = (self.paths.carried(), self.before.carried);
        std::array::from_fn(|link| now[link] + before[link])
    }

    /// Its connections.
    pub(super) fn connections(&self) -> impl Iterator<Item = usize> {
        self.roster.all().into_iter()
    }

    /// Payload of a full segment of connection `number` on this path.
    fn payload_room(&self, number: u32, path: usize) -> u16 {
        let around = OVERHEAD + number_len(number) + PLAIN_HEADER + POLL;
        self.paths.get(path).most() - around as u16
    }

    /// The paths in use of which packet trains tell something that is not known: TCP would make a train of its own. Where
    /// each byte costs there are none.
    fn to_learn(&self) -> impl Iterator<Item = usize> {
        self.paths.in_use().into_iter().filter(|path| {
            let path = self.paths.get(*path);
            let is_spared = path.plan().is_metered || self.shapers[path.link()].is_some();
            path.route().outer == Outer::Udp && !is_spared
        })
    }

    /// When a packet train is due.
    fn train_due(&self) -> Option<Instant> {
        self.to_learn().filter_map(|path| self.prober.due(path)).min()
    }

    /// Datagrams of applications.
    pub(super) const fn carried(&mut self) -> &mut Carried {
        &mut self.carried
    }

    /// The paths that datagrams of applications take, the one in use first, and what is known of them.
    fn tunnelled(&self) -> Vec<(usize, PathPlan)> {
        let mut paths: Vec<(usize, PathPlan)> = self.paths.tunnelled().collect();
        if let [_, _, ..] = paths[..] {
            paths.iter_mut().for_each(|(path, plan)| plan.rate = self.known_rate(*path));
        }
        paths
    }

    /// What a path carries: its share of a dedicated link, or what was found out.
    fn known_rate(&self, path: usize) -> Option<BitRate> {
        let link = self.paths.get(path).link();
        if let Some(own) = &self.shapers[link] {
            return Some(own.link().carried());
        }
        // What was sent by it counts, as what a train has found may be old.
        let observed = self.shared[path].as_ref().and_then(SharedPath::observed);
        let known = observed.map(|(_, known)| known);
        let learned = || self.prober.learned(path).map(|learned| learned.known);
        known.or_else(learned).or(self.before.paths[link]).map(|known| known.rate)
    }

    /// Bytes of a message of the tunnel that a path carries in a datagram.
    fn tunnel_room(&self, path: usize) -> usize {
        usize::from(self.paths.get(path).most()) - OVERHEAD - MESSAGE_HEADER
    }

    /// Bytes of parity that the path carries in a datagram.
    fn parity_room(&self) -> usize {
        let main = self.paths.get(self.paths.main());
        usize::from(main.most()) - OVERHEAD - PARITY_HEADER
    }

    /// Whether datagrams can be sealed.
    pub(super) const fn is_up(&self) -> bool {
        self.keys.is_up()
    }

    /// Whether nobody needs this association: it has no keys and nothing names it.
    pub(super) const fn is_over(&self) -> bool {
        self.roster.is_unnamed() && self.keys.is_empty()
    }

    /// Whether a request of this epoch comes late: the peer has been started anew since.
    pub(super) fn is_past(&self, epoch: u64) -> bool {
        self.keys.is_past(epoch)
    }

    /// The request that waits for its answer to `index`.
    pub(super) fn request(&mut self, index: Index) -> Option<&mut Request<Box<Initiator>>> {
        self.keys.request(index)
    }

    /// Opens a datagram that came under `index`: appends what it carries to `out`.
    pub(super) fn open(
        &mut self,
        now: Instant,
        index: Index,
        number: u32,
        sealed: &[u8],
        out: &mut BytesMut,
    ) -> Option<Opened> {
        let (slot, traffic) = self.keys.find(index)?;
        let start = out.len();
        let arrival = traffic.open(number, sealed, out)?;
        // The peer has them too: from now on they count.
        let agreed = if slot == Slot::Next { self.keys.confirm() } else { None };
        self.liveness.heard(now, out.len() == start);
        let is_newest = arrival.newest && slot != Slot::Previous;
        Some(Opened { number: arrival.number, agreed, is_newest })
    }

    /// Whether the peer waits for a sign of life.
    fn owes_answer(&self, now: Instant) -> bool {
        self.is_up() && self.liveness.answer_due().is_some_and(|due| due <= now)
    }

    /// Whether keys must be asked for now.
    fn wants_keys(&self, now: Instant) -> bool {
        self.renewal().is_some_and(|at| at <= now)
    }

    /// When keys have to be asked for; only while there are connections.
    fn renewal(&self) -> Option<Instant> {
        if self.roster.is_empty() {
            return self.keys.retry();
        }
        self.keys.renewal(self.liveness.silent_at())
    }

    /// When the tunnel has to be looked after. What waits for a round on a shaper waits for that.
    fn tunnel_due(&self) -> Option<Instant> {
        let of = |path: usize| {
            let link = self.paths.get(path).link();
            let waits = self.shapers[link].as_ref().is_some_and(PeerShaper::datagrams_wait);
            if waits { None } else { self.carried.deadline(path, self.tunnel_room(path)) }
        };
        let paths = self.carried.paths().into_iter().map(of);
        paths.fold(self.carried.timers_due(), Instant::earliest)
    }

    /// When something has to be done.
    fn deadline(&self) -> Option<Instant> {
        let keys = Instant::earliest(self.renewal(), self.keys.expiry());
        let answer = self.liveness.answer_due().filter(|_| self.is_up());
        let paths = Instant::earliest(self.paths.deadline(), self.ecn_feedback.due());
        let paths = Instant::earliest(paths, self.fec.deadline());
        let paths = Instant::earliest(paths, self.switch_pause.due());
        let paths = Instant::earliest(paths, self.arrivals.due());
        let paths = Instant::earliest(paths, self.tunnel_due());
        let paths = Instant::earliest(paths, self.train_due());
        let shapers = self.shapers.iter().flatten().map(PeerShaper::due);
        let paths = shapers.fold(paths, Instant::earliest);
        Instant::earliest(Instant::earliest(keys, answer), paths.filter(|_| self.is_up()))
    }
}
