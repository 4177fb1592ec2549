//! A terminal and a server on both sides of a link.

use std::net::SocketAddr;
use std::sync::Arc;

use bentpipe_association::endpoint::{ConnectionId, Datagrams, Endpoint};
use bentpipe_association::{KnownLink, SecretKey, Security, Share, Tuning};
use bentpipe_link::{Carried, Description, Direction, Hop, ModelSpec, Path, QueueLimit};
use bentpipe_transport::xstp::Config;

use bentpipe_units::{BitRate, ByteCount, Instant, Span};
use bentpipe_wire::Ecn;
use bytes::Bytes;

use crate::download::Download;
use crate::fading::{Fading, Line};

pub(crate) const TERMINAL: usize = 0;
pub(crate) const SERVER: usize = 1;
/// Headers of IPv4 and UDP.
const IP_UDP: u64 = 28;

/// A datagram of UDP.
#[derive(Debug)]
struct Datagram(Bytes);

impl Carried for Datagram {
    fn describe(&self) -> Description {
        let bytes = ByteCount::new(self.0.len() as u64 + IP_UDP);
        Description { bytes, ..Description::default() }
    }
}

fn address(end: usize) -> SocketAddr {
    format!("10.0.0.{}:25300", end + 1).parse().expect("an address")
}

fn key(end: usize) -> SecretKey {
    SecretKey::from_bytes([end as u8 + 1; 32])
}

fn endpoint(end: usize) -> Endpoint {
    let mut state = end as u64 + 1;
    let entropy = move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 11
    };
    Endpoint::new(key(end), Security::Full, 0, Box::new(entropy), Instant::ZERO)
}

fn rate(mbits: f64) -> BitRate {
    BitRate::from_bps((mbits * 1e6) as u64)
}

/// A link: both rates in Mbit/s, the round trip, what damages packets, how they are lost.
#[derive(Clone)]
pub(crate) struct Link {
    pub(crate) down: f64,
    pub(crate) up: f64,
    pub(crate) round_trip: Span,
    pub(crate) damage: Vec<ModelSpec>,
}

impl Link {
    pub(crate) fn geo(mbits: f64) -> Self {
        Self { down: mbits, up: mbits, round_trip: Span::from_millis(600), damage: Vec::new() }
    }

    pub(crate) fn leo(mbits: f64) -> Self {
        Self { round_trip: Span::from_millis(50), ..Self::geo(mbits) }
    }

    pub(crate) fn with(mut self, damage: ModelSpec) -> Self {
        self.damage.push(damage);
        self
    }

    fn hop(&self) -> Hop {
        let direction = |mbits: f64| {
            let rate = BitRate::from_bps((mbits * 1e6) as u64);
            let queue = rate.bytes_in(self.round_trip).max(ByteCount::new(20_000));
            let mut models = vec![
                ModelSpec::Rate { rate, queue: QueueLimit::Bytes(queue) },
                ModelSpec::Delay(self.round_trip / 2),
            ];
            models.extend(self.damage.iter().cloned());
            models
        };
        Hop {
            name: "satellite".into(),
            forward_link: direction(self.up),
            return_link: direction(self.down),
        }
    }
}

/// A terminal and a server on both sides of a link.
pub(crate) struct World {
    pub(crate) now: Instant,
    pub(crate) endpoints: [Endpoint; 2],
    path: Path<Datagram>,
    /// Instead of the path, if the link changes.
    fading: Option<Fading>,
    config: Arc<Config>,
    pub(crate) rate: BitRate,
}

impl World {
    /// Both hosts know the rate in their direction of sending and have associated.
    pub(crate) fn informed(link: &Link, seed: u64) -> Self {
        Self::new(link, seed, |mbits| Tuning { rate: Some(rate(mbits)), ..Tuning::default() })
    }

    /// Neither host knows anything of the link, and they have associated.
    pub(crate) fn ignorant(link: &Link, seed: u64) -> Self {
        Self::new(link, seed, |_| Tuning::default())
    }

    /// Both hosts remember what a transfer came to, four fifths of the rate, and they have associated.
    pub(crate) fn acquainted(link: &Link, seed: u64) -> Self {
        let round_trip = link.round_trip;
        Self::new(link, seed, |mbits| {
            let known = Some(KnownLink { rate: rate(mbits * 0.8), round_trip });
            Tuning { known, ..Tuning::default() }
        })
    }

    /// The link is the hosts' own, they know its rate, and connections take turns.
    pub(crate) fn dedicated(link: &Link, seed: u64) -> Self {
        Self::dedicated_with(link, seed, None)
    }

    /// The same with such buffers.
    pub(crate) fn dedicated_with(link: &Link, seed: u64, buffer: Option<ByteCount>) -> Self {
        let mut world = Self::new(link, seed, |mbits| Tuning {
            rate: Some(rate(mbits)),
            buffer,
            ..Tuning::default()
        });
        world.set_rates(link.up, link.down);
        world
    }

    /// What the terminal and the server may send from now on, in Mbit/s.
    pub(crate) fn set_rates(&mut self, up: f64, down: f64) {
        for (end, mbits) in [(TERMINAL, up), (SERVER, down)] {
            let share = Share { rate: rate(mbits), weight: 1 };
            self.endpoints[end].set_share(self.now, 0, key(1 - end).public(), share);
        }
    }

    fn new(link: &Link, seed: u64, tuning: impl Fn(f64) -> Tuning) -> Self {
        let settings = |mbits: f64| tuning(mbits).config().expect("settings");
        let mut world = Self {
            now: Instant::ZERO,
            endpoints: [endpoint(TERMINAL), endpoint(SERVER)],
            path: Path::new(&[link.hop()], seed),
            fading: None,
            config: settings(link.up),
            rate: rate(link.down),
        };
        // As a gateway's, they are a part of the window of connections where no rate is known.
        for end in [TERMINAL, SERVER] {
            let window = Some(settings(link.down));
            world.endpoints[end].set_datagrams(Datagrams { window, ..Datagrams::default() });
        }
        world.endpoints[SERVER].allow(key(TERMINAL).public());
        world.endpoints[SERVER].listen(settings(link.down));
        world.download(1);
        world.run(Span::from_secs(5));
        world
    }

    /// The server sends a datagram to the terminal.
    pub(crate) fn send_datagram(&mut self, bytes: Bytes) -> bool {
        let datagram =
            bentpipe_tunnel::Datagram { flow: 1, ecn: Ecn::NotCapable, label: Bytes::new(), bytes };
        self.endpoints[SERVER].send_datagram(self.now, key(TERMINAL).public(), datagram)
    }

    pub(crate) fn open(&mut self) -> ConnectionId {
        let config = self.config.clone();
        let (to, peer) = (address(SERVER), key(SERVER).public());
        self.endpoints[TERMINAL].connect(self.now, to, peer, 7, config)
    }

    pub(crate) fn pump(&mut self) {
        for (end, direction) in [(TERMINAL, Direction::Forward), (SERVER, Direction::Return)] {
            self.endpoints[end].flush(self.now);
            while let Some(train) = self.endpoints[end].outbox().front(1) {
                let bytes = Bytes::copy_from_slice(train.bytes);
                let len = bytes.len();
                match &mut self.fading {
                    Some(fading) => fading.enter(self.now, direction, len as u64 + IP_UDP, bytes),
                    None => self.path.enter(self.now, direction, Datagram(bytes)),
                }
                self.endpoints[end].outbox().pop(len);
            }
        }
    }

    /// Lets the next thing happen; false when nothing will before `until`.
    pub(crate) fn step(&mut self, until: Instant) -> bool {
        self.pump();
        let timers = self.endpoints.iter().map(Endpoint::next_deadline);
        let next = timers.fold(self.path.next(), Instant::earliest);
        let next = Instant::earliest(next, self.fading.as_ref().and_then(Fading::next));
        let Some(next) = next.filter(|next| *next <= until) else {
            self.now = until;
            return false;
        };
        self.now = self.now.max(next);
        while let Some((direction, bytes)) = self.arrival() {
            let (to, from) = match direction {
                Direction::Forward => (SERVER, address(TERMINAL)),
                Direction::Return => (TERMINAL, address(SERVER)),
            };
            self.endpoints[to].handle_datagram(self.now, from, Ecn::NotCapable, &bytes);
        }
        for endpoint in &mut self.endpoints {
            endpoint.handle_timeout(self.now);
        }
        true
    }

    fn arrival(&mut self) -> Option<(Direction, Bytes)> {
        let fading = self.fading.as_mut().and_then(|fading| fading.leave(self.now));
        fading.or_else(|| {
            let (direction, Datagram(bytes)) = self.path.leave(self.now)?;
            Some((direction, bytes))
        })
    }

    /// From now on the link is one that changes, with queues of one product; as it was for now.
    pub(crate) fn fade(&mut self, link: &Link) {
        let direction = |mbits: f64| {
            let room = rate(mbits).bytes_in(link.round_trip).max(ByteCount::new(20_000));
            Line::new(rate(mbits), link.round_trip / 2, room)
        };
        self.fading = Some(Fading([direction(link.up), direction(link.down)]));
    }

    /// The direction from the server to the terminal.
    pub(crate) fn downlink(&mut self) -> &mut Line {
        let fading = self.fading.as_mut().expect("a link that changes");
        fading.direction(Direction::Return)
    }

    pub(crate) fn run(&mut self, span: Span) {
        let until = self.now + span;
        while self.step(until) {}
    }

    /// Asks for `size` bytes and reads them. Returns the time from the call to the last byte.
    pub(crate) fn download(&mut self, size: usize) -> Span {
        let mut download = Download::begin(self, size);
        loop {
            if let Some(took) = download.turn(self) {
                return took;
            }
            assert!(self.step(Instant::ZERO + Span::from_secs(7200)), "{size} bytes in two hours");
        }
    }
}
