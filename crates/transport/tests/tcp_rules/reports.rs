//! Recovery by what the peer reports (RFC 6675).

use super::support::*;
use bentpipe_transport::Inspect;

/// Everything that there is has been sent: segments 1 to 10001.
fn all_out(config: Config) -> Script {
    let mut script = Script::open(Config { initial_window: InitialWindow::Segments(10), ..config });
    script.write(10_000);
    assert_eq!(script.sent().len(), 10);
    script.pass(100);
    script
}

#[test]
fn three_duplicates_show_a_loss_however_short_the_segments() {
    let mut script = Script::open(Config {
        initial_window: InitialWindow::Segments(4),
        limited_transmit: false,
        ..plain()
    });
    for _ in 0..4 {
        script.write(100);
        assert_eq!(script.sent().len(), 1);
    }
    script.pass(100);
    for end in [201, 301] {
        script.hear(sack(1, &[(101, end)]));
        script.expect(&[]);
    }
    script.hear(sack(1, &[(101, 401)]));
    script.expect(&[("", 1, 1, 100)]);
}

#[test]
fn a_duplicate_that_reports_nothing_new_is_not_counted() {
    let mut script = Script::four_out(Config { limited_transmit: false, ..plain() });
    script.hear(sack(2001, &[(3001, 4001)]));
    for _ in 0..4 {
        script.hear(sack(2001, &[(3001, 4001)]));
        script.expect(&[]);
    }
    assert_eq!(script.end.counters().reductions, 0);
}

#[test]
fn one_report_of_enough_is_as_good_as_three_duplicates() {
    let mut script = Script::ten_out(plain());
    script.hear(sack(1, &[(1001, 4001)]));
    assert_eq!(script.sent()[0].seq, Seq32::new(ISS).plus(1));
    // Three runs, however short, with the newest first.
    let mut script = Script::ten_out(plain());
    script.hear(sack(1, &[(5001, 6001), (3001, 4001), (1001, 2001)]));
    assert_eq!(script.sent()[0].seq, Seq32::new(ISS).plus(1));
}

#[test]
fn a_recovery_ends_when_all_is_acknowledged_that_had_left_before_it() {
    let mut script = Script::ten_out(plain());
    script.hear(sack(1, &[(1001, 4001)]));
    script.sent();
    assert_eq!(script.end.counters().reductions, 1);
    // All but the last: what is missing now belongs to the same recovery.
    script.hear(sack(9001, &[(10_001, 13_001)]));
    script.sent();
    assert_eq!(script.end.counters().reductions, 1);
    script.hear(peer(".", 1, 10_001, 0));
    script.sent();
    script.hear(sack(10_001, &[(11_001, 14_001)]));
    assert_eq!(script.sent()[0].seq, Seq32::new(ISS).plus(10_001));
    assert_eq!(script.end.counters().reductions, 2);
}

#[test]
fn after_a_timeout_no_recovery_begins_before_all_is_acknowledged_that_had_left() {
    let mut script = Script::four_out(plain());
    script.pass(1_000);
    script.expect(&[("", 2001, 1, 1000)]);
    // RFC 6675, section 5.1: reports of what had left begin nothing.
    script.hear(sack(2001, &[(3001, 6001)]));
    script.expect(&[]);
    script.hear(peer(".", 1, 6001, 0));
    script.expect(&[("", 6001, 1, 1000), ("", 7001, 1, 1000)]);
    script.hear(sack(6001, &[(7001, 8001)]));
    script.expect(&[("", 8001, 1, 1000)]);
    script.hear(sack(6001, &[(7001, 9001)]));
    script.expect(&[("", 9001, 1, 1000)]);
    script.hear(sack(6001, &[(7001, 10_001)]));
    script.expect(&[("", 6001, 1, 1000), ("", 10_001, 1, 1000)]);
}

#[test]
fn after_a_timeout_what_was_reported_is_sent_again_as_the_peer_may_have_dropped_it() {
    let mut script = Script::four_out(plain());
    script.hear(sack(2001, &[(3001, 4001)]));
    script.expect(&[("", 6001, 1, 1000)]);
    script.pass(1_000);
    script.expect(&[("", 2001, 1, 1000)]);
    script.hear(peer(".", 1, 3001, 0));
    script.expect(&[("", 3001, 1, 1000), ("", 4001, 1, 1000)]);
}

#[test]
fn after_a_timeout_the_window_counts_what_was_sent_since() {
    let mut script = Script::ten_out(plain());
    script.pass(900);
    script.expect(&[("", 1, 1, 1000)]);
    script.hear(peer(".", 1, 1001, 0));
    script.expect(&[("", 1001, 1, 1000), ("", 2001, 1, 1000)]);
    // What the peer has need not be retransmitted, and the window has room for it.
    script.hear(sack(1001, &[(2001, 5001)]));
    script.expect(&[("", 5001, 1, 1000)]);
}

#[test]
fn what_is_under_way_decides_how_much_leaves_in_a_recovery() {
    let mut script = Script::ten_out(plain());
    // Seven of ten are under way, one of them given up: six, and five may be.
    script.hear(sack(1, &[(1001, 4001)]));
    script.expect(&[("", 1, 1, 1000)]);
    // The repair is under way as well: seven, then six, five, four.
    script.hear(sack(1, &[(1001, 6001)]));
    script.expect(&[]);
    script.hear(sack(1, &[(1001, 7001)]));
    script.expect(&[("", 10_001, 1, 1000)]);
    script.hear(sack(1, &[(1001, 9001)]));
    script.expect(&[("", 11_001, 1, 1000), ("", 12_001, 1, 1000)]);
}

#[test]
fn a_hole_that_may_be_none_is_sent_again_once_when_there_is_nothing_new() {
    let mut script = all_out(plain());
    // Above 7001 there is one segment: it is not known to be lost (NextSeg, rule 3).
    script.hear(sack(1, &[(8001, 9001), (4001, 7001), (1001, 3001)]));
    script.expect(&[("", 1, 1, 1000), ("", 3001, 1, 1000), ("", 7001, 1, 1000)]);
    // The last one, above everything that was reported, is rule 4's, when there is room for it.
    script.hear(peer(".", 1, 3001, 0));
    script.hear(sack(3001, &[(8001, 9001), (4001, 7001)]));
    script.expect(&[("", 9001, 1, 1000)]);
    script.hear(sack(7001, &[(8001, 9001)]));
    script.expect(&[]);
}

#[test]
fn what_is_sent_again_without_being_known_as_lost_counts_twice() {
    let mut script = all_out(plain());
    script.hear(sack(1, &[(1001, 4001)]));
    script.expect(&[("", 1, 1, 1000)]);
    // Four are missing before the last two, which is not enough to call them lost.
    script.hear(sack(1, &[(8001, 10_001), (1001, 4001)]));
    script.expect(&[]);
    // Five may be under way: the four, and one of them once more.
    script.hear(sack(4001, &[(8001, 10_001)]));
    script.expect(&[("", 4001, 1, 1000)]);
    script.hear(sack(5001, &[(8001, 10_001)]));
    script.expect(&[("", 5001, 1, 1000), ("", 6001, 1, 1000)]);
}

#[test]
fn the_last_segment_is_sent_again_once_in_each_recovery() {
    let mut script = all_out(plain());
    script.hear(sack(1, &[(1001, 9001)]));
    script.expect(&[("", 1, 1, 1000), ("", 9001, 1, 1000)]);
    script.pass(50);
    script.hear(peer(".", 1, 9001, 0));
    script.expect(&[]);
    script.hear(peer(".", 1, 10_001, 0));
    // Another recovery, another rescue.
    script.write(5_000);
    assert_eq!(script.sent().len(), 5);
    script.hear(sack(10_001, &[(11_001, 14_001)]));
    script.expect(&[("", 10_001, 1, 1000)]);
    script.hear(peer(".", 1, 14_001, 0));
    script.expect(&[("", 14_001, 1, 1000)]);
}
