//! Two SCTP ends in memory with their own clock, joined by paths that a test scripts.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use bentpipe_transport::sctp::{
    Answer, Association, Config, CookieKey, Identity, Listener, Message, Notice, PathEnds,
    Readdress, ReaddressError, State, View, out_of_the_blue,
};
use bentpipe_transport::{Endpoint, Event, Host, PathId, Ports, drain};
use bentpipe_units::{Instant, Span};
use bentpipe_wire::sctp::{Chunk, Data, Packet, Sack};
use bentpipe_wire::{Ecn, Kind, Segment};
use bytes::Bytes;

use bentpipe_link::Direction;

use crate::pair::Fate;

/// A packet on the wire, as a script sees it.
#[derive(Clone, Debug)]
pub struct SctpCrossing {
    /// When it was sent.
    pub at: Instant,
    /// Which way it goes.
    pub direction: Direction,
    /// Which path it takes.
    pub path: PathId,
    /// What it is.
    pub packet: Packet,
    /// What became of it.
    pub fate: Fate,
}

impl SctpCrossing {
    /// True when the packet carries all of `kind`.
    pub fn has(&self, kind: Kind) -> bool {
        self.packet.kind().contains(kind)
    }

    /// The DATA chunks of the packet.
    pub fn data(&self) -> impl Iterator<Item = &Data> {
        self.packet.chunks.iter().filter_map(|chunk| match chunk {
            Chunk::Data(data) => Some(data),
            _ => None,
        })
    }

    /// The SACK of the packet.
    pub fn sack(&self) -> Option<&Sack> {
        self.packet.chunks.iter().find_map(|chunk| match chunk {
            Chunk::Sack(sack) => Some(sack),
            _ => None,
        })
    }
}

/// Decides the fate of each packet, and may change it.
pub type SctpScript = Box<dyn FnMut(&mut SctpCrossing) -> Fate>;

/// One end with its application: writes what it was given, reads all it can.
#[derive(Debug)]
pub struct SctpEnd {
    /// The association; the server has none before the first COOKIE ECHO.
    pub association: Option<Association>,
    /// What it still has to write.
    pub outbox: Bytes,
    /// It closes once both ends have written everything: what is not written when the other closes can
    /// not be written any more.
    pub closes: bool,
    /// It leaves arrived bytes and messages unread.
    pub stalled: bool,
    /// What it has read as bytes.
    pub inbox: Vec<u8>,
    /// What it has read as messages.
    pub messages: Vec<Message>,
    /// What it was told.
    pub events: Vec<(Instant, Event)>,
    /// What happened to its paths.
    pub notices: Vec<(Instant, Notice)>,
    view: View,
}

impl SctpEnd {
    fn new(view: View) -> Self {
        Self {
            association: None,
            outbox: Bytes::new(),
            closes: true,
            stalled: false,
            inbox: Vec::new(),
            messages: Vec::new(),
            events: Vec::new(),
            notices: Vec::new(),
            view,
        }
    }

    /// The association, which must be there.
    pub fn association(&self) -> &Association {
        self.association.as_ref().expect("an association")
    }

    /// True when the application was told this.
    pub fn was_told(&self, event: Event) -> bool {
        self.events.iter().any(|(_, told)| *told == event)
    }
}

/// A client and a server.
pub struct SctpPair {
    /// The time.
    pub now: Instant,
    /// The end that opens.
    pub client: SctpEnd,
    /// The end that listens.
    pub server: SctpEnd,
    /// Everything that was sent, in order, with its fate.
    pub log: Vec<SctpCrossing>,
    /// One-way delay of each path, the same in both directions.
    pub delays: Vec<Span>,
    listener: Listener,
    script: SctpScript,
    wire: BTreeMap<(Instant, u64), (Direction, PathId, Packet)>,
    serial: u64,
}

/// What an end's drain loop needs of the pair.
struct Surroundings<'a> {
    outbox: &'a mut Bytes,
    closes: bool,
    stalled: bool,
    view: View,
    inbox: &'a mut Vec<u8>,
    messages: &'a mut Vec<Message>,
    events: &'a mut Vec<(Instant, Event)>,
    sent: Vec<(PathId, Packet)>,
    place: Segment,
}

impl Host<Association> for Surroundings<'_> {
    fn place(&mut self) -> &mut Segment {
        &mut self.place
    }

    fn transmit(&mut self, _now: Instant, path: PathId) {
        let Segment::Sctp(packet) = std::mem::take(&mut self.place) else {
            panic!("an association of SCTP sent a segment of another protocol");
        };
        self.sent.push((path, packet));
        assert!(self.sent.len() < MOST_AT_ONCE, "an end talks without end");
    }

    fn event(&mut self, now: Instant, association: &mut Association, event: Event) {
        self.events.push((now, event));
        if !self.stalled {
            self.read_all(now, association);
        }
        feed(now, association, self.outbox, self.closes);
    }
}

impl Surroundings<'_> {
    fn read_all(&mut self, now: Instant, association: &mut Association) {
        match self.view {
            View::Bytes { .. } => {
                while let Some(bytes) = association.read(now) {
                    self.inbox.extend_from_slice(&bytes);
                }
            }
            View::Messages => self.messages.extend(std::iter::from_fn(|| association.receive())),
        }
    }
}

/// Writes as much as fits and closes when that was all.
fn feed(now: Instant, association: &mut Association, outbox: &mut Bytes, closes: bool) {
    if !outbox.is_empty() && association.write(now, outbox).is_err() {
        outbox.clear();
    }
    if outbox.is_empty() && closes {
        association.close(now);
    }
}

/// More packets than any event sets free in a test.
const MOST_AT_ONCE: usize = 10_000;
/// More packets than any test needs.
const MOST_IN_ALL: usize = 200_000;
/// The secret of both hosts of a pair.
const KEY: [u8; 32] = [42; 32];
/// Ports of the client.
const PORTS: Ports = Ports { local: 5001, peer: 5002 };

/// The address of the client on a path: 10.0.0.1 on the first. The server has one for all.
pub fn client_address(path: PathId) -> IpAddr {
    Ipv4Addr::from_bits(0x0a00_0001 + path.0).into()
}

/// The address of the server.
const SERVER_ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 9, 0, 1));

/// What the end whose packets go `way` says of a path.
fn ends_of(way: Direction, path: PathId) -> PathEnds {
    let (client, server) = (Some(client_address(path)), Some(SERVER_ADDRESS));
    match way {
        Direction::Forward => PathEnds { own: client, peer: server },
        Direction::Return => PathEnds { own: server, peer: client },
    }
}

fn name_paths(association: &mut Association, way: Direction, paths: usize) {
    for id in (0..paths as u32).map(PathId) {
        association.name_path(id, ends_of(way, id));
    }
}

impl SctpPair {
    /// The client moves: it has the address of path `add` from now on, or no more that of `delete`.
    ///
    /// # Errors
    /// What the association says.
    pub fn readdress(
        &mut self,
        add: Option<u32>,
        set_primary: bool,
        delete: Option<u32>,
    ) -> Result<(), ReaddressError> {
        let change = Readdress {
            add: add.map(|path| (PathId(path), ends_of(Direction::Forward, PathId(path)))),
            set_primary,
            delete: delete.map(|path| client_address(PathId(path))),
        };
        let mut result = Ok(());
        self.change(Direction::Forward, |association, now| {
            result = association.readdress(now, change);
        });
        result
    }

    /// A client that opens at time zero over paths with these one-way delays. Both ends close when they
    /// have nothing left to write.
    pub fn new(client: Config, server: Config, delays: &[Span]) -> Self {
        client.validate().expect("a valid client");
        server.validate().expect("a valid server");
        let (client_view, server_view) = (client.view, server.view);
        let key = CookieKey::new(KEY);
        let identity = Identity {
            ports: PORTS,
            paths: (0..delays.len() as u32).map(PathId).collect(),
            addresses: Vec::new(),
            key: key.clone(),
            entropy: 7,
        };
        let mut end = SctpEnd::new(client_view);
        let mut association = Association::connect(Arc::new(client), Instant::ZERO, identity);
        name_paths(&mut association, Direction::Forward, delays.len());
        end.association = Some(association);
        Self {
            now: Instant::ZERO,
            client: end,
            server: SctpEnd::new(server_view),
            log: Vec::new(),
            delays: delays.to_vec(),
            listener: Listener::new(Arc::new(server), key, Vec::new()),
            script: Box::new(|_| Fate::Pass),
            wire: BTreeMap::new(),
            serial: 0,
        }
    }

    /// Lets `script` decide what the wires do.
    #[must_use]
    pub fn with_script(mut self, script: impl FnMut(&mut SctpCrossing) -> Fate + 'static) -> Self {
        self.script = Box::new(script);
        self
    }

    /// What the client writes.
    #[must_use]
    pub fn sending(mut self, bytes: impl Into<Bytes>) -> Self {
        self.client.outbox = bytes.into();
        self
    }

    /// What the server writes.
    #[must_use]
    pub fn answering(mut self, bytes: impl Into<Bytes>) -> Self {
        self.server.outbox = bytes.into();
        self
    }

    /// Neither end closes by itself.
    #[must_use]
    pub fn staying_open(mut self) -> Self {
        (self.client.closes, self.server.closes) = (false, false);
        self
    }

    /// Both ends open at once: the server is no listener but connects as well.
    pub fn both_open(&mut self, config: Config) {
        let identity = Identity {
            ports: Ports { local: PORTS.peer, peer: PORTS.local },
            paths: (0..self.delays.len() as u32).map(PathId).collect(),
            addresses: Vec::new(),
            key: CookieKey::new(KEY),
            entropy: 8,
        };
        let mut association = Association::connect(Arc::new(config), self.now, identity);
        name_paths(&mut association, Direction::Return, self.delays.len());
        self.server.association = Some(association);
        self.change(Direction::Return, |_, _| {});
    }

    /// The client forgets everything and opens anew.
    pub fn restart_client(&mut self, config: Config) {
        let identity = Identity {
            ports: PORTS,
            paths: (0..self.delays.len() as u32).map(PathId).collect(),
            addresses: Vec::new(),
            key: CookieKey::new(KEY),
            entropy: 9,
        };
        let mut association = Association::connect(Arc::new(config), self.now, identity);
        name_paths(&mut association, Direction::Forward, self.delays.len());
        self.client.association = Some(association);
        self.change(Direction::Forward, |_, _| {});
    }

    /// Puts a packet onto the wire as if an end had sent it.
    pub fn inject(&mut self, direction: Direction, path: PathId, packet: Packet) {
        let at = self.now + self.delay(path);
        self.serial += 1;
        self.wire.insert((at, self.serial), (direction, path, packet));
    }

    fn delay(&self, path: PathId) -> Span {
        self.delays.get(path.0 as usize).copied().unwrap_or(self.delays[0])
    }

    fn end(&mut self, direction: Direction) -> &mut SctpEnd {
        match direction {
            Direction::Forward => &mut self.client,
            Direction::Return => &mut self.server,
        }
    }

    /// Drains the end whose packets go `way` after `change` was done to it.
    pub fn change(&mut self, direction: Direction, change: impl FnOnce(&mut Association, Instant)) {
        let now = self.now;
        let other = if direction == Direction::Forward { &self.server } else { &self.client };
        let other_has_written = other.outbox.is_empty();
        let end = self.end(direction);
        let Some(association) = &mut end.association else { return };
        change(association, now);
        let mut around = Surroundings {
            outbox: &mut end.outbox,
            closes: end.closes && other_has_written,
            stalled: end.stalled,
            view: end.view,
            inbox: &mut end.inbox,
            messages: &mut end.messages,
            events: &mut end.events,
            sent: Vec::new(),
            place: Segment::default(),
        };
        if association.state() != State::Closed {
            feed(now, association, around.outbox, around.closes);
        }
        if !around.stalled {
            around.read_all(now, association);
        }
        drain(association, now, &mut around);
        while let Some(notice) = association.poll_notice() {
            end.notices.push((now, notice));
            if let Notice::PeerAddressAdded(IpAddr::V4(address)) = notice {
                let id = PathId(address.to_bits() - 0x0a00_0001);
                association.add_path(now, id);
                association.name_path(id, ends_of(direction, id));
                drain(association, now, &mut around);
            }
        }
        let sent = around.sent;
        for (path, packet) in sent {
            self.send(direction, path, packet);
        }
    }

    fn send(&mut self, direction: Direction, path: PathId, packet: Packet) {
        let mut crossing = SctpCrossing { at: self.now, direction, path, packet, fate: Fate::Pass };
        crossing.fate = (self.script)(&mut crossing);
        if crossing.fate == Fate::Marked && crossing.packet.ecn != Ecn::NotCapable {
            crossing.packet.ecn = Ecn::Congestion;
        }
        let arrives = self.now + self.delay(path);
        let mut put = |at: Instant| {
            self.serial += 1;
            self.wire.insert((at, self.serial), (direction, path, crossing.packet.clone()));
        };
        match crossing.fate {
            Fate::Pass | Fate::Marked => put(arrives),
            Fate::Drop => {}
            Fate::Late(more) => put(arrives + more),
            Fate::Twice(more) => {
                put(arrives);
                put(arrives + more);
            }
        }
        self.log.push(crossing);
        assert!(self.log.len() < MOST_IN_ALL, "the ends talk without end");
    }

    fn arrive(&mut self, direction: Direction, path: PathId, mut packet: Packet) {
        let to =
            if direction == Direction::Forward { Direction::Return } else { Direction::Forward };
        // A host forgets closed associations and answers for them.
        let gone = self.end(to).association.as_ref().is_none_or(Association::is_closed);
        if !gone {
            let mut segment = Segment::Sctp(packet);
            return self.change(to, |association, now| {
                if let Segment::Sctp(packet) = &segment
                    && association.is_move_to(client_address(path), packet)
                {
                    association.add_path(now, path);
                    association.name_path(path, ends_of(to, path));
                }
                association.handle_segment(now, path, &mut segment);
            });
        }
        if to == Direction::Return && self.server.association.is_none() {
            let others: Vec<_> = (0..self.delays.len() as u32).map(PathId).collect();
            match self.listener.handle(self.now, path, &others, &mut packet, 0xabcd_0000_2000) {
                Answer::Open(association) => {
                    let mut association = *association;
                    name_paths(&mut association, to, self.delays.len());
                    self.server.association = Some(association);
                    self.change(to, |_, _| {});
                }
                Answer::Reply(answer) => self.send(to, path, answer),
                Answer::Nothing => {}
            }
        } else if let Some(answer) = out_of_the_blue(&packet) {
            self.send(to, path, answer);
        }
    }

    fn deadline(&self, direction: Direction) -> Option<Instant> {
        let end = if direction == Direction::Forward { &self.client } else { &self.server };
        end.association.as_ref()?.poll_timeout()
    }

    /// When the next thing happens.
    fn next(&self) -> Option<Instant> {
        let arrival = self.wire.keys().next().map(|(at, _)| *at);
        let timers =
            [Direction::Forward, Direction::Return].map(|direction| self.deadline(direction));
        [arrival, timers[0], timers[1]].into_iter().flatten().min()
    }

    /// Lets the next thing happen, arrivals before timers; false when nothing is left.
    pub fn step(&mut self) -> bool {
        let Some(next) = self.next() else { return false };
        self.now = self.now.max(next);
        if let Some(entry) = self.wire.first_entry()
            && entry.key().0 <= self.now
        {
            let (direction, path, packet) = entry.remove();
            self.arrive(direction, path, packet);
            return true;
        }
        let due = |direction| self.deadline(direction).is_some_and(|at| at <= self.now);
        let direction =
            if due(Direction::Forward) { Direction::Forward } else { Direction::Return };
        self.change(direction, Association::handle_timeout);
        true
    }

    /// Starts the client and runs until nothing is left to do or `until` has passed. True when
    /// nothing is left: both ends are closed and no timer runs.
    pub fn run(&mut self, until: Span) -> bool {
        if self.log.is_empty() {
            self.change(Direction::Forward, |_, _| {});
        }
        while self.now <= Instant::ZERO + until {
            if !self.step() {
                return true;
            }
        }
        false
    }

    /// Runs until `until`, however much there is left to do.
    pub fn run_to(&mut self, until: Instant) {
        if self.log.is_empty() {
            self.change(Direction::Forward, |_, _| {});
        }
        while self.next().is_some_and(|next| next <= until) {
            self.step();
        }
        self.now = self.now.max(until);
    }

    /// Everything of `kind` that went `way`.
    pub fn sent(&self, direction: Direction, kind: Kind) -> impl Iterator<Item = &SctpCrossing> {
        self.log.iter().filter(move |c| c.direction == direction && c.has(kind))
    }

    /// Number of packets that went `way` from `from` on.
    pub fn sent_since(&self, direction: Direction, from: Instant) -> usize {
        self.log.iter().filter(|c| c.direction == direction && c.at >= from).count()
    }
}
