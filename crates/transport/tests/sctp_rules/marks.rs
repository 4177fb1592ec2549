//! ECN (RFC 4960, appendix A).

use bentpipe_testkit::{Direction, Fate, SctpPair, pattern};
use bentpipe_transport::Inspect;
use bentpipe_transport::sctp::Config;
use bentpipe_wire::sctp::Chunk;
use bentpipe_wire::{Ecn, Kind};

use crate::support::*;

fn ecn() -> Config {
    Config { ecn: true, ..quiet() }
}

fn chunks(pair: &SctpPair, direction: Direction, wanted: fn(&Chunk) -> bool) -> usize {
    let of = pair.log.iter().filter(|crossing| crossing.direction == direction);
    of.flat_map(|crossing| &crossing.packet.chunks).filter(|chunk| wanted(chunk)).count()
}

#[test]
fn a_mark_reduces_the_window_once_and_is_told_until_it_was_answered() {
    let mut count = 0;
    let mut pair = SctpPair::new(ecn(), ecn(), &[ms(100)])
        .sending(pattern(200_000))
        .staying_open()
        .with_script(move |crossing| {
            count += u32::from(crossing.has(Kind::DATA));
            if crossing.has(Kind::DATA) && (20..23).contains(&count) {
                assert_eq!(crossing.packet.ecn, Ecn::Capable0);
                crossing.packet.ecn = Ecn::Congestion;
            }
            Fate::Pass
        });
    pair.run_to(at(10_000));
    assert!(pair.server.inbox == pattern(200_000));
    assert_eq!(pair.client.association().counters().reductions, 1);
    assert!(chunks(&pair, Direction::Return, |chunk| matches!(chunk, Chunk::Ecne(_))) >= 1);
    assert!(chunks(&pair, Direction::Forward, |chunk| matches!(chunk, Chunk::Cwr(_))) >= 1);
    // Nothing is told any more once it was answered.
    let late = pair.log.iter().rev().take(20);
    assert!(late.flat_map(|c| &c.packet.chunks).all(|chunk| !matches!(chunk, Chunk::Ecne(_))));
}

#[test]
fn only_new_data_can_be_marked_and_nothing_where_one_end_does_not_want_it() {
    for (server, expected) in [(ecn(), true), (quiet(), false)] {
        let mut dropped = false;
        let mut pair = SctpPair::new(ecn(), server, &[ms(100)])
            .sending(pattern(30_000))
            .staying_open()
            .with_script(move |crossing| {
                let drop = crossing.has(Kind::DATA) && crossing.at > at(450) && !dropped;
                dropped |= drop;
                if drop { Fate::Drop } else { Fate::Pass }
            });
        pair.run_to(at(10_000));
        assert!(pair.server.inbox == pattern(30_000));
        let mut seen = std::collections::BTreeSet::new();
        for crossing in &pair.log {
            let new = crossing.data().all(|data| seen.insert(data.tsn.get()));
            let capable = new && crossing.has(Kind::DATA) && expected;
            assert_eq!(crossing.packet.ecn == Ecn::Capable0, capable, "{crossing:?}");
        }
    }
}

#[test]
fn a_loss_without_marks_leaves_the_window_where_damage_is_told_from_congestion() {
    for (discriminates, reductions) in [(true, 0), (false, 1)] {
        let config = Config { ecn_discriminates: discriminates, ..ecn() };
        let mut count = 0;
        let mut pair = SctpPair::new(config.clone(), config, &[ms(100)])
            .sending(pattern(100_000))
            .staying_open()
            .with_script(move |crossing| {
                count += u32::from(crossing.has(Kind::DATA));
                if crossing.has(Kind::DATA) && count == 20 { Fate::Drop } else { Fate::Pass }
            });
        pair.run_to(at(10_000));
        assert!(pair.server.inbox == pattern(100_000));
        let counters = pair.client.association().counters();
        assert_eq!((counters.retransmitted_segments, counters.reductions), (1, reductions));
    }
}

#[test]
fn a_mark_is_told_in_every_packet_with_room_until_it_was_answered() {
    let config = Config { nagle: false, ..ecn() };
    let mut pair = SctpPair::new(config.clone(), config, &[ms(100)]).staying_open();
    pair.run_to(at(500));
    let mut marked = false;
    let mut pair = pair.with_script(move |crossing| {
        if crossing.has(Kind::DATA) && crossing.direction == Direction::Forward && !marked {
            crossing.packet.ecn = Ecn::Congestion;
            marked = true;
        }
        // The answer is lost for a second.
        if crossing.at < at(1_500) {
            crossing.packet.chunks.retain(|chunk| !matches!(chunk, Chunk::Cwr(_)));
        }
        if crossing.packet.chunks.is_empty() { Fate::Drop } else { Fate::Pass }
    });
    send(&mut pair, Direction::Forward, 0, b"marked");
    for step in 0..8 {
        pair.run_to(at(700 + 100 * step));
        send(&mut pair, Direction::Return, 0, b"a message without a report");
    }
    let told = |crossing: &bentpipe_testkit::SctpCrossing| {
        crossing.packet.chunks.iter().any(|chunk| matches!(chunk, Chunk::Ecne(_)))
    };
    let back =
        |c: &&bentpipe_testkit::SctpCrossing| c.direction == Direction::Return && c.at >= at(600);
    assert!(pair.log.iter().filter(back).all(told));
    pair.run_to(at(3_000));
    send(&mut pair, Direction::Return, 0, b"answered");
    assert!(!told(pair.log.last().expect("a packet")));
}
