//! A validated report of missing segments starts probing (P8, P9).

use bentpipe_testkit::{Crossing, Direction, Fate, Pair, pattern};
use bentpipe_transport::xstp::Config;
use bentpipe_units::Span;
use bentpipe_wire::Kind;

use crate::support::*;

/// A segment in the middle of a full window; no POLL goes with it.
const LOST: u32 = 1_300;

/// A receiver whose STATs come long before its USTATs.
fn stats_first() -> Config {
    Config { ustat_delay: 1_000, ..Config::paper() }
}

/// A receiver that reports a gap at once.
fn ustats_first() -> Config {
    Config { ustat_delay: 1, ..Config::paper() }
}

/// Loses one segment once and runs to the end.
fn lose_one(server: Config) -> Pair {
    let mut pair = Pair::new(gaps_only(), server, DELAY).sending(pattern(600_000));
    pair = pair.with_script(drop_data(LOST, 1));
    assert!(pair.run(LONG));
    assert_eq!(pair.server.inbox, pattern(600_000));
    assert!(!pair.log.iter().any(|c| c.fate == Fate::Drop && c.has(Kind::POLL)));
    pair
}

/// Nothing but a POLL leaves when the cycle starts, and the lost segment goes again at its end.
fn assert_probed_before_retransmission(pair: &Pair) {
    let cycle = cycle(pair, 0);
    assert_eq!((summary(pair).cycles, summary(pair).explicit, cycle.trigger), (1, 1, "gap_report"));
    let kinds: Vec<_> = sent_at(pair, start_of(&cycle)).iter().map(|c| c.segment.kind()).collect();
    assert_eq!(kinds, [Kind::POLL]);
    assert_eq!(times_sent(pair, LOST)[1..], [end_of(&cycle)]);
}

#[test]
fn p8_a_stat_with_a_gap_starts_probing_and_repairs_nothing_yet() {
    let pair = lose_one(stats_first());
    assert_eq!(pair.sent(Direction::Return, Kind::USTAT).count(), 0);
    let told = |c: &&Crossing| report_of(c).is_some_and(|r| !r.gaps.is_empty());
    let stat = pair.sent(Direction::Return, Kind::STAT).find(told).expect("a gap").at;
    assert_eq!(start_of(&cycle(&pair, 0)), stat + DELAY);
    assert_probed_before_retransmission(&pair);
}

#[test]
fn p8_a_ustat_starts_probing_and_repairs_nothing_yet() {
    let pair = lose_one(ustats_first());
    let ustat = pair.sent(Direction::Return, Kind::USTAT).next().expect("a USTAT").at;
    assert_eq!(start_of(&cycle(&pair, 0)), ustat + DELAY);
    assert_probed_before_retransmission(&pair);
}

#[test]
fn p8_a_stat_starts_probing_only_if_a_segment_had_the_time_to_arrive() {
    for (newest, starts) in [(true, false), (false, true)] {
        let mut pair = wide(gaps_only()).sending(pattern(900_000));
        pair.run_to(ms(5_000));
        let reported = if newest { next_number(&pair) - 1 } else { oldest_number(&pair) };
        let stat = stat(latest_poll(&pair), reported, &[(0, 1)]);
        let age = pair.now.since(times_sent(&pair, reported)[0]);
        hear(&mut pair, stat);
        let srtt = state(&pair).srtt.expect("an estimate");
        assert_eq!(age >= srtt, starts, "{age} {srtt}");
        assert_eq!(summary(&pair).cycles, u64::from(starts));
        assert_eq!(times_sent(&pair, reported).len(), 1);
    }
}

#[test]
fn p8_a_ustat_about_a_segment_that_went_twice_starts_nothing() {
    let mut pair = Pair::new(gaps_only(), stats_first(), DELAY).sending(pattern(900_000));
    pair = pair.with_script(drop_data(LOST, 2));
    while summary(&pair).link_decisions == 0 {
        assert!(pair.run(Span::ZERO) || pair.step());
    }
    assert_eq!(times_sent(&pair, LOST).len(), 2);
    let repeated = ustat(64, LOST, &[(0, 1)]);
    hear(&mut pair, repeated);
    assert_eq!((summary(&pair).cycles, state(&pair).activity), (1, "transmitting"));
    // A segment that went once is worth it.
    let fresh = ustat(64, LOST, &[(1, 2)]);
    hear(&mut pair, fresh);
    assert_eq!((summary(&pair).cycles, state(&pair).activity), (2, "probing"));
}

#[test]
fn p9_the_acknowledgment_of_the_report_is_processed_first() {
    let mut pair = wide(gaps_only()).sending(pattern(900_000));
    pair.run_to(ms(2_150));
    let (before, oldest) = (state(&pair), oldest_number(&pair));
    let report = ustat(64, oldest + 5, &[(0, 1)]);
    hear(&mut pair, report);
    let after = state(&pair);
    assert_eq!((before.activity, after.activity), ("transmitting", "probing"));
    assert_eq!(before.in_flight.get() - after.in_flight.get(), 5_000);
    // Slow start opens by as much.
    let grown = after.cwnd.expect("a window").get() - before.cwnd.expect("a window").get();
    assert_eq!(grown, 5_000);
}

#[test]
fn p9_the_reference_is_the_estimate_before_the_triggering_stat() {
    // The STAT that tells of the loss took 450 ms: the estimate was 300 ms before it and is 318.75 ms
    // after it. Answers of 340 ms exceed the one by more than a tenth, and the other not.
    let client = Config { poll_rate: 1, ..gaps_only() };
    let mut told = 0;
    let script = move |c: &Crossing| {
        let tells = report_of(c).is_some_and(|r| !r.gaps.is_empty());
        told += u32::from(tells);
        match told {
            1 if tells => Fate::Late(Span::from_millis(150)),
            _ if tells => Fate::Late(Span::from_millis(40)),
            _ => Fate::Pass,
        }
    };
    let lost = drop_data(1_010, 1);
    let mut pair = in_step(client).sending(pattern(30_000));
    pair = pair.with_script(all_of(vec![lost, Box::new(script)]));
    assert!(pair.run(LONG));
    let cycle = cycle(&pair, 0);
    assert_eq!(cycle.trigger, "gap_report");
    assert_eq!(measured(&cycle), [Span::from_millis(340), Span::from_millis(340)]);
    assert_eq!(cycle.verdict, Some("congestion"));
}
