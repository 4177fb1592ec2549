//! What the connections of one peer hold together, when readers and networks stand still.

mod world;

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bentpipe_association::endpoint::{ConnectionId, Endpoint, Kept, Streams as _};
use bentpipe_testkit::pattern;
use bentpipe_transport::xstp::Config;
use bentpipe_units::{ByteCount, Span};
use bytes::Bytes;
use proptest::prelude::*;

use world::{CLIENT, DELAY, SERVER, World, config, key, secs};

/// Of all connections of a peer, and how many there are.
const LIMIT: ByteCount = ByteCount::new(400_000);
/// A good part of the half that is for whoever needs it.
const HALF: ByteCount = ByteCount::new(140_000);
const CONNECTIONS: usize = 10;
/// What each writes: all of them much more than is allowed.
const EACH: usize = 200_000;

/// A connection at both ends, and how far it is.
struct Pair {
    client: ConnectionId,
    server: Option<ConnectionId>,
    /// What is still to be written: a byte that tells it from others, then the pattern.
    left: Bytes,
    read: Vec<u8>,
    ended: bool,
}

/// Hosts of which this one is limited, with connections that write from the client to the server.
fn limited(end: usize) -> (World, Vec<Pair>) {
    let mut world = World::new().with_config(Arc::new(Config {
        // Nothing but the memory ends a connection or bounds it.
        rcv_buf: ByteCount::new(EACH as u64),
        snd_buf: ByteCount::new(EACH as u64),
        // Of a fifth and more of all datagrams several signs of life in a row are lost now and then.
        keepalive: Span::ZERO,
        ..(*config()).clone()
    }));
    world.endpoints[end].limit_memory(LIMIT, CONNECTIONS);
    let pairs = (0..CONNECTIONS).map(|n| Pair {
        client: world.connect(),
        server: None,
        left: [&[n as u8][..], &pattern(EACH)].concat().into(),
        read: Vec::new(),
        ended: false,
    });
    let pairs = pairs.collect();
    (world, pairs)
}

/// Lets time pass, and at the server reads those connections for which `reads` says so. The limited host holds no more
/// than it may at any time, but for the segment that each reader waits for.
fn pass(
    world: &mut World,
    end: usize,
    pairs: &mut [Pair],
    span: Span,
    reads: impl Fn(usize) -> bool,
) {
    let cx = &mut Context::from_waker(Waker::noop());
    let until = world.now + span;
    let most = LIMIT + ByteCount::new(1000) * CONNECTIONS as u64;
    let peer = key(2 - end as u8).public();
    loop {
        for pair in &mut *pairs {
            let endpoint = &mut world.endpoints[CLIENT];
            while !pair.left.is_empty()
                && endpoint.poll_write(world.now, pair.client, &mut pair.left, cx).is_ready()
            {
            }
            if pair.left.is_empty() {
                endpoint.close(world.now, pair.client);
            }
        }
        while let Poll::Ready(id) = world.endpoints[SERVER].poll_accept(cx) {
            let free = pairs.iter_mut().find(|pair| pair.server.is_none());
            free.expect("as many as were opened").server = Some(id);
        }
        for (n, pair) in pairs.iter_mut().enumerate() {
            let Some(id) = pair.server.filter(|_| !pair.ended && reads(n)) else { continue };
            while let Poll::Ready(bytes) = world.endpoints[SERVER].poll_read(world.now, id, cx) {
                world.endpoints[SERVER].was_read(id);
                let Some(bytes) = bytes.expect("no failure") else {
                    pair.ended = true;
                    break;
                };
                pair.read.extend_from_slice(&bytes);
            }
        }
        let held = world.endpoints[end].held(peer);
        assert!(held <= most, "{held:?}");
        if !world.step(until) {
            return;
        }
    }
}

/// Every byte of every connection has arrived.
fn check(pairs: &[Pair]) {
    let mut seen: Vec<u8> = pairs.iter().map(|pair| pair.read[0]).collect();
    seen.sort_unstable();
    assert!(seen.into_iter().eq(0..CONNECTIONS as u8));
    for pair in pairs {
        assert!(pair.ended && pair.read[1..] == pattern(EACH)[..], "{} bytes", pair.read.len());
    }
}

#[test]
fn readers_that_stand_still_hold_no_more_than_is_allowed_and_one_that_reads_goes_on() {
    let (mut world, mut pairs) = limited(SERVER);
    pass(&mut world, SERVER, &mut pairs, secs(120), |n| n == 3);
    assert!(pairs[3].ended && world.endpoints[SERVER].held(key(1).public()) > HALF);
    pass(&mut world, SERVER, &mut pairs, secs(600), |_| true);
    check(&pairs);
    assert!(
        world.endpoints[SERVER].held(key(1).public()) <= ByteCount::new(4_096) * CONNECTIONS as u64
    );
}

#[test]
fn writers_wait_while_nothing_is_acknowledged_and_go_on_afterwards() {
    let (mut world, mut pairs) = limited(CLIENT);
    pass(&mut world, CLIENT, &mut pairs, secs(5), |_| false);
    // From now on nothing arrives.
    world.wire = Box::new(|_, _| Vec::new());
    pass(&mut world, CLIENT, &mut pairs, secs(20), |_| false);
    let held = world.endpoints[CLIENT].held(key(2).public());
    let waiting = pairs.iter().filter(|pair| !pair.left.is_empty()).count();
    assert!(held > HALF && waiting > CONNECTIONS / 2, "{held:?}, {waiting} wait");
    world.wire = Box::new(|_, _| vec![DELAY]);
    pass(&mut world, CLIENT, &mut pairs, secs(600), |_| true);
    check(&pairs);
    assert!(
        world.endpoints[CLIENT].held(key(2).public()) <= ByteCount::new(4_096) * CONNECTIONS as u64
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn whoever_reads_when_and_whatever_is_lost_all_arrives(
        seed in any::<u64>(),
        lost in 0u64..30,
        readers in prop::collection::vec(any::<u16>(), 1..6),
    ) {
        for end in [CLIENT, SERVER] {
            let (world, mut pairs) = limited(end);
            let mut state = seed;
            let mut world = world.with_wire(move |_, _| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let is_lost = (state >> 33) % 100 < lost;
                if is_lost { Vec::new() } else { vec![DELAY + Span::from_millis(state >> 60)] }
            });
            for mask in &readers {
                pass(&mut world, end, &mut pairs, secs(20), |n| mask >> n & 1 == 1);
            }
            pass(&mut world, end, &mut pairs, secs(3_000), |_| true);
            check(&pairs);
        }
    }
}

#[test]
fn what_a_reader_leaves_lying_is_not_sent_again_and_again() {
    for flows in [1, 4] {
        let config = Config {
            snd_buf: ByteCount::new(8_000_000),
            rcv_buf: ByteCount::new(8_000_000),
            ..(*config()).clone()
        };
        let mut world = World::new().with_config(Arc::new(config));
        world.wire = Box::new(|_, _| vec![Span::from_millis(5)]);
        world.endpoints[SERVER].limit_memory(ByteCount::new(2_000_000), 16);
        let cx = &mut Context::from_waker(Waker::noop());
        let content = pattern(3_000_000);
        let connections: Vec<_> = (0..flows).map(|_| (world.connect(), content.clone())).collect();
        let mut left = connections;
        let write = |world: &mut World, left: &mut Vec<(ConnectionId, Bytes)>| {
            for (id, data) in left {
                while !data.is_empty()
                    && world.endpoints[CLIENT].poll_write(world.now, *id, data, cx).is_ready()
                {
                }
            }
        };
        for _ in 0..100 {
            write(&mut world, &mut left);
            world.run(Span::from_millis(100));
        }
        // Nobody has read anything for ten seconds.
        let sent = |world: &World| {
            let full = world.sent.iter().filter(|(end, bytes)| *end == CLIENT && bytes.len() > 500);
            full.map(|(_, bytes)| bytes.len() as u64).sum::<u64>()
        };
        let stalled = sent(&world);
        assert!(stalled < 3_000_000, "{flows}: {stalled} bytes for a room of 2 MB");
        // Then it reads all of it.
        let mut accepted = Vec::new();
        while let Poll::Ready(id) = world.endpoints[SERVER].poll_accept(cx) {
            accepted.push((id, Vec::new()));
        }
        for _ in 0..3_000 {
            write(&mut world, &mut left);
            for (id, read) in &mut accepted {
                while let Poll::Ready(Ok(Some(bytes))) =
                    world.endpoints[SERVER].poll_read(world.now, *id, cx)
                {
                    read.extend_from_slice(&bytes);
                }
                world.endpoints[SERVER].was_read(*id);
                world.endpoints[SERVER].changed(*id);
            }
            world.run(Span::from_millis(10));
        }
        assert_eq!(accepted.len(), flows);
        assert!(accepted.iter().all(|(_, read)| *read == content), "{flows}");
        let total = sent(&world);
        assert!(total < flows as u64 * 4_500_000, "{flows}: {total} bytes");
    }
}

#[test]
fn what_the_application_has_in_its_hands_counts_as_held() {
    let (mut world, pairs) = limited(CLIENT);
    world.run(secs(5));
    let (id, server) = (pairs[0].client, key(2).public());
    let endpoint = &mut world.endpoints[CLIENT];
    let before = endpoint.held(server);
    endpoint.keeps(id, Kept::Read(60_000));
    endpoint.keeps(id, Kept::Unwritten(20_000));
    assert_eq!(endpoint.held(server), before + ByteCount::new(80_000));
    // Another one has that much less.
    let cx = &mut Context::from_waker(Waker::noop());
    let room = |endpoint: &mut Endpoint| match endpoint.poll_room(pairs[1].client, cx) {
        Poll::Ready(room) => room,
        Poll::Pending => 0,
    };
    let less = room(endpoint);
    endpoint.keeps(id, Kept::Read(0));
    assert_eq!(room(endpoint), less + 60_000);
    endpoint.keeps(id, Kept::Unwritten(0));
    assert_eq!(endpoint.held(server), before);
}

#[test]
fn what_waits_to_be_written_finds_room_whatever_is_held() {
    let (mut world, pairs) = limited(CLIENT);
    world.run(secs(5));
    let cx = &mut Context::from_waker(Waker::noop());
    let endpoint = &mut world.endpoints[CLIENT];
    endpoint.keeps(pairs[0].client, Kept::Read(LIMIT.get() as usize));
    endpoint.keeps(pairs[1].client, Kept::Unwritten(50_000));
    assert_eq!(endpoint.poll_room(pairs[1].client, cx), Poll::Ready(50_000));
}
