//! How losses are found and repaired (RFC 9260, sections 6.3.3 and 7.2.4).

use bentpipe_testkit::{Direction, Fate, SctpPair};
use bentpipe_transport::sctp::Config;
use bentpipe_transport::{Endpoint, Event, Failure, Inspect};
use bentpipe_units::{ByteCount, Seq32};
use bentpipe_wire::Kind;
use bentpipe_wire::sctp::{Chunk, GapBlock, Sack};

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
fn a_report_beside_a_full_chunk_that_leaves_again_makes_no_packet_too_long() {
    let config = Config { max_burst: 0, cwnd_init: Some(6), ..quiet() };
    let mut pair = SctpPair::new(config.clone(), config, &[ms(100)]).staying_open();
    pair.run_to(at(500));
    let tag = client_tag(&pair);
    let answer = pair.log.iter().find_map(|crossing| match &crossing.packet.chunks[0] {
        Chunk::InitAck(init) => Some(init.initial_tsn),
        _ => None,
    });
    let servers = answer.expect("an INIT ACK");
    pair.log.clear();
    let mut pair = pair.with_script(|_| Fate::Drop);
    write_chunks(&mut pair, 6);
    let first = first_tsn(&pair);
    for (n, last) in (0..).zip(2..=4) {
        let mut packet = from_server(tag, sack(first.plus(u32::MAX), &[(2, last)]));
        packet.chunks.push(small(servers.plus(n)));
        give(&mut pair, packet);
    }
    assert_eq!(resent(&pair, first)[6..], [0]);
    assert_eq!(
        pair.sent(Direction::Forward, Kind::ACK).count(),
        2,
        "every second packet, and with DATA"
    );
    assert!(pair.log.iter().all(|c| c.packet.wire_len() <= 1_480 && !c.packet.may_fragment));
}

#[test]
fn a_second_loss_of_the_same_window_does_not_reduce_it_again() {
    let (mut pair, first, tag) = chunks(12, quiet());
    let before = first.plus(u32::MAX);
    for last in 2..=4 {
        give(&mut pair, from_server(tag, sack(before, &[(2, last)])));
    }
    for last in 7..=9 {
        give(&mut pair, from_server(tag, sack(before, &[(2, 4), (7, last)])));
    }
    give(&mut pair, from_server(tag, sack(before, &[(2, 4), (7, 12)])));
    assert_eq!(resent(&pair, first), [0, 4, 5]);
    assert_eq!(pair.client.association().counters().reductions, 1);
}

#[test]
fn a_retransmission_of_the_first_chunk_starts_the_timer_anew() {
    let (mut pair, first, tag) = six_chunks(quiet());
    let before = first.plus(u32::MAX);
    pair.run_to(at(1_400));
    for last in 2..=4 {
        give(&mut pair, from_server(tag, sack(before, &[(2, last)])));
    }
    assert_eq!(resent(&pair, first), [0]);
    pair.run_to(at(2_399));
    assert_eq!(resent(&pair, first), [0]);
    pair.run_to(at(2_400));
    assert_eq!(resent(&pair, first), [0, 0]);
}

#[test]
fn an_event_sets_no_more_packets_free_than_the_burst() {
    let config = Config { cwnd_init: Some(12), max_burst: 4, ..quiet() };
    let mut pair = SctpPair::new(config.clone(), config, &[ms(100)]).staying_open();
    pair.run_to(at(500));
    let tag = client_tag(&pair);
    pair.log.clear();
    let mut pair = pair.with_script(|_| Fate::Drop);
    write_chunks(&mut pair, 20);
    let first = first_tsn(&pair);
    assert_eq!(data_sent(&pair, first).len(), 4);
    give(&mut pair, from_server(tag, sack(first.plus(3), &[])));
    assert_eq!(data_sent(&pair, first).len(), 8);
}

#[test]
fn idle_time_halves_the_window_for_each_timeout() {
    let config = Config { cwnd_init: Some(12), ..quiet() };
    let mut pair = open(config, 1);
    write_chunks(&mut pair, 1);
    pair.run_to(at(1_000));
    let window = |pair: &SctpPair| pair.client.association().sender_state().cwnd;
    assert_eq!(window(&pair), Some(ByteCount::new(12 * 1468)));
    pair.run_to(at(1_700));
    write_chunks(&mut pair, 1);
    assert_eq!(window(&pair), Some(ByteCount::new(6 * 1468)), "1.2 s after the last data");
    pair.run_to(at(20_000));
    write_chunks(&mut pair, 1);
    assert_eq!(window(&pair), Some(ByteCount::new(4 * 1468)));
}

#[test]
fn a_chunk_that_reports_found_lost_is_not_measured_either() {
    let (mut pair, first, tag) = six_chunks(quiet());
    let before = first.plus(u32::MAX);
    let srtt = |pair: &SctpPair| pair.client.association().sender_state().srtt;
    assert_eq!(srtt(&pair), Some(ms(200)));
    pair.run_to(at(1_400));
    for last in 2..=4 {
        give(&mut pair, from_server(tag, sack(before, &[(2, last)])));
    }
    give(&mut pair, from_server(tag, sack(first.plus(5), &[])));
    assert_eq!(srtt(&pair), Some(ms(200)));
}

/// Loses the first transmission of each chunk that leaves at one of these times.
fn losing_at(config: &Config, times: &'static [u64]) -> SctpPair {
    let pair = SctpPair::new(config.clone(), config.clone(), &[ms(100)]).staying_open();
    let mut pair = pair.with_script(move |crossing| {
        let drop = crossing.has(Kind::DATA) && times.iter().any(|time| crossing.at == at(*time));
        if drop { Fate::Drop } else { Fate::Pass }
    });
    pair.run_to(at(500));
    pair.log.clear();
    pair
}

#[test]
fn what_was_sent_twice_is_not_measured_and_a_measurement_ends_the_backoff() {
    let mut pair = losing_at(&quiet(), &[1_000, 5_000]);
    pair.run_to(at(1_000));
    let srtt = |pair: &SctpPair| pair.client.association().sender_state().srtt;
    let before = srtt(&pair);
    write_chunks(&mut pair, 1);
    let first = first_tsn(&pair);
    pair.run_to(at(3_000));
    assert_eq!(srtt(&pair), before, "lost and retransmitted after a second");
    write_chunks(&mut pair, 2);
    pair.run_to(at(5_000));
    write_chunks(&mut pair, 1);
    pair.run_to(at(8_000));
    let times: Vec<_> = data_sent(&pair, first).into_iter().map(|(at, _, tsn)| (at, tsn)).collect();
    assert_eq!(times[..2], [(at(1_000), 0), (at(2_000), 0)]);
    assert_eq!(times[4..], [(at(5_000), 3), (at(6_000), 3)]);
}

#[test]
fn a_timeout_now_and_then_makes_no_path_inactive_and_ends_nothing() {
    let config = Config { path_max_retrans: 1, association_max_retrans: 1, ..quiet() };
    let mut pair = losing_at(&config, &[1_000, 4_000, 7_000, 10_000]);
    for time in [1_000, 4_000, 7_000, 10_000] {
        pair.run_to(at(time));
        write_chunks(&mut pair, 1);
    }
    pair.run_to(at(14_000));
    assert_eq!(pair.server.inbox.len(), 4 * 1452);
    let counters = pair.client.association().counters();
    // The third timeout, which was doubled twice, finds the third and the fourth chunk lost.
    assert_eq!((counters.retransmitted_segments, counters.timeouts), (4, 3));
    assert_eq!(pair.client.notices.len(), 1, "{:?}", pair.client.notices);
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
fn what_a_peer_throws_away_after_it_was_reported_is_in_flight_again_with_the_next_news() {
    let (mut pair, first, tag) = six_chunks(quiet());
    let before = first.plus(u32::MAX);
    let in_flight = |pair: &SctpPair| pair.client.association().sender_state().in_flight.get();
    give(&mut pair, from_server(tag, sack(before, &[(4, 6)])));
    assert_eq!(in_flight(&pair), 3 * 1452);
    give(&mut pair, from_server(tag, sack(before, &[(2, 2), (4, 4)])));
    assert_eq!(in_flight(&pair), 4 * 1452, "the second arrived, the fifth and sixth are gone");
    // What is gone is repaired as anything else.
    pair.run_to(at(1_500));
    assert_eq!(resent(&pair, first)[0], 0);
    give(&mut pair, from_server(tag, sack(first.plus(5), &[])));
    assert_eq!(in_flight(&pair), 0);
}

#[test]
fn a_report_that_was_overtaken_takes_nothing_back_and_tells_no_room() {
    let (mut pair, first, tag) = six_chunks(quiet());
    let before = first.plus(u32::MAX);
    give(&mut pair, from_server(tag, sack(before, &[(3, 6)])));
    let old = |gaps: &[GapBlock]| {
        let gaps = gaps.iter().copied().collect();
        let report = Sack { cumulative: before, window: 0, gaps, ..Sack::default() };
        from_server(tag, Chunk::Sack(report))
    };
    for gaps in [&[GapBlock { start: 3, end: 4 }][..], &[]] {
        give(&mut pair, old(gaps));
        let state = pair.client.association().sender_state();
        assert_eq!(state.in_flight.get(), 2 * 1452);
    }
    write_chunks(&mut pair, 1);
    assert_eq!(resent(&pair, first), [6], "there is room as the latest report said");
    // SHUTDOWN names no gaps, which does not mean that there are none.
    give(&mut pair, from_server(tag, Chunk::Shutdown(first)));
    assert_eq!(pair.client.association().sender_state().in_flight.get(), 2 * 1452);
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
    assert_eq!(pair.sent_since(Direction::Forward, at(15_500)), 0);
    assert!(pair.client.association().is_closed());
}
