//! Two classes: where room is short, packets of low priority give way.

use bentpipe_units::Instant;
use bentpipe_wire::Kind;

use super::fifo::Fifo;
use super::{Backlog, Discipline, Held, LineState, Packets};
use crate::{LossCause, QueueLimit};

/// Priority dropping, as TCP Fast Start and TCP Peach ask of routers: first in, first out, but when
/// the queue is full, the newest packets of [`Kind::LOW`] make room for one of the other class.
///
/// A packet of low priority never costs another one its place.
#[derive(Clone, Debug)]
pub struct DropLowPriority {
    fifo: Fifo,
    low: Backlog,
}

impl DropLowPriority {
    /// An empty queue. `limit` counts both classes.
    pub fn new(limit: QueueLimit) -> Self {
        Self { fifo: Fifo::new(limit), low: Backlog::default() }
    }

    /// Loses the newest packets of low priority until there is room for `packet`; none of them when
    /// even that would not help.
    fn make_room(&mut self, line: LineState, packet: &Held, packets: &mut dyn Packets) {
        let all = self.fifo.backlog();
        let others =
            Backlog { packets: all.packets - self.low.packets, bytes: all.bytes - self.low.bytes };
        if is_low(packet) || !self.fifo.admits_to(others, line, packet) {
            return;
        }
        while !self.fifo.admits(line, packet)
            && let Some(newest) = self.fifo.newest(is_low)
            && let Some(low) = self.fifo.remove(newest)
        {
            self.low.take(&low);
            packets.lost(&low, LossCause::QueueFull);
        }
    }
}

const fn is_low(packet: &Held) -> bool {
    packet.kind.contains(Kind::LOW)
}

impl Discipline for DropLowPriority {
    fn enqueue(&mut self, _: Instant, line: LineState, packet: Held, packets: &mut dyn Packets) {
        self.make_room(line, &packet, packets);
        if self.fifo.take_or_lose(line, packet, packets) && is_low(&packet) {
            self.low.add(&packet);
        }
    }

    fn dequeue(&mut self, _now: Instant, _packets: &mut dyn Packets) -> Option<Held> {
        let packet = self.fifo.pop()?;
        if is_low(&packet) {
            self.low.take(&packet);
        }
        Some(packet)
    }

    fn backlog(&self) -> Backlog {
        self.fifo.backlog()
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_units::ByteCount;

    use super::super::testing::{Watched, data, drain, fill, ms};
    use super::*;

    fn low(id: u32) -> Held {
        Held { kind: Kind::DATA.with(Kind::LOW), ..data(id) }
    }

    const FULL: LossCause = LossCause::QueueFull;

    #[test]
    fn the_newest_packets_of_low_priority_make_room_and_order_is_kept() {
        let (mut queue, mut seen) =
            (DropLowPriority::new(QueueLimit::Packets(4)), Watched::default());
        fill(&mut queue, &mut seen, [data(1), low(2), low(3), data(4), data(5)]);
        assert_eq!(seen.lost, [(3, FULL)]);
        assert_eq!(drain(&mut queue, &mut seen, ms(0)), [1, 2, 4, 5]);
        assert_eq!(queue.backlog(), Backlog::default());
    }

    #[test]
    fn where_all_are_alike_the_one_that_comes_is_lost() {
        for class in [data, low] {
            let (mut queue, mut seen) =
                (DropLowPriority::new(QueueLimit::Packets(2)), Watched::default());
            fill(&mut queue, &mut seen, [class(1), class(2), class(3)]);
            assert_eq!(seen.lost, [(3, FULL)]);
        }
        let (mut queue, mut seen) =
            (DropLowPriority::new(QueueLimit::Packets(2)), Watched::default());
        fill(&mut queue, &mut seen, [data(1), data(2), low(3)]);
        assert_eq!(seen.lost, [(3, FULL)]);
    }

    #[test]
    fn nobody_is_thrown_out_in_vain() {
        let limit = QueueLimit::Bytes(ByteCount::new(2500));
        let (mut queue, mut seen) = (DropLowPriority::new(limit), Watched::default());
        let long = Held { bytes: ByteCount::new(1600), ..data(9) };
        fill(&mut queue, &mut seen, [data(1), low(2), long]);
        assert_eq!(seen.lost, [(9, FULL)]);
        let fits = Held { bytes: ByteCount::new(1500), ..data(8) };
        fill(&mut queue, &mut seen, [fits]);
        assert_eq!(seen.lost, [(9, FULL), (2, FULL)]);
    }
}
