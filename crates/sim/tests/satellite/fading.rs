//! A link whose rate and delay change while data are under way: rain, another satellite, another beam.

use std::collections::{BTreeMap, VecDeque};

use bentpipe_link::Direction;
use bentpipe_units::{BitRate, ByteCount, Instant, Span};
use bytes::Bytes;

/// One direction: a queue, a line, and the way to the other end.
#[derive(Debug)]
pub(crate) struct Line {
    rate: BitRate,
    delay: Span,
    room: ByteCount,
    waiting: VecDeque<(ByteCount, Bytes)>,
    queued: ByteCount,
    /// When the first of those that wait has left.
    head_leaves: Option<Instant>,
    flying: BTreeMap<(Instant, u64), Bytes>,
    serial: u64,
    /// Of a thousand packets, so many are lost on the way.
    per_mille: u64,
    random: u64,
    pub(crate) dropped: u64,
}

impl Line {
    pub(crate) const fn new(rate: BitRate, delay: Span, room: ByteCount) -> Self {
        Self {
            rate,
            delay,
            room,
            waiting: VecDeque::new(),
            queued: ByteCount::ZERO,
            head_leaves: None,
            flying: BTreeMap::new(),
            serial: 0,
            per_mille: 0,
            random: 1,
            dropped: 0,
        }
    }

    pub(crate) const fn lose(&mut self, per_mille: u64) {
        self.per_mille = per_mille;
    }

    /// The line carries this from now on.
    pub(crate) fn set_rate(&mut self, now: Instant, rate: BitRate) {
        self.advance(now);
        if let Some(at) = &mut self.head_leaves {
            *at = now + at.since(now).mul_div(self.rate.as_bps(), rate.as_bps());
        }
        self.rate = rate;
    }

    /// What leaves the line from now on takes so long.
    pub(crate) fn set_delay(&mut self, now: Instant, delay: Span) {
        self.advance(now);
        self.delay = delay;
    }

    /// How long what enters now waits.
    pub(crate) fn wait(&self) -> Span {
        self.rate.time_for(self.queued)
    }

    fn enter(&mut self, now: Instant, len: ByteCount, bytes: Bytes) {
        self.advance(now);
        if self.queued + len > self.room {
            self.dropped += 1;
            return;
        }
        self.queued += len;
        self.waiting.push_back((len, bytes));
        self.head_leaves.get_or_insert(now + self.rate.time_for(len));
    }

    fn advance(&mut self, now: Instant) {
        while let Some(at) = self.head_leaves.filter(|at| *at <= now) {
            let Some((len, bytes)) = self.waiting.pop_front() else { return };
            self.queued -= len;
            self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            if (self.random >> 33) % 1000 >= self.per_mille {
                self.serial += 1;
                self.flying.insert((at + self.delay, self.serial), bytes);
            }
            self.head_leaves = self.waiting.front().map(|(len, _)| at + self.rate.time_for(*len));
        }
    }

    fn next(&self) -> Option<Instant> {
        let arrives = self.flying.keys().next().map(|(at, _)| *at);
        Instant::earliest(self.head_leaves, arrives)
    }

    fn leave(&mut self, now: Instant) -> Option<Bytes> {
        self.advance(now);
        let first = self.flying.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }
}

/// Both directions.
#[derive(Debug)]
pub(crate) struct Fading(pub(crate) [Line; 2]);

impl Fading {
    pub(crate) fn direction(&mut self, direction: Direction) -> &mut Line {
        &mut self.0[direction as usize]
    }

    pub(crate) fn enter(&mut self, now: Instant, direction: Direction, len: u64, bytes: Bytes) {
        self.direction(direction).enter(now, ByteCount::new(len), bytes);
    }

    pub(crate) fn next(&self) -> Option<Instant> {
        Instant::earliest(self.0[0].next(), self.0[1].next())
    }

    pub(crate) fn leave(&mut self, now: Instant) -> Option<(Direction, Bytes)> {
        let forward = self.0[0].leave(now).map(|bytes| (Direction::Forward, bytes));
        forward.or_else(|| Some((Direction::Return, self.0[1].leave(now)?)))
    }
}
