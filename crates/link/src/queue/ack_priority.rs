//! Acknowledgments go before data.

use bentpipe_units::Instant;
use bentpipe_wire::Kind;

use super::fifo::Fifo;
use super::{Backlog, Discipline, Held, LineState, Packets};
use crate::{LossCause, QueueLimit};

/// Acknowledgments first (Balakrishnan, Padmanabhan and Katz 1999, "The effects of asymmetry on TCP
/// performance"): on a slow return link they need not wait behind data that goes the same way.
///
/// After `in_a_row` acknowledgments a waiting packet of another kind has its turn, so that a stream
/// of acknowledgments starves nobody.
#[derive(Clone, Debug)]
pub struct AckPriority {
    acks: Fifo,
    others: Fifo,
    in_a_row: u32,
    /// Acknowledgments sent since a packet of another kind.
    sent: u32,
}

impl AckPriority {
    /// An empty queue. `limit` counts all packets; `in_a_row` is at least 1.
    pub fn new(limit: QueueLimit, in_a_row: u32) -> Self {
        let fifo = || Fifo::new(limit);
        Self { acks: fifo(), others: fifo(), in_a_row: in_a_row.max(1), sent: 0 }
    }
}

/// A packet that only acknowledges: of TCP, or a report of XSTP.
const fn is_ack(packet: &Held) -> bool {
    let reports = Kind::ACK.with(Kind::STAT).with(Kind::USTAT);
    !packet.kind.is_empty() && packet.kind.without(reports).without(Kind::LOW).is_empty()
}

impl Discipline for AckPriority {
    fn enqueue(&mut self, _: Instant, line: LineState, packet: Held, packets: &mut dyn Packets) {
        let fifo = if is_ack(&packet) { &self.acks } else { &self.others };
        if !fifo.admits_to(self.backlog(), line, &packet) {
            packets.lost(&packet, LossCause::QueueFull);
        } else if is_ack(&packet) {
            self.acks.push(packet);
        } else {
            self.others.push(packet);
        }
    }

    fn dequeue(&mut self, _now: Instant, _packets: &mut dyn Packets) -> Option<Held> {
        let starved = self.sent >= self.in_a_row && self.others.backlog().packets > 0;
        if !starved && let Some(ack) = self.acks.pop() {
            self.sent = self.sent.saturating_add(1);
            return Some(ack);
        }
        self.sent = 0;
        self.others.pop()
    }

    fn backlog(&self) -> Backlog {
        self.acks.backlog() + self.others.backlog()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Watched, ack, data, drain, fill, ms};
    use super::*;

    #[test]
    fn acknowledgments_overtake_data_and_keep_their_order() {
        let (mut queue, mut seen) =
            (AckPriority::new(QueueLimit::Packets(9), 8), Watched::default());
        let report = Held { kind: Kind::STAT, ..data(5) };
        let poll = Held { kind: Kind::POLL, ..data(6) };
        let packets = [data(1), ack(2, 1, 10), data(3), ack(4, 1, 20), report, poll];
        fill(&mut queue, &mut seen, packets);
        assert_eq!(drain(&mut queue, &mut seen, ms(0)), [2, 4, 5, 1, 3, 6]);
    }

    #[test]
    fn data_have_their_turn_after_so_many_acknowledgments() {
        let (mut queue, mut seen) =
            (AckPriority::new(QueueLimit::Unlimited, 3), Watched::default());
        fill(&mut queue, &mut seen, (1..=8).map(|n| ack(n, 1, n)));
        fill(&mut queue, &mut seen, [data(100), data(101)]);
        assert_eq!(drain(&mut queue, &mut seen, ms(0)), [1, 2, 3, 100, 4, 5, 6, 101, 7, 8]);
    }

    #[test]
    fn both_kinds_share_the_room() {
        let (mut queue, mut seen) =
            (AckPriority::new(QueueLimit::Packets(2), 8), Watched::default());
        fill(&mut queue, &mut seen, [data(1), ack(2, 1, 10), data(3), ack(4, 1, 20)]);
        let full = LossCause::QueueFull;
        assert_eq!(seen.lost, [(3, full), (4, full)]);
    }
}
