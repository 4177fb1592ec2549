//! Controlled delay: packets are dropped by how long they have waited.

use bentpipe_units::Instant;

use super::control::{CodelConfig, Control};
use super::fifo::Fifo;
use super::stamped::{Longest, Stamped};
use super::{Backlog, Discipline, Held, LineState, Packets};
use crate::{LossCause, QueueLimit};

/// CoDel (RFC 8289): when the sojourn time has been above the target for an interval, packets are
/// dropped at the head, at intervals that shrink with the square root of their number.
///
/// Repairs of the link go before everything, unseen by the control law.
#[derive(Clone, Debug)]
pub struct Codel {
    config: CodelConfig,
    control: Control,
    longest: Longest,
    repairs: Fifo,
    queue: Stamped,
}

impl Codel {
    /// An empty queue. `limit` holds besides.
    pub fn new(config: CodelConfig, limit: QueueLimit) -> Self {
        Self {
            config,
            control: Control::default(),
            longest: Longest::default(),
            repairs: Fifo::new(limit),
            queue: Stamped::default(),
        }
    }
}

impl Discipline for Codel {
    fn enqueue(&mut self, now: Instant, line: LineState, packet: Held, packets: &mut dyn Packets) {
        self.longest.note(&packet);
        if packet.first {
            self.repairs.push(packet);
        } else if self.repairs.admits_to(self.backlog(), line, &packet) {
            self.queue.push(now, packet);
        } else {
            packets.lost(&packet, LossCause::QueueFull);
        }
    }

    fn dequeue(&mut self, now: Instant, packets: &mut dyn Packets) -> Option<Held> {
        if let Some(repair) = self.repairs.pop() {
            return Some(repair);
        }
        self.control.dequeue(now, &self.config, self.longest, &mut self.queue, packets)
    }

    fn backlog(&self) -> Backlog {
        self.repairs.backlog() + self.queue.backlog()
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_units::{ByteCount, Span};
    use bentpipe_wire::Ecn;

    use super::super::testing::{Watched, data, drain, fill, ms};
    use super::*;

    fn queue() -> Codel {
        Codel::new(CodelConfig::default(), QueueLimit::Unlimited)
    }

    /// A thousand packets that came at 0, of which one is taken in each tenth of a millisecond from
    /// `from` to `to`. Returns when something was lost or marked.
    fn hits(queue: &mut Codel, seen: &mut Watched, ecn: Ecn, [from, to]: [u64; 2]) -> Vec<f64> {
        let mut times = Vec::new();
        for tenth in 10 * from..10 * to {
            let now = Instant::from_nanos(100_000 * tenth);
            fill(queue, seen, [Held { ecn, ..data(1) }; 3]);
            let before = seen.lost.len() + seen.marked.len();
            queue.dequeue(now, seen).expect("a packet");
            if seen.lost.len() + seen.marked.len() > before {
                times.push(tenth as f64 / 10.0);
            }
        }
        times
    }

    #[test]
    fn drops_begin_an_interval_after_the_target_and_come_100_ms_over_the_root_of_n_apart() {
        let (mut queue, mut seen) = (queue(), Watched::default());
        let times = hits(&mut queue, &mut seen, Ecn::NotCapable, [0, 500]);
        // 5 ms of sojourn, an interval, and from there 100, 70.71, 57.74, 50, 44.72 ms.
        assert_eq!(times, [105.0, 205.0, 275.8, 333.5, 383.5, 428.2, 469.0]);
        assert!(seen.lost.iter().all(|(_, cause)| *cause == LossCause::Early));
        assert_eq!(seen.lost.len(), times.len());
    }

    #[test]
    fn a_sender_that_understands_marks_loses_nothing_and_is_told_at_the_same_times() {
        for ecn in [Ecn::Capable0, Ecn::Capable1] {
            let (mut queue, mut seen) = (queue(), Watched::default());
            let times = hits(&mut queue, &mut seen, ecn, [0, 300]);
            assert_eq!(times, [105.0, 205.0, 275.8]);
            assert!(seen.lost.is_empty());
        }
        // What another router has marked is left as it is.
        let (mut queue, mut seen) = (queue(), Watched::default());
        assert!(hits(&mut queue, &mut seen, Ecn::Congestion, [0, 300]).is_empty());
        // With `ecn = false` a mark is no way out.
        let config = CodelConfig { ecn: false, ..CodelConfig::default() };
        let mut queue = Codel::new(config, QueueLimit::Unlimited);
        hits(&mut queue, &mut seen, Ecn::Capable0, [0, 300]);
        assert_eq!((seen.lost.len(), seen.marked.len()), (3, 0));
    }

    #[test]
    fn a_sojourn_below_the_target_ends_the_dropping_state() {
        let (mut queue, mut seen) = (queue(), Watched::default());
        hits(&mut queue, &mut seen, Ecn::NotCapable, [0, 290]);
        assert_eq!(seen.lost.len(), 3);
        drain(&mut queue, &mut seen, ms(290));
        let before = seen.lost.len();
        // Another hundred milliseconds pass before there is anything to drop again.
        for id in 0..3 {
            queue.enqueue(ms(290), LineState::Busy, data(id), &mut seen);
        }
        queue.dequeue(ms(295), &mut seen);
        queue.dequeue(ms(390), &mut seen);
        assert_eq!(seen.lost.len(), before);
    }

    /// Fills the queue until four drops have been made, empties it, waits for `pause`, and returns
    /// the time from the first to the second drop after that.
    fn second_gap(pause: u64) -> f64 {
        let (mut queue, mut seen) = (queue(), Watched::default());
        hits(&mut queue, &mut seen, Ecn::NotCapable, [0, 350]);
        assert_eq!(seen.lost.len(), 4);
        queue.queue = Stamped::default();
        queue.dequeue(ms(350), &mut seen);
        let times = hits(&mut queue, &mut seen, Ecn::NotCapable, [350 + pause, 850 + pause]);
        times[1] - times[0]
    }

    #[test]
    fn the_rate_of_the_last_dropping_state_is_taken_up_again_for_sixteen_intervals() {
        // Four drops make a count of 4, less the 1 with which it began: 100 / sqrt(3) = 57.7.
        assert!((second_gap(100) - 57.7).abs() < 0.2, "{}", second_gap(100));
        assert!((second_gap(1_400) - 57.7).abs() < 0.2, "{}", second_gap(1_400));
        assert!((second_gap(1_600) - 100.0).abs() < 0.2, "{}", second_gap(1_600));
    }

    #[test]
    fn nothing_is_dropped_while_no_more_than_the_longest_packet_waits_behind() {
        // A byte more makes the difference.
        for (behind, drops) in [(1000, false), (1001, true)] {
            let (mut queue, mut seen) = (queue(), Watched::default());
            let short = Held { bytes: ByteCount::new(behind - 1000 + 1), ..data(0) };
            let odd = Held { bytes: ByteCount::new(999), ..data(0) };
            fill(&mut queue, &mut seen, [data(1)]);
            queue.dequeue(ms(0), &mut seen);
            for n in 0..50 {
                // Each time one is taken, and so many bytes are left behind it.
                fill(&mut queue, &mut seen, [data(2), short, odd]);
                queue.dequeue(ms(10 * n + 50), &mut seen);
                queue.queue = Stamped::default();
            }
            assert_eq!(!seen.lost.is_empty(), drops, "{behind}");
        }
    }

    #[test]
    fn the_limit_holds_besides_and_repairs_go_first_and_are_never_dropped() {
        let mut queue = Codel::new(CodelConfig::default(), QueueLimit::Packets(2));
        let mut seen = Watched::default();
        let repair = |id| Held { first: true, ..data(id) };
        fill(&mut queue, &mut seen, [data(1), data(2), data(3), repair(4), repair(5)]);
        assert_eq!(seen.lost, [(3, LossCause::QueueFull)]);
        assert_eq!(queue.backlog().packets, 4);
        assert_eq!(drain(&mut queue, &mut seen, ms(9_000)), [4, 5, 1, 2]);
    }

    #[test]
    fn settings_that_make_no_sense_harm_nobody() {
        let config = CodelConfig { target: Span::ZERO, interval: Span::ZERO, ecn: false };
        let mut queue = Codel::new(config, QueueLimit::Unlimited);
        let mut seen = Watched::default();
        fill(&mut queue, &mut seen, (0..100).map(data));
        let left = drain(&mut queue, &mut seen, ms(1)).len();
        assert_eq!(left + seen.lost.len(), 100);
    }
}
