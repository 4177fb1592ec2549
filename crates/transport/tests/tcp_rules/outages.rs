//! Outages that the link-layer tells of, at a sender of SCPS-TP and at others.

use bentpipe_cc::Choice;
use bentpipe_transport::{Inspect, NetworkFeedback};

use super::support::*;

fn scps() -> Config {
    Config { controller: Choice::new("scps", Default::default()).expect("known"), ..plain() }
}

/// Segments 1 to 10001 are out of a window of ten. The link goes down when they have left.
fn down(config: Config) -> Script {
    let mut script = Script::ten_out(config);
    script.end.handle_link_state(script.now, false);
    script
}

fn up(script: &mut Script) {
    script.end.handle_link_state(script.now, true);
}

#[test]
fn nothing_leaves_and_no_timer_runs_while_the_link_is_down() {
    let mut script = down(scps());
    assert_eq!(script.end.poll_timeout(), None);
    script.pass(10_000);
    // What was under way arrives, and lets nothing go.
    script.hear(peer(".", 1, 2001, 0));
    assert_eq!(script.end.poll_timeout(), None);
    script.write(1_000);
    script.pass(60_000);
    assert_eq!((script.end.counters().timeouts, script.end.counters().reductions), (0, 0));
}

#[test]
fn the_oldest_segment_leaves_as_soon_as_the_link_is_up_with_window_and_timeout_as_before() {
    let mut script = down(scps());
    let before = script.end.sender_state().cwnd;
    script.pass(10_000);
    up(&mut script);
    script.expect(&[("", 1, 1, 1000)]);
    // The timeout of the one sample, without backoff.
    assert_eq!(script.end.poll_timeout(), Some(script.now + ms(1_000)));
    script.pass(100);
    // All had arrived: the next ten leave.
    script.hear(peer(".", 1, 10_001, 0));
    let sent = script.sent();
    assert!(sent.len() >= 10 && sent[0].seq == Seq32::new(ISS).plus(10_001), "{sent:?}");
    assert!(script.end.sender_state().cwnd >= before);
    assert_eq!((script.end.counters().timeouts, script.end.counters().reductions), (0, 0));
}

#[test]
fn what_the_outage_lost_is_sent_again_a_round_trip_later_and_reduces_nothing() {
    for recovery in [Mode::Sack, Mode::NewReno, Mode::Snack] {
        let mut script = down(Config { recovery, ..scps() });
        let before = script.end.sender_state().cwnd;
        script.pass(10_000);
        up(&mut script);
        script.expect(&[("", 1, 1, 1000)]);
        script.pass(100);
        // The first four had arrived, and nothing of the rest.
        script.hear(peer(".", 1, 4_001, 0));
        let sent: Vec<_> =
            script.sent().iter().map(|s| s.seq.distance_from(Seq32::new(ISS))).collect();
        assert_eq!(sent[..6], [4_001, 5_001, 6_001, 7_001, 8_001, 9_001], "{recovery:?}");
        assert!(script.end.sender_state().cwnd >= before, "{recovery:?}");
        let counters = script.end.counters();
        assert_eq!((counters.timeouts, counters.reductions), (0, 0), "{recovery:?}");
    }
}

#[test]
fn losses_behind_the_outage_count_again() {
    let mut script = down(scps());
    script.pass(10_000);
    up(&mut script);
    script.expect(&[("", 1, 1, 1000)]);
    script.pass(100);
    script.hear(peer(".", 1, 10_001, 0));
    assert!(script.sent().len() >= 10);
    script.pass(100);
    script.hear(sack(10_001, &[(11_001, 15_001)]));
    assert_eq!(script.sent()[0].seq, Seq32::new(ISS).plus(10_001));
    assert_eq!(script.end.counters().reductions, 1);
}

#[test]
fn no_round_trip_is_measured_across_an_outage() {
    let mut script = down(scps());
    let before = script.end.sender_state().srtt;
    script.pass(10_000);
    up(&mut script);
    script.sent();
    // What left before the outage is acknowledged, and what left again is not among it.
    script.hear(sack(1, &[(1_001, 3_001)]));
    assert_eq!(script.end.sender_state().srtt, before);
}

#[test]
fn an_outage_shorter_than_the_round_trip_costs_one_segment() {
    let mut script = Script::ten_out(scps());
    script.end.handle_link_state(script.now, false);
    script.pass(10);
    up(&mut script);
    script.expect(&[("", 1, 1, 1000)]);
    script.pass(20);
    // What is acknowledged now had left before; the rest may be under way still.
    script.hear(peer(".", 1, 3_001, 0));
    let sent = script.sent();
    assert!(sent.iter().all(|s| s.seq.distance_from(Seq32::new(ISS)) >= 10_001), "{sent:?}");
}

#[test]
fn a_connection_opens_when_the_link_is_up() {
    let mut script = Script::start(scps());
    script.end.handle_link_state(script.now, false);
    script.pass(20_000);
    assert_eq!(script.end.poll_timeout(), None);
    up(&mut script);
    let syn = script.sent();
    assert!(syn.len() == 1 && syn[0].flags == flags("S"), "{syn:?}");
    assert_eq!(script.end.poll_timeout(), Some(script.now + ms(1_000)), "no backoff");
}

#[test]
fn a_closed_window_is_asked_for_as_soon_as_the_link_is_up() {
    let mut script = Script::open(scps());
    script.hear(Segment { window: 0, ..peer(".", 1, 1, 0) });
    script.write(5_000);
    script.expect(&[]);
    script.end.handle_link_state(script.now, false);
    script.pass(30_000);
    up(&mut script);
    script.expect(&[("", 1, 1, 1)]);
}

#[test]
fn keep_alives_rest_as_well() {
    let keepalive = Span::from_secs(10);
    let mut script = Script::open(Config { keepalive, ..scps() });
    script.end.handle_link_state(script.now, false);
    script.pass(100_000);
    up(&mut script);
    script.pass(10_000);
    script.expect(&[("", 0, 1, 0)]);
}

#[test]
fn another_controller_goes_on_as_if_nobody_had_told_it() {
    for controller in ["reno", "vegas"] {
        let controller = Choice::new(controller, Default::default()).expect("known");
        let mut script = down(Config { controller, ..plain() });
        script.pass(900);
        assert_eq!(script.sent()[0].seq, Seq32::new(ISS).plus(1));
        assert_eq!(script.end.counters().timeouts, 1);
        up(&mut script);
        script.expect(&[]);
    }
}
