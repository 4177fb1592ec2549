//! First in, first out; what finds the queue full is lost.

use bentpipe_units::Instant;

use super::fifo::Fifo;
use super::{Backlog, Discipline, Held, LineState, Packets};
use crate::QueueLimit;

/// Drop-tail as a queue that holds its packets. The same packets are lost, and the others leave at
/// the same times, as with [`RateQueue`](crate::RateQueue).
#[derive(Clone, Debug)]
pub struct DropTail {
    fifo: Fifo,
}

impl DropTail {
    /// An empty queue.
    pub const fn new(limit: QueueLimit) -> Self {
        Self { fifo: Fifo::new(limit) }
    }
}

impl Discipline for DropTail {
    fn enqueue(&mut self, _: Instant, line: LineState, packet: Held, packets: &mut dyn Packets) {
        self.fifo.take_or_lose(line, packet, packets);
    }

    fn dequeue(&mut self, _now: Instant, _packets: &mut dyn Packets) -> Option<Held> {
        self.fifo.pop()
    }

    fn backlog(&self) -> Backlog {
        self.fifo.backlog()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Watched, data, drain, fill, ms};
    use super::*;

    #[test]
    fn what_goes_first_overtakes_all_others_and_finds_room_in_a_full_queue() {
        let (mut queue, mut seen) = (DropTail::new(QueueLimit::Packets(2)), Watched::default());
        let first = |id| Held { first: true, ..data(id) };
        fill(&mut queue, &mut seen, [data(1), data(2), first(3), first(4), data(5)]);
        assert_eq!(seen.lost, [(5, crate::LossCause::QueueFull)]);
        assert_eq!(drain(&mut queue, &mut seen, ms(0)), [3, 4, 1, 2]);
    }
}
