//! Fuzzy control of marks and drops: nine rules over the delay and its change.

use bentpipe_units::{Instant, Span};

use super::fifo::Fifo;
use super::pi::Updates;
use super::stamped::{Stamped, mark};
use super::{Backlog, Discipline, Held, LineState, Packets};
use crate::{LossCause, QueueLimit, Stream};

/// By how much the probability changes, in parts of the gain: lines by the delay (short, right, long), columns by its change
/// (falls, stays, grows).
const RULES: [[f64; 3]; 3] = [[-1.0, -1.0, -0.25], [-0.5, 0.0, 0.5], [0.25, 1.0, 1.0]];
/// Changes are in proportion to the probability, but not to less than this.
const FLOOR: f64 = 1e-4;

/// Settings of [`Fuzzy`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FuzzyConfig {
    /// Queueing delay that is aimed at.
    pub target: Span,
    /// Time between two updates of the probability.
    pub update: Span,
    /// Largest change of the probability at an update, as a part of it, above 0 and at most 1.
    pub gain: f64,
    /// Packets of senders that understand marks are marked and not dropped.
    pub ecn: bool,
}

impl Default for FuzzyConfig {
    fn default() -> Self {
        let target = Span::from_millis(20);
        Self { target, update: Span::from_millis(50), gain: 0.25, ecn: true }
    }
}

/// A queue that marks or drops what comes, with a probability that nine fuzzy rules change. Each input, the delay less the target
/// and its change since the last update, is a part of the target, at most 1, and belongs in part to each of three sets, which
/// are triangles. What rules say counts by the product of both parts (Takagi and Sugeno 1985).
///
/// Fuzzy control with ECN is named in surveys of satellite transport without its inputs and rules; these are this project's.
#[derive(Clone, Debug)]
pub struct Fuzzy {
    config: FuzzyConfig,
    updates: Updates,
    delay: Span,
    probability: f64,
    repairs: Fifo,
    queue: Stamped,
    stream: Stream,
}

impl Fuzzy {
    /// An empty queue. `limit` holds besides.
    pub fn new(config: FuzzyConfig, limit: QueueLimit, stream: Stream) -> Self {
        Self {
            config,
            updates: Updates::new(config.update),
            delay: Span::ZERO,
            probability: 0.0,
            repairs: Fifo::new(limit),
            queue: Stamped::default(),
            stream,
        }
    }

    /// The probability of a mark or a drop.
    pub const fn probability(&self) -> f64 {
        self.probability
    }

    fn catch_up(&mut self, now: Instant) {
        for at in self.updates.due(now) {
            self.update(self.queue.sojourn(at));
        }
    }

    fn update(&mut self, delay: Span) {
        let parts = |span: Span| span.as_secs_f64() / self.config.target.as_secs_f64();
        let (now, before) = (parts(delay), parts(self.delay));
        let change = infer(now - 1.0, now - before);
        let scale = self.probability.max(FLOOR) * self.config.gain;
        self.probability = (self.probability + change * scale).clamp(0.0, 1.0);
        self.delay = delay;
    }
}

/// What the rules say of these inputs together, -1 to 1.
fn infer(error: f64, change: f64) -> f64 {
    let sets = |x: f64| {
        let x = x.clamp(-1.0, 1.0);
        [(-x).max(0.0), 1.0 - x.abs(), x.max(0.0)]
    };
    let (error, change) = (sets(error), sets(change));
    let of_line = |(weight, line): (f64, &[f64; 3])| -> f64 {
        line.iter().zip(change).map(|(says, part)| says * part * weight).sum()
    };
    error.into_iter().zip(&RULES).map(of_line).sum()
}

impl Discipline for Fuzzy {
    fn enqueue(&mut self, now: Instant, line: LineState, packet: Held, packets: &mut dyn Packets) {
        self.catch_up(now);
        if packet.first {
            self.repairs.push(packet);
            return;
        }
        if !self.repairs.admits_to(self.backlog(), line, &packet) {
            packets.lost(&packet, LossCause::QueueFull);
            return;
        }
        // What finds nothing before it makes no queue.
        let hit = self.queue.backlog().packets > 0 && self.stream.chance(self.probability);
        if hit && !(self.config.ecn && mark(&packet, packets)) {
            packets.lost(&packet, LossCause::Early);
            return;
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
    use proptest::prelude::*;

    use super::super::testing::{Watched, data, fill, ms};
    use super::*;
    use crate::Streams;

    fn queue_of(config: FuzzyConfig) -> Fuzzy {
        Fuzzy::new(config, QueueLimit::Unlimited, Streams::new(1).stream("fuzzy"))
    }

    #[test]
    fn rules_say_nothing_at_the_target_and_most_at_the_corners() {
        assert_eq!(infer(0.0, 0.0), 0.0);
        assert_eq!([infer(1.0, 1.0), infer(1.0, 0.0), infer(-1.0, -1.0)], [1.0, 1.0, -1.0]);
        // A long queue that falls needs little more, a short one that grows little less.
        assert_eq!([infer(5.0, -5.0), infer(-5.0, 5.0)], [0.25, -0.25]);
        assert_eq!(infer(0.5, 0.0), 0.5);
    }

    proptest! {
        #[test]
        fn more_delay_and_more_growth_never_ask_for_less(
            error in -2.0..2.0f64, change in -2.0..2.0f64, more in 0.0..1.0f64,
        ) {
            let says = infer(error, change);
            prop_assert!((-1.0..=1.0).contains(&says));
            prop_assert!(infer(error + more, change) >= says - 1e-12);
            prop_assert!(infer(error, change + more) >= says - 1e-12);
        }
    }

    #[test]
    fn the_probability_grows_while_a_queue_stands_and_falls_when_it_is_gone() {
        let (mut queue, mut seen) = (queue_of(FuzzyConfig::default()), Watched::default());
        fill(&mut queue, &mut seen, (0..10).map(data));
        queue.catch_up(ms(2_000));
        let stood = queue.probability();
        // Forty updates, by a quarter each once the floor is left behind.
        assert!(stood > 0.05, "{stood}");
        while queue.dequeue(ms(2_000), &mut seen).is_some() {}
        queue.catch_up(ms(2_100));
        assert!(queue.probability() < stood);
        queue.catch_up(ms(60_000));
        assert_eq!(queue.probability(), 0.0);
    }

    #[test]
    fn who_understands_marks_is_marked_and_others_are_dropped() {
        for (ecn, is_on, marked) in [
            (Ecn::Capable0, true, true),
            (Ecn::Capable0, false, false),
            (Ecn::NotCapable, true, false),
        ] {
            let mut queue = queue_of(FuzzyConfig { ecn: is_on, ..FuzzyConfig::default() });
            let mut seen = Watched::default();
            fill(&mut queue, &mut seen, [data(0)]);
            queue.probability = 0.5;
            for id in 1..=1_000 {
                let packet = Held { ecn, ..data(id) };
                queue.enqueue(ms(0), LineState::Busy, packet, &mut seen);
            }
            let (hit, other) = if marked {
                (seen.marked.len(), seen.lost.len())
            } else {
                (seen.lost.len(), seen.marked.len())
            };
            assert!((450..550).contains(&hit) && other == 0, "{ecn:?} {is_on}: {hit} {other}");
        }
    }

    #[test]
    fn updates_are_made_at_their_times_whether_anybody_calls_or_not() {
        let mut seen = Watched::default();
        let [often, once] = [1, 1_000].map(|step| {
            let mut queue = queue_of(FuzzyConfig::default());
            fill(&mut queue, &mut seen, (0..10).map(data));
            (0..=1_000).step_by(step).for_each(|n| queue.catch_up(ms(n)));
            queue.probability()
        });
        assert!(often > 0.0);
        assert_eq!(often, once);
    }
}
