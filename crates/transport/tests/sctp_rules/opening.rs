//! Section 5 of RFC 9260.

use bentpipe_testkit::{Direction, Fate, SctpPair, pattern};
use bentpipe_transport::sctp::{Config, Notice, State, View};
use bentpipe_transport::{Event, Failure, Inspect};
use bentpipe_wire::sctp::{Cause, Chunk, Init, Parameter, UnknownChunk};
use bentpipe_wire::{Ecn, Kind};
use bytes::Bytes;

use crate::support::*;

fn pair(config: Config) -> SctpPair {
    SctpPair::new(config.clone(), config, &[ms(100)]).staying_open()
}

#[test]
fn an_init_without_answer_is_repeated_at_doubled_intervals_and_then_given_up() {
    let config = Config { max_init_retransmits: 2, ..quiet() };
    let mut pair = pair(config).with_script(|_| Fate::Drop);
    assert!(pair.run(secs(60)));
    let sent: Vec<_> = pair.sent(Direction::Forward, Kind::BGN).map(|c| c.at).collect();
    assert_eq!(sent, [at(0), at(1_000), at(3_000)]);
    assert_eq!(pair.log.len(), 3);
    assert_eq!(pair.client.events, [(at(7_000), Event::Failed(Failure::NoAnswer))]);
}

#[test]
fn a_cookie_that_was_changed_is_no_cookie() {
    let mut first = true;
    let mut pair = pair(quiet()).with_script(move |crossing| {
        if let Chunk::CookieEcho(cookie) = &mut crossing.packet.chunks[0]
            && std::mem::take(&mut first)
        {
            let mut forged = cookie.to_vec();
            forged[20] ^= 1;
            *cookie = forged.into();
        }
        Fate::Pass
    });
    pair.run_to(at(1_100));
    assert!(pair.server.association.is_none());
    assert_eq!(
        pair.sent(Direction::Return, Kind::NONE).count(),
        1,
        "the INIT ACK and nothing else"
    );
    pair.run_to(at(2_000));
    assert_eq!(pair.server.association().state(), State::Established);
}

#[test]
fn a_stale_cookie_is_refused_and_the_next_one_shall_live_longer() {
    let config = Config { cookie_life: ms(1_000), ..quiet() };
    let mut echoes = 0;
    let mut pair = pair(config).with_script(move |crossing| {
        echoes += u32::from(crossing.has(Kind::COOKIE));
        if crossing.has(Kind::COOKIE) && echoes == 1 { Fate::Drop } else { Fate::Pass }
    });
    pair.run_to(at(3_000));
    let stale = pair.log.iter().find(|c| matches!(&c.packet.chunks[0], Chunk::Error(_)));
    let stale = stale.expect("an ERROR");
    // Made at 100 ms, sent back at 200 ms and again, by the measured round trip, a second later.
    assert_eq!((stale.at, stale.direction), (at(1_300), Direction::Return));
    assert_eq!(stale.packet.chunks[0], Chunk::Error(vec![Cause::StaleCookie(200_000)]));
    let again: Vec<_> = pair.sent(Direction::Forward, Kind::BGN).collect();
    assert_eq!((again.len(), again[1].at), (2, at(1_400)));
    let Chunk::Init(init) = &again[1].packet.chunks[0] else { panic!("an INIT") };
    assert_eq!(init.parameters, [Parameter::CookiePreservative(402)]);
    assert!(pair.client.was_told(Event::Connected) && pair.server.was_told(Event::Connected));
}

#[test]
fn two_ends_that_open_at_once_get_one_association() {
    let mut pair = pair(quiet()).sending(pattern(9_000)).answering(pattern(7_000));
    pair.both_open(quiet());
    pair.run_to(at(5_000));
    assert!(pair.server.inbox == pattern(9_000) && pair.client.inbox == pattern(7_000));
    for end in [&pair.client, &pair.server] {
        assert_eq!(end.association().state(), State::Established);
        assert!(!end.events.iter().any(|(_, event)| matches!(event, Event::Failed(_))));
    }
}

#[test]
fn of_two_openings_that_cross_one_is_enough() {
    let mut pair = pair(quiet()).sending(pattern(9_000)).with_script(|crossing| {
        let lost = crossing.direction == Direction::Return && crossing.has(Kind::BGNAK);
        if lost { Fate::Drop } else { Fate::Pass }
    });
    pair.both_open(quiet());
    // The client gets no answer to its INIT, only the COOKIE ECHO of the other opening.
    pair.run_to(at(450));
    assert_eq!(pair.client.association().state(), State::Established);
    pair.run_to(at(3_000));
    assert!(pair.server.inbox == pattern(9_000));
    assert_eq!(pair.server.association().state(), State::Established);
}

#[test]
fn a_peer_that_lost_everything_may_begin_anew() {
    let mut pair = open(quiet(), 1);
    send(&mut pair, Direction::Forward, 0, b"before");
    pair.run_to(at(1_000));
    pair.restart_client(quiet());
    pair.run_to(at(2_000));
    send(&mut pair, Direction::Forward, 0, b"after");
    pair.run_to(at(3_000));
    assert_eq!(pair.server.inbox, b"beforeafter");
    assert!(pair.server.notices.iter().any(|(_, notice)| *notice == Notice::Restarted));
    assert_eq!(pair.client.association().state(), State::Established);
}

#[test]
fn a_packet_with_a_wrong_tag_is_ignored_whatever_it_says() {
    let mut pair = pair(quiet());
    pair.run_to(at(500));
    let tag = client_tag(&pair);
    for chunk in [
        Chunk::Abort { reflected: false, causes: Vec::new() },
        Chunk::ShutdownComplete { reflected: true },
        Chunk::Shutdown(Default::default()),
    ] {
        give(&mut pair, from_server(tag ^ 1, chunk));
    }
    assert_eq!(pair.client.association().state(), State::Established);
    assert_eq!(pair.client.association().counters().ignored_segments, 3);
    give(&mut pair, from_server(tag, Chunk::Abort { reflected: false, causes: Vec::new() }));
    assert_eq!(pair.client.association().state(), State::Closed);
    assert!(pair.client.was_told(Event::Failed(Failure::PeerAborted(0))));
}

#[test]
fn before_the_peer_has_told_its_tag_nothing_that_reflects_one_is_believed() {
    let mut pair = pair(quiet()).with_script(|_| Fate::Drop);
    pair.run_to(at(100));
    give(&mut pair, from_server(0, Chunk::Abort { reflected: true, causes: Vec::new() }));
    assert_eq!(pair.client.association().state(), State::CookieWait);
    assert_eq!(pair.client.association().counters().ignored_segments, 1);
}

#[test]
fn an_init_ack_without_cookie_or_without_streams_ends_the_opening() {
    for (streams, cause) in [(1, 2), (0, 7)] {
        let mut pair = pair(quiet()).with_script(|_| Fate::Drop);
        pair.run_to(at(100));
        let tag = client_tag(&pair);
        let init = Init {
            tag: 77,
            window: 9_000,
            outbound_streams: streams,
            inbound_streams: 1,
            ..Init::default()
        };
        give(&mut pair, from_server(tag, Chunk::InitAck(Box::new(init))));
        let last = &pair.log.last().expect("an ABORT").packet;
        let Chunk::Abort { causes, .. } = &last.chunks[0] else { panic!("{last:?}") };
        assert_eq!((last.tag, causes[0].code()), (77, cause));
        assert!(pair.client.was_told(Event::Failed(Failure::PeerBrokeRules)));
    }
}

#[test]
fn chunks_that_are_not_known_are_skipped_or_not_and_reported_or_not() {
    for (kind, reported, goes_on) in
        [(0x3f, false, false), (0x7f, true, false), (0xbf, false, true), (0xff, true, true)]
    {
        let mut pair = pair(quiet());
        pair.run_to(at(500));
        let tag = client_tag(&pair);
        pair.log.clear();
        let unknown = UnknownChunk { kind, flags: 0, value: Bytes::from_static(b"abcd") };
        let mut packet = from_server(tag, Chunk::Unknown(unknown));
        packet.chunks.push(Chunk::Heartbeat(Bytes::from_static(b"still there?")));
        give(&mut pair, packet);
        let chunks: Vec<_> = pair.log.iter().flat_map(|c| c.packet.chunks.clone()).collect();
        let error = chunks.iter().any(|chunk| matches!(chunk, Chunk::Error(_)));
        let answer = chunks.iter().any(|chunk| matches!(chunk, Chunk::HeartbeatAck(_)));
        assert_eq!((error, answer), (reported, goes_on), "type {kind:#x}");
    }
}

#[test]
fn what_stands_behind_a_parameter_that_forbids_to_read_on_does_not_count() {
    let ecn = Config { ecn: true, ..quiet() };
    for (kind, agreed) in [(0x3f00, false), (0xbf00, true)] {
        let mut pair = pair(ecn.clone()).sending(pattern(9_000)).with_script(move |crossing| {
            if let Chunk::Init(init) = &mut crossing.packet.chunks[0] {
                let value = Bytes::from_static(b"abcd");
                init.parameters.insert(0, Parameter::Other { kind, value });
            }
            Fate::Pass
        });
        pair.run_to(at(2_000));
        assert!(pair.server.inbox == pattern(9_000));
        let marked =
            pair.sent(Direction::Forward, Kind::DATA).any(|c| c.packet.ecn != Ecn::NotCapable);
        // The client asked for ECN and the server offers it, so that only the server knows.
        assert!(marked);
        pair.server.outbox = pattern(9_000);
        pair.change(Direction::Return, |_, _| {});
        let back =
            pair.sent(Direction::Return, Kind::DATA).any(|c| c.packet.ecn != Ecn::NotCapable);
        assert_eq!(back, agreed, "type {kind:#x}");
    }
}

#[test]
fn streams_are_as_many_as_both_ends_allow() {
    let messages = Config { view: View::Messages, ..quiet() };
    let client = Config { outbound_streams: 20, inbound_streams: 3, ..messages.clone() };
    let server = Config { outbound_streams: 7, inbound_streams: 5, ..messages };
    let mut pair = SctpPair::new(client, server, &[ms(100)]).staying_open();
    pair.run_to(at(500));
    assert_eq!(pair.client.association().outbound_streams(), 5);
    assert_eq!(pair.server.association().outbound_streams(), 3);
    let bytes = || Bytes::from_static(b"x");
    pair.change(Direction::Forward, |association, _| {
        assert!(association.send(5, 0, false, bytes()).is_err());
        assert_eq!(association.send(4, 0, false, bytes()), Ok(()));
    });
    pair.run_to(at(1_000));
    assert_eq!(pair.server.messages.len(), 1);
}
