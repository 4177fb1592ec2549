//! Two tunnels over several paths: a flow uses all of them, a call the nearest one, and a path that is cut takes nothing along.

use bentpipe_link::Streams;
use bentpipe_tunnel::{Datagram, Protection};
use bentpipe_units::{Instant, Span};

use self::several::World;
use self::world::{at, datagram, number};

mod attacked;
mod several;
#[path = "../world/mod.rs"]
mod world;

#[test]
fn one_flow_uses_two_paths_that_are_as_near_and_arrives_in_order() {
    for seed in 1..=3 {
        let mut world = World::new(seed, &[(20, 25), (10, 30)]);
        let count = world.download(27.0, at(20_000), 0);
        world.settle();
        assert!(world.rate(at(2_000), at(20_000)) > 26.5);
        assert!(world.numbers(1).into_iter().eq(0..count), "seed {seed}");
        assert_eq!(world.tunnels[0].counters().retransmitted, 0);
    }
}

#[test]
fn what_two_paths_lose_is_made_good_and_comes_in_order() {
    for seed in 1..=3 {
        let mut world = World::new(seed, &[(20, 25), (10, 30)]);
        world.ways.iter_mut().flatten().for_each(|way| way.loss = 0.01);
        for tunnel in &mut world.tunnels {
            tunnel.set_protection(Protection::Against { share: 0.01, worst: 0.01 });
        }
        let count = world.download(24.0, at(20_000), 0);
        world.settle();
        let numbers = world.numbers(1);
        assert!(count - numbers.len() as u32 <= 5, "{} of {count}", numbers.len());
        let disordered = numbers.windows(2).filter(|pair| pair[1] < pair[0]).count();
        assert!(disordered <= 20, "seed {seed}: {disordered}");
    }
}

#[test]
fn a_flow_that_one_path_carries_does_not_use_another_one() {
    let mut world = World::new(1, &[(10, 300), (20, 25)]);
    let count = world.download(15.0, at(10_000), 0);
    world.settle();
    assert!(world.numbers(1).into_iter().eq(0..count));
    assert_eq!(world.ways[0][0].bytes, 0, "the one that is far");
}

#[test]
fn a_far_path_that_carries_more_takes_part_where_a_near_one_is_full_and_calls_keep_to_that() {
    let mut world = World::new(2, &[(20, 300), (10, 25)]);
    let (mut next, mut calls, mut sent) = (0, 0, Vec::new());
    let end = at(30_000);
    world.run(end, &mut |now| {
        let mut datagrams = Vec::new();
        while now >= at(20 * calls) && now < at(28_000) {
            datagrams.push(datagram(2, calls as u32, 172));
            sent.push(now);
            calls += 1;
        }
        datagrams.push(datagram(1, next, 1_200));
        next += 1;
        (datagrams, now + Span::from_micros(370))
    });
    assert!(world.rate(at(5_000), at(28_000)) > 24.0, "{}", world.rate(at(5_000), at(28_000)));
    let numbers = world.numbers(1);
    let disordered = numbers.windows(2).filter(|pair| pair[1] < pair[0]).count();
    assert!(disordered * 500 < numbers.len(), "{disordered} of {}", numbers.len());
    let call = world.out.iter().filter(|(_, datagram)| datagram.flow == 2);
    let delay = |(at, datagram): &(Instant, Datagram)| at.since(sent[number(datagram) as usize]);
    let late = call.clone().filter(|came| delay(came) > Span::from_millis(40)).count();
    assert!(call.count() as u64 == calls && late * 100 < calls as usize, "{late} of {calls}");
}

#[test]
fn a_path_that_costs_carries_only_what_others_do_not() {
    let mut world = World::new(3, &[(20, 30), (10, 25)]);
    world.plans[1].spills = true;
    world.download(15.0, at(10_000), 0);
    assert_eq!(world.ways[1][0].bytes, 0);
    let more = world.now + Span::from_secs(3);
    world.download(26.0, more + Span::from_secs(10), 1 << 20);
    assert!(world.rate(more, more + Span::from_secs(10)) > 25.0);
}

#[test]
fn a_path_that_is_cut_costs_some_datagrams_of_a_round_trip_and_no_pause_of_a_second() {
    for cut in [0, 1] {
        let mut world = World::new(4, &[(20, 25), (10, 30)]);
        let next = world.download(9.0, at(2_000), 0);
        let next = world.download(27.0, at(5_000), next);
        world.cut[cut] = true;
        // Whoever watches the path knows it after a second.
        let next = world.download(8.0, at(6_000), next);
        world.open.retain(|path| *path != cut);
        let next = world.download(8.0, at(9_000), next);
        world.cut[cut] = false;
        world.open = vec![0, 1];
        let count = world.download(27.0, at(14_000), next);
        world.settle();
        let times: Vec<Instant> = world.out.iter().map(|(at, _)| *at).collect();
        let pause = times.windows(2).map(|pair| pair[1].since(pair[0])).max();
        assert!(pause.is_some_and(|pause| pause < Span::from_millis(600)), "{cut}: {pause:?}");
        let numbers = world.numbers(1);
        let lost = count as usize - numbers.len();
        assert!(lost < 120, "{cut}: {lost} of {count}");
        assert!(world.rate(at(10_000), at(14_000)) > 26.0, "{cut}: it is used when it is back");
    }
}

#[test]
fn what_a_path_has_not_delivered_when_it_is_taken_out_goes_by_another_one() {
    let mut world = World::new(5, &[(20, 25), (10, 30)]);
    let next = world.download(27.0, at(3_000), 0);
    world.cut[1] = true;
    world.open = vec![0];
    let count = world.download(15.0, at(5_000), next);
    world.settle();
    assert!(world.numbers(1).into_iter().eq(0..count), "nothing is lost");
}

#[test]
fn whatever_becomes_of_paths_each_datagram_comes_once_as_it_was_and_all_goes_on_after_it() {
    for seed in 1..=12 {
        let mut world = World::new(seed, &[(20, 25), (10, 30), (8, 150)]);
        world.ways.iter_mut().flatten().for_each(|way| way.loss = 0.01);
        for tunnel in &mut world.tunnels {
            tunnel.set_protection(Protection::Against { share: 0.01, worst: 0.01 });
        }
        let (mut random, mut next) = (Streams::new(seed).stream("paths"), 0);
        for _ in 0..40 {
            let which = random.below(3) as usize;
            match random.below(3) {
                0 => world.cut[which] = !world.cut[which],
                1 if world.open.len() > 1 => world.open.retain(|path| *path != which),
                _ if world.open.contains(&which) => world.open.rotate_left(1),
                _ => world.open.push(which),
            }
            let span = Span::from_millis(10 + random.below(900));
            let end = world.now + span;
            next = world.download(1.0 + random.below(30) as f64, end, next);
        }
        (world.cut, world.open) = (vec![false; 3], vec![0, 1, 2]);
        let end = world.now + Span::from_secs(5);
        let next = world.download(8.0, end, next);
        let last = next;
        let end = world.now + Span::from_secs(5);
        let count = world.download(20.0, end, next);
        world.settle();
        let numbers = world.numbers(1);
        let mut once = numbers.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), numbers.len(), "seed {seed}: some came twice");
        let whole = |(_, one): &(Instant, Datagram)| *one == datagram(1, number(one), 1_200);
        assert!(world.out.iter().all(whole), "seed {seed}");
        let missing = (last..count).filter(|number| once.binary_search(number).is_err()).count();
        assert!(missing <= 5, "seed {seed}: {missing} of {}", count - last);
    }
}
