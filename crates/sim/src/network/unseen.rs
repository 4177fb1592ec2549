//! What an observer will see of packets when their time comes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use bentpipe_units::Instant;
use bytes::Bytes;

use crate::Envelope;
use crate::observer::{Observer, PacketSeen};

/// Packets that entered a channel ahead of their time.
#[derive(Debug, Default)]
pub(super) struct Unseen(BinaryHeap<Entered>);

/// One of them: ordered by time and serial, first ones last.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entered {
    order: Reverse<(Instant, u64)>,
    channel: usize,
    envelope: Envelope,
    bytes: Bytes,
}

impl Unseen {
    /// A packet enters a channel at a time; of several at the same time the one with the lowest serial is first.
    pub(super) fn add(
        &mut self,
        (at, serial): (Instant, u64),
        channel: usize,
        envelope: Envelope,
        bytes: Bytes,
    ) {
        self.0.push(Entered { order: Reverse((at, serial)), channel, envelope, bytes });
    }

    /// Shows the observer all packets that entered a channel by now.
    pub(super) fn show(&mut self, now: Instant, observer: &mut dyn Observer) {
        while let Some(first) = self.0.peek()
            && first.order.0.0 <= now
            && let Some(packet) = self.0.pop()
        {
            let Entered { order, channel, envelope, bytes } = packet;
            observer.packet(order.0.0, channel, &PacketSeen { envelope, bytes: &bytes });
        }
    }
}
