//! Probes and their answers while a cycle lasts (P12, P14, P15, P17, P18).

use bentpipe_testkit::{Crossing, Direction, Fate, Pair, pattern};
use bentpipe_units::Span;
use bentpipe_wire::Kind;

use crate::support::*;

/// A sender with a full window that hears nothing from 5 s on and probes.
fn deaf_prober() -> Pair {
    let mut pair = wide(literal()).sending(pattern(900_000));
    pair = pair.with_script(drop_answers(ms(4_850), ms(900_000)));
    while state(&pair).activity != "probing" {
        assert!(pair.run(Span::ZERO) || pair.step());
    }
    pair
}

#[test]
fn p12_a_probe_leaves_every_round_trip_however_long_nothing_answers() {
    let mut pair = in_step(prober()).sending(pattern(60_000));
    pair = pair.with_script(blackout(ms(3_000), ms(63_000)));
    pair.run_to(ms(63_000));
    let cycle = cycle(&pair, 0);
    assert_eq!((cycle.seconds, state(&pair).activity), (None, "probing"));
    let gaps = poll_gaps(&pair, start_of(&cycle), ms(63_000));
    assert!(gaps.len() > 190 && gaps.iter().all(|gap| *gap == RTT), "{gaps:?}");
    // POLLs alone, and nothing else.
    let sent =
        pair.log.iter().filter(|c| c.direction == Direction::Forward && c.at >= start_of(&cycle));
    assert!(sent.clone().all(|c| c.segment.kind() == Kind::POLL));
    assert_eq!(sent.count(), gaps.len() + 1);
    assert!(pair.run(LONG));
    assert_eq!(pair.server.inbox, pattern(60_000));
    // Nor did a minute of silence back anything off that shows afterwards.
    let end = end_of(&self::cycle(&pair, 0));
    let after = poll_gaps(&pair, end, end + RTT * 2);
    assert!(after.len() >= 3 && after.iter().all(|gap| *gap < RTT / 2), "{after:?}");
}

#[test]
fn p12_probes_follow_the_estimate_of_the_round_trip() {
    // Answers take longer with every probe, and every other one is lost, so that none completes.
    let mut answers = 0;
    let ever_later = move |c: &Crossing| {
        if !c.has(Kind::STAT) || c.at < ms(3_600) {
            return Fate::Pass;
        }
        answers += 1;
        if answers % 2 == 1 { Fate::Drop } else { Fate::Late(Span::from_millis(20 * answers)) }
    };
    let mut pair = one_poll(literal()).sending(pattern(60_000));
    pair = pair.with_script(all_of(vec![drop_data(1_010, 1), Box::new(ever_later)]));
    let mut estimates = Vec::new();
    for n in 0..6 {
        while polls(&pair).iter().filter(|at| **at >= ms(3_600)).count() <= n {
            assert!(pair.run(Span::ZERO) || pair.step());
        }
        estimates.push(state(&pair).srtt.expect("an estimate"));
    }
    assert_eq!(state(&pair).activity, "probing");
    assert_eq!(poll_gaps(&pair, ms(3_600), pair.now), estimates[..5]);
    assert!(estimates[4] > RTT, "{estimates:?}");
}

#[test]
fn p14_a_ustat_changes_nothing_while_probing() {
    let mut pair = deaf_prober();
    pair.run_to(pair.now + INTERVAL);
    let (before, sent) = (state(&pair), pair.log.len());
    let news = ustat(64, oldest_number(&pair) + 9, &[(0, 1), (3, 4)]);
    hear(&mut pair, news);
    assert_eq!(state(&pair), before);
    assert_eq!((pair.log.len(), summary(&pair).cycles), (sent, 1));
}

#[test]
fn p15_every_stat_acknowledges_opens_the_window_and_measures() {
    // In slow start, so that the window has room to open.
    let mut pair = wide(literal()).sending(pattern(900_000));
    pair = pair.with_script(drop_answers(ms(1_900), ms(900_000)));
    while state(&pair).activity != "probing" {
        assert!(pair.run(Span::ZERO) || pair.step());
    }
    let start = start_of(&cycle(&pair, 0));
    pair.run_to(start + Span::from_millis(250));
    let before = state(&pair);
    let answer = stat(latest_poll(&pair), oldest_number(&pair) + 3, &[(0, 1)]);
    hear(&mut pair, answer);
    let after = state(&pair);
    assert_eq!(after.activity, "probing");
    assert_eq!(before.in_flight.get() - after.in_flight.get(), 3_000);
    let opened = after.cwnd.expect("a window").get() - before.cwnd.expect("a window").get();
    assert_eq!(opened, 3_000);
    let srtt = before.srtt.expect("an estimate");
    assert_eq!(after.srtt, Some((srtt * 7 + Span::from_millis(250)) / 8));
}

#[test]
fn p17_a_stat_whose_gaps_are_too_fresh_is_neither_recorded_nor_an_end() {
    // Probe 1 is answered far too fast. If it misses a segment that was sent right before the start
    // it tells nothing, and the answer to probe 2 is the first; if it misses an old one it counts.
    for (fresh, verdict) in [(true, None), (false, Some("link"))] {
        let mut pair = deaf_prober();
        let start = pair.now;
        pair.run_to(start + INTERVAL / 2);
        let reported = if fresh { next_number(&pair) - 1 } else { oldest_number(&pair) };
        let age = pair.now.since(times_sent(&pair, reported)[0]);
        let too_fast = stat(latest_poll(&pair), reported, &[(0, 1)]);
        hear(&mut pair, too_fast);
        assert_eq!(age < state(&pair).srtt.expect("an estimate"), fresh);
        assert_eq!(state(&pair).activity, "probing");

        pair.run_to(start + RTT);
        let second = latest_poll(&pair);
        pair.run_to(start + RTT * 2);
        hear(&mut pair, stat(second, reported, &[(0, 1)]));
        assert_eq!(cycle(&pair, 0).verdict, verdict);
    }
}

#[test]
fn p18_a_measurement_is_the_time_since_the_answered_probe_left() {
    let mut answers = 0;
    let slower = move |c: &Crossing| {
        if !c.has(Kind::STAT) || c.at < ms(3_600) {
            return Fate::Pass;
        }
        answers += 1;
        // Nothing that the clock on the wire could tell: it counts in 100 µs.
        Fate::Late(Span::from_nanos(7_000_001 * answers))
    };
    let mut pair = one_poll(literal()).sending(pattern(60_000));
    pair = pair.with_script(all_of(vec![drop_data(1_010, 1), Box::new(slower)]));
    assert!(pair.run(LONG));
    let late = [7_000_001, 14_000_002].map(Span::from_nanos);
    assert_eq!(measured(&cycle(&pair, 0)), late.map(|late| RTT + late));
}
