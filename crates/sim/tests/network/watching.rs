//! Observers see everything, in order, and change nothing.

use bentpipe_link::{Action, ModelSpec, QueueLimit, Rule};
use bentpipe_record::{RunSummary, Sample};
use bentpipe_sim::{Capture, CaptureError, Encapsulation, Observer, PacketSeen, RunSpec, run};
use bentpipe_units::{ByteCount, Instant, Span};
use bentpipe_wire::Kind;

use crate::support::*;

/// A packet that was seen.
#[derive(Clone, Debug, PartialEq)]
struct Seen {
    at: Instant,
    channel: usize,
    ends: (u16, u16),
    bytes: Vec<u8>,
}

/// Remembers everything.
#[derive(Default)]
struct Watcher {
    every: Option<Span>,
    samples: Vec<Sample>,
    packets: Vec<Seen>,
    queues: Vec<(Instant, usize, u64)>,
}

impl Observer for Watcher {
    fn sample_every(&self) -> Option<Span> {
        self.every
    }

    fn sample(&mut self, sample: &Sample) {
        self.samples.push(*sample);
    }

    fn wants_queues(&self) -> bool {
        self.every.is_some()
    }

    fn queue(&mut self, at: Instant, direction: usize, waiting: ByteCount) {
        self.queues.push((at, direction, waiting.get()));
    }

    fn wants_packets(&self) -> bool {
        true
    }

    fn packet(&mut self, at: Instant, channel: usize, packet: &PacketSeen<'_>) {
        let ends = (packet.envelope.from, packet.envelope.to);
        let bytes = packet.bytes.to_vec();
        self.packets.push(Seen { at, channel, ends, bytes });
    }
}

fn watch(spec: &RunSpec, every: Option<Span>) -> (RunSummary, Watcher) {
    let mut watcher = Watcher { every, ..Watcher::default() };
    (run(spec, &mut watcher).expect("a run"), watcher)
}

/// Three links in a row; packets are late and overtake each other on the second one.
fn unruly() -> RunSpec {
    let late = |nth| Rule {
        kind: Kind::DATA,
        nth,
        count: 3,
        action: Action::Delay(Span::from_millis(180)),
    };
    let links = vec![
        link("access", [0, 1], vec![rate("5 Mbit/s", 50)]),
        link("space", [1, 2], vec![ModelSpec::Script(vec![late(10), late(40)]), millis(90)]),
        link("exit", [2, 3], vec![ModelSpec::RandomLoss(0.02), dark(1_000, 500), millis(8)]),
    ];
    spec(4, links, vec![flow("there", 0, 3, 300), flow("back", 3, 1, 200)])
}

#[test]
fn packets_are_seen_in_the_order_of_time_and_each_one_once() {
    // The end comes at moments when packets are everywhere on their way.
    for millis in [86_400_000, 1_700, 1_313, 1_000, 931, 777, 640, 512, 345] {
        let mut spec = unruly();
        spec.duration = Span::from_millis(millis);
        let (run, watcher) = watch(&spec, None);
        assert!(watcher.packets.windows(2).all(|pair| pair[0].at <= pair[1].at));
        let end = Instant::ZERO + spec.duration;
        assert!(watcher.packets.iter().all(|seen| seen.at <= end));
        for (number, link) in run.links.iter().enumerate() {
            let seen = watcher.packets.iter().filter(|seen| seen.channel == number);
            let (name, from) = (&link.name, &link.from);
            assert_eq!(
                seen.clone().count() as u64,
                link.packets,
                "{name} from {from}, {millis} ms"
            );
            let bytes: usize = seen.map(|seen| seen.bytes.len()).sum();
            assert_eq!(bytes as u64, link.bytes);
        }
    }
}

#[test]
fn what_one_link_delivers_is_what_the_next_one_is_offered_whenever_the_run_ends() {
    let hop =
        |n: usize| link(&format!("hop {n}"), [n, n + 1], vec![rate("2 Mbit/s", 99), millis(30)]);
    let mut spec = spec(4, (0..3).map(hop).collect(), vec![flow("file", 0, 3, 500)]);
    for millis in (50..2_000).step_by(61) {
        spec.duration = Span::from_millis(millis);
        let run = outcome(&spec);
        for (way, name, from) in
            [(2, "hop 0", 0), (4, "hop 1", 1), (3, "hop 2", 3), (1, "hop 1", 2)]
        {
            let delivered = channel(&run, name, from).delivered;
            assert_eq!(delivered, run.links[way].packets, "{name} from {from}, {millis} ms");
        }
    }
}

#[test]
fn a_line_sends_packets_in_the_order_in_which_they_get_to_it() {
    // Flows from the hosts 0 and 1 meet at the line from 1 to 2; the way from 0 may mix up packets.
    let late =
        Rule { kind: Kind::DATA, nth: 20, count: 5, action: Action::Delay(Span::from_millis(31)) };
    for first in [vec![millis(20)], vec![ModelSpec::Script(vec![late]), millis(20)]] {
        let links = vec![
            link("way", [0, 1], first),
            link("line", [1, 2], vec![rate("1 Mbit/s", 10_000)]),
            link("exit", [2, 3], vec![]),
        ];
        for flows in [
            vec![flow("far", 0, 3, 60)],
            vec![flow("far", 0, 3, 60), flow("near", 1, 3, 60)],
            vec![flow("near", 1, 3, 60), flow("back", 3, 1, 60), flow("far", 0, 3, 60)],
        ] {
            let (run, watcher) = watch(&spec(4, links.clone(), flows), None);
            assert!(run.flows.iter().all(|flow| flow.complete));
            let on = |n: usize| watcher.packets.iter().filter(move |seen| seen.channel == n);
            assert_eq!(on(2).count(), on(4).count());
            let mut idle = Instant::ZERO;
            for (enters, leaves) in on(2).zip(on(4)) {
                // A bit takes a microsecond.
                idle = idle.max(enters.at) + Span::from_micros(8 * enters.bytes.len() as u64);
                assert_eq!((leaves.at, &leaves.bytes), (idle, &enters.bytes));
            }
        }
    }
}

#[test]
fn what_waits_before_a_link_has_come_there_and_has_not_begun_to_be_sent() {
    // The line is behind a way on which packets are long: they are known to it before they come.
    let line = |queue| ModelSpec::Rate { rate: "1 Mbit/s".parse().expect("a rate"), queue };
    for queue in [QueueLimit::Packets(10_000), QueueLimit::Unlimited] {
        let links = vec![
            link("way", [0, 1], vec![millis(20)]),
            link("line", [1, 2], vec![line(queue)]),
            link("exit", [2, 3], vec![]),
        ];
        let every = Some(Span::from_micros(7_777));
        let (_, watcher) = watch(&spec(4, links, vec![flow("file", 0, 3, 60)]), every);
        let on = |n: usize| watcher.packets.iter().filter(move |seen| seen.channel == n);
        let mut most = 0;
        for (at, _, waiting) in watcher.queues.iter().filter(|(_, direction, _)| *direction == 2) {
            // A bit takes a microsecond.
            let time = |bytes: &Vec<u8>| Span::from_micros(8 * bytes.len() as u64);
            let waits = on(2).zip(on(4)).filter(|(enters, leaves)| {
                enters.at <= *at && leaves.at > *at + time(&enters.bytes)
            });
            let bytes: usize = waits.map(|(enters, _)| enters.bytes.len()).sum();
            assert_eq!(*waiting, bytes as u64, "{at:?}");
            most = most.max(bytes);
        }
        assert!(most > 10_000, "{most}");
        assert!(watcher.queues.iter().all(|(_, direction, _)| [2, 3].contains(direction)));
    }
}

#[test]
fn a_packet_is_seen_on_each_link_of_its_way_when_it_gets_there() {
    let links = (0..3).map(|n| link(&format!("hop {n}"), [n, n + 1], vec![millis(10)])).collect();
    let (_, watcher) = watch(&spec(4, links, vec![flow("file", 0, 3, 50)]), None);
    let on = |channel: usize| watcher.packets.iter().filter(move |seen| seen.channel == channel);
    assert!(on(0).count() > 50);
    for (channel, later) in [(2, 10), (4, 20)] {
        assert_eq!(on(channel).count(), on(0).count());
        for (here, there) in on(0).zip(on(channel)) {
            assert_eq!(there.at.since(here.at), Span::from_millis(later));
            assert_eq!((&there.bytes, there.ends), (&here.bytes, (0, 3)));
        }
    }
    assert!(on(5).all(|seen| seen.ends == (3, 0)) && on(5).count() > 3);
}

#[test]
fn real_bytes_look_like_typed_segments_unless_they_were_corrupted_on_the_way() {
    let mut spec = unruly();
    for encapsulation in [Encapsulation::Qlp, Encapsulation::Ip] {
        (spec.encapsulation, spec.wire) = (encapsulation, false);
        let (typed_run, typed) = watch(&spec, None);
        spec.wire = true;
        let (wire_run, wire) = watch(&spec, None);
        assert_eq!(wire_run, typed_run);
        assert!(wire.packets == typed.packets, "{encapsulation:?}");
    }
}

#[test]
fn neither_samples_nor_captures_change_the_summary() {
    let spec = unruly();
    let plain = outcome(&spec);
    for every in [None, Some(1), Some(100), Some(7_777)] {
        let (run, _) = watch(&spec, every.map(Span::from_millis));
        assert_eq!(run, plain, "{every:?}");
    }
}

#[test]
fn samples_come_at_their_times_for_each_flow_until_the_last_one_has_ended() {
    let every = Span::from_millis(250);
    let (run, watcher) = watch(&unruly(), Some(every));
    for flow in 0..2 {
        let samples: Vec<_> = watcher.samples.iter().filter(|s| s.flow == flow).collect();
        for (n, sample) in samples.iter().enumerate() {
            assert_eq!(sample.at.as_nanos(), n as u64 * every.as_nanos());
        }
        assert!(samples.windows(2).all(|pair| pair[0].delivered <= pair[1].delivered));
        let last = samples.last().expect("samples");
        assert_eq!(last.delivered.get(), run.flows[flow].delivered_bytes);
        assert_eq!(last.in_flight.get(), 0);
        let ended = run.simulated_seconds;
        assert!((ended..ended + 0.25).contains(&last.at.as_secs_f64()), "{:?}", last.at);
    }
}

#[test]
fn a_flow_that_starts_late_has_samples_from_then_on() {
    let mut spec = unruly();
    spec.flows[1].source.start = Instant::ZERO + Span::from_millis(1_100);
    let (_, watcher) = watch(&spec, Some(Span::from_millis(500)));
    let first = |flow| watcher.samples.iter().find(|s| s.flow == flow).expect("a sample").at;
    assert!(first(0) <= Instant::ZERO + Span::from_millis(500));
    assert_eq!(first(1), Instant::ZERO + Span::from_millis(1_500));
}

#[test]
fn a_capture_of_a_link_that_does_not_exist_is_refused() {
    let refused = Capture::new(Vec::new(), &unruly(), &["spcae".to_owned()]).err();
    assert!(matches!(refused, Some(CaptureError::NoSuchLink(name)) if name == "spcae"));
    let only = ["space".to_owned()];
    let empty = Capture::new(Vec::new(), &unruly(), &only).and_then(Capture::finish);
    assert!(!empty.expect("a capture").is_empty());
}
