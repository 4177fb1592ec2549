//! A terminal of a shared uplink: a queue, and the packet that it is sending piece by piece.

use bentpipe_units::{ByteCount, Instant};

use crate::queue::{Backlog, Discipline, Held, LineState, Packets};

/// Sends packets as a stream of bytes, cut where a slot ends and put together at the other end.
#[derive(Debug)]
pub(super) struct Terminal {
    queue: Box<dyn Discipline>,
    /// The packet that is being sent, and how much of it is left.
    current: Option<(Held, u64)>,
}

impl Terminal {
    pub(super) const fn new(queue: Box<dyn Discipline>) -> Self {
        Self { queue, current: None }
    }

    /// A packet comes. It always waits for a slot.
    pub(super) fn enqueue(&mut self, now: Instant, packet: Held, packets: &mut dyn Packets) {
        self.queue.enqueue(now, LineState::Busy, packet, packets);
    }

    /// What waits, what is being sent left out.
    pub(super) fn waiting(&self) -> Backlog {
        self.queue.backlog()
    }

    /// Bytes that wait to be sent.
    pub(super) fn backlog(&self) -> u64 {
        self.queue.backlog().bytes.get() + self.current.map_or(0, |(_, left)| left)
    }

    /// Fills a slot of so many bytes that begins now and ends at `end`. Returns false when there was
    /// nothing to send.
    pub(super) fn fill(
        &mut self,
        now: Instant,
        end: Instant,
        room: ByteCount,
        packets: &mut dyn Packets,
    ) -> bool {
        let mut room = room.get();
        let mut sent = false;
        while room > 0
            && let Some((packet, left)) = self.current.take().or_else(|| {
                self.queue.dequeue(now, packets).map(|packet| (packet, packet.bytes.get()))
            })
        {
            sent = true;
            if left > room {
                self.current = Some((packet, left - room));
                break;
            }
            room -= left;
            packets.departs(&packet, end);
        }
        sent
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::QueueLimit;
    use crate::queue::DropTail;
    use crate::queue::testing::{Watched, data, ms};

    #[test]
    fn packets_are_cut_where_a_slot_ends_and_leave_with_their_last_piece() {
        let mut terminal = Terminal::new(Box::new(DropTail::new(QueueLimit::Unlimited)));
        let mut seen = Watched::default();
        terminal.enqueue(ms(0), data(1), &mut seen);
        terminal.enqueue(ms(0), data(2), &mut seen);
        assert_eq!(terminal.backlog(), 2000);
        for (slot, left) in [(1, 1400), (2, 800), (3, 200), (4, 0)] {
            assert!(terminal.fill(ms(slot), ms(slot + 1), ByteCount::new(600), &mut seen));
            assert_eq!(terminal.backlog(), left);
        }
        assert_eq!(seen.departed, [(1, ms(3)), (2, ms(5))]);
        assert!(!terminal.fill(ms(5), ms(6), ByteCount::new(600), &mut seen));
    }
}
