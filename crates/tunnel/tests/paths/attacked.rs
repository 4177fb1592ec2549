//! What an attack has found.

use std::collections::BTreeMap;
use std::sync::Arc;

use bentpipe_cc::Choice;
use bentpipe_link::Streams;
use bentpipe_transport::xstp::{self, SharedMember, SharedPath};
use bentpipe_tunnel::{Config, Message, PathPlan, Protection, Tunnel};
use bentpipe_units::{BitRate, Instant, Seq32, Span};
use bentpipe_wire::Ecn;

use super::several::{ROOM, World};
use super::world::{at, datagram, number};

fn plan(path: usize, millis: u64) -> (usize, PathPlan) {
    let round_trip = Some(Span::from_millis(millis));
    (path, PathPlan { round_trip, ..PathPlan::default() })
}

/// A part of a window of so many packets.
fn window(packets: f64) -> SharedMember {
    let one = BTreeMap::from([("window".to_owned(), packets)]);
    let controller = Choice::new("fixed", one).expect("a controller");
    let config = xstp::Config { controller, ..Default::default() };
    SharedMember::new(&SharedPath::new(Arc::new(config)))
}

/// All that leaves now, with the path by which it does.
fn poll(tunnel: &mut Tunnel, now: Instant) -> Vec<(usize, Message)> {
    let mut out = Vec::new();
    for path in [0, 1] {
        while let Some(message) = tunnel.poll_transmit(now, path, ROOM) {
            out.push((path, message));
        }
    }
    out
}

/// A tunnel with a deadline.
fn within(millis: u64) -> Config {
    Config { deadline: Some(Span::from_millis(millis)), memory: None }
}

#[test]
fn where_a_call_waits_for_a_full_window_nobody_is_told_that_something_leaves_now() {
    let mut tunnel = Tunnel::new(Config::default(), 1);
    tunnel.set_paths(at(0), &[plan(0, 50), plan(1, 60)]);
    [0, 1].into_iter().for_each(|path| tunnel.set_window(path, Some(window(10.0))));
    for millis in 0..60 {
        (0..2).for_each(|_| assert!(tunnel.offer(at(millis), datagram(1, 0, 1_200))));
        poll(&mut tunnel, at(millis));
    }
    for flow in 100..200 {
        assert!(tunnel.offer(at(60), datagram(flow, 0, 1_000)));
        poll(&mut tunnel, at(60));
    }
    tunnel.handle_timeout(at(61));
    poll(&mut tunnel, at(61));
    let due = [0, 1].map(|path| tunnel.deadline(path, ROOM));
    assert!(due.iter().flatten().all(|due| *due > at(61)), "{due:?}");
}

#[test]
fn without_a_deadline_what_nobody_answers_is_looked_at_now_and_then() {
    let mut tunnel = Tunnel::new(within(0), 1);
    assert!(tunnel.offer(at(0), datagram(1, 0, 1_200)));
    let (mut now, mut turns) = (at(5), 0);
    while let Some(due) = tunnel.deadline(0, ROOM) {
        now = now.max(due);
        tunnel.handle_timeout(now);
        poll(&mut tunnel, now);
        turns += 1;
        assert!(turns < 100, "at {now}");
    }
}

#[test]
fn paths_that_lose_nothing_do_not_stall_however_seldom_their_receiver_reports() {
    for millis in [1_000, 2_000, 5_000] {
        for mbit in [10.0, 25.0] {
            let mut world = World::with(1, &[(20, 25), (10, 30)], within(millis));
            world.download(mbit, at(20_000), 0);
            world.settle();
            let counters = world.tunnels[0].counters();
            // The last one of each path, of which is told late.
            assert!(counters.retransmitted <= 2, "{millis} ms, {mbit} Mbit/s: {counters:?}");
            assert!(world.rate(at(4_000), at(20_000)) > mbit * 0.99, "{millis} ms, {mbit} Mbit/s");
        }
    }
}

#[test]
fn short_datagrams_by_two_paths_all_arrive() {
    let mut world = World::new(1, &[(20, 25), (10, 50)]);
    let (mut next, end) = (0, at(5_000));
    world.run(end, &mut |now| {
        next += 1;
        (vec![datagram(1, next - 1, 200)], now + Span::from_micros(70))
    });
    world.settle();
    let mut numbers = world.numbers(1);
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(0..next));
    assert!(world.ways.iter().all(|ways| ways[0].bytes > 1_000_000), "both carry");
}

#[test]
fn numbers_of_parity_follow_each_other_when_a_path_stalls_and_others_go_on() {
    for seed in 0..100 {
        let mut random = Streams::new(seed).stream("stalls");
        let mut here = Tunnel::new(Config::default(), seed);
        here.set_protection(Protection::Against { share: 0.2, worst: 0.2 });
        here.set_paths(at(0), &[plan(0, 40), plan(1, 60)]);
        let mut last = BTreeMap::new();
        let mut came = 0;
        for millis in 1..400 {
            if random.below(3) == 0 {
                here.offer(at(millis), datagram(1, 0, 500 + random.below(9_000) as usize));
            }
            here.handle_timeout(at(millis));
            // Nobody reports, and each path carries a packet in a millisecond.
            let sent = [0, 1].map(|path| here.poll_transmit(at(millis), path, ROOM));
            for message in sent.into_iter().flatten() {
                if let Message::Parity(parity) = message {
                    let before = last.insert(parity.run, (parity.index, parity.seq));
                    let follows = |(index, seq): (u8, Seq32)| {
                        index + 1 != parity.index || seq.plus(1) == parity.seq
                    };
                    assert!(before.is_none_or(follows), "seed {seed}: {parity:?}");
                    came += 1;
                }
            }
        }
        assert!(came > 10, "seed {seed}");
    }
}

#[test]
fn a_pause_is_no_stall_although_parity_was_lost_before_it() {
    let [mut here, mut there] = [1, 2].map(|seed| Tunnel::new(Config::default(), seed));
    here.set_protection(Protection::Ratio(0.2));
    for tunnel in [&mut here, &mut there] {
        tunnel.set_paths(at(0), &[plan(0, 50), plan(1, 60)]);
    }
    let (mut out, mut back, mut parity) = (Vec::new(), Vec::new(), 0);
    for millis in 0..3_000 {
        let now = at(millis);
        if millis % 150 == 0 {
            (0..8).for_each(|_| assert!(here.offer(now, datagram(1, 0, 1_200))));
        }
        here.handle_timeout(now);
        there.handle_timeout(now);
        for (path, message) in poll(&mut here, now) {
            assert_eq!(path, 0);
            parity += usize::from(matches!(message, Message::Parity(_)));
            if !matches!(message, Message::Parity(_)) || parity % 10 != 0 {
                out.push((millis + 25, message));
            }
        }
        while let Some(report) = there.poll_report(now) {
            back.push((millis + 25, report));
        }
        for (way, to) in [(&mut out, &mut there), (&mut back, &mut here)] {
            for (_, message) in way.extract_if(.., |(due, _)| *due == millis) {
                to.handle_message(now, Ecn::NotCapable, message);
            }
        }
    }
    assert!(parity > 30 && here.counters().retransmitted == 0);
}

/// A call, flow 2, beside a download at this rate until then. Returns how late the latest of the call came.
fn call(world: &mut World, mbit: f64, end: Instant, next: &mut u32) -> Span {
    let each = Span::from_secs_f64(1_200.0 * 8.0 / mbit / 1e6);
    let (mut due, mut sent, begin) = (world.now, Vec::new(), world.out.len());
    world.run(end, &mut |now| {
        let mut datagrams = vec![datagram(1, *next, 1_200)];
        *next += 1;
        while due <= now {
            datagrams.push(datagram(2, sent.len() as u32, 172));
            sent.push(now);
            due += Span::from_millis(20);
        }
        (datagrams, now + each)
    });
    // What was under way before is not counted.
    let came = world.out[begin..].iter().filter(|(at, one)| {
        one.flow == 2 && sent.get(number(one) as usize).is_some_and(|sent| sent < at)
    });
    let delays = came.map(|(at, one)| at.since(sent[number(one) as usize]));
    delays.max().expect("a call")
}

#[test]
fn what_a_wide_path_had_does_not_hold_up_calls_when_it_is_gone() {
    for told in [true, false] {
        let mut world = World::new(4, &[(10, 25), (50, 300)]);
        let mut next = 0;
        call(&mut world, 55.0, at(15_000), &mut next);
        assert!(world.rate(at(10_000), at(15_000)) > 50.0);
        world.cut[1] = true;
        if told {
            world.open = vec![0];
        }
        // The queue that the download had made ends.
        let late = call(&mut world, 4.0, at(20_000), &mut next);
        assert!(late < Span::from_millis(100), "told {told}: {late:?}");
    }
}

#[test]
fn what_a_wide_path_had_waits_for_the_window_of_the_one_that_is_left() {
    let mut tunnel = Tunnel::new(Config::default(), 1);
    let wide = PathPlan { rate: Some(BitRate::from_bps(50_000_000)), ..plan(1, 600).1 };
    tunnel.set_paths(at(0), &[plan(0, 50), (1, wide)]);
    tunnel.set_window(0, Some(window(40.0)));
    tunnel.set_window(1, Some(window(3_000.0)));
    let mut sent = 0;
    for millis in 0..1_500 {
        (0..5).for_each(|_| assert!(tunnel.offer(at(millis), datagram(1, 0, 1_200))));
        sent += poll(&mut tunnel, at(millis)).iter().filter(|(path, _)| *path == 1).count();
    }
    assert!(sent > 300, "{sent}");
    tunnel.set_paths(at(1_500), &[plan(0, 50)]);
    let left = poll(&mut tunnel, at(1_500)).len();
    assert!(left < 50, "{left} of {sent} at once");
}

#[test]
fn calls_on_a_narrow_path_leave_the_wide_one_beside_it_to_bulk() {
    let mut world = World::new(4, &[(1, 25), (20, 30)]);
    let (mut next, mut calls) = (0, 0);
    world.run(at(20_000), &mut |now| {
        let mut datagrams = vec![datagram(1, next, 1_200)];
        next += 1;
        while at(5 * calls) <= now {
            datagrams.push(datagram(10 + (calls % 4) as u16, calls as u32, 172));
            calls += 1;
        }
        (datagrams, now + Span::from_micros(533))
    });
    assert!(world.rate(at(5_000), at(20_000)) > 17.0, "{}", world.rate(at(5_000), at(20_000)));
}

#[test]
fn a_path_that_is_farther_than_anything_is_waited_for_carries_nothing() {
    for (millis, paths) in [(100, [(10, 25), (20, 300)]), (0, [(20, 25), (10, 30)])] {
        let mut world = World::with(2, &paths, within(millis));
        world.download(26.0, at(10_000), 0);
        assert_eq!(world.ways[1][0].bytes, 0, "{millis} ms");
        let carried = paths[0].0 as f64;
        assert!(world.rate(at(5_000), at(10_000)) > 0.9 * carried, "{millis} ms");
    }
}

#[test]
fn what_a_far_path_carries_when_it_joins_is_waited_for() {
    for paths in [[(10, 25), (20, 300)], [(20, 25), (10, 40)], [(10, 25), (20, 100)]] {
        let mut world = World::new(2, &paths);
        let next = world.download(8.0, at(5_000), 0);
        let full = world.download(25.0, at(15_000), next);
        let dropped = world.tunnels[0].counters().dropped as usize;
        let low = world.download(5.0, at(40_000), full);
        let count = world.download(25.0, at(50_000), low);
        world.settle();
        let dropped = dropped.max(world.tunnels[0].counters().dropped as usize);
        let numbers = world.numbers(1);
        let lost = count as usize - dropped - numbers.len();
        assert_eq!(lost, 0, "{paths:?}: {dropped} dropped by the queue");
        let disordered = numbers.windows(2).filter(|pair| pair[1] < pair[0]).count();
        assert_eq!(disordered, 0, "{paths:?}");
    }
}

#[test]
fn a_path_that_costs_leaves_bursts_to_the_first_one_if_that_carries_them() {
    let mut world = World::new(3, &[(20, 30), (10, 25)]);
    world.plans[1].spills = true;
    let mut next = world.download(26.0, at(5_000), 0);
    let each = Span::from_secs_f64(10.0 * 1_200.0 * 8.0 / 17.5e6);
    let mut bursts = |world: &mut World, until| {
        world.run(until, &mut |now| {
            next += 10;
            ((next - 10..next).map(|n| datagram(1, n, 1_200)).collect(), now + each)
        });
    };
    bursts(&mut world, at(10_000));
    let before = world.ways[1][0].bytes;
    bursts(&mut world, at(20_000));
    assert_eq!(world.ways[1][0].bytes - before, 0);
}

#[test]
fn what_leaves_in_place_of_parity_that_a_stall_left_behind_is_no_parity() {
    let [mut here, mut there] = [8, 16].map(|seed| Tunnel::new(Config::default(), seed));
    here.set_protection(Protection::Ratio(0.5));
    here.set_paths(at(0), &[plan(0, 40), plan(1, 60)]);
    for number in 0..8 {
        here.offer(at(0), datagram(1, number, 1_400));
    }
    let first: Vec<Message> = std::iter::from_fn(|| here.poll_transmit(at(3), 0, ROOM)).collect();
    // One of four parity packets, then nothing is heard.
    let parity = here.poll_transmit(at(20), 0, ROOM).expect("parity");
    let stalls = |here: &mut Tunnel, millis: &u64| {
        here.handle_timeout(at(*millis));
        here.nearest() == 1
    };
    let stalled = (21..300).find(|millis| stalls(&mut here, millis)).expect("the path stalls");
    let again: Vec<Message> =
        std::iter::from_fn(|| here.poll_transmit(at(stalled), 1, ROOM)).collect();
    let mut trials = Vec::new();
    for millis in stalled + 1..stalled + 700 {
        here.offer(at(millis), datagram(1, 8 + (millis - stalled) as u32, 1_400));
        here.handle_timeout(at(millis));
        trials.extend(here.poll_transmit(at(millis), 0, ROOM).filter(|sent| sent.path() == 0));
    }
    let is_packet = |message: &Message| matches!(message, Message::Packet(_));
    let [next, overtaking, ..] =
        trials.iter().filter(|sent| is_packet(sent)).collect::<Vec<_>>()[..]
    else {
        panic!("two packets by the path that stalled")
    };
    // One packet is lost; parity makes it after something that left later has come.
    let late = [&first[..2], &first[3..]].concat();
    let rest = [overtaking, &parity, again.last().expect("what was begun"), next].map(Clone::clone);
    for message in late.into_iter().chain(rest) {
        there.handle_message(at(800), Ecn::NotCapable, message);
    }
    there.handle_timeout(at(20_000));
    let came: Vec<u32> =
        std::iter::from_fn(|| there.poll_datagram()).map(|one| number(&one)).collect();
    assert_eq!(came, [0, 1, 2, 3, 4, 5, 6, 7, 9], "the last one left after the stall");
}
