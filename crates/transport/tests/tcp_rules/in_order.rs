//! Recoveries for paths that keep order: AeroTCP's and the order of departures.

use bentpipe_transport::Inspect;
use std::collections::BTreeMap;

use bentpipe_cc::Choice;

use super::support::*;

/// AeroTCP with its window of ten segments that no loss changes.
fn aero_fixed(aero_burst: u32, aero_adaptive: bool) -> Config {
    let controller = Choice::new("fixed", BTreeMap::new()).expect("a controller");
    let cwnd_max = Some(ByteCount::new(10_000));
    Config { controller, cwnd_max, ..aero(aero_burst, aero_adaptive) }
}

fn aero(aero_burst: u32, aero_adaptive: bool) -> Config {
    Config { recovery: Mode::Aero, aero_burst, aero_adaptive, ..plain() }
}

fn by_departure() -> Config {
    Config { recovery: Mode::DepartureOrder, ..plain() }
}

/// Numbers of what leaves now and left before.
fn again(script: &mut Script, below: u32) -> Vec<u32> {
    let numbers = script.sent().into_iter().map(|s| s.seq.distance_from(Seq32::new(ISS)));
    numbers.filter(|number| *number < below).collect()
}

#[test]
fn a_timeout_sends_two_copies_and_the_next_one_comes_no_later() {
    for recovery in [Mode::Aero, Mode::DepartureOrder] {
        let mut script = Script::four_out(Config { recovery, ..plain() });
        for _ in 0..3 {
            script.pass(1_000);
            script.expect(&[("", 2001, 1, 1000), ("", 2001, 1, 1000)]);
        }
    }
}

#[test]
fn aero_sends_as_many_again_as_it_may_from_a_partial_acknowledgement_on() {
    let mut script = Script::ten_out(aero_fixed(3, false));
    script.hear(peer(".", 1, 1, 0));
    assert_eq!(again(&mut script, 10_001), [1]);
    script.pass(100);
    script.hear(peer(".", 1, 1001, 0));
    assert_eq!(again(&mut script, 10_001), [1001, 2001, 3001]);
}

#[test]
fn aero_doubles_its_guess_while_gaps_are_as_long_as_that_and_then_starts_over() {
    let mut script = Script::ten_out(aero_fixed(3, true));
    script.hear(peer(".", 1, 1, 0));
    assert_eq!(again(&mut script, 10_001), [1]);
    for (ack, retransmissions) in [
        (1001, vec![1001, 2001]),
        // Twice two is more than it may.
        (3001, vec![3001, 4001, 5001]),
        // It advances by less than what left: the gap was shorter.
        (5001, vec![5001]),
    ] {
        script.pass(110);
        script.hear(peer(".", 1, ack, 0));
        assert_eq!(again(&mut script, 10_001), retransmissions);
    }
}

#[test]
fn aero_repeats_nothing_that_is_under_way_and_nothing_that_left_after_the_loss() {
    let mut script = Script::ten_out(aero_fixed(20, false));
    script.hear(peer(".", 1, 1, 0));
    let first = script.sent();
    assert_eq!(first[0].seq, Seq32::new(ISS).plus(1));
    script.pass(100);
    script.hear(peer(".", 1, 8001, 0));
    // 8001 and 9001 are missing; what left with the retransmission is not judged by this.
    assert_eq!(again(&mut script, 20_001).iter().filter(|n| **n < 10_001).count(), 2);
    script.pass(50);
    script.hear(peer(".", 1, 9001, 0));
    assert_eq!(
        again(&mut script, 10_001),
        [],
        "the retransmission of 9001 left half a round trip ago"
    );
}

#[test]
fn aero_skips_what_was_reported_and_repeats_a_repair_after_a_round_trip() {
    let mut script = Script::ten_out(aero_fixed(4, false));
    script.hear(sack(1, &[(1001, 2001)]));
    assert_eq!(again(&mut script, 10_001), [1]);
    script.pass(50);
    script.hear(sack(1, &[(3001, 4001), (1001, 2001)]));
    assert_eq!(again(&mut script, 10_001), [], "the retransmission may be under way");
    script.pass(100);
    script.hear(sack(1, &[(3001, 5001), (1001, 2001)]));
    assert_eq!(again(&mut script, 10_001), [1], "a round trip later it is lost");
    script.pass(100);
    script.hear(sack(2001, &[(3001, 5001)]));
    assert_eq!(again(&mut script, 10_001), [2001, 5001]);
}

#[test]
fn aero_is_done_when_all_is_acknowledged_that_had_left() {
    let mut script = Script::ten_out(aero(4, false));
    script.hear(peer(".", 1, 1, 0));
    script.sent();
    script.pass(100);
    script.hear(peer(".", 1, 10_001, 0));
    script.sent();
    assert_eq!(script.end.counters().reductions, 1);
    script.hear(peer(".", 1, 10_001, 0));
    assert_eq!(again(&mut script, 10_002), [10_001]);
    assert_eq!(script.end.counters().reductions, 2);
}

#[test]
fn what_arrived_by_any_of_its_departures_says_nothing_of_what_left_after_the_first() {
    let mut script = Script::four_out(by_departure());
    script.pass(1_000);
    script.expect(&[("", 2001, 1, 1000), ("", 2001, 1, 1000)]);
    // It may have been the first of the three: 3001 to 6001 may be under way.
    script.hear(peer(".", 1, 3001, 0));
    assert_eq!(again(&mut script, 6001), []);
}

#[test]
fn only_the_latest_departure_of_a_segment_shows_its_loss() {
    let mut script = Script::four_out(by_departure());
    script.pass(1_000);
    script.expect(&[("", 2001, 1, 1000), ("", 2001, 1, 1000)]);
    script.hear(sack(2001, &[(5001, 6001)]));
    // 2001 left again after 5001 did.
    let left = again(&mut script, 6001);
    assert!(left.contains(&3001) && !left.contains(&2001), "{left:?}");
}

#[test]
fn losses_of_one_window_are_one_reduction_and_those_of_the_next_another() {
    let mut script = Script::ten_out(by_departure());
    script.hear(sack(1, &[(1001, 2001)]));
    script.sent();
    script.hear(sack(1, &[(3001, 4001), (1001, 2001)]));
    script.sent();
    assert_eq!(script.end.counters().reductions, 1);
    script.hear(peer(".", 1, 10_001, 0));
    assert!(!script.sent().is_empty());
    script.hear(sack(10_001, &[(11_001, 12_001)]));
    script.sent();
    assert_eq!(script.end.counters().reductions, 2);
}

#[test]
fn a_report_below_the_highest_judges_nothing() {
    let mut script = Script::ten_out(by_departure());
    script.hear(sack(1, &[(8001, 9001)]));
    script.sent();
    let retransmissions = script.end.counters().retransmitted_segments;
    script.pass(50);
    for end in [2001, 3001] {
        script.hear(sack(1, &[(1001, end), (8001, 9001)]));
        script.sent();
    }
    let now = script.end.counters().retransmitted_segments;
    assert!(now <= retransmissions + 8, "no segment leaves a third time: {now}");
}

#[test]
fn aero_counts_the_loss_of_a_repair_as_one_of_the_same_recovery() {
    let mut script = Script::ten_out(aero(4, false));
    script.hear(peer(".", 1, 1, 0));
    assert_eq!(again(&mut script, 10_001), [1]);
    let due = script.end.poll_timeout().expect("a timer");
    script.pass(200);
    // The repair is lost as well: it leaves again, and has a timeout of its own.
    script.hear(peer(".", 1, 1, 0));
    assert_eq!(again(&mut script, 10_001), [1]);
    assert_eq!(script.end.counters().reductions, 1);
    assert_eq!(script.end.poll_timeout().expect("a timer").since(due), ms(200));
}

#[test]
fn aero_guesses_anew_in_each_recovery() {
    let mut script = Script::ten_out(aero_fixed(8, true));
    script.hear(peer(".", 1, 1, 0));
    script.sent();
    for ack in [1001, 3001] {
        script.pass(110);
        script.hear(peer(".", 1, ack, 0));
        script.sent();
    }
    script.hear(peer(".", 1, 10_001, 0));
    assert!(script.sent().len() > 2);
    script.pass(110);
    // The guess was four when the last recovery ended, and the first of this one repairs one segment.
    script.hear(peer(".", 1, 10_001, 0));
    assert_eq!(again(&mut script, 20_001), [10_001]);
    script.pass(110);
    script.hear(peer(".", 1, 11_001, 0));
    assert_eq!(again(&mut script, 20_001), [11_001, 12_001]);
}

#[test]
fn aero_repairs_nothing_that_left_after_the_loss_was_found() {
    let mut script = Script::ten_out(aero_fixed(20, false));
    script.hear(sack(1, &[(1001, 5001)]));
    assert_eq!(script.sent().len(), 5, "the retransmission and four new ones, up to 14001");
    script.pass(150);
    script.hear(sack(9001, &[(13_001, 14_001)]));
    // 10001 to 13001 left a round trip ago as well.
    assert_eq!(again(&mut script, 14_001), [9001]);
}
