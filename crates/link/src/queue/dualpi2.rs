//! Two queues, for senders of low latency and for all others, that are marked and dropped together.

use bentpipe_units::{Instant, Span};
use bentpipe_wire::Ecn;

use super::fifo::Fifo;
use super::pi::{Controller, Updates};
use super::stamped::{Longest, Stamped, mark, signed};
use super::{Backlog, Discipline, Held, LineState, Packets};
use crate::{LossCause, QueueLimit, Stream};

/// Of bytes that are sent while both queues wait, parts for the L queue and for the classic one.
const WEIGHTS: [i64; 2] = [9, 1];

/// Settings of [`DualPi2`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DualPi2Config {
    /// Queueing delay that is aimed at in the classic queue.
    pub target: Span,
    /// Time between two updates of the probability.
    pub update: Span,
    /// Change of the probability for each second of delay above the target.
    pub alpha: f64,
    /// Change of the probability for each second by which the delay has grown.
    pub beta: f64,
    /// Probability of a mark in the L queue for each unit of the base probability; above 0.
    pub coupling: f64,
    /// Sojourn time above which every packet of the L queue is marked.
    pub step: Span,
}

impl Default for DualPi2Config {
    fn default() -> Self {
        Self {
            target: Span::from_millis(15),
            update: Span::from_millis(16),
            alpha: 0.16,
            beta: 3.2,
            coupling: 2.0,
            step: Span::from_millis(1),
        }
    }
}

/// DualPI2 (RFC 9332, appendix A). ECT(1) and CE wait in the L queue, everything else in the
/// classic one. Names of probabilities are those of the RFC: from the base p' follow p_CL =
/// coupling · p' for marks in the L queue and p_C = p'^2 for drops and marks in the classic one.
///
/// Repairs of the link go before everything and are never dropped.
#[derive(Clone, Debug)]
pub struct DualPi2 {
    config: DualPi2Config,
    updates: Updates,
    pi: Controller,
    longest: Longest,
    repairs: Fifo,
    low_latency: Stamped,
    classic: Stamped,
    /// What the classic queue has earned by the bytes of the other one, less what it has spent; its
    /// turn comes above zero.
    credit: i64,
    stream: Stream,
}

impl DualPi2 {
    /// An empty queue. `limit` counts both.
    pub fn new(config: DualPi2Config, limit: QueueLimit, stream: Stream) -> Self {
        Self {
            config,
            updates: Updates::new(config.update),
            pi: Controller::new(config.target, config.alpha, config.beta),
            longest: Longest::default(),
            repairs: Fifo::new(limit),
            low_latency: Stamped::default(),
            classic: Stamped::default(),
            credit: 0,
            stream,
        }
    }

    /// The base probability p'.
    pub const fn probability(&self) -> f64 {
        self.pi.probability
    }

    /// Makes up for the updates until now: the packets at the heads have been there at all of them.
    fn catch_up(&mut self, now: Instant) {
        for at in self.updates.due(now) {
            let delay = self.classic.sojourn(at).max(self.low_latency.sojourn(at));
            let error = self.pi.error(delay);
            self.pi.change(error);
        }
    }

    /// True when it is the turn of the L queue: weighted round robin while both wait.
    const fn low_latency_next(&self) -> bool {
        let waits = self.low_latency.backlog().packets > 0;
        waits && (self.credit <= 0 || self.classic.backlog().packets == 0)
    }

    /// Nothing is owed while one queue is empty: it is as if the classic one had just had its turn.
    fn reset_credit(&mut self) {
        if self.low_latency.backlog().packets == 0 || self.classic.backlog().packets == 0 {
            let [low_latency, classic] = WEIGHTS;
            self.credit = signed(self.longest.0).saturating_mul(classic - low_latency);
        }
    }

    /// Counts what a queue sends.
    fn charge(&mut self, low_latency: bool, packet: &Held) {
        let bytes = signed(packet.bytes);
        let [weight, other] = WEIGHTS;
        let change =
            if low_latency { bytes.saturating_mul(other) } else { bytes.saturating_mul(-weight) };
        self.credit = self.credit.saturating_add(change);
    }

    /// Marks a packet of the L queue if it has to be. False when it is to be lost.
    fn keeps_low_latency(
        &mut self,
        packet: &Held,
        sojourn: Span,
        alone: bool,
        packets: &mut dyn Packets,
    ) -> bool {
        let base = self.pi.probability;
        let coupled = self.config.coupling * base;
        if coupled >= 1.0 {
            // Overload: marks say no more, and L is dropped like classic traffic.
            return !self.stream.chance(base * base) && mark(packet, packets);
        }
        if sojourn > self.config.step && !alone || self.stream.chance(coupled) {
            mark(packet, packets);
        }
        true
    }

    /// Marks a packet of the classic queue if it has to be. False when it is to be lost.
    fn keeps_classic(&mut self, packet: &Held, packets: &mut dyn Packets) -> bool {
        let base = self.pi.probability;
        if !self.stream.chance(base * base) {
            return true;
        }
        let overload = self.config.coupling * base >= 1.0;
        !overload && mark(packet, packets)
    }
}

impl Discipline for DualPi2 {
    fn enqueue(&mut self, now: Instant, line: LineState, packet: Held, packets: &mut dyn Packets) {
        self.catch_up(now);
        self.longest.note(&packet);
        self.reset_credit();
        if packet.first {
            self.repairs.push(packet);
        } else if !self.repairs.admits_to(self.backlog(), line, &packet) {
            packets.lost(&packet, LossCause::QueueFull);
        } else if matches!(packet.ecn, Ecn::Capable1 | Ecn::Congestion) {
            self.low_latency.push(now, packet);
        } else {
            self.classic.push(now, packet);
        }
    }

    fn dequeue(&mut self, now: Instant, packets: &mut dyn Packets) -> Option<Held> {
        self.catch_up(now);
        if let Some(repair) = self.repairs.pop() {
            return Some(repair);
        }
        loop {
            let low_latency = self.low_latency_next();
            let queue = if low_latency { &mut self.low_latency } else { &mut self.classic };
            let (arrived, packet) = queue.pop()?;
            // Too little to be a standing queue: without this, slow links would lose all they have.
            let waiting = queue.backlog().packets;
            let few = (self.low_latency.backlog() + self.classic.backlog()).bytes < self.longest.0;
            let keeps = few
                || if low_latency {
                    self.keeps_low_latency(&packet, now.since(arrived), waiting == 0, packets)
                } else {
                    self.keeps_classic(&packet, packets)
                };
            if keeps {
                self.charge(low_latency, &packet);
                return Some(packet);
            }
            packets.lost(&packet, LossCause::Early);
        }
    }

    fn backlog(&self) -> Backlog {
        self.repairs.backlog() + self.low_latency.backlog() + self.classic.backlog()
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_units::ByteCount;

    use super::super::testing::{Watched, data, drain, fill, ms};
    use super::*;
    use crate::Streams;

    const TAKEN: u32 = 20_000;

    fn queue(limit: QueueLimit) -> DualPi2 {
        DualPi2::new(DualPi2Config::default(), limit, Streams::new(1).stream("dualpi2"))
    }

    fn packet(id: u32, ecn: Ecn) -> Held {
        Held { ecn, ..data(id) }
    }

    /// The shares lost and marked of 20,000 packets taken at this base probability, all of one kind.
    fn hit(base: f64, ecn: Ecn) -> [f64; 2] {
        let (mut queue, mut seen) = (queue(QueueLimit::Unlimited), Watched::default());
        queue.pi.probability = base;
        fill(&mut queue, &mut seen, (0..TAKEN + 9).map(|id| packet(id, ecn)));
        while queue.backlog().packets > 9 {
            queue.dequeue(ms(0), &mut seen);
        }
        assert!(seen.lost.iter().all(|(_, cause)| *cause == LossCause::Early));
        [seen.lost.len(), seen.marked.len()].map(|n| n as f64 / f64::from(TAKEN))
    }

    fn assert_near(found: [f64; 2], expected: [f64; 2], what: f64) {
        for (found, expected) in found.into_iter().zip(expected) {
            assert!((found - expected).abs() < 0.012, "{what}: {found}, not {expected}");
        }
    }

    #[test]
    fn the_l_queue_is_marked_with_coupling_times_the_base_and_the_classic_one_hit_with_its_square()
    {
        for base in [0.05, 0.2, 0.4] {
            assert_near(hit(base, Ecn::Capable1), [0.0, 2.0 * base], base);
            assert_near(hit(base, Ecn::NotCapable), [base * base, 0.0], base);
            assert_near(hit(base, Ecn::Capable0), [0.0, base * base], base);
        }
    }

    #[test]
    fn from_a_quarter_on_everybody_is_dropped_and_what_is_left_of_the_l_queue_marked() {
        for base in [0.5, 0.7] {
            let p = base * base;
            assert_near(hit(base, Ecn::Capable1), [p, 1.0 - p], base);
            assert_near(hit(base, Ecn::NotCapable), [p, 0.0], base);
            assert_near(hit(base, Ecn::Capable0), [p, 0.0], base);
        }
        assert_near(hit(0.499, Ecn::Capable0), [0.0, 0.249], 0.499);
    }

    #[test]
    fn a_packet_of_the_l_queue_is_marked_above_the_step_unless_it_is_alone() {
        let (mut queue, mut seen) = (queue(QueueLimit::Unlimited), Watched::default());
        fill(&mut queue, &mut seen, (0..4).map(|id| packet(id, Ecn::Capable1)));
        fill(&mut queue, &mut seen, [packet(9, Ecn::Capable0), packet(10, Ecn::Capable0)]);
        queue.dequeue(ms(1), &mut seen);
        assert!(seen.marked.is_empty(), "at the step");
        let later = Instant::from_nanos(1_000_001);
        assert_eq!(drain(&mut queue, &mut seen, later)[..3], [1, 2, 3]);
        assert_eq!(seen.marked, [1, 2]);
    }

    #[test]
    fn marks_that_others_made_go_to_the_l_queue_and_stay_as_they_are() {
        let (mut queue, mut seen) = (queue(QueueLimit::Unlimited), Watched::default());
        fill(&mut queue, &mut seen, [packet(1, Ecn::NotCapable), packet(2, Ecn::Capable0)]);
        fill(&mut queue, &mut seen, [packet(3, Ecn::Congestion), packet(4, Ecn::Capable1)]);
        assert_eq!(drain(&mut queue, &mut seen, ms(0)), [3, 4, 1, 2]);
        assert_eq!(hit(0.2, Ecn::Congestion), [0.0, 0.0]);
    }

    #[test]
    fn while_both_wait_the_l_queue_sends_nine_bytes_of_ten() {
        for lengths in [[1000, 1000], [100, 1500], [1500, 100]] {
            let (mut queue, mut seen) = (queue(QueueLimit::Unlimited), Watched::default());
            let of = |ecn, bytes| Held { bytes: ByteCount::new(bytes), ..packet(0, ecn) };
            for _ in 0..20_000 {
                let both = [of(Ecn::Capable1, lengths[0]), of(Ecn::NotCapable, lengths[1])];
                fill(&mut queue, &mut seen, both);
            }
            let mut sent = [0; 2];
            while sent[0] + sent[1] < 1_000_000 {
                let packet = queue.dequeue(ms(0), &mut seen).expect("a packet");
                sent[usize::from(packet.ecn == Ecn::NotCapable)] += packet.bytes.get();
            }
            let share = sent[1] as f64 / (sent[0] + sent[1]) as f64;
            assert!((share - 0.1).abs() < 0.002, "{lengths:?}: {share}");
        }
    }

    #[test]
    fn the_base_probability_follows_the_longer_delay_at_each_update() {
        let (mut queue, mut seen) = (queue(QueueLimit::Unlimited), Watched::default());
        fill(&mut queue, &mut seen, [packet(1, Ecn::Capable1), packet(2, Ecn::Capable1)]);
        queue.enqueue(ms(10), LineState::Busy, packet(3, Ecn::NotCapable), &mut seen);
        // At 16 ms: 0.16 · 1 ms + 3.2 · 16 ms. At 32 ms: 0.16 · 17 ms + 3.2 · 16 ms more.
        for (at, expected) in [(15, 0.0), (16, 0.051_36), (47, 0.105_28)] {
            queue.catch_up(ms(at));
            assert!((queue.probability() - expected).abs() < 1e-12, "{}", queue.probability());
        }
        // And while nothing waits it returns to nothing.
        drain(&mut queue, &mut seen, ms(47));
        queue.catch_up(ms(60_000));
        assert_eq!(queue.probability(), 0.0);
    }

    #[test]
    fn nothing_is_hit_while_less_than_the_longest_packet_waits_behind() {
        let (mut queue, mut seen) = (queue(QueueLimit::Unlimited), Watched::default());
        queue.pi.probability = 1.0;
        fill(&mut queue, &mut seen, [data(1), data(2)]);
        assert_eq!(drain(&mut queue, &mut seen, ms(0)), [2]);
        assert_eq!(seen.lost, [(1, LossCause::Early)]);
    }

    #[test]
    fn both_queues_share_the_room_and_repairs_go_first_and_are_never_dropped() {
        let (mut queue, mut seen) = (queue(QueueLimit::Packets(2)), Watched::default());
        let repair = |id| Held { first: true, ..data(id) };
        let ordinary = [packet(1, Ecn::NotCapable), packet(2, Ecn::Capable1), data(3)];
        fill(&mut queue, &mut seen, ordinary);
        fill(&mut queue, &mut seen, [packet(4, Ecn::Capable1), repair(5), repair(6)]);
        let full = LossCause::QueueFull;
        assert_eq!(seen.lost, [(3, full), (4, full)]);
        queue.pi.probability = 1.0;
        assert_eq!(queue.dequeue(ms(0), &mut seen).map(|packet| packet.id), Some(5));
        assert_eq!(queue.dequeue(ms(0), &mut seen).map(|packet| packet.id), Some(6));
        assert_eq!(queue.backlog().packets, 2);
    }
}
