//! What marks of routers say of how much the path holds (tcp_bbr of Google's kernel, version 3).

use bentpipe_units::Span;

use super::bounds::RoundCount;

/// What a round's share of marks adds to the mean.
const GAIN: f64 = 1.0 / 16.0;
/// What the mean share takes of the short-term bound.
const FACTOR: f64 = 1.0 / 3.0;
/// More marks than that in a round, and what is in flight is too much.
const THRESHOLD: f64 = 0.5;
/// So many rounds like that in a row end startup.
const STARTUP_ROUNDS: u32 = 2;

/// The marks of a connection.
#[derive(Debug)]
pub(super) struct Marks {
    /// Marks are heeded on paths of at most that round trip.
    most_rtt: Span,
    /// Such a round trip was seen.
    heeded: bool,
    /// Mean share of marked bytes; all of them at first, so that an early mark is answered in full.
    share: f64,
    /// Rounds in a row with too many of them.
    full_rounds: u32,
}

impl Marks {
    /// Nothing is marked; marks are heeded on paths of at most that round trip.
    pub(super) const fn new(most_rtt: Span) -> Self {
        Self { most_rtt, heeded: false, share: 1.0, full_rounds: 0 }
    }

    /// A round ended on a path whose least round trip is `rtt`.
    pub(super) fn take(&mut self, round: &RoundCount, rtt: Option<Span>) {
        self.heeded |= rtt.is_some_and(|rtt| rtt <= self.most_rtt);
        if !self.heeded || round.delivered <= 0.0 {
            return;
        }
        let share = round.marked / round.delivered;
        self.share += GAIN * (share - self.share);
        self.full_rounds = if share >= THRESHOLD { self.full_rounds + 1 } else { 0 };
    }

    /// So much of the round was marked that more in flight only fills the queue.
    pub(super) fn are_too_many(&self, round: &RoundCount) -> bool {
        self.heeded && round.marked > THRESHOLD * round.delivered
    }

    /// There is no more to find in startup.
    pub(super) const fn end_startup(&self) -> bool {
        self.heeded && self.full_rounds >= STARTUP_ROUNDS
    }

    /// What the round leaves of the short-term bound, if it was marked.
    pub(super) fn leave(&self, round: &RoundCount) -> Option<f64> {
        (self.heeded && round.marked > 0.0).then_some(1.0 - FACTOR * self.share)
    }

    /// Mean share of marked bytes.
    pub(super) const fn share(&self) -> f64 {
        self.share
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(marked: f64) -> RoundCount {
        RoundCount { delivered: 100.0, marked, ..RoundCount::default() }
    }

    #[test]
    fn the_mean_share_follows_by_a_sixteenth_and_takes_a_third_of_itself() {
        let mut marks = Marks::new(Span::from_millis(5));
        let rtt = Some(Span::from_millis(5));
        for _ in 0..200 {
            marks.take(&round(0.0), rtt);
        }
        assert!(marks.share() < 1e-5 && marks.leave(&round(0.0)).is_none());
        marks.take(&round(32.0), rtt);
        assert!((marks.share() - 0.02).abs() < 1e-5);
        let left = marks.leave(&round(32.0)).expect("a bound");
        assert!((left - (1.0 - 0.02 / 3.0)).abs() < 1e-5);
    }

    #[test]
    fn two_rounds_with_half_of_it_marked_end_startup() {
        let mut marks = Marks::new(Span::from_millis(5));
        let rtt = Some(Span::from_millis(1));
        marks.take(&round(50.0), rtt);
        marks.take(&round(49.0), rtt);
        marks.take(&round(50.0), rtt);
        assert!(!marks.end_startup() && !marks.are_too_many(&round(50.0)));
        marks.take(&round(51.0), rtt);
        assert!(marks.end_startup() && marks.are_too_many(&round(51.0)));
    }

    #[test]
    fn on_a_longer_path_marks_say_nothing() {
        let mut marks = Marks::new(Span::from_millis(5));
        for _ in 0..3 {
            marks.take(&round(100.0), Some(Span::from_millis(6)));
        }
        assert!(!marks.end_startup() && !marks.are_too_many(&round(100.0)));
        assert!(marks.leave(&round(100.0)).is_none());
    }
}
