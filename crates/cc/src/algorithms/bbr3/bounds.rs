//! What losses say of how much the path holds.

/// What a loss leaves of a bound.
const BETA: f64 = 0.7;
/// Share of the long-term bound that is left to others while cruising.
const HEADROOM: f64 = 0.15;

/// What a round delivered and lost.
#[derive(Debug, Default)]
pub(super) struct RoundCount {
    /// The number of the round.
    pub(super) number: u64,
    /// Bytes delivered and lost.
    pub(super) delivered: f64,
    pub(super) lost: f64,
    /// Of what was delivered, what routers marked.
    pub(super) marked: f64,
    /// How many times losses were found.
    pub(super) losses: u32,
    /// The largest rate of the round in bytes per second.
    pub(super) rate: f64,
    /// The most bytes in flight in it.
    pub(super) flight: f64,
}

impl RoundCount {
    /// More than this share of what was sent is lost.
    pub(super) fn lost_more_than(&self, share: f64) -> bool {
        let sent = self.delivered + self.lost;
        sent > 0.0 && self.lost > share * sent
    }
}

/// Bounds in bytes and bytes per second; infinite for none.
#[derive(Debug)]
pub(super) struct Bounds {
    /// What the path held without losing too much.
    pub(super) long: f64,
    /// What it seems to hold since the last probe.
    pub(super) short: f64,
    /// The rate that it seems to carry since the last probe.
    pub(super) rate_short: f64,
    /// Segments by which the long-term bound grows in this round of probing.
    growth: f64,
}

impl Default for Bounds {
    fn default() -> Self {
        let none = f64::INFINITY;
        Self { long: none, short: none, rate_short: none, growth: 1.0 }
    }
}

impl Bounds {
    /// The long-term bound with room for others.
    pub(super) fn with_headroom(&self) -> f64 {
        self.long * (1.0 - HEADROOM)
    }

    /// A round of probing lost too much: the path holds what was in flight, or most of `target`.
    pub(super) fn bound_long_term(&mut self, round: &RoundCount, target: f64) {
        self.long = round.flight.max(target * BETA);
    }

    /// A round without probing lost something or was marked, sending at `rate` with a window of `cwnd`; `left` is what its marks
    /// leave, if it had some.
    pub(super) fn bound_short_term(
        &mut self,
        round: &RoundCount,
        rate: f64,
        cwnd: f64,
        left: Option<f64>,
    ) {
        let known = |bound: f64, none: f64| if bound.is_finite() { bound } else { none };
        let before = known(self.short, cwnd);
        if let Some(left) = left {
            self.short = left * before;
        }
        if round.lost > 0.0 {
            self.rate_short = round.rate.max(BETA * known(self.rate_short, rate));
            let short = round.flight.max(BETA * before);
            self.short = left.map_or(short, |left| short.min(left * before));
        }
    }

    /// A probe begins: what the rounds since the last one said is forgotten.
    pub(super) const fn forget_short_term(&mut self) {
        (self.short, self.rate_short) = (f64::INFINITY, f64::INFINITY);
    }

    /// The long-term bound will be tried: slowly first, twice as fast in each round.
    pub(super) const fn begin_raising(&mut self) {
        self.growth = 1.0;
    }

    /// A round filled the long-term bound without losing too much.
    pub(super) fn raise(&mut self, mss: f64) {
        self.long += self.growth * mss;
        self.growth *= 2.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_term_bounds_fall_to_seven_tenths_at_most_and_are_forgotten() {
        let mut bounds = Bounds::default();
        let round = RoundCount { lost: 1.0, rate: 10.0, flight: 900.0, ..RoundCount::default() };
        bounds.bound_short_term(&round, 100.0, 1000.0, None);
        assert_eq!((bounds.rate_short, bounds.short), (70.0, 900.0));
        bounds.bound_short_term(&round, 100.0, 1000.0, None);
        assert_eq!((bounds.rate_short, bounds.short), (49.0, 900.0));
        bounds.forget_short_term();
        assert!(bounds.rate_short.is_infinite() && bounds.short.is_infinite());
    }

    #[test]
    fn of_what_losses_and_marks_leave_the_lesser_counts() {
        let round = |lost| RoundCount { lost, flight: 500.0, ..RoundCount::default() };
        for (lost, left, short) in [(0.0, 0.9, 900.0), (1.0, 0.9, 700.0), (1.0, 0.6, 600.0)] {
            let mut bounds = Bounds::default();
            bounds.bound_short_term(&round(lost), 100.0, 1000.0, Some(left));
            assert_eq!((bounds.short, bounds.rate_short.is_finite()), (short, lost > 0.0));
        }
    }

    #[test]
    fn the_long_term_bound_keeps_what_was_in_flight_and_doubles_its_steps() {
        let mut bounds = Bounds::default();
        let round = RoundCount { flight: 500.0, ..RoundCount::default() };
        bounds.bound_long_term(&round, 1000.0);
        assert_eq!((bounds.long, bounds.with_headroom()), (700.0, 595.0));
        bounds.begin_raising();
        for expected in [710.0, 730.0, 770.0] {
            bounds.raise(10.0);
            assert_eq!(bounds.long, expected);
        }
    }

    #[test]
    fn two_percent_of_a_round_are_counted_from_all_that_was_sent() {
        let round = |lost| RoundCount { delivered: 98.0, lost, ..RoundCount::default() };
        assert!(!round(2.0).lost_more_than(0.02));
        assert!(round(2.1).lost_more_than(0.02));
        assert!(!RoundCount::default().lost_more_than(0.0));
    }
}
