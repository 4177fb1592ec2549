//! Which answers a cycle counts, and when it has enough (P13, P19 to P23).

use bentpipe_testkit::{Crossing, Direction, Fate, Pair, pattern};
use bentpipe_transport::xstp::Config;
use bentpipe_units::Span;
use bentpipe_wire::Kind;

use crate::support::*;

/// Makes the answers to the POLLs sent at these times late by as much.
fn answers_late(late: Vec<(u64, u64)>) -> Script {
    Box::new(move |crossing| {
        let asked = crossing.at.before(DELAY);
        let same = |(at, _): &&(u64, u64)| crossing.has(Kind::STAT) && ms(*at) == asked;
        late.iter().find(same).map_or(Fate::Pass, |(_, by)| Fate::Late(Span::from_millis(*by)))
    })
}

/// Segment 1010 and its POLL are lost at 3.3 s and probing starts at 3.6 s. The POLLs at 3.4 s and
/// 3.5 s are answered during the cycle.
fn with_pre_loss_answers(client: Config, script: Script) -> Pair {
    let mut pair = in_step(client).sending(pattern(60_000));
    pair = pair.with_script(all_of(vec![drop_data(1_010, 1), script]));
    assert!(pair.run(LONG));
    assert_eq!(start_of(&cycle(&pair, 0)), ms(3_600));
    pair
}

/// The same with one POLL in a round trip: probes leave at 3.6 s, 3.9 s and so on, and only they are
/// answered.
fn without_pre_loss_answers(client: Config, script: Script) -> Pair {
    let mut pair = one_poll(client).sending(pattern(60_000));
    pair = pair.with_script(all_of(vec![drop_data(1_010, 1), script]));
    assert!(pair.run(LONG));
    assert_eq!(start_of(&cycle(&pair, 0)), ms(3_600));
    pair
}

fn nothing_else() -> Script {
    Box::new(|_| Fate::Pass)
}

#[test]
fn p13_a_probe_that_found_no_room_for_older_ones_still_counts() {
    // The answers to the first nine probes are lost, more than the map holds.
    let lost = drop_answers(ms(3_600), ms(6_300));
    let cycle = cycle(&without_pre_loss_answers(literal(), lost), 0);
    assert_eq!((cycle.probes, length_of(&cycle)), (11, RTT * 11));
}

#[test]
fn p19_a_pre_loss_answer_and_the_first_probe_complete_a_cycle() {
    let cycle = cycle(&with_pre_loss_answers(literal(), nothing_else()), 0);
    assert_eq!((cycle.probes, length_of(&cycle)), (1, RTT));
    assert_eq!(measured(&cycle), [RTT, RTT]);
}

#[test]
fn p19_the_last_pre_loss_answer_overwrites_the_ones_before() {
    let late = answers_late(vec![(3_400, 20), (3_500, 10), (3_600, 5)]);
    let cycle = cycle(&with_pre_loss_answers(literal(), late), 0);
    assert_eq!(measured(&cycle), [10, 5].map(|ms| RTT + Span::from_millis(ms)));
}

#[test]
fn p19_a_pre_loss_answer_after_its_entry_was_deleted_is_ignored() {
    // With three entries the third probe, at 4.2 s, deletes the reserved one. The answer to the POLL
    // of 3.5 s comes at 4.25 s; answers that arrive in order must be later still.
    let late = || answers_late(vec![(3_400, 500), (3_500, 450), (3_600, 400), (3_900, 200)]);
    let small = with_probe(|probe| (probe.early_slack, probe.map_size) = (0.0, 3));
    let large = cycle(&with_pre_loss_answers(literal(), late()), 0);
    assert_eq!(measured(&large), [450, 400].map(|ms| RTT + Span::from_millis(ms)));
    let small = cycle(&with_pre_loss_answers(small, late()), 0);
    assert_eq!(measured(&small), [400, 200].map(|ms| RTT + Span::from_millis(ms)));
}

#[test]
fn p20_an_answer_that_outlives_its_entry_is_ignored() {
    // Answers take more than three round trips: with three entries the probe is forgotten by then.
    let slow = || stretch(ms(3_600), RTT * 2 + Span::from_millis(100));
    let entries = |n| with_probe(|probe| (probe.early_slack, probe.map_size) = (0.0, n));
    let large = cycle(&without_pre_loss_answers(entries(16), slow()), 0);
    // The answers to the first two probes, which left at the old pace.
    assert_eq!(length_of(&large), RTT * 4 + Span::from_millis(100));
    let small = cycle(&without_pre_loss_answers(entries(3), slow()), 0);
    // Only once the estimate has grown are probes so far apart that two of them are remembered.
    assert!(length_of(&small) > length_of(&large) + RTT * 4, "{:?}", small.seconds);
    assert_eq!(measured(&small), measured(&large));
}

#[test]
fn p21_the_stat_that_triggered_is_not_recorded() {
    for (recorded, probes) in [(false, 2), (true, 1)] {
        let client = with_probe(|probe| {
            (probe.early_timeout, probe.record_trigger_stat) = (false, recorded);
        });
        let mut pair = one_poll(client).sending(pattern(60_000));
        pair = pair.with_script(drop_data(1_010, 1));
        assert!(pair.run(LONG));
        // The POLL at 3.6 s was the last one before the start, and its STAT tells of the loss.
        let cycle = cycle(&pair, 0);
        assert_eq!((start_of(&cycle), cycle.trigger), (ms(3_900), "gap_report"));
        assert_eq!((cycle.probes, length_of(&cycle)), (probes, RTT * probes));
    }
}

#[test]
fn p22_two_answers_in_a_row_complete_a_cycle() {
    let cycle = cycle(&without_pre_loss_answers(literal(), nothing_else()), 0);
    assert_eq!((cycle.probes, length_of(&cycle)), (2, RTT * 2));
    assert_eq!(measured(&cycle), [RTT, RTT]);
}

#[test]
fn p22_as_many_answers_complete_a_cycle_as_are_configured() {
    for needed in 1..=3 {
        let client = with_probe(|probe| {
            (probe.early_slack, probe.probes_needed) = (0.0, needed);
        });
        let cycle = cycle(&without_pre_loss_answers(client, nothing_else()), 0);
        assert_eq!(cycle.probes, u64::from(needed));
        assert_eq!(length_of(&cycle), RTT * u64::from(needed));
        assert_eq!(measured(&cycle), vec![RTT; needed as usize]);
    }
}

#[test]
fn p22_a_cycle_ends_with_the_smallest_map_although_the_round_trip_grew() {
    // The next probe has left when an answer comes: its entry is empty, and the others must do.
    for needed in 1..=3 {
        let client = with_probe(|probe| {
            (probe.early_slack, probe.probes_needed) = (0.0, needed);
            probe.map_size = needed.max(2);
        });
        let slower = stretch(ms(3_600), Span::from_millis(1));
        let cycle = cycle(&without_pre_loss_answers(client, slower), 0);
        assert_eq!(cycle.probes, u64::from(needed) + 1);
    }
}

#[test]
fn p22_a_lost_answer_delays_the_end_by_no_more_than_its_probe() {
    let lost = drop_answers(ms(3_600), ms(3_700));
    let cycle = cycle(&without_pre_loss_answers(literal(), lost), 0);
    assert_eq!((cycle.probes, length_of(&cycle)), (3, RTT * 3));
}

#[test]
fn p23_an_unanswered_probe_in_between_makes_the_older_answer_obsolete() {
    // The first answer alone would tell of congestion; the second is lost; the next two count.
    let script = all_of(vec![answers_late(vec![(3_600, 100)]), drop_answers(ms(3_900), ms(4_000))]);
    let pair = without_pre_loss_answers(literal(), Box::new(script));
    let cycle = cycle(&pair, 0);
    assert_eq!((measured(&cycle), cycle.verdict), (vec![RTT, RTT], Some("link")));
    // Without an answer to the second, the fourth probe completes the cycle.
    assert_eq!(cycle.probes, 4);
    let answered =
        |c: &&Crossing| c.fate != Fate::Drop && c.at > ms(3_600) && c.at < end_of(&cycle);
    assert_eq!(pair.sent(Direction::Return, Kind::STAT).filter(answered).count(), 3);
}
