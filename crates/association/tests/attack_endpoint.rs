//! What a peer with a valid key tries against an endpoint: each test fails where a promise is broken.

mod attack;

use attack::{World, begin, config, report};
use bentpipe_units::{Seq32, Span};
use bentpipe_wire::xstp::Body;
use bytes::Bytes;

const GB: u64 = 1_000_000_000;

/// Opens a connection and has the endpoint send so much over it with segments of this length. Returns its number and
/// the first number of the endpoint.
fn sending(world: &mut World, n: u32, mss: u16, bytes: usize) -> (u32, u32) {
    let number = world.number(n);
    world.say(&begin(number, mss));
    world.flush(true);
    let isn = world
        .segments(Seq32::default())
        .into_iter()
        .find_map(|(_, segment)| {
            matches!(segment.body, Body::BeginAck(_)).then_some(segment.seq.get())
        })
        .expect("an answer");
    let id = *world.held.last().expect("a connection");
    let mut left = Bytes::from(vec![7; bytes]);
    world.write(id, &mut left);
    bentpipe_association::endpoint::Streams::changed(&mut world.endpoint, id);
    (number, isn)
}

/// The latest POLL and one more than the highest number that was sent.
fn polls(world: &mut World, near: &mut u32) -> Option<u32> {
    let mut poll = None;
    for (_, segment) in world.segments(Seq32::new(*near)) {
        let carries = u32::from(segment.payload_len() > 0);
        let end = segment.seq.plus(carries);
        if end.is_after(Seq32::new(*near)) {
            *near = end.get();
        }
        if let Body::Flow(flow) = &segment.body
            && flow.poll.is_some()
        {
            poll = flow.poll;
        }
    }
    poll
}

/// A peer makes the endpoint believe in a round trip of (nearly) nothing and falls silent: how much does the
/// endpoint say, and how often does it wake up, in the second that follows?
fn polls_after(round_trip: Span) -> (u64, u64) {
    let mut world = World::new(config(), GB, 10_000);
    let (number, isn) = sending(&mut world, 0, 1_400, 900_000);
    let mut near = isn;
    for _ in 0..20 {
        world.flush(true);
        for _ in 0..1_000 {
            if let Some(poll) = polls(&mut world, &mut near) {
                world.now += round_trip;
                world.say(&report(number, Some(poll), isn, u16::MAX, &[]));
                world.flush(true);
                break;
            }
            let Some(next) = world.endpoint.next_deadline() else { break };
            world.now = world.now.max(next);
            world.endpoint.handle_timeout(world.now);
            world.flush(true);
        }
    }
    let before = world.sent;
    let turns = world.run(Span::from_secs(1), false);
    (world.sent - before, turns)
}

#[test]
fn a_round_trip_of_nothing_and_then_silence_makes_no_storm_of_polls() {
    for round_trip in
        [Span::from_millis(10), Span::from_micros(100), Span::from_micros(10), Span::ZERO]
    {
        let (sent, turns) = polls_after(round_trip);
        assert!(turns < 20_000, "{turns} turns, {sent} datagrams after {round_trip:?}");
    }
}

/// The peer is far away and reads nothing that it is sent: every 100 us it says that it answers a POLL of just now.
#[test]
fn a_peer_that_guesses_polls_makes_no_storm_of_them() {
    let mut world = World::new(config(), GB, 10_000);
    let (number, isn) = sending(&mut world, 0, 1_400, 900_000);
    let mut said = 0u64;
    // A second and a half, unless the storm begins before.
    for _ in 0..15_000 {
        world.run(Span::from_micros(100), false);
        // No clock stands still.
        world.now += Span::from_micros(20);
        let tick = (world.now.as_nanos() / 100_000) as u32;
        for echo in [tick.wrapping_sub(1), tick] {
            let plain = report(number, Some(echo), isn, u16::MAX, &[]);
            said += plain.len() as u64 + 23;
            world.say(&plain);
        }
        if world.sent > 20_000 {
            break;
        }
    }
    let (before, after) = (world.sent, world.now);
    // Now it is silent.
    let _ = world.run(Span::from_millis(100), false);
    let sent = world.sent - before;
    assert!(sent < 2_000, "{said} bytes said until {after}; then {sent} datagrams in 100 ms");
}

#[test]
fn a_flood_of_datagrams_that_ask_for_answers_is_answered_with_no_more_than_came() {
    let mut world = World::new(config(), GB, 10_000);
    let mut said = 0u64;
    let mut serial = 0u32;
    for n in 0..1_000u32 {
        // From everywhere, as somebody who lies about his address.
        world.from = std::net::SocketAddr::from(([10, 1, (n >> 8) as u8, n as u8], 1));
        serial += 1;
        let plain = match n % 4 {
            0 => [&[0, 10, (n % 4) as u8, 0][..], &serial.to_be_bytes(), &[0, 1]].concat(),
            1 => [&[0, 14][..], &7u64.to_be_bytes()].concat(),
            2 => vec![0, 4],
            _ => Vec::new(),
        };
        let out = world.seal(&plain);
        said += out.len() as u64;
        world.hand(&out);
        world.now += Span::from_millis(10);
        let now = world.now;
        world.endpoint.handle_timeout(now);
        world.flush(false);
    }
    world.run(Span::from_secs(10), false);
    assert!(world.sent_bytes <= 3 * said);
}

/// A probe from a victim's address, after which the peer is silent and the endpoint asks where it is.
#[test]
fn an_address_that_nobody_has_proved_is_not_asked_for_the_peer() {
    let mut world = World::new(config(), 20_000_000, 100);
    let number = world.number(0);
    world.say(&begin(number, 1_000));
    world.flush(false);
    let (own, victim) = (world.from, attack::address(66));
    world.from = victim;
    // Path 3, link 0, number 1, path to use 0, those that work 1.
    world.say(&[0, 10, 3, 0, 0, 0, 0, 1, 0, 1]);
    world.from = own;
    let (mut datagrams, mut bytes) = (0, 0);
    let until = world.now + Span::from_secs(290);
    loop {
        let now = world.now;
        world.endpoint.flush(now);
        while let Some(train) = world.endpoint.outbox().front(1) {
            let (to, len) = (train.route.address, train.bytes.len());
            world.endpoint.outbox().pop(len);
            if to == victim {
                (datagrams, bytes) = (datagrams + 1, bytes + len);
            }
        }
        let Some(next) = world.endpoint.next_deadline().filter(|next| *next <= until) else {
            break;
        };
        world.now = world.now.max(next);
        let now = world.now;
        world.endpoint.handle_timeout(now);
    }
    // The answer and two challenges, for a datagram of 33 bytes.
    assert!(datagrams <= 3 && bytes < 3 * 33, "{datagrams} datagrams of {bytes} bytes");
}
