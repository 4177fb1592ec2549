//! Proportional integral control of a drop probability, as PIE and PI2 have it.

use bentpipe_units::{Instant, Span};

/// Updates that are made up for at once. In the settings of the RFCs an idle queue has forgotten
/// everything after less than a thousand, and one that stands drops everything.
const MOST_UPDATES: u64 = 10_000;

/// Moments at which a probability is updated. A queue has no timer: it makes up for them when it is
/// next called, and nothing has changed meanwhile but the time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Updates {
    every: Span,
    next: Instant,
}

impl Updates {
    /// The first one is `every` after the start of the run.
    pub(super) fn new(every: Span) -> Self {
        let every = every.max(Span::from_nanos(1));
        Self { every, next: Instant::ZERO + every }
    }

    /// The moments up to `now` that have not been returned yet.
    pub(super) fn due(&mut self, now: Instant) -> impl Iterator<Item = Instant> + use<> {
        let (every, first) = (self.every, self.next);
        let count =
            if now < first { 0 } else { now.since(first).as_nanos() / every.as_nanos() + 1 };
        self.next = first + every * count;
        (count.saturating_sub(MOST_UPDATES)..count).map(move |n| first + every * n)
    }
}

/// A probability that follows the queueing delay.
#[derive(Clone, Copy, Debug)]
pub(super) struct Controller {
    target: Span,
    /// Change for each second of delay above the target.
    alpha: f64,
    /// Change for each second by which the delay has grown.
    beta: f64,
    pub(super) probability: f64,
    /// The delay at the last update.
    pub(super) delay: Span,
}

impl Controller {
    pub(super) const fn new(target: Span, alpha: f64, beta: f64) -> Self {
        Self { target, alpha, beta, probability: 0.0, delay: Span::ZERO }
    }

    /// By how much the probability has to change as the delay is now `delay`.
    pub(super) fn error(&mut self, delay: Span) -> f64 {
        let now = delay.as_secs_f64();
        let error = self.alpha * (now - self.target.as_secs_f64())
            + self.beta * (now - self.delay.as_secs_f64());
        self.delay = delay;
        error
    }

    /// Changes the probability, within 0 to 1.
    pub(super) fn change(&mut self, by: f64) {
        self.probability = (self.probability + by).clamp(0.0, 1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Instant {
        Instant::ZERO + Span::from_millis(n)
    }

    #[test]
    fn updates_that_were_missed_are_made_up_for_at_their_own_times() {
        let mut updates = Updates::new(Span::from_millis(15));
        assert_eq!(updates.due(ms(14)).count(), 0);
        assert!(updates.due(ms(15)).eq([ms(15)]));
        assert!(updates.due(ms(50)).eq([ms(30), ms(45)]));
        assert_eq!(updates.due(ms(50)).count(), 0);
    }

    #[test]
    fn silence_of_years_costs_no_time() {
        let mut updates = Updates::new(Span::ZERO);
        let last = updates.due(ms(1_000_000_000_000)).inspect(|_| ()).last();
        assert_eq!(last, Some(ms(1_000_000_000_000)));
        assert!(updates.due(Instant::MAX).count() as u64 <= MOST_UPDATES);
        assert!(updates.due(Instant::MAX).count() as u64 <= MOST_UPDATES);
    }

    #[test]
    fn the_probability_follows_the_delay_and_its_growth() {
        let mut pi = Controller::new(Span::from_millis(15), 0.125, 1.25);
        // 0.125 · (35 ms − 15 ms) + 1.25 · 35 ms, then 0.125 · 20 ms, then less than nothing.
        let errors = [35, 35, 15, 5].map(|delay| pi.error(Span::from_millis(delay)));
        let expected = [0.0025 + 0.04375, 0.0025, -0.025, -0.00125 - 0.0125];
        for (error, expected) in errors.iter().zip(expected) {
            assert!((error - expected).abs() < 1e-12, "{error}, not {expected}");
        }
        for (by, probability) in [(0.7, 0.7), (0.7, 1.0), (-3.0, 0.0)] {
            pi.change(by);
            assert_eq!(pi.probability, probability);
        }
    }
}
