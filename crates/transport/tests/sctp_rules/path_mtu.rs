//! The longest packet of a path is found by HEARTBEATs with padding (RFC 8899, section 6.2; RFC 4820).

use bentpipe_testkit::{Direction, Fate, SctpCrossing, SctpPair, pattern};
use bentpipe_transport::sctp::Config;
use bentpipe_transport::{Endpoint, Inspect, NetworkFeedback, PathId};
use bentpipe_units::{ByteCount, Instant};
use bentpipe_wire::sctp::Chunk;
use bentpipe_wire::{Ecn, Kind};

use crate::support::*;

/// Headers below SCTP in these tests.
const BELOW: usize = 48;

fn searching() -> Config {
    // What was written before keeps its length.
    let buffer = ByteCount::new(60_000);
    Config {
        mtu: 1280,
        mtu_most: Some(1500),
        ip_overhead: BELOW as u16,
        snd_buf: buffer,
        rcv_buf: buffer,
        ..quiet()
    }
}

/// The client sends over paths of which each carries so much at a time, IP header included.
fn over(
    paths: usize,
    bytes: usize,
    carries: impl Fn(PathId, Instant) -> usize + 'static,
) -> SctpPair {
    SctpPair::new(searching(), searching(), &vec![ms(100); paths])
        .sending(pattern(bytes))
        .staying_open()
        .with_script(move |crossing| {
            let length = crossing.packet.wire_len() + BELOW;
            let fits =
                length <= carries(crossing.path, crossing.at) || crossing.packet.may_fragment;
            if fits { Fate::Pass } else { Fate::Drop }
        })
}

/// The client writes 20 kB each second as far as they are taken, from the second `from` to the second
/// `until`. Returns how many were.
fn write_for(pair: &mut SctpPair, from: u64, until: u64) -> usize {
    let mut written = 0;
    for second in from..until {
        pair.run_to(at(1_000 * second));
        let mut bytes = pattern(20_000);
        pair.change(Direction::Forward, |association, now| {
            written += association.write(now, &mut bytes).expect("open");
        });
    }
    pair.run_to(at(1_000 * until));
    written
}

/// Lengths of the probes with their headers.
fn probes(pair: &SctpPair, path: u32) -> Vec<usize> {
    let padded = |chunks: &[Chunk]| matches!(chunks, [Chunk::Heartbeat(_), Chunk::Pad(_)]);
    pair.sent(Direction::Forward, Kind::HEARTBEAT)
        .filter(|c| c.path == PathId(path) && padded(&c.packet.chunks))
        .map(|c| c.packet.wire_len() + BELOW)
        .collect()
}

/// Length of the longest packet with DATA that left from `from` on.
fn longest(pair: &SctpPair, from: u64) -> usize {
    let whole = |c: &&SctpCrossing| c.at >= at(from) && !c.packet.may_fragment;
    let sent = pair.sent(Direction::Forward, Kind::DATA).filter(whole);
    sent.map(|c| c.packet.wire_len() + BELOW).max().unwrap_or(0)
}

#[test]
fn an_ordinary_path_takes_one_probe_which_is_no_data_and_is_not_marked() {
    let mut pair = over(1, 600_000, |_, _| 1500);
    pair.run_to(at(4_000));
    assert_eq!(probes(&pair, 0), [1500]);
    let probe = pair.sent(Direction::Forward, Kind::HEARTBEAT).next().expect("a probe");
    assert_eq!(probe.packet.ecn, Ecn::NotCapable);
    let before = pair.sent(Direction::Forward, Kind::DATA).filter(|c| c.at <= probe.at);
    assert!(before.map(|c| c.packet.wire_len() + BELOW).max() <= Some(1280));
    assert_eq!(longest(&pair, 0), 1500);
    assert!(pair.server.inbox == pattern(600_000));
    assert_eq!(pair.client.association().counters().ignored_segments, 0);
    assert_eq!(pair.server.association().counters().ignored_segments, 0);
}

#[test]
fn a_narrow_path_is_found_without_a_loss_of_data_or_window() {
    let mut pair = over(1, 900_000, |_, _| 1400);
    pair.run_to(at(60_000));
    assert!(pair.server.inbox == pattern(900_000));
    let counters = pair.client.association().counters();
    assert_eq!((counters.retransmitted_segments, counters.reductions), (0, 0));
    assert!(longest(&pair, 0) <= 1400);
    assert_eq!(probes(&pair, 0)[..3], [1500; 3], "each length three times");
}

#[test]
fn without_a_setting_or_full_packets_nothing_is_probed() {
    let config = Config { mtu_most: None, ..searching() };
    let mut pair =
        SctpPair::new(config.clone(), config, &[ms(100)]).sending(pattern(100_000)).staying_open();
    pair.run_to(at(5_000));
    assert_eq!(probes(&pair, 0), []);
    let mut pair = over(1, 0, |_, _| 1500);
    for second in 1..20 {
        pair.run_to(at(1_000 * second));
        send(&mut pair, Direction::Forward, 0, b"a short message");
    }
    assert_eq!(probes(&pair, 0), []);
}

#[test]
fn chunks_fit_the_narrowest_path_and_each_path_is_searched() {
    let mut pair = over(2, 0, |path, _| if path == PathId(0) { 1500 } else { 1300 });
    write_for(&mut pair, 1, 60);
    assert!(probes(&pair, 0).contains(&1500) && probes(&pair, 1).contains(&1500));
    assert!((1281..=1300).contains(&longest(&pair, 0)), "{}", longest(&pair, 0));
}

#[test]
fn an_answer_with_another_number_confirms_nothing() {
    let mut pair = SctpPair::new(searching(), searching(), &[ms(100)]).staying_open();
    pair.run_to(at(500));
    let tag = client_tag(&pair);
    let mut bytes = pattern(20_000);
    pair.change(Direction::Forward, |association, now| {
        association.write(now, &mut bytes).expect("room");
    });
    pair.run_to(at(550));
    let info =
        pair.sent(Direction::Forward, Kind::HEARTBEAT).find_map(|c| match &c.packet.chunks[0] {
            Chunk::Heartbeat(info) => Some(info.clone()),
            _ => None,
        });
    let mut forged = info.expect("a probe").to_vec();
    forged[5] ^= 1;
    let before = pair.client.association().counters().ignored_segments;
    give(&mut pair, from_server(tag, Chunk::HeartbeatAck(forged.into())));
    assert_eq!(pair.client.association().counters().ignored_segments, before + 1);
}

#[test]
fn on_a_path_that_became_narrow_ip_cuts_what_was_made_before_and_the_rest_fits() {
    let mut pair = over(1, 0, |_, at_time| if at_time < at(20_000) { 1500 } else { 1400 });
    let before = write_for(&mut pair, 1, 20);
    assert_eq!(longest(&pair, 0), 1500);
    pair.run_to(at(25_000));
    let after = write_for(&mut pair, 25, 80);
    let found = longest(&pair, 60_000);
    assert!((1392..=1400).contains(&found), "{found}");
    pair.run_to(at(100_000));
    assert_eq!(pair.server.inbox.len(), before + after);
    assert!(pair.log.iter().any(|c| c.packet.may_fragment));
}

#[test]
fn a_router_is_believed_that_quotes_the_tag_and_nobody_else() {
    let mut pair = over(1, 900_000, |_, _| 1500);
    pair.run_to(at(2_000));
    let tag = pair.sent(Direction::Forward, Kind::DATA).next().expect("data").packet.tag;
    let told = |pair: &mut SctpPair, path, tag| {
        pair.change(Direction::Forward, |association, now| {
            association.handle_packet_too_big(now, PathId(path), 700, tag);
        });
    };
    for (path, tag) in [(0, tag ^ 1), (0, 0), (1, tag)] {
        told(&mut pair, path, tag);
    }
    assert_eq!(pair.client.association().counters().ignored_segments, 3);
    pair.run_to(at(3_000));
    assert_eq!(longest(&pair, 2_001), 1500);
    told(&mut pair, 0, tag);
    pair.run_to(at(60_000));
    assert!(longest(&pair, 3_001) <= 700, "{}", longest(&pair, 3_001));
    // Less than packets can have is told once; what is said again retransmits nothing.
    let least = |pair: &mut SctpPair| {
        pair.change(Direction::Forward, |association, now| {
            association.handle_packet_too_big(now, PathId(0), 68, tag);
        });
    };
    least(&mut pair);
    let ignored = pair.client.association().counters().ignored_segments;
    least(&mut pair);
    assert_eq!(pair.client.association().counters().ignored_segments, ignored + 1);
    assert!(pair.server.inbox == pattern(900_000));
    let counters = pair.client.association().counters();
    assert_eq!((counters.timeouts, counters.reductions), (0, 0));
}
