//! How losses are found and repaired (RFC 9260, sections 6.3.3 and 7.2.4).

use bentpipe_testkit::{Fate, SctpPair, Way};
use bentpipe_transport::sctp::Config;
use bentpipe_transport::{Endpoint, Event, Failure};
use bentpipe_units::{ByteCount, Seq32};

use crate::support::*;

/// A client whose six chunks went into the void at 500 ms, the first TSN, and the tag of the client.
fn six_chunks(config: Config) -> (SctpPair, Seq32, u32) {
    chunks(6, config)
}

/// The same with another number of chunks, which are also the window.
fn chunks(count: usize, config: Config) -> (SctpPair, Seq32, u32) {
    let config = Config { max_burst: 0, cwnd_init: Some(count as u32), ..config };
    let mut pair = SctpPair::new(config.clone(), config, &[ms(100)]).staying_open();
    pair.run_to(at(500));
    let tag = client_tag(&pair);
    pair.log.clear();
    let mut pair = pair.with_script(|_| Fate::Drop);
    write_chunks(&mut pair, count);
    let first = first_tsn(&pair);
    assert_eq!(data_sent(&pair, first).len(), count);
    pair.log.clear();
    (pair, first, tag)
}

fn resent(pair: &SctpPair, first: Seq32) -> Vec<u32> {
    data_sent(pair, first).into_iter().map(|(_, _, tsn)| tsn).collect()
}

#[test]
fn the_third_report_of_a_missing_chunk_sends_it_again_at_once_and_halves_the_window_once() {
    let (mut pair, first, tag) = chunks(12, quiet());
    let before = first.plus(u32::MAX);
    for last in 3..=4 {
        give(&mut pair, from_server(tag, sack(before, &[(3, last)])));
        assert_eq!(resent(&pair, first), []);
    }
    give(&mut pair, from_server(tag, sack(before, &[(3, 5)])));
    assert_eq!(resent(&pair, first), [0], "one packet, although seven are in flight");
    let state = pair.client.association().sender_state();
    assert_eq!(state.cwnd, Some(ByteCount::new(6 * 1468)));
    assert_eq!(pair.client.association().counters().reductions, 1);
    // The second missing chunk follows as the window allows, and neither is found lost again.
    for (last, expected) in [(6, &[0][..]), (7, &[0]), (8, &[0, 1]), (9, &[0, 1]), (12, &[0, 1])] {
        give(&mut pair, from_server(tag, sack(before, &[(3, last)])));
        assert_eq!(resent(&pair, first), expected, "{last}");
    }
    assert_eq!(pair.client.association().counters().reductions, 1);
}

#[test]
fn a_report_counts_only_below_the_highest_newly_acknowledged() {
    let (mut pair, first, tag) = six_chunks(quiet());
    let before = first.plus(u32::MAX);
    give(&mut pair, from_server(tag, sack(before, &[(4, 4)])));
    // Nothing is newly acknowledged: no report.
    for _ in 0..5 {
        give(&mut pair, from_server(tag, sack(before, &[(4, 4)])));
    }
    // The second is new: only the first below it is reported missing, the third is not.
    give(&mut pair, from_server(tag, sack(before, &[(2, 2), (4, 4)])));
    assert_eq!(resent(&pair, first), []);
    give(&mut pair, from_server(tag, sack(before, &[(2, 2), (4, 5)])));
    assert_eq!(resent(&pair, first), [0], "three reports of the first, two of the third");
    give(&mut pair, from_server(tag, sack(before, &[(2, 2), (4, 6)])));
    assert_eq!(resent(&pair, first), [0, 2]);
}

#[test]
fn a_sack_of_what_was_not_sent_and_an_old_one_change_nothing() {
    let (mut pair, first, tag) = six_chunks(quiet());
    give(&mut pair, from_server(tag, sack(first.plus(1), &[])));
    let in_flight = |pair: &SctpPair| pair.client.association().sender_state().in_flight.get();
    assert_eq!(in_flight(&pair), 4 * 1452);
    for cumulative in [first.plus(6), first.plus(u32::MAX), first] {
        give(&mut pair, from_server(tag, sack(cumulative, &[])));
    }
    assert_eq!(in_flight(&pair), 4 * 1452);
    assert_eq!(pair.client.association().counters().ignored_segments, 3);
    // Gaps beyond what was sent are not there either.
    give(&mut pair, from_server(tag, sack(first.plus(1), &[(5, 4), (2, 900)])));
    assert_eq!(in_flight(&pair), 4 * 1452);
}

#[test]
fn what_a_peer_throws_away_after_it_was_reported_is_in_flight_again() {
    let (mut pair, first, tag) = six_chunks(quiet());
    let before = first.plus(u32::MAX);
    let in_flight = |pair: &SctpPair| pair.client.association().sender_state().in_flight.get();
    give(&mut pair, from_server(tag, sack(before, &[(4, 6)])));
    assert_eq!(in_flight(&pair), 3 * 1452);
    give(&mut pair, from_server(tag, sack(before, &[(4, 4)])));
    assert_eq!(in_flight(&pair), 5 * 1452);
}

#[test]
fn without_answer_the_timer_sends_one_packet_again_and_doubles() {
    let (mut pair, first, _) = six_chunks(quiet());
    pair.run_to(at(1_499));
    assert_eq!(pair.log.len(), 0);
    pair.run_to(at(1_500));
    assert_eq!(resent(&pair, first), [0]);
    let state = pair.client.association().sender_state();
    assert_eq!(state.cwnd, Some(ByteCount::new(1468)));
    pair.run_to(at(3_499));
    assert_eq!(pair.log.len(), 1);
    pair.run_to(at(7_500));
    let times: Vec<_> = data_sent(&pair, first).into_iter().map(|(at, _, tsn)| (at, tsn)).collect();
    assert_eq!(times, [(at(1_500), 0), (at(3_500), 0), (at(7_500), 0)]);
}

#[test]
fn a_peer_that_never_answers_again_is_given_up() {
    let (mut pair, ..) = six_chunks(Config { association_max_retrans: 3, ..quiet() });
    pair.run_to(at(60_000));
    // 1 + 2 + 4 + 8 s after the chunks left.
    assert_eq!(pair.client.events.last(), Some(&(at(15_500), Event::Failed(Failure::NoResponse))));
    assert_eq!(pair.sent_since(Way::Forth, at(15_500)), 0);
    assert!(pair.client.association().is_closed());
}
