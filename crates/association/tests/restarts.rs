//! Hosts that end and come back, and datagrams that come late or twice: who is there is found out, and nobody else
//! ends anything.

mod world;

use std::net::SocketAddr;
use std::task::{Context, Poll, Waker};

use bentpipe_association::endpoint::{StreamError, Streams as _, Times};
use bentpipe_testkit::pattern;
use bentpipe_transport::Failure;
use bentpipe_units::Span;
use bentpipe_wire::Ecn;
use bytes::Bytes;

use world::{CLIENT, DELAY, SERVER, World, address, endpoint, endpoint_at, secs};

/// A connection over which the client writes, accepted by the server, which writes too.
fn busy(
    world: &mut World,
) -> (bentpipe_association::endpoint::ConnectionId, bentpipe_association::endpoint::ConnectionId) {
    let cx = &mut Context::from_waker(Waker::noop());
    let client = world.connect();
    let mut data = pattern(400_000);
    assert!(world.endpoints[CLIENT].poll_write(world.now, client, &mut data, cx).is_ready());
    world.run(Span::from_millis(1500));
    let Poll::Ready(server) = world.endpoints[SERVER].poll_accept(cx) else {
        panic!("a connection")
    };
    let mut data = pattern(400_000);
    assert!(world.endpoints[SERVER].poll_write(world.now, server, &mut data, cx).is_ready());
    (client, server)
}

/// Sends a kilobyte from the client and fails unless it arrives within this time.
fn arrives_within(world: &mut World, limit: Span) {
    let connection = world.connect();
    let data = pattern(1_000);
    let cx = &mut Context::from_waker(Waker::noop());
    // What others left waits before it.
    while world.endpoints[SERVER].poll_accept(cx).is_ready() {}
    assert_eq!(world.transfer(connection, &data, limit).expect("a transfer").0, data);
}

#[test]
fn a_client_that_returns_from_elsewhere_is_let_in_at_once_whatever_its_key_and_its_absence() {
    for absence in [1, 5, 30, 300] {
        for mut world in World::of_both_orders() {
            let (_, server) = busy(&mut world);
            // It is cut off without a word; what still flies to it is lost.
            world.addresses[CLIENT] = "10.9.9.9:4711".parse().expect("an address");
            world.restart(CLIENT);
            world.run(secs(absence));
            arrives_within(&mut world, secs(4));
            let cx = &mut Context::from_waker(Waker::noop());
            let ended = loop {
                match world.endpoints[SERVER].poll_read(world.now, server, cx) {
                    Poll::Ready(Ok(Some(_))) => {}
                    other => break other,
                }
            };
            let restarted = Poll::Ready(Err(StreamError::Failed(Failure::PeerRestarted)));
            let silent = Poll::Ready(Err(StreamError::Failed(Failure::NoResponse)));
            assert!(ended == restarted || ended == silent, "{ended:?} after {absence} s");
        }
    }
}

#[test]
fn a_server_that_returns_is_found_whatever_its_key_and_its_absence() {
    for absence in [1, 5, 30, 300] {
        for mut world in World::of_both_orders() {
            let _ = busy(&mut world);
            let at = world.addresses[SERVER];
            world.addresses[SERVER] = address(99);
            world.restart(SERVER);
            world.run(secs(absence));
            world.addresses[SERVER] = at;
            world.endpoints[CLIENT].flush(world.now);
            // Who has not heard of it yet finds it out by the next connection, which ends if the one of before may
            // have taken what it sent. A request is repeated every twelve seconds.
            let next = world.connect();
            let cx = &mut Context::from_waker(Waker::noop());
            let mut data = pattern(100);
            assert!(world.endpoints[CLIENT].poll_write(world.now, next, &mut data, cx).is_ready());
            world.run(secs(18));
            let became = world.endpoints[CLIENT].poll_connected(next, cx);
            let restarted = StreamError::Failed(Failure::PeerRestarted);
            assert!(became == Poll::Ready(Ok(())) || became == Poll::Ready(Err(restarted)));
            arrives_within(&mut world, secs(4));
        }
    }
}

#[test]
fn hosts_that_ask_each_other_at_once_agree_on_one_set_of_keys() {
    for mut world in World::of_both_orders() {
        world.let_in(CLIENT);
        let opened = [CLIENT, SERVER].map(|end| world.connect_from(end));
        let cx = &mut Context::from_waker(Waker::noop());
        for round in 0..60 {
            for (end, id) in [CLIENT, SERVER].into_iter().zip(opened) {
                let mut data = Bytes::from(vec![round; 100]);
                assert!(world.endpoints[end].poll_write(world.now, id, &mut data, cx).is_ready());
            }
            world.run(secs(10));
        }
        for (end, id) in [SERVER, CLIENT].into_iter().zip(opened) {
            let Poll::Ready(other) = world.endpoints[end].poll_accept(cx) else { panic!("none") };
            let mut read = 0;
            while let Poll::Ready(Ok(Some(bytes))) =
                world.endpoints[end].poll_read(world.now, other, cx)
            {
                read += bytes.len();
            }
            assert_eq!(read, 6_000);
            assert_eq!(world.endpoints[1 - end].poll_connected(id, cx), Poll::Ready(Ok(())));
        }
        // One renewal in two minutes, and no request because of silence.
        let requests = world.sent.iter().filter(|(_, bytes)| bytes[0] == 1).count();
        assert!(requests <= 2 + 6, "{requests} requests in ten minutes");
    }
}

/// Requests that an end has sent.
fn requests(world: &World, end: usize) -> Vec<Vec<u8>> {
    let all = world.sent.iter().filter(|(of, bytes)| *of == end && bytes[0] == 1);
    all.map(|(_, bytes)| bytes.clone()).collect()
}

#[test]
fn an_old_request_that_anybody_sends_ends_no_flow_and_forgets_nothing() {
    for mut world in World::of_both_orders() {
        world.let_in(CLIENT);
        // In an outage the server asks for keys, and nothing of it arrives: somebody has listened.
        let _ = busy(&mut world);
        world.wire = Box::new(|_, _| Vec::new());
        world.run(secs(20));
        let captured = requests(&world, SERVER);
        assert!(!captured.is_empty());
        world.wire = Box::new(|_, _| vec![DELAY]);
        // The server is started anew, and a new connection exists.
        world.restart(SERVER);
        world.run(secs(30));
        let connection = world.connect();
        world.run(secs(30));
        let sent = world.sent.len();
        let from: SocketAddr = "10.0.0.67:9".parse().expect("an address");
        for request in &captured {
            world.endpoints[CLIENT].handle_datagram(world.now, from, Ecn::NotCapable, request);
        }
        world.run(secs(60));
        let cx = &mut Context::from_waker(Waker::noop());
        assert_eq!(world.endpoints[CLIENT].poll_connected(connection, cx), Poll::Ready(Ok(())));
        assert!(requests(&world, CLIENT).len() <= 20 && world.sent.len() > sent);
        arrives_within(&mut world, secs(2));
    }
}

#[test]
fn times_that_were_kept_over_a_restart_refuse_requests_of_before() {
    let mut world = World::new();
    arrives_within(&mut world, secs(10));
    let captured = requests(&world, CLIENT);
    let times = world.endpoints[SERVER].times().clone();
    for kept in [false, true] {
        world.restart(SERVER);
        if kept {
            world.endpoints[SERVER].set_times(times.clone());
        }
        let before = world.sent.len();
        for request in &captured {
            world.endpoints[SERVER].handle_datagram(
                world.now,
                address(5),
                Ecn::NotCapable,
                request,
            );
        }
        world.pump();
        assert_eq!(world.sent.len() > before, !kept, "an answer without the times only");
        world.run(secs(60));
        if kept {
            // Without them a connection of before is there until nothing was heard of it for long.
            assert_eq!(world.endpoints[SERVER].connections(), 0);
        }
    }
}

#[test]
fn a_host_whose_calendar_went_back_is_heard_if_it_kept_its_times() {
    for kept in [false, true] {
        let mut world = World::new();
        world.endpoints[CLIENT] = endpoint(world.keys[CLIENT], 1 << 60);
        arrives_within(&mut world, secs(10));
        let times = world.endpoints[CLIENT].times().clone();
        world.run(secs(400));
        world.endpoints[CLIENT] = endpoint(world.keys[CLIENT], 1 << 59);
        if kept {
            world.endpoints[CLIENT].set_times(times);
        }
        let connection = world.connect();
        world.run(secs(30));
        let cx = &mut Context::from_waker(Waker::noop());
        let connected = world.endpoints[CLIENT].poll_connected(connection, cx);
        assert_eq!(connected.is_ready(), kept, "{connected:?}");
    }
}

#[test]
fn a_terminal_whose_restart_met_an_outage_leaves_a_hub_that_goes_on() {
    for mut world in World::of_both_orders() {
        let (_, held) = busy(&mut world);
        let cx = &mut Context::from_waker(Waker::noop());
        // The server's application still waits for something else and holds its connection.
        world.restart(CLIENT);
        let opening = world.connect();
        world.pump();
        world.run(DELAY);
        // The answer is lost, and everything else for half a minute.
        world.wire = Box::new(|_, _| Vec::new());
        world.run(secs(30));
        world.endpoints[SERVER].release(world.now, held);
        world.wire = Box::new(|_, _| vec![DELAY]);
        world.run(secs(30));
        let connected = world.endpoints[CLIENT].poll_connected(opening, cx);
        assert!(matches!(connected, Poll::Ready(Ok(()))), "{connected:?}");
        arrives_within(&mut world, secs(4));
    }
}

#[test]
fn a_peer_that_closes_while_its_connections_are_held_takes_nobody_with_it() {
    for mut world in World::of_both_orders() {
        let (_, held) = busy(&mut world);
        let owner = world.endpoints[SERVER].peer(held);
        world.endpoints[CLIENT].shut_down(world.now);
        world.pump();
        world.run(secs(1));
        // A request that is never confirmed.
        world.restart(CLIENT);
        world.connect();
        world.pump();
        world.run(DELAY);
        world.restart(CLIENT);
        world.run(secs(60));
        assert_eq!(world.endpoints[SERVER].peer(held), owner, "whose it was");
        world.endpoints[SERVER].release(world.now, held);
        world.run(secs(60));
        assert_eq!(world.endpoints[SERVER].connections(), 0);
        arrives_within(&mut world, secs(4));
    }
}

#[test]
fn a_copy_from_elsewhere_leads_no_data_there() {
    let mut world = World::new();
    let connection = world.connect();
    let cx = &mut Context::from_waker(Waker::noop());
    let mut reply = pattern(400_000);
    world.run(secs(2));
    let Poll::Ready(server) = world.endpoints[SERVER].poll_accept(cx) else {
        panic!("a connection")
    };
    let _ = world.endpoints[SERVER].poll_write(world.now, server, &mut reply, cx);
    world.run(secs(2));
    // The newest datagram of the client arrives from another address first.
    world.run(secs(20));
    let mut data = pattern(100);
    let _ = world.endpoints[CLIENT].poll_write(world.now, connection, &mut data, cx);
    world.endpoints[CLIENT].changed(connection);
    // It is paced.
    while world.endpoints[CLIENT].outbox().is_empty() {
        world.now += Span::from_millis(1);
        world.endpoints[CLIENT].handle_timeout(world.now);
        world.endpoints[CLIENT].flush(world.now);
    }
    let newest = world.endpoints[CLIENT].outbox().front(1).expect("a datagram").bytes.to_vec();
    let elsewhere = address(66);
    world.endpoints[SERVER].handle_datagram(world.now, elsewhere, Ecn::NotCapable, &newest);
    let mut led_there = Vec::new();
    let until = world.now + secs(20);
    while world.now < until {
        for end in [CLIENT, SERVER] {
            world.endpoints[end].handle_timeout(world.now);
            world.endpoints[end].flush(world.now);
        }
        while let Some(train) = world.endpoints[SERVER].outbox().front(1) {
            let (to, len) = (train.route.address, train.bytes.len());
            if to == elsewhere {
                led_there.push(len);
            }
            world.endpoints[SERVER].outbox().pop(len);
        }
        world.now += Span::from_millis(10);
    }
    assert!(led_there.len() <= 2 && led_there.iter().all(|len| *len < 50), "{led_there:?}");
}

#[test]
fn keys_are_not_used_after_three_minutes() {
    let mut world = World::new();
    arrives_within(&mut world, secs(10));
    world.run(secs(10));
    // Nothing is open, so that nobody renews them.
    let captured = world.sent.iter().rev().find(|(end, bytes)| *end == CLIENT && bytes[0] == 4);
    assert!(captured.is_some());
    world.run(secs(200));
    let before = requests(&world, CLIENT).len();
    arrives_within(&mut world, secs(10));
    assert_eq!(requests(&world, CLIENT).len(), before + 1, "new keys");
}

#[test]
fn keys_end_where_every_renewal_is_lost() {
    let mut world = World::new();
    // Requests and answers are in clear: whoever drops them would keep the same keys for ever.
    let connection = world.connect();
    world.run(secs(2));
    world.wire = Box::new(|_, bytes| if bytes[0] == 4 { vec![DELAY] } else { vec![] });
    let cx = &mut Context::from_waker(Waker::noop());
    for _ in 0..40 {
        let mut data = pattern(100);
        let _ = world.endpoints[CLIENT].poll_write(world.now, connection, &mut data, cx);
        world.run(secs(10));
    }
    let from = world.sent.len();
    for _ in 0..10 {
        let mut data = pattern(100);
        let _ = world.endpoints[CLIENT].poll_write(world.now, connection, &mut data, cx);
        world.run(secs(5));
    }
    assert!(world.sent[from..].iter().all(|(_, bytes)| bytes[0] == 1), "only requests");
}

/// A request of the client, with a connection in it, after which both hosts were started anew.
fn captured_before_restarts(world: &mut World) -> Vec<u8> {
    world.let_in(CLIENT);
    let _ = world.connect();
    world.pump();
    let captured = requests(world, CLIENT).swap_remove(0);
    world.in_flight.clear();
    world.restart(CLIENT);
    world.restart(SERVER);
    captured
}

#[test]
fn what_a_captured_request_opened_is_nobodys_once_the_peer_has_answered_in_a_later_epoch() {
    for mut world in World::of_both_orders() {
        let captured = captured_before_restarts(&mut world);
        let from = world.addresses[CLIENT];
        world.endpoints[SERVER].handle_datagram(world.now, from, Ecn::NotCapable, &captured);
        let connection = world.connect_from(SERVER);
        world.run(secs(30));
        let cx = &mut Context::from_waker(Waker::noop());
        assert_eq!(world.endpoints[SERVER].poll_connected(connection, cx), Poll::Ready(Ok(())));
        assert_eq!(world.endpoints[SERVER].poll_accept(cx), Poll::Pending);
        arrives_within(&mut world, secs(4));
    }
}

#[test]
fn a_captured_request_from_elsewhere_leads_nobody_away_from_where_the_peer_is_said_to_be() {
    for mut world in World::of_both_orders() {
        let captured = captured_before_restarts(&mut world);
        // Nobody is there, or it is the server itself.
        let from: SocketAddr = "10.0.0.67:9".parse().expect("an address");
        world.endpoints[SERVER].handle_datagram(world.now, from, Ecn::NotCapable, &captured);
        let connection = world.connect_from(SERVER);
        world.run(secs(10));
        let cx = &mut Context::from_waker(Waker::noop());
        assert_eq!(world.endpoints[SERVER].poll_connected(connection, cx), Poll::Ready(Ok(())));
    }
}

#[test]
fn a_peer_that_moved_and_came_home_again_is_found_at_home() {
    for mut world in World::of_both_orders() {
        let _ = busy(&mut world);
        // The server has another address for a while, and ends there.
        let home = world.addresses[SERVER];
        world.addresses[SERVER] = address(99);
        world.endpoints[SERVER].flush(world.now);
        let cx = &mut Context::from_waker(Waker::noop());
        let moved = world.endpoints[SERVER].connections();
        assert!(moved > 0);
        world.run(secs(30));
        world.addresses[SERVER] = home;
        world.restart(SERVER);
        let peer = world.peer_of(CLIENT);
        let again = world.endpoints[CLIENT].connect(world.now, home, peer, 7, world.config.clone());
        world.run(secs(40));
        assert_eq!(world.endpoints[CLIENT].poll_connected(again, cx), Poll::Ready(Ok(())));
    }
}

#[test]
fn what_one_process_of_the_peer_has_read_is_not_sent_to_the_next_one() {
    for mut world in World::of_both_orders() {
        arrives_within(&mut world, secs(10));
        // What the server answers is lost, so that nobody knows that it has read.
        world.wire = Box::new(|end, _| if end == SERVER { Vec::new() } else { vec![DELAY] });
        let connection = world.connect();
        let cx = &mut Context::from_waker(Waker::noop());
        let mut data = pattern(100);
        assert!(
            world.endpoints[CLIENT].poll_write(world.now, connection, &mut data, cx).is_ready()
        );
        world.run(secs(2));
        let Poll::Ready(first) = world.endpoints[SERVER].poll_accept(cx) else { panic!("none") };
        let read = world.endpoints[SERVER].poll_read(world.now, first, cx);
        assert!(matches!(read, Poll::Ready(Ok(Some(_)))), "{read:?}");
        world.restart(SERVER);
        world.wire = Box::new(|_, _| vec![DELAY]);
        world.run(secs(60));
        assert_eq!(world.endpoints[SERVER].poll_accept(cx), Poll::Pending);
        let failed = world.endpoints[CLIENT].poll_connected(connection, cx);
        let restarted = StreamError::Failed(Failure::PeerRestarted);
        assert_eq!(failed, Poll::Ready(Err(restarted)));
    }
}

#[test]
fn a_request_to_open_that_is_repeated_after_its_connection_has_ended_opens_no_other() {
    // The longer outage outlives all keys and the association.
    for outage in [2, 600] {
        for mut world in World::of_both_orders() {
            arrives_within(&mut world, secs(10));
            world.wire = Box::new(|end, _| if end == SERVER { Vec::new() } else { vec![DELAY] });
            let connection = world.connect();
            let cx = &mut Context::from_waker(Waker::noop());
            let mut data = pattern(100);
            assert!(
                world.endpoints[CLIENT].poll_write(world.now, connection, &mut data, cx).is_ready()
            );
            world.run(secs(2));
            let Poll::Ready(first) = world.endpoints[SERVER].poll_accept(cx) else {
                panic!("none")
            };
            let read = world.endpoints[SERVER].poll_read(world.now, first, cx);
            assert!(matches!(read, Poll::Ready(Ok(Some(_)))), "{read:?}");
            // The application has seen enough, and nobody hears of it.
            world.endpoints[SERVER].release(world.now, first);
            world.wire = Box::new(|_, _| Vec::new());
            world.run(secs(outage));
            world.wire = Box::new(|_, _| vec![DELAY]);
            world.run(secs(60));
            assert_eq!(
                world.endpoints[SERVER].poll_accept(cx),
                Poll::Pending,
                "outage of {outage} s"
            );
            let connected = world.endpoints[CLIENT].poll_connected(connection, cx);
            assert!(connected.is_ready(), "after an outage of {outage} s nobody waits any more");
            world.endpoints[CLIENT].release(world.now, connection);
            world.run(secs(60));
            assert_eq!(
                world.endpoints[CLIENT].connections() + world.endpoints[SERVER].connections(),
                0
            );
            arrives_within(&mut world, secs(10));
        }
    }
}

/// The calendar of a host is behind what it kept; it crashes, and begins again from what was kept at its first
/// start, or from what was there before it, where nothing can be written.
#[test]
fn of_two_processes_that_begin_from_the_same_times_the_second_reads_nothing_that_the_first_has_read()
 {
    for writes in [true, false] {
        for mut world in World::of_both_orders() {
            let before = Times::new([], 1 << 50);
            world.endpoints[SERVER].set_times(before.clone());
            let kept = if writes { world.endpoints[SERVER].times().clone() } else { before };
            arrives_within(&mut world, secs(10));
            world.wire = Box::new(|end, _| if end == SERVER { Vec::new() } else { vec![DELAY] });
            let connection = world.connect();
            let cx = &mut Context::from_waker(Waker::noop());
            let mut data = pattern(100);
            assert!(
                world.endpoints[CLIENT].poll_write(world.now, connection, &mut data, cx).is_ready()
            );
            world.run(secs(2));
            let Poll::Ready(first) = world.endpoints[SERVER].poll_accept(cx) else {
                panic!("none")
            };
            assert!(world.endpoints[SERVER].poll_read(world.now, first, cx).is_ready());
            world.restart(SERVER);
            world.endpoints[SERVER].set_times(kept);
            world.wire = Box::new(|_, _| vec![DELAY]);
            world.run(secs(60));
            assert_eq!(world.endpoints[SERVER].poll_accept(cx), Poll::Pending);
            if writes {
                arrives_within(&mut world, secs(10));
            }
        }
    }
}

#[test]
fn a_host_that_crashed_is_heard_though_its_calendar_is_before_its_last_start() {
    const SECOND: u64 = 1_000_000_000;
    const START: u64 = 1 << 60;
    for back in [0, 30, 70] {
        for mut world in World::of_both_orders() {
            world.endpoints[CLIENT] = endpoint(world.keys[CLIENT], START);
            world.endpoints[CLIENT].set_times(Times::new([], START - 100 * SECOND));
            let kept = world.endpoints[CLIENT].times().clone();
            arrives_within(&mut world, secs(10));
            world.run(secs(40));
            // It crashes, and comes back with a calendar that is so far behind.
            let calendar = START - back * SECOND;
            world.endpoints[CLIENT] = endpoint_at(world.keys[CLIENT], calendar, world.now);
            world.endpoints[CLIENT].set_times(kept);
            let connection = world.connect();
            world.run(secs(10));
            let cx = &mut Context::from_waker(Waker::noop());
            let connected = world.endpoints[CLIENT].poll_connected(connection, cx);
            assert!(matches!(connected, Poll::Ready(Ok(()))), "{back} s: {connected:?}");
        }
    }
}
