//! PIE: packets are dropped when they come, with a probability that follows the queueing delay.

use bentpipe_units::{ByteCount, Instant, Span};

use super::fifo::Fifo;
use super::pi::{Controller, Updates};
use super::stamped::{Longest, Stamped, mark};
use super::{Backlog, Discipline, Held, LineState, Packets};
use crate::{LossCause, QueueLimit, Stream};

/// While the probability is below the first number, changes are divided by the second (RFC 8033,
/// section 4.2).
const SCALE: [(f64, f64); 6] =
    [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (0.1, 2.0)];
/// From a probability of 0.1 on, most by which it grows at once (RFC 8033, section 5.5).
const CAP: f64 = 0.02;
/// What remains of the probability at each update while nothing waits.
const DECAY: f64 = 0.98;
/// Below this probability nothing is dropped while the delay is below half of the target.
const SAFE: f64 = 0.2;

/// Settings of [`Pie`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PieConfig {
    /// Queueing delay that is aimed at.
    pub target: Span,
    /// Time between two updates of the probability.
    pub update: Span,
    /// Change of the probability for each second of delay above the target.
    pub alpha: f64,
    /// Change of the probability for each second by which the delay has grown.
    pub beta: f64,
    /// How long a burst passes unharmed after a quiet time.
    pub max_burst: Span,
    /// Packets of senders that understand marks are marked and not dropped.
    pub ecn: bool,
    /// Probability above which they are dropped all the same.
    pub mark_threshold: f64,
}

impl Default for PieConfig {
    fn default() -> Self {
        Self {
            target: Span::from_millis(15),
            update: Span::from_millis(15),
            alpha: 0.125,
            beta: 1.25,
            max_burst: Span::from_millis(150),
            ecn: true,
            mark_threshold: 0.1,
        }
    }
}

/// PIE (RFC 8033). The delay is how long the packet at the head has waited; what is dropped is
/// drawn for each packet, without the derandomization of section 5.4.
///
/// Repairs of the link go before everything and are never dropped.
#[derive(Clone, Debug)]
pub struct Pie {
    config: PieConfig,
    updates: Updates,
    pi: Controller,
    /// Time for which nothing will be dropped.
    burst_allowance: Span,
    longest: Longest,
    repairs: Fifo,
    queue: Stamped,
    stream: Stream,
}

impl Pie {
    /// An empty queue. `limit` holds besides.
    pub fn new(config: PieConfig, limit: QueueLimit, stream: Stream) -> Self {
        Self {
            config,
            updates: Updates::new(config.update),
            pi: Controller::new(config.target, config.alpha, config.beta),
            burst_allowance: config.max_burst,
            longest: Longest::default(),
            repairs: Fifo::new(limit),
            queue: Stamped::default(),
            stream,
        }
    }

    /// The drop probability.
    pub const fn probability(&self) -> f64 {
        self.pi.probability
    }

    /// Makes up for the updates until now: the packet at the head has been there at all of them.
    fn catch_up(&mut self, now: Instant) {
        for at in self.updates.due(now) {
            self.update(self.queue.sojourn(at));
        }
    }

    fn update(&mut self, delay: Span) {
        let before = self.pi.delay;
        let mut change = self.pi.error(delay) / scale(self.pi.probability);
        if self.pi.probability >= 0.1 {
            change = change.min(CAP);
        }
        self.pi.change(change);
        if delay.is_zero() && before.is_zero() {
            self.pi.probability *= DECAY;
        }
        let quiet = self.config.target / 2;
        self.burst_allowance = if self.pi.probability == 0.0 && delay.max(before) < quiet {
            self.config.max_burst
        } else {
            self.burst_allowance - self.config.update
        };
    }

    /// True when the packet that comes is hit.
    fn hits(&mut self) -> bool {
        let relaxed = self.pi.delay < self.config.target / 2 && self.pi.probability < SAFE;
        let few = self.queue.backlog().bytes <= ByteCount::new(2 * self.longest.0.get());
        self.burst_allowance.is_zero()
            && !relaxed
            && !few
            && self.stream.chance(self.pi.probability)
    }
}

/// By what changes are divided at this probability.
fn scale(probability: f64) -> f64 {
    SCALE.iter().find(|(below, _)| probability < *below).map_or(1.0, |(_, by)| *by)
}

impl Discipline for Pie {
    fn enqueue(&mut self, now: Instant, line: LineState, packet: Held, packets: &mut dyn Packets) {
        self.catch_up(now);
        self.longest.note(&packet);
        if packet.first {
            self.repairs.push(packet);
            return;
        }
        if !self.repairs.admits_to(self.backlog(), line, &packet) {
            packets.lost(&packet, LossCause::QueueFull);
            return;
        }
        if self.hits() {
            let marks = self.config.ecn && self.pi.probability <= self.config.mark_threshold;
            if !(marks && mark(&packet, packets)) {
                packets.lost(&packet, LossCause::Early);
                return;
            }
        }
        self.queue.push(now, packet);
    }

    fn dequeue(&mut self, now: Instant, _packets: &mut dyn Packets) -> Option<Held> {
        self.catch_up(now);
        self.repairs.pop().or_else(|| self.queue.pop().map(|(_, packet)| packet))
    }

    fn backlog(&self) -> Backlog {
        self.repairs.backlog() + self.queue.backlog()
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_wire::Ecn;

    use super::super::testing::{Watched, data, drain, fill, ms};
    use super::*;
    use crate::Streams;

    fn queue_of(config: PieConfig) -> Pie {
        Pie::new(config, QueueLimit::Unlimited, Streams::new(1).stream("pie"))
    }

    /// A queue with this probability that has stood at `delay` for so long that no burst is let through.
    fn standing(probability: f64, delay: Span) -> Pie {
        let mut queue = queue_of(PieConfig::default());
        (queue.pi.probability, queue.pi.delay) = (probability, delay);
        queue.burst_allowance = Span::ZERO;
        queue
    }

    /// The share of 20,000 packets that come at 0 and are lost, and of those that are marked.
    fn hit(mut queue: Pie, ecn: Ecn) -> [f64; 2] {
        let mut seen = Watched::default();
        fill(&mut queue, &mut seen, [Held { first: true, ..data(0) }]);
        queue.queue.push(ms(0), data(0));
        queue.queue.push(ms(0), data(0));
        queue.queue.push(ms(0), data(0));
        for id in 0..20_000 {
            let packet = Held { ecn, ..data(id) };
            queue.enqueue(ms(0), LineState::Busy, packet, &mut seen);
        }
        assert!(seen.lost.iter().all(|(_, cause)| *cause == LossCause::Early));
        [seen.lost.len(), seen.marked.len()].map(|n| n as f64 / 20_000.0)
    }

    fn near(one: f64, other: f64) -> bool {
        (one - other).abs() < 0.01
    }

    #[test]
    fn packets_are_dropped_with_the_probability() {
        for p in [0.02, 0.1, 0.5, 1.0] {
            let [lost, marked] = hit(standing(p, Span::from_millis(20)), Ecn::NotCapable);
            assert!(near(lost, p) && marked == 0.0, "{p}: {lost}");
        }
    }

    #[test]
    fn a_sender_that_understands_marks_is_marked_up_to_ten_percent_and_dropped_above() {
        let delay = Span::from_millis(20);
        let [lost, marked] = hit(standing(0.1, delay), Ecn::Capable0);
        assert!(lost == 0.0 && near(marked, 0.1), "{lost} {marked}");
        let [lost, marked] = hit(standing(0.11, delay), Ecn::Capable1);
        assert!(near(lost, 0.11) && marked == 0.0, "{lost} {marked}");
        let mut queue = standing(0.1, delay);
        queue.config.ecn = false;
        let [lost, marked] = hit(queue, Ecn::Capable0);
        assert!(near(lost, 0.1) && marked == 0.0, "{lost} {marked}");
    }

    #[test]
    fn nothing_is_dropped_below_half_of_the_target_and_twenty_percent() {
        let short = Span::from_micros(7_499);
        assert_eq!(hit(standing(0.19, short), Ecn::NotCapable)[0], 0.0);
        assert!(near(hit(standing(0.21, short), Ecn::NotCapable)[0], 0.21));
        assert!(near(hit(standing(0.19, Span::from_micros(7_500)), Ecn::NotCapable)[0], 0.19));
    }

    #[test]
    fn nothing_is_dropped_while_no_more_than_two_packets_wait_or_a_burst_is_let_through() {
        let (mut queue, mut seen) = (standing(1.0, Span::from_millis(20)), Watched::default());
        fill(&mut queue, &mut seen, (0..9).map(data));
        assert_eq!(seen.lost.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [3, 4, 5, 6, 7, 8]);
        let mut queue = standing(1.0, Span::from_millis(20));
        queue.burst_allowance = Span::from_nanos(1);
        assert_eq!(hit(queue, Ecn::NotCapable)[0], 0.0);
    }

    #[test]
    fn changes_are_smaller_while_the_probability_is_small() {
        // 0.125 · (23 ms − 15 ms) = 0.001 at a delay that stays.
        for (p, by) in [
            (0.0, 2048.0),
            (9e-7, 2048.0),
            (1e-6, 512.0),
            (1e-5, 128.0),
            (1e-4, 32.0),
            (1e-3, 8.0),
            (1e-2, 2.0),
            (0.1, 1.0),
            (0.5, 1.0),
        ] {
            let mut queue = standing(p, Span::from_millis(23));
            queue.update(Span::from_millis(23));
            let change = queue.probability() - p;
            assert!((change * by - 0.001).abs() < 1e-9, "{p}: {change}");
        }
    }

    #[test]
    fn from_ten_percent_on_the_probability_grows_by_two_points_at_most() {
        let mut queue = standing(0.1, Span::ZERO);
        queue.update(Span::from_secs(1));
        assert!((queue.probability() - 0.12).abs() < 1e-12);
        let mut queue = standing(0.05, Span::ZERO);
        queue.update(Span::from_secs(1));
        assert!(queue.probability() > 0.6);
    }

    #[test]
    fn the_probability_decays_while_nothing_waits_and_then_a_burst_is_let_through_again() {
        let mut queue = standing(0.5, Span::ZERO);
        queue.update(Span::ZERO);
        // Less 0.125 · 15 ms, and of that 98 %.
        assert!((queue.probability() - 0.98 * (0.5 - 0.001_875)).abs() < 1e-12);
        assert_eq!(queue.burst_allowance, Span::ZERO);
        let mut seen = Watched::default();
        queue.dequeue(ms(60_000), &mut seen);
        assert_eq!(queue.probability(), 0.0);
        assert_eq!(queue.burst_allowance, Span::from_millis(150));
    }

    #[test]
    fn a_burst_is_let_through_for_ten_updates() {
        let (mut queue, mut seen) = (queue_of(PieConfig::default()), Watched::default());
        for n in 0..1_000_u64 {
            // Packets leave half as fast as they come: the queue stands from the start.
            queue.enqueue(ms(n), LineState::Busy, data(n as u32), &mut seen);
            queue.enqueue(ms(n), LineState::Busy, data(n as u32), &mut seen);
            queue.dequeue(ms(n), &mut seen);
            if n < 150 {
                assert!(seen.lost.is_empty(), "{n}");
            }
        }
        assert!(!seen.lost.is_empty());
    }

    #[test]
    fn updates_are_made_at_their_times_whether_anybody_calls_or_not() {
        let mut seen = Watched::default();
        let [often, once] = [1, 1_000].map(|step| {
            let mut queue = queue_of(PieConfig::default());
            fill(&mut queue, &mut seen, (0..10).map(data));
            for n in (0..=1_000).step_by(step) {
                queue.catch_up(ms(n));
            }
            queue
        });
        assert!(often.probability() > 0.1);
        assert_eq!(often.probability(), once.probability());
        assert_eq!(often.burst_allowance, once.burst_allowance);
    }

    #[test]
    fn the_limit_holds_besides_and_repairs_go_first_and_are_never_dropped() {
        let mut queue =
            Pie::new(PieConfig::default(), QueueLimit::Packets(2), Streams::new(1).stream("pie"));
        let mut seen = Watched::default();
        let repair = |id| Held { first: true, ..data(id) };
        fill(&mut queue, &mut seen, [data(1), data(2), data(3), repair(4), repair(5)]);
        assert_eq!(seen.lost, [(3, LossCause::QueueFull)]);
        assert_eq!(drain(&mut queue, &mut seen, ms(9_000)), [4, 5, 1, 2]);
    }
}
