//! What a peer with a valid key tries against a hub: each test fails where a promise is broken.

mod attack;

use std::time::Duration;

use attack::{World, begin, config, data, report};
use bentpipe_units::{Seq32, Span};
use bentpipe_wire::Ecn;
use bentpipe_wire::xstp::Body;
use bytes::Bytes;
use cpu_time::ThreadTime;

const GB: u64 = 1_000_000_000;

/// Processor time of this.
fn cost(what: impl FnOnce()) -> Duration {
    let before = ThreadTime::now();
    what();
    before.elapsed()
}

/// Opens a connection and has the hub send so much over it with segments of this length. Returns its number and the
/// first number of the hub.
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
    bentpipe_net::hub::Streams::changed(&mut world.hub, id);
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

/// A peer makes the hub believe in a round trip of (nearly) nothing and falls silent: how much does the hub say, and how
/// often does it wake up, in the second that follows?
fn polls_after(round_trip: Span) -> (u64, u64) {
    let mut world = World::new(config(), GB, 10_000);
    let (number, isn) = sending(&mut world, 0, 1_400, 900_000);
    let mut near = isn;
    for _ in 0..20 {
        world.flush(true);
        for _ in 0..1_000 {
            if let Some(poll) = polls(&mut world, &mut near) {
                world.now = world.now + round_trip;
                world.say(&report(number, Some(poll), isn, u16::MAX, &[]));
                world.flush(true);
                break;
            }
            let Some(next) = world.hub.next_deadline() else { break };
            world.now = world.now.max(next);
            world.hub.handle_timeout(world.now);
            world.flush(true);
        }
    }
    let before = world.sent;
    let turns = world.run(Span::from_secs(1), false);
    (world.sent - before, turns)
}

#[test]
fn a_round_trip_of_nothing_and_then_silence_makes_no_storm_of_polls() {
    for round_trip in [Span::from_millis(10), Span::from_micros(100), Span::from_micros(10), Span::ZERO]
    {
        let (sent, turns) = polls_after(round_trip);
        println!("round trip {round_trip:?}: {sent} datagrams in a second, {turns} turns");
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
        world.now = world.now + Span::from_micros(20);
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
    let spent = cost(|| {
        let _ = world.run(Span::from_millis(100), false);
    });
    let sent = world.sent - before;
    println!("{said} bytes said until {after}; {before} datagrams were sent; then {sent} in 100 ms of silence, {spent:?} of the processor");
    assert!(sent < 2_000, "{sent} datagrams in 100 ms");
}

#[test]
fn numbers_that_leap_cost_no_more_than_numbers_in_a_row() {
    let measure = |leap: usize| {
        let mut world = World::new(config(), GB, 10_000);
        world.say(&[0, 8]);
        let mut total = Duration::ZERO;
        for _ in 0..100 {
            world.skip(leap);
            let out = world.seal(&[0, 8]);
            total += cost(|| world.hand(&out));
        }
        total / 100
    };
    let (row, leaps) = (measure(0), measure(14_990));
    println!("in a row {row:?}, leaping {leaps:?} a datagram");
    assert!(leaps < row * 10, "in a row {row:?}, leaping {leaps:?} a datagram");
}

#[test]
fn one_parity_datagram_stops_the_hub_for_no_tenth_of_a_second() {
    let mut world = World::new(config(), GB, 10_000);
    world.say(&[0, 8]);
    let of = 14_000u16;
    // The first slot is there, one is missing, the rest is nothing at all.
    for n in 0..of {
        if n == 5 {
            world.skip(1);
        } else {
            world.say(&[0, 8]);
        }
    }
    let mut total = Duration::ZERO;
    // Two parity datagrams of three shards each: six for the four that are missing.
    for index in 0..2u16 {
        let mut plain = vec![0, 9];
        for field in [of, 1024, index] {
            plain.extend(field.to_be_bytes());
        }
        plain.push(4);
        plain.extend(7u64.to_be_bytes());
        plain.resize(plain.len() + 3 * 856, 3);
        let out = world.seal(&plain);
        let one = cost(|| world.hand(&out));
        total = total.max(one);
        println!("parity {index}: {one:?}");
    }
    assert!(total < Duration::from_millis(100), "{total:?} for a datagram");
}

#[test]
fn reports_about_many_segments_cost_little() {
    let mut world = World::new(config(), GB, 10_000);
    let (number, isn) = sending(&mut world, 0, 64, 1_000_000);
    let id = world.held[0];
    let mut near = isn;
    // Whatever is polled is acknowledged, and the window grows.
    for _ in 0..40 {
        world.run(Span::from_millis(20), true);
        if let Some(poll) = polls(&mut world, &mut near) {
            let upto = near;
            world.run(Span::from_millis(50), true);
            world.say(&report(number, Some(poll), upto, u16::MAX, &[]));
        }
        let mut more = Bytes::from(vec![7; 1_000_000]);
        world.write(id, &mut more);
        bentpipe_net::hub::Streams::changed(&mut world.hub, id);
    }
    // Nothing is acknowledged any more.
    let oldest = near;
    for _ in 0..50 {
        world.run(Span::from_millis(20), true);
        let _ = polls(&mut world, &mut near);
    }
    let outstanding = near.wrapping_sub(oldest);
    let gap = (outstanding.saturating_sub(1)).min(60_000) as u16;
    let ustat = report(number, None, oldest, u16::MAX, &[(0, gap)]);
    let (mut first, mut rest) = (Duration::ZERO, Duration::ZERO);
    for n in 0..200 {
        let out = world.seal(&ustat);
        let one = cost(|| {
            world.hand(&out);
            world.hub.flush(world.now);
        });
        if n == 0 { first = one } else { rest += one }
        world.flush(false);
    }
    let out = world.seal(&report(number, None, oldest, u16::MAX, &[(0, 1)]));
    let short = cost(|| {
        world.hand(&out);
        world.hub.flush(world.now);
    });
    println!("{outstanding} outstanding: first {first:?}, each of the others {:?}, a short one {short:?}", rest / 199);
    assert!(rest / 199 < short * 10, "{:?} a report of {} bytes, {short:?} a short one", rest / 199, ustat.len());
}

/// A hub with so many connections of the hostile peer.
fn crowd(connections: u32) -> World {
    let mut world = World::new(config(), GB, 10_000);
    for n in 0..connections {
        let number = world.number(n);
        world.say(&begin(number, 1_400));
        if n % 100 == 0 {
            world.flush(false);
        }
    }
    world.run(Span::from_secs(1), false);
    assert_eq!(world.held.len(), connections as usize);
    world
}

#[test]
fn marks_cost_little_however_many_connections_there_are() {
    for connections in [100, 10_000] {
        let mut world = crowd(connections);
        let mut total = Duration::ZERO;
        // Eighty a second.
        for count in 1..=80u32 {
            world.now = world.now + Span::from_micros(12_501);
            let plain = [&[0, 3][..], &count.to_be_bytes()].concat();
            let out = world.seal(&plain);
            total += cost(|| {
                world.hand(&out);
                world.hub.flush(world.now);
            });
            world.flush(false);
        }
        println!("{connections} connections: {total:?} of a second for 80 marks");
        assert!(total < Duration::from_millis(100), "{total:?} of a second");
    }
}

#[test]
fn handshakes_cost_little_however_many_connections_there_are() {
    for connections in [100, 10_000] {
        let mut world = crowd(connections);
        let mut total = Duration::ZERO;
        for _ in 0..50 {
            world.now = world.now + Span::from_millis(5);
            let (initiator, datagram) = world.request(&[]);
            let (now, from) = (world.now, world.from);
            total += cost(|| {
                world.hub.handle_datagram(now, from, Ecn::NotCapable, &datagram);
            });
            world.finish(initiator);
            total += cost(|| world.hub.flush(now));
            world.flush(false);
        }
        println!("{connections} connections: {:?} a handshake", total / 50);
        // 200 of them are read in a second.
        assert!(total / 50 * 200 < Duration::from_millis(300), "{:?} a handshake", total / 50);
    }
}

#[test]
fn ways_that_change_cost_little_however_many_connections_there_are() {
    let mut world = crowd(10_000);
    let mut total = Duration::ZERO;
    let mut serial = 0u32;
    // Two ways over two links; the peer says twenty times a second which one to use.
    for n in 0..100u32 {
        world.now = world.now + Span::from_millis(10);
        serial += 1;
        let plain =
            [&[0, 10, (n % 2) as u8, (n % 2) as u8][..], &serial.to_be_bytes(), &[(n as u8 / 5 % 2) << 1, 3]]
                .concat();
        let out = world.seal(&plain);
        total += cost(|| {
            world.hand(&out);
            world.hub.flush(world.now);
        });
        total += cost(|| {
            let now = world.now;
            world.hub.handle_timeout(now);
        });
        world.flush(false);
    }
    println!("{total:?} of a second for 100 beats");
    assert!(total < Duration::from_millis(100), "{total:?} of a second");
}

#[test]
fn segments_that_come_from_both_ends_to_the_middle_cost_little() {
    let mut world = World::new(config(), GB, 10_000);
    let number = world.number(0);
    world.say(&begin(number, 64));
    world.flush(false);
    let most = 60_000u32;
    let (mut total, mut last) = (Duration::ZERO, Duration::ZERO);
    let mut row = Duration::ZERO;
    for n in 0..most / 2 {
        let seqs = [1 + n, most - n];
        for seq in seqs {
            let out = world.seal(&data(number, seq, b"y"));
            let one = cost(|| world.hand(&out));
            total += one;
            if n > most / 2 - 1_000 {
                last += one;
            }
            if n < 1_000 {
                row += one;
            }
        }
        if n % 100 == 0 {
            world.flush(false);
        }
    }
    println!(
        "{total:?} in all, the first {:?} each, the last {:?} each, {} held",
        row / 2_000,
        last / 2_000,
        world.hub.held(world.public())
    );
    assert!(last < row * 5, "the first {:?} each, the last {:?}", row / 2_000, last / 2_000);
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
        world.now = world.now + Span::from_millis(10);
        let now = world.now;
        world.hub.handle_timeout(now);
        world.flush(false);
    }
    world.run(Span::from_secs(10), false);
    println!("{said} bytes said, {} sent in {} datagrams", world.sent_bytes, world.sent);
    assert!(world.sent_bytes <= 3 * said);
}

