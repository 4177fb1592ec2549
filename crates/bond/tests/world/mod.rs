//! Two ends of a bond in memory, with a connection for each link.

use std::collections::VecDeque;

use bentpipe_bond::{Bond, Observed, Transmit, Use};
use bentpipe_units::{BitRate, ByteCount, Instant, Span};
use bytes::Bytes;

pub(crate) const WINDOW: ByteCount = ByteCount::new(8_000_000);
const STEP: Span = Span::from_micros(500);

/// A reliable connection over a link of its own: what is written leaves at a rate, and arrives after a delay. While the
/// link is cut nothing leaves or arrives, and what was on the way comes afterwards.
#[derive(Debug)]
pub(crate) struct Connection {
    rate: BitRate,
    delay: Span,
    pub(crate) is_cut: bool,
    unsent: VecDeque<Bytes>,
    /// A part of a byte that may leave.
    credit: f64,
    under_way: VecDeque<(Instant, Bytes)>,
    /// What has arrived, and when the sender hears of it.
    heard: VecDeque<(Instant, usize)>,
    in_flight: usize,
    /// Bytes that have left.
    pub(crate) sent: usize,
}

impl Connection {
    pub(crate) fn new(mbit: u64, millis: u64) -> Self {
        Self {
            rate: BitRate::from_bps(mbit * 1_000_000),
            delay: Span::from_millis(millis),
            is_cut: false,
            unsent: VecDeque::new(),
            credit: 0.0,
            under_way: VecDeque::new(),
            heard: VecDeque::new(),
            in_flight: 0,
            sent: 0,
        }
    }

    pub(crate) fn observed(&self) -> Observed {
        Observed {
            round_trip: Some(self.delay * 2),
            cwnd: Some(self.rate.bytes_in(self.delay * 2)),
            unsent: self.unsent.iter().map(Bytes::len).sum(),
            waiting: 0,
            in_flight: self.in_flight,
        }
    }

    /// What is urgent goes ahead of all that has not begun to leave.
    pub(crate) fn put(&mut self, sent: &Transmit) {
        let frame = Bytes::from(sent.bytes.concat());
        let at = if sent.is_urgent { self.unsent.len().min(1) } else { self.unsent.len() };
        self.unsent.insert(at, frame);
    }

    /// A step of time. Returns what arrives.
    pub(crate) fn step(&mut self, now: Instant) -> Vec<Bytes> {
        if self.is_cut {
            self.under_way.iter_mut().for_each(|(at, _)| *at += STEP);
            self.heard.iter_mut().for_each(|(at, _)| *at += STEP);
            return Vec::new();
        }
        self.credit += self.rate.as_bps() as f64 / 8.0 * STEP.as_secs_f64();
        while let Some(front) = self.unsent.front_mut()
            && self.credit >= 1.0
        {
            let sent = front.split_to(front.len().min(self.credit as usize));
            if front.is_empty() {
                self.unsent.pop_front();
            }
            self.credit -= sent.len() as f64;
            self.in_flight += sent.len();
            self.sent += sent.len();
            self.under_way.push_back((now + self.delay, sent));
        }
        self.credit = self.credit.min(1_500.0);
        let mut came = Vec::new();
        while self.under_way.front().is_some_and(|(at, _)| *at <= now) {
            let (_, bytes) = self.under_way.pop_front().expect("one");
            self.heard.push_back((now + self.delay, bytes.len()));
            came.push(bytes);
        }
        while self.heard.front().is_some_and(|(at, _)| *at <= now) {
            self.in_flight -= self.heard.pop_front().expect("one").1;
        }
        came
    }
}

/// Two ends, and in each direction a connection for each link.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) now: Instant,
    pub(crate) bonds: [Bond; 2],
    pub(crate) connections: [Vec<Connection>; 2],
}

impl World {
    /// Links of these megabits per second and milliseconds of delay, each used so.
    pub(crate) fn new(links: &[(u64, u64)], uses: &[Use]) -> Self {
        let mut bonds = [Bond::new(WINDOW), Bond::new(WINDOW)];
        for bond in &mut bonds {
            (0..).zip(uses).for_each(|(link, carries)| bond.join(link, *carries));
        }
        let all = || links.iter().map(|(mbit, millis)| Connection::new(*mbit, *millis)).collect();
        Self { now: Instant::ZERO, bonds, connections: [all(), all()] }
    }

    pub(crate) fn step(&mut self) {
        self.now += STEP;
        for end in 0..2 {
            for (link, connection) in self.connections[end].iter_mut().enumerate() {
                for bytes in connection.step(self.now) {
                    self.bonds[1 - end].handle_bytes(link, bytes).expect("frames");
                }
            }
        }
        for (bond, connections) in self.bonds.iter_mut().zip(&mut self.connections) {
            bond.set_room(WINDOW);
            for (link, connection) in connections.iter().enumerate() {
                bond.observe(self.now, link, connection.observed());
            }
            while let Some(sent) = bond.poll_transmit(self.now) {
                let connection = &mut connections[sent.member];
                connection.put(&sent);
            }
        }
    }

    /// Carries so many bytes, with something done on the way after a time. Returns how long it took, and the longest time
    /// without a byte.
    pub(crate) fn carry(
        &mut self,
        len: usize,
        after: Span,
        act: impl FnOnce(&mut Self),
    ) -> (Span, Span) {
        let data: Vec<u8> =
            (0..len as u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        let (mut left, mut read, mut act) = (Bytes::from(data.clone()), Vec::new(), Some(act));
        let (began, mut last, mut pause) = (self.now, self.now, Span::ZERO);
        while read.len() < len {
            assert!(self.now.since(began) < Span::from_secs(100), "{} of {len}", read.len());
            if self.now.since(began) >= after
                && let Some(act) = act.take()
            {
                act(self);
            }
            if self.bonds[0].pending() < 256_000 && !left.is_empty() {
                let part = left.split_to(left.len().min(100_000));
                self.bonds[0].write(part);
                if left.is_empty() {
                    self.bonds[0].close();
                }
            }
            self.step();
            while let Some(bytes) = self.bonds[1].read() {
                read.extend_from_slice(&bytes);
                pause = pause.max(self.now.since(last));
                last = self.now;
            }
        }
        assert!(read == data, "what arrived is what was sent");
        let took = self.now.since(began);
        for _ in 0..10_000 {
            self.step();
        }
        assert!(self.bonds[1].has_ended() && self.bonds[0].is_delivered());
        (took, pause)
    }
}
