//! When a SACK leaves and what it says (RFC 9260, section 6.2), and what a full receiver does.

use bentpipe_testkit::{Direction, Fate, SctpPair, pattern};
use bentpipe_transport::sctp::Config;
use bentpipe_transport::{Event, Inspect};
use bentpipe_units::ByteCount;
use bentpipe_wire::Kind;
use bentpipe_wire::sctp::GapBlock;
use bytes::Bytes;

use crate::support::*;

#[test]
fn one_packet_is_acknowledged_after_the_delay_and_two_at_once() {
    let mut pair = open(quiet(), 1);
    // The very first one is acknowledged at once.
    write_chunks(&mut pair, 1);
    pair.run_to(at(1_000));
    pair.log.clear();
    write_chunks(&mut pair, 1);
    pair.run_to(at(1_299));
    assert_eq!(pair.sent(Direction::Return, Kind::ACK).count(), 0);
    pair.run_to(at(1_300));
    assert_eq!(
        pair.sent(Direction::Return, Kind::ACK).count(),
        1,
        "100 ms on the way, 200 ms delayed"
    );
    pair.run_to(at(1_500));
    pair.log.clear();
    write_chunks(&mut pair, 2);
    pair.run_to(at(1_600));
    let sacks: Vec<_> = pair.sent(Direction::Return, Kind::ACK).collect();
    assert_eq!((sacks.len(), sacks[0].at), (1, at(1_600)));
}

#[test]
fn a_sack_tells_the_room_after_the_application_has_read() {
    let config = Config { rcv_buf: ByteCount::new(20_000), ..quiet() };
    let mut pair = open(config, 1);
    write_chunks(&mut pair, 2);
    pair.run_to(at(700));
    let sack =
        pair.sent(Direction::Return, Kind::ACK).next().expect("a SACK").sack().expect("a SACK");
    assert_eq!(sack.window, 20_000);
}

#[test]
fn a_gap_is_reported_at_once_and_so_is_its_end() {
    let mut count = 0;
    let mut pair = open(Config { cwnd_init: Some(4), ..quiet() }, 1).with_script(move |crossing| {
        count += u32::from(crossing.has(Kind::DATA));
        if crossing.has(Kind::DATA) && count == 2 { Fate::Late(ms(50)) } else { Fate::Pass }
    });
    write_chunks(&mut pair, 3);
    pair.run_to(at(600));
    let first = first_tsn(&pair);
    // The first one tells of the first packet.
    let gap =
        pair.sent(Direction::Return, Kind::ACK).nth(1).expect("a SACK").sack().expect("a SACK");
    assert_eq!((gap.cumulative, &gap.gaps[..]), (first, &[GapBlock { start: 2, end: 2 }][..]));
    pair.run_to(at(650));
    let sacks: Vec<_> = pair.sent(Direction::Return, Kind::ACK).collect();
    assert_eq!((sacks.len(), sacks[2].at), (3, at(650)));
    let filled = sacks[2].sack().expect("a SACK");
    assert_eq!((filled.cumulative, filled.gaps.len()), (first.plus(2), 0));
}

#[test]
fn what_comes_twice_is_reported_once() {
    let mut pair = open(quiet(), 1).with_script(|crossing| {
        if crossing.has(Kind::DATA) { Fate::Twice(ms(5)) } else { Fate::Pass }
    });
    write_chunks(&mut pair, 1);
    pair.run_to(at(1_500));
    let sacks: Vec<_> = pair.sent(Direction::Return, Kind::ACK).collect();
    assert_eq!((sacks.len(), sacks[1].at), (2, at(605)));
    let tsn = first_tsn(&pair);
    assert_eq!(sacks[1].sack().expect("a SACK").duplicates[..], [tsn.get()]);
    assert_eq!(pair.server.association().counters().duplicate_segments, 1);
}

/// Both ends send, with reports beside DATA, and every second packet of the client is lost from the fifth
/// to the 60th.
fn with_many_gaps() -> SctpPair {
    let config = Config {
        message: Some(1_000),
        nagle: false,
        cwnd_init: Some(60),
        max_burst: 0,
        snd_buf: ByteCount::new(400_000),
        rcv_buf: ByteCount::new(400_000),
        ..quiet()
    };
    let mut count = 0;
    SctpPair::new(config.clone(), config, &[ms(100)])
        .sending(pattern(300_000))
        .answering(pattern(300_000))
        .staying_open()
        .with_script(move |crossing| {
            if crossing.direction == Direction::Return || !crossing.has(Kind::DATA) {
                return Fate::Pass;
            }
            count += 1;
            if (5..60).contains(&count) && count % 2 == 1 { Fate::Drop } else { Fate::Pass }
        })
}

#[test]
fn every_gap_is_told_though_data_wait() {
    let mut pair = with_many_gaps();
    pair.run_to(at(30_000));
    assert!(pair.server.inbox == pattern(300_000) && pair.client.inbox == pattern(300_000));
    let mut told = std::collections::BTreeSet::new();
    let mut most = 0;
    for sack in
        pair.log.iter().filter(|c| c.direction == Direction::Return).filter_map(|c| c.sack())
    {
        let of = |gap: &GapBlock| {
            (gap.start..=gap.end).map(|offset| sack.cumulative.plus(u32::from(offset)).get())
        };
        let now: std::collections::BTreeSet<u32> = sack.gaps.iter().flat_map(of).collect();
        told.retain(|tsn| bentpipe_units::Seq32::new(*tsn).is_after(sack.cumulative));
        assert!(now.is_superset(&told), "reported once and then left out: {told:?}, {now:?}");
        most = most.max(sack.gaps.len());
        told = now;
    }
    assert!(most >= 25, "{most}");
}

#[test]
fn gaps_come_before_duplicates_in_a_report_without_room_for_both() {
    let mut pair = SctpPair::new(quiet(), quiet(), &[ms(100)]).staying_open();
    pair.run_to(at(500));
    let tag = pair.sent(Direction::Forward, Kind::COOKIE).next().expect("a COOKIE ECHO").packet.tag;
    let mut tsn = init_of(&pair).initial_tsn;
    // Eleven gaps, and then two that came before, several times.
    for _ in 0..11 {
        tsn = tsn.plus(2);
        give_to_server(&mut pair, from_client(tag, small(tsn)));
    }
    pair.run_to(at(900));
    pair.log.clear();
    let mut packet = from_client(tag, small(tsn));
    for _ in 0..9 {
        packet.chunks.push(small(tsn));
    }
    let bytes = Bytes::from_static(b"an answer");
    pair.server.outbox = bytes;
    give_to_server(&mut pair, packet);
    let sack = pair.log.iter().find_map(|c| c.sack()).expect("a SACK");
    assert_eq!((sack.gaps.len(), sack.duplicates.len()), (11, 1), "in 64 bytes, beside DATA");
}

#[test]
fn a_duplicate_is_reported_on_another_path_than_the_one_it_came_on() {
    let mut pair = open(quiet(), 2);
    pair.run_to(at(5_000));
    pair.log.clear();
    let mut pair =
        pair.with_script(
            |crossing| {
                if crossing.has(Kind::DATA) { Fate::Twice(ms(50)) } else { Fate::Pass }
            },
        );
    write_chunks(&mut pair, 2);
    pair.run_to(at(5_400));
    let sacks = pair.sent(Direction::Return, Kind::ACK).map(|c| (c.at, c.path.0));
    let expected = [(at(5_100), 0), (at(5_150), 1)];
    assert_eq!(sacks.take(2).collect::<Vec<_>>(), expected);
}

#[test]
fn a_full_receiver_is_asked_now_and_then_and_tells_when_it_has_room() {
    let server = Config { rcv_buf: ByteCount::new(5_000), ..quiet() };
    let mut pair =
        SctpPair::new(quiet(), server, &[ms(100)]).sending(pattern(20_000)).staying_open();
    pair.server.stalled = true;
    pair.run_to(at(600_000));
    // Longer than all timeouts that would end an association: the peer answers, it has no room.
    assert!(!pair.client.events.iter().any(|(_, event)| matches!(event, Event::Failed(_))));
    assert!(pair.server.inbox.is_empty());
    let asked = pair.log.iter().filter(|c| c.at > at(10_000) && c.has(Kind::DATA)).count();
    assert!((5..30).contains(&asked), "asked {asked} times");
    assert_eq!(pair.client.association().sender_state().activity, "persisting");
    pair.server.stalled = false;
    pair.change(Direction::Return, |_, _| {});
    let update = pair.log.last().expect("a packet");
    let window = update.sack().expect("a SACK").window;
    assert_eq!((update.at, update.direction, window), (at(600_000), Direction::Return, 5_000));
    pair.run_to(at(603_000));
    assert!(pair.server.inbox == pattern(20_000));
}

#[test]
fn a_window_too_small_to_be_of_use_is_told_as_none() {
    let server = Config { rcv_buf: ByteCount::new(4_000), ..quiet() };
    let mut pair =
        SctpPair::new(quiet(), server, &[ms(100)]).sending(pattern(9_000)).staying_open();
    pair.server.stalled = true;
    pair.run_to(at(20_000));
    let windows: Vec<u32> = pair.log.iter().filter_map(|c| Some(c.sack()?.window)).collect();
    assert!(windows.iter().all(|window| *window == 0 || *window >= 1_452), "{windows:?}");
    assert_eq!(windows.last(), Some(&0));
}

#[test]
fn the_first_packet_with_data_is_acknowledged_at_once_and_the_next_ones_two_by_two() {
    // One chunk each: RFC 9260, section 5.1, then 6.2; RFC 2960 has the latter alone.
    for (sack_first, first) in [(true, at(1_100)), (false, at(1_300))] {
        let config = Config { sack_every: 2, sack_first, sack_delay: ms(200), ..quiet() };
        let mut pair = SctpPair::new(config.clone(), config, &[ms(100)]).staying_open();
        pair.run_to(at(1_000));
        pair.log.clear();
        for step in 0..2 {
            pair.run_to(at(1_000 + 1_000 * step));
            write_chunks(&mut pair, 1);
        }
        pair.run_to(at(4_000));
        let sacks: Vec<_> =
            pair.sent(Direction::Return, Kind::ACK).map(|crossing| crossing.at).collect();
        assert_eq!(sacks, [first, at(2_300)]);
    }
}
