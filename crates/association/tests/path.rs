//! What the hosts find out about the path: how long datagrams may be, and where routers are congested.

mod world;

use std::cell::Cell;
use std::rc::Rc;

use bentpipe_association::Tuning;
use bentpipe_association::endpoint::Streams as _;
use bentpipe_testkit::pattern;
use bentpipe_units::{BitRate, Span};
use bentpipe_wire::Ecn;
use proptest::prelude::*;

use world::{CLIENT, SERVER, World, address, secs};

const WAY: Span = Span::from_millis(50);

/// A world whose path carries datagrams of so many bytes, as the test says at any time.
fn narrow(carries: usize) -> (World, Rc<Cell<usize>>) {
    let carries = Rc::new(Cell::new(carries));
    let limit = carries.clone();
    let tuning = Tuning { rate: Some(BitRate::from_bps(4_000_000)), ..Tuning::default() };
    let world = World::new()
        .with_config(tuning.config().expect("settings"))
        .with_wire(move |_, bytes| if bytes.len() > limit.get() { vec![] } else { vec![WAY] });
    (world, carries)
}

/// The longest datagram that the client sent in the last quarter and that the path carried, and how many
/// it did not carry.
fn longest(world: &World, carries: usize) -> (usize, usize) {
    let quarter = world.sent.len() / 4;
    let last = world.sent.iter().rev().take(quarter).filter(|(end, _)| *end == CLIENT);
    let (fit, lost): (Vec<_>, Vec<_>) =
        last.map(|(_, bytes)| bytes.len()).partition(|len| *len <= carries);
    (fit.into_iter().max().expect("datagrams"), lost.len())
}

#[test]
fn an_ordinary_path_is_filled_from_the_second_round_trip_on() {
    let (mut world, _) = narrow(1472);
    let connection = world.connect();
    let data = pattern(2_000_000);
    let (read, last) = world.transfer(connection, &data, secs(60)).expect("a transfer");
    assert!(read == data);
    let full = world.sent.iter().filter(|(end, bytes)| *end == CLIENT && bytes.len() >= 1468);
    assert!(full.count() > 1_300, "nearly all of them");
    // 1,440 of 1,472 bytes are data.
    let ideal = 2_000_000.0 * 8.0 * 1_500.0 / 1_440.0 / 4e6;
    let took = last.since(bentpipe_units::Instant::ZERO).as_secs_f64();
    assert!(took < ideal + 0.5, "{took} s, {ideal} s of data");
}

#[test]
fn a_path_that_narrows_in_the_middle_of_a_transfer_delivers_every_byte() {
    for narrower in [1_200, 1_280, 1_400] {
        let (mut world, carries) = narrow(1472);
        let connection = world.connect();
        let first = pattern(1_000_000);
        let mut left = first.clone();
        let cx = &mut std::task::Context::from_waker(std::task::Waker::noop());
        let _ = world.endpoints[CLIENT].poll_write(world.now, connection, &mut left, cx);
        world.run(secs(1));
        assert!(left.is_empty() && world.endpoints[CLIENT].unsent(connection) > 0);
        carries.set(narrower);
        let (read, _) = world.transfer(connection, &left, secs(120)).expect("a transfer");
        assert!(read == first, "{narrower}");
    }
}

#[test]
fn a_new_address_is_a_new_path() {
    let (mut world, carries) = narrow(1472);
    let connection = world.connect();
    world.transfer(connection, &pattern(500_000), secs(60)).expect("a transfer");
    // The client moves behind a tunnel, and what the server sends there must be short at first.
    world.addresses[CLIENT] = address(77);
    carries.set(1_300);
    let connection = world.connect();
    world.sent.clear();
    let data = pattern(15_000_000);
    let (read, _) = world.transfer(connection, &data, secs(120)).expect("a transfer");
    assert!(read == data);
    let (longest, lost) = longest(&world, 1_300);
    assert!((1_292..=1_300).contains(&longest) && lost < 10, "{longest}, {lost} lost");
}

#[test]
fn a_path_that_drops_what_may_be_marked_carries_everything_after_three_seconds() {
    let mut world = World::new();
    world.drops_ect = true;
    let connection = world.connect();
    let data = pattern(100_000);
    let (read, last) = world.transfer(connection, &data, secs(60)).expect("a transfer");
    assert!(read == data);
    let took = last.since(bentpipe_units::Instant::ZERO);
    assert!((secs(3)..secs(15)).contains(&took), "{took:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn whatever_the_path_carries_is_found_within_eight_bytes(width in 1_200..1_600usize) {
        let (mut world, _) = narrow(width);
        let connection = world.connect();
        let data = pattern(20_000_000);
        let (read, _) = world.transfer(connection, &data, secs(200)).expect("a transfer");
        prop_assert!(read == data);
        let (found, lost) = longest(&world, width);
        let most = width.min(1_472);
        prop_assert!((most - 8..=most).contains(&found) && lost < 10, "{found} of {width}, {lost}");
    }
}

#[test]
fn marks_of_a_router_slow_the_sender_down_and_are_told_at_most_forty_times_a_second() {
    // Every datagram of the client is marked from the first second on.
    let run = |mark: bool| {
        let mut world = World::new().with_wire(|_, _| vec![WAY]);
        let connection = world.connect();
        world.ecn = Box::new(move |end, now| {
            let marked = mark && end == CLIENT && now.as_nanos() > 1_000_000_000;
            if marked { Ecn::Congestion } else { Ecn::Capable0 }
        });
        let (_, last) =
            world.transfer(connection, &pattern(5_000_000), secs(600)).expect("a transfer");
        let (sent, took) = (world.sent.iter().filter(|(end, _)| *end == SERVER).count(), last);
        (sent, took.since(bentpipe_units::Instant::ZERO).as_secs_f64())
    };
    let ((_, free), (answers, marked)) = (run(false), run(true));
    assert!(marked > 3.0 * free, "{marked} s and {free} s without marks");
    assert!((answers as f64) < 100.0 * marked, "{answers} in {marked} s");
}
