//! What the traffic itself showed the path to carry: the draft's observing phase (draft-ietf-tsvwg-careful-resume).

use std::collections::VecDeque;

use bentpipe_units::{BitRate, ByteCount, Instant, Span};

use super::resume::KnownPath;

/// So many round trips count at most, the last ones, and so many at least.
const MOST: usize = 8;
const LEAST: usize = 4;

/// Rates of round trips in which somebody always had more to send.
#[derive(Debug, Default)]
pub(super) struct Observed {
    /// When this round trip began, and what had been delivered.
    began: Option<(Instant, ByteCount)>,
    rates: VecDeque<BitRate>,
}

impl Observed {
    /// So much has been delivered by now; somebody waits to send more, or nobody does; a round trip ends here, or does not.
    pub(super) fn acknowledged(
        &mut self,
        now: Instant,
        delivered: ByteCount,
        is_hungry: bool,
        ends: bool,
    ) {
        if !is_hungry {
            self.began = None;
            return;
        }
        let (began, before) = *self.began.get_or_insert((now, delivered));
        let interval = now.since(began);
        if !ends || interval.is_zero() {
            return;
        }
        self.began = Some((now, delivered));
        let bits = (delivered - before).get() as f64 * 8.0;
        self.rates.push_back(BitRate::from_bps((bits / interval.as_secs_f64()) as u64));
        if self.rates.len() > MOST {
            self.rates.pop_front();
        }
    }

    /// The path with this round trip, if enough was seen: the median of the last rates. It may carry more.
    pub(super) fn path(&self, round_trip: Span) -> Option<KnownPath> {
        let mut rates: Vec<BitRate> = self.rates.iter().copied().collect();
        rates.sort_unstable();
        let rate = *rates.get(rates.len() / 2).filter(|_| rates.len() >= LEAST)?;
        Some(KnownPath { rate, round_trip, at_least: true, return_delay: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRIP: Span = Span::from_millis(600);

    /// Round trips that deliver these bytes each, in which somebody has more to send or not.
    fn after(rounds: &[(u64, bool)]) -> Option<KnownPath> {
        let (mut observed, mut delivered) = (Observed::default(), ByteCount::ZERO);
        observed.acknowledged(Instant::ZERO, delivered, true, true);
        for (number, (bytes, is_hungry)) in (1..).zip(rounds) {
            delivered += ByteCount::new(*bytes);
            observed.acknowledged(Instant::ZERO + TRIP * number, delivered, *is_hungry, true);
        }
        observed.path(TRIP)
    }

    #[test]
    fn the_median_of_the_last_round_trips_counts() {
        let rounds = [1_000, 2_000, 750_000, 750_000, 10, 760_000, 740_000, 750_000, 750_000];
        let path = after(&rounds.map(|bytes| (bytes, true))).expect("enough");
        assert_eq!(path.rate, BitRate::from_bps(10_000_000));
        assert_eq!((path.round_trip, path.at_least), (TRIP, true));
        assert_eq!(after(&[(750_000, true); 3]), None, "too few");
    }

    #[test]
    fn round_trips_in_which_nobody_had_more_to_send_tell_nothing() {
        assert_eq!(after(&[(10, false); 20]), None);
        // Of the one after a pause the begin is not known.
        let mixed = [(750_000, true), (10, false), (750_000, true), (750_000, true)];
        assert_eq!(after(&mixed), None);
    }
}
