//! A second link that costs: it is a reserve, or closed, and carries little while it is idle.

mod world;

use std::cell::Cell;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use bentpipe_association::endpoint::{
    LINKS, LinkPlan, Multipath, Outer, Plan, PlannedPath, Route, Streams as _,
};
use bentpipe_testkit::pattern;
use bentpipe_units::{ByteCount, Instant, Span};

use world::{CLIENT, SERVER, World, address, backup, key, secs};

/// Bytes that each of the two links was given, with 28 bytes of headers around each datagram.
type Given = Rc<[Cell<u64>; 2]>;

/// A client with a second link of this kind to the server; `works` says when the first one does.
fn world(
    second: LinkPlan,
    multipath: Multipath,
    works: impl Fn(Instant) -> bool + 'static,
) -> (World, Given) {
    let mut world = World::new();
    let given = Given::default();
    let seen = given.clone();
    world.over = Some(Box::new(move |to, len, now| {
        let link = usize::from([backup(CLIENT), backup(SERVER)].contains(&to.address));
        seen[link].set(seen[link].get() + len as u64 + 28);
        (link == 1 || works(now)).then_some(Span::from_millis(30))
    }));
    let path =
        |link, to| PlannedPath { route: Route { outer: Outer::Udp, ..Route::from(to) }, link };
    let paths = vec![path(0, address(SERVER)), path(1, backup(SERVER))];
    let mut links = [LinkPlan::default(); LINKS];
    links[1] = second;
    world.endpoints[CLIENT].plan(key(2).public(), Plan { paths, links, multipath });
    (world, given)
}

const RESERVE: LinkPlan = LinkPlan { is_reserve: true, is_metered: false, spills: false };
const METERED: LinkPlan = LinkPlan { is_reserve: false, is_metered: true, spills: false };

/// What was given to the second link while this was done.
fn cost(world: &mut World, given: &Given, act: impl FnOnce(&mut World)) -> u64 {
    let before = given[1].get();
    act(world);
    given[1].get() - before
}

/// A connection more carries a megabyte.
fn carry(world: &mut World) {
    let (connection, data) = (world.connect(), pattern(1_000_000));
    let (read, _) = world.transfer(connection, &data, secs(60)).expect("a transfer");
    assert!(read == data);
}

#[test]
fn a_reserve_carries_nothing_while_another_link_works() {
    let until = Instant::ZERO + secs(60);
    for multipath in [Multipath::LoadBalance, Multipath::Bond] {
        let (mut world, given) = world(RESERVE, multipath, move |now| now < until);
        carry(&mut world);
        world.run(secs(20));
        let links = world.endpoints[CLIENT].links(key(2).public());
        assert_eq!((links.open, links.barred), (vec![0], vec![1]));
        let cost_beside = cost(&mut world, &given, |world| (0..4).for_each(|_| carry(world)));
        assert!(cost_beside < 10_000, "{cost_beside}");
        world.run(until.since(world.now) + secs(5));
        let links = world.endpoints[CLIENT].links(key(2).public());
        assert_eq!((links.open, links.barred), (vec![1], vec![]));
        let cost_alone = cost(&mut world, &given, carry);
        assert!(cost_alone > 1_000_000, "{cost_alone}");
    }
}

#[test]
fn a_link_that_is_closed_carries_nothing_until_it_is_opened() {
    let (mut world, given) = world(LinkPlan::default(), Multipath::Failover, |now| {
        now < Instant::ZERO + secs(40) || now > Instant::ZERO + secs(80)
    });
    world.endpoints[CLIENT].set_link_open(Instant::ZERO, 1, false);
    carry(&mut world);
    let shut = cost(&mut world, &given, |world| world.run(secs(10)));
    assert_eq!(shut, 0);
    // The first link is gone, and the second one may not be used: what is written waits.
    world.run(secs(30));
    let (connection, mut data) = (world.connect(), pattern(400_000));
    let cx = &mut Context::from_waker(Waker::noop());
    let now = world.now;
    let written = world.endpoints[CLIENT].poll_write(now, connection, &mut data, cx);
    assert!(matches!(written, Poll::Ready(Ok(400_000))), "{written:?}");
    let shut = cost(&mut world, &given, |world| world.run(secs(10)));
    assert_eq!(shut, 0);
    let now = world.now;
    world.endpoints[CLIENT].set_link_open(now, 1, true);
    let open = cost(&mut world, &given, |world| world.run(secs(20)));
    assert!(open > 400_000, "{open}");
    // It is closed again while a connection uses it.
    let now = world.now;
    world.endpoints[CLIENT].set_link_open(now, 1, false);
    world.run(secs(1));
    let shut = cost(&mut world, &given, |world| world.run(secs(5)));
    assert_eq!(shut, 0);
}

#[test]
fn a_connection_that_is_bound_to_a_closed_link_waits_until_that_is_opened() {
    let (mut world, given) =
        world(LinkPlan::default(), Multipath::Bond, |now| now < Instant::ZERO + secs(10));
    world.run(secs(1));
    let held = world.connect();
    world.run(secs(9));
    let now = world.now;
    world.endpoints[CLIENT].bind(now, held, 1);
    world.endpoints[CLIENT].set_link_open(now, 1, false);
    world.run(secs(4));
    let (mut data, cx) = (pattern(400_000), &mut Context::from_waker(Waker::noop()));
    let now = world.now;
    let written = world.endpoints[CLIENT].poll_write(now, held, &mut data, cx);
    assert!(matches!(written, Poll::Ready(Ok(400_000))), "{written:?}");
    let shut = cost(&mut world, &given, |world| world.run(secs(20)));
    // New keys, and probes that say so again.
    assert!(shut < 3_000, "{shut}");
    let now = world.now;
    world.endpoints[CLIENT].set_link_open(now, 1, true);
    let open = cost(&mut world, &given, |world| world.run(secs(30)));
    assert!(open > 400_000, "{open}");
}

#[test]
fn an_idle_link_where_each_byte_costs_carries_little() {
    let an_hour = |second: LinkPlan| {
        let (mut world, given) = world(second, Multipath::Bond, |_| true);
        for end in [CLIENT, SERVER] {
            world.endpoints[end].set_learning(ByteCount::new(100_000));
        }
        // A connection that says nothing holds the association up.
        world.connect();
        world.run(secs(60));
        cost(&mut world, &given, |world| world.run(secs(3_600)))
    };
    let (metered, other) = (an_hour(METERED), an_hour(LinkPlan::default()));
    // A probe and its answer twice a minute; otherwise one in two seconds, and what it carries is found out.
    assert!(metered < 25_000, "{metered}");
    assert!(other > 250_000, "{other}");
}

#[test]
fn what_links_carry_is_counted_with_all_headers() {
    let (mut world, given) =
        world(METERED, Multipath::Failover, |now| now < Instant::ZERO + secs(20));
    carry(&mut world);
    world.run(secs(30));
    carry(&mut world);
    world.run(secs(5));
    let counted = world.endpoints[CLIENT].carried_by_links();
    let second = counted[1].get();
    // Handshakes are not counted, nor what was lost on the way to this host.
    let exact = given[1].get();
    assert!(second <= exact && second > exact - exact / 100, "{second} of {exact}");
    assert_eq!(counted[2..], [ByteCount::ZERO; 2]);
}
