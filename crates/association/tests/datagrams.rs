//! Datagrams of applications between two hosts: bytes are compared, whatever happens to the link and to the hosts.

mod world;

use std::collections::BTreeSet;
use std::task::{Context, Poll, Waker};

use bentpipe_association::Tuning;
use bentpipe_association::endpoint::Datagrams;
use bentpipe_testkit::pattern;
use bentpipe_tunnel::Datagram;
use bentpipe_units::Span;
use bentpipe_wire::Ecn;
use bytes::Bytes;

use world::{CLIENT, DELAY, SERVER, World, secs};

/// A datagram of this number, as long as the number says.
fn datagram(flow: u16, number: u32) -> Datagram {
    let rest = pattern(number as usize * 37 % 3_000);
    let bytes = Bytes::from([&number.to_be_bytes()[..], &rest].concat());
    Datagram { flow, ecn: Ecn::NotCapable, label: Bytes::new(), bytes }
}

/// Datagrams share the window of the path, or leave as they come.
fn settle(world: &mut World, shares: bool) {
    let window = shares.then(|| Tuning::default().config().expect("settings"));
    for end in [CLIENT, SERVER] {
        world.endpoints[end]
            .set_datagrams(Datagrams { window: window.clone(), ..Datagrams::default() });
    }
}

/// Sends these, ten milliseconds apart, and waits. Returns the numbers of those that came to the other end whole.
fn send(world: &mut World, from: usize, numbers: std::ops::Range<u32>) -> BTreeSet<u32> {
    let cx = &mut Context::from_waker(Waker::noop());
    let mut came = BTreeSet::new();
    for step in 0..numbers.len() as u32 + 500 {
        let number = numbers.start + step;
        if numbers.contains(&number) {
            let (now, peer) = (world.now, world.peer_of(from));
            world.endpoints[from].send_datagram(now, peer, datagram(1, number));
        }
        world.run(Span::from_millis(10));
        while let Poll::Ready((_, got)) = world.endpoints[1 - from].poll_datagram(cx) {
            let number = u32::from_be_bytes(got.bytes[..4].try_into().expect("four bytes"));
            assert_eq!(got, datagram(1, number));
            assert!(came.insert(number), "{number} came twice");
        }
    }
    came
}

/// A wire that loses one datagram of so many, evenly.
fn lossy(one_of: u64) -> impl FnMut(usize, &mut Vec<u8>) -> Vec<Span> {
    let mut state = 1u64;
    move |_, _| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        if (state >> 33).is_multiple_of(one_of) { Vec::new() } else { vec![DELAY] }
    }
}

#[test]
fn over_a_path_that_loses_one_in_twenty_all_but_a_few_come_whole_and_once() {
    for mut world in World::of_both_orders() {
        settle(&mut world, true);
        world.connect();
        world.run(secs(3));
        world.wire = Box::new(lossy(20));
        for from in [CLIENT, SERVER] {
            // The window grows first, and the queue drops what waits for it.
            send(&mut world, from, 0..300);
            let came = send(&mut world, from, 300..1_300);
            assert!(came.len() >= 990, "{} of 1,000", came.len());
        }
    }
}

#[test]
fn datagrams_go_on_after_either_host_was_started_anew() {
    for mut world in World::of_both_orders() {
        settle(&mut world, false);
        world.connect();
        world.run(secs(3));
        for restarted in [CLIENT, SERVER, CLIENT] {
            assert_eq!(send(&mut world, CLIENT, 0..200).len(), 200);
            assert_eq!(send(&mut world, SERVER, 0..200).len(), 200);
            world.restart(restarted);
            settle(&mut world, false);
            world.connect();
            // Whoever goes on finds out by silence.
            world.run(secs(20));
        }
        assert_eq!(send(&mut world, CLIENT, 0..200).len(), 200);
        assert_eq!(send(&mut world, SERVER, 0..200).len(), 200);
    }
}

#[test]
fn what_came_before_a_host_ended_does_not_come_to_it_again() {
    for mut world in World::of_both_orders() {
        settle(&mut world, false);
        world.connect();
        world.run(secs(3));
        assert_eq!(send(&mut world, SERVER, 0..100).len(), 100);
        // Nobody tells the server what came.
        world.wire = Box::new(|from, _| if from == CLIENT { Vec::new() } else { vec![DELAY] });
        let peer = world.peer_of(SERVER);
        for number in 100..110 {
            let now = world.now;
            world.endpoints[SERVER].send_datagram(now, peer, datagram(1, number));
        }
        world.run(DELAY + Span::from_millis(5));
        let cx = &mut Context::from_waker(Waker::noop());
        let mut came = 0;
        while world.endpoints[CLIENT].poll_datagram(cx).is_ready() {
            came += 1;
        }
        assert_eq!(came, 10);
        world.wire = Box::new(|_, _| vec![DELAY]);
        let now = world.now;
        world.endpoints[CLIENT].shut_down(now);
        world.pump();
        world.restart(CLIENT);
        settle(&mut world, false);
        world.connect();
        world.run(secs(20));
        assert!(world.endpoints[CLIENT].poll_datagram(cx).is_pending());
        assert_eq!(send(&mut world, SERVER, 200..300).len(), 100);
    }
}

#[test]
fn who_sends_datagrams_alone_slows_down_where_a_router_marks_them() {
    // 16 Mbit/s are offered for 20 s.
    let come = |marks: bool| {
        let mut world = World::new();
        settle(&mut world, true);
        world.connect();
        world.run(secs(3));
        world.ecn = Box::new(
            move |end, _| {
                if marks && end == CLIENT { Ecn::Congestion } else { Ecn::Capable0 }
            },
        );
        let (peer, cx) = (world.peer_of(CLIENT), &mut Context::from_waker(Waker::noop()));
        let mut came = 0;
        for _ in 0..2_000 {
            for _ in 0..20 {
                let datagram = Datagram {
                    flow: 1,
                    ecn: Ecn::Capable0,
                    label: Bytes::new(),
                    bytes: pattern(1_000),
                };
                world.endpoints[CLIENT].send_datagram(world.now, peer, datagram);
            }
            world.run(Span::from_millis(10));
            while world.endpoints[SERVER].poll_datagram(cx).is_ready() {
                came += 1;
            }
        }
        came
    };
    let (free, marked) = (come(false), come(true));
    assert!(marked * 3 < free, "{marked} came, and {free} without marks");
}

#[test]
fn an_outage_of_five_seconds_costs_what_was_sent_in_it_and_no_more() {
    let mut world = World::new();
    settle(&mut world, true);
    world.connect();
    world.run(secs(3));
    send(&mut world, CLIENT, 0..300);
    assert_eq!(send(&mut world, CLIENT, 300..400).len(), 100);
    world.wire = Box::new(|_, _| Vec::new());
    let lost = send(&mut world, CLIENT, 400..410);
    assert!(lost.is_empty());
    world.wire = Box::new(|_, _| vec![DELAY]);
    let came = send(&mut world, CLIENT, 410..610);
    assert!((410..610).all(|number| came.contains(&number)), "{came:?}");
}
