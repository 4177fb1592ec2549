//! An endpoint and a hostile peer that reads what it is sent.
#![allow(dead_code, reason = "each test uses its part")]

use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bentpipe_association::endpoint::{ConnectionId, Endpoint, Streams as _};
use bentpipe_association::secure::{Datagram, Ephemeral, FRONT, Index, Initiator, Traffic, parse};
use bentpipe_association::{PublicKey, SecretKey, Security, Tuning};
use bentpipe_transport::xstp::Config;
use bentpipe_units::{ByteCount, Instant, Seq32, Span};
use bentpipe_wire::Ecn;
use bentpipe_wire::xstp::{
    Begin, Body, Context as Near, Flow, Gap, Report, ReportKind, Segment, decode_compact,
    encode_compact,
};
use bytes::{Bytes, BytesMut};

pub(crate) fn key(n: u8) -> SecretKey {
    SecretKey::from_bytes([n; 32])
}

pub(crate) fn address(n: u8) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, n], 25_300))
}

pub(crate) fn put_number(mut number: u32, out: &mut BytesMut) {
    while number > 0x7f {
        out.extend_from_slice(&[number as u8 | 0x80]);
        number >>= 7;
    }
    out.extend_from_slice(&[number as u8]);
}

pub(crate) fn segment(number: u32, seq: u32, window: u16, body: Body) -> Vec<u8> {
    let mut out = BytesMut::new();
    put_number(number, &mut out);
    let segment = Segment {
        source_port: number as u16,
        destination_port: 7,
        sq: 1,
        window,
        seq: Seq32::new(seq),
        body,
    };
    encode_compact(&segment, 60_000, &mut out);
    out.to_vec()
}

pub(crate) fn begin(number: u32, mss: u16) -> Vec<u8> {
    let begin = Begin { ts: 1, ts_echo: 0, mss, many_gaps: true };
    segment(number, 0, u16::MAX, Body::Begin(begin))
}

pub(crate) fn data(number: u32, seq: u32, payload: &[u8]) -> Vec<u8> {
    let payload = Bytes::copy_from_slice(payload);
    let flow = Flow { payload, poll: None, report: None, end_ack: None, end: false };
    segment(number, seq, u16::MAX, Body::Flow(flow))
}

/// A report; `echo` makes it a STAT.
pub(crate) fn report(
    number: u32,
    echo: Option<u32>,
    next: u32,
    window: u16,
    gaps: &[(u16, u16)],
) -> Vec<u8> {
    let gaps = gaps.iter().map(|&(lower, upper)| Gap { lower, upper }).collect();
    let kind = if echo.is_some() { ReportKind::Stat } else { ReportKind::Ustat };
    let (ts_echo, next) = (echo.unwrap_or(0), Seq32::new(next));
    let report = Report { kind, ts_echo, received_at: None, next, more: false, gaps };
    let flow = Flow { report: Some(report), ..Flow::default() };
    segment(number, 0, window, Body::Flow(flow))
}

/// What the endpoint sent to the peer: plain texts.
pub(crate) struct World {
    pub(crate) now: Instant,
    pub(crate) endpoint: Endpoint,
    pub(crate) key: SecretKey,
    pub(crate) from: SocketAddr,
    epoch: u64,
    time: u64,
    pub(crate) traffic: Option<Traffic>,
    /// Datagrams that the endpoint has sent to the peer.
    pub(crate) sent: u64,
    pub(crate) sent_bytes: u64,
    pub(crate) held: Vec<ConnectionId>,
    pub(crate) plain: Vec<Bytes>,
}

pub(crate) fn config() -> Arc<Config> {
    Tuning::default().config().expect("settings")
}

impl World {
    pub(crate) fn new(config: Arc<Config>, limit: u64, connections: usize) -> Self {
        let mut state = 2u64;
        let entropy = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state >> 11
        };
        let mut endpoint =
            Endpoint::new(key(2), Security::Full, 0, Box::new(entropy), Instant::ZERO);
        endpoint.limit_memory(ByteCount::new(limit), connections);
        endpoint.allow(key(9).public());
        endpoint.allow(key(1).public());
        endpoint.listen(config);
        let mut world = Self {
            now: Instant::ZERO,
            endpoint,
            key: key(9),
            from: address(9),
            epoch: 1,
            time: 0,
            traffic: None,
            sent: 0,
            sent_bytes: 0,
            held: Vec::new(),
            plain: Vec::new(),
        };
        world.associate(&[]);
        world
    }

    pub(crate) fn public(&self) -> PublicKey {
        self.key.public()
    }

    pub(crate) fn number(&self, n: u32) -> u32 {
        2 * n + if self.key.public() < key(2).public() { 2 } else { 1 }
    }

    pub(crate) fn request(&mut self, early: &[u8]) -> (Initiator, Vec<u8>) {
        self.time += 1;
        let payload = [&self.epoch.to_be_bytes()[..], early].concat();
        let index = Index::new(self.time as u32);
        let time = self.time;
        let own = Ephemeral::draw(&mut || time);
        let initiator = Initiator::new(
            Security::Full,
            &self.key,
            key(2).public(),
            index,
            self.time,
            &payload,
            own,
        );
        let datagram = initiator.datagram(None);
        (initiator, datagram)
    }

    pub(crate) fn associate(&mut self, early: &[u8]) {
        let (initiator, datagram) = self.request(early);
        self.endpoint.handle_datagram(self.now, self.from, Ecn::NotCapable, &datagram);
        self.finish(initiator);
    }

    pub(crate) fn finish(&mut self, initiator: Initiator) {
        let mut answer = None;
        while let Some(train) = self.endpoint.outbox().front(1) {
            let bytes = train.bytes.to_vec();
            self.endpoint.outbox().pop(bytes.len());
            if let Some(Datagram::Response { sender, noise, .. }) = parse(Security::Full, &bytes) {
                answer = Some((sender, noise.to_vec()));
            }
        }
        let (sender, noise) = answer.expect("an answer");
        self.traffic = Some(initiator.finish(sender, &noise).expect("authentic").0);
        self.say(&[]);
    }

    pub(crate) fn seal(&mut self, plain: &[u8]) -> BytesMut {
        let traffic = self.traffic.as_mut().expect("keys");
        let mut out = BytesMut::zeroed(FRONT);
        out.extend_from_slice(plain);
        traffic.seal(&mut out, 0);
        out
    }

    /// Seals so many datagrams that never come.
    pub(crate) fn skip(&mut self, many: usize) {
        for _ in 0..many {
            self.seal(&[]);
        }
    }

    pub(crate) fn hand(&mut self, sealed: &[u8]) {
        self.endpoint.handle_datagram(self.now, self.from, Ecn::NotCapable, sealed);
    }

    pub(crate) fn say(&mut self, plain: &[u8]) {
        let out = self.seal(plain);
        self.hand(&out);
    }

    /// The endpoint does what is to be done now; what it sends is opened.
    pub(crate) fn flush(&mut self, keep: bool) {
        self.endpoint.flush(self.now);
        while let Some(train) = self.endpoint.outbox().front(1) {
            let bytes = train.bytes.to_vec();
            self.endpoint.outbox().pop(bytes.len());
            self.sent += 1;
            self.sent_bytes += bytes.len() as u64;
            if keep
                && let Some(Datagram::Data { number, sealed, .. }) = parse(Security::Full, &bytes)
                && let Some(traffic) = &mut self.traffic
            {
                let mut out = BytesMut::new();
                if traffic.open(number, sealed, &mut out).is_some() {
                    self.plain.push(out.freeze());
                }
            }
        }
        let cx = &mut Context::from_waker(Waker::noop());
        while let Poll::Ready(id) = self.endpoint.poll_accept(cx) {
            self.held.push(id);
        }
    }

    /// The segments of connections that the endpoint has sent, near this number.
    pub(crate) fn segments(&mut self, near: Seq32) -> Vec<(u32, Segment)> {
        let mut all = Vec::new();
        for plain in std::mem::take(&mut self.plain) {
            let (mut number, mut len) = (0u32, 0);
            for &byte in plain.iter().take(4) {
                number |= u32::from(byte & 0x7f) << (7 * len);
                len += 1;
                if byte & 0x80 == 0 {
                    break;
                }
            }
            if number == 0 || plain.is_empty() {
                continue;
            }
            let context = Near { source_port: 7, destination_port: 7, sq: 1, near };
            if let Ok(segment) = decode_compact(plain.slice(len..), &context) {
                all.push((number, segment));
            }
        }
        all
    }

    /// Lets time pass up to then; at most so many turns.
    pub(crate) fn run(&mut self, span: Span, keep: bool) -> u64 {
        let until = self.now + span;
        let mut turns = 0;
        self.flush(keep);
        while let Some(next) = self.endpoint.next_deadline().filter(|next| *next <= until) {
            self.now = self.now.max(next);
            self.endpoint.handle_timeout(self.now);
            self.flush(keep);
            turns += 1;
            if turns > 2_000_000 {
                break;
            }
        }
        self.now = until;
        turns
    }

    pub(crate) fn write(&mut self, id: ConnectionId, data: &mut Bytes) -> usize {
        let cx = &mut Context::from_waker(Waker::noop());
        let before = data.len();
        while !data.is_empty() {
            match self.endpoint.poll_write(self.now, id, data, cx) {
                Poll::Ready(Ok(_)) => {}
                _ => break,
            }
        }
        before - data.len()
    }
}
