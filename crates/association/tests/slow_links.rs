//! Dedicated links so slow that a datagram takes longer than the path.

mod world;

use std::task::{Context, Poll, Waker};

use bentpipe_association::endpoint::{ConnectionId, Share, Streams as _};
use bentpipe_testkit::pattern;
use bentpipe_units::{BitRate, Span};

use world::{CLIENT, DELAY, SERVER, World, associated, key, secs};

/// A datagram of 1,500 bytes takes 0.6 s.
const SLOW: BitRate = BitRate::from_bps(20_000);

/// Hosts that know the rate of the link between them, and a connection.
fn slow(rate: BitRate) -> (World, [ConnectionId; 2]) {
    let mut world = associated();
    let client = world.connect();
    world.run(secs(5));
    let cx = &mut Context::from_waker(Waker::noop());
    let mut server = None;
    while let Poll::Ready(id) = world.endpoints[SERVER].poll_accept(cx) {
        server = Some(id);
    }
    let server = server.expect("a connection");
    for end in [CLIENT, SERVER] {
        let (now, peer) = (world.now, key(2 - end as u8).public());
        world.endpoints[end].set_rate(now, 0, rate);
        world.endpoints[end].set_share(now, 0, peer, Share { rate, weight: 1 });
    }
    (world, [client, server])
}

/// Both ends write and read for so long.
fn both_write(world: &mut World, ids: [ConnectionId; 2], span: Span) {
    let cx = &mut Context::from_waker(Waker::noop());
    let mut left = [pattern(10_000_000), pattern(10_000_000)];
    let until = world.now + span;
    loop {
        for end in [CLIENT, SERVER] {
            let (id, now) = (ids[end], world.now);
            while !left[end].is_empty()
                && let Poll::Ready(written) =
                    world.endpoints[end].poll_write(now, id, &mut left[end], cx)
            {
                assert!(written.expect("it is open") > 0);
            }
            while let Poll::Ready(Ok(Some(_))) = world.endpoints[end].poll_read(now, id, cx) {
                world.endpoints[end].was_read(id);
            }
        }
        if !world.step(until) {
            return;
        }
    }
}

#[test]
fn answers_do_not_wait_behind_data_so_that_round_trips_are_the_paths() {
    let (mut world, ids) = slow(SLOW);
    both_write(&mut world, ids, secs(60));
    for end in [CLIENT, SERVER] {
        let (state, _) = world.endpoints[end].state(ids[end]);
        let srtt = state.srtt.expect("measured");
        assert!(srtt < DELAY * 2 + Span::from_millis(50), "{srtt:?}");
    }
}
