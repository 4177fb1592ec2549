//! A peer of a slow dedicated link that asks for answers all the time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bentpipe_association::endpoint::{Endpoint, Share, Streams as _};
use bentpipe_association::{SecretKey, Security};
use bentpipe_testkit::pattern;
use bentpipe_transport::xstp::Config;
use bentpipe_units::{BitRate, ByteCount, Instant, Span};
use bentpipe_wire::Ecn;

use super::peer::{Peer, begin, poll};
use super::stage::address;

const DELAY: Span = Span::from_millis(25);
/// Headers of IP and UDP.
const HEADERS: u64 = 28;
const SERVER: u8 = 2;
const HONEST: u8 = 1;
const HOSTILE: u8 = 9;

fn key(n: u8) -> SecretKey {
    SecretKey::from_bytes([n; 32])
}

fn endpoint(n: u8) -> Endpoint {
    let mut state = u64::from(n);
    let entropy = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        state >> 11
    };
    Endpoint::new(key(n), Security::Full, 0, Box::new(entropy), Instant::ZERO)
}

/// What became of a download by an honest peer.
struct Outcome {
    read: u64,
    /// The most that left the server in a second, on the wire.
    most: u64,
}

/// An honest peer downloads for two minutes over a link of this rate; from ten seconds on another peer polls the server
/// once in `every`.
fn download(rate: BitRate, every: Option<Span>) -> Outcome {
    let size = ByteCount::new(500_000);
    let config = Arc::new(Config { snd_buf: size, rcv_buf: size, ..Config::default() });
    let (mut server, mut honest) = (endpoint(SERVER), endpoint(HONEST));
    server.listen(config.clone());
    server.set_rate(Instant::ZERO, 0, rate);
    for peer in [HONEST, HOSTILE].map(|n| key(n).public()) {
        server.allow(peer);
        server.set_share(Instant::ZERO, 0, peer, Share { rate, weight: 1 });
    }
    let mut hostile = Peer::new(key(HOSTILE), key(SERVER).public(), address(HOSTILE));
    hostile.associate(&mut server, Instant::ZERO);
    hostile.say(&mut server, Instant::ZERO, &begin(hostile.number(0), 1_000));
    let connection =
        honest.connect(Instant::ZERO, address(SERVER), key(SERVER).public(), 7, config);
    let cx = &mut Context::from_waker(Waker::noop());
    let (mut now, mut in_flight, mut serial) = (Instant::ZERO, BTreeMap::new(), 0);
    let (mut accepted, mut left) = (None, pattern(10_000_000));
    let (mut seconds, mut read) = (BTreeMap::<u64, u64>::new(), 0);
    let (mut next_poll, mut ts) = (Instant::ZERO + Span::from_secs(10), 1);
    loop {
        while let Poll::Ready(id) = server.poll_accept(cx) {
            if server.peer(id) == key(HONEST).public() {
                accepted = Some(id);
            }
        }
        while let Some(id) = accepted
            && !left.is_empty()
            && let Poll::Ready(written) = server.poll_write(now, id, &mut left, cx)
        {
            written.expect("a connection that goes on");
        }
        while let Poll::Ready(Ok(Some(data))) = honest.poll_read(now, connection, cx) {
            read += data.len() as u64;
            honest.was_read(connection);
            honest.changed(connection);
        }
        for (endpoint, from) in [(&mut server, SERVER), (&mut honest, HONEST)] {
            endpoint.flush(now);
            while let Some(train) = endpoint.outbox().front(1) {
                let (to, bytes) = (train.route.address, train.bytes.to_vec());
                endpoint.outbox().pop(bytes.len());
                if from == SERVER {
                    let second = now.as_nanos() / 1_000_000_000;
                    *seconds.entry(second).or_default() += bytes.len() as u64 + HEADERS;
                }
                if to != address(HOSTILE) {
                    serial += 1;
                    in_flight.insert((now + DELAY, serial), (from, bytes));
                }
            }
        }
        let timers = Instant::earliest(server.next_deadline(), honest.next_deadline());
        let arrival = in_flight.keys().next().map(|(at, _)| *at);
        let polls = every.map(|_| next_poll);
        let next = Instant::earliest(Instant::earliest(arrival, timers), polls);
        let until = Instant::ZERO + Span::from_secs(130);
        let Some(next) = next.filter(|next| *next <= until) else { break };
        now = now.max(next);
        if let Some(every) = every.filter(|_| next_poll <= now) {
            ts += 1;
            hostile.say(&mut server, now, &poll(hostile.number(0), 1, ts));
            next_poll = now + every;
        } else if arrival == Some(next) {
            let Some((_, (from, bytes))) = in_flight.pop_first() else { continue };
            let to = if from == SERVER { &mut honest } else { &mut server };
            to.handle_datagram(now, address(from), Ecn::Capable0, &bytes);
        } else {
            server.handle_timeout(now);
            honest.handle_timeout(now);
        }
    }
    Outcome { read, most: seconds.into_values().max().unwrap_or_default() }
}

#[test]
fn a_peer_that_polls_all_the_time_has_no_more_than_its_part_of_a_slow_link() {
    let rate = BitRate::from_bps(20_000);
    let alone = download(rate, None);
    let beside = download(rate, Some(Span::from_millis(1)));
    assert!(3 * beside.read > alone.read, "{} instead of {} bytes", beside.read, alone.read);
    assert!(beside.most < 3 * 2_500, "{} bytes in a second of 2,500", beside.most);
}
