//! A station of a radio channel: its carrier, and when it may send.

use bentpipe_units::{Instant, Span};

use crate::Stream;
use crate::queue::Held;

/// What a station does, and until when.
#[derive(Clone, Copy, Debug)]
pub(super) enum State {
    /// Its carrier is off.
    Listens {
        /// It does not look whether the channel is free before this.
        looks_at: Instant,
        /// That is the end of a slot which began with a free channel.
        in_slot: bool,
    },
    /// Its carrier is on, and no frame has begun.
    KeysUp { keyed_at: Instant, until: Instant, most: u32 },
    /// It sends a frame, behind which so many more may come.
    Sends { packet: Held, keyed_at: Instant, more: u32, until: Instant, destroyed: bool },
    /// Its carrier is still on.
    Tails { keyed_at: Instant, until: Instant },
}

/// A station.
#[derive(Debug)]
pub(super) struct Station {
    /// What it does.
    pub(super) state: State,
    stream: Stream,
    /// Its lines, the one with the next turn first.
    lines: Vec<usize>,
    /// The stations that it hears, in order.
    hears: Vec<usize>,
    /// Its equipment is busy until then.
    ready_at: Instant,
}

impl Station {
    pub(super) const fn new(stream: Stream, lines: Vec<usize>, hears: Vec<usize>) -> Self {
        let state = State::Listens { looks_at: Instant::ZERO, in_slot: false };
        Self { state, stream, lines, hears, ready_at: Instant::ZERO }
    }

    /// The lines on which it sends.
    pub(super) fn lines(&self) -> &[usize] {
        &self.lines
    }

    /// The stations that it hears.
    pub(super) fn hears(&self) -> &[usize] {
        &self.hears
    }

    /// Since when its carrier is on, if it is.
    pub(super) const fn keyed_at(&self) -> Option<Instant> {
        match self.state {
            State::Listens { .. } => None,
            State::KeysUp { keyed_at, .. }
            | State::Sends { keyed_at, .. }
            | State::Tails { keyed_at, .. } => Some(keyed_at),
        }
    }

    /// Whether a slot has just ended in which it heard nothing: who looks later than it wanted heard a carrier.
    pub(super) const fn was_free(&self, now: Instant) -> bool {
        match self.state {
            State::Listens { looks_at, in_slot } => {
                in_slot && now.as_nanos() == looks_at.as_nanos()
            }
            _ => false,
        }
    }

    /// Whether it takes a free channel.
    pub(super) fn takes(&mut self, persistence: u8) -> bool {
        self.stream.below(256) <= u64::from(persistence)
    }

    /// A frame has ended: its equipment is busy for so long.
    pub(super) fn needs(&mut self, now: Instant, proc_time: Span) {
        self.ready_at = now + proc_time;
    }

    /// Its carrier is off.
    pub(super) fn listen(&mut self, now: Instant) {
        self.state = State::Listens { looks_at: now.max(self.ready_at), in_slot: false };
    }

    /// What it sends is destroyed.
    pub(super) fn destroy(&mut self) {
        if let State::Sends { destroyed, .. } = &mut self.state {
            *destroyed = true;
        }
    }

    /// Its lines in the order in which they are asked for a packet; the first one asked is the last one next time.
    pub(super) fn turns(&mut self) -> impl Iterator<Item = usize> {
        let lines = self.lines.clone();
        if let [_, _, ..] = self.lines[..] {
            self.lines.rotate_left(1);
        }
        lines.into_iter()
    }
}
