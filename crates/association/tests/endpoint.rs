//! Two endpoints in memory with their own clock: what one writes the other reads, whatever the network does.

mod world;

use std::task::{Context, Poll, Waker};

use bentpipe_association::endpoint::Streams as _;
use bentpipe_association::endpoint::{Endpoint, StreamError};
use bentpipe_association::{Fec, PublicKey, Security};
use bentpipe_testkit::pattern;
use bentpipe_transport::Failure;
use bentpipe_units::{Instant, Span};
use bentpipe_wire::Ecn;
use bytes::Bytes;
use proptest::prelude::*;

use world::{CLIENT, DELAY, SERVER, World, address, associated, config, endpoint, key, secs};

#[test]
fn the_handshakes_travel_together_and_data_leave_after_one_round_trip() {
    let mut world = World::new();
    let connection = world.connect();
    let data = pattern(500);
    let (read, last) = world.transfer(connection, &data, secs(10)).expect("a transfer");
    assert_eq!(read, data);
    assert_eq!(last, Instant::ZERO + DELAY * 3, "request, answer, data");
    world.run(secs(60));
    assert_eq!((world.endpoints[0].connections(), world.endpoints[1].connections()), (0, 0));
}

#[test]
fn a_second_connection_needs_no_handshake_of_the_hosts() {
    let mut world = World::new();
    let first = world.connect();
    world.transfer(first, &pattern(10), secs(10)).expect("a transfer");
    let before = world.sent.len();
    let second = world.connect();
    world.transfer(second, &pattern(10), secs(10)).expect("a transfer");
    assert!(world.sent[before..].iter().all(|(_, bytes)| bytes[0] == 4), "only data datagrams");
}

#[test]
fn between_associated_hosts_data_follow_the_opening_at_once() {
    let mut world = associated();
    let began = world.now;
    let connection = world.connect();
    let data = pattern(900);
    let (read, last) = world.transfer(connection, &data, secs(10)).expect("a transfer");
    assert_eq!(read, data);
    assert_eq!(last.since(began), DELAY, "no round trip before the data");
}

#[test]
fn data_whose_opening_was_lost_wait_for_the_next_one() {
    let mut world = associated();
    let mut lost = false;
    world.wire = Box::new(move |end, _| {
        let first = end == CLIENT && !std::mem::replace(&mut lost, true);
        if first { Vec::new() } else { vec![DELAY] }
    });
    let connection = world.connect();
    let data = pattern(5_000);
    let (read, _) = world.transfer(connection, &data, secs(20)).expect("a transfer");
    assert_eq!(read, data);
}

#[test]
fn a_connection_to_a_host_that_takes_none_is_refused_after_one_round_trip() {
    let mut world = associated();
    let to = world.addresses[CLIENT];
    let began = world.now;
    let connection = world.endpoints[SERVER].connect(world.now, to, key(1).public(), 7, config());
    let cx = &mut Context::from_waker(Waker::noop());
    while world.endpoints[SERVER].poll_connected(connection, cx).is_pending() {
        assert!(world.step(began + secs(10)), "an answer");
        world.pump();
    }
    let answer = world.endpoints[SERVER].poll_connected(connection, cx);
    assert!(matches!(answer, Poll::Ready(Err(StreamError::Failed(_)))), "{answer:?}");
    assert_eq!(world.now.since(began), DELAY * 2);
}

#[test]
fn a_plain_data_segment_costs_28_bytes_besides_ip_and_udp() {
    let mut world = World::new();
    world.endpoints[CLIENT].set_fec(Fec::Off);
    let connection = world.connect();
    world.transfer(connection, &pattern(100_000), secs(60)).expect("a transfer");
    let longest = world.sent.iter().filter(|(end, _)| *end == CLIENT).map(|(_, b)| b.len()).max();
    // A full segment of 1,000 bytes with a POLL of four.
    assert_eq!(longest, Some(1000 + 28 + 4));
    let plain = world.sent.iter().filter(|(end, b)| *end == CLIENT && b.len() == 1028).count();
    assert!(plain > 50, "{plain} plain data segments");
}

#[test]
fn unknown_keys_and_garbage_get_no_answer() {
    let mut world = World::new();
    let mut unknown = endpoint(9, 0);
    unknown.connect(Instant::ZERO, address(SERVER), key(2).public(), 7, config());
    unknown.flush(Instant::ZERO);
    let train = unknown.outbox().front(1).expect("a request").bytes.to_vec();
    world.endpoints[SERVER].handle_datagram(Instant::ZERO, address(5), Ecn::NotCapable, &train);
    for len in 0..200 {
        for kind in 0..6 {
            let mut garbage = vec![0xa5; len];
            if let Some(first) = garbage.first_mut() {
                *first = kind;
            }
            world.endpoints[SERVER].handle_datagram(
                Instant::ZERO,
                address(5),
                Ecn::NotCapable,
                &garbage,
            );
        }
    }
    world.endpoints[SERVER].flush(Instant::ZERO);
    assert!(world.endpoints[SERVER].outbox().is_empty());
    assert_eq!(world.endpoints[SERVER].connections(), 0);
}

#[test]
fn a_replayed_capture_changes_nothing() {
    let mut world = World::new();
    let connection = world.connect();
    let data = pattern(50_000);
    world.transfer(connection, &data, secs(30)).expect("a transfer");
    world.run(secs(60));
    let before = world.sent.len();
    for (end, bytes) in world.sent.clone() {
        let to = 1 - end;
        world.endpoints[to].handle_datagram(world.now, address(7), Ecn::NotCapable, &bytes);
    }
    world.pump();
    assert_eq!(world.sent.len(), before, "no answer to anything");
    assert_eq!(world.endpoints[SERVER].connections(), 0);
}

#[test]
fn connections_live_on_when_the_client_changes_its_address() {
    let mut world = World::new();
    let connection = world.connect();
    let data = pattern(300_000);
    let mut left = data.clone();
    let cx = &mut Context::from_waker(Waker::noop());
    assert!(world.endpoints[CLIENT].poll_write(world.now, connection, &mut left, cx).is_ready());
    world.run(Span::from_millis(2500));
    world.addresses[CLIENT] = address(77);
    let (read, _) = world.transfer(connection, &left, secs(60)).expect("a transfer");
    assert_eq!(read, data);
}

#[test]
fn a_host_that_was_restarted_is_found_out_and_can_be_reached_again() {
    let mut world = World::new();
    let connection = world.connect();
    let mut data = pattern(400_000);
    let cx = &mut Context::from_waker(Waker::noop());
    assert!(world.endpoints[CLIENT].poll_write(world.now, connection, &mut data, cx).is_ready());
    world.run(Span::from_millis(1500));
    world.endpoints[SERVER] = endpoint(2, 1);
    world.endpoints[SERVER].allow(key(1).public());
    world.endpoints[SERVER].listen(config());
    world.run(secs(12));
    match world.endpoints[CLIENT].poll_connected(connection, cx) {
        Poll::Ready(Err(StreamError::Failed(_))) => {}
        other => panic!("the client does not know: {other:?}"),
    }
    let again = world.connect();
    let data = pattern(1_000);
    assert_eq!(world.transfer(again, &data, secs(20)).expect("a transfer").0, data);
}

/// An endpoint that came up again where one of these ends was, so long after the time zero. Nobody can reach it yet.
fn restarted(end: usize) -> Endpoint {
    endpoint(end as u8 + 1, 2_000_000_000)
}

#[test]
fn a_host_that_leaves_ends_the_connections_of_its_peers_at_once_and_what_opens_waits_for_it() {
    // Of the two hosts each may be the one whose key is smaller.
    for (closer, stays) in [(SERVER, CLIENT), (CLIENT, SERVER)] {
        // Of what is said in parting two copies of three are lost.
        let mut lost = 0;
        let mut world = World::new().with_wire(move |end, bytes| {
            // DrainContext the two bytes are 23 of the association.
            let is_lost = end == closer && bytes.len() == 25 && lost < 2;
            lost += usize::from(is_lost);
            if is_lost { vec![] } else { vec![DELAY] }
        });
        let [of_closer, of_other] = [closer, stays].map(|end| key(end as u8 + 1).public());
        let let_in = |endpoint: &mut Endpoint| {
            endpoint.allow(of_other);
            endpoint.listen(config());
        };
        let_in(&mut world.endpoints[closer]);
        let to = world.addresses[closer];
        let connect = |world: &mut World| {
            world.endpoints[stays].connect(world.now, to, of_closer, 7, config())
        };
        let connection = connect(&mut world);
        let mut data = pattern(400_000);
        let cx = &mut Context::from_waker(Waker::noop());
        assert!(world.endpoints[stays].poll_write(world.now, connection, &mut data, cx).is_ready());
        world.run(Span::from_millis(1500));
        assert!(world.endpoints[closer].poll_accept(cx).is_ready());
        world.endpoints[closer].shut_down(world.now);
        world.pump();
        world.endpoints[closer] = restarted(closer);
        let opening = connect(&mut world);
        world.run(DELAY);
        let failed = world.endpoints[stays].poll_connected(connection, cx);
        assert_eq!(failed, Poll::Ready(Err(StreamError::Failed(Failure::PeerRestarted))));
        world.run(Span::from_secs(2));
        let_in(&mut world.endpoints[closer]);
        world.run(secs(12));
        let connected = world.endpoints[stays].poll_connected(opening, cx);
        assert!(matches!(connected, Poll::Ready(Ok(()))), "{closer} closed: {connected:?}");
    }
}

#[test]
fn a_host_that_asks_and_is_gone_before_it_uses_the_keys_keeps_nobody_from_reaching_it_later() {
    for (gone, stays) in [(SERVER, CLIENT), (CLIENT, SERVER)] {
        let mut world = World::new();
        let [of_gone, of_other] = [gone, stays].map(|end| key(end as u8 + 1).public());
        for (endpoint, other) in [(stays, of_gone), (gone, of_other)] {
            world.endpoints[endpoint].allow(other);
            world.endpoints[endpoint].listen(config());
        }
        let [at_gone, at_other] = [gone, stays].map(|end| world.addresses[end]);
        world.endpoints[gone].connect(world.now, at_other, of_other, 7, config());
        world.pump();
        world.endpoints[gone] = restarted(gone);
        world.run(DELAY);
        let opening = world.endpoints[stays].connect(world.now, at_gone, of_gone, 7, config());
        world.run(secs(1));
        world.endpoints[gone].allow(of_other);
        world.endpoints[gone].listen(config());
        world.run(secs(12));
        let cx = &mut Context::from_waker(Waker::noop());
        let connected = world.endpoints[stays].poll_connected(opening, cx);
        assert!(matches!(connected, Poll::Ready(Ok(()))), "{gone} was gone: {connected:?}");
    }
}

#[test]
fn a_client_that_was_restarted_is_not_taken_for_the_one_before() {
    let mut world = World::new();
    let connection = world.connect();
    let cx = &mut Context::from_waker(Waker::noop());
    let mut data = pattern(400_000);
    assert!(world.endpoints[CLIENT].poll_write(world.now, connection, &mut data, cx).is_ready());
    world.run(Span::from_millis(1500));
    let Poll::Ready(before) = world.endpoints[SERVER].poll_accept(cx) else {
        panic!("a connection")
    };
    let mut reply = pattern(400_000);
    assert!(world.endpoints[SERVER].poll_write(world.now, before, &mut reply, cx).is_ready());
    // Its clock goes on, and its connections get the numbers of those before.
    world.endpoints[CLIENT] = endpoint(1, 1);
    let again = world.connect();
    let data = pattern(300_000);
    assert_eq!(world.transfer(again, &data, secs(30)).expect("a transfer").0, data);
    // What came of the first one is its own, and has no end.
    let mut read = Vec::new();
    let ended = loop {
        match world.endpoints[SERVER].poll_read(world.now, before, cx) {
            Poll::Ready(Ok(Some(bytes))) => read.extend(bytes),
            other => break other,
        }
    };
    assert_eq!(ended, Poll::Ready(Err(StreamError::Failed(Failure::PeerRestarted))));
    assert!(!read.is_empty() && pattern(400_000).starts_with(&read), "{}", read.len());
}

#[test]
fn connections_that_both_hosts_open_at_once_are_not_mixed_up() {
    let mut world = World::new();
    world.endpoints[CLIENT].allow(key(2).public());
    world.endpoints[CLIENT].listen(config());
    let first = world.connect();
    let to = world.addresses[CLIENT];
    let second =
        world.endpoints[SERVER].connect(world.now, to, key(1).public(), 7, world.config.clone());
    let cx = &mut Context::from_waker(Waker::noop());
    for (end, id, said) in [(CLIENT, first, &b"client"[..]), (SERVER, second, b"server")] {
        let mut data = Bytes::from_static(said);
        assert!(world.endpoints[end].poll_write(world.now, id, &mut data, cx).is_ready());
    }
    world.run(secs(10));
    for (end, said) in [(SERVER, &b"client"[..]), (CLIENT, b"server")] {
        let Poll::Ready(id) = world.endpoints[end].poll_accept(cx) else { panic!("a connection") };
        let read = world.endpoints[end].poll_read(world.now, id, cx);
        assert_eq!(read, Poll::Ready(Ok(Some(Bytes::from_static(said)))));
    }
}

#[test]
fn without_encryption_everybody_can_read_and_nobody_can_forge() {
    let mut world = World::of([Security::None; 2]);
    let data = pattern(3_000);
    let mut forged = 0;
    world.wire = Box::new(move |_, bytes| {
        forged += 1;
        let mut delays = vec![DELAY];
        // Every fifth datagram is changed on the path, and only its checksum could tell.
        if forged % 5 == 0 {
            let last = bytes.len() - 20;
            bytes[last] ^= 1;
            delays.push(DELAY);
        }
        delays
    });
    let connection = world.connect();
    let (read, _) = world.transfer(connection, &data, secs(60)).expect("a transfer");
    assert_eq!(read, data);
    let shown =
        |part: &[u8]| world.sent.iter().any(|(_, b)| b.windows(part.len()).any(|w| w == part));
    assert!(shown(&data[..500]), "the text itself is on the path");
}

#[test]
fn hosts_that_do_not_name_the_same_security_do_not_hear_each_other() {
    for securities in [[Security::None, Security::Full], [Security::Full, Security::None]] {
        let mut world = World::of(securities);
        world.connect();
        world.run(secs(20));
        assert!(world.sent.iter().all(|(end, _)| *end == CLIENT), "no answer");
        assert_eq!(world.endpoints[SERVER].connections(), 0);
    }
}

#[test]
fn keys_are_renewed_during_a_long_transfer() {
    let mut world = World::new();
    let connection = world.connect();
    let cx = &mut Context::from_waker(Waker::noop());
    let data = pattern(2_000);
    for _ in 0..40 {
        let mut part = data.clone();
        assert!(
            world.endpoints[CLIENT].poll_write(world.now, connection, &mut part, cx).is_ready()
        );
        world.run(secs(10));
    }
    let requests = world.sent.iter().filter(|(end, b)| *end == CLIENT && b[0] == 1).count();
    assert!((3..=5).contains(&requests), "{requests} requests in 400 s");
    let (read, _) = world.transfer(connection, &data, secs(60)).expect("a transfer");
    assert_eq!(read.len(), 82_000);
}

#[test]
fn under_a_flood_of_requests_a_known_peer_still_gets_in_with_a_cookie() {
    let mut world = World::new();
    for n in 0..2_000u64 {
        let mut flooder = endpoint(9, n);
        flooder.connect(Instant::ZERO, address(SERVER), key(2).public(), 7, config());
        flooder.flush(Instant::ZERO);
        let request = flooder.outbox().front(1).expect("a request").bytes.to_vec();
        world.endpoints[SERVER].handle_datagram(
            Instant::ZERO,
            address(5),
            Ecn::NotCapable,
            &request,
        );
    }
    while let Some(train) = world.endpoints[SERVER].outbox().front(1) {
        let len = train.bytes.len();
        assert!(train.bytes[0] == 3 && len < 60, "cookies are all that unknown peers get");
        world.endpoints[SERVER].outbox().pop(len);
    }
    // The flood goes on, so that the server asks the client for a cookie, too.
    let connection = world.connect();
    world.now = Instant::ZERO + Span::from_millis(1);
    let data = pattern(100);
    world.pump();
    for n in 0..300u64 {
        let mut flooder = endpoint(9, n);
        flooder.connect(Instant::ZERO, address(SERVER), key(2).public(), 7, config());
        flooder.flush(Instant::ZERO);
        let request = flooder.outbox().front(1).expect("a request").bytes.to_vec();
        world.endpoints[SERVER].handle_datagram(
            Instant::ZERO + DELAY,
            address(5),
            Ecn::NotCapable,
            &request,
        );
    }
    assert_eq!(world.transfer(connection, &data, secs(20)).expect("a transfer").0, data);
    let cookies = world.sent.iter().filter(|(end, b)| *end == SERVER && b[0] == 3);
    assert!(cookies.count() > 0, "the client was asked for a cookie");
}

#[test]
fn ten_connections_share_one_association() {
    let mut world = World::new();
    let connections: Vec<_> = (0..10).map(|_| world.connect()).collect();
    for connection in connections {
        let data = pattern(3_000);
        // Each is accepted in its turn.
        assert_eq!(world.transfer(connection, &data, secs(30)).expect("a transfer").0.len(), 3_000);
    }
    let requests = world.sent.iter().filter(|(_, bytes)| bytes[0] == 1).count();
    assert_eq!(requests, 1);
}

#[test]
fn a_public_key_is_shown_and_read_as_text() {
    let public = key(3).public();
    assert_eq!(public.to_string().parse::<PublicKey>(), Ok(public));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn what_is_read_is_what_was_written_over_any_network(
        seed in any::<u64>(),
        loss in 0u64..30,
        twice in 0u64..20,
        late in 0u64..20,
        flip in 0u64..10,
        size in 1usize..60_000,
        associated in any::<bool>(),
    ) {
        let mut state = seed | 1;
        let mut draw = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        let world = if associated { world::associated() } else { World::new() };
        let mut world = world.with_wire(move |_, bytes| {
            if draw() % 100 < loss {
                return Vec::new();
            }
            if draw() % 100 < flip {
                let at = draw() as usize % bytes.len();
                bytes[at] ^= 1 << (draw() % 8);
            }
            let delay = if draw() % 100 < late { DELAY * 2 } else { DELAY };
            if draw() % 100 < twice { vec![delay, delay * 2] } else { vec![delay] }
        });
        let connection = world.connect();
        let data = pattern(size);
        let (read, _) = world.transfer(connection, &data, secs(3_600)).expect("a transfer");
        prop_assert_eq!(read, data);
        world.run(secs(3_600));
        prop_assert_eq!(world.endpoints[CLIENT].connections(), 0);
        prop_assert_eq!(world.endpoints[SERVER].connections(), 0);
    }
}

#[test]
fn an_answer_that_takes_no_time_makes_no_polls_without_end() {
    let mut world = World::new().with_wire(|_, _| vec![Span::ZERO]);
    let connection = world.connect();
    let cx = &mut Context::from_waker(Waker::noop());
    for delay in [Span::ZERO, Span::from_millis(20)] {
        world.wire = Box::new(move |_, _| vec![delay]);
        let mut data = pattern(5_000);
        assert!(
            world.endpoints[CLIENT].poll_write(world.now, connection, &mut data, cx).is_ready()
        );
        let until = world.now + Span::from_millis(200);
        // POLLs are 100 µs apart at least.
        while world.step(until) {
            assert!(world.sent.len() < 6_000, "{} datagrams", world.sent.len());
        }
    }
}
