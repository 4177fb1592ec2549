//! The network of a storm: one link between the server and each client, whose weather changes.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use bentpipe_association::endpoint::{Outer, Route};
use bentpipe_association::secure::{Datagram, Security, parse};
use bentpipe_link::Stream;
use bentpipe_units::{BitRate, ByteCount, Instant, Span};
use bentpipe_wire::Ecn;

use super::settings::Settings;
use crate::program::Outgoing;

/// Links of each client.
const LINKS: usize = 2;
/// A burst of losses takes one more.
const BURST_GOES_ON: f64 = 0.9;
/// Datagrams that somebody has listened to, to be sent again.
const CAPTURED: usize = 64;
/// Handshake messages among them, which are rare and do more.
const HANDSHAKES: usize = 256;

/// What a direction of a link does to datagrams.
#[derive(Clone, Debug)]
pub(super) struct Weather {
    pub(super) delay: Span,
    pub(super) jitter: Span,
    pub(super) loss: f64,
    /// The chance that a burst of losses begins, of ten datagrams on average.
    pub(super) bursts: f64,
    pub(super) duplicates: f64,
    pub(super) corrupts: f64,
    /// Datagrams that are held back for minutes.
    pub(super) holds: f64,
    /// Datagrams that are marked on the path.
    pub(super) marks: f64,
    pub(super) rate: BitRate,
    pub(super) queue: Span,
    pub(super) mtu: usize,
    pub(super) is_dark: bool,
    /// It goes down and comes back, each for so long.
    pub(super) flaps: Option<Span>,
    /// UDP does not get through.
    pub(super) blocks_udp: bool,
}

impl Weather {
    /// A link that does nothing but delay.
    pub(super) fn fair(delay: Span) -> Self {
        Self {
            delay,
            jitter: Span::ZERO,
            loss: 0.0,
            bursts: 0.0,
            duplicates: 0.0,
            corrupts: 0.0,
            holds: 0.0,
            marks: 0.0,
            rate: BitRate::from_bps(20_000_000),
            queue: Span::from_millis(500),
            mtu: 1500,
            is_dark: false,
            flaps: None,
            blocks_udp: false,
        }
    }

    /// Nothing gets through at this moment.
    fn is_down(&self, now: Instant) -> bool {
        let half = |span: Span| now.as_nanos() / span.as_nanos();
        self.is_dark || self.flaps.is_some_and(|span| half(span) % 2 == 1)
    }

    /// Some of what can go wrong goes wrong.
    pub(super) fn draw(random: &mut Stream) -> Self {
        let delay = Span::from_millis([1, 10, 40, 300][random.below(4) as usize]);
        let mut weather = Self::fair(delay);
        let mut some = |most: f64| if random.chance(0.4) { random.unit() * most } else { 0.0 };
        weather.loss = some(0.3);
        weather.duplicates = some(0.2);
        weather.corrupts = some(0.1);
        weather.holds = some(0.02);
        weather.marks = some(0.5);
        if random.chance(0.2) {
            weather.bursts = random.unit() * 0.03;
        }
        if random.chance(0.15) {
            weather.flaps = Some(Span::from_millis(50 << random.below(8)));
        }
        if random.chance(0.3) {
            weather.jitter = Span::from_millis(random.below(400));
        }
        if random.chance(0.3) {
            weather.rate = BitRate::from_bps(64_000 << random.below(8));
            // A short one lets no train of a capacity probe through.
            weather.queue = Span::from_millis((1 << random.below(12)) + 1);
        }
        if random.chance(0.15) {
            weather.mtu = 600 + random.below(900) as usize;
        }
        weather.blocks_udp = random.chance(0.05);
        weather
    }
}

/// A datagram on its way.
#[derive(Clone, Debug)]
pub(super) struct Flight {
    /// The node that it is for.
    pub(super) to: usize,
    /// The address that it was sent to; whoever has another one by then does not get it.
    address: SocketAddr,
    pub(super) from: Route,
    pub(super) ecn: Ecn,
    pub(super) bytes: Vec<u8>,
}

/// What became of datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Datagrams {
    /// Those that were sent.
    pub sent: u64,
    /// Those that were lost.
    pub lost: u64,
    /// Those that were changed on the path.
    pub corrupted: u64,
    /// Those that came twice.
    pub duplicated: u64,
    /// Those that were held back for minutes.
    pub held: u64,
    /// Those that unknown peers sent: repeated, changed, made up.
    pub from_strangers: u64,
}

/// The links, and what is on them.
#[derive(Debug)]
pub(super) struct Network {
    random: Stream,
    security: Security,
    has_second: bool,
    nodes: usize,
    /// Where each node is, on the first link and then on the second one. The server is node 0.
    addresses: Vec<SocketAddr>,
    /// The weather from each client's place to the server, and from the server to it.
    weather: Vec<[Weather; 2]>,
    busy: Vec<[Instant; 2]>,
    /// A burst of losses is on.
    bursts: Vec<[bool; 2]>,
    in_flight: BTreeMap<(Instant, u64), Flight>,
    serial: u64,
    captured: Vec<Flight>,
    handshakes: Vec<Flight>,
    /// The chance that somebody on the path copies a datagram, which overtakes the original.
    overtakes: f64,
    pub(super) counts: Datagrams,
    /// Bytes from addresses that are nobody's, and to them.
    unknown_bytes: [u64; 2],
}

impl Network {
    /// A network of so many nodes, in fair weather.
    pub(super) fn new(random: Stream, nodes: usize, settings: &Settings) -> Self {
        let places = LINKS * nodes;
        let address = |place: usize| SocketAddr::from(([10, 0, place as u8, 1], 25_300));
        let fair = || [(); 2].map(|()| Weather::fair(Span::from_millis(20)));
        Self {
            random,
            security: settings.security,
            has_second: settings.second.is_some(),
            nodes,
            addresses: (0..places).map(address).collect(),
            weather: (0..places).map(|_| fair()).collect(),
            busy: vec![[Instant::ZERO; 2]; places],
            bursts: vec![[false; 2]; places],
            in_flight: BTreeMap::new(),
            serial: 0,
            captured: Vec::new(),
            handshakes: Vec::new(),
            overtakes: settings.overtakes,
            counts: Datagrams::default(),
            unknown_bytes: [0; 2],
        }
    }

    /// Where a node is on the first link.
    pub(super) fn address(&self, node: usize) -> SocketAddr {
        self.addresses[node]
    }

    /// Where it is on the second one.
    pub(super) fn second_address(&self, node: usize) -> SocketAddr {
        self.addresses[self.nodes + node]
    }

    /// A client has another address on one of its links from now on.
    pub(super) fn readdress(&mut self, node: usize) -> SocketAddr {
        let place = self.place(node);
        let [third, port] = [self.random.below(200) as u8, self.random.below(60_000) as u8];
        let address = SocketAddr::from(([10, 1 + place as u8, third, 7], 1024 + u16::from(port)));
        self.addresses[place] = address;
        address
    }

    /// A node on one of its links, more often the first one.
    fn place(&mut self, node: usize) -> usize {
        if !self.has_second || self.random.chance(0.6) { node } else { self.nodes + node }
    }

    pub(super) fn weather_mut(&mut self, node: usize, direction: usize) -> &mut Weather {
        &mut self.weather[node][direction]
    }

    /// When the next datagram arrives.
    pub(super) fn next(&self) -> Option<Instant> {
        self.in_flight.keys().next().map(|(at, _)| *at)
    }

    /// The next datagram, if it arrives by now.
    pub(super) fn take(&mut self, now: Instant) -> Option<Flight> {
        let first = self.in_flight.first_entry().filter(|first| first.key().0 <= now)?;
        let is_there = |flight: &Flight| {
            let places = [flight.to, self.nodes + flight.to];
            places.iter().any(|place| self.addresses[*place] == flight.address)
        };
        Some(first.remove()).filter(is_there)
    }

    /// A node sends a datagram.
    pub(super) fn send(&mut self, now: Instant, node: usize, datagram: Outgoing) {
        self.counts.sent += 1;
        let Outgoing { route, ecn, bytes } = datagram;
        let Some(place) = self.addresses.iter().position(|address| *address == route.address)
        else {
            self.counts.lost += 1;
            if is_unknown(route.address) {
                self.unknown_bytes[1] += bytes.len() as u64;
            }
            return;
        };
        let (to, link) = (place % self.nodes, place / self.nodes * self.nodes);
        let address = self.addresses[link + node];
        let from = Route { outer: route.outer, ..address.into() };
        let flight = Flight { to, address: route.address, from, ecn, bytes };
        self.capture(&flight);
        let (client, direction) = if node == 0 { (to, 1) } else { (node, 0) };
        if self.random.chance(self.overtakes) {
            self.counts.from_strangers += 1;
            self.inject(now, Flight { from: unknown_peer(251).into(), ..flight.clone() });
        }
        self.pass(now, link + client, direction, flight);
    }

    fn pass(&mut self, now: Instant, link: usize, direction: usize, mut flight: Flight) {
        let Self { random, counts, .. } = self;
        let weather = &self.weather[link][direction];
        let len = flight.bytes.len() + 28;
        let begins = self.busy[link][direction].max(now);
        if flight.from.outer == Outer::Tcp {
            // What a TCP connection carries comes whole, and in order, or not at all.
            if weather.is_down(now) || begins.since(now) > weather.queue {
                counts.lost += 1;
                return;
            }
            let leaves = begins + weather.rate.time_for(ByteCount::new(len as u64));
            self.busy[link][direction] = leaves;
            self.serial += 1;
            self.in_flight.insert((leaves + weather.delay, self.serial), flight);
            return;
        }
        let in_burst = &mut self.bursts[link][direction];
        *in_burst = random.chance(if *in_burst { BURST_GOES_ON } else { weather.bursts });
        let dropped = weather.is_down(now)
            || *in_burst
            || weather.blocks_udp
            || len > weather.mtu
            || random.chance(weather.loss)
            || begins.since(now) > weather.queue;
        if dropped {
            counts.lost += 1;
            return;
        }
        let leaves = begins + weather.rate.time_for(ByteCount::new(len as u64));
        self.busy[link][direction] = leaves;
        if flight.ecn != Ecn::NotCapable && random.chance(weather.marks) {
            flight.ecn = Ecn::Congestion;
        }
        if random.chance(weather.corrupts) && !flight.bytes.is_empty() {
            counts.corrupted += 1;
            let at = random.below(flight.bytes.len() as u64) as usize;
            flight.bytes[at] ^= 1 << random.below(8);
        }
        let mut copies = 1;
        if random.chance(weather.duplicates) {
            counts.duplicated += 1;
            copies = 2;
        }
        for _ in 0..copies {
            let mut at = leaves + weather.delay;
            if weather.jitter > Span::ZERO {
                at += Span::from_nanos(random.below(weather.jitter.as_nanos()));
            }
            if random.chance(weather.holds) {
                counts.held += 1;
                at += Span::from_secs(5 + random.below(600));
            }
            self.serial += 1;
            self.in_flight.insert((at, self.serial), flight.clone());
        }
    }

    /// Something about the link of a client changes: its weather, an outage, the client's address. Returns what.
    pub(super) fn change(&mut self, node: usize, random: &mut Stream) -> String {
        match random.below(5) {
            0 => format!("client {node} is at {} now", self.readdress(node)),
            1 | 2 => {
                let (which, is_dark) = (random.below(3), random.chance(0.6));
                let place = self.place(node);
                for direction in 0..2 {
                    if which == 2 || which == direction {
                        self.weather[place][direction as usize].is_dark = is_dark;
                    }
                }
                let what = ["up", "down", "in both directions"][which as usize];
                format!("client {node}, place {place}: outage {what}: {is_dark}")
            }
            _ => {
                let direction = random.below(2) as usize;
                let (weather, place) = (Weather::draw(random), self.place(node));
                let said =
                    format!("client {node}, place {place}, direction {direction}: {weather:?}");
                self.weather[place][direction] = weather;
                said
            }
        }
    }

    /// The weather is fair everywhere.
    pub(super) fn clear_up(&mut self) {
        for weather in self.weather.iter_mut().flatten() {
            *weather = Weather::fair(Span::from_millis(20));
        }
    }

    fn capture(&mut self, flight: &Flight) {
        if !matches!(parse(self.security, &flight.bytes), Some(Datagram::Data { .. })) {
            if self.handshakes.len() >= HANDSHAKES {
                let at = self.random.below(HANDSHAKES as u64) as usize;
                self.handshakes.swap_remove(at);
            }
            self.handshakes.push(flight.clone());
        }
        if self.captured.len() < CAPTURED {
            self.captured.push(flight.clone());
        } else if self.random.chance(0.05) {
            let at = self.random.below(CAPTURED as u64) as usize;
            self.captured[at] = flight.clone();
        }
    }

    /// An unknown peer sends something: what somebody has said, as it was or changed, from there or from elsewhere.
    pub(super) fn intrude(&mut self, now: Instant) {
        if self.captured.is_empty() {
            return;
        }
        let handshake = !self.handshakes.is_empty() && self.random.chance(0.5);
        let from = if handshake { &self.handshakes } else { &self.captured };
        let mut flight = from[self.random.below(from.len() as u64) as usize].clone();
        if self.random.chance(0.5) {
            flight.from = unknown_peer(self.random.below(250) as u8).into();
        }
        // Whom it was for may be elsewhere by now, and an unknown peer may try another one.
        if self.random.chance(0.1) {
            flight.to = self.random.below(self.nodes as u64) as usize;
        }
        flight.address = self.addresses[flight.to];
        match self.random.below(4) {
            0 => {
                for _ in 0..=self.random.below(8) {
                    let at = self.random.below(flight.bytes.len() as u64) as usize;
                    flight.bytes[at] = self.random.bits() as u8;
                }
            }
            1 => flight.bytes.truncate(self.random.below(flight.bytes.len() as u64 + 1) as usize),
            _ => {}
        }
        self.counts.from_strangers += 1;
        self.inject(now, flight);
    }

    /// So many unknown peers repeat a request that somebody has made, at once.
    pub(super) fn flood(&mut self, now: Instant, count: u64) {
        let Some(last) = self.handshakes.last().cloned() else { return };
        for number in 0..count {
            let from = unknown_peer((number % 250) as u8).into();
            let mut flight = Flight { from, address: self.addresses[last.to], ..last.clone() };
            if self.random.chance(0.5) {
                let at = self.random.below(flight.bytes.len() as u64) as usize;
                flight.bytes[at] ^= 1 << self.random.below(8);
            }
            self.counts.from_strangers += 1;
            self.inject(now, flight);
        }
    }

    /// Something comes at once that nobody has sent just so.
    fn inject(&mut self, now: Instant, flight: Flight) {
        if is_unknown(flight.from.address) {
            self.unknown_bytes[0] += flight.bytes.len() as u64;
        }
        self.serial += 1;
        self.in_flight.insert((now, self.serial), flight);
    }

    /// Bytes that unknown peers sent from addresses of their own, and what was sent to them.
    pub(super) const fn unknown_bytes(&self) -> [u64; 2] {
        self.unknown_bytes
    }
}

/// An address that is nobody's.
fn unknown_peer(number: u8) -> SocketAddr {
    SocketAddr::from(([198, 51, 100, number], 4000))
}

/// Addresses that are nobody's.
fn is_unknown(address: SocketAddr) -> bool {
    matches!(address, SocketAddr::V4(v4) if v4.ip().octets()[..3] == [198, 51, 100])
}
