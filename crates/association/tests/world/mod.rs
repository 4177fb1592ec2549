//! Two endpoints in memory with their own clock and a network between them that does what a test says.
#![allow(dead_code, reason = "each test uses its part")]

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bentpipe_association::endpoint::{ConnectionId, Endpoint, Route, StreamError, Streams as _};
use bentpipe_association::{PublicKey, SecretKey, Security};
use bentpipe_testkit::pattern;
use bentpipe_transport::xstp::Config;
use bentpipe_units::{ByteCount, Instant, Span};
use bentpipe_wire::Ecn;
use bytes::Bytes;

pub(crate) const CLIENT: usize = 0;
pub(crate) const SERVER: usize = 1;

pub(crate) fn address(end: usize) -> SocketAddr {
    format!("10.0.0.{}:25300", end + 1).parse().expect("an address")
}

pub(crate) fn key(n: u8) -> SecretKey {
    SecretKey::from_bytes([n; 32])
}

pub(crate) fn config() -> Arc<Config> {
    Arc::new(Config {
        mss: 1000,
        snd_buf: ByteCount::new(500_000),
        rcv_buf: ByteCount::new(500_000),
        cwnd_init: 16,
        ..Config::default()
    })
}

/// The address of an end on the backup link.
pub(crate) fn backup(end: usize) -> SocketAddr {
    format!("10.1.0.{}:25300", end + 1).parse().expect("an address")
}

/// How long a datagram of so many bytes takes by a path, counted from now; lost if it never arrives.
pub(crate) type Over = Box<dyn FnMut(Route, usize, Instant) -> Option<Span>>;

/// What the network does with a datagram: when its copies arrive, counted from now.
pub(crate) type Wire = Box<dyn FnMut(usize, &mut Vec<u8>) -> Vec<Span>>;

/// The mark in the header of a datagram of an end, when it arrives.
pub(crate) type Marker = Box<dyn FnMut(usize, Instant) -> Ecn>;

pub(crate) struct World {
    pub(crate) now: Instant,
    pub(crate) endpoints: [Endpoint; 2],
    /// What their keys are made of.
    pub(crate) keys: [u8; 2],
    pub(crate) addresses: [SocketAddr; 2],
    pub(crate) in_flight: BTreeMap<(Instant, u64), (usize, Route, Vec<u8>)>,
    pub(crate) serial: u64,
    pub(crate) wire: Wire,
    /// Instead of the wire, where there are several paths.
    pub(crate) over: Option<Over>,
    pub(crate) ecn: Marker,
    /// The path drops what says that it may be marked.
    pub(crate) drops_ect: bool,
    pub(crate) sent: Vec<(usize, Vec<u8>)>,
    /// Settings of the connections.
    pub(crate) config: Arc<Config>,
    /// How often a timer of each endpoint rang.
    pub(crate) rings: [u64; 2],
}

pub(crate) const DELAY: Span = Span::from_millis(300);

impl World {
    pub(crate) fn new() -> Self {
        Self::of([Security::Full; 2])
    }

    pub(crate) fn of(securities: [Security; 2]) -> Self {
        Self::with(securities, [1, 2])
    }

    /// Both orders of keys: the client's is the smaller one, or the larger.
    pub(crate) fn of_both_orders() -> [Self; 2] {
        let (one, other) = (key(1).public(), key(2).public());
        let small_first = if one < other { [1, 2] } else { [2, 1] };
        let [small, large] = small_first;
        [[small, large], [large, small]].map(|keys| Self::with([Security::Full; 2], keys))
    }

    fn with(securities: [Security; 2], keys: [u8; 2]) -> Self {
        let endpoints =
            [endpoint_with(keys[0], securities[0], 0), endpoint_with(keys[1], securities[1], 0)];
        let mut world = Self {
            now: Instant::ZERO,
            endpoints,
            keys,
            addresses: [address(CLIENT), address(SERVER)],
            in_flight: BTreeMap::new(),
            serial: 0,
            wire: Box::new(|_, _| vec![DELAY]),
            over: None,
            ecn: Box::new(|_, _| Ecn::Capable0),
            drops_ect: false,
            sent: Vec::new(),
            config: config(),
            rings: [0; 2],
        };
        world.let_in(SERVER);
        world
    }

    /// With these settings of connections that either side opens from now on.
    pub(crate) fn with_config(mut self, config: Arc<Config>) -> Self {
        self.endpoints[SERVER].listen(config.clone());
        self.config = config;
        self
    }

    pub(crate) fn with_wire(
        mut self,
        wire: impl FnMut(usize, &mut Vec<u8>) -> Vec<Span> + 'static,
    ) -> Self {
        self.wire = Box::new(wire);
        self
    }

    pub(crate) fn connect(&mut self) -> ConnectionId {
        self.connect_from(CLIENT)
    }

    pub(crate) fn connect_from(&mut self, end: usize) -> ConnectionId {
        let (to, peer) = (self.addresses[1 - end], self.peer_of(end));
        self.endpoints[end].connect(self.now, to, peer, 7, self.config.clone())
    }

    /// The public key of the other end.
    pub(crate) fn peer_of(&self, end: usize) -> PublicKey {
        key(self.keys[1 - end]).public()
    }

    /// An end lets the other one in.
    pub(crate) fn let_in(&mut self, end: usize) {
        let peer = self.peer_of(end);
        self.endpoints[end].allow(peer);
        self.endpoints[end].listen(self.config.clone());
    }

    /// An end is started anew: it has forgotten everything but its key and its calendar.
    pub(crate) fn restart(&mut self, end: usize) {
        self.serial += 1;
        let mut state = self.serial;
        let entropy = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state >> 11
        };
        let security = Security::Full;
        // The clock of a host that was started later is at the same time of the calendar.
        let endpoint =
            Endpoint::new(key(self.keys[end]), security, self.serial, Box::new(entropy), self.now);
        self.endpoints[end] = endpoint;
        self.let_in(end);
    }

    /// Sends what waits.
    pub(crate) fn pump(&mut self) {
        for end in [CLIENT, SERVER] {
            self.endpoints[end].flush(self.now);
            while let Some(train) = self.endpoints[end].outbox().front(1) {
                let (to, len, ecn) = (train.route, train.bytes.len(), train.ecn);
                let mut bytes = train.bytes.to_vec();
                self.endpoints[end].outbox().pop(len);
                self.sent.push((end, bytes.clone()));
                if ecn == Ecn::Capable0 && self.drops_ect {
                    continue;
                }
                let delays = match &mut self.over {
                    Some(over) => over(to, len, self.now).into_iter().collect(),
                    None => (self.wire)(end, &mut bytes),
                };
                let on_backup = [backup(CLIENT), backup(SERVER)];
                let ends = if on_backup.contains(&to.address) { on_backup } else { self.addresses };
                for delay in delays {
                    self.serial += 1;
                    let at = (self.now + delay, self.serial);
                    let from = Route { address: ends[end], local: Some(to.address.ip()), ..to };
                    if let Some(target) = ends.iter().position(|a| *a == to.address) {
                        self.in_flight.insert(at, (target, from, bytes.clone()));
                    }
                }
            }
        }
    }

    /// Lets the next thing happen; false when nothing will before `until`.
    pub(crate) fn step(&mut self, until: Instant) -> bool {
        self.pump();
        let arrival = self.in_flight.keys().next().map(|(at, _)| *at);
        let timer =
            Instant::earliest(self.endpoints[0].next_deadline(), self.endpoints[1].next_deadline());
        let Some(next) = Instant::earliest(arrival, timer).filter(|next| *next <= until) else {
            self.now = until;
            return false;
        };
        self.now = self.now.max(next);
        if arrival == Some(next)
            && let Some((_, (to, from, bytes))) = self.in_flight.pop_first()
        {
            let ecn = (self.ecn)(1 - to, self.now);
            self.endpoints[to].handle_datagram(self.now, from, ecn, &bytes);
        } else {
            for (endpoint, rings) in self.endpoints.iter_mut().zip(&mut self.rings) {
                *rings += u64::from(endpoint.next_deadline().is_some_and(|at| at <= self.now));
                endpoint.handle_timeout(self.now);
            }
        }
        true
    }

    /// Writes `data` from the client and reads it at the server; then both close. Returns what was
    /// read and when the last of it came.
    pub(crate) fn transfer(
        &mut self,
        from: ConnectionId,
        data: &Bytes,
        limit: Span,
    ) -> Result<(Vec<u8>, Instant), StreamError> {
        let cx = &mut Context::from_waker(Waker::noop());
        let (mut left, mut read, mut accepted) = (data.clone(), Vec::new(), None);
        let (mut closed, mut last) = (false, self.now);
        let until = self.now + limit;
        loop {
            self.pump();
            while !left.is_empty() {
                match self.endpoints[CLIENT].poll_write(self.now, from, &mut left, cx) {
                    Poll::Ready(result) => result.map(drop)?,
                    Poll::Pending => break,
                }
            }
            if left.is_empty() && !closed {
                closed = true;
                self.endpoints[CLIENT].close(self.now, from);
            }
            if accepted.is_none()
                && let Poll::Ready(id) = self.endpoints[SERVER].poll_accept(cx)
            {
                accepted = Some(id);
            }
            if let Some(id) = accepted {
                while let Poll::Ready(bytes) = self.endpoints[SERVER].poll_read(self.now, id, cx) {
                    match bytes? {
                        Some(bytes) => read.extend_from_slice(&bytes),
                        None => {
                            self.endpoints[SERVER].release(self.now, id);
                            self.endpoints[CLIENT].release(self.now, from);
                            return Ok((read, last));
                        }
                    }
                    last = self.now;
                }
            }
            if !self.step(until) {
                panic!("{} of {} bytes after {limit:?}", read.len(), data.len());
            }
        }
    }

    pub(crate) fn run(&mut self, span: Span) {
        let until = self.now + span;
        while self.step(until) {}
    }
}

pub(crate) fn endpoint(n: u8, calendar: u64) -> Endpoint {
    endpoint_with(n, Security::Full, calendar)
}

pub(crate) fn endpoint_with(n: u8, security: Security, calendar: u64) -> Endpoint {
    begun(n, security, calendar, Instant::ZERO)
}

/// A host that begins now; the calendar is that at the beginning of the world.
pub(crate) fn endpoint_at(n: u8, calendar: u64, now: Instant) -> Endpoint {
    begun(n, Security::Full, calendar, now)
}

fn begun(n: u8, security: Security, calendar: u64, now: Instant) -> Endpoint {
    let mut state = u64::from(n) + calendar;
    let entropy = move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 11
    };
    Endpoint::new(key(n), security, calendar, Box::new(entropy), now)
}

pub(crate) fn secs(n: u64) -> Span {
    Span::from_secs(n)
}

/// A world whose hosts have associated, and the time by which they had.
pub(crate) fn associated() -> World {
    let mut world = World::new();
    let first = world.connect();
    world.transfer(first, &pattern(10), secs(10)).expect("a transfer");
    world.run(secs(5));
    world
}
