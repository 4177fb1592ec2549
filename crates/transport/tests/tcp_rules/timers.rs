//! Timers: retransmission, the closed window, keep-alives.

use super::support::*;
use bentpipe_transport::Inspect;

#[test]
fn the_timer_doubles_and_each_timeout_sends_one_segment() {
    let mut script = Script::four_out(plain());
    // The sample of the round trip is 100 ms: the least timeout counts.
    script.pass(1_000);
    script.expect(&[("", 2001, 1, 1000)]);
    script.pass(2_000);
    script.expect(&[("", 2001, 1, 1000)]);
    script.pass(4_000);
    script.expect(&[("", 2001, 1, 1000)]);
    script.hear(peer(".", 1, 6001, 0));
    assert_eq!(script.sent().len(), 2, "slow start goes on");
}

#[test]
fn timeouts_in_a_row_of_one_segment_lower_the_threshold_once() {
    // RFC 5681, section 3.1: what was retransmitted by the timer already leaves it as it is.
    for (recovery, name) in Mode::NAMES {
        let mut script = Script::ten_out(Config { recovery, ..plain() });
        let mut wait = 900;
        for _ in 0..3 {
            script.pass(wait);
            assert_eq!(script.sent()[0].seq, Seq32::new(ISS).plus(1), "{name}");
            let ssthresh = script.end.sender_state().ssthresh;
            assert_eq!(ssthresh, Some(ByteCount::new(5_000)), "{name}");
            let due = script.end.poll_timeout().expect("a timer").since(script.now);
            wait = due.as_nanos() / 1_000_000;
        }
        // Another segment is another loss, of the smaller window that there is.
        script.hear(peer(".", 1, 1001, 0));
        script.sent();
        let due = script.end.poll_timeout().expect("a timer").since(script.now);
        script.pass(due.as_nanos() / 1_000_000);
        assert_eq!(script.sent()[0].seq, Seq32::new(ISS).plus(1001), "{name}");
        let ssthresh = script.end.sender_state().ssthresh;
        assert!(ssthresh < Some(ByteCount::new(5_000)), "{name}: {ssthresh:?}");
    }
}

#[test]
fn the_oldest_segment_is_sent_again_by_the_timer_even_if_it_was_reported() {
    // RFC 2018, section 8. What waits to be released by the peer's report alone cannot be retransmitted.
    for (recovery, name) in Mode::NAMES.into_iter().filter(|(m, _)| *m != Mode::DepartureOrder) {
        let mut script = Script::ten_out(Config { recovery, ..plain() });
        script.hear(sack(1, &[(1, 10_001)]));
        script.sent();
        for _ in 0..2 {
            let due = script.end.poll_timeout().expect("a timer").since(script.now);
            script.pass(due.as_nanos().div_ceil(1_000_000));
            let sent = script.sent();
            assert!(sent.iter().any(|s| s.seq == Seq32::new(ISS).plus(1)), "{name}: {sent:?}");
        }
    }
}

#[test]
fn a_silent_peer_is_given_up_after_the_last_retry() {
    let mut script = Script::four_out(Config { retries: Some(2), ..plain() });
    for wait in [1_000, 2_000] {
        script.pass(wait);
        script.expect(&[("", 2001, 1, 1000)]);
    }
    script.pass(4_000);
    let reset = script.sent();
    assert!(reset[0].flags.contains(Flags::RST));
    assert_eq!(script.told(), Some(Event::Failed(Failure::NoResponse)));
}

#[test]
fn a_closed_window_is_probed_by_one_byte_ever_more_rarely() {
    let mut script = Script::open(plain());
    script.hear(Segment { window: 0, ..peer(".", 1, 1, 0) });
    script.write(5_000);
    script.pass(1_000);
    script.expect(&[("", 1, 1, 1)]);
    script.hear(Segment { window: 0, ..peer(".", 1, 1, 0) });
    script.pass(1_000);
    script.expect(&[("", 1, 1, 1)]);
    script.pass(2_000);
    script.expect(&[("", 1, 1, 1)]);
    script.hear(peer(".", 1, 1, 0));
    let sent = script.sent();
    assert_eq!((sent[0].payload.len(), sent[1].payload.len()), (1, 1000));
    assert_eq!(script.end.counters().reductions, 0);
}

#[test]
fn an_idle_connection_asks_and_gives_up() {
    let (keepalive, keepalive_interval) = (Span::from_secs(10), Span::from_secs(5));
    let config = Config { keepalive, keepalive_interval, keepalive_max: 2, ..plain() };
    let mut script = Script::open(config);
    script.pass(10_000);
    script.expect(&[("", 0, 1, 0)]);
    script.hear(peer(".", 1, 1, 0));
    script.pass(10_000);
    script.expect(&[("", 0, 1, 0)]);
    script.pass(5_000);
    script.expect(&[("", 0, 1, 0)]);
    script.pass(5_000);
    assert!(script.sent()[0].flags.contains(Flags::RST));
    assert_eq!(script.told(), Some(Event::Failed(Failure::NoResponse)));
}

#[test]
fn data_after_a_question_tell_the_host_that_the_next_question_leaves_sooner() {
    let (keepalive, keepalive_interval) = (Span::from_secs(10), Span::from_secs(75));
    let mut script = Script::open(Config { keepalive, keepalive_interval, ..plain() });
    script.pass(10_000);
    script.expect(&[("", 0, 1, 0)]);
    script.end.take_timer_dirty();
    let asks_at = script.end.poll_timeout();
    script.hear(peer(".", 1, 1, 1_000));
    assert!(script.end.poll_timeout() < asks_at);
    assert!(script.end.take_timer_dirty());
}

#[test]
fn the_first_sample_gives_a_timeout_of_three_round_trips() {
    let config = Config { rto_min: ms(1), ..plain() };
    let mut script = Script::open(config);
    script.write(1_000);
    // RFC 6298, rule 2.2: R + 4 R / 2, of 100 ms.
    script.expect(&[("", 1, 1, 1000)]);
    script.pass(300);
    script.expect(&[("", 1, 1, 1000)]);
}

#[test]
fn what_waited_for_a_repair_is_no_sample() {
    let mut script = Script::four_out(Config { recovery: Mode::NewReno, ..plain() });
    let before = script.end.sender_state().srtt;
    // 2001 is lost; the rest arrives and waits at the peer for three seconds.
    for wait in [1_000, 2_000] {
        script.pass(wait);
        script.expect(&[("", 2001, 1, 1000)]);
    }
    script.pass(100);
    script.hear(peer(".", 1, 6001, 0));
    assert_eq!(script.end.sender_state().srtt, before);
}

#[test]
fn the_backoff_ends_with_a_sample_and_not_with_a_retransmission() {
    let mut script = Script::four_out(Config { recovery: Mode::NewReno, ..plain() });
    for wait in [1_000, 2_000] {
        script.pass(wait);
        script.expect(&[("", 2001, 1, 1000)]);
    }
    // The repair alone is acknowledged: the timeout stays four seconds (Karn).
    script.hear(peer(".", 1, 3001, 0));
    script.expect(&[("", 3001, 1, 1000), ("", 4001, 1, 1000)]);
    script.pass(4_000);
    script.expect(&[("", 3001, 1, 1000)]);
}

#[test]
fn a_partial_acknowledgement_restarts_the_timer_once_or_each_time() {
    for (recovery, left) in [(Mode::NewReno, 800), (Mode::NewRenoSteady, 1_000)] {
        let config = Config { recovery, limited_transmit: false, ..plain() };
        let mut script =
            Script::open(Config { initial_window: InitialWindow::Segments(8), ..config });
        script.write(8_000);
        assert_eq!(script.sent().len(), 8);
        script.pass(100);
        for _ in 0..3 {
            script.hear(peer(".", 1, 1, 0));
        }
        script.sent();
        for ack in [1001, 2001] {
            script.pass(200);
            script.hear(peer(".", 1, ack, 0));
            assert!(!script.sent().is_empty());
        }
        // One second after the first partial acknowledgement, or after the second.
        let due = script.end.poll_timeout().expect("a timer").since(script.now);
        assert_eq!(due, ms(left), "{recovery:?}");
    }
}

#[test]
fn the_timeout_grows_to_its_most_and_no_further() {
    // RFC 6298, rules 2.5 and 5.5.
    let rto_max = Span::from_secs(5);
    let mut script = Script::four_out(Config { rto_max, retries: None, ..plain() });
    for wait in [1_000, 2_000, 4_000, 5_000, 5_000] {
        script.pass(wait);
        script.expect(&[("", 2001, 1, 1000)]);
    }
}

#[test]
fn a_keep_alive_of_the_peer_is_answered_at_once() {
    // RFC 9293, section 3.8.4: it repeats the number before the next one.
    let mut script = Script::open(Config { ack_every: 2, ..plain() });
    script.hear(peer(".", 1, 1, 10));
    script.pass(200);
    script.expect(&[("", 1, 11, 0)]);
    script.pass(60_000);
    script.hear(peer(".", 10, 1, 0));
    script.expect(&[("", 1, 11, 0)]);
    script.pass(60_000);
    script.expect(&[]);
}

#[test]
fn one_segment_is_timed_at_a_time_where_not_every_acknowledgement_gives_a_sample() {
    let config = Config { sample_every_ack: false, tick: ms(10), rto_min: ms(1), ..plain() };
    let mut script =
        Script::open(Config { initial_window: InitialWindow::Segments(4), ..config.clone() });
    script.write(50_000);
    assert_eq!(script.sent().len(), 4);
    let srtt = |script: &Script| script.end.sender_state().srtt;
    assert_eq!(srtt(&script), Some(ms(100)), "of the SYN");
    // The first segment is the one: 20 ticks instead of 10, in eighths.
    script.pass(200);
    script.hear(peer(".", 1, 1_001, 0));
    assert_eq!(srtt(&script), Some(Span::from_micros(112_500)));
    script.sent();
    // Others left before the next one that is timed.
    script.pass(50);
    script.hear(peer(".", 1, 4_001, 0));
    assert_eq!(srtt(&script), Some(Span::from_micros(112_500)));
    // What has to wait for a retransmission is not timed: the next one that leaves is.
    let mut script = Script::open(Config { initial_window: InitialWindow::Segments(4), ..config });
    script.write(50_000);
    assert_eq!(script.sent().len(), 4);
    let due = script.end.poll_timeout().expect("a timer").since(script.now);
    script.pass(due.as_nanos() / 1_000_000);
    script.expect(&[("", 1, 1, 1000)]);
    script.pass(100);
    script.hear(peer(".", 1, 4_001, 0));
    assert_eq!(srtt(&script), Some(ms(100)));
}

#[test]
fn after_four_timeouts_in_a_row_the_next_sample_counts_as_the_first() {
    // RFC 6298, section 5.
    for (timeouts, srtt) in [(3, Span::from_micros(150_000)), (4, ms(500))] {
        let mut script = Script::four_out(Config { recovery: Mode::NewReno, ..plain() });
        for _ in 0..timeouts {
            let due = script.end.poll_timeout().expect("a timer").since(script.now);
            script.pass(due.as_nanos() / 1_000_000);
            script.expect(&[("", 2001, 1, 1000)]);
        }
        script.hear(peer(".", 1, 6001, 0));
        script.sent();
        script.pass(500);
        script.hear(peer(".", 1, 7001, 0));
        assert_eq!(script.end.sender_state().srtt, Some(srtt), "{timeouts} timeouts");
    }
}
