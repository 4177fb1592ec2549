//! Two endpoints with several paths between them: a backup link, TCP where UDP does not get through.

mod world;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use bentpipe_association::endpoint::{
    ConnectionId, LINKS, LinkPlan, Multipath, Outer, Plan, PlannedPath, Route, Streams as _,
};
use bentpipe_association::{Share, Tuning};
use bentpipe_testkit::pattern;
use bentpipe_units::{BitRate, Instant, Span};
use proptest::prelude::*;

use world::{CLIENT, SERVER, World, address, backup, key, secs};

/// One path over a geostationary satellite, and over a network on the ground.
const SATELLITE: Span = Span::from_millis(300);
const GROUND: Span = Span::from_millis(40);

/// Long datagrams by the link and the outer transport that they took, those that were lost among them.
type Counts = Rc<RefCell<BTreeMap<(bool, Outer), usize>>>;

/// A path, by link and outer transport; the backup link is the second one.
const PRIMARY: (bool, Outer) = (false, Outer::Udp);
const BACKUP: (bool, Outer) = (true, Outer::Udp);
const TCP: (bool, Outer) = (false, Outer::Tcp);

fn is_backup(address: SocketAddr) -> bool {
    [backup(CLIENT), backup(SERVER)].contains(&address)
}

fn path(to: SocketAddr, link: usize, outer: Outer) -> PlannedPath {
    PlannedPath { route: Route { outer, ..to.into() }, link }
}

/// The server over both links, by UDP.
fn both_links() -> Vec<PlannedPath> {
    vec![path(address(SERVER), 0, Outer::Udp), path(backup(SERVER), 1, Outer::Udp)]
}

/// The server by UDP, and by TCP if need be.
fn both_outer_transports() -> Vec<PlannedPath> {
    vec![path(address(SERVER), 0, Outer::Udp), path(address(SERVER), 0, Outer::Tcp)]
}

/// A world in which the client knows these paths; `works` says which ones work, and when.
fn world(
    paths: Vec<PlannedPath>,
    multipath: Multipath,
    mut works: impl FnMut((bool, Outer), Instant) -> bool + 'static,
) -> (World, Counts) {
    let tuning = Tuning { rate: Some(BitRate::from_bps(4_000_000)), ..Tuning::default() };
    let mut world = World::new().with_config(tuning.config().expect("settings"));
    let counts = Counts::default();
    let seen = counts.clone();
    world.over = Some(Box::new(move |to, len, now| {
        let which = (is_backup(to.address), to.outer);
        // Reports, probes and the like are short.
        *seen.borrow_mut().entry(which).or_default() += usize::from(len > 1_000);
        works(which, now).then_some(if which.0 { GROUND } else { SATELLITE })
    }));
    world.endpoints[CLIENT]
        .plan(key(2).public(), Plan { paths, links: [LinkPlan::default(); LINKS], multipath });
    (world, counts)
}

fn second(n: u64) -> Instant {
    Instant::ZERO + secs(n)
}

/// Long datagrams that took this path.
fn count(counts: &Counts, path: (bool, Outer)) -> usize {
    counts.borrow().get(&path).copied().unwrap_or(0)
}

/// Writes to a connection what there is room for.
fn write(world: &mut World, end: usize, id: ConnectionId, data: &mut bytes::Bytes) {
    let cx = &mut Context::from_waker(Waker::noop());
    while !data.is_empty()
        && let Poll::Ready(written) = world.endpoints[end].poll_write(world.now, id, data, cx)
    {
        written.expect("an open connection");
    }
}

/// Reads at the server what has come, of all connections.
fn take(world: &mut World, accepted: &mut Vec<ConnectionId>) {
    let cx = &mut Context::from_waker(Waker::noop());
    while let Poll::Ready(id) = world.endpoints[SERVER].poll_accept(cx) {
        accepted.push(id);
    }
    for &id in &*accepted {
        while let Poll::Ready(bytes) = world.endpoints[SERVER].poll_read(world.now, id, cx) {
            bytes.expect("no error");
            world.endpoints[SERVER].changed(id);
        }
    }
}

#[test]
fn a_transfer_whose_link_goes_dark_goes_on_by_the_backup() {
    let (mut world, counts) =
        world(both_links(), Multipath::Failover, |path, now| path == BACKUP || now < second(8));
    let connection = world.connect();
    let data = pattern(6_000_000);
    let (read, last) = world.transfer(connection, &data, secs(60)).expect("a transfer");
    assert!(read == data);
    // 12.5 s of data at 4 Mbit/s; what was under way over the satellite is retransmitted, and to find out took
    // 1.25 s after the first probe without an answer.
    let took = last.since(Instant::ZERO).as_secs_f64();
    assert!(took < 12.5 + 0.6 + 1.6 + 1.2, "{took}");
    assert!(count(&counts, BACKUP) > 1_000, "{counts:?}");
}

#[test]
fn traffic_returns_to_the_first_link_once_that_works_again() {
    let down = second(5)..second(15);
    let (mut world, counts) = world(both_links(), Multipath::Failover, move |path, now| {
        path == BACKUP || !down.contains(&now)
    });
    let connection = world.connect();
    let mut data = pattern(20_000_000);
    let mut last = (0, 0);
    let mut shares = Vec::new();
    let mut taken = Vec::new();
    for n in 1..30 {
        loop {
            write(&mut world, CLIENT, connection, &mut data);
            take(&mut world, &mut taken);
            if !world.step(second(n)) {
                break;
            }
        }
        let now = (count(&counts, PRIMARY), count(&counts, BACKUP));
        shares.push((now.0 - last.0, now.1 - last.1));
        last = now;
    }
    assert!(shares[4].0 > 250 && shares[4].1 < 2, "{shares:?}");
    // The rest of a second, and then only probes on the down link.
    assert!(shares[8..14].iter().all(|share| share.0 < 2 && share.1 > 300), "{shares:?}");
    assert!(shares[19..].iter().all(|share| share.0 > 300 && share.1 < 2), "{shares:?}");
}

#[test]
fn the_peer_follows_within_the_delay_of_the_backup() {
    // A download: the server sends, and only the client monitors the paths.
    let (mut world, counts) =
        world(both_links(), Multipath::Failover, |path, now| path == BACKUP || now < second(8));
    let first = world.connect();
    world.transfer(first, &pattern(10), secs(10)).expect("a transfer");
    let connection = world.connect();
    world.run(secs(2));
    let cx = &mut Context::from_waker(Waker::noop());
    let Poll::Ready(answer) = world.endpoints[SERVER].poll_accept(cx) else {
        panic!("no connection")
    };
    let mut data = pattern(3_000_000);
    let mut read = 0;
    while read < 3_000_000 {
        write(&mut world, SERVER, answer, &mut data);
        while let Poll::Ready(bytes) = world.endpoints[CLIENT].poll_read(world.now, connection, cx)
        {
            read += bytes.expect("no error").map_or(0, |bytes| bytes.len());
        }
        assert!(world.step(second(30)), "{read} bytes, {counts:?}");
    }
    assert!(world.now < second(16), "{:?}", world.now);
    assert!(count(&counts, BACKUP) > 500, "{counts:?}");
}

#[test]
fn hosts_associate_by_the_backup_if_the_first_link_is_dark() {
    let (mut world, _) = world(both_links(), Multipath::Failover, |path, _| path == BACKUP);
    let connection = world.connect();
    let data = pattern(100_000);
    let (read, last) = world.transfer(connection, &data, secs(60)).expect("a transfer");
    assert!(read == data && last < second(5), "{last:?}");
}

#[test]
fn where_udp_is_blocked_the_association_goes_by_tcp_and_where_it_is_not_it_never_does() {
    for blocked in [false, true] {
        let (mut world, counts) =
            world(both_outer_transports(), Multipath::Failover, move |path, _| {
                path == TCP || !blocked
            });
        let connection = world.connect();
        let data = pattern(1_000_000);
        let (read, last) = world.transfer(connection, &data, secs(60)).expect("a transfer");
        assert!(read == data && last < second(8), "{last:?}");
        assert_eq!(count(&counts, TCP) > 0, blocked, "{counts:?}");
    }
}

#[test]
fn udp_is_used_again_once_it_gets_through() {
    let (mut world, counts) = world(both_outer_transports(), Multipath::Failover, |path, now| {
        path == TCP || now > second(10)
    });
    let connection = world.connect();
    world.transfer(connection, &pattern(100_000), secs(60)).expect("a transfer");
    let held = world.connect();
    world.run(secs(20));
    let before = count(&counts, TCP);
    world.transfer(held, &pattern(100_000), secs(60)).expect("a transfer");
    assert_eq!(count(&counts, TCP), before);
}

#[test]
fn connections_that_are_spread_use_the_rates_of_both_links() {
    let (mut world, counts) = world(both_links(), Multipath::LoadBalance, |_, _| true);
    for (link, mbits) in [(0, 4), (1, 2)] {
        let share = Share { rate: BitRate::from_bps(mbits * 1_000_000), weight: 1 };
        world.endpoints[CLIENT].set_rate(world.now, link, share.rate);
        world.endpoints[CLIENT].set_share(world.now, link, key(2).public(), share);
    }
    let first = world.connect();
    world.transfer(first, &pattern(10), secs(10)).expect("a transfer");
    world.run(secs(5));
    let before = (count(&counts, PRIMARY), count(&counts, BACKUP));
    let connections: Vec<ConnectionId> = (0..6).map(|_| world.connect()).collect();
    let mut data = vec![pattern(5_000_000); connections.len()];
    let until = world.now + secs(10);
    let mut taken = Vec::new();
    loop {
        take(&mut world, &mut taken);
        for (id, data) in connections.iter().zip(&mut data) {
            write(&mut world, CLIENT, *id, data);
        }
        if !world.step(until) {
            break;
        }
    }
    let sent = (count(&counts, PRIMARY) - before.0, count(&counts, BACKUP) - before.1);
    // Ten seconds of 4 and 2 Mbit/s in datagrams of 1,500 bytes.
    assert!((3_100..3_600).contains(&sent.0), "{sent:?}");
    assert!((1_550..1_900).contains(&sent.1), "{sent:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn whatever_links_do_every_byte_arrives(
        times in prop::collection::vec((0u64..40, 1u64..8, prop::bool::ANY), 0..8),
        multipath in prop::sample::select(vec![
            Multipath::Failover,
            Multipath::LoadBalance,
            Multipath::Bond,
        ]),
    ) {
        let (mut world, _) = world(both_links(), multipath, move |path, now| {
            let down = |(from, len, link): &(u64, u64, bool)| {
                *link == path.0 && (second(*from)..second(from + len)).contains(&now)
            };
            !times.iter().any(down)
        });
        let connection = world.connect();
        let data = pattern(4_000_000);
        let (read, _) = world.transfer(connection, &data, secs(300)).expect("a transfer");
        prop_assert!(read == data);
    }
}

#[test]
fn a_connection_bound_to_a_far_link_measures_its_round_trip_whatever_goes_by_a_near_one() {
    let near = path(backup(SERVER), 0, Outer::Udp);
    let far = path(address(SERVER), 1, Outer::Udp);
    let (mut world, _) = world(vec![near, far], Multipath::Bond, |_, _| true);
    let bulk = world.connect();
    world.run(secs(5));
    let (mut much, mut accepted) = (pattern(60_000_000), Vec::new());
    let (now, bound) = (world.now, world.connect());
    world.endpoints[CLIENT].bind(now, bound, 1);
    let reference = world.endpoints[CLIENT].reference(bound);
    let mut measured = Vec::new();
    for step in 0..3_000 {
        write(&mut world, CLIENT, bulk, &mut much);
        // Short objects, whose ends parity protects.
        if step % 50 == 0 {
            write(&mut world, CLIENT, bound, &mut pattern(1_000 + step * 7));
        }
        take(&mut world, &mut accepted);
        world.run(Span::from_millis(10));
        measured.extend(world.endpoints[CLIENT].look(reference).and_then(|(state, _)| state.srtt));
    }
    let least = measured.iter().min().expect("a round trip");
    assert!(*least >= SATELLITE * 2, "{least:?}");
}
