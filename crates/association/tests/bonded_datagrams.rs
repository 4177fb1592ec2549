//! Datagrams of applications over two links at once, both directions, where nobody knows what the links carry.

mod world;

use std::cell::Cell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use bentpipe_association::endpoint::{
    Datagrams, LINKS, LinkPlan, Multipath, Outer, Plan, PlannedPath, Route,
};
use bentpipe_association::{Share, Tuning};
use bentpipe_tunnel::Datagram;
use bentpipe_units::{BitRate, ByteCount, Instant, Span};
use bentpipe_wire::Ecn;
use bytes::Bytes;
use proptest::prelude::*;

use world::{CLIENT, SERVER, World, address, backup, secs};

/// Time for which a datagram may wait for a link.
const QUEUE: Span = Span::from_millis(60);

/// One direction of a link.
#[derive(Default)]
struct Way {
    free_at: Cell<Instant>,
    bytes: Cell<u64>,
    is_cut: Cell<bool>,
}

/// Both links, each there and back.
type Ways = Rc<[[Way; 2]; 2]>;

/// A client with links of 20 and 10 Mbit/s to the server, 25 and 30 ms long.
fn world(second: LinkPlan) -> (World, Ways) {
    bonded(World::new(), second)
}

fn bonded(mut world: World, second: LinkPlan) -> (World, Ways) {
    let ways = Ways::default();
    let seen = ways.clone();
    world.over = Some(Box::new(move |to, len, now| {
        let link = usize::from([backup(CLIENT), backup(SERVER)].contains(&to.address));
        let back = usize::from([address(CLIENT), backup(CLIENT)].contains(&to.address));
        let way = &seen[link][back];
        let rate = BitRate::from_bps([20_000_000, 10_000_000][link]);
        let free_at = way.free_at.get().max(now);
        if way.is_cut.get() || free_at.since(now) > QUEUE {
            return None;
        }
        let bytes = ByteCount::new(len as u64 + 28);
        way.bytes.set(way.bytes.get() + bytes.get());
        way.free_at.set(free_at + rate.time_for(bytes));
        Some(way.free_at.get().since(now) + Span::from_millis([25, 30][link]))
    }));
    begin(&mut world, second);
    world.run(secs(5));
    (world, ways)
}

/// Both hosts have the settings of a bond, and the client connects.
fn begin(world: &mut World, second: LinkPlan) {
    let path =
        |link, to| PlannedPath { route: Route { outer: Outer::Udp, ..Route::from(to) }, link };
    let paths = vec![path(0, address(SERVER)), path(1, backup(SERVER))];
    let mut links = [LinkPlan::default(); LINKS];
    links[1] = second;
    let (plan, peer) = (Plan { paths, links, multipath: Multipath::Bond }, world.peer_of(CLIENT));
    world.endpoints[CLIENT].plan(peer, plan);
    for end in [CLIENT, SERVER] {
        let window = Some(Tuning::default().config().expect("settings"));
        world.endpoints[end].set_datagrams(Datagrams { window, ..Datagrams::default() });
    }
    world.connect();
}

/// What came of a flow: times and numbers.
type Came = Vec<(Instant, u32)>;

/// Sends datagrams of 1,200 bytes at this rate for so long, numbered from `first` on. Returns how many, and what came.
fn send(world: &mut World, from: usize, mbit: u64, span: Span, first: u32) -> (u32, Came) {
    let cx = &mut Context::from_waker(Waker::noop());
    let each = BitRate::from_bps(mbit * 1_000_000).time_for(ByteCount::new(1_200));
    let (end, mut next, mut came) = (world.now + span, first, Vec::new());
    while world.now < end + secs(2) {
        if world.now < end {
            let bytes = Bytes::from([&next.to_be_bytes()[..], &[7; 1_196]].concat());
            let datagram = Datagram { flow: 1, ecn: Ecn::NotCapable, label: Bytes::new(), bytes };
            let (now, peer) = (world.now, world.peer_of(from));
            world.endpoints[from].send_datagram(now, peer, datagram);
            next += 1;
            if next % 50 == 0 {
                let (label, bytes) = (Bytes::new(), Bytes::from_static(b"a call"));
                let call = Datagram { flow: 2, ecn: Ecn::NotCapable, label, bytes };
                world.endpoints[from].send_datagram(now, peer, call);
            }
        }
        world.run(each);
        while let Poll::Ready((_, got)) = world.endpoints[1 - from].poll_datagram(cx) {
            if got.flow == 2 {
                assert_eq!(got.bytes, b"a call"[..]);
                continue;
            }
            let number = u32::from_be_bytes(got.bytes[..4].try_into().expect("four bytes"));
            assert_eq!(got.bytes[4..], [7; 1_196]);
            came.push((world.now, number));
        }
    }
    (next, came)
}

fn mbit(came: &Came, span: Span) -> f64 {
    came.len() as f64 * 1_200.0 * 8.0 / span.as_secs_f64() / 1e6
}

#[test]
fn one_flow_has_more_than_a_single_link_carries_in_either_direction_and_in_order() {
    for from in [CLIENT, SERVER] {
        let (mut world, ways) = world(LinkPlan::default());
        // Whoever sends more than there is learns what that is.
        let (next, _) = send(&mut world, from, 30, secs(10), 0);
        let (_, came) = send(&mut world, from, 25, secs(10), next);
        assert!(mbit(&came, secs(10)) > 24.0, "{from}: {}", mbit(&came, secs(10)));
        let disordered = came.windows(2).filter(|pair| pair[1].1 < pair[0].1).count();
        assert!(disordered * 200 < came.len(), "{from}: {disordered} of {}", came.len());
        assert!(ways[1][from].bytes.get() > 5_000_000);
    }
}

#[test]
fn a_flow_goes_on_by_the_other_link_when_one_is_cut_and_uses_both_when_it_is_back() {
    for (from, cut) in [(CLIENT, 1), (SERVER, 0)] {
        let (mut world, ways) = world(LinkPlan::default());
        let (next, _) = send(&mut world, from, 30, secs(10), 0);
        let (next, _) = send(&mut world, from, 8, secs(1), next);
        ways[cut].iter().for_each(|way| way.is_cut.set(true));
        let (next, came) = send(&mut world, from, 8, secs(10), next);
        let sent = mbit(&came, secs(10)) / 8.0;
        assert!(sent > 0.97, "{from} {cut}: {sent}");
        let pause = came.windows(2).map(|pair| pair[1].0.since(pair[0].0)).max();
        assert!(pause.is_some_and(|pause| pause < Span::from_millis(1_000)), "{pause:?}");
        ways[cut].iter().for_each(|way| way.is_cut.set(false));
        let (next, _) = send(&mut world, from, 30, secs(10), next);
        let (_, came) = send(&mut world, from, 25, secs(5), next);
        assert!(mbit(&came, secs(5)) > 23.0, "{from} {cut}: {}", mbit(&came, secs(5)));
    }
}

#[test]
fn a_flow_uses_both_links_after_either_host_was_started_anew_whoever_has_the_larger_key() {
    for world in World::of_both_orders() {
        let (mut world, ways) = bonded(world, LinkPlan::default());
        for restarted in [SERVER, CLIENT] {
            // In the middle of a flow.
            send(&mut world, SERVER, 30, secs(2), 0);
            world.restart(restarted);
            begin(&mut world, LinkPlan::default());
            // Whoever goes on finds out by silence.
            world.run(secs(20));
            for from in [CLIENT, SERVER] {
                send(&mut world, from, 30, secs(8), 0);
                let before = ways[1][from].bytes.get();
                let (_, came) = send(&mut world, from, 25, secs(4), 1 << 20);
                let numbers: BTreeSet<u32> = came.iter().map(|(_, number)| *number).collect();
                assert!(mbit(&came, secs(4)) > 23.0, "{from}: {}", mbit(&came, secs(4)));
                assert!(numbers.len() == came.len() && numbers.first() >= Some(&(1 << 20)));
                assert!(ways[1][from].bytes.get() - before > 1_000_000, "{from}");
            }
        }
    }
}

#[test]
fn a_link_that_costs_carries_only_what_the_first_one_does_not_whoever_sends() {
    for from in [CLIENT, SERVER] {
        let (mut world, ways) = world(LinkPlan { spills: true, ..LinkPlan::default() });
        let before = ways[1][from].bytes.get();
        let (next, _) = send(&mut world, from, 12, secs(10), 0);
        let (next, _) = send(&mut world, from, 12, secs(10), next);
        let beside = ways[1][from].bytes.get() - before;
        assert!(beside < 100_000, "{from}: {beside}");
        send(&mut world, from, 26, secs(10), next);
        let spilled = ways[1][from].bytes.get() - before - beside;
        assert!(spilled > 3_000_000, "{from}: {spilled}");
    }
}

/// A link is cut in a direction or whole again, closed or opened, or an end is told its rate.
fn meddle(world: &mut World, ways: &Ways, (what, link, end): (u8, usize, usize)) {
    match what {
        0 => ways[link][end].is_cut.set(!ways[link][end].is_cut.get()),
        1 => world.endpoints[CLIENT].set_link_open(world.now, 1, end == 0),
        2 => {
            let (rate, peer) = (BitRate::from_bps(10_000_000), world.peer_of(end));
            world.endpoints[end].set_rate(world.now, link, rate);
            world.endpoints[end].set_share(world.now, link, peer, Share { rate, weight: 1 });
        }
        _ => ways.iter().flatten().for_each(|way| way.is_cut.set(false)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5))]

    #[test]
    fn whatever_links_do_datagrams_come_once_and_time_goes_on(
        spills in any::<bool>(),
        steps in prop::collection::vec(
            ((0u8..4, 0usize..2, 0usize..2), 1u64..36, 200u64..1_000, 0usize..2), 8),
    ) {
        let (mut world, ways) = world(LinkPlan { spills, ..LinkPlan::default() });
        let mut next = [0; 2];
        for (how, mbit, millis, from) in steps {
            meddle(&mut world, &ways, how);
            let came;
            (next[from], came) =
                send(&mut world, from, mbit, Span::from_millis(millis), next[from]);
            let once: BTreeSet<u32> = came.iter().map(|(_, number)| *number).collect();
            prop_assert_eq!(once.len(), came.len());
        }
        ways.iter().flatten().for_each(|way| way.is_cut.set(false));
        let now = world.now;
        world.endpoints[CLIENT].set_link_open(now, 1, true);
        world.run(secs(5));
        for from in [CLIENT, SERVER] {
            let (_, came) = send(&mut world, from, 4, secs(1), next[from]);
            prop_assert!(mbit(&came, secs(1)) > 3.5, "{}", mbit(&came, secs(1)));
        }
    }
}
