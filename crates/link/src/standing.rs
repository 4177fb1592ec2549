//! What stands in a queue at a time, for who looks on.

use std::collections::VecDeque;

use bentpipe_units::{ByteCount, Instant};

/// Packets that wait, or will. A packet passes all links on its way at once: it is known here before it comes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Standing {
    /// When each one comes, when it goes into transmission, and its size.
    packets: VecDeque<(Instant, Instant, ByteCount)>,
}

impl Standing {
    /// What waits when somebody asks for the first time: that has come.
    pub(crate) fn of(now: Instant, waiting: &VecDeque<(Instant, ByteCount)>) -> Self {
        Self { packets: waiting.iter().map(|(begins, bytes)| (now, *begins, *bytes)).collect() }
    }

    pub(crate) fn enter(&mut self, at: Instant, begins: Instant, bytes: ByteCount) {
        self.packets.push_back((at, begins, bytes));
    }

    /// The bytes that have come and not gone at `now`.
    pub(crate) fn at(&mut self, now: Instant) -> ByteCount {
        while self.packets.front().is_some_and(|(_, begins, _)| *begins <= now) {
            self.packets.pop_front();
        }
        let come = self.packets.iter().take_while(|(at, ..)| *at <= now);
        come.fold(ByteCount::ZERO, |sum, (.., bytes)| sum + *bytes)
    }
}
