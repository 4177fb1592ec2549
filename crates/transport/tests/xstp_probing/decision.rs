//! The decision, and what it does to the window (P24 to P26).

use bentpipe_cc::Phase;
use bentpipe_record::ProbingCycle;
use bentpipe_testkit::{Crossing, Direction, Fate, Pair, pattern};
use bentpipe_units::{Instant, Span};
use bentpipe_wire::Kind;

use crate::support::*;

/// A cycle at 3.6 s, decided by the answers to two probes that take this much longer than the
/// round trip before the loss.
fn decided_by(tolerance: f64, late: [Span; 2]) -> ProbingCycle {
    let client = with_probe(|probe| (probe.early_slack, probe.rtt_tolerance) = (0.0, tolerance));
    let mut answers = late.into_iter();
    let script = move |c: &Crossing| {
        let probed = c.has(Kind::STAT) && c.at.before(DELAY) >= ms(3_600);
        if probed { answers.next().map_or(Fate::Pass, Fate::Late) } else { Fate::Pass }
    };
    let mut pair = one_poll(client).sending(pattern(60_000));
    pair = pair.with_script(all_of(vec![drop_data(1_010, 1), Box::new(script)]));
    assert!(pair.run(LONG));
    let cycle = cycle(&pair, 0);
    assert_eq!(start_of(&cycle), ms(3_600));
    assert_eq!(measured(&cycle), late.map(|late| RTT + late));
    cycle
}

#[test]
fn p24_a_measurement_at_the_limit_is_no_congestion_and_one_beyond_it_is() {
    let (limit, more) = (Span::from_millis(30), Span::from_nanos(1));
    assert_eq!(decided_by(0.1, [limit, Span::ZERO]).verdict, Some("link"));
    assert_eq!(decided_by(0.1, [limit, limit]).verdict, Some("link"));
    assert_eq!(decided_by(0.1, [limit + more, Span::ZERO]).verdict, Some("congestion"));
}

#[test]
fn p24_either_measurement_alone_tells_of_congestion() {
    let late = Span::from_millis(31);
    assert_eq!(decided_by(0.1, [late, Span::ZERO]).verdict, Some("congestion"));
    assert_eq!(decided_by(0.1, [Span::ZERO, late]).verdict, Some("congestion"));
}

#[test]
fn p24_the_tolerance_widens_the_reference() {
    let late = Span::from_millis(60);
    assert_eq!(decided_by(0.0, [Span::ZERO; 2]).verdict, Some("link"));
    assert_eq!(decided_by(0.0, [Span::from_nanos(1); 2]).verdict, Some("congestion"));
    assert_eq!(decided_by(0.1, [late; 2]).verdict, Some("congestion"));
    assert_eq!(decided_by(0.2, [late; 2]).verdict, Some("link"));
}

/// A full window that loses these segments once each; answers to POLLs sent in each of the spans
/// of `slow` are late by as much.
fn losing(lost: Vec<(u32, u32)>, slow: Vec<(Instant, Instant, Span)>) -> Pair {
    let mut scripts: Vec<_> = lost.into_iter().map(|(seq, times)| drop_data(seq, times)).collect();
    scripts.extend(slow.into_iter().map(|(from, to, late)| until(to + DELAY, stretch(from, late))));
    wide(gaps_only()).sending(pattern(1_500_000)).with_script(all_of(scripts))
}

/// Window in bytes, phase and number of reductions right before and right after `at`.
fn around(pair: &mut Pair, at: Instant) -> [(u64, Phase, u64); 2] {
    [at.before(Span::from_nanos(1)), at].map(|at| {
        pair.run_to(at);
        (state(pair).cwnd.expect("a window").get(), state(pair).phase, reductions(pair))
    })
}

/// The cycles of a run from beginning to end.
fn cycles_of(mut pair: Pair) -> Vec<ProbingCycle> {
    assert!(pair.run(LONG));
    assert_eq!(pair.server.inbox, pattern(1_500_000));
    summary(&pair).first_cycles
}

/// Slow answers from the first loss, at about 4.1 s, to 6 s: congestion.
fn congested() -> (Instant, Instant, Span) {
    (ms(4_110), ms(6_000), RTT / 2)
}

#[test]
fn p25_without_congestion_the_window_is_as_before() {
    let run = || losing(vec![(1_300, 1)], vec![]);
    let cycles = cycles_of(run());
    assert_eq!(cycles[0].verdict, Some("link"));
    let mut pair = run();
    pair.run_to(start_of(&cycles[0]));
    let at_start = (window(&pair), state(&pair).phase);
    assert_eq!(at_start, (64, Phase::SlowStart));
    let [_, after] = around(&mut pair, end_of(&cycles[0]));
    assert_eq!(after, (64_000, Phase::SlowStart, 0));
}

#[test]
fn p25_in_avoidance_too_the_window_and_its_growth_are_kept() {
    let run = || losing(vec![(1_300, 1), (1_700, 1)], vec![congested()]);
    let cycles = cycles_of(run());
    let verdicts: Vec<_> = cycles.iter().map(|c| c.verdict).collect();
    assert_eq!(verdicts, [Some("congestion"), Some("link")]);
    let mut pair = run();
    let [_, start] = around(&mut pair, start_of(&cycles[1]));
    let [_, end] = around(&mut pair, end_of(&cycles[1]));
    assert_eq!((start.1, start.2), (Phase::CongestionAvoidance, 1));
    assert_eq!((end.1, end.2), (Phase::CongestionAvoidance, 1));
    // A window acknowledged adds a segment.
    assert!(end.0 >= start.0 && end.0 <= start.0 + 1_000, "{start:?} {end:?}");
}

#[test]
fn p26_congestion_halves_the_window_and_ends_slow_start() {
    let run = || losing(vec![(1_300, 1)], vec![congested()]);
    let cycles = cycles_of(run());
    assert_eq!(cycles[0].verdict, Some("congestion"));
    let [before, after] = around(&mut run(), end_of(&cycles[0]));
    assert_eq!(before, (64_000, Phase::SlowStart, 0));
    assert_eq!(after, (32_000, Phase::CongestionAvoidance, 1));
}

#[test]
fn p26_a_window_sent_is_halved_for_only_once() {
    // The repair of 1300 is lost too: another cycle follows, about the same window of segments, and
    // its answers take longer than at its start as well.
    let worse = (ms(4_600), ms(9_000), RTT * 3);
    let run = || losing(vec![(1_300, 2)], vec![(ms(4_110), ms(4_500), RTT / 2), worse]);
    let cycles = cycles_of(run());
    assert!(cycles[..2].iter().all(|cycle| cycle.verdict == Some("congestion")));
    let mut pair = run();
    let [_, first] = around(&mut pair, end_of(&cycles[0]));
    let oldest = oldest_number(&pair);
    let [_, second] = around(&mut pair, end_of(&cycles[1]));
    // Nothing of the second cycle was sent after the first.
    assert_eq!((oldest, oldest_number(&pair)), (1_300, 1_300));
    assert_eq!(first, (32_000, Phase::CongestionAvoidance, 1));
    assert_eq!(second, first);
}

#[test]
fn p26_the_window_never_falls_below_its_smallest() {
    let client = bentpipe_transport::xstp::Config { cwnd_min: 40, ..gaps_only() };
    let (from, to, late) = congested();
    let script = vec![drop_data(1_300, 1), until(to, stretch(from, late))];
    let mut pair = wide(client).sending(pattern(900_000)).with_script(all_of(script));
    while summary(&pair).congestion_decisions == 0 {
        assert!(pair.run(Span::ZERO) || pair.step());
    }
    assert_eq!(window(&pair), 40);
    assert!(pair.sent(Direction::Forward, Kind::DATA).count() > 300);
}
