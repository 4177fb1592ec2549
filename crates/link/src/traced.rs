//! Delay, losses and outages that change over time as a trace says.

use bentpipe_units::{Instant, Span};

use crate::{Fate, LossCause, Model, Passing, Position, Stream, Timeline};

/// A propagation delay that changes. Packets keep their order unless they may overtake each other.
#[derive(Clone, Debug)]
pub struct SteppedDelay {
    delays: Timeline<Span>,
    position: Position,
    reorders: bool,
    last: Instant,
}

impl SteppedDelay {
    /// The delay is that of the moment at which a packet enters. With `reorders` one that enters behind another may
    /// leave before it.
    pub fn new(delays: Timeline<Span>, reorders: bool) -> Self {
        Self { delays, position: Position::default(), reorders, last: Instant::ZERO }
    }
}

impl Model for SteppedDelay {
    fn pass(&mut self, at: Instant, _packet: &Passing) -> Fate {
        let leaves = at + self.delays.value_at(&mut self.position, at);
        if self.reorders {
            return Fate::Leaves(leaves);
        }
        self.last = self.last.max(leaves);
        Fate::Leaves(self.last)
    }
}

/// Losses at random with a probability that changes.
#[derive(Clone, Debug)]
pub struct SteppedLoss {
    probabilities: Timeline<f64>,
    position: Position,
    stream: Stream,
}

impl SteppedLoss {
    /// Each packet is lost with the probability of the moment at which it enters.
    pub fn new(probabilities: Timeline<f64>, stream: Stream) -> Self {
        Self { probabilities, position: Position::default(), stream }
    }
}

impl Model for SteppedLoss {
    fn pass(&mut self, at: Instant, _packet: &Passing) -> Fate {
        let probability = self.probabilities.value_at(&mut self.position, at);
        if self.stream.chance(probability) {
            Fate::Lost(LossCause::Random)
        } else {
            Fate::Leaves(at)
        }
    }
}

/// A link that is up or down.
#[derive(Clone, Debug)]
pub struct SteppedState {
    up: Timeline<bool>,
    position: Position,
}

impl SteppedState {
    /// What enters while it is down is lost.
    pub fn new(up: Timeline<bool>) -> Self {
        Self { up, position: Position::default() }
    }
}

impl Model for SteppedState {
    fn pass(&mut self, at: Instant, _packet: &Passing) -> Fate {
        let up = self.up.value_at(&mut self.position, at);
        if up { Fate::Leaves(at) } else { Fate::Lost(LossCause::Blackout) }
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_units::ByteCount;
    use bentpipe_wire::Kind;

    use super::*;
    use crate::Streams;

    const PACKET: Passing = Passing { bytes: ByteCount::new(1000), kind: Kind::DATA };

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Span::from_millis(ms)
    }

    fn steps<T: Copy>(steps: &[(u64, T)]) -> Timeline<T> {
        let steps = steps.iter().map(|(ms, value)| (at(*ms), *value)).collect();
        Timeline::new(steps, None).expect("a timeline")
    }

    #[test]
    fn a_delay_that_becomes_shorter_lets_nobody_overtake_unless_it_may() {
        let delays = steps(&[(0, Span::from_millis(50)), (10, Span::from_millis(20))]);
        for (reorders, second) in [(false, 55), (true, 31)] {
            let mut model = SteppedDelay::new(delays.clone(), reorders);
            assert_eq!(model.pass(at(5), &PACKET), Fate::Leaves(at(55)));
            assert_eq!(model.pass(at(11), &PACKET), Fate::Leaves(at(second)));
            assert_eq!(model.pass(at(60), &PACKET), Fate::Leaves(at(80)));
        }
    }

    #[test]
    fn losses_and_outages_are_those_of_the_moment() {
        let stream = Streams::new(1).stream("loss");
        let mut loss = SteppedLoss::new(steps(&[(0, 0.0), (10, 1.0)]), stream);
        assert_eq!(loss.pass(at(9), &PACKET), Fate::Leaves(at(9)));
        assert_eq!(loss.pass(at(10), &PACKET), Fate::Lost(LossCause::Random));
        let mut state = SteppedState::new(steps(&[(0, true), (10, false), (20, true)]));
        let fates = [9, 10, 20].map(|ms| state.pass(at(ms), &PACKET));
        assert_eq!(
            fates,
            [Fate::Leaves(at(9)), Fate::Lost(LossCause::Blackout), Fate::Leaves(at(20))]
        );
    }
}
