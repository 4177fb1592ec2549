use super::super::Stamp;
use super::*;

const MSS: u64 = 100;
const RTT: u64 = 100;

/// Segments of 100 bytes from offset 1 on, one in each millisecond, over a path of 100 ms.
struct World {
    board: Scoreboard,
    rack: Rack,
    now: Instant,
}

fn ms(ms: u64) -> Instant {
    Instant::ZERO + Span::from_millis(ms)
}

fn path(now: Instant) -> Path {
    let rtt = Span::from_millis(RTT);
    Path { now, srtt: rtt, min_rtt: rtt, mss: MSS, delivered: 0 }
}

impl World {
    /// Ten segments leave in ten milliseconds.
    fn ten_out() -> Self {
        let options =
            Options { threshold: 3, limited_transmit: true, aero_burst: 1, aero_adaptive: false };
        let board = Scoreboard::new(1);
        let mut world = Self { board, rack: Rack::new(options), now: ms(0) };
        for n in 0..10 {
            world.now = ms(n);
            world.send();
        }
        world
    }

    fn stamp(&self) -> Stamp {
        let at = self.now;
        Stamp { delivered: 0, delivered_at: at, first_sent_at: at, app_limited: false }
    }

    fn send(&mut self) {
        self.board.push(MSS as u32, false, self.now, self.stamp());
        let (_, segment) = self.board.last().expect("a segment");
        self.rack.departs(&self.board, segment);
    }

    fn retransmit(&mut self) {
        let index = self.board.next_retransmission().expect("something lost");
        self.board.resend(index, self.now, self.stamp());
        self.rack.departs(&self.board, self.board.get(index).expect("a segment"));
    }

    /// At this time the peer acknowledges everything before `offset` and reports a stretch.
    fn report(&mut self, at: u64, offset: u64, (first, end): (u64, u64)) -> Found {
        self.hear(at, offset, (first, end), false)
    }

    fn hear(&mut self, at: u64, offset: u64, (first, end): (u64, u64), twice: bool) -> Found {
        self.now = ms(at);
        let mut delivered = Delivered::default();
        let acked = offset - self.board.una();
        self.board.acknowledge(offset, &mut delivered);
        let cumulative = delivered.bytes;
        self.board.sack(first, end, &mut delivered);
        let (path, sacked) = (path(self.now), delivered.bytes - cumulative);
        let duplicate = acked == 0 && !twice;
        let ack = AckSeen { path, delivered, acked, sacked, duplicate, twice, asked: 0 };
        self.rack.on_ack(&mut self.board, &ack)
    }

    fn pass(&mut self, at: u64) -> Found {
        self.now = ms(at);
        self.rack.on_timer(&mut self.board, &path(self.now))
    }

    fn time_out(&mut self, at: u64) -> u64 {
        self.now = ms(at);
        self.rack.on_timeout(&mut self.board, &path(self.now))
    }
}

#[test]
fn three_segments_above_a_hole_make_it_lost_at_once() {
    let mut world = World::ten_out();
    assert_eq!(world.report(101, 1, (101, 301)).lost, 0);
    let found = world.report(103, 1, (101, 401));
    assert_eq!((found.lost, found.new_episode, found.again), (100, true, false));
    assert!(world.rack.is_active());
    assert!(world.report(109, 1001, (0, 0)).done && world.rack.is_open());
}

#[test]
fn one_segment_above_a_hole_makes_it_lost_a_quarter_of_a_round_trip_later() {
    let mut world = World::ten_out();
    let found = world.report(101, 1, (101, 201));
    assert_eq!(
        (found.lost, world.rack.deadline()),
        (0, Some(ms(101 + 12) + Span::from_micros(2_500)))
    );
    assert_eq!(world.pass(110).lost, 0);
    let found = world.pass(114);
    assert_eq!((found.lost, found.new_episode), (100, true));
    assert_eq!(world.rack.deadline(), None);
}

#[test]
fn the_loss_of_a_retransmission_is_found_by_what_left_after_it() {
    let mut world = World::ten_out();
    world.report(103, 1, (101, 401));
    world.retransmit();
    world.now = ms(104);
    world.send();
    assert_eq!(world.report(109, 1, (401, 1001)).lost, 0, "all that left before");
    let found = world.report(204, 1, (1001, 1101));
    assert_eq!((found.lost, found.again, found.new_episode), (100, true, false));
}

#[test]
fn where_the_path_changes_the_order_three_segments_are_not_enough() {
    let mut world = World::ten_out();
    world.report(101, 1, (101, 201));
    assert_eq!(world.report(102, 101, (0, 0)).lost, 0, "it was late");
    let found = world.report(106, 201, (301, 701));
    assert_eq!((found.lost, world.rack.deadline().is_some()), (0, true));
}

#[test]
fn what_comes_twice_makes_the_wait_longer_where_the_order_changes() {
    let mut world = World::ten_out();
    let wait = |world: &World| {
        world.rack.reordering.window(&Path { srtt: Span::from_millis(900), ..path(world.now) })
    };
    world.hear(101, 101, (0, 0), true);
    assert_eq!(wait(&world), Span::from_millis(25), "no other order was seen");
    world.report(103, 101, (301, 401));
    world.report(104, 201, (0, 0));
    world.hear(105, 201, (501, 601), true);
    assert_eq!(wait(&world), Span::from_millis(50));
}

#[test]
fn an_answer_sooner_than_any_says_nothing_of_a_retransmission() {
    let mut world = World::ten_out();
    world.report(103, 1, (101, 401));
    world.retransmit();
    // The original arrives after all: what left since the retransmission is not late.
    world.report(105, 401, (0, 0));
    assert_eq!(world.rack.arrived.map(|arrived| arrived.number), Some(4));
}

#[test]
fn a_timeout_gives_up_what_is_older_than_a_round_trip() {
    let mut world = World::ten_out();
    world.report(100, 101, (0, 0));
    world.now = ms(350);
    world.send();
    assert_eq!(world.time_out(400), 900, "not the one that left 50 ms ago");
    assert!(!world.rack.is_open() && !world.rack.is_active());
    assert!(world.report(500, 1101, (0, 0)).done);
}

#[test]
fn a_peer_that_drops_what_it_reported_gets_everything_again() {
    let mut world = World::ten_out();
    world.report(101, 1, (1, 101));
    assert_eq!(world.time_out(400), 1_000);
}

#[test]
fn what_left_before_a_timeout_and_arrives_shows_that_it_was_a_mistake() {
    let mut world = World::ten_out();
    world.time_out(400);
    world.retransmit();
    assert!(!world.report(410, 101, (0, 0)).mistaken, "that may be the retransmission");
    assert!(world.rack.prefers_new(), "new data are to show more");
    world.send();
    assert!(world.report(420, 201, (0, 0)).mistaken);
}

#[test]
fn new_data_that_are_reported_after_a_timeout_show_that_it_was_right() {
    let mut world = World::ten_out();
    world.time_out(400);
    world.retransmit();
    world.report(500, 101, (0, 0));
    world.send();
    let found = world.report(600, 101, (1001, 1101));
    assert!(!found.mistaken && !world.rack.prefers_new() && !world.rack.is_open());
}
