//! A cycle as long as idle time (P27).

use bentpipe_cc::Phase;
use bentpipe_testkit::{Pair, pattern};
use bentpipe_transport::xstp::Config;
use bentpipe_units::{Instant, Span};

use crate::support::*;

/// A full window whose path is dead for `length` from 5 s on and slower by `late` afterwards.
fn outage(config: Config, length: Span, late: Span) -> Pair {
    let back = ms(5_000) + length;
    let script = all_of(vec![blackout(ms(5_000), back), stretch(back, late)]);
    wide(config).sending(pattern(1_200_000)).with_script(script)
}

/// Runs to the end of the first cycle.
fn probed(mut pair: Pair) -> Pair {
    while summary(&pair).first_cycles.first().is_none_or(|cycle| cycle.seconds.is_none()) {
        assert!(pair.run(Span::ZERO) || pair.step());
    }
    pair
}

/// Window in segments, phase and reductions.
fn end_state(pair: &Pair) -> (u64, Phase, u64) {
    (window(pair), state(pair).phase, reductions(pair))
}

const SLOWER: Span = Span::from_millis(100);

#[test]
fn p27_congestion_after_a_long_cycle_starts_over() {
    let pair = probed(outage(prober(), Span::from_secs(4), SLOWER));
    assert_eq!(cycle(&pair, 0).verdict, Some("congestion"));
    assert_eq!(end_state(&pair), (1, Phase::SlowStart, 1));
}

#[test]
fn p27_congestion_after_a_short_cycle_does_not() {
    let pair = probed(outage(prober(), Span::from_secs(1), SLOWER));
    assert_eq!(cycle(&pair, 0).verdict, Some("congestion"));
    assert_eq!(end_state(&pair), (32, Phase::CongestionAvoidance, 1));
}

#[test]
fn p27_the_length_of_the_idle_threshold_is_enough_and_a_nanosecond_less_is_not() {
    let length = length_of(&cycle(&probed(outage(prober(), Span::from_secs(2), SLOWER)), 0));
    for (threshold, expected) in [
        (length, (1, Phase::SlowStart, 1)),
        (length + Span::from_nanos(1), (32, Phase::CongestionAvoidance, 1)),
    ] {
        let client = Config { idle_threshold: threshold, ..prober() };
        assert_eq!(end_state(&probed(outage(client, Span::from_secs(2), SLOWER))), expected);
    }
}

#[test]
fn p27_starting_over_takes_the_initial_window() {
    let client = Config { cwnd_init: 5, ..prober() };
    let pair = probed(outage(client, Span::from_secs(4), SLOWER));
    assert_eq!(end_state(&pair), (5, Phase::SlowStart, 1));
}

#[test]
fn p27_a_long_cycle_that_finds_no_congestion_is_no_idle_time() {
    // New data that leave after 60 s without any would otherwise start over.
    let mut pair = probed(outage(prober(), Span::from_secs(60), Span::ZERO));
    let before = end_state(&pair);
    assert_eq!((cycle(&pair, 0).verdict, before), (Some("link"), (64, Phase::SlowStart, 0)));
    let sent = next_number(&pair);
    pair.run_to(pair.now + RTT * 2);
    assert!(next_number(&pair) > sent);
    assert_eq!(end_state(&pair), before);
}

#[test]
fn p27_nor_is_a_long_premature_one() {
    // Every STAT is lost for a minute, and no data are: the first STAT afterwards misses nothing.
    let lost = drop_answers(ms(5_000), ms(65_000));
    let mut pair = probed(wide(prober()).sending(pattern(1_200_000)).with_script(lost));
    let cycle = cycle(&pair, 0);
    assert!(cycle.verdict == Some("premature") && length_of(&cycle) > Span::from_secs(59));
    let resumed: Instant = pair.now + RTT * 3;
    let sent = next_number(&pair);
    pair.run_to(resumed);
    assert!(next_number(&pair) > sent + 64);
    assert_eq!(end_state(&pair), (64, Phase::SlowStart, 0));
}
