//! When probing does not start (P30, P31).

use bentpipe_testkit::{Direction, Pair, pattern};
use bentpipe_transport::Endpoint;
use bentpipe_transport::xstp::Config;
use bentpipe_units::{ByteCount, Span};
use bentpipe_wire::Kind;

use crate::support::*;

#[test]
fn p30_an_idle_sender_does_not_probe_although_nothing_answers_its_polls() {
    let client = Config { keepalive: Span::from_secs(10), ..literal() };
    let mut pair = wide(client).sending(pattern(100_000));
    pair = pair.with_script(blackout(ms(8_000), ms(900_000)));
    (pair.client.closes, pair.server.closes) = (false, false);
    pair.run_to(ms(60_000));
    assert_eq!(state(&pair).activity, "idle");
    assert!(polls(&pair).iter().filter(|at| **at > ms(8_000)).count() >= 4);
    assert_eq!(summary(&pair).cycles, 0);
}

#[test]
fn p30_a_persisting_sender_does_not_probe_although_nothing_answers_its_polls() {
    // It had answers to its POLLs before it had to persist.
    for client in [literal(), prober()] {
        let server = Config { rcv_buf: ByteCount::new(8_000), ..Config::paper() };
        let mut pair = Pair::new(client, server, DELAY).sending(pattern(100_000));
        pair = pair.with_script(blackout(ms(3_000), ms(900_000)));
        pair.server.stalled = true;
        pair.run_to(ms(3_000));
        assert_eq!(state(&pair).activity, "persisting");
        assert!(pair.sent(Direction::Return, Kind::STAT).count() > 3);
        pair.run_to(ms(60_000));
        assert_eq!(state(&pair).activity, "persisting");
        assert!(polls(&pair).iter().filter(|at| **at > ms(3_000)).count() >= 4);
        assert_eq!(summary(&pair).cycles, 0);
    }
}

#[test]
fn p30_no_second_cycle_starts_while_one_lasts() {
    // Neither for the next probe, which finds no STAT either, nor for a report.
    let mut pair = wide(prober()).sending(pattern(900_000));
    pair = pair.with_script(blackout(ms(5_000), ms(30_000)));
    pair.run_to(ms(20_000));
    assert_eq!((summary(&pair).cycles, state(&pair).activity), (1, "probing"));
    let started = start_of(&cycle(&pair, 0));
    let report = ustat(64, oldest_number(&pair), &[(0, 1)]);
    hear(&mut pair, report);
    let answer = stat(latest_poll(&pair), oldest_number(&pair), &[(0, 1)]);
    hear(&mut pair, answer);
    assert_eq!((summary(&pair).cycles, state(&pair).activity), (1, "probing"));
    assert_eq!(start_of(&cycle(&pair, 0)), started);
}

#[test]
fn p30_the_end_waits_for_the_end_of_probing() {
    // The last segments are lost, and the path for five seconds with them.
    let mut pair = wide(prober()).sending(pattern(100_000));
    let out = blackout(ms(2_900), ms(8_000));
    pair = pair.with_script(all_of(vec![drop_data(1_099, 1), out]));
    pair.run_to(ms(7_000));
    assert_eq!(state(&pair).activity, "probing");
    assert_eq!(pair.client.session.as_ref().map(Endpoint::is_closed), Some(false));
    assert!(pair.run(LONG));
    let end = pair.sent(Direction::Forward, Kind::END).next().expect("an END").at;
    assert!(end > end_of(&cycle(&pair, 0)));
    assert_eq!(pair.server.inbox, pattern(100_000));
}

#[test]
fn p31_with_nothing_outstanding_a_missing_stat_is_no_loss() {
    // The window closes with everything acknowledged; the POLLs that ask for room are lost at first
    // and answered later.
    let server = Config { rcv_buf: ByteCount::new(8_000), ..Config::paper() };
    let mut pair = Pair::new(literal(), server, DELAY).sending(pattern(100_000));
    pair = pair.with_script(blackout(ms(3_000), ms(6_000)));
    pair.server.stalled = true;
    pair.run_to(ms(30_000));
    assert_eq!(state(&pair).in_flight, ByteCount::ZERO);
    assert!(pair.log.iter().any(|c| c.has(Kind::POLL) && c.at > ms(3_000) && c.at < ms(6_000)));
    assert_eq!(summary(&pair).cycles, 0);
}

#[test]
fn p31_a_sender_that_was_told_all_arrived_polls_no_more() {
    for client in [literal(), prober()] {
        let mut pair = wide(client).sending(pattern(100_000));
        (pair.client.closes, pair.server.closes) = (false, false);
        pair.run_to(ms(8_000));
        let told = pair
            .sent(Direction::Return, Kind::STAT)
            .find(|c| report_of(c).is_some_and(|report| report.next.get() == next_number(&pair)));
        let told = told.expect("the last STAT").at + DELAY;
        pair.run_to(ms(60_000));
        assert!(polls(&pair).into_iter().all(|at| at <= told));
        assert_eq!((summary(&pair).cycles, state(&pair).activity), (0, "idle"));
    }
}
