//! Associations that one end has forgotten, and the other one has not: what the peer counts begins anew.

mod world;

use std::cell::Cell;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use bentpipe_association::Tuning;
use bentpipe_association::endpoint::{
    LINKS, LinkPlan, Multipath, Outer, Plan, PlannedPath, Route, Streams as _,
};
use bentpipe_testkit::pattern;
use bentpipe_units::{BitRate, Instant, Span};
use bentpipe_wire::Ecn;
use bytes::Bytes;

use world::{CLIENT, SERVER, World, address, backup, key, secs};

const ONE_WAY: Span = Span::from_millis(50);

fn context() -> Context<'static> {
    Context::from_waker(Waker::noop())
}

/// All that the client sends is marked, or nothing.
fn marking(marks: bool) -> World {
    let mut world = World::new().with_wire(|_, _| vec![ONE_WAY]);
    let mark = move |end, _| if marks && end == CLIENT { Ecn::Congestion } else { Ecn::Capable0 };
    world.ecn = Box::new(mark);
    world
}

/// Seconds for a transfer.
fn takes(world: &mut World) -> f64 {
    let (connection, began) = (world.connect(), world.now);
    let (_, last) = world.transfer(connection, &pattern(500_000), secs(600)).expect("a transfer");
    last.since(began).as_secs_f64()
}

/// What changes between two transfers. With marks both take far longer.
fn marks_count_behind(change: fn(&mut World)) {
    let [free, marked] = [false, true].map(|marks| {
        let mut world = marking(marks);
        let before = takes(&mut world);
        change(&mut world);
        (before, takes(&mut world))
    });
    assert!(marked.0 > 4.0 * free.0 && marked.1 > 4.0 * free.1, "{marked:?} beside {free:?}");
}

#[test]
fn marks_count_after_a_restart_of_the_end_that_sees_them() {
    marks_count_behind(|world| {
        world.restart(SERVER);
        world.run(secs(1));
        // The first connection finds it out.
        world.connect();
        world.run(secs(20));
        while world.endpoints[SERVER].poll_accept(&context()).is_ready() {}
    });
}

#[test]
fn marks_count_after_an_outage_in_which_the_end_that_sees_them_forgot_the_other() {
    marks_count_behind(|world| {
        world.wire = Box::new(|_, _| Vec::new());
        // The sender's applications go on asking, so that it remembers.
        for _ in 0..80 {
            world.connect();
            world.run(secs(10));
        }
        world.wire = Box::new(|_, _| vec![ONE_WAY]);
        world.run(secs(30));
        while world.endpoints[SERVER].poll_accept(&context()).is_ready() {}
    });
}

/// Which of two links is down.
type Down = Rc<Cell<[bool; 2]>>;

/// A client that knows two links of its server.
fn two_links() -> (World, Down) {
    let down = Down::default();
    let tuning = Tuning { rate: Some(BitRate::from_bps(4_000_000)), ..Tuning::default() };
    let mut world = World::new().with_config(tuning.config().expect("settings"));
    let seen = down.clone();
    let over = move |to: Route, _: usize, _: Instant| {
        let link = usize::from([backup(CLIENT), backup(SERVER)].contains(&to.address));
        (!seen.get()[link]).then_some(Span::from_millis(300))
    };
    world.over = Some(Box::new(over));
    let path =
        |to, link| PlannedPath { route: Route { outer: Outer::Udp, ..Route::from(to) }, link };
    let paths = vec![path(address(SERVER), 0), path(backup(SERVER), 1)];
    world.endpoints[CLIENT].plan(
        key(2).public(),
        Plan { paths, links: [LinkPlan::default(); LINKS], multipath: Multipath::Failover },
    );
    (world, down)
}

#[test]
fn a_failover_is_followed_by_a_host_that_remembers_the_probes_of_an_association_before() {
    let cx = &mut context();
    let (mut world, down) = two_links();
    let first = world.connect();
    let mut data = pattern(1_000);
    assert!(world.endpoints[CLIENT].poll_write(world.now, first, &mut data, cx).is_ready());
    // Some thousand probes.
    world.run(secs(3_600));
    // An outage that ends the connection. The server's application has not let go of it.
    let Poll::Ready(_held) = world.endpoints[SERVER].poll_accept(cx) else { panic!("none") };
    down.set([true; 2]);
    world.run(secs(400));
    world.endpoints[CLIENT].release(world.now, first);
    world.run(secs(400));
    down.set([false; 2]);
    let next = world.connect();
    let mut data = pattern(1_000);
    assert!(world.endpoints[CLIENT].poll_write(world.now, next, &mut data, cx).is_ready());
    world.run(secs(20));
    let Poll::Ready(answers) = world.endpoints[SERVER].poll_accept(cx) else { panic!("none") };
    // The first link goes down; the second one works.
    down.set([true, false]);
    let mut got = 0;
    for _ in 0..30 {
        let mut data = Bytes::from_static(b"0123456789");
        assert!(world.endpoints[SERVER].poll_write(world.now, answers, &mut data, cx).is_ready());
        world.run(secs(1));
        while let Poll::Ready(Ok(Some(bytes))) =
            world.endpoints[CLIENT].poll_read(world.now, next, cx)
        {
            got += bytes.len();
        }
    }
    assert!(got >= 200, "{got} of 300 bytes");
}
