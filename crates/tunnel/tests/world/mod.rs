//! A way that loses, delays and reorders, and datagrams that tell who they are.

use std::collections::BTreeMap;

use bentpipe_link::{Stream, Streams};
use bentpipe_tunnel::{Datagram, Message};
use bentpipe_units::{BitRate, ByteCount, Instant, Span};
use bentpipe_wire::Ecn;
use bytes::Bytes;

/// A way in one direction.
pub(crate) struct Way {
    pub(crate) rate: BitRate,
    pub(crate) delay: Span,
    pub(crate) loss: f64,
    /// Bits that are damaged, and the packet with them.
    pub(crate) bit_errors: f64,
    pub(crate) jitter: Span,
    pub(crate) free_at: Instant,
    /// Messages in flight, by arrival.
    in_flight: BTreeMap<(Instant, u64), Message>,
    sent: u64,
    pub(crate) bytes: u64,
    stream: Stream,
}

impl Way {
    /// A way of so many Mbit/s and milliseconds. What it loses follows from the seed and its name.
    pub(crate) fn new(mbit: u64, millis: u64, seed: u64, name: &str) -> Self {
        Self {
            rate: BitRate::from_bps(mbit * 1_000_000),
            delay: Span::from_millis(millis),
            loss: 0.0,
            bit_errors: 0.0,
            jitter: Span::ZERO,
            free_at: Instant::ZERO,
            in_flight: BTreeMap::new(),
            sent: 0,
            bytes: 0,
            stream: Streams::new(seed).stream(name),
        }
    }

    pub(crate) fn send(&mut self, now: Instant, message: Message) {
        let len = match &message {
            Message::Packet(packet) => 8 + packet.body.len(),
            Message::Parity(parity) => 9 + parity.shard.len(),
            Message::Report(report) => 10 + 4 * report.missing.len(),
        } as u64
            + 60;
        self.bytes += len;
        self.free_at = self.free_at.max(now) + self.rate.time_for(ByteCount::new(len));
        self.sent += 1;
        let jitter = Span::from_nanos(self.stream.below(self.jitter.as_nanos().max(1)));
        let damaged = -f64::exp_m1(-8.0 * self.bit_errors * len as f64);
        if !self.stream.chance(self.loss + damaged) {
            self.in_flight.insert((self.free_at + self.delay + jitter, self.sent), message);
        }
    }

    /// What arrives by now.
    pub(crate) fn arrived(&mut self, now: Instant) -> Option<Message> {
        let first = self.in_flight.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }

    /// When the next one does.
    pub(crate) fn arrival(&self) -> Option<Instant> {
        self.in_flight.first_key_value().map(|((at, _), _)| *at)
    }

    pub(crate) fn is_free(&self, now: Instant) -> bool {
        self.free_at <= now
    }
}

pub(crate) fn at(millis: u64) -> Instant {
    Instant::ZERO + Span::from_millis(millis)
}

pub(crate) fn datagram(flow: u16, number: u32, len: usize) -> Datagram {
    let mut bytes = vec![flow as u8; len.max(4)];
    bytes[..4].copy_from_slice(&number.to_be_bytes());
    Datagram { flow, ecn: Ecn::NotCapable, label: label(flow as u8), bytes: Bytes::from(bytes) }
}

/// Whose bytes end so.
pub(crate) fn label(last: u8) -> Bytes {
    Bytes::from(vec![last; 17])
}

pub(crate) fn number(datagram: &Datagram) -> u32 {
    u32::from_be_bytes(datagram.bytes[..4].try_into().expect("four bytes"))
}
