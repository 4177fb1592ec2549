//! Packets one after another, up to a limit: what most disciplines are made of.

use std::collections::VecDeque;

use bentpipe_units::ByteCount;

use super::{Backlog, Held, LineState, Packets};
use crate::{LossCause, QueueLimit};

/// Packets in order. It says whether there is room, and leaves it to its owner what that means.
#[derive(Clone, Debug)]
pub(super) struct Fifo {
    limit: QueueLimit,
    packets: VecDeque<Held>,
    waiting: Backlog,
}

impl Fifo {
    pub(super) const fn new(limit: QueueLimit) -> Self {
        Self {
            limit,
            packets: VecDeque::new(),
            waiting: Backlog { packets: 0, bytes: ByteCount::ZERO },
        }
    }

    /// True when the packet may come in where so much waits.
    pub(super) fn admits_to(&self, waiting: Backlog, line: LineState, packet: &Held) -> bool {
        if line == LineState::Idle || packet.first {
            return true;
        }
        match self.limit {
            QueueLimit::Unlimited => true,
            QueueLimit::Packets(limit) => waiting.packets < limit as usize,
            QueueLimit::Bytes(limit) => waiting.bytes + packet.bytes <= limit,
        }
    }

    /// True when the packet may come in.
    pub(super) fn admits(&self, line: LineState, packet: &Held) -> bool {
        self.admits_to(self.backlog(), line, packet)
    }

    /// Takes the packet if there is room, or loses it.
    pub(super) fn take_or_lose(
        &mut self,
        line: LineState,
        packet: Held,
        packets: &mut dyn Packets,
    ) -> bool {
        let admitted = self.admits(line, &packet);
        if admitted {
            self.push(packet);
        } else {
            packets.lost(&packet, LossCause::QueueFull);
        }
        admitted
    }

    pub(super) fn push(&mut self, packet: Held) {
        let place = if packet.first {
            self.packets.iter().take_while(|waiting| waiting.first).count()
        } else {
            self.packets.len()
        };
        self.insert(place, packet);
    }

    pub(super) fn insert(&mut self, place: usize, packet: Held) {
        self.waiting.add(&packet);
        self.packets.insert(place, packet);
    }

    pub(super) fn pop(&mut self) -> Option<Held> {
        self.remove(0)
    }

    pub(super) fn remove(&mut self, place: usize) -> Option<Held> {
        let packet = self.packets.remove(place)?;
        self.waiting.take(&packet);
        Some(packet)
    }

    pub(super) fn get(&self, place: usize) -> Option<Held> {
        self.packets.get(place).copied()
    }

    /// The place of the newest packet of this kind.
    pub(super) fn newest(&self, is: impl Fn(&Held) -> bool) -> Option<usize> {
        self.packets.iter().rposition(is)
    }

    pub(super) const fn backlog(&self) -> Backlog {
        self.waiting
    }
}
