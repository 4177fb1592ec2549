//! Two hubs in memory with their own clock: what one writes the other reads, whatever the network does.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bentpipe_net::hub::{ConnectionId, Hub, StreamError, Streams as _};
use bentpipe_net::{PublicKey, SecretKey, Security};
use bentpipe_testkit::pattern;
use bentpipe_transport::xstp::Config;
use bentpipe_units::{ByteCount, Instant, Span};
use bytes::Bytes;
use proptest::prelude::*;

const CLIENT: usize = 0;
const SERVER: usize = 1;

fn address(end: usize) -> SocketAddr {
    format!("10.0.0.{}:25300", end + 1).parse().expect("an address")
}

fn key(n: u8) -> SecretKey {
    SecretKey::from_bytes([n; 32])
}

fn config() -> Arc<Config> {
    Arc::new(Config {
        mss: 1000,
        snd_buf: ByteCount::new(500_000),
        rcv_buf: ByteCount::new(500_000),
        cwnd_init: 16,
        ..Config::default()
    })
}

/// What the network does with a datagram: when its copies arrive, counted from now.
type Wire = Box<dyn FnMut(usize, &mut Vec<u8>) -> Vec<Span>>;

struct World {
    now: Instant,
    hubs: [Hub; 2],
    addresses: [SocketAddr; 2],
    flying: BTreeMap<(Instant, u64), (usize, SocketAddr, Vec<u8>)>,
    serial: u64,
    wire: Wire,
    sent: Vec<(usize, Vec<u8>)>,
}

const DELAY: Span = Span::from_millis(300);

impl World {
    fn new() -> Self {
        Self::of([Security::Full; 2])
    }

    fn of(securities: [Security; 2]) -> Self {
        let hubs = [hub_with(1, securities[0], 0), hub_with(2, securities[1], 0)];
        let mut world = Self {
            now: Instant::ZERO,
            hubs,
            addresses: [address(CLIENT), address(SERVER)],
            flying: BTreeMap::new(),
            serial: 0,
            wire: Box::new(|_, _| vec![DELAY]),
            sent: Vec::new(),
        };
        world.hubs[SERVER].allow(key(1).public());
        world.hubs[SERVER].listen(config());
        world
    }

    fn with_wire(mut self, wire: impl FnMut(usize, &mut Vec<u8>) -> Vec<Span> + 'static) -> Self {
        self.wire = Box::new(wire);
        self
    }

    fn connect(&mut self) -> ConnectionId {
        let to = self.addresses[SERVER];
        self.hubs[CLIENT].connect(self.now, to, key(2).public(), 7, config())
    }

    /// Sends what waits.
    fn pump(&mut self) {
        for end in [CLIENT, SERVER] {
            self.hubs[end].flush(self.now);
            while let Some(train) = self.hubs[end].outbox().front(1) {
                let (to, len) = (train.address, train.bytes.len());
                let mut bytes = train.bytes.to_vec();
                self.hubs[end].outbox().pop(len);
                self.sent.push((end, bytes.clone()));
                for delay in (self.wire)(end, &mut bytes) {
                    self.serial += 1;
                    let at = (self.now + delay, self.serial);
                    let from = self.addresses[end];
                    if let Some(target) = self.addresses.iter().position(|a| *a == to) {
                        self.flying.insert(at, (target, from, bytes.clone()));
                    }
                }
            }
        }
    }

    /// Lets the next thing happen; false when nothing will before `until`.
    fn step(&mut self, until: Instant) -> bool {
        self.pump();
        let arrival = self.flying.keys().next().map(|(at, _)| *at);
        let timer = Instant::earliest(self.hubs[0].next_deadline(), self.hubs[1].next_deadline());
        let Some(next) = Instant::earliest(arrival, timer).filter(|next| *next <= until) else {
            self.now = until;
            return false;
        };
        self.now = self.now.max(next);
        if arrival == Some(next)
            && let Some((_, (to, from, bytes))) = self.flying.pop_first()
        {
            self.hubs[to].handle_datagram(self.now, from, &bytes);
        } else {
            for hub in &mut self.hubs {
                hub.handle_timeout(self.now);
            }
        }
        true
    }

    /// Writes `data` from the client and reads it at the server; then both close. Returns what was
    /// read and when the last of it came.
    fn transfer(
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
                match self.hubs[CLIENT].poll_write(self.now, from, &mut left, cx) {
                    Poll::Ready(result) => result.map(drop)?,
                    Poll::Pending => break,
                }
            }
            if left.is_empty() && !closed {
                closed = true;
                self.hubs[CLIENT].close(self.now, from);
            }
            if accepted.is_none()
                && let Poll::Ready(id) = self.hubs[SERVER].poll_accept(cx)
            {
                accepted = Some(id);
            }
            if let Some(id) = accepted {
                while let Poll::Ready(bytes) = self.hubs[SERVER].poll_read(self.now, id, cx) {
                    match bytes? {
                        Some(bytes) => read.extend_from_slice(&bytes),
                        None => {
                            self.hubs[SERVER].release(self.now, id);
                            self.hubs[CLIENT].release(self.now, from);
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

    fn run(&mut self, span: Span) {
        let until = self.now + span;
        while self.step(until) {}
    }
}

fn hub(n: u8, calendar: u64) -> Hub {
    hub_with(n, Security::Full, calendar)
}

fn hub_with(n: u8, security: Security, calendar: u64) -> Hub {
    let mut state = u64::from(n);
    let entropy = move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 11
    };
    Hub::new(key(n), security, calendar, Box::new(entropy), Instant::ZERO)
}

fn secs(n: u64) -> Span {
    Span::from_secs(n)
}

#[test]
fn the_handshakes_travel_together_and_data_leave_after_one_round_trip() {
    let mut world = World::new();
    let connection = world.connect();
    let data = pattern(500);
    let (read, last) = world.transfer(connection, &data, secs(10)).expect("a transfer");
    assert_eq!(read, data);
    assert_eq!(last, Instant::ZERO + DELAY * 3, "request, answer, data");
    world.run(secs(60));
    assert_eq!((world.hubs[0].connections(), world.hubs[1].connections()), (0, 0));
}

#[test]
fn a_second_connection_needs_no_handshake_of_the_hosts() {
    let mut world = World::new();
    let first = world.connect();
    world.transfer(first, &pattern(10), secs(10)).expect("a transfer");
    let before = world.sent.len();
    let second = world.connect();
    world.transfer(second, &pattern(10), secs(10)).expect("a transfer");
    assert!(world.sent[before..].iter().all(|(_, bytes)| bytes[0] == 4), "only data datagrams");
}

/// A world whose hosts have associated, and the time by which they had.
fn associated() -> World {
    let mut world = World::new();
    let first = world.connect();
    world.transfer(first, &pattern(10), secs(10)).expect("a transfer");
    world.run(secs(5));
    world
}

#[test]
fn between_associated_hosts_data_follow_the_opening_at_once() {
    let mut world = associated();
    let began = world.now;
    let connection = world.connect();
    let data = pattern(900);
    let (read, last) = world.transfer(connection, &data, secs(10)).expect("a transfer");
    assert_eq!(read, data);
    assert_eq!(last.since(began), DELAY, "no round trip before the data");
}

#[test]
fn data_whose_opening_was_lost_wait_for_the_next_one() {
    let mut world = associated();
    let mut lost = false;
    world.wire = Box::new(move |end, _| {
        let first = end == CLIENT && !std::mem::replace(&mut lost, true);
        if first { Vec::new() } else { vec![DELAY] }
    });
    let connection = world.connect();
    let data = pattern(5_000);
    let (read, _) = world.transfer(connection, &data, secs(20)).expect("a transfer");
    assert_eq!(read, data);
}

#[test]
fn a_connection_to_a_host_that_takes_none_is_refused_after_one_round_trip() {
    let mut world = associated();
    let to = world.addresses[CLIENT];
    let began = world.now;
    let connection = world.hubs[SERVER].connect(world.now, to, key(1).public(), 7, config());
    let cx = &mut Context::from_waker(Waker::noop());
    while world.hubs[SERVER].poll_connected(connection, cx).is_pending() {
        assert!(world.step(began + secs(10)), "an answer");
        world.pump();
    }
    let answer = world.hubs[SERVER].poll_connected(connection, cx);
    assert!(matches!(answer, Poll::Ready(Err(StreamError::Failed(_)))), "{answer:?}");
    assert_eq!(world.now.since(began), DELAY * 2);
}

#[test]
fn a_plain_data_segment_costs_28_bytes_besides_ip_and_udp() {
    let mut world = World::new();
    let connection = world.connect();
    world.transfer(connection, &pattern(100_000), secs(60)).expect("a transfer");
    let longest = world.sent.iter().filter(|(end, _)| *end == CLIENT).map(|(_, b)| b.len()).max();
    // A full segment of 1,000 bytes with a POLL of four.
    assert_eq!(longest, Some(1000 + 28 + 4));
    let plain = world.sent.iter().filter(|(end, b)| *end == CLIENT && b.len() == 1028).count();
    assert!(plain > 50, "{plain} plain data segments");
}

#[test]
fn unknown_keys_and_garbage_get_no_answer() {
    let mut world = World::new();
    let mut stranger = hub(9, 0);
    stranger.connect(Instant::ZERO, address(SERVER), key(2).public(), 7, config());
    stranger.flush(Instant::ZERO);
    let train = stranger.outbox().front(1).expect("a request").bytes.to_vec();
    world.hubs[SERVER].handle_datagram(Instant::ZERO, address(5), &train);
    for len in 0..200 {
        for kind in 0..6 {
            let mut garbage = vec![0xa5; len];
            if let Some(first) = garbage.first_mut() {
                *first = kind;
            }
            world.hubs[SERVER].handle_datagram(Instant::ZERO, address(5), &garbage);
        }
    }
    world.hubs[SERVER].flush(Instant::ZERO);
    assert!(world.hubs[SERVER].outbox().is_empty());
    assert_eq!(world.hubs[SERVER].connections(), 0);
}

#[test]
fn a_replayed_capture_changes_nothing() {
    let mut world = World::new();
    let connection = world.connect();
    let data = pattern(50_000);
    world.transfer(connection, &data, secs(30)).expect("a transfer");
    world.run(secs(60));
    let before = world.sent.len();
    for (end, bytes) in world.sent.clone() {
        let to = 1 - end;
        world.hubs[to].handle_datagram(world.now, address(7), &bytes);
    }
    world.pump();
    assert_eq!(world.sent.len(), before, "no answer to anything");
    assert_eq!(world.hubs[SERVER].connections(), 0);
}

#[test]
fn connections_live_on_when_the_client_changes_its_address() {
    let mut world = World::new();
    let connection = world.connect();
    let data = pattern(300_000);
    let mut left = data.clone();
    let cx = &mut Context::from_waker(Waker::noop());
    assert!(world.hubs[CLIENT].poll_write(world.now, connection, &mut left, cx).is_ready());
    world.run(Span::from_millis(2500));
    world.addresses[CLIENT] = address(77);
    let (read, _) = world.transfer(connection, &left, secs(60)).expect("a transfer");
    assert_eq!(read, data);
}

#[test]
fn a_host_that_was_restarted_is_found_out_and_can_be_reached_again() {
    let mut world = World::new();
    let connection = world.connect();
    let mut data = pattern(400_000);
    let cx = &mut Context::from_waker(Waker::noop());
    assert!(world.hubs[CLIENT].poll_write(world.now, connection, &mut data, cx).is_ready());
    world.run(Span::from_millis(1500));
    world.hubs[SERVER] = hub(2, 0);
    world.hubs[SERVER].allow(key(1).public());
    world.hubs[SERVER].listen(config());
    world.run(secs(12));
    match world.hubs[CLIENT].poll_connected(connection, cx) {
        Poll::Ready(Err(StreamError::Failed(_))) => {}
        other => panic!("the client does not know: {other:?}"),
    }
    let again = world.connect();
    let data = pattern(1_000);
    assert_eq!(world.transfer(again, &data, secs(20)).expect("a transfer").0, data);
}

#[test]
fn without_encryption_everybody_can_read_and_nobody_can_forge() {
    let mut world = World::of([Security::None; 2]);
    let data = pattern(3_000);
    let mut forged = 0;
    world.wire = Box::new(move |_, bytes| {
        forged += 1;
        let mut delays = vec![DELAY];
        // Every fifth datagram is changed on the way, and only its checksum could tell.
        if forged % 5 == 0 {
            let last = bytes.len() - 20;
            bytes[last] ^= 1;
            delays.push(DELAY);
        }
        delays
    });
    let connection = world.connect();
    let (read, _) = world.transfer(connection, &data, secs(60)).expect("a transfer");
    assert_eq!(read, data);
    let shown =
        |part: &[u8]| world.sent.iter().any(|(_, b)| b.windows(part.len()).any(|w| w == part));
    assert!(shown(&data[..500]), "the text itself is on the way");
}

#[test]
fn hosts_that_do_not_name_the_same_security_do_not_hear_each_other() {
    for securities in [[Security::None, Security::Full], [Security::Full, Security::None]] {
        let mut world = World::of(securities);
        world.connect();
        world.run(secs(20));
        assert!(world.sent.iter().all(|(end, _)| *end == CLIENT), "no answer");
        assert_eq!(world.hubs[SERVER].connections(), 0);
    }
}

#[test]
fn keys_are_renewed_during_a_long_transfer() {
    let mut world = World::new();
    let connection = world.connect();
    let cx = &mut Context::from_waker(Waker::noop());
    let data = pattern(2_000);
    for _ in 0..40 {
        let mut part = data.clone();
        assert!(world.hubs[CLIENT].poll_write(world.now, connection, &mut part, cx).is_ready());
        world.run(secs(10));
    }
    let requests = world.sent.iter().filter(|(end, b)| *end == CLIENT && b[0] == 1).count();
    assert!((3..=5).contains(&requests), "{requests} requests in 400 s");
    let (read, _) = world.transfer(connection, &data, secs(60)).expect("a transfer");
    assert_eq!(read.len(), 82_000);
}

#[test]
fn under_a_flood_of_requests_a_known_peer_still_gets_in_with_a_cookie() {
    let mut world = World::new();
    for n in 0..2_000u64 {
        let mut flooder = hub(9, n);
        flooder.connect(Instant::ZERO, address(SERVER), key(2).public(), 7, config());
        flooder.flush(Instant::ZERO);
        let request = flooder.outbox().front(1).expect("a request").bytes.to_vec();
        world.hubs[SERVER].handle_datagram(Instant::ZERO, address(5), &request);
    }
    while let Some(train) = world.hubs[SERVER].outbox().front(1) {
        let len = train.bytes.len();
        assert!(train.bytes[0] == 3 && len < 30, "cookies are all that strangers get");
        world.hubs[SERVER].outbox().pop(len);
    }
    // The flood goes on, so that the server asks the client for a cookie, too.
    let connection = world.connect();
    world.now = Instant::ZERO + Span::from_millis(1);
    let data = pattern(100);
    world.pump();
    for n in 0..300u64 {
        let mut flooder = hub(9, n);
        flooder.connect(Instant::ZERO, address(SERVER), key(2).public(), 7, config());
        flooder.flush(Instant::ZERO);
        let request = flooder.outbox().front(1).expect("a request").bytes.to_vec();
        world.hubs[SERVER].handle_datagram(Instant::ZERO + DELAY, address(5), &request);
    }
    assert_eq!(world.transfer(connection, &data, secs(20)).expect("a transfer").0, data);
    let cookies = world.sent.iter().filter(|(end, b)| *end == SERVER && b[0] == 3);
    assert!(cookies.count() > 0, "the client was asked for a cookie");
}

#[test]
fn ten_connections_share_one_association() {
    let mut world = World::new();
    let connections: Vec<_> = (0..10).map(|_| world.connect()).collect();
    for connection in connections {
        let data = pattern(3_000);
        // Each is accepted in its turn.
        assert_eq!(world.transfer(connection, &data, secs(30)).expect("a transfer").0.len(), 3_000);
    }
    let requests = world.sent.iter().filter(|(_, bytes)| bytes[0] == 1).count();
    assert_eq!(requests, 1);
}

#[test]
fn a_public_key_is_shown_and_read_as_text() {
    let public = key(3).public();
    assert_eq!(public.to_string().parse::<PublicKey>(), Ok(public));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn what_is_read_is_what_was_written_over_any_network(
        seed in any::<u64>(),
        loss in 0u64..30,
        twice in 0u64..20,
        late in 0u64..20,
        flip in 0u64..10,
        size in 1usize..60_000,
        associated in any::<bool>(),
    ) {
        let mut state = seed | 1;
        let mut draw = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        let world = if associated { self::associated() } else { World::new() };
        let mut world = world.with_wire(move |_, bytes| {
            if draw() % 100 < loss {
                return Vec::new();
            }
            if draw() % 100 < flip {
                let at = draw() as usize % bytes.len();
                bytes[at] ^= 1 << (draw() % 8);
            }
            let delay = if draw() % 100 < late { DELAY * 2 } else { DELAY };
            if draw() % 100 < twice { vec![delay, delay * 2] } else { vec![delay] }
        });
        let connection = world.connect();
        let data = pattern(size);
        let (read, _) = world.transfer(connection, &data, secs(3_600)).expect("a transfer");
        prop_assert_eq!(read, data);
        world.run(secs(3_600));
        prop_assert_eq!(world.hubs[CLIENT].connections(), 0);
        prop_assert_eq!(world.hubs[SERVER].connections(), 0);
    }
}
