//! Tahoe, Reno and NewReno: what duplicates mean, and when they mean nothing (RFC 5681, RFC 6582).

use super::support::*;
use bentpipe_transport::Inspect;

fn without_limited_transmit(recovery: Mode) -> Config {
    Config { recovery, limited_transmit: false, ..plain() }
}

fn again(script: &mut Script, ack: u32, times: usize) {
    for _ in 0..times {
        script.hear(peer(".", 1, ack, 0));
    }
}

#[test]
fn after_a_timeout_duplicates_of_what_had_left_before_it_repair_nothing() {
    for recovery in [Mode::Tahoe, Mode::Reno, Mode::NewReno] {
        let mut script = Script::four_out(without_limited_transmit(recovery));
        script.pass(1_000);
        script.expect(&[("", 2001, 1, 1000)]);
        // The peer had the rest: retransmissions from here on would be needless, and so are these duplicates.
        script.hear(peer(".", 1, 3001, 0));
        script.expect(&[("", 3001, 1, 1000), ("", 4001, 1, 1000)]);
        again(&mut script, 3001, 3);
        script.expect(&[]);
        script.hear(peer(".", 1, 6001, 0));
        assert!(script.sent().iter().all(|s| s.seq.distance_from(Seq32::new(ISS)) > 6000));
        // The number must be beyond all that had left, not just reach it (RFC 6582, section 3.2, step 2).
        again(&mut script, 6001, 3);
        script.expect(&[]);
        script.hear(peer(".", 1, 7001, 0));
        script.sent();
        again(&mut script, 7001, 3);
        assert_eq!(script.sent()[0].seq, Seq32::new(ISS).plus(7001), "{recovery:?}");
    }
}

#[test]
fn each_duplicate_of_a_recovery_lets_one_segment_go_when_the_window_has_room() {
    for recovery in [Mode::Reno, Mode::NewReno] {
        let mut script = Script::ten_out(without_limited_transmit(recovery));
        again(&mut script, 1, 3);
        script.expect(&[("", 1, 1, 1000)]);
        // Half of ten and three; two more until that is more than what is under way.
        again(&mut script, 1, 2);
        script.expect(&[]);
        for new in [10_001, 11_001, 12_001, 13_001] {
            again(&mut script, 1, 1);
            script.expect(&[("", new, 1, 1000)]);
        }
    }
}

#[test]
fn a_partial_acknowledgement_takes_back_what_it_covers_but_for_one_segment() {
    let mut script = Script::ten_out(without_limited_transmit(Mode::NewReno));
    again(&mut script, 1, 8);
    script.expect(&[
        ("", 1, 1, 1000),
        ("", 10_001, 1, 1000),
        ("", 11_001, 1, 1000),
        ("", 12_001, 1, 1000),
    ]);
    // RFC 6582, section 3.2, step 3: 13 - 4 + 1 segments may be under way, and 9 are.
    script.hear(peer(".", 1, 4001, 0));
    script.expect(&[("", 4001, 1, 1000), ("", 13_001, 1, 1000)]);
    // Everything that had left when the loss was found: the window is half of ten, and four are under way.
    script.hear(peer(".", 1, 10_001, 0));
    script.expect(&[("", 14_001, 1, 1000)]);
}

#[test]
fn less_than_a_segment_adds_none_to_the_window_of_a_recovery() {
    let mut script = Script::ten_out(without_limited_transmit(Mode::NewReno));
    again(&mut script, 1, 8);
    script.sent();
    // 13 - 0.5 segments, and 12.5 are under way.
    script.hear(peer(".", 1, 501, 0));
    script.expect(&[("", 501, 1, 500)]);
}

#[test]
fn after_a_recovery_nothing_counts_as_gone_that_is_under_way() {
    for (recovery, ack) in [(Mode::Reno, 4001), (Mode::NewReno, 10_001)] {
        let mut script = Script::ten_out(without_limited_transmit(recovery));
        again(&mut script, 1, 9);
        let new = script.sent().len() - 1;
        script.hear(peer(".", 1, ack, 0));
        let sent = script.sent().len();
        let under_way = 10 + new + sent - (ack as usize - 1) / 1000;
        assert_eq!(under_way, 5.max(10 + new - (ack as usize - 1) / 1000), "{recovery:?}");
    }
}

#[test]
fn duplicates_of_two_numbers_are_not_counted_together() {
    for (recovery, reports) in
        [(Mode::Tahoe, false), (Mode::Reno, false), (Mode::NewReno, false), (Mode::Sack, true)]
    {
        let mut script = Script::four_out(without_limited_transmit(recovery));
        let duplicate =
            |ack, end| if reports { sack(ack, &[(4001, end)]) } else { peer(".", 1, ack, 0) };
        script.hear(duplicate(2001, 4501));
        script.hear(duplicate(2001, 5001));
        script.expect(&[]);
        // They came out of order: only 3001 is late now.
        script.hear(peer(".", 1, 3001, 0));
        let new = script.sent();
        assert!(new.iter().all(|s| s.seq.distance_from(Seq32::new(ISS)) > 6000), "{recovery:?}");
        script.hear(duplicate(3001, 6001));
        assert!(script.sent().len() <= 1, "{recovery:?}: one more may leave, nothing again");
        assert_eq!(script.end.counters().reductions, 0, "{recovery:?}");
    }
}

#[test]
fn after_disorder_the_segments_of_limited_transmit_count_as_under_way() {
    let mut script = Script::four_out(Config { recovery: Mode::NewReno, ..plain() });
    for new in [6001, 7001] {
        again(&mut script, 2001, 1);
        script.expect(&[("", new, 1, 1000)]);
    }
    // Four are under way again, and this acknowledgement adds one to the window of four.
    script.hear(peer(".", 1, 4001, 0));
    script.expect(&[("", 8001, 1, 1000)]);
}

#[test]
fn a_timeout_ends_what_duplicates_made_room_for() {
    for recovery in [Mode::Reno, Mode::NewReno] {
        let mut script = Script::ten_out(without_limited_transmit(recovery));
        again(&mut script, 1, 9);
        assert!(script.sent().len() > 1, "{recovery:?}");
        script.pass(1_000);
        script.expect(&[("", 1, 1, 1000)]);
        // Slow start from one segment, as if there had been no duplicates.
        script.hear(peer(".", 1, 1001, 0));
        script.expect(&[("", 1001, 1, 1000), ("", 2001, 1, 1000)]);
    }
}

#[test]
fn the_first_partial_acknowledgement_of_each_recovery_restarts_the_timer() {
    let mut script = Script::ten_out(without_limited_transmit(Mode::NewReno));
    for (first, recovered) in [(1, 10_001), (11_001, 0)] {
        again(&mut script, first, 3);
        assert_eq!(script.sent()[0].seq, Seq32::new(ISS).plus(first));
        for (ack, restarts) in [(1000, true), (2000, false)] {
            script.pass(100);
            let before = script.end.poll_timeout();
            script.hear(peer(".", 1, first + ack, 0));
            script.sent();
            assert_eq!(script.end.poll_timeout() > before, restarts, "{first} and {ack}");
        }
        for ack in [recovered, recovered + 1000] {
            script.hear(peer(".", 1, ack, 0));
            script.sent();
        }
    }
}

#[test]
fn a_duplicate_that_says_what_came_twice_or_carries_data_or_another_window_is_none() {
    // RFC 5681, section 2; RFC 2883, section 4.
    let mut script = Script::ten_out(Config { recovery: Mode::NewReno, ..plain() });
    let twice = |n: u32| sack(1001, &[(1 + 100 * n, 101 + 100 * n)]);
    script.hear(peer(".", 1, 1001, 0));
    script.sent();
    for n in 0..5 {
        script.hear(twice(n));
        script.expect(&[]);
    }
    for n in 0..5 {
        script.hear(Segment { window: 50_000 - n, ..peer(".", 1, 1001, 0) });
        script.expect(&[]);
    }
    for n in 0..5 {
        script.hear(peer(".", 1 + 10 * n, 1001, 10));
        script.expect(&[("", 12_001, 11 + 10 * n, 0)]);
    }
    assert_eq!(script.end.counters().reductions, 0);
}
