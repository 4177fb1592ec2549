use bentpipe_units::{BitRate, ByteCount, Seq32, Span};
use bentpipe_wire::{Ecn, Kind};
use proptest::prelude::*;

use super::*;
use crate::QueueLimit;
use crate::mac::{Access, CfDamaConfig};
use crate::queue::{CodelConfig, Cumulative, DisciplineSpec, FlowKey, QueueSpec};

fn ms(n: u64) -> Instant {
    Instant::ZERO + Span::from_millis(n)
}

/// 1000 bytes take a millisecond.
const RATE: BitRate = BitRate::from_bps(8_000_000);

fn hop(name: &str, delay: u64, loss: f64) -> Hop {
    let rate = ModelSpec::Rate { rate: RATE, queue: QueueLimit::Packets(2) };
    let models =
        vec![rate, ModelSpec::Delay(Span::from_millis(delay)), ModelSpec::RandomLoss(loss)];
    Hop { name: name.to_owned(), forward_link: models.clone(), return_link: models }
}

/// A link that takes its time and nothing else: its transmitter is a station's.
fn bare(name: &str, delay: u64) -> Hop {
    let models = vec![ModelSpec::Delay(Span::from_millis(delay))];
    Hop { name: name.to_owned(), forward_link: models.clone(), return_link: models }
}

/// A packet of a thousand bytes, or an acknowledgment of fifty.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Test {
    id: u64,
    ack: Option<u32>,
    ecn: Ecn,
}

const fn data(id: u64) -> Test {
    Test { id, ack: None, ecn: Ecn::NotCapable }
}

const fn ack(id: u64, next: u32) -> Test {
    Test { id, ack: Some(next), ecn: Ecn::NotCapable }
}

impl Carried for Test {
    fn describe(&self) -> Description {
        let ack = self.ack.map(|next| Cumulative { next: Seq32::new(next), plain: true });
        let (bytes, kind) = if ack.is_some() { (50, Kind::ACK) } else { (1000, Kind::DATA) };
        Description { bytes: ByteCount::new(bytes), kind, ecn: self.ecn, flow: FlowKey(1), ack }
    }

    fn mark(&mut self) {
        self.ecn = Ecn::Congestion;
    }
}

/// A line of its own before the first link, with this queue.
fn line(discipline: DisciplineSpec, limit: u32) -> MacSpec {
    MacSpec::Line { rate: RATE, queue: QueueSpec { limit: QueueLimit::Packets(limit), discipline } }
}

fn feeds(hop: usize, direction: Direction) -> StationLine {
    StationLine { name: format!("{hop}/{direction:?}"), feeds: Some((hop, direction)) }
}

/// What leaves until `until`, at the moment when something happens.
fn leaving(path: &mut Path<Test>, until: Instant) -> Vec<(u64, Instant)> {
    let mut left = Vec::new();
    while let Some(at) = path.next().filter(|at| *at <= until) {
        while let Some((_, packet)) = path.leave(at) {
            left.push((packet.id, at));
        }
    }
    left
}

#[test]
fn packets_take_their_time_over_every_link_and_wait_for_each_other() {
    let mut path = Path::new(&[hop("a", 10, 0.0), hop("b", 20, 0.0)], 1);
    for n in 0..5 {
        // A thousand bytes take a millisecond on each of the two.
        path.enter(ms(0), Direction::Forward, data(n));
    }
    assert_eq!(path.next(), Some(ms(32)));
    assert_eq!(path.leave(ms(31)), None);
    let left: Vec<_> = std::iter::from_fn(|| path.leave(ms(40))).map(|(_, n)| n.id).collect();
    assert_eq!(left, [0, 1, 2], "one on the line and two waiting");
    let counters = path.counters(Direction::Forward);
    assert_eq!((counters.packets, counters.delivered, counters.lost_queue_full), (5, 3, 2));
    assert_eq!((counters.bytes, counters.delivered_bytes), (5000, 3000));
    assert_eq!(path.counters(Direction::Return), &Counters::default());
}

#[test]
fn the_same_seed_loses_the_same_packets() {
    let survivors = |seed| -> Vec<u64> {
        let mut path = Path::new(&[hop("a", 10, 0.3)], seed);
        for n in 0..200 {
            path.enter(ms(2 * n), Direction::Return, data(n));
        }
        std::iter::from_fn(|| path.leave(Instant::MAX)).map(|(_, n)| n.id).collect()
    };
    assert_eq!(survivors(1), survivors(1));
    assert_ne!(survivors(1), survivors(2));
    assert!((120..160).contains(&survivors(1).len()));
}

#[test]
fn a_queue_in_the_middle_of_a_path_filters_acknowledgments() {
    let mut path = Path::new(&[bare("a", 5), bare("b", 10)], 1);
    let filter = DisciplineSpec::AckFilter { reports: false, in_place: false };
    path.add_station(&line(filter, 50), &[feeds(0, Direction::Return)]);
    for n in 0..4 {
        path.enter(ms(0), Direction::Return, data(n));
    }
    for n in 4..10 {
        path.enter(ms(1), Direction::Return, ack(n, 1000 * n as u32));
    }
    // 10 ms over b, then one after the other on the line before a.
    let left = leaving(&mut path, ms(1000));
    let forty = Span::from_micros(50);
    let expected = [(0, ms(16)), (1, ms(17)), (2, ms(18)), (3, ms(19)), (9, ms(19) + forty)];
    assert_eq!(left, expected);
    let counters = path.counters(Direction::Return);
    assert_eq!((counters.acks_filtered, counters.delivered, counters.all_lost()), (5, 5, 0));
}

#[test]
fn a_queue_that_marks_leaves_its_mark_on_the_packets() {
    let mut path = Path::new(&[bare("a", 0)], 1);
    let codel = CodelConfig { ecn: true, ..CodelConfig::default() };
    path.add_station(&line(DisciplineSpec::Codel(codel), 1000), &[feeds(0, Direction::Forward)]);
    for n in 0..500 {
        path.enter(ms(0), Direction::Forward, Test { ecn: Ecn::Capable0, ..data(n) });
    }
    let mut marked = 0;
    while let Some(at) = path.next() {
        while let Some((_, packet)) = path.leave(at) {
            marked += u64::from(packet.ecn == Ecn::Congestion);
        }
    }
    let counters = path.counters(Direction::Forward);
    assert!(marked > 5 && counters.marked == marked, "{marked}, {counters:?}");
    assert_eq!((counters.delivered, counters.all_lost()), (500, 0));
}

#[test]
fn terminals_of_a_shared_uplink_that_are_elsewhere_have_nothing_to_send() {
    let mut path = Path::new(&[bare("a", 0)], 1);
    let queue = QueueSpec { limit: QueueLimit::Unlimited, discipline: DisciplineSpec::DropTail };
    let access = Access::CfDama(CfDamaConfig::default());
    let queues = vec![queue.clone(), queue];
    let other = StationLine { name: "other".to_owned(), feeds: None };
    let lines = [other, feeds(0, Direction::Return)];
    path.add_station(&MacSpec::Uplink { rate: RATE, access, queues }, &lines);
    path.enter(ms(0), Direction::Return, data(1));
    path.enter(ms(0), Direction::Forward, data(2));
    let left = leaving(&mut path, ms(10_000));
    assert_eq!(left[0], (2, ms(0)), "the way down is nobody else's");
    assert_eq!(left.len(), 2);
    assert!(left[1].1 > ms(1), "a slot has to be asked for: {left:?}");
}

/// Sees everything, holds back multiples of three, and for each sends 100 more on the other way.
#[derive(Debug, Default)]
struct Thirds {
    out: Vec<Emission<Test>>,
    seen: Vec<(u64, Side)>,
    dropped: std::sync::Arc<std::sync::Mutex<Vec<u64>>>,
    wakes_at: Option<Instant>,
}

impl PathAgent<Test> for Thirds {
    fn handle_packet(&mut self, _: Instant, side: Side, packet: &mut Test) -> bool {
        self.seen.push((packet.id, side));
        if !packet.id.is_multiple_of(3) {
            return true;
        }
        let back = if side == Side::Out { Side::In } else { Side::Out };
        self.out.push(Emission { side: back, packet: data(packet.id + 100), first: true });
        false
    }

    fn handle_drop(&mut self, _: Instant, packet: &Test) {
        self.dropped.lock().expect("a lock").push(packet.id);
    }

    fn handle_timeout(&mut self, _: Instant) {
        self.wakes_at = None;
        self.out.push(Emission { side: Side::Out, packet: data(999), first: false });
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.wakes_at
    }

    fn poll_emission(&mut self) -> Option<Emission<Test>> {
        self.out.pop()
    }
}

#[test]
fn an_agent_sees_what_passes_its_node_and_answers_in_its_place() {
    let mut path = Path::new(&[bare("a", 10), bare("b", 20)], 1);
    let agent = Thirds { wakes_at: Some(ms(500)), ..Thirds::default() };
    path.add_agent(1, Direction::Forward, Box::new(agent));
    for n in 1..=3 {
        path.enter(ms(0), Direction::Forward, data(n));
        path.enter(ms(0), Direction::Return, data(n + 10));
    }
    let left = leaving(&mut path, ms(1000));
    let times = |id| left.iter().find(|(n, _)| *n == id).map(|(_, at)| *at);
    assert_eq!([times(1), times(2), times(3)], [Some(ms(30)), Some(ms(30)), None]);
    assert_eq!(times(103), Some(ms(20)), "back from the node in the middle");
    assert_eq!([times(11), times(12), times(13)], [Some(ms(30)), None, Some(ms(30))]);
    assert_eq!(times(112), Some(ms(40)), "it came over b and goes back over b");
    assert_eq!(times(999), Some(ms(520)), "by its own timer");
    let counters = path.counters(Direction::Forward);
    assert_eq!((counters.suppressed, counters.sent_by_agents, counters.delivered), (1, 2, 4));
}

#[test]
fn an_agent_at_an_end_sees_nothing() {
    for node in [0, 2, 7] {
        let mut path = Path::new(&[bare("a", 10), bare("b", 20)], 1);
        path.add_agent(node, Direction::Forward, Box::new(Thirds::default()));
        path.enter(ms(0), Direction::Forward, data(3));
        path.enter(ms(0), Direction::Return, data(3));
        assert_eq!(leaving(&mut path, ms(1000)).len(), 2);
    }
}

#[test]
fn an_agent_is_told_which_packets_its_queue_turned_away() {
    let mut path = Path::new(&[bare("a", 0), bare("b", 0)], 1);
    let agent = Thirds::default();
    let dropped = agent.dropped.clone();
    path.add_agent(1, Direction::Forward, Box::new(agent));
    path.add_station(&line(DisciplineSpec::DropTail, 2), &[feeds(1, Direction::Forward)]);
    for n in [1, 2, 4, 5, 7] {
        path.enter(ms(0), Direction::Forward, data(n));
    }
    // Its own goes first, and no limit applies to it.
    path.enter(ms(0), Direction::Return, data(30));
    let order: Vec<u64> = leaving(&mut path, ms(1000)).into_iter().map(|(id, _)| id).collect();
    assert_eq!(order, [1, 130, 2, 4]);
    assert_eq!(*dropped.lock().expect("a lock"), [5, 7]);
}

proptest! {
    /// A path with queues that hold packets beside one whose transmitters know at once what becomes of them.
    #[test]
    fn stations_do_what_transmitters_do(
        arrivals in prop::collection::vec((0u64..8, any::<bool>()), 1..200),
    ) {
        let mut eager = Path::new(&[hop("a", 3, 0.0), hop("b", 7, 0.0)], 1);
        let mut held = Path::new(&[bare("a", 3), bare("b", 7)], 1);
        for direction in Direction::BOTH {
            for hop in 0..2 {
                held.add_station(&line(DisciplineSpec::DropTail, 2), &[feeds(hop, direction)]);
            }
        }
        let mut now = Instant::ZERO;
        let (mut one, mut other) = (Vec::new(), Vec::new());
        for (id, (gap, forward)) in arrivals.into_iter().enumerate() {
            // No packet comes at the moment when one leaves: which of the two is first is open.
            now += Span::from_micros(250 * gap + 7);
            one.extend(leaving(&mut eager, now));
            other.extend(leaving(&mut held, now));
            let direction = if forward { Direction::Forward } else { Direction::Return };
            eager.enter(now, direction, data(id as u64));
            held.enter(now, direction, data(id as u64));
        }
        one.extend(leaving(&mut eager, Instant::MAX));
        other.extend(leaving(&mut held, Instant::MAX));
        one.sort_by_key(|(id, at)| (*at, *id));
        other.sort_by_key(|(id, at)| (*at, *id));
        prop_assert_eq!(one, other);
        for direction in Direction::BOTH {
            prop_assert_eq!(eager.counters(direction), held.counters(direction));
        }
    }
}
