//! Paths of unknown rate that change, and hosts that restart: what is learned of them is neither kept for too long nor
//! paid for twice.

mod world;

use std::cell::RefCell;
use std::rc::Rc;

use bentpipe_association::Tuning;
use bentpipe_association::endpoint::{PathMemory, PathRecord};
use bentpipe_testkit::pattern;
use bentpipe_units::{BitRate, ByteCount, Instant, Span};

use world::{CLIENT, SERVER, World, address, secs};

/// Bytes of a full datagram of a path of which no more is known.
const FULL: usize = 1_200;

/// A link of so many bit/s, with a queue of so many bytes in each direction.
#[derive(Debug)]
struct Link {
    rate: f64,
    delay: f64,
    queue: f64,
    /// Each direction is busy until then.
    busy: [f64; 2],
    /// Datagrams to the client and to the server that were full ones, and those that were lost.
    full: [usize; 2],
    lost: usize,
}

impl Link {
    fn carry(&mut self, way: usize, now: f64, bytes: f64) -> Option<Span> {
        let begins = self.busy[way].max(now);
        if (begins - now) * self.rate / 8.0 > self.queue {
            self.lost += 1;
            return None;
        }
        self.busy[way] = begins + bytes * 8.0 / self.rate;
        Some(Span::from_secs_f64(self.busy[way] + self.delay - now))
    }
}

/// Two hosts over a link of so many bit/s and seconds, which may spend so many bytes an hour to learn what it carries.
fn world(rate: f64, round_trip: f64, learns: u64) -> (World, Rc<RefCell<Link>>) {
    let (delay, queue) = (round_trip / 2.0, (rate / 8.0 * round_trip).max(50_000.0));
    let (busy, full, lost) = ([0.0; 2], [0; 2], 0);
    let link = Rc::new(RefCell::new(Link { rate, delay, queue, busy, full, lost }));
    let mut world = World::new().with_config(Tuning::default().config().expect("settings"));
    for end in [CLIENT, SERVER] {
        world.endpoints[end].set_learning(ByteCount::new(learns));
    }
    let line = link.clone();
    world.over = Some(Box::new(move |to, len, now| {
        let link = &mut *line.borrow_mut();
        let way = usize::from(to.address == address(SERVER));
        link.full[way] += usize::from(len == FULL);
        link.carry(way, now.as_secs_f64(), (len + 28) as f64)
    }));
    (world, link)
}

/// A connection, and how long it took for so many bytes.
fn send(world: &mut World, bytes: usize, limit: u64) -> f64 {
    let cx = &mut std::task::Context::from_waker(std::task::Waker::noop());
    while world.endpoints[SERVER].poll_accept(cx).is_ready() {}
    let (began, id) = (world.now, world.connect());
    let data = pattern(bytes);
    let (read, last) = world.transfer(id, &data, secs(limit)).expect("a transfer");
    assert!(read == data);
    last.since(began).as_secs_f64()
}

#[test]
fn what_a_jump_refuted_is_not_tried_again() {
    let (mut world, link) = world(50e6, 0.6, 100_000);
    send(&mut world, 10, 60);
    world.connect();
    world.run(secs(20));
    (link.borrow_mut().rate, link.borrow_mut().queue) = (5e6, 375e3);
    let mut lost = Vec::new();
    for _ in 0..3 {
        let before = link.borrow().lost;
        send(&mut world, 2_000_000, 200);
        lost.push(link.borrow().lost - before);
        world.run(secs(180));
    }
    assert!(
        lost[1] < 200 && lost[2] < 200,
        "2 MB are 1,400 datagrams; so many were lost: {lost:?}"
    );
}

#[test]
fn who_only_repairs_for_seconds_keeps_its_window() {
    let (mut world, link) = world(50e6, 0.6, 100_000);
    send(&mut world, 10, 60);
    world.run(secs(20));
    (link.borrow_mut().rate, link.borrow_mut().queue) = (5e6, 375e3);
    let took = send(&mut world, 10_000_000, 200);
    // 16 s at 5 Mbit/s; it was 94 with a window of ten segments while losses were repaired.
    assert!(took < 40.0, "{took} s");
}

#[test]
fn no_hour_costs_more_than_it_may_though_associations_end() {
    let (mut world, link) = world(10e6, 0.6, 100_000);
    while world.now < Instant::ZERO + secs(3_350) {
        send(&mut world, 10, 60);
        world.run(secs(200));
    }
    let bytes = link.borrow().full.map(|count| count * (FULL + 28));
    assert!(bytes.iter().all(|bytes| *bytes <= 100_000), "{bytes:?}");
}

#[test]
fn a_peer_that_restarts_elsewhere_is_learned_anew() {
    let (mut world, link) = world(50e6, 0.6, 100_000);
    send(&mut world, 10, 60);
    world.run(secs(20));
    let before = link.borrow().full[0];
    world.addresses[CLIENT] = address(77);
    world.restart(CLIENT);
    send(&mut world, 10, 60);
    world.run(secs(60));
    assert!(link.borrow().full[0] > before, "no train to where the client is now");
}

#[test]
fn trains_leave_room_on_a_link_of_2400_bit_a_second() {
    let (mut world, _) = world(2_400.0, 1.8, 100_000);
    send(&mut world, 10, 600);
    world.connect();
    let mut after = |pause| {
        world.run(secs(pause));
        send(&mut world, 100, 600)
    };
    let took = [30, 40, 50, 60].map(&mut after);
    assert!(took.iter().all(|took| *took < 6.0), "100 bytes took {took:?} s; 2 s without trains");
}

#[test]
fn what_a_path_was_found_to_carry_is_told_to_those_who_look_on() {
    let (mut world, _) = world(10e6, 0.6, 100_000);
    let server = world.endpoints[SERVER].public_key();
    assert_eq!(world.endpoints[CLIENT].peer_state(server).capacity, None);
    send(&mut world, 10, 60);
    world.connect();
    world.run(secs(20));
    let found = world.endpoints[CLIENT].peer_state(server).capacity.expect("a rate");
    let share = found.as_bps() as f64 / 10e6;
    assert!((0.98..1.02).contains(&share), "{share} of the rate");
}

/// Seconds that a megabyte takes over 10 Mbit/s and 600 ms by a host that spends nothing on trains, has been started anew, and is told this of
/// the paths that it had before.
fn after_a_restart(longer: f64, told: impl FnOnce(PathMemory) -> PathMemory) -> f64 {
    let (mut world, link) = world(10e6, 0.6, 0);
    send(&mut world, 20_000_000, 200);
    let seen = world.endpoints[CLIENT].path_memory();
    world.run(secs(60));
    world.restart(CLIENT);
    world.endpoints[CLIENT].set_path_memory(told(seen));
    link.borrow_mut().delay *= longer;
    send(&mut world, 1_000_000, 200)
}

#[test]
fn a_host_that_starts_anew_sends_half_of_what_the_path_carried_before() {
    let (mut world, _) = world(10e6, 0.6, 0);
    assert_eq!(world.endpoints[CLIENT].path_memory(), PathMemory::default());
    send(&mut world, 20_000_000, 200);
    let seen: Vec<_> = world.endpoints[CLIENT].path_memory().records().collect();
    let [(peer, 0, record)] = seen[..] else { panic!("{seen:?}") };
    assert_eq!(peer, world.endpoints[SERVER].public_key());
    let share = record.rate.as_bps() as f64 / 10e6;
    assert!((0.9..1.05).contains(&share), "{share} of the rate");
    assert!(record.round_trip.as_secs_f64() < 0.62, "{}", record.round_trip);
    let (without, with) =
        (after_a_restart(1.0, |_| PathMemory::default()), after_a_restart(1.0, |seen| seen));
    // 0.8 s for the bytes and a round trip for the handshake; slow start takes five more.
    assert!(with < without - 1.0, "{with} s, and {without} s without a memory");
}

#[test]
fn what_was_kept_too_long_or_of_another_path_changes_nothing() {
    let without = after_a_restart(1.0, |_| PathMemory::default());
    let old = |seen: PathMemory| {
        // The clock of these hosts begins in 1970: what is to come is as wrong as what is old.
        let later = |(peer, link, record): (_, _, PathRecord)| {
            (peer, link, PathRecord { seen: record.seen + 1_000_000_000_000, ..record })
        };
        PathMemory::new(seen.records().map(later))
    };
    assert_eq!(after_a_restart(1.0, old), without);
    let without = after_a_restart(0.4, |_| PathMemory::default());
    assert_eq!(after_a_restart(0.4, |seen| seen), without, "the path is much shorter");
}

#[test]
fn a_memory_that_lies_costs_a_round_trip_and_no_more() {
    for rate in [1_000, 100_000_000, u64::MAX] {
        let lie = |seen: PathMemory| {
            let rate = BitRate::from_bps(rate);
            let lie = |(peer, link, record): (_, _, PathRecord)| {
                (peer, link, PathRecord { rate, ..record })
            };
            PathMemory::new(seen.records().map(lie))
        };
        let (without, with) =
            (after_a_restart(1.0, |_| PathMemory::default()), after_a_restart(1.0, lie));
        assert!(with < without + 3.0, "{rate} bit/s: {with} s, and {without} s without a memory");
    }
}
