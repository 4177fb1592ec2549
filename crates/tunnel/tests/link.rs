//! Two tunnels over a link that loses, delays and reorders: what is offered arrives, once and in order.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bentpipe_cc::Choice;
use bentpipe_transport::xstp::{self, SharedMember, SharedPath};
use bentpipe_tunnel::{Config, Datagram, Message, Protection, Tunnel};
use bentpipe_units::{Instant, Span};
use bentpipe_wire::Ecn;
use bytes::Bytes;

use self::world::{Way, at, datagram, label, number};

mod world;

const ROOM: usize = 1_430;

struct World {
    now: Instant,
    tunnels: [Tunnel; 2],
    ways: [Way; 2],
    out: Vec<(Instant, Datagram)>,
}

impl World {
    fn new(seed: u64, mbit: u64, one_way: u64, loss: f64, jitter: u64, config: Config) -> Self {
        let way = |name: &str| {
            let mut way = Way::new(mbit, one_way, seed, name);
            (way.loss, way.jitter) = (loss, Span::from_millis(jitter));
            way
        };
        let mut tunnels = [Tunnel::new(config, seed), Tunnel::new(config, seed + 1)];
        let protection = if loss > 0.0 {
            Protection::Against { share: loss, worst: loss }
        } else {
            Protection::Off
        };
        tunnels.iter_mut().for_each(|tunnel| tunnel.set_protection(protection));
        Self { now: Instant::ZERO, tunnels, ways: [way("there"), way("back")], out: Vec::new() }
    }

    /// Runs until `end`; the next datagram is offered when `source` says.
    fn run(&mut self, end: Instant, source: &mut dyn FnMut(Instant) -> (Vec<Datagram>, Instant)) {
        let mut next_offer = Instant::ZERO;
        while self.now < end {
            if next_offer <= self.now {
                let (datagrams, next) = source(self.now);
                next_offer = next;
                for datagram in datagrams {
                    assert!(self.tunnels[0].offer(self.now, datagram));
                }
            }
            for (from, to) in [(0, 1), (1, 0)] {
                while let Some(message) = self.ways[from].arrived(self.now) {
                    self.tunnels[to].handle_message(self.now, Ecn::NotCapable, message);
                }
            }
            for (tunnel, way) in self.tunnels.iter_mut().zip(&mut self.ways) {
                tunnel.handle_timeout(self.now);
                if let Some(report) = tunnel.poll_report(self.now) {
                    way.send(self.now, report);
                }
                while way.is_free(self.now)
                    && let Some(message) = tunnel.poll_transmit(self.now, 0, ROOM)
                {
                    way.send(self.now, message);
                }
            }
            while let Some(datagram) = self.tunnels[1].poll_datagram() {
                let last = *datagram.bytes.last().expect("bytes");
                assert!([Bytes::new(), label(last)].contains(&datagram.label), "{datagram:?}");
                self.out.push((self.now, datagram));
            }
            let mut next = next_offer.min(end);
            for (tunnel, way) in self.tunnels.iter().zip(&self.ways) {
                let due = tunnel.deadline(0, ROOM).map(|due| due.max(way.free_at).max(self.now));
                next = [due, way.arrival()].into_iter().flatten().fold(next, Instant::min);
            }
            self.now = if next <= self.now { self.now + Span::from_micros(10) } else { next };
        }
    }
}

/// A download of so many datagrams at this rate; returns what the world looks like when all had the time to arrive.
fn download(mut world: World, count: u32, len: usize, mbit: f64) -> World {
    let each = Span::from_secs_f64(len as f64 * 8.0 / mbit / 1e6);
    let end = Instant::ZERO + each * u64::from(count) + Span::from_secs(5);
    let mut next = 0;
    world.run(end, &mut |now| {
        if next == count {
            return (Vec::new(), end);
        }
        next += 1;
        (vec![datagram(1, next - 1, len)], now + each)
    });
    assert!(world.out.iter().all(|(_, datagram)| !datagram.label.is_empty()));
    world
}

#[test]
fn flows_that_share_a_number_are_never_taken_for_each_other_whatever_is_lost_or_late() {
    for seed in 1..=5 {
        let mut world = World::new(seed, 10, 100, 0.1, 30, Config::default());
        let (mut next, end) = (0_u32, at(25_000));
        world.run(end, &mut |now| {
            if next == 20_000 {
                return (Vec::new(), end);
            }
            next += 1;
            // Three numbers, four flows each, of which each is silent now and then.
            let whose = (next * 7 / 5 % 12 + next / 3_000 % 2) as u16;
            let bytes = datagram(whose, next, 200).bytes;
            let one = Datagram { flow: whose % 3, bytes, ..datagram(whose, 0, 5) };
            (vec![one], now + Span::from_millis(1))
        });
        let nameless = world.out.iter().filter(|(_, datagram)| datagram.label.is_empty()).count();
        assert!(world.out.len() > 19_900 && nameless < 20, "{nameless} of {}", world.out.len());
    }
}

#[test]
fn a_clean_path_carries_whole_mtus_with_six_per_cent_of_overhead() {
    let world = download(World::new(1, 10, 300, 0.0, 0, Config::default()), 5_000, 1_472, 9.0);
    let numbers: Vec<u32> = world.out.iter().map(|(_, datagram)| number(datagram)).collect();
    assert!(numbers.iter().copied().eq(0..5_000));
    assert!(world.out.iter().all(|(_, datagram)| datagram.bytes.len() == 1_472));
    let overhead = world.ways[0].bytes as f64 / (5_000.0 * 1_472.0);
    // With the label each would take another hundredth.
    assert!(overhead < 1.06, "{overhead}");
    assert_eq!(world.tunnels[0].counters().retransmitted, 0);
}

#[test]
fn what_one_packet_in_nine_is_lost_of_arrives_in_order_and_but_for_one_in_ten_thousand() {
    for seed in 1..=5 {
        let world =
            download(World::new(seed, 10, 300, 0.11, 0, Config::default()), 10_000, 1_200, 7.0);
        let numbers: Vec<u32> = world.out.iter().map(|(_, datagram)| number(datagram)).collect();
        let missing = 10_000 - numbers.len();
        assert!(missing <= 3, "{missing}");
        let disordered = numbers.windows(2).filter(|pair| pair[1] < pair[0]).count();
        assert!(disordered <= 3, "{disordered}");
        let counters = world.tunnels[0].counters();
        assert!(counters.parity * 10 < counters.packets * 3, "{counters:?}");
        assert!(counters.retransmitted * 50 < counters.packets, "{counters:?}");
    }
}

#[test]
fn packets_become_short_where_bit_errors_damage_long_ones_and_stay_long_where_length_does_not_count()
 {
    for (bit_errors, loss, lengths) in [(1e-5, 0.0, 800..=1_100), (0.0, 0.11, 1_200..=1_500)] {
        let mut world = World::new(8, 10, 300, 0.0, 0, Config::default());
        (world.ways[0].bit_errors, world.ways[0].loss) = (bit_errors, loss);
        world.tunnels[0].set_protection(Protection::Against { share: 0.11, worst: 0.11 });
        let world = download(world, 20_000, 1_472, 7.0);
        let numbers: Vec<u32> = world.out.iter().map(|(_, datagram)| number(datagram)).collect();
        assert!(20_000 - numbers.len() <= 3, "{}", numbers.len());
        let counters = world.tunnels[0].counters();
        let sent = counters.packets + counters.parity + counters.retransmitted;
        let length = world.ways[0].bytes / sent;
        assert!(lengths.contains(&length), "{length}");
    }
}

#[test]
fn short_datagrams_all_arrive_however_late_they_are() {
    for (loss, jitter, most_missing) in [(0.0, 100, 0), (0.05, 0, 40)] {
        let mut world = World::new(1, 10, 300, loss, jitter, Config::default());
        world.tunnels[0].set_protection(Protection::Off);
        let world = download(world, 10_000, 40, 0.32);
        let numbers: BTreeSet<u32> = world.out.iter().map(|(_, one)| number(one)).collect();
        assert_eq!(numbers.len(), world.out.len(), "once");
        assert!(10_000 - numbers.len() <= most_missing, "{} of 10,000", numbers.len());
    }
}

#[test]
fn what_parity_brings_back_at_the_end_of_a_burst_is_not_retransmitted() {
    let mut world = World::new(1, 10, 300, 0.1, 0, Config::default());
    // All reports come.
    world.ways[1].loss = 0.0;
    let (mut next, end) = (0, at(300_000));
    world.run(end, &mut |now| {
        next += 20;
        ((next - 20..next).map(|n| datagram(1, n, 1_200)).collect(), now + Span::from_secs(3))
    });
    let recovered = world.tunnels[1].counters().recovered;
    let counters = world.tunnels[0].counters();
    assert!(recovered > 100 && counters.retransmitted * 100 < recovered, "{counters:?}");
}

#[test]
fn the_longest_datagram_arrives_while_packets_are_short() {
    let mut world = World::new(1, 20, 25, 0.0, 0, Config::default());
    world.tunnels[0].set_protection(Protection::Against { share: 0.2, worst: 0.2 });
    world.ways[0].bit_errors = 5e-5;
    let (mut next, end) = (0, at(20_000));
    world.run(end, &mut |now| {
        next += 1;
        if next <= 20_000 {
            return (vec![datagram(1, next, 700)], now + Span::from_micros(600));
        }
        let long = (next <= 20_020).then(|| datagram(2, next, 65_507));
        (long.into_iter().collect(), now + Span::from_millis(200))
    });
    let counters = world.tunnels[0].counters();
    let sent = counters.packets + counters.parity + counters.retransmitted;
    assert!(world.ways[0].bytes / sent < 600, "they are short: {counters:?}");
    let long: Vec<&Datagram> =
        world.out.iter().map(|(_, one)| one).filter(|d| d.flow == 2).collect();
    assert!(long.len() >= 19, "{} of 20", long.len());
    assert!(long.iter().all(|one| one.bytes == datagram(2, number(one), 65_507).bytes));
}

#[test]
fn without_parity_what_is_lost_is_retransmitted_and_comes_in_order() {
    let mut world = World::new(3, 20, 25, 0.01, 0, Config::default());
    world.tunnels[0].set_protection(Protection::Off);
    let world = download(world, 10_000, 1_200, 15.0);
    let numbers: Vec<u32> = world.out.iter().map(|(_, datagram)| number(datagram)).collect();
    assert!(10_000 - numbers.len() <= 10, "{}", numbers.len());
    let disordered = numbers.windows(2).filter(|pair| pair[1] < pair[0]).count();
    assert!(disordered <= 5, "{disordered}");
}

#[test]
fn a_path_that_reorders_loses_nothing() {
    let world = download(World::new(4, 20, 100, 0.0, 30, Config::default()), 10_000, 1_200, 15.0);
    let numbers: Vec<u32> = world.out.iter().map(|(_, datagram)| number(datagram)).collect();
    // The first ones were a sparse flow's, which is not put in order.
    assert!(numbers[8..].iter().copied().eq(8..10_000), "{numbers:?}");
    let counters = world.tunnels[0].counters();
    assert!(counters.retransmitted * 50 < counters.packets, "{counters:?}");
}

#[test]
fn a_call_beside_a_download_is_never_late_where_one_packet_in_a_hundred_is_lost() {
    let mut world = World::new(5, 10, 300, 0.01, 0, Config::default());
    let (mut calls, mut next) = (0, 0);
    let end = at(60_000);
    let mut sent = Vec::new();
    world.run(end, &mut |now| {
        let mut datagrams = Vec::new();
        while now >= at(20 * calls) && now < at(55_000) {
            datagrams.push(datagram(2, calls as u32, 172));
            sent.push(now);
            calls += 1;
        }
        // More than the link carries: it stands in the queue.
        for _ in 0..2 {
            datagrams.push(datagram(1, next, 1_200));
            next += 1;
        }
        (datagrams, now + Span::from_micros(1_600))
    });
    let call = world.out.iter().filter(|(_, datagram)| datagram.flow == 2);
    let late = |(at, datagram): &(Instant, Datagram)| {
        at.since(sent[number(datagram) as usize]) > Span::from_millis(330)
    };
    let arrived = call.clone().count();
    let late = call.filter(|came| late(came)).count();
    assert!(arrived as f64 >= 0.999 * calls as f64, "{arrived} of {calls}");
    assert!(late as f64 <= 0.01 * calls as f64, "{late} of {calls}");
}

#[test]
fn without_a_deadline_nothing_is_retransmitted_or_held_back() {
    let config = Config { deadline: Some(Span::ZERO), memory: None };
    let mut world = World::new(6, 20, 25, 0.05, 0, config);
    world.tunnels[0].set_protection(Protection::Ratio(0.2));
    let world = download(world, 5_000, 1_200, 10.0);
    assert_eq!(world.tunnels[0].counters().retransmitted, 0);
    let arrived = world.out.len();
    assert!((4_800..=5_000).contains(&arrived), "{arrived}");
}

#[test]
fn the_last_datagram_arrives_although_nothing_follows() {
    let mut arrived = 0;
    for seed in 0..200 {
        let mut world = World::new(seed, 10, 50, 0.05, 0, Config::default());
        world.tunnels[0].set_protection(Protection::Off);
        let mut first = true;
        world.run(at(6_000), &mut |_| {
            let one = std::mem::take(&mut first).then(|| datagram(1, 0, 5_000));
            (one.into_iter().collect(), at(6_000))
        });
        arrived += world.out.len();
        assert_eq!(world.tunnels[0].deadline(0, ROOM), None, "nothing is under way any more");
    }
    // Four packets, none lost: 0.81. Each once more: 0.99, less where reports are lost.
    assert!(arrived >= 195, "{arrived}");
}

#[test]
fn parity_that_was_lost_does_not_close_a_window_of_one_packet_for_ever() {
    let one = BTreeMap::from([("window".to_owned(), 1.0)]);
    let controller = Choice::new("fixed", one).expect("a controller");
    let path = SharedPath::new(Arc::new(xstp::Config { controller, ..Default::default() }));
    let [mut here, mut there] = [1, 2].map(|seed| Tunnel::new(Config::default(), seed));
    here.set_protection(Protection::Ratio(0.5));
    here.set_window(0, Some(SharedMember::new(&path)));
    let mut now = Instant::ZERO;
    for n in 0..20 {
        assert!(here.offer(now, datagram(1, n, 1_000)));
        // All that arrives are packets, and the reports of them.
        for _ in 0..100 {
            while let Some(message) = here.poll_transmit(now, 0, ROOM) {
                if matches!(message, Message::Packet(_)) {
                    there.handle_message(now, Ecn::NotCapable, message);
                }
            }
            now += Span::from_millis(100);
            if let Some(report) = there.poll_report(now) {
                here.handle_message(now, Ecn::NotCapable, report);
            }
            here.handle_timeout(now);
            there.handle_timeout(now);
        }
        assert_eq!(there.poll_datagram().map(|came| number(&came)), Some(n));
    }
}

#[test]
fn parity_of_short_packets_beside_a_few_long_ones_is_used() {
    let mut world = World::new(1, 20, 300, 0.05, 0, Config::default());
    world.ways[1].loss = 0.0;
    let (mut turn, mut next) = (0_u32, 0);
    world.run(at(43_000), &mut |now| {
        turn += 1;
        let mut all = Vec::new();
        if now < at(40_000) {
            // Ten calls of 50 datagrams a second each, and 450 kbit/s.
            if turn % 20 < 10 {
                all.push(datagram(10 + (turn % 20) as u16, turn, 172));
            }
            if turn.is_multiple_of(25) {
                all.push(datagram(1, next, 1_400));
                next += 1;
            }
        }
        (all, now + Span::from_millis(1))
    });
    let bulk = || world.out.iter().filter(|(_, one)| one.flow == 1);
    let is_late = |(at, one): &&(Instant, Datagram)| {
        at.since(Instant::ZERO) > Span::from_millis(25 * (u64::from(number(one)) + 1) + 700)
    };
    let (came, late) = (bulk().count(), bulk().filter(is_late).count());
    assert!(next as usize - came <= 3 && late <= 10, "{came} of {next}, {late} late");
}

#[test]
fn what_is_late_of_a_peer_of_before_keeps_nobody_from_being_heard() {
    let mut there = Tunnel::new(Config::default(), 9);
    let mut peers: Vec<Tunnel> =
        [8, 16, 24].map(|seed| Tunnel::new(Config::default(), seed)).into();
    let send = |peer: &mut Tunnel, millis, number| {
        peer.set_protection(Protection::Off);
        peer.offer(at(millis), datagram(1, number, 1_000));
        peer.poll_transmit(at(millis + 5), 0, ROOM).expect("a packet")
    };
    let late = send(&mut peers[0], 0, 0);
    let mut sent: Vec<Message> =
        peers.iter_mut().zip(1..).map(|(peer, number)| send(peer, 10, number)).collect();
    sent.push(late);
    sent.push(send(&mut peers[2], 20, 4));
    for message in sent {
        there.handle_message(at(30), Ecn::NotCapable, message);
    }
    let came: Vec<u32> =
        std::iter::from_fn(|| there.poll_datagram()).map(|one| number(&one)).collect();
    assert_eq!(came, [1, 2, 3, 4]);
    // A run that has the name of one which is long over is heard.
    let anew = send(&mut Tunnel::new(Config::default(), 8), 0, 5);
    there.handle_message(at(40_000), Ecn::NotCapable, anew);
    assert_eq!(there.poll_datagram().map(|one| number(&one)), Some(5));
}
