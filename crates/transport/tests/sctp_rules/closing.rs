//! Section 9 of RFC 9260.

use bentpipe_testkit::{Direction, Fate, SctpPair, pattern};
use bentpipe_transport::sctp::{Config, State};
use bentpipe_transport::{Endpoint, Event, Failure, ProxyLeg, WriteError};
use bentpipe_units::ByteCount;
use bentpipe_wire::Kind;
use bentpipe_wire::sctp::Chunk;
use bytes::Bytes;

use crate::support::*;

fn close(pair: &mut SctpPair, direction: Direction) {
    pair.change(direction, Endpoint::close);
}

#[test]
fn three_messages_close_once_nothing_is_outstanding() {
    let mut pair = open(quiet(), 1);
    write_chunks(&mut pair, 1);
    close(&mut pair, Direction::Forward);
    assert_eq!(pair.client.association().state(), State::ShutdownPending);
    pair.run_to(at(699));
    assert_eq!(
        pair.sent(Direction::Forward, Kind::END).count(),
        0,
        "the chunk is not acknowledged"
    );
    assert!(pair.run(secs(10)));
    let kinds: Vec<_> =
        pair.log.iter().skip(2).map(|c| (c.direction, c.at, c.packet.kind())).collect();
    assert_eq!(
        kinds,
        [
            (Direction::Forward, at(700), Kind::END),
            (Direction::Return, at(800), Kind::ENDAK),
            (Direction::Forward, at(900), Kind::ENDAK),
        ]
    );
    assert_eq!(pair.client.events.last(), Some(&(at(900), Event::Closed)));
    assert_eq!(pair.server.events.last(), Some(&(at(1_000), Event::Closed)));
    assert!(pair.server.was_told(Event::PeerClosed));
}

#[test]
fn each_message_of_the_closing_may_be_lost() {
    for lost in 0..3 {
        let mut count = 0;
        let mut pair = open(quiet(), 1).with_script(move |_| {
            count += 1;
            if count == lost + 1 { Fate::Drop } else { Fate::Pass }
        });
        close(&mut pair, Direction::Forward);
        assert!(pair.run(secs(60)), "message {lost}");
        assert!(pair.client.was_told(Event::Closed), "message {lost}");
        // Where SHUTDOWN COMPLETE was lost, the host answers for the association that is gone.
        assert!(pair.server.was_told(Event::Closed), "message {lost}");
    }
}

#[test]
fn no_sack_leaves_after_the_peer_has_shut_down() {
    let config = Config { rcv_buf: ByteCount::new(2_000), ..quiet() };
    let mut shutdown_completes = 0;
    let mut pair = open(config, 1).with_script(move |crossing| {
        let complete = Chunk::ShutdownComplete { reflected: false };
        let lost = crossing.packet.chunks.contains(&complete) && shutdown_completes == 0;
        shutdown_completes += u32::from(lost);
        if lost { Fate::Drop } else { Fate::Pass }
    });
    let reserve = |pair: &mut SctpPair, bytes| {
        pair.change(Direction::Return, |association, now| {
            association.reserve_receive_buffer(now, ByteCount::new(bytes));
        });
    };
    write_chunks(&mut pair, 1);
    pair.run_to(at(700));
    write_chunks(&mut pair, 1);
    pair.run_to(at(850));
    // The SACK of the second chunk waits, and tells of no room.
    reserve(&mut pair, 1_452);
    close(&mut pair, Direction::Forward);
    pair.run_to(at(1_350));
    assert_eq!(pair.server.association().state(), State::ShutdownAckSent);
    assert_eq!(pair.client.association().state(), State::Closed);
    let told = pair.log.iter().filter_map(|crossing| crossing.sack()).next_back();
    assert_eq!(told.map(|sack| sack.window), Some(0));
    // The room that reading makes is of no use to a peer that sends no more; where it is gone, its host
    // would answer a SACK with ABORT.
    reserve(&mut pair, 0);
    assert!(pair.run(secs(60)));
    let sacks = pair.log.iter().filter(|crossing| crossing.sack().is_some()).count();
    assert_eq!(sacks, 2, "one for each chunk");
    assert!(pair.server.was_told(Event::Closed));
}

/// The server has sent SHUTDOWN ACK, and nobody has answered it.
fn unanswered_shutdown_ack(config: Config) -> SctpPair {
    let mut pair = open(config, 1).with_script(|crossing| {
        let complete = matches!(crossing.packet.chunks[..], [Chunk::ShutdownComplete { .. }]);
        if complete { Fate::Drop } else { Fate::Pass }
    });
    close(&mut pair, Direction::Forward);
    pair.run_to(at(750));
    assert_eq!(pair.server.association().state(), State::ShutdownAckSent);
    assert_eq!(pair.client.association().state(), State::Closed);
    pair
}

#[test]
fn no_heartbeat_asks_a_peer_that_may_be_closed() {
    let config = Config { heartbeat: ms(1), ..Config::default() };
    let mut pair = unanswered_shutdown_ack(config);
    let before = pair.sent(Direction::Return, Kind::HEARTBEAT).count();
    pair.run_to(at(30_000));
    assert_eq!(pair.sent(Direction::Return, Kind::HEARTBEAT).count(), before);
    let acks = pair.sent(Direction::Return, Kind::ENDAK).count();
    assert!(acks > 3, "SHUTDOWN ACK asks instead, {acks} times");
    assert!(!pair.server.was_told(Event::Failed(Failure::PeerAborted(0))));
}

#[test]
fn an_abort_out_of_the_blue_ends_a_shutdown_like_its_completion() {
    let mut pair = unanswered_shutdown_ack(quiet());
    let tag = pair.sent(Direction::Return, Kind::ENDAK).next().expect("SHUTDOWN ACK").packet.tag;
    let abort = Chunk::Abort { reflected: true, causes: Vec::new() };
    give_to_server(&mut pair, from_client(tag, abort));
    assert_eq!(pair.server.events.last().map(|(_, event)| *event), Some(Event::Closed));
    assert!(pair.server.association().is_closed());
}

#[test]
fn both_ends_may_close_at_once() {
    let mut pair = open(quiet(), 1);
    close(&mut pair, Direction::Forward);
    close(&mut pair, Direction::Return);
    assert!(pair.run(secs(60)));
    assert!(pair.client.was_told(Event::Closed) && pair.server.was_told(Event::Closed));
}

#[test]
fn what_the_other_end_has_written_still_arrives() {
    let mut pair = open(quiet(), 1);
    pair.change(Direction::Return, |association, now| {
        assert_eq!(
            association.write(now, &mut pattern(60_000)),
            Ok(60_000 / 1452 * 1452 + 60_000 % 1452)
        );
    });
    close(&mut pair, Direction::Forward);
    assert!(pair.run(secs(60)));
    assert!(pair.client.inbox == pattern(60_000));
    let shutdowns = pair.sent(Direction::Forward, Kind::END).count();
    assert!(shutdowns > 5, "every packet with DATA is answered by SHUTDOWN, {shutdowns} times");
    assert!(pair.client.was_told(Event::Closed) && pair.server.was_told(Event::Closed));
}

#[test]
fn nothing_can_be_written_after_closing() {
    let mut pair = open(quiet(), 1);
    close(&mut pair, Direction::Forward);
    pair.change(Direction::Forward, |association, now| {
        let mut bytes = Bytes::from_static(b"late");
        assert_eq!(association.write(now, &mut bytes), Err(WriteError::Closed));
        assert!(association.send(0, 0, false, bytes).is_err());
    });
}

#[test]
fn an_abort_ends_both_ends_at_once() {
    let mut pair = open(quiet(), 1);
    pair.change(Direction::Forward, Endpoint::abort);
    pair.run_to(at(600));
    assert!(matches!(pair.log[0].packet.chunks[0], Chunk::Abort { reflected: false, .. }));
    assert!(pair.client.was_told(Event::Failed(Failure::Aborted)));
    assert!(pair.server.was_told(Event::Failed(Failure::PeerAborted(12))));
    assert!(pair.client.association().is_closed() && pair.server.association().is_closed());
}

#[test]
fn a_peer_that_does_not_answer_a_shutdown_is_given_up() {
    let mut pair = open(quiet(), 1).with_script(|_| Fate::Drop);
    close(&mut pair, Direction::Forward);
    pair.run_to(at(1_000_000));
    assert!(pair.client.was_told(Event::Failed(Failure::NoResponse)));
    assert_eq!(pair.sent(Direction::Forward, Kind::END).count(), 11, "the first and ten more");
}
