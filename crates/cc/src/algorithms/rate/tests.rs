//! The controller on a link that is simulated packet by packet.

use std::collections::VecDeque;

use bentpipe_units::{ByteCount, Instant, Span};

use super::*;
use crate::{Ack, Controller, Loss, LossCause, PathView};

/// Bytes of a packet.
const PACKET: u64 = 1200;

/// A packet of a connection, and whether the peer answers it.
#[derive(Clone, Copy)]
struct Packet {
    flow: usize,
    sent_at: f64,
    asks: bool,
    lost: bool,
}

/// A connection.
struct Flow {
    controller: Box<dyn Controller>,
    asked_at: f64,
    arrived: u64,
    lost: u64,
    delivered: u64,
    round: (u64, f64),
    srtt: f64,
}

/// Connections behind one pace, a queue of one product and a link, with a clock in seconds.
struct World {
    link: DedicatedLink,
    flows: Vec<Flow>,
    /// Mbit/s and the round trip of now.
    carries: f64,
    round_trip: f64,
    /// Bytes that may wait.
    room: f64,
    /// Of a thousand packets so many are lost.
    per_mille: u64,
    now: f64,
    next_packet: f64,
    next_flow: usize,
    free_at: f64,
    answers: VecDeque<(f64, Packet)>,
    random: u64,
    carried: u64,
    /// The longest and the shortest wait of the last stretch.
    wait: (f64, f64),
}

impl World {
    fn new(mbits: f64, round_trip: f64, flows: usize) -> Self {
        let link = DedicatedLink::new(BitRate::from_bps((mbits * 1e6) as u64));
        let mut world = Self {
            link,
            flows: Vec::new(),
            carries: mbits * 1.02,
            round_trip,
            room: mbits * 1e6 / 8.0 * round_trip,
            per_mille: 0,
            now: 0.0,
            next_packet: 0.0,
            next_flow: 0,
            free_at: 0.0,
            answers: VecDeque::new(),
            random: 1,
            carried: 0,
            wait: (0.0, f64::MAX),
        };
        (0..flows).for_each(|_| world.join());
        world
    }

    fn join(&mut self) {
        let controller = self.link.join(ByteCount::new(PACKET), ByteCount::new(1 << 30));
        let srtt = self.round_trip;
        self.flows.push(Flow {
            controller,
            asked_at: -1.0,
            arrived: 0,
            lost: 0,
            delivered: 0,
            round: (0, 0.0),
            srtt,
        });
    }

    /// Mbit/s that the link carried in so many seconds.
    fn go(&mut self, seconds: f64) -> f64 {
        let (until, before) = (self.now + seconds, self.carried);
        self.wait = (0.0, f64::MAX);
        loop {
            let answer = self.answers.front().map_or(f64::MAX, |(at, _)| *at);
            let next = answer.min(self.next_packet);
            if next >= until {
                break;
            }
            self.now = next;
            if answer <= self.next_packet {
                self.answer();
            } else {
                self.send();
            }
        }
        self.now = until;
        ((self.carried - before) * PACKET * 8) as f64 / seconds / 1e6
    }

    fn send(&mut self) {
        let flow = self.next_flow % self.flows.len();
        self.next_flow += 1;
        let at = Instant::ZERO + Span::from_secs_f64(self.now);
        self.link.sent(at, ByteCount::new(PACKET), ByteCount::new(PACKET));
        let asks = self.now - self.flows[flow].asked_at >= self.flows[flow].srtt / 16.0;
        if asks {
            self.flows[flow].asked_at = self.now;
        }
        let pace = self.link.pace().as_bps() as f64;
        self.next_packet = self.now + PACKET as f64 * 8.0 / pace;
        let waits = (self.free_at - self.now).max(0.0);
        let rate = self.carries * 1e6 / 8.0;
        self.wait = (self.wait.0.max(waits), self.wait.1.min(waits));
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let noise = (self.random >> 33) % 1000 < self.per_mille;
        let full = waits * rate > self.room;
        if !full {
            self.free_at = self.now + waits + PACKET as f64 / rate;
        }
        let back = if full { self.now + waits } else { self.free_at } + self.round_trip;
        let packet = Packet { flow, sent_at: self.now, asks, lost: full || noise };
        let place = self.answers.partition_point(|(at, _)| *at <= back);
        self.answers.insert(place, (back, packet));
    }

    fn answer(&mut self) {
        let Some((_, packet)) = self.answers.pop_front() else { return };
        let flow = &mut self.flows[packet.flow];
        if packet.lost {
            flow.lost += 1;
            return;
        }
        flow.arrived += 1;
        self.carried += 1;
        if !packet.asks {
            return;
        }
        let rtt = self.now - packet.sent_at;
        flow.srtt += (rtt - flow.srtt) / 8.0;
        flow.delivered += flow.arrived * PACKET;
        if packet.sent_at >= flow.round.1 {
            flow.round = (flow.round.0 + 1, self.now);
        }
        let (now, span) = (Instant::ZERO + Span::from_secs_f64(self.now), Span::from_secs_f64(rtt));
        let path = PathView {
            now,
            mss: ByteCount::new(PACKET),
            in_flight: ByteCount::ZERO,
            peer_window: ByteCount::new(1 << 30),
            srtt: Span::from_secs_f64(flow.srtt),
            latest_rtt: span,
            min_rtt: span,
            return_delay: None,
            round: flow.round.0,
            delivered: ByteCount::new(flow.delivered),
            cwnd_limited: false,
        };
        let bytes = ByteCount::new(flow.arrived * PACKET);
        let (segments, acks, advanced) = (flow.arrived, flow.arrived, bytes);
        let newest_sent_at = now.before(span);
        let (rate_sample, in_recovery) = (None, false);
        let ack = Ack {
            bytes,
            advanced,
            segments,
            newest_sent_at,
            rate_sample,
            acks,
            in_recovery,
            repairing: in_recovery,
            lost: ByteCount::ZERO,
            marked: ByteCount::ZERO,
        };
        flow.controller.on_ack(&path, &ack);
        if flow.lost > 0 {
            let (bytes, cause) = (ByteCount::new(flow.lost * PACKET), LossCause::Nack);
            let (new_episode, again, looks_corrupt) = (true, false, false);
            let loss = Loss { bytes, cause, new_episode, again, looks_corrupt };
            flow.controller.on_loss(&path, &loss);
        }
        (flow.arrived, flow.lost) = (0, 0);
    }
}

/// Geostationary and low orbits: Mbit/s and the round trip.
const GEO: (f64, f64) = (10.0, 0.6);
const LEO: (f64, f64) = (20.0, 0.05);

/// Mbit/s of the rate that the link is given.
fn given(world: &World) -> f64 {
    world.link.carried().as_bps() as f64 / 1e6
}

#[test]
fn on_a_link_that_carries_it_the_rate_stays() {
    for (mbits, round_trip) in [GEO, LEO] {
        for per_mille in [0, 10, 100] {
            let mut world = World::new(mbits, round_trip, 1);
            world.per_mille = per_mille;
            for _ in 0..100 {
                world.go(0.3);
                assert_eq!(given(&world), mbits, "{round_trip} {per_mille}");
            }
        }
    }
}

#[test]
fn what_a_slower_link_carries_is_used_without_a_standing_queue_by_one_and_by_four() {
    for (mbits, round_trip) in [GEO, LEO] {
        for flows in [1, 4] {
            let mut world = World::new(mbits, round_trip, flows);
            world.go(4.0);
            world.carries = mbits / 5.0;
            // Found within 3 s; a queue of a product takes five round trips to drain.
            world.go(3.0);
            assert!(given(&world) < mbits / 4.0, "{}", given(&world));
            world.go(5.0 * round_trip);
            let carried = world.go(10.0);
            assert!(carried > 0.9 * mbits / 5.0, "{carried}");
            assert!(world.wait.0 < 0.3 && world.wait.1 < 0.05, "{:?}", world.wait);
        }
    }
}

#[test]
fn a_link_that_is_back_is_full_within_three_seconds() {
    for (mbits, round_trip) in [GEO, LEO] {
        for flows in [1, 4] {
            let mut world = World::new(mbits, round_trip, flows);
            world.go(4.0);
            world.carries = mbits / 5.0;
            world.go(12.0);
            world.carries = mbits * 1.02;
            world.go(3.0);
            let carried = world.go(3.0);
            assert!(carried > 0.95 * mbits, "{carried}");
        }
    }
}

#[test]
fn a_longer_path_is_no_queue_and_neither_is_what_was_before_a_shorter_one() {
    for ((mbits, round_trip), longer) in [(GEO, 0.2), (LEO, 0.02), (LEO, 0.04), (LEO, 0.08)] {
        for flows in [1, 4] {
            let mut world = World::new(mbits, round_trip, flows);
            world.go(4.0);
            for change in [longer, -longer] {
                world.round_trip += change;
                world.go(3.0);
                let carried = world.go(5.0);
                assert!(carried > 0.98 * mbits, "{change} {flows}: {carried}");
            }
        }
    }
}

#[test]
fn a_rate_that_is_a_tenth_too_high_fills_the_link() {
    let mut world = World::new(GEO.0, GEO.1, 1);
    world.carries = GEO.0 / 1.1;
    world.go(4.0);
    let carried = world.go(20.0);
    assert!(carried > 0.95 * GEO.0 / 1.1 && world.wait.0 < 0.3, "{carried} {:?}", world.wait);
}

#[test]
fn a_rate_that_is_five_times_too_high_is_found_out_behind_a_queue_that_is_much_too_short() {
    for flows in [1, 4] {
        for (mbits, round_trip) in [GEO, LEO] {
            let mut world = World::new(mbits, round_trip, flows);
            world.carries = mbits / 5.0;
            world.room = mbits * 1e6 / 8.0 * round_trip / 10.0;
            world.go(10.0 * round_trip);
            let (carried, pace) = (world.go(20.0), given(&world));
            assert!(carried > 0.8 * mbits / 5.0 && pace < 1.5 * mbits / 5.0, "{carried} {pace}");
        }
    }
}

#[test]
fn what_is_answered_elsewhere_is_not_lost_between_two_answers() {
    let mut world = World::new(GEO.0, GEO.1, 1);
    world.go(2.0);
    let before = world.link.pace();
    for _ in 0..10 {
        // A tunnel fills the link, and the connection has little to say.
        for _ in 0..1_000 {
            let at = Instant::ZERO + Span::from_secs_f64(world.now);
            world.link.sent(at, ByteCount::new(PACKET), ByteCount::ZERO);
            world.now += 0.0012;
        }
        world.next_packet = world.now;
        world.flows[0].asked_at = -1.0;
        world.go(0.01);
        assert_eq!(world.link.pace(), before);
    }
}

#[test]
fn a_connection_that_comes_later_knows_the_path_of_the_others() {
    let mut world = World::new(GEO.0, GEO.1, 1);
    world.carries = GEO.0 / 5.0;
    for _ in 0..3 {
        world.go(4.0);
        world.join();
    }
    world.go(4.0);
    let carried = world.go(10.0);
    assert!(carried > 0.9 * GEO.0 / 5.0 && world.wait.0 < 0.3, "{carried} {:?}", world.wait);
}

#[test]
fn a_rate_that_is_given_anew_counts_at_once() {
    let mut world = World::new(GEO.0, GEO.1, 1);
    world.go(4.0);
    let rate = BitRate::from_bps(4_000_000);
    world.link.set_rate(rate);
    assert_eq!((world.link.carried(), world.link.pace()), (rate, rate));
    world.go(1.0);
    let carried = world.go(10.0);
    assert!((carried - 4.0).abs() < 0.1, "{carried}");
}

#[test]
fn single_losses_change_nothing() {
    let mut world = World::new(GEO.0, GEO.1, 1);
    world.go(2.0);
    let before = world.flows[0].controller.limits();
    world.per_mille = 200;
    world.go(10.0);
    let after = world.flows[0].controller.limits();
    assert_eq!(before.pacing, after.pacing);
}
