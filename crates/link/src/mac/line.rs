//! A transmitter of its own.

use bentpipe_units::{BitRate, Instant};

use super::Mac;
use crate::queue::{Backlog, Discipline, Held, LineState, Packets};

/// Sends packets one after another at the line rate, in the order in which its queue gives them.
#[derive(Debug)]
pub struct Line {
    rate: BitRate,
    queue: Box<dyn Discipline>,
    /// When the packet in transmission is sent.
    free_at: Instant,
}

impl Line {
    /// An idle transmitter behind a queue.
    pub const fn new(rate: BitRate, queue: Box<dyn Discipline>) -> Self {
        Self { rate, queue, free_at: Instant::ZERO }
    }

    /// Sends what may go by now.
    fn serve(&mut self, now: Instant, packets: &mut dyn Packets) {
        while self.free_at <= now
            && let Some(packet) = self.queue.dequeue(now, packets)
        {
            self.free_at = now + self.rate.time_for(packet.bytes);
            packets.departs(&packet, self.free_at);
        }
    }
}

impl Mac for Line {
    fn enqueue(&mut self, now: Instant, packet: Held, packets: &mut dyn Packets) {
        // Whose turn comes at this very moment waits no more.
        self.serve(now, packets);
        let idle = self.free_at <= now && self.queue.backlog().packets == 0;
        let state = if idle { LineState::Idle } else { LineState::Busy };
        self.queue.enqueue(now, state, packet, packets);
        self.serve(now, packets);
    }

    fn handle_timeout(&mut self, now: Instant, packets: &mut dyn Packets) {
        self.serve(now, packets);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        if self.queue.backlog().packets == 0 {
            return None;
        }
        Some(self.queue.ready_at().max(self.free_at))
    }

    fn waiting(&self, _line: u16) -> Backlog {
        self.queue.backlog()
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_units::{ByteCount, Span};
    use bentpipe_wire::Kind;
    use proptest::prelude::*;

    use super::*;
    use crate::queue::testing::{Watched, ack, data, ms};
    use crate::queue::{AckPriority, AckReconstruction, AckReconstructionConfig, DropTail};
    use crate::{Fate, LossCause, Model, Passing, QueueLimit, RateQueue};

    /// 1000 bytes take a millisecond.
    const RATE: BitRate = BitRate::from_bps(8_000_000);

    /// Lets the deadlines up to `now` pass; those at `now` only with `too`.
    fn pass_time(line: &mut Line, seen: &mut Watched, now: Instant, too: bool) {
        while let Some(at) = line.poll_timeout()
            && (at < now || too && at == now)
        {
            line.handle_timeout(at, seen);
        }
    }

    #[test]
    fn what_waits_leaves_in_the_order_of_the_queue_and_at_the_line_rate() {
        let queue = AckPriority::new(QueueLimit::Unlimited, 8);
        let (mut line, mut seen) = (Line::new(RATE, Box::new(queue)), Watched::default());
        for packet in [data(1), data(2), ack(3, 1, 10)] {
            line.enqueue(ms(0), packet, &mut seen);
        }
        assert_eq!(line.poll_timeout(), Some(ms(1)));
        pass_time(&mut line, &mut seen, ms(10), true);
        let forty = Span::from_micros(40);
        assert_eq!(seen.departed, [(1, ms(1)), (3, ms(1) + forty), (2, ms(2) + forty)]);
        assert_eq!(line.poll_timeout(), None);
    }

    #[test]
    fn a_queue_may_hold_packets_back_while_the_line_is_idle() {
        let queue =
            AckReconstruction::new(AckReconstructionConfig::default(), QueueLimit::Unlimited);
        let (mut line, mut seen) = (Line::new(RATE, Box::new(queue)), Watched::default());
        line.enqueue(ms(0), ack(1, 1, 0), &mut seen);
        line.enqueue(ms(40), ack(2, 1, 8 * 1460), &mut seen);
        assert_eq!(line.poll_timeout(), Some(ms(50)));
        pass_time(&mut line, &mut seen, ms(100), true);
        let times: Vec<_> = seen.departed.iter().map(|(_, at)| *at).collect();
        let forty = Span::from_micros(40);
        assert_eq!(times, [0, 40, 50, 60, 70].map(|n| ms(n) + forty));
    }

    proptest! {
        /// A queue that holds packets against one that knows their fate when they come.
        #[test]
        fn drop_tail_that_holds_its_packets_does_what_the_rate_queue_does(
            limit in prop_oneof![
                Just(QueueLimit::Unlimited),
                (0u32..6).prop_map(QueueLimit::Packets),
                (0u64..6000).prop_map(|n| QueueLimit::Bytes(ByteCount::new(n))),
            ],
            // Steps of a quarter of a packet's time: many arrive at the moment when one leaves.
            arrivals in prop::collection::vec((0u64..8, 1u64..5), 1..200),
        ) {
            let mut eager = RateQueue::new(RATE, limit);
            let mut line = Line::new(RATE, Box::new(DropTail::new(limit)));
            let (mut seen, mut expected) = (Watched::default(), Watched::default());
            let mut now = Instant::ZERO;
            for (id, (gap, quarters)) in arrivals.into_iter().enumerate() {
                now += Span::from_micros(250 * gap);
                pass_time(&mut line, &mut seen, now, false);
                let bytes = ByteCount::new(250 * quarters);
                let packet = Held { bytes, ..data(id as u32) };
                line.enqueue(now, packet, &mut seen);
                match eager.pass(now, &Passing { bytes, kind: Kind::DATA }) {
                    Fate::Leaves(at) => expected.departed.push((packet.id, at)),
                    _ => expected.lost.push((packet.id, LossCause::QueueFull)),
                }
            }
            pass_time(&mut line, &mut seen, Instant::MAX, true);
            prop_assert_eq!(seen.departed, expected.departed);
            prop_assert_eq!(seen.lost, expected.lost);
        }
    }
}
