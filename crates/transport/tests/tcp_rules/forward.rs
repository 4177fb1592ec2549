//! Forward acknowledgement with rate halving: what shows a lost retransmission, and what a timeout leaves.

use super::support::*;
use bentpipe_transport::Inspect;

fn fack() -> Config {
    Config { recovery: Mode::Fack, ..plain() }
}

#[test]
fn a_repair_is_lost_when_more_than_a_threshold_of_later_repairs_arrived() {
    let config = Config { initial_window: InitialWindow::Segments(10), ..fack() };
    let mut script = Script::open(config);
    script.write(10_000);
    assert_eq!(script.sent().len(), 10);
    script.pass(100);
    // There is no new data that could show it.
    script.hear(sack(1, &[(5001, 10_001)]));
    let retransmissions = [1, 1001, 2001, 3001, 4001];
    script.expect(&retransmissions.map(|number| ("", number, 1, 1000)));
    script.pass(100);
    for end in [2001, 3001, 4001] {
        script.hear(sack(1, &[(1001, end), (5001, 10_001)]));
        script.expect(&[]);
    }
    script.hear(sack(1, &[(1001, 10_001)]));
    script.expect(&[("", 1, 1, 1000)]);
    // Only its latest departure counts from now on.
    script.pass(50);
    script.hear(sack(1, &[(1001, 10_001)]));
    script.expect(&[]);
}

#[test]
fn a_recovery_ends_when_all_is_acknowledged_that_had_left_before_it() {
    let mut script = Script::ten_out(fack());
    script.hear(sack(1, &[(1001, 5001)]));
    script.sent();
    script.hear(peer(".", 1, 9001, 0));
    script.sent();
    script.hear(peer(".", 1, 10_001, 0));
    script.sent();
    assert_eq!(script.end.counters().reductions, 1);
    script.hear(sack(10_001, &[(11_001, 15_001)]));
    assert_eq!(script.sent()[0].seq, Seq32::new(ISS).plus(10_001));
    assert_eq!(script.end.counters().reductions, 2);
}

#[test]
fn while_reports_come_the_timer_waits() {
    let mut script = Script::four_out(fack());
    script.pass(600);
    script.hear(sack(2001, &[(3001, 4001)]));
    script.expect(&[("", 6001, 1, 1000)]);
    let due = script.end.poll_timeout().expect("a timer");
    assert!(due >= script.now + ms(1_000), "{due}");
}

#[test]
fn after_a_timeout_what_was_reported_is_not_sent_again() {
    let mut script = Script::four_out(fack());
    script.hear(sack(2001, &[(4001, 5001)]));
    script.expect(&[("", 6001, 1, 1000)]);
    script.pass(1_000);
    script.expect(&[("", 2001, 1, 1000)]);
    script.pass(100);
    script.hear(sack(3001, &[(4001, 5001)]));
    script.expect(&[("", 3001, 1, 1000), ("", 5001, 1, 1000)]);
}
