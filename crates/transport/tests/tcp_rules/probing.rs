//! TCP-Probing: two exchanges before a loss is answered.

use super::support::*;
use bentpipe_transport::Inspect;

fn probing() -> Config {
    Config { probing: true, ..plain() }
}

/// Four segments are out, the first is lost, and the first probe is on its way.
fn asked() -> (Script, u64) {
    let mut script = Script::four_out(probing());
    let window = script.end.sender_state().cwnd.expect("a window").get();
    script.pass(100);
    script.hear(sack(2001, &[(3001, 4001)]));
    script.expect(&[("", 6001, 1, 1000)]);
    script.hear(sack(2001, &[(3001, 5001)]));
    script.expect(&[("", 7001, 1, 1000)]);
    script.hear(sack(2001, &[(3001, 6001)]));
    script.expect(&[("", 2000, 1, 1)]);
    (script, window)
}

/// The answer to a probe: its byte came twice.
fn answer() -> Segment {
    sack(2001, &[(2000, 2001), (3001, 8001)])
}

/// The answer of a peer that does not report what came twice, and any duplicate that comes late.
fn nothing_new() -> Segment {
    sack(2001, &[(3001, 8001)])
}

#[test]
fn round_trips_as_before_leave_the_window_and_the_repair_follows_the_second_answer() {
    let (mut script, window) = asked();
    script.pass(99);
    // What was under way and what comes late is no answer.
    script.hear(sack(2001, &[(3001, 8001)]));
    script.hear(nothing_new());
    script.pass(1);
    script.hear(answer());
    script.expect(&[("", 2000, 1, 1)]);
    script.pass(100);
    script.hear(answer());
    let sent = script.sent();
    assert_eq!(sent[0].seq, Seq32::new(ISS).plus(2001));
    let state = script.end.sender_state();
    assert_eq!(state.cwnd.map(ByteCount::get), Some(window));
    assert_eq!(script.end.counters().reductions, 0);
}

#[test]
fn a_longer_round_trip_in_either_exchange_halves_the_window() {
    for waits in [[101, 100], [100, 101]] {
        let (mut script, window) = asked();
        script.hear(nothing_new());
        script.pass(waits[0]);
        script.hear(answer());
        script.expect(&[("", 2000, 1, 1)]);
        script.pass(waits[1]);
        script.hear(answer());
        assert_eq!(script.sent()[0].seq, Seq32::new(ISS).plus(2001));
        let state = script.end.sender_state();
        assert_eq!(state.cwnd.map(ByteCount::get), Some(window / 2), "{waits:?}");
    }
}

#[test]
fn a_lost_probe_begins_the_cycle_anew() {
    let (mut script, window) = asked();
    script.pass(100);
    script.hear(answer());
    script.expect(&[("", 2000, 1, 1)]);
    // The second one is lost: the round trip and four times its variation later the first leaves again.
    let lost = script.end.poll_timeout().expect("a timer").since(script.now);
    assert!(lost > ms(100) && lost < ms(300), "{lost}");
    script.now += lost;
    script.end.handle_timeout(script.now);
    script.expect(&[("", 2000, 1, 1)]);
    // Two answers are needed again.
    script.pass(100);
    script.hear(answer());
    script.expect(&[("", 2000, 1, 1)]);
    script.pass(100);
    script.hear(answer());
    assert_eq!(script.sent()[0].seq, Seq32::new(ISS).plus(2001));
    assert_eq!(script.end.sender_state().cwnd.map(ByteCount::get), Some(window));
}

#[test]
fn after_a_timeout_the_probes_decide_between_slow_start_and_the_window_as_it_was() {
    for (wait, left) in [(100, 4000), (150, 1000)] {
        let mut script = Script::four_out(probing());
        script.pass(1_000);
        script.expect(&[("", 2000, 1, 1)]);
        script.pass(wait);
        script.hear(sack(2001, &[(2000, 2001)]));
        script.expect(&[("", 2000, 1, 1)]);
        script.pass(wait);
        script.hear(sack(2001, &[(2000, 2001)]));
        assert_eq!(script.sent().len(), left / 1000);
        assert_eq!(script.end.sender_state().cwnd.map(ByteCount::get), Some(left as u64));
    }
}

#[test]
fn an_acknowledgement_of_everything_ends_the_cycle() {
    let (mut script, window) = asked();
    script.hear(peer(".", 1, 8001, 0));
    assert!(script.sent().iter().all(|s| s.payload.len() == 1000), "new data");
    assert_eq!(script.end.sender_state().cwnd.map(ByteCount::get), Some(window));
}

#[test]
fn of_a_peer_that_reports_no_probe_the_next_cycle_takes_the_first_acknowledgement_without_news() {
    let (mut script, window) = asked();
    script.pass(100);
    script.hear(nothing_new());
    script.hear(nothing_new());
    script.expect(&[]);
    let lost = script.end.poll_timeout().expect("a timer").since(script.now);
    script.now += lost;
    script.end.handle_timeout(script.now);
    script.expect(&[("", 2000, 1, 1)]);
    script.pass(100);
    script.hear(nothing_new());
    script.expect(&[("", 2000, 1, 1)]);
    script.pass(100);
    script.hear(nothing_new());
    assert_eq!(script.sent()[0].seq, Seq32::new(ISS).plus(2001));
    assert_eq!(script.end.sender_state().cwnd.map(ByteCount::get), Some(window));
}

#[test]
fn while_probes_are_lost_nothing_else_leaves_and_the_peer_is_given_up_after_the_retries() {
    let mut script = Script::four_out(Config { retries: Some(8), ..probing() });
    script.pass(100);
    for (end, new) in [(4001, 6001), (5001, 7001)] {
        script.hear(sack(2001, &[(3001, end)]));
        script.expect(&[("", new, 1, 1000)]);
    }
    script.hear(sack(2001, &[(3001, 6001)]));
    let begun = script.now;
    for _ in 0..8 {
        script.expect(&[("", 2000, 1, 1)]);
        script.now = script.end.poll_timeout().expect("a timer");
        script.end.handle_timeout(script.now);
    }
    assert!(script.now.since(begun) > ms(1_000), "longer than the timeout of a retransmission");
    script.expect(&[("", 2000, 1, 1)]);
    script.now = script.end.poll_timeout().expect("a timer");
    script.end.handle_timeout(script.now);
    assert!(script.sent()[0].flags.contains(Flags::RST));
    assert_eq!(script.told(), Some(Event::Failed(Failure::NoResponse)));
}

#[test]
fn without_reports_of_the_peer_losses_are_answered_as_ever() {
    let mut script = Script::start(probing());
    script.sent();
    script.pass(100);
    script.hear(syn_ack(mss(1000)));
    script.sent();
    script.write(10_000);
    assert_eq!(script.sent().len(), 2);
    script.pass(1_000);
    script.expect(&[("", 1, 1, 1000)]);
}

#[test]
fn before_the_first_acknowledgement_a_probe_carries_nothing() {
    let mut script = Script::open(probing());
    script.write(10_000);
    assert_eq!(script.sent().len(), 2);
    script.pass(1_000);
    script.expect(&[("", 0, 1, 0)]);
}

#[test]
fn a_further_loss_of_the_same_recovery_begins_no_cycle() {
    let (mut script, _) = asked();
    for _ in 0..2 {
        script.pass(100);
        script.hear(answer());
        script.told();
        if script.now.since(Instant::ZERO) < ms(550) {
            script.sent();
        }
    }
    script.sent();
    script.pass(50);
    // The repair arrived, 8001 and the next are missing.
    script.hear(sack(8001, &[(10_001, 13_001)]));
    assert!(script.sent().iter().all(|s| s.payload.len() != 1), "no probe");
}

#[test]
fn after_a_cycle_the_repair_leaves_whatever_the_window_says_and_its_timer_runs() {
    let (mut script, _) = asked();
    for _ in 0..2 {
        script.pass(100);
        script.hear(sack(2001, &[(2000, 2001), (3001, 6001)]));
        assert!(!script.sent().is_empty());
    }
    let due = script.end.poll_timeout().expect("a timer");
    assert_eq!(due, script.now + ms(1_000));
}
