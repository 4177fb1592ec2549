//! What every controller of the registry must keep, whatever its algorithm and whatever happens to it.

use std::collections::{BTreeMap, BTreeSet};

use bentpipe_cc::{
    Ack, Choice, Controller, Limits, Loss, LossCause, LowPriority, PathView, QueueLevel,
    RateSample, Row, Sent, Signal, rows,
};
use bentpipe_units::{BitRate, ByteCount, Instant, Span};
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::proptest;

const MSS: ByteCount = ByteCount::new(1000);
const LEAST: ByteCount = ByteCount::new(2000);
const MOST: ByteCount = ByteCount::new(64_000);

/// Units that end the name of a gauge.
const UNITS: [&str; 6] = ["bps", "bytes", "ms", "ratio", "s", "segments"];

/// Something that happens to a controller.
#[derive(Clone, Debug)]
enum Event {
    Ack(Ack),
    Loss(Loss),
    Signal(Signal),
    Sent(Sent),
    Timer,
}

fn bytes(most: u64) -> impl Strategy<Value = ByteCount> {
    prop_oneof![Just(0), Just(1), 0..most].prop_map(ByteCount::new)
}

/// From none at all to a million seconds.
fn span() -> impl Strategy<Value = Span> {
    prop_oneof![
        Just(Span::ZERO),
        (1u64..1000).prop_map(Span::from_nanos),
        (1u64..5000).prop_map(Span::from_millis),
        (1u64..1_000_000).prop_map(Span::from_secs),
    ]
}

fn ack() -> impl Strategy<Value = Event> {
    let sample = (bytes(10_000_000), span(), any::<bool>()).prop_map(
        |(delivered, interval, app_limited)| RateSample { delivered, interval, app_limited },
    );
    let counts = (bytes(1_000_000), 0u64..1000, 0u64..1000);
    (counts, proptest::option::of(sample), any::<bool>()).prop_map(
        |((bytes, segments, acks), rate_sample, in_recovery)| {
            let newest_sent_at = Instant::ZERO;
            let advanced = if in_recovery { ByteCount::ZERO } else { bytes };
            Event::Ack(Ack {
                bytes,
                advanced,
                segments,
                newest_sent_at,
                rate_sample,
                acks,
                in_recovery,
                repairing: in_recovery,
                lost: bytes,
                marked: bytes,
            })
        },
    )
}

fn loss() -> impl Strategy<Value = Event> {
    let cause = prop_oneof![
        Just(LossCause::Gap),
        Just(LossCause::Timeout),
        Just(LossCause::Nack),
        Just(LossCause::Persistent),
    ];
    (bytes(100_000), cause, any::<[bool; 3]>()).prop_map(
        |(bytes, cause, [new_episode, again, looks_corrupt])| {
            Event::Loss(Loss { bytes, cause, new_episode, again, looks_corrupt })
        },
    )
}

fn signal() -> impl Strategy<Value = Event> {
    let level = prop_oneof![
        Just(QueueLevel::Low),
        Just(QueueLevel::Middle),
        Just(QueueLevel::High),
        Just(QueueLevel::Overflow),
    ];
    prop_oneof![
        Just(Signal::EcnCe),
        any::<i64>().prop_map(|delta| Signal::Explicit { delta }),
        proptest::option::of(any::<u64>())
            .prop_map(|rate| Signal::Available(rate.map(BitRate::from_bps))),
        Just(Signal::SpuriousLoss),
        Just(Signal::RecoveryDone),
        Just(Signal::Idle { halvings: None }),
        // Paths lose room for a segment; algorithms that count segments would grow with a larger one.
        (1u64..=1000).prop_map(|mss| Signal::MtuChanged { mss: ByteCount::new(mss) }),
        any::<u64>().prop_map(|segments| Signal::ProbeAcked { segments }),
        level.prop_map(Signal::LocalQueue),
        any::<bool>().prop_map(|up| Signal::LinkState { up }),
    ]
    .prop_map(Event::Signal)
}

fn event() -> impl Strategy<Value = Event> {
    let sent =
        (bytes(1000), any::<bool>(), any::<bool>()).prop_map(|(bytes, retransmission, probe)| {
            Event::Sent(Sent { bytes, retransmission, probe })
        });
    prop_oneof![6 => ack(), 2 => loss(), 2 => signal(), 1 => sent, 1 => Just(Event::Timer)]
}

/// How the path changes before an event.
#[derive(Clone, Debug)]
struct Change {
    passed: Span,
    in_flight: ByteCount,
    peer_window: ByteCount,
    rtts: [Span; 3],
    rounds: u64,
    cwnd_limited: bool,
}

fn change() -> impl Strategy<Value = Change> {
    let windows = (bytes(1_000_000), bytes(1_000_000));
    let rounds = prop_oneof![9 => 0u64..2, 1 => 0u64..1_000_000];
    (span(), windows, [span(), span(), span()], rounds, any::<bool>()).prop_map(
        |(passed, (in_flight, peer_window), rtts, rounds, cwnd_limited)| Change {
            passed,
            in_flight,
            peer_window,
            rtts,
            rounds,
            cwnd_limited,
        },
    )
}

fn first_path() -> PathView {
    PathView {
        now: Instant::ZERO,
        mss: MSS,
        in_flight: ByteCount::ZERO,
        peer_window: ByteCount::new(1_000_000),
        srtt: Span::from_millis(600),
        latest_rtt: Span::from_millis(600),
        min_rtt: Span::from_millis(600),
        return_delay: None,
        round: 0,
        delivered: ByteCount::ZERO,
        cwnd_limited: true,
    }
}

fn tell(controller: &mut dyn Controller, path: &mut PathView, change: &Change, event: &Event) {
    path.now += change.passed;
    path.round += change.rounds;
    (path.in_flight, path.peer_window) = (change.in_flight, change.peer_window);
    [path.srtt, path.latest_rtt, path.min_rtt] = change.rtts;
    path.cwnd_limited = change.cwnd_limited;
    match event {
        Event::Ack(ack) => {
            path.delivered += ack.bytes;
            controller.on_ack(path, ack);
        }
        Event::Loss(loss) => controller.on_loss(path, loss),
        Event::Signal(signal) => controller.on_signal(path, signal),
        Event::Sent(sent) => controller.on_sent(path, sent),
        Event::Timer => controller.on_timer(path),
    }
}

fn build(row: &Row, parameters: BTreeMap<String, f64>) -> Box<dyn Controller> {
    let choice = Choice::new(row.name, parameters).expect("a registered name and its ranges");
    choice.build(MSS, LEAST, LEAST, MOST)
}

/// A value for each parameter: `place` says where in its range, from 0 to 1.
fn parameters(row: &Row, mut place: impl FnMut() -> f64) -> BTreeMap<String, f64> {
    let value = |(low, high): (f64, f64), place: f64| (low + (high - low) * place).min(high);
    row.parameters.iter().map(|p| (p.name.to_owned(), value(p.range, place()))).collect()
}

/// What holds after every event.
fn check(row: &Row, controller: &dyn Controller, path: &PathView, least: ByteCount) {
    let (name, limits) = (row.name, controller.limits());
    assert!(
        limits.window.is_some() || limits.pacing.is_some(),
        "{name}: nothing limits the sender"
    );
    if let Some(window) = limits.window {
        assert!((least..=MOST).contains(&window), "{name}: window {window}");
    }
    let snapshot = controller.snapshot();
    let mut names = BTreeSet::new();
    for gauge in &snapshot.gauges {
        assert!(gauge.value.is_finite(), "{name}: {} is {}", gauge.name, gauge.value);
        assert!(names.insert(gauge.name), "{name}: two gauges `{}`", gauge.name);
        let unit = gauge.name.rsplit_once('_').map_or("", |(_, unit)| unit);
        assert!(UNITS.contains(&unit), "{name}: `{}` does not end in a unit", gauge.name);
    }
    if let LowPriority::Probes { count, .. } = controller.low_priority() {
        assert!(count > 0 && count <= 1_000_000, "{name}: {count} probes");
    }
    if let Some(request) = controller.path_request(path) {
        assert!(Some(request.cwnd) == limits.window, "{name}: {request:?}");
    }
}

/// Plays the events to every controller, built with its defaults and with other parameters.
fn play(events: &[(Change, Event)], places: &[f64]) {
    for row in rows() {
        let mut place = places.iter().copied().cycle();
        let other = parameters(row, || place.next().unwrap_or(0.0));
        for parameters in [BTreeMap::new(), other] {
            let (mut controller, mut path) = (build(row, parameters), first_path());
            // A small segment makes small windows: only the change of segments may lower the least.
            let mut least = LEAST;
            check(row, &*controller, &path, least);
            for (change, event) in events {
                if let Event::Signal(Signal::MtuChanged { mss }) = event {
                    path.mss = *mss;
                    least = least.min(*mss);
                }
                tell(&mut *controller, &mut path, change, event);
                check(row, &*controller, &path, least);
            }
        }
    }
}

proptest! {
    #![proptest_config(proptest::test_runner::Config::with_cases(200))]

    #[test]
    fn nothing_that_happens_breaks_a_limit_or_a_number(
        events in vec((change(), event()), 1..80),
        places in vec(0.0f64..=1.0, 1..6),
    ) {
        play(&events, &places);
    }

    #[test]
    fn every_controller_does_the_same_twice(events in vec((change(), event()), 1..40)) {
        for row in rows() {
            let run = || {
                let (mut controller, mut path) = (build(row, BTreeMap::new()), first_path());
                let told = events.iter().map(|(change, event)| {
                    tell(&mut *controller, &mut path, change, event);
                    (controller.limits(), controller.snapshot(), controller.next_timer())
                });
                told.collect::<Vec<_>>()
            };
            assert_eq!(run(), run(), "{}", row.name);
        }
    }
}

#[test]
fn every_parameter_builds_at_both_ends_of_its_range() {
    for row in rows() {
        for end in [0.0, 1.0] {
            let controller = build(row, parameters(row, || end));
            check(row, &*controller, &first_path(), LEAST);
        }
    }
}

/// Controllers that a timeout on a path that looks empty does not tell anything, by their algorithm.
const UNMOVED_BY_TIMEOUTS: [&str; 4] = ["rate", "fixed", "dvegas", "bulk-repeat"];

#[test]
fn a_timeout_shrinks_the_window_or_rate_of_all_whose_law_says_so() {
    for row in rows() {
        let choice = Choice::new(row.name, BTreeMap::new()).expect("a registered name");
        let mut controller = choice.build(MSS, MSS * 20, MSS, MOST);
        let mut path = first_path();
        for round in 1..20u64 {
            (path.round, path.now) = (round, Instant::ZERO + Span::from_millis(600 * round));
            path.delivered += MSS * 10;
            path.in_flight = MSS * 10;
            let ack = Ack {
                bytes: MSS * 10,
                advanced: MSS * 10,
                segments: 10,
                newest_sent_at: path.now.before(path.srtt),
                rate_sample: None,
                acks: 10,
                in_recovery: false,
                repairing: false,
                lost: ByteCount::ZERO,
                marked: ByteCount::ZERO,
            };
            controller.on_ack(&path, &ack);
        }
        let limit = |limits: Limits| {
            let rate = || limits.pacing.map(BitRate::as_bps);
            limits.window.map(ByteCount::get).or_else(rate)
        };
        let before = limit(controller.limits());
        (path.in_flight, path.now) = (ByteCount::ZERO, path.now + Span::from_secs(2));
        let loss = Loss {
            bytes: MSS * 10,
            cause: LossCause::Timeout,
            new_episode: true,
            again: false,
            looks_corrupt: false,
        };
        controller.on_loss(&path, &loss);
        let after = limit(controller.limits());
        if UNMOVED_BY_TIMEOUTS.contains(&row.name) {
            assert_eq!(after, before, "{}", row.name);
        } else {
            assert!(after < before, "{}: {before:?} to {after:?}", row.name);
        }
    }
}
