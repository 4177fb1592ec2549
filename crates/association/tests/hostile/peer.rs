//! A peer with a valid key that says whatever a test wants.
#![allow(dead_code, reason = "each test uses its part")]

use std::net::SocketAddr;

use bentpipe_association::endpoint::Endpoint;
use bentpipe_association::secure::{Datagram, Ephemeral, FRONT, Index, Initiator, Traffic, parse};
use bentpipe_association::{PublicKey, SecretKey, Security};
use bentpipe_units::Instant;
use bentpipe_wire::Ecn;
use bentpipe_wire::xstp::{Begin, Body, Flow, Segment, encode_compact};
use bytes::BytesMut;

/// A hostile peer of an endpoint.
pub(crate) struct Peer {
    key: SecretKey,
    endpoint: PublicKey,
    pub(crate) address: SocketAddr,
    epoch: u64,
    time: u64,
    traffic: Option<Traffic>,
    pub(crate) sent: u64,
}

impl Peer {
    pub(crate) fn new(key: SecretKey, endpoint: PublicKey, address: SocketAddr) -> Self {
        Self { key, endpoint, address, epoch: 1, time: 0, traffic: None, sent: 0 }
    }

    /// The number of the connection that it opens as the `n`-th one.
    pub(crate) fn number(&self, n: u32) -> u32 {
        2 * n + if self.key.public() < self.endpoint { 2 } else { 1 }
    }

    /// It is another process from now on.
    pub(crate) fn restart(&mut self) {
        self.epoch += 1;
    }

    /// A request for keys with these segments, which is never retransmitted.
    pub(crate) fn request(&mut self, early: &[u8]) -> (Initiator, Vec<u8>) {
        self.time += 1;
        let payload = [&self.epoch.to_be_bytes()[..], early].concat();
        let index = Index::new(self.time as u32);
        let time = self.time;
        let own = Ephemeral::draw(&mut || time);
        let initiator = Initiator::new(
            Security::Full,
            &self.key,
            self.endpoint,
            index,
            self.time,
            &payload,
            own,
        );
        let datagram = initiator.datagram(None);
        (initiator, datagram)
    }

    /// Asks for keys and uses them, at an endpoint that nobody else waits for.
    pub(crate) fn associate(&mut self, endpoint: &mut Endpoint, now: Instant) {
        let (initiator, datagram) = self.request(&[]);
        endpoint.handle_datagram(now, self.address, Ecn::NotCapable, &datagram);
        self.sent += datagram.len() as u64;
        let mut answer = None;
        while let Some(train) = endpoint.outbox().front(1) {
            let bytes = train.bytes.to_vec();
            endpoint.outbox().pop(bytes.len());
            if let Some(Datagram::Response { sender, noise, .. }) = parse(Security::Full, &bytes) {
                answer = Some((sender, noise.to_vec()));
            }
        }
        let (sender, noise) = answer.expect("an answer");
        self.traffic = Some(initiator.finish(sender, &noise).expect("authentic").0);
        self.say(endpoint, now, &[]);
    }

    /// Seals this and sends it.
    pub(crate) fn say(&mut self, endpoint: &mut Endpoint, now: Instant, plain: &[u8]) {
        let Some(traffic) = &mut self.traffic else { return };
        let mut out = BytesMut::zeroed(FRONT);
        out.extend_from_slice(plain);
        traffic.seal(&mut out, 0);
        self.sent += out.len() as u64;
        endpoint.handle_datagram(now, self.address, Ecn::NotCapable, &out);
    }
}

/// What opens connection `number` with this MSS.
pub(crate) fn begin(number: u32, mss: u16) -> Vec<u8> {
    let begin = Begin { ts: 1, ts_echo: 0, mss, many_gaps: true };
    segment(number, 0, Body::Begin(begin))
}

/// Data of a connection.
pub(crate) fn data(number: u32, seq: u32, payload: &'static [u8]) -> Vec<u8> {
    let payload = payload.into();
    let flow = Flow { payload, poll: None, report: None, end_ack: None, end: false };
    segment(number, seq, Body::Flow(flow))
}

/// A POLL of a connection.
pub(crate) fn poll(number: u32, seq: u32, ts: u32) -> Vec<u8> {
    segment(number, seq, Body::Flow(Flow { poll: Some(ts), ..Flow::default() }))
}

fn segment(number: u32, seq: u32, body: Body) -> Vec<u8> {
    let mut out = BytesMut::new();
    let mut left = number;
    while left > 0x7f {
        out.extend_from_slice(&[left as u8 | 0x80]);
        left >>= 7;
    }
    out.extend_from_slice(&[left as u8]);
    let segment = Segment {
        source_port: number as u16,
        destination_port: 7,
        sq: 1,
        window: u16::MAX,
        seq: bentpipe_units::Seq32::new(seq),
        body,
    };
    encode_compact(&segment, 1_000, &mut out);
    out.to_vec()
}
