//! New data ask before a repair whether data or acknowledgements were lost (TCP Star's acknowledgment error notification,
//! in this project's reading).

use std::collections::BTreeMap;

use bentpipe_cc::Choice;
use bentpipe_transport::Inspect;

use super::support::*;

fn star(aen: f64) -> Config {
    let parameters = BTreeMap::from([("aen".to_owned(), aen)]);
    let controller = Choice::new("star", parameters).expect("known");
    Config { controller, initial_window: InitialWindow::Segments(4), ..plain() }
}

/// Four segments are out, 1 to 4001, of a write of so many bytes, and nothing is heard until the timer runs out.
fn silent(config: Config, bytes: usize) -> Script {
    let mut script = Script::open(config);
    script.write(bytes);
    assert_eq!(script.sent().len(), 4);
    script.pass(1_000);
    script
}

/// The first new segment asked.
fn asked() -> Script {
    let mut script = silent(star(1.0), 50_000);
    script.expect(&[("", 4_001, 1, 1000)]);
    script
}

fn cwnd(script: &Script) -> u64 {
    script.end.sender_state().cwnd.map_or(0, ByteCount::get)
}

fn timeouts(script: &Script) -> u64 {
    script.end.counters().timeouts
}

#[test]
fn where_acknowledgements_were_lost_nothing_is_sent_again_and_the_window_stays() {
    let mut script = asked();
    script.pass(100);
    script.hear(peer(".", 1, 5_001, 0));
    let sent = script.sent();
    assert!(sent.iter().all(|s| s.seq.distance_from(Seq32::new(ISS)) >= 5_001), "{sent:?}");
    assert!(sent.len() >= 4 && cwnd(&script) >= 4_000, "{}", cwnd(&script));
    assert_eq!(timeouts(&script), 0);
}

#[test]
fn where_acknowledgements_are_late_nothing_is_sent_again() {
    let mut script = asked();
    for end in [1_001, 2_001, 3_001, 4_001] {
        script.pass(10);
        script.hear(peer(".", 1, end, 0));
        let sent = script.sent();
        assert!(sent.iter().all(|s| s.seq.distance_from(Seq32::new(ISS)) >= 5_001), "{sent:?}");
    }
    assert_eq!(timeouts(&script), 0);
}

#[test]
fn where_data_were_lost_the_timeout_is_answered_with_the_report() {
    let mut script = asked();
    script.pass(100);
    script.hear(sack(1, &[(4_001, 5_001)]));
    script.expect(&[("", 1, 1, 1000)]);
    assert_eq!((cwnd(&script), timeouts(&script)), (1_000, 1));
}

#[test]
fn without_an_answer_the_repair_leaves_when_the_timer_runs_out_again() {
    let mut script = asked();
    script.pass(1_000);
    script.expect(&[("", 1, 1, 1000)]);
    assert_eq!((cwnd(&script), timeouts(&script)), (1_000, 1));
}

#[test]
fn without_reports_a_duplicate_says_that_data_were_lost() {
    let mut script = Script::start(star(1.0));
    script.sent();
    script.pass(100);
    script.hear(syn_ack(mss(1000)));
    script.sent();
    script.write(50_000);
    assert_eq!(script.sent().len(), 4);
    script.pass(1_000);
    script.expect(&[("", 4_001, 1, 1000)]);
    script.pass(100);
    script.hear(peer(".", 1, 1, 0));
    script.expect(&[("", 1, 1, 1000)]);
}

#[test]
fn without_new_data_the_oldest_segment_leaves() {
    let mut script = silent(star(1.0), 4_000);
    script.expect(&[("", 1, 1, 1000)]);
}

#[test]
fn what_nagle_holds_back_does_not_ask() {
    let mut script = silent(Config { nagle: true, ..star(1.0) }, 4_500);
    script.expect(&[("", 1, 1, 1000)]);
}

#[test]
fn where_the_peer_has_no_room_the_oldest_segment_leaves() {
    let mut script = Script::open(star(1.0));
    script.hear(Segment { window: 4_000, ..peer(".", 1, 1, 0) });
    script.write(50_000);
    assert_eq!(script.sent().len(), 4);
    script.pass(1_000);
    script.expect(&[("", 1, 1, 1000)]);
}

#[test]
fn nobody_asks_unless_the_controller_wants_it() {
    let mut script = silent(star(0.0), 50_000);
    script.expect(&[("", 1, 1, 1000)]);
}

#[test]
fn what_was_reported_as_missing_is_repaired_without_a_question() {
    let mut script = Script::open(star(1.0));
    script.write(50_000);
    assert_eq!(script.sent().len(), 4);
    script.pass(100);
    script.hear(sack(1, &[(1_001, 2_001)]));
    script.sent();
    // The timer has run since the data left.
    script.pass(900);
    script.expect(&[("", 1, 1, 1000)]);
}
