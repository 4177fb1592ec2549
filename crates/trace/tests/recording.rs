//! Recorders and responders over links in memory, on a virtual clock.

use std::cell::Cell;
use std::net::SocketAddr;

use bentpipe_trace::import::Way;
use bentpipe_trace::record::{
    Early, Far, Limits, Plan, RecordError, Recorder, Recording, Responder,
};
use bentpipe_trace::{Rate, Summary, Trace};
use bentpipe_units::{BitRate, ByteCount, Instant, Span};
use proptest::prelude::*;

const PLAN: Plan = Plan {
    far: Far::Responder,
    duration: Span::from_secs(20),
    interval: Span::from_millis(20),
    limit: ByteCount::new(100_000_000),
    load_up: None,
    load_down: None,
    way: Way::Down,
    gap: 3,
    headers: ByteCount::new(28),
};
const LIMITS: Limits =
    Limits { rate: BitRate::from_bps(100_000_000), bytes: ByteCount::new(1_000_000_000) };
const SESSION: u64 = 0x1234_5678_9abc_def0;
/// The responder's clock began at another time.
const ELSEWHERE: Span = Span::from_millis(777_123_456);

fn at(ms: u64) -> Instant {
    Instant::ZERO + Span::from_millis(ms)
}

fn mbit(n: u64) -> Option<BitRate> {
    Some(BitRate::from_bps(n * 1_000_000))
}

fn recorder_address() -> SocketAddr {
    SocketAddr::from(([192, 0, 2, 1], 4000))
}

/// One way along a link: a transmitter with a queue, then whatever a function says of a packet that left it.
struct OneWay {
    rate: BitRate,
    free: Instant,
    delays: Box<dyn FnMut(Instant) -> Vec<Span>>,
    bytes: u64,
}

/// Waiting in the queue takes no longer.
const QUEUE: Span = Span::from_millis(100);

impl OneWay {
    fn new(rate: u64, delays: impl FnMut(Instant) -> Vec<Span> + 'static) -> Self {
        let (rate, delays) = (BitRate::from_bps(rate), Box::new(delays));
        Self { rate, free: Instant::ZERO, delays, bytes: 0 }
    }

    /// With this delay, and nothing else.
    fn steady(ms: u64) -> Self {
        Self::new(100_000_000, move |_| vec![Span::from_millis(ms)])
    }

    /// One that loses one packet in so many.
    fn lossy(ms: u64, every: u64) -> Self {
        let count = Cell::new(0u64);
        Self::new(100_000_000, move |_| {
            count.set(count.get() + 1);
            if count.get().is_multiple_of(every) { vec![] } else { vec![Span::from_millis(ms)] }
        })
    }

    /// One that carries nothing between two times.
    fn interrupted(from: u64, until: u64) -> Self {
        Self::new(100_000_000, move |now| {
            let is_down = (at(from)..at(until)).contains(&now);
            if is_down { vec![] } else { vec![Span::from_millis(50)] }
        })
    }

    /// When a packet that is sent now arrives.
    fn send(&mut self, now: Instant, size: usize) -> Vec<Instant> {
        let size = ByteCount::new(size as u64 + 28);
        self.bytes += size.get();
        if self.free.since(now) > QUEUE {
            return Vec::new();
        }
        self.free = self.free.max(now) + self.rate.time_for(size);
        (self.delays)(self.free).into_iter().map(|delay| self.free + delay).collect()
    }
}

/// Packets on their way, and whether it is up.
#[derive(Default)]
struct Flight(Vec<(Instant, bool, Vec<u8>)>);

impl Flight {
    fn send(&mut self, way: &mut OneWay, now: Instant, is_up: bool, datagram: &[u8]) {
        let arrivals = way.send(now, datagram.len());
        self.0.extend(arrivals.into_iter().map(|at| (at, is_up, datagram.to_vec())));
    }

    fn next(&self) -> Option<Instant> {
        self.0.iter().map(|(at, ..)| *at).min()
    }

    fn take(&mut self, now: Instant) -> Option<(bool, Vec<u8>)> {
        let next = self.next().filter(|at| *at <= now)?;
        let place = self.0.iter().position(|(at, ..)| *at == next)?;
        let (_, is_up, datagram) = self.0.remove(place);
        Some((is_up, datagram))
    }
}

/// Runs a recorder to its end. Bytes that were sent each way, too.
fn run(
    plan: Plan,
    limits: Limits,
    mut up: OneWay,
    mut down: OneWay,
    mut stop: Option<Instant>,
) -> (Result<Recording, RecordError>, [u64; 2]) {
    let mut recorder = Recorder::new(plan, SESSION, Instant::ZERO).expect("a plan");
    let mut responder = Responder::new(limits, [3; 32]);
    let (mut now, mut out, mut flight) = (Instant::ZERO, Vec::new(), Flight::default());
    let mut steps = 0u64;
    while !recorder.is_done() {
        steps += 1;
        assert!(steps < 5_000_000, "it hangs at {now}");
        if stop.is_some_and(|at| now >= at) {
            stop = None;
            recorder.stop(now);
        }
        while recorder.poll(now, &mut out) {
            flight.send(&mut up, now, true, &out);
        }
        while responder.poll(now + ELSEWHERE, &mut out) == Some(recorder_address()) {
            flight.send(&mut down, now, false, &out);
        }
        while let Some((is_up, datagram)) = flight.take(now) {
            if !is_up {
                recorder.handle(now, &datagram);
            } else if plan.far == Far::Echo {
                flight.send(&mut down, now, false, &datagram);
            } else if responder.handle(now + ELSEWHERE, recorder_address(), &datagram, &mut out) {
                flight.send(&mut down, now, false, &out);
            }
        }
        let theirs = responder.timeout().map(|at| at.before(ELSEWHERE));
        let next = [recorder.timeout(), theirs, flight.next(), stop].into_iter().flatten().min();
        now = now.max(next.unwrap_or(now));
    }
    (recorder.finish("memory"), [up.bytes, down.bytes])
}

fn trace(plan: Plan, up: OneWay, down: OneWay) -> Trace {
    run(plan, LIMITS, up, down, None).0.expect("a recording").trace
}

fn steps(trace: &Trace) -> &[(Instant, Option<BitRate>)] {
    match &trace.rate {
        Some(Rate::Steps(steps)) => steps,
        other => panic!("no steps: {other:?}"),
    }
}

#[test]
fn half_of_the_round_trip_is_the_delay_and_its_steps_are_seen() {
    for far in [Far::Echo, Far::Responder] {
        let step = |now| vec![Span::from_millis(if now < at(10_000) { 280 } else { 300 })];
        let plan = Plan { far, ..PLAN };
        let trace = trace(plan, OneWay::steady(300), OneWay::new(100_000_000, step));
        assert_eq!((trace.loss, trace.up, trace.rate), (None, None, None));
        assert_eq!(trace.length, PLAN.duration);
        let delays = trace.delay.expect("delays");
        let close = |span: Span, ms| span.abs_diff(Span::from_millis(ms)) < Span::from_millis(1);
        assert!(close(delays[0].1, 290), "{delays:?}");
        let changed = delays.iter().find(|(_, delay)| close(*delay, 300)).expect("a step").0;
        assert!((at(8_000)..at(10_000)).contains(&changed), "{changed}");
    }
}

#[test]
fn losses_belong_to_the_way_on_which_they_happened() {
    let loss = |way, up, down| {
        let trace = trace(Plan { way, ..PLAN }, OneWay::lossy(20, up), OneWay::lossy(20, down));
        Summary::of(&trace).loss.unwrap_or(0.0)
    };
    let never = 1_000_000;
    assert!((loss(Way::Up, 20, never) - 0.05).abs() < 0.005);
    assert_eq!(loss(Way::Down, 20, never), 0.0);
    assert!((loss(Way::Down, never, 20) - 0.05).abs() < 0.005);
    assert_eq!(loss(Way::Up, never, 20), 0.0);
}

#[test]
fn an_outage_of_seconds_is_one_and_the_recording_goes_on_behind_it() {
    for way in [Way::Up, Way::Down] {
        let plan = Plan { way, load_down: mbit(2), load_up: mbit(2), ..PLAN };
        let away = || OneWay::interrupted(5_000, 8_000);
        let trace = trace(plan, away(), away());
        let (count, seconds) = Summary::of(&trace).outages.expect("an outage");
        assert!(count == 1 && (2.9..3.2).contains(&seconds), "{way:?}: {count}, {seconds}");
        let steps = steps(&trace);
        assert!(steps.iter().any(|(it, rate)| *it > at(9_000) && *rate > mbit(1)), "{steps:?}");
    }
}

#[test]
fn a_load_above_the_rate_of_a_link_shows_the_rate_and_one_below_shows_itself() {
    let slow = || OneWay::new(10_000_000, |_| vec![Span::from_millis(300)]);
    for (way, is_up) in [(Way::Up, true), (Way::Down, false)] {
        let rate = |load| {
            let (up, down) = if is_up { (load, None) } else { (None, load) };
            let plan = Plan { way, load_up: up, load_down: down, ..PLAN };
            Summary::of(&trace(plan, slow(), slow())).rate_bps.expect("a rate")
        };
        let above = rate(mbit(12));
        assert!((9.9e6..10.1e6).contains(&above.median), "{way:?}: {above:?}");
        assert!(above.p5 > 9.5e6 && above.p95 < 10.5e6, "{way:?}: {above:?}");
        let below = rate(mbit(4));
        assert!((4.0e6..4.2e6).contains(&below.median), "{way:?}: {below:?}");
    }
}

#[test]
fn a_rate_changes_in_the_trace_when_the_delay_does() {
    for (way, load_up, load_down) in [(Way::Up, mbit(8), None), (Way::Down, None, mbit(8))] {
        // From the fifth second on half of the packets are lost and the rest takes 40 ms longer.
        let count = Cell::new(0u64);
        let changes = OneWay::new(100_000_000, move |now| {
            count.set(count.get() + 1);
            match now < at(5_000) {
                true => vec![Span::from_millis(200)],
                false if count.get().is_multiple_of(2) => vec![],
                false => vec![Span::from_millis(240)],
            }
        });
        let plan = Plan { way, load_up, load_down, duration: Span::from_secs(10), ..PLAN };
        let trace = match way {
            Way::Up => trace(plan, changes, OneWay::steady(200)),
            Way::Down => trace(plan, OneWay::steady(200), changes),
        };
        let fell = steps(&trace).iter().find(|(_, rate)| *rate < mbit(6)).expect("it falls").0;
        let delays = trace.delay.expect("delays");
        let grew = delays.iter().find(|(_, it)| *it > Span::from_millis(215)).expect("it grows").0;
        let apart = fell.since(grew).max(grew.since(fell));
        assert!(apart <= Span::from_millis(250), "{way:?}: {fell} and {grew}");
    }
}

#[test]
fn what_was_measured_until_it_is_stopped_is_the_recording() {
    let stopped = |at| run(PLAN, LIMITS, OneWay::steady(50), OneWay::steady(50), Some(at)).0;
    let recording = stopped(at(5_000)).expect("a recording");
    assert_eq!(recording.early, Some(Early::Stopped));
    assert!(recording.trace.length.abs_diff(Span::from_millis(4_800)) < Span::from_millis(100));
    assert_eq!(recording.probes, recording.answered);
    assert_eq!(stopped(Instant::ZERO), Err(RecordError::Stopped));
}

#[test]
fn a_responder_says_what_it_does_not_give() {
    let plan = Plan { load_down: mbit(20), ..PLAN };
    for (limits, said) in [
        (Limits { rate: BitRate::from_bps(10_000_000), ..LIMITS }, "at no more than 10 Mbit/s"),
        (Limits { bytes: ByteCount::new(40_000_000), ..LIMITS }, "allows 40000000 B in a session"),
    ] {
        let near = || OneWay::steady(1);
        let (refused, [_, down]) = run(plan, limits, near(), near(), None);
        let error = refused.expect_err(said).to_string();
        assert!(error.contains(said), "{error}");
        assert!(down < 1_000);
    }
    let silent = run(plan, LIMITS, OneWay::lossy(1, 1), OneWay::steady(1), None).0;
    assert_eq!(silent.expect_err("nobody").to_string(), "nobody answered for 10 s");
}

#[test]
fn a_session_that_has_used_its_bytes_ends_the_recording_and_keeps_it() {
    let limits = Limits { bytes: ByteCount::new(100_000), ..LIMITS };
    let near = || OneWay::steady(1);
    let recording = run(PLAN, limits, near(), near(), None).0.expect("a recording");
    assert_eq!(recording.early, Some(Early::Responder));
    assert!(recording.trace.length > Span::from_secs(10));
}

#[test]
fn copies_take_no_more_than_the_limit() {
    let copies = || OneWay::new(1_000_000_000, |_| vec![Span::from_millis(5); 30]);
    let (limit, duration) = (ByteCount::new(2_000_000), Span::from_secs(5));
    let plan = Plan { limit, duration, load_down: mbit(1), ..PLAN };
    let recording = run(plan, LIMITS, copies(), copies(), None).0.expect("a recording");
    assert_eq!(recording.early, Some(Early::Limit));
    let used = recording.sent + recording.received;
    assert!(used <= limit && used.get() > 1_900_000, "{used}");
}

#[test]
fn an_address_that_has_proven_nothing_gets_no_more_than_it_sent() {
    let mut responder = Responder::new(LIMITS, [3; 32]);
    let victim = SocketAddr::from(([198, 51, 100, 7], 9));
    let plan = Plan { load_down: mbit(10), load_up: mbit(10), ..PLAN };
    let mut forger = Recorder::new(plan, SESSION, at(0)).expect("a plan");
    let (mut datagram, mut out, mut got, mut sent) = (Vec::new(), Vec::new(), 0, 0);
    for ms in 0..9_000 {
        while forger.poll(at(ms), &mut datagram) {
            sent += datagram.len();
            if responder.handle(at(ms), victim, &datagram, &mut out) {
                got += out.len();
            }
        }
        while responder.poll(at(ms), &mut out).is_some() {
            got += out.len();
        }
    }
    assert!(sent > 0 && got <= sent, "{got} for {sent}");
    assert_eq!(responder.sessions(), 0);
}

#[test]
fn there_are_sixteen_sessions_and_silence_ends_them() {
    let mut responder = Responder::new(LIMITS, [3; 32]);
    let (mut datagram, mut answer, mut refused) = (Vec::new(), Vec::new(), 0);
    for port in 1..=20 {
        let address = SocketAddr::from(([192, 0, 2, 1], port));
        let mut recorder = Recorder::new(PLAN, SESSION, at(0)).expect("a plan");
        while recorder.is_opening() && recorder.poll(at(0), &mut datagram) {
            if responder.handle(at(0), address, &datagram, &mut answer) {
                recorder.handle(at(0), &answer);
            }
        }
        refused += usize::from(recorder.finish("x") == Err(RecordError::Full));
    }
    assert_eq!((responder.sessions(), refused), (16, 4));
    assert_eq!(responder.poll(at(999), &mut answer), None);
    assert_eq!(responder.sessions(), 16);
    responder.poll(at(1_000), &mut answer);
    assert_eq!(responder.sessions(), 0);
}

/// A datagram of a kind with anything behind its head.
fn lie((kind, tail, size): &(u8, Vec<u8>, usize)) -> Vec<u8> {
    let mut datagram = b"bpt1".to_vec();
    datagram.extend([*kind, 0, 0, 0]);
    datagram.extend(SESSION.to_be_bytes());
    datagram.extend(tail);
    datagram.resize(*size, 0xff);
    datagram
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn over_any_link_a_recorder_ends_and_takes_what_it_said(
        fates in proptest::collection::vec((0u8..10, 0u64..300), 50),
        load in any::<bool>(),
        up in any::<bool>(),
    ) {
        let way = |skip: usize| {
            let (fates, count) = (fates.clone(), Cell::new(skip));
            // Losses, duplicates and packets that overtake others.
            OneWay::new(20_000_000, move |_| {
                count.set(count.get() + 1);
                let (fate, ms) = fates[count.get() % fates.len()];
                let delay = Span::from_millis(ms);
                match fate {
                    0 => vec![],
                    1 => vec![delay, delay * 2],
                    _ => vec![delay],
                }
            })
        };
        let load = load.then_some(BitRate::from_bps(2_000_000));
        let (way_of, duration) = (if up { Way::Up } else { Way::Down }, Span::from_secs(3));
        let plan = Plan { way: way_of, load_up: load, load_down: load, duration, ..PLAN };
        let (recording, [sent, received]) = run(plan, LIMITS, way(0), way(7), None);
        prop_assert!(sent <= plan.up().bytes.get(), "{sent} of {:?}", plan.up());
        // Each copy of a probe is answered.
        let copies = plan.down().bytes.get() * 2;
        prop_assert!(received <= copies, "{received} of {:?}", plan.down());
        if let Ok(recording) = recording {
            let mut text = Vec::new();
            bentpipe_trace::native::write(&recording.trace, &mut text).expect("written");
            let text = String::from_utf8(text).expect("text");
            bentpipe_trace::read("again", text.as_bytes()).expect("what was recorded is a trace");
        }
    }

    #[test]
    fn lies_end_nothing_and_hold_nothing_up(
        lies in proptest::collection::vec(
            (0u8..6, proptest::collection::vec(any::<u8>(), 0..200), 0usize..1300), 1..60),
        is_there in any::<bool>(),
    ) {
        let plan = Plan { load_up: mbit(1), duration: Span::from_secs(1), ..PLAN };
        let mut recorder = Recorder::new(plan, SESSION, at(0)).expect("a plan");
        let mut responder = Responder::new(LIMITS, [3; 32]);
        let (mut out, mut answer, mut lies) = (Vec::new(), Vec::new(), lies.iter().cycle());
        for ms in 0..20_000 {
            while recorder.poll(at(ms), &mut out) {
                let from = recorder_address();
                if responder.handle(at(ms), from, &out, &mut answer) && is_there {
                    recorder.handle(at(ms), &answer);
                }
                if let Some(lie) = lies.next().map(lie) {
                    recorder.handle(at(ms), &lie);
                    responder.handle(at(ms), from, &lie, &mut answer);
                }
            }
        }
        prop_assert!(recorder.is_done(), "it hangs");
        let _ = recorder.finish("a liar's");
    }
}
