//! Downloads over satellite links in memory, with their own clock: the share of a link that a transfer
//! uses, from the call to the last byte, on an association that is up.

use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bentpipe_link::{ModelSpec, QueueLimit};
use bentpipe_net::emulate::{Hop, Path, Way};
use bentpipe_net::hub::{ConnectionId, Hub, Streams as _};
use bentpipe_net::{SecretKey, Security, Tuning};
use bentpipe_testkit::pattern;
use bentpipe_transport::xstp::Config;
use bentpipe_units::{BitRate, ByteCount, Instant, Span};
use bytes::Bytes;

const TERMINAL: usize = 0;
const SERVER: usize = 1;
/// Headers of IPv4 and UDP.
const IP_UDP: u64 = 28;

fn address(end: usize) -> SocketAddr {
    format!("10.0.0.{}:25300", end + 1).parse().expect("an address")
}

fn key(end: usize) -> SecretKey {
    SecretKey::from_bytes([end as u8 + 1; 32])
}

fn hub(end: usize) -> Hub {
    let mut state = end as u64 + 1;
    let entropy = move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 11
    };
    Hub::new(key(end), Security::Full, 0, Box::new(entropy), Instant::ZERO)
}

/// A link: both rates in Mbit/s, the round trip, what damages packets, how they are lost.
#[derive(Clone)]
struct Link {
    down: f64,
    up: f64,
    round_trip: Span,
    damage: Vec<ModelSpec>,
}

impl Link {
    fn geo(mbits: f64) -> Self {
        Self { down: mbits, up: mbits, round_trip: Span::from_millis(600), damage: Vec::new() }
    }

    fn leo(mbits: f64) -> Self {
        Self { round_trip: Span::from_millis(50), ..Self::geo(mbits) }
    }

    fn with(mut self, damage: ModelSpec) -> Self {
        self.damage.push(damage);
        self
    }

    fn hop(&self) -> Hop {
        let way = |mbits: f64| {
            let rate = BitRate::from_bps((mbits * 1e6) as u64);
            let queue = rate.bytes_in(self.round_trip).max(ByteCount::new(20_000));
            let mut models = vec![
                ModelSpec::Rate { rate, queue: QueueLimit::Bytes(queue) },
                ModelSpec::Delay(self.round_trip / 2),
            ];
            models.extend(self.damage.iter().cloned());
            models
        };
        Hop { name: "satellite".into(), forth: way(self.up), back: way(self.down) }
    }
}

/// A terminal and a server on both sides of a link.
struct World {
    now: Instant,
    hubs: [Hub; 2],
    path: Path<Bytes>,
    config: Arc<Config>,
    rate: BitRate,
}

impl World {
    /// Both hosts know the rate in their direction of sending and have associated.
    fn new(link: &Link, seed: u64) -> Self {
        let settings = |mbits: f64| {
            let rate = Some(BitRate::from_bps((mbits * 1e6) as u64));
            Tuning { rate, ..Tuning::default() }.config().expect("settings")
        };
        let mut world = Self {
            now: Instant::ZERO,
            hubs: [hub(TERMINAL), hub(SERVER)],
            path: Path::new(&[link.hop()], seed),
            config: settings(link.up),
            rate: BitRate::from_bps((link.down * 1e6) as u64),
        };
        world.hubs[SERVER].allow(key(TERMINAL).public());
        world.hubs[SERVER].listen(settings(link.down));
        world.download(1);
        world.run(Span::from_secs(5));
        world
    }

    fn open(&mut self) -> ConnectionId {
        let config = self.config.clone();
        let (to, peer) = (address(SERVER), key(SERVER).public());
        self.hubs[TERMINAL].connect(self.now, to, peer, 7, config)
    }

    fn pump(&mut self) {
        for (end, way) in [(TERMINAL, Way::Forth), (SERVER, Way::Back)] {
            self.hubs[end].flush(self.now);
            while let Some(train) = self.hubs[end].outbox().front(1) {
                let bytes = Bytes::copy_from_slice(train.bytes);
                let len = bytes.len();
                self.path.enter(self.now, way, len as u64 + IP_UDP, bytes);
                self.hubs[end].outbox().pop(len);
            }
        }
    }

    /// Lets the next thing happen; false when nothing will before `until`.
    fn step(&mut self, until: Instant) -> bool {
        self.pump();
        let timers = self.hubs.iter().map(Hub::next_deadline);
        let next = timers.fold(self.path.next(), Instant::earliest);
        let Some(next) = next.filter(|next| *next <= until) else {
            self.now = until;
            return false;
        };
        self.now = self.now.max(next);
        while let Some((way, bytes)) = self.path.leave(self.now) {
            let (to, from) = match way {
                Way::Forth => (SERVER, address(TERMINAL)),
                Way::Back => (TERMINAL, address(SERVER)),
            };
            self.hubs[to].handle_datagram(self.now, from, &bytes);
        }
        for hub in &mut self.hubs {
            hub.handle_timeout(self.now);
        }
        true
    }

    fn run(&mut self, span: Span) {
        let until = self.now + span;
        while self.step(until) {}
    }

    /// Asks for `size` bytes and reads them. Returns the time from the call to the last byte.
    fn download(&mut self, size: usize) -> Span {
        let cx = &mut Context::from_waker(Waker::noop());
        let began = self.now;
        let content = pattern(size);
        let (mut request, mut left) = (Bytes::from_static(b"GET"), content.clone());
        let (mut accepted, mut closed, mut read, mut last) = (None, false, 0, began);
        let here = self.open();
        let until = began + Span::from_secs(3600);
        loop {
            if !request.is_empty() {
                let _ = self.hubs[TERMINAL].poll_write(self.now, here, &mut request, cx);
                if request.is_empty() {
                    self.hubs[TERMINAL].close(self.now, here);
                }
            }
            self.pump();
            if accepted.is_none()
                && let Poll::Ready(id) = self.hubs[SERVER].poll_accept(cx)
            {
                accepted = Some((id, false));
            }
            if let Some((id, asked)) = &mut accepted {
                while let Poll::Ready(got) = self.hubs[SERVER].poll_read(self.now, *id, cx) {
                    if got.expect("a request").is_none() {
                        break;
                    }
                    *asked = true;
                }
                while *asked && !left.is_empty() {
                    match self.hubs[SERVER].poll_write(self.now, *id, &mut left, cx) {
                        Poll::Ready(written) => drop(written.expect("an open connection")),
                        Poll::Pending => break,
                    }
                }
                if left.is_empty() && !closed {
                    closed = true;
                    self.hubs[SERVER].close(self.now, *id);
                }
            }
            while let Poll::Ready(bytes) = self.hubs[TERMINAL].poll_read(self.now, here, cx) {
                let Some(bytes) = bytes.expect("the content") else {
                    assert_eq!(read, size);
                    self.hubs[TERMINAL].release(self.now, here);
                    if let Some((id, _)) = accepted {
                        self.hubs[SERVER].release(self.now, id);
                    }
                    return last.since(began);
                };
                assert_eq!(bytes, content.slice(read..read + bytes.len()), "at byte {read}");
                read += bytes.len();
                last = self.now;
            }
            assert!(self.step(until), "{read} of {size} bytes after an hour");
        }
    }
}

/// Median share of the link over five seeds.
fn share(link: &Link, megabytes: usize) -> f64 {
    let mut shares: Vec<f64> = (1..=5)
        .map(|seed| {
            let mut world = World::new(link, seed);
            let bytes = megabytes * 1_000_000;
            let took = world.download(bytes).as_secs_f64();
            bytes as f64 * 8.0 / took / world.rate.as_bps() as f64
        })
        .collect();
    shares.sort_by(f64::total_cmp);
    shares[2]
}

#[test]
fn downloads_fill_the_link_whatever_it_loses() {
    let ber = ModelSpec::BitErrors;
    let random = ModelSpec::RandomLoss;
    let ms = Span::from_millis;
    // One falls into the download, which begins after five seconds.
    let dark = ModelSpec::PeriodicBlackout {
        first: Instant::ZERO + Span::from_secs(20),
        every: Span::from_secs(15),
        lasts: ms(500),
    };
    let thin = Link { up: 0.064, ..Link::geo(10.0) };
    let table = [
        ("GEO 10, clean", Link::geo(10.0), 30, 0.92),
        ("GEO 10, BER 1e-6", Link::geo(10.0).with(ber(1e-6)), 30, 0.90),
        ("GEO 10, BER 1e-5", Link::geo(10.0).with(ber(1e-5)), 30, 0.80),
        ("GEO 10, 1 % loss", Link::geo(10.0).with(random(0.01)), 30, 0.90),
        ("GEO 50, clean", Link::geo(50.0), 100, 0.91),
        ("GEO 50, BER 1e-6", Link::geo(50.0).with(ber(1e-6)), 100, 0.88),
        ("GEO 50, BER 1e-5", Link::geo(50.0).with(ber(1e-5)), 100, 0.77),
        ("GEO 50, 1 % loss", Link::geo(50.0).with(random(0.01)), 100, 0.88),
        ("LEO 20, 1 % loss", Link::leo(20.0).with(random(0.01)), 60, 0.945),
        ("LEO 20, dark 0.5 s every 15 s", Link::leo(20.0).with(dark), 60, 0.93),
        ("GEO 10 down, 64 kbit/s up", thin, 30, 0.92),
    ];
    let mut short = Vec::new();
    for (name, link, megabytes, least) in table {
        let share = share(&link, megabytes);
        println!("{name:32} {share:.3} of at least {least}");
        if share < least {
            short.push(name);
        }
    }
    assert!(short.is_empty(), "{short:?}");
}

#[test]
fn a_small_object_takes_one_round_trip() {
    let mut world = World::new(&Link::geo(10.0), 1);
    let took = world.download(100_000);
    assert!(took <= Span::from_millis(720), "{took:?}");
}
