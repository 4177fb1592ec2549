//! An empty STAT ends a cycle at once: nothing was lost (P16).

use bentpipe_testkit::{Crossing, Direction, Fate, Pair, pattern};
use bentpipe_units::Span;
use bentpipe_wire::Kind;

use crate::support::*;

/// Loses STATs `lost` only, so that the cycle that follows finds nothing missing.
fn without_stats(lost: &[u64]) -> Pair {
    let script = lost.iter().map(|k| drop_nth(Direction::Return, Kind::STAT, *k)).collect();
    wide(literal()).sending(pattern(900_000)).with_script(all_of(script))
}

#[test]
fn p16_an_empty_stat_ends_the_cycle_at_once_and_new_data_go_on() {
    let mut pair = without_stats(&[40]);
    assert!(pair.run(LONG));
    let cycle = cycle(&pair, 0);
    assert_eq!((cycle.verdict, summary(&pair).premature), (Some("premature"), 1));
    assert_eq!(cycle.measurements, []);
    // The next STAT that arrives is the end.
    let start = start_of(&cycle);
    let arrivals = pair.sent(Direction::Return, Kind::STAT).filter(|c| c.fate == Fate::Pass);
    let next = arrivals.map(|c| c.at + DELAY).find(|at| *at > start);
    assert_eq!(Some(end_of(&cycle)), next);
    // New data leave at the same moment, with a POLL; then POLLs come at the normal rate.
    let first: Vec<_> = sent_at(&pair, end_of(&cycle)).into_iter().cloned().collect();
    assert!(first.iter().all(|c| c.has(Kind::DATA)));
    assert!(first.last().is_some_and(|c| c.has(Kind::POLL)));
    let gaps = poll_gaps(&pair, end_of(&cycle), end_of(&cycle) + RTT);
    let near = |gap: &Span| gap.abs_diff(INTERVAL) < Span::from_micros(1);
    assert!(gaps.len() == 3 && gaps.iter().all(near), "{gaps:?}");
}

#[test]
fn p16_a_premature_cycle_leaves_the_window_as_it_was() {
    for lost in [[40, 41], [18, 19]] {
        let mut pair = without_stats(&lost);
        assert!(pair.run(LONG));
        assert_eq!((summary(&pair).premature, reductions(&pair)), (1, 0));
        let (start, end) = (start_of(&cycle(&pair, 0)), end_of(&cycle(&pair, 0)));
        let mut pair = without_stats(&lost);
        pair.run_to(start);
        let before = state(&pair);
        pair.run_to(end);
        let after = state(&pair);
        assert_eq!((before.activity, after.activity), ("probing", "transmitting"));
        // The STAT acknowledges, so that the window can only have grown.
        assert!(after.cwnd >= before.cwnd && after.phase == before.phase);
    }
}

#[test]
fn p16_an_empty_answer_to_a_poll_before_the_loss_ends_the_cycle_too() {
    let mut pair = without_stats(&[40]);
    assert!(pair.run(LONG));
    let cycle = cycle(&pair, 0);
    // Earlier than a probe can be answered.
    assert!(length_of(&cycle) < RTT);
}

#[test]
fn p16_so_does_the_empty_answer_to_a_probe() {
    // The STATs of all POLLs before the start are lost. POLL 33 would be the first probe.
    let lost = drop_answers(poll_time(30), poll_time(33));
    let mut pair = in_step(literal()).sending(pattern(60_000)).with_script(lost);
    assert!(pair.run(LONG));
    let cycle = cycle(&pair, 0);
    assert_eq!((start_of(&cycle), length_of(&cycle)), (poll_time(33), RTT));
    assert_eq!((cycle.verdict, cycle.probes), (Some("premature"), 1));
}

#[test]
fn p16_the_next_cycle_knows_nothing_of_a_premature_one() {
    let lost = vec![drop_nth(Direction::Return, Kind::STAT, 11), drop_data(1_024, 1)];
    let mut pair = one_poll(literal()).sending(pattern(60_000)).with_script(all_of(lost));
    assert!(pair.run(LONG));
    let verdicts: Vec<_> = summary(&pair).first_cycles.iter().map(|c| c.verdict).collect();
    assert_eq!(verdicts, [Some("premature"), Some("link")]);
    // It takes as many answers and as long as any.
    let second = cycle(&pair, 1);
    assert_eq!((second.probes, length_of(&second)), (2, RTT * 2));
    assert_eq!(measured(&second), [RTT, RTT]);
}

#[test]
fn p16_a_segment_overtaken_by_four_is_no_loss() {
    // The receiver waits for three; the report is out before the segment arrives, which the next STAT
    // knows.
    let overtaken = |c: &Crossing| {
        let late =
            c.direction == Direction::Forward && c.has(Kind::DATA) && c.segment.seq.get() == 1_300;
        if late { Fate::Late(Span::from_millis(30)) } else { Fate::Pass }
    };
    let mut pair = wide(prober()).sending(pattern(900_000)).with_script(overtaken);
    assert!(pair.run(LONG));
    let cycle = cycle(&pair, 0);
    assert_eq!((cycle.trigger, cycle.verdict), ("gap_report", Some("premature")));
    let sent = times_sent(&pair, 1_300)[0];
    let beyond =
        |c: &&Crossing| c.segment.seq.get() > 1_300 && c.at <= sent + Span::from_millis(30);
    assert!(pair.sent(Direction::Forward, Kind::DATA).filter(beyond).count() >= 4);
    assert_eq!(times_sent(&pair, 1_300).len(), 1);
    assert_eq!((summary(&pair).cycles, reductions(&pair)), (1, 0));
}
