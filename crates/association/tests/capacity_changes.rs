//! Paths of unknown rate that change, and hosts that restart: what is learned of them is neither kept for too long nor
//! paid for twice.

mod world;

use std::cell::RefCell;
use std::rc::Rc;

use bentpipe_association::Tuning;
use bentpipe_testkit::pattern;
use bentpipe_units::{ByteCount, Instant, Span};

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
    send(&mut world, 10, 60);
    assert_eq!(world.endpoints[CLIENT].peer_state(server).capacity, None);
    world.connect();
    world.run(secs(20));
    let found = world.endpoints[CLIENT].peer_state(server).capacity.expect("a rate");
    let share = found.as_bps() as f64 / 10e6;
    assert!((0.98..1.02).contains(&share), "{share} of the rate");
}
