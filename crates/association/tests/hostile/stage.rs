//! An endpoint with an honest peer, whose transfer goes on, and a hostile one.
#![allow(dead_code, reason = "each test uses its part")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bentpipe_association::endpoint::{ConnectionId, Endpoint, Streams as _};
use bentpipe_association::{PublicKey, SecretKey, Security};
use bentpipe_testkit::pattern;
use bentpipe_transport::xstp::Config;
use bentpipe_units::{ByteCount, Instant, Span};
use bentpipe_wire::Ecn;
use bytes::Bytes;

use crate::peer::Peer;

const DELAY: Span = Span::from_millis(25);
/// What the connections of one peer may hold at the endpoint, and how many there may be.
pub(crate) const LIMIT: ByteCount = ByteCount::new(8_000_000);
pub(crate) const CONNECTIONS: usize = 100;

fn key(n: u8) -> SecretKey {
    SecretKey::from_bytes([n; 32])
}

/// The key of the hostile peer.
pub(crate) fn hostile() -> PublicKey {
    key(9).public()
}

fn endpoint(n: u8) -> Endpoint {
    let mut state = u64::from(n);
    let entropy = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        state >> 11
    };
    Endpoint::new(key(n), Security::Full, 0, Box::new(entropy), Instant::ZERO)
}

pub(crate) fn address(n: u8) -> std::net::SocketAddr {
    std::net::SocketAddr::from(([10, 0, 0, n], 25_300))
}

pub(crate) struct Stage {
    pub(crate) now: Instant,
    pub(crate) endpoint: Endpoint,
    pub(crate) hostile: Peer,
    honest: Endpoint,
    connection: Option<ConnectionId>,
    accepted: Option<ConnectionId>,
    /// Connections of the hostile peer that the application of the endpoint holds.
    pub(crate) held: Vec<ConnectionId>,
    in_flight: BTreeMap<(Instant, u64), (bool, Vec<u8>)>,
    serial: u64,
    left: Bytes,
    pub(crate) read: Vec<u8>,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let config = Arc::new(Config {
            snd_buf: ByteCount::new(2_000_000),
            rcv_buf: ByteCount::new(2_000_000),
            cwnd_init: 64,
            ..Config::default()
        });
        let (mut server, mut honest) = (endpoint(2), endpoint(1));
        server.limit_memory(LIMIT, CONNECTIONS);
        for n in [1, 9] {
            server.allow(key(n).public());
        }
        server.listen(config.clone());
        let mut hostile = Peer::new(key(9), key(2).public(), address(9));
        hostile.associate(&mut server, Instant::ZERO);
        let to = address(2);
        let connection = honest.connect(Instant::ZERO, to, key(2).public(), 7, config);
        Self {
            now: Instant::ZERO,
            endpoint: server,
            hostile,
            honest,
            connection: Some(connection),
            accepted: None,
            held: Vec::new(),
            in_flight: BTreeMap::new(),
            serial: 0,
            left: pattern(2_000_000),
            read: Vec::new(),
        }
    }

    fn pump(&mut self) {
        self.endpoint.flush(self.now);
        self.honest.flush(self.now);
        for (to_honest, endpoint) in [(true, &mut self.endpoint), (false, &mut self.honest)] {
            while let Some(train) = endpoint.outbox().front(1) {
                let (to, bytes) = (train.route.address, train.bytes.to_vec());
                endpoint.outbox().pop(bytes.len());
                if to != self.hostile.address {
                    self.serial += 1;
                    let at = (self.now + DELAY, self.serial);
                    self.in_flight.insert(at, (to_honest, bytes));
                }
            }
        }
    }

    /// Applications read and write.
    fn use_connections(&mut self) {
        let cx = &mut Context::from_waker(Waker::noop());
        let now = self.now;
        if let Some(connection) = self.connection {
            while !self.left.is_empty() {
                match self.honest.poll_write(now, connection, &mut self.left, cx) {
                    Poll::Ready(written) => drop(written.expect("the honest peer goes on")),
                    Poll::Pending => break,
                }
            }
        }
        while let Poll::Ready(id) = self.endpoint.poll_accept(cx) {
            if self.endpoint.peer(id) == key(1).public() {
                self.accepted = Some(id);
            } else {
                self.held.push(id);
            }
        }
        while self.endpoint.poll_datagram(cx).is_ready() {}
        let Some(id) = self.accepted else { return };
        while let Poll::Ready(bytes) = self.endpoint.poll_read(now, id, cx) {
            let bytes = bytes.expect("the honest peer goes on");
            self.read.extend_from_slice(&bytes.expect("no end"));
        }
        self.endpoint.was_read(id);
        self.endpoint.changed(id);
    }

    /// Lets time pass while the honest peer's transfer goes on.
    pub(crate) fn run(&mut self, span: Span) {
        let until = self.now + span;
        loop {
            self.use_connections();
            self.pump();
            let timers =
                Instant::earliest(self.endpoint.next_deadline(), self.honest.next_deadline());
            let arrival = self.in_flight.keys().next().map(|(at, _)| *at);
            let next = Instant::earliest(arrival, timers).filter(|next| *next <= until);
            let Some(next) = next else { break };
            self.now = self.now.max(next);
            if arrival == Some(next)
                && let Some((_, (to_honest, bytes))) = self.in_flight.pop_first()
            {
                let endpoint = if to_honest { &mut self.honest } else { &mut self.endpoint };
                let from = if to_honest { address(2) } else { address(1) };
                endpoint.handle_datagram(self.now, from, Ecn::Capable0, &bytes);
            } else {
                self.endpoint.handle_timeout(self.now);
                self.honest.handle_timeout(self.now);
            }
        }
        self.now = until;
    }

    /// The hostile peer says something; the endpoint does what follows from it.
    pub(crate) fn say(&mut self, plain: &[u8]) {
        self.hostile.say(&mut self.endpoint, self.now, plain);
    }

    /// Everything that the honest peer wrote has come, in time.
    pub(crate) fn check(&mut self) {
        self.run(Span::from_secs(60));
        assert!(self.left.is_empty() && self.read == pattern(2_000_000)[..], "{}", self.read.len());
    }
}
