//! HyStart++: slow start that ends when round trips grow, before the queue overflows (RFC 9406).

use bentpipe_units::Span;

use crate::PathView;
use crate::row::Parameter;
use crate::window::Window;

/// Whether slow start ends by round trips.
pub(crate) const HYSTART: Parameter = Parameter {
    name: "hystart",
    unit: "1",
    default: 0.0,
    range: (0.0, 1.0),
    summary: "1: the first slow start ends when round trips grow (RFC 9406)",
};

/// MIN_RTT_THRESH and MAX_RTT_THRESH.
const THRESHOLD: (Span, Span) = (Span::from_millis(4), Span::from_millis(16));
/// MIN_RTT_DIVISOR.
const DIVISOR: u64 = 8;
/// N_RTT_SAMPLE.
const SAMPLES: u32 = 8;
/// CSS_GROWTH_DIVISOR.
const SLOWER: f64 = 4.0;
/// CSS_ROUNDS.
const ROUNDS: u32 = 5;

/// The first slow start of a connection.
#[derive(Debug)]
pub(crate) struct HyStart {
    on: bool,
    round: u64,
    last: Span,
    current: Span,
    samples: u32,
    /// Conservative slow start: the round trip at which it began, and its rounds so far.
    conservative: Option<(Span, u32)>,
}

impl HyStart {
    /// At the start of a connection.
    pub(crate) const fn new(on: bool) -> Self {
        Self { on, round: 0, last: Span::MAX, current: Span::MAX, samples: 0, conservative: None }
    }

    /// The first slow start is over.
    pub(crate) fn end(&mut self) {
        *self = Self::new(false);
    }

    /// The growth for each segment acknowledged.
    pub(crate) fn growth(&self) -> f64 {
        if self.conservative.is_some() { 1.0 / SLOWER } else { 1.0 }
    }

    /// Looks at a round trip; may end slow start.
    pub(crate) fn measure(&mut self, window: &mut Window, path: &PathView) {
        if !self.on {
            return;
        }
        if !window.in_slow_start() {
            return self.end();
        }
        if path.round != self.round {
            self.round = path.round;
            (self.last, self.current, self.samples) = (self.current, Span::MAX, 0);
            if let Some((_, rounds)) = &mut self.conservative {
                *rounds += 1;
                if *rounds >= ROUNDS {
                    window.set_ssthresh(window.cwnd());
                    return self.end();
                }
            }
        }
        self.current = self.current.min(path.latest_rtt);
        self.samples += 1;
        if self.samples < SAMPLES || self.last == Span::MAX {
            return;
        }
        match self.conservative {
            Some((baseline, _)) if self.current < baseline => self.conservative = None,
            None if self.current
                >= self.last + (self.last / DIVISOR).clamp(THRESHOLD.0, THRESHOLD.1) =>
            {
                self.conservative = Some((self.current, 0));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::Play;

    fn play() -> Play {
        Play::new("cubic", &[("hystart", 1.0)])
    }

    #[test]
    fn steady_round_trips_let_slow_start_go_on() {
        let mut play = play();
        let before = play.segments();
        play.rounds(6);
        assert!((play.segments() / before - 64.0).abs() < 1.0, "{}", play.segments());
    }

    #[test]
    fn growing_round_trips_slow_it_down_and_end_it_after_five_rounds() {
        let mut play = play();
        play.rounds(6);
        play.set_rtt(0.62);
        play.round();
        let began = play.segments();
        play.rounds(3);
        let growth = play.segments() / began;
        assert!((1.5..2.5).contains(&growth), "a quarter each round: {growth}");
        assert!(play.controller.snapshot().ssthresh.is_none());
        play.rounds(4);
        assert!(play.controller.snapshot().ssthresh.is_some());
    }

    #[test]
    fn a_round_trip_that_shrinks_again_was_a_false_alarm() {
        let mut play = play();
        play.rounds(5);
        play.set_rtt(0.62);
        let before = play.segments();
        play.round();
        assert!(play.segments() / before < 2.0, "slower: {}", play.segments() / before);
        play.set_rtt(0.6);
        play.rounds(2);
        let before = play.segments();
        play.round();
        assert!((play.segments() / before - 2.0).abs() < 0.1, "{}", play.segments() / before);
    }
}
