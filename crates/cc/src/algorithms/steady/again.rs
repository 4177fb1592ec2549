//! Slow start that begins again, once.

use bentpipe_units::Span;

/// More arrives in an interval than in those before if it is so many times as much, and in so many it is not.
const GROWS: f64 = 1.25;
const FLAT: u32 = 3;

/// Whether it did.
#[derive(Clone, Copy, Debug)]
pub(super) enum Again {
    Never,
    /// It does, with the longest round trip before, if that tells something, and the fastest that arrived and the intervals since then.
    Is {
        longest: Option<Span>,
        fastest: f64,
        flat: u32,
    },
    /// It did, and round trips before told whose the queue is, or not.
    Was {
        told: bool,
    },
}

impl Again {
    /// It has never.
    pub(super) const fn may_begin(&self) -> bool {
        matches!(self, Self::Never)
    }

    /// It does now.
    pub(super) const fn goes_on(&self) -> bool {
        matches!(self, Self::Is { .. })
    }

    /// Round trips before told whose the queue is at its end.
    pub(super) const fn was_told(&self) -> bool {
        matches!(self, Self::Was { told: true })
    }

    /// It does, and no round trip was longer than that, or nobody knows.
    pub(super) const fn begin(&mut self, longest: Option<Span>) {
        *self = Self::Is { longest, fastest: 0.0, flat: 0 };
    }

    /// An interval ended with this shortest round trip, in which so much arrived, and slow start goes on or not. True if it has filled
    /// the queue by itself.
    pub(super) fn look(&mut self, trip: Span, rate: f64, goes_on: bool) -> bool {
        let Self::Is { longest, fastest, flat } = self else { return false };
        if rate > GROWS * *fastest {
            (*fastest, *flat) = (rate, 0);
        } else {
            *flat += 1;
        }
        let is_full = goes_on && (longest.is_some_and(|longest| trip >= longest) || *flat >= FLAT);
        if is_full || !goes_on {
            *self = Self::Was { told: longest.is_some() };
        }
        is_full
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONGEST: Span = Span::from_millis(1_200);

    fn begun() -> Again {
        let mut again = Again::Never;
        assert!(again.may_begin());
        again.begin(Some(LONGEST));
        again
    }

    #[test]
    fn it_ends_where_no_more_arrives_for_three_intervals_and_is_not_begun_again() {
        let mut again = begun();
        let trip = Span::from_millis(700);
        for rate in [1.0, 2.0, 2.0, 2.4, 3.0, 3.5, 3.5] {
            assert!(!again.look(trip, rate, true), "{rate}");
        }
        assert!(again.look(trip, 3.7, true));
        assert!(!again.may_begin() && !again.look(trip, 3.7, true));
    }

    #[test]
    fn it_ends_where_round_trips_are_as_long_as_ever_and_by_a_loss() {
        let mut again = begun();
        assert!(!again.look(Span::from_millis(1_199), 1.0, true));
        assert!(again.look(LONGEST, 2.0, true));
        let mut again = begun();
        assert!(!again.look(LONGEST, 2.0, false), "something else has ended it");
        assert!(!again.may_begin());
    }
}
