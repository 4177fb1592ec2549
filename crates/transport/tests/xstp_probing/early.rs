//! The early timeout: a POLL that is due finds no STAT since the last one (P3 to P7).

use bentpipe_testkit::{Crossing, Direction, Fate, Pair, pattern};
use bentpipe_transport::Endpoint;
use bentpipe_transport::xstp::Config;
use bentpipe_units::{ByteCount, Span};
use bentpipe_wire::Kind;

use crate::support::*;

/// Lets a stalled server read what has arrived, and everything after it.
fn unstall(pair: &mut Pair) {
    pair.server.stalled = false;
    let now = pair.now;
    if let Some(session) = &mut pair.server.session {
        while let Some(bytes) = session.read(now) {
            pair.server.inbox.extend_from_slice(&bytes);
        }
    }
}

#[test]
fn p3_a_poll_that_is_due_without_a_stat_since_the_last_one_detects_a_loss() {
    let lost = drop_nth(Direction::Forward, Kind::POLL, 30);
    let mut pair = in_step(literal()).sending(pattern(40_000)).with_script(lost);
    assert!(pair.run(LONG));
    assert_eq!((summary(&pair).cycles, summary(&pair).early), (1, 1));
    // POLL 33 is due when the answer to POLL 30 would come.
    assert_eq!(start_of(&cycle(&pair, 0)), poll_time(33));
    assert_eq!(pair.server.inbox, pattern(40_000));
}

#[test]
fn p3_one_stat_between_two_polls_is_no_loss() {
    for delay in [20, 75, 100, 150, 300] {
        for room in [2_000, 3_000, 16_000, 64_000] {
            let server = Config { rcv_buf: ByteCount::new(room), ..Config::paper() };
            let mut pair = Pair::new(literal(), server, Span::from_millis(delay));
            pair = pair.sending(pattern(200_000));
            assert!(pair.run(LONG));
            assert_eq!(summary(&pair).cycles, 0, "{delay} ms, {room} B");
        }
    }
}

#[test]
fn p3_a_burst_shortly_before_a_poll_is_due_does_not_ask_for_its_stat() {
    let mut pair = wide(literal()).sending(pattern(400_000));
    assert!(pair.run(LONG));
    // Bursts leave in the half interval in which a POLL may join them early: it must not, as long as
    // its STAT may still come.
    let polls = polls(&pair);
    let shortly_before = |at| {
        let data = pair.sent(Direction::Forward, Kind::DATA).filter(|c| !c.has(Kind::POLL));
        data.filter(|c| c.at < at && c.at + Span::from_millis(6) > at).count()
    };
    assert!(polls.iter().any(|at| shortly_before(*at) > 0));
    assert_eq!(summary(&pair).cycles, 0);
}

#[test]
fn p4_the_poll_that_was_due_is_the_first_probe_and_leaves_at_once() {
    for (mut pair, lost) in [(in_step(literal()), 31), (wide(literal()), 31), (wide(prober()), 40)]
    {
        // Two in a row: with slack one is not enough.
        let script = all_of(vec![
            drop_nth(Direction::Return, Kind::STAT, lost),
            drop_nth(Direction::Return, Kind::STAT, lost + 1),
        ]);
        pair = pair.sending(pattern(800_000)).with_script(script);
        pair.run_to(ms(8_000));
        let cycle = cycle(&pair, 0);
        assert_eq!(cycle.trigger, "early_timeout");
        let start = start_of(&cycle);
        let now: Vec<_> = sent_at(&pair, start).iter().map(|c| c.segment.kind()).collect();
        assert_eq!(now, [Kind::POLL]);
        // It was due: the POLL before it left an interval earlier.
        let before = polls(&pair).into_iter().rfind(|at| *at < start);
        assert_eq!(before, Some(start.before(INTERVAL)));
    }
}

#[test]
fn p5_before_the_first_answer_nothing_is_detected() {
    let deaf = |c: &Crossing| {
        if c.has(Kind::STAT) { Fate::Drop } else { Fate::Pass }
    };
    let mut pair = in_step(prober()).sending(pattern(40_000)).with_script(deaf);
    pair.run_to(ms(20_000));
    assert!(pair.sent(Direction::Forward, Kind::POLL).count() > 10);
    assert_eq!(summary(&pair).cycles, 0);
}

#[test]
fn p5_a_sender_that_was_idle_waits_for_an_answer_again() {
    for client in [literal(), prober()] {
        let mut pair = wide(client).sending(pattern(50_000));
        pair.client.closes = false;
        pair.server.closes = false;
        pair.run_to(ms(8_000));
        assert_eq!(state(&pair).activity, "idle");
        pair.client.outbox = pattern(50_000);
        pair.change(Direction::Forward, |_, _| {});
        pair.run_to(ms(16_000));
        assert_eq!(pair.server.inbox.len(), 100_000);
        assert_eq!(summary(&pair).cycles, 0);
    }
}

#[test]
fn p5_a_sender_that_persisted_waits_for_an_answer_again() {
    for client in [literal(), prober()] {
        let server = Config { rcv_buf: ByteCount::new(8_000), ..Config::paper() };
        let mut pair = Pair::new(client, server, DELAY).sending(pattern(60_000));
        pair.server.stalled = true;
        pair.run_to(ms(10_000));
        assert_eq!(state(&pair).activity, "persisting");
        unstall(&mut pair);
        assert!(pair.run(LONG));
        assert_eq!(pair.server.inbox, pattern(60_000));
        assert_eq!(summary(&pair).cycles, 0);
    }
}

#[test]
fn p5_the_end_of_probing_raises_no_alarm_of_its_own() {
    // The pipe holds one STAT for each round trip by then, not one for each interval between POLLs.
    for client in [literal(), prober()] {
        let lost = || drop_data(1_300, 1);
        let mut pair = wide(client.clone()).sending(pattern(800_000)).with_script(lost());
        assert!(pair.run(LONG));
        assert_eq!((summary(&pair).cycles, summary(&pair).link_decisions), (1, 1));
        let mut pair = in_step(client).sending(pattern(60_000));
        pair = pair.with_script(blackout(ms(3_000), ms(6_000)));
        assert!(pair.run(LONG));
        assert_eq!((summary(&pair).cycles, summary(&pair).link_decisions), (1, 1));
    }
}

#[test]
fn p5_an_answer_to_a_poll_before_the_end_of_probing_does_not_arm() {
    // A premature cycle ends with the answer to a POLL before the loss, and more of these follow.
    let lost = || all_of([18, 19].map(|k| drop_nth(Direction::Return, Kind::STAT, k)).into());
    let mut pair = wide(literal()).sending(pattern(400_000)).with_script(lost());
    assert!(pair.run(LONG));
    assert_eq!((summary(&pair).cycles, summary(&pair).premature), (1, 1));
}

#[test]
fn p5_polling_that_was_backed_off_waits_for_an_answer_again() {
    // Without early timeouts the sender backs off in silence; they must not come with the return.
    let script = drop_answers(ms(0), ms(8_000));
    let mut pair = in_step(prober()).sending(pattern(60_000)).with_script(script);
    assert!(pair.run(LONG));
    let longest = poll_gaps(&pair, ms(0), ms(10_000)).into_iter().max().expect("POLLs");
    assert_eq!(longest, INTERVAL * 8);
    assert_eq!(summary(&pair).cycles, 0);
}

#[test]
fn p5_a_stat_shortly_before_the_last_poll_counts() {
    // Ten milliseconds are less than a quarter of an interval.
    let mut pair = in_step(prober()).sending(pattern(60_000)).with_script(jitter());
    assert!(pair.run(LONG));
    assert_eq!(summary(&pair).cycles, 0);
    let mut pair = in_step(literal()).sending(pattern(60_000)).with_script(jitter());
    assert!(pair.run(LONG));
    assert!(summary(&pair).premature > 10, "{}", summary(&pair).premature);
}

#[test]
fn p5_in_step_the_slack_forgives_one_missing_stat_and_the_second_is_found() {
    // A STAT that arrives with the departure of a POLL counts for the next POLL too: of the missing
    // ones that is all of the first.
    let one = drop_nth(Direction::Return, Kind::STAT, 30);
    let mut pair = in_step(prober()).sending(pattern(60_000)).with_script(one);
    assert!(pair.run(LONG));
    assert_eq!(summary(&pair).cycles, 0);
    let two = all_of([30, 31].map(|k| drop_nth(Direction::Return, Kind::STAT, k)).into());
    let mut pair = in_step(prober()).sending(pattern(60_000)).with_script(two);
    assert!(pair.run(LONG));
    assert_eq!(summary(&pair).early, 1);
    assert_eq!(start_of(&cycle(&pair, 0)), poll_time(30) + RTT + INTERVAL);
}

#[test]
fn p6_one_lost_poll_or_stat_is_detected_between_a_third_and_a_whole_round_trip_later() {
    for (direction, kind) in [(Direction::Forward, Kind::POLL), (Direction::Return, Kind::STAT)] {
        for k in 24..44 {
            for pair in [in_step(literal()), wide(literal())] {
                let mut pair =
                    pair.sending(pattern(800_000)).with_script(drop_nth(direction, kind, k));
                pair.run_to(ms(9_000));
                let dropped = pair.log.iter().find(|c| c.fate == Fate::Drop).expect("a drop").at;
                let cycle = cycle(&pair, 0);
                assert_eq!(cycle.trigger, "early_timeout");
                let delay = start_of(&cycle).since(dropped);
                assert!(delay >= RTT / 3 && delay <= RTT, "{kind:?} {k}: {delay}");
            }
        }
    }
}

#[test]
fn p6_slack_costs_at_most_one_more_interval() {
    for (direction, kind) in [(Direction::Forward, Kind::POLL), (Direction::Return, Kind::STAT)] {
        for k in 24..44 {
            // A path in step forgives one.
            let script =
                all_of(vec![drop_nth(direction, kind, k), drop_nth(direction, kind, k + 1)]);
            let mut pair = in_step(prober()).sending(pattern(100_000)).with_script(script);
            pair.run_to(ms(9_000));
            let dropped = pair.log.iter().find(|c| c.fate == Fate::Drop).expect("a drop").at;
            let cycle = cycle(&pair, 0);
            assert_eq!(cycle.trigger, "early_timeout");
            let delay = start_of(&cycle).since(dropped);
            assert!(delay > RTT / 3 && delay <= RTT + INTERVAL, "{kind:?} {k}: {delay}");
        }
    }
}

#[test]
fn p7_a_stat_that_arrives_when_a_poll_is_due_comes_first() {
    let mut pair = in_step(literal()).sending(pattern(40_000));
    pair.run_to(poll_time(33).before(Span::from_nanos(1)));
    let due = pair.client.session.as_ref().and_then(Endpoint::poll_timeout);
    assert_eq!(due, Some(poll_time(33)));
    assert!(pair.sent(Direction::Return, Kind::STAT).any(|c| c.at + DELAY == poll_time(33)));
    pair.run_to(poll_time(33));
    assert_eq!(summary(&pair).cycles, 0);

    // The other way round the POLL would miss its STAT.
    let mut pair = in_step(literal()).sending(pattern(40_000));
    pair.run_to(poll_time(33).before(Span::from_nanos(1)));
    pair.now = poll_time(33);
    pair.change(Direction::Forward, Endpoint::handle_timeout);
    assert_eq!(summary(&pair).early, 1);
}
