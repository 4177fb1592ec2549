//! Packets with the times of their arrival, and how one of them tells of congestion: what the
//! disciplines that look at the sojourn time are made of.

use std::collections::VecDeque;

use bentpipe_units::{ByteCount, Instant, Span};
use bentpipe_wire::Ecn;

use super::{Backlog, Held, Packets};

/// Room that an empty queue keeps.
const KEPT: usize = 64;

/// Packets in the order in which they came.
#[derive(Clone, Debug, Default)]
pub(super) struct Stamped {
    packets: VecDeque<(Instant, Held)>,
    waiting: Backlog,
}

impl Stamped {
    pub(super) fn push(&mut self, now: Instant, packet: Held) {
        self.waiting.add(&packet);
        self.packets.push_back((now, packet));
    }

    /// The oldest packet and when it came.
    pub(super) fn pop(&mut self) -> Option<(Instant, Held)> {
        let (arrived, packet) = self.packets.pop_front()?;
        self.waiting.take(&packet);
        if self.packets.is_empty() && self.packets.capacity() > KEPT {
            self.packets.shrink_to(KEPT);
        }
        Some((arrived, packet))
    }

    /// How long the packet at the head had waited at `at`; zero when nothing waited.
    pub(super) fn sojourn(&self, at: Instant) -> Span {
        self.packets.front().map_or(Span::ZERO, |(arrived, _)| at.since(*arrived))
    }

    pub(super) const fn backlog(&self) -> Backlog {
        self.waiting
    }
}

/// Tells the sender of the packet by a mark. False when it understands none: then the packet has to
/// be lost. What another router has marked says it already.
pub(super) fn mark(packet: &Held, packets: &mut dyn Packets) -> bool {
    if matches!(packet.ecn, Ecn::Capable0 | Ecn::Capable1) {
        packets.mark(packet);
    }
    packet.ecn != Ecn::NotCapable
}

/// The length of the longest packet that has come: what the RFCs call the MTU.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Longest(pub(super) ByteCount);

impl Longest {
    pub(super) fn note(&mut self, packet: &Held) {
        self.0 = self.0.max(packet.bytes);
    }
}

/// Bytes as something that may also be owed.
pub(super) fn signed(bytes: ByteCount) -> i64 {
    i64::try_from(bytes.get()).unwrap_or(i64::MAX)
}
