//! What the two versions of BBR measure of the bottleneck: its rate and its round trip.

use bentpipe_units::{Instant, Span};

use crate::{Ack, PathView};

/// A delivery rate in bytes per second.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivery {
    /// The rate.
    pub(crate) rate: f64,
    /// The application was the limit.
    pub(crate) app_limited: bool,
}

/// Delivery rates: the sender's samples or, where it takes none, what a round trip delivered.
#[derive(Debug, Default)]
pub(crate) struct Deliveries {
    round: u64,
    began: Instant,
    delivered: u64,
}

impl Deliveries {
    /// What this acknowledgement says of the rate.
    pub(crate) fn take(&mut self, path: &PathView, ack: &Ack) -> Option<Delivery> {
        if let Some(sample) = ack.rate_sample {
            let (bytes, seconds) = (sample.delivered.get() as f64, sample.interval.as_secs_f64());
            let app_limited = sample.app_limited;
            return (seconds > 0.0).then(|| Delivery { rate: bytes / seconds, app_limited });
        }
        if path.round == self.round {
            return None;
        }
        let bytes = path.delivered.get().saturating_sub(self.delivered) as f64;
        let seconds = path.now.since(self.began).as_secs_f64();
        // What the first acknowledgement brings has left before the first round began.
        let known = self.round > 0 && seconds > 0.0;
        (self.round, self.began, self.delivered) = (path.round, path.now, path.delivered.get());
        known.then(|| Delivery { rate: bytes / seconds, app_limited: !path.cwnd_limited })
    }
}

/// The largest value of the last `N` numbered periods.
#[derive(Debug)]
pub(crate) struct PeriodMax<const N: usize> {
    largest: [f64; N],
    period: u64,
}

impl<const N: usize> PeriodMax<N> {
    /// Nothing so far.
    pub(crate) const fn new() -> Self {
        Self { largest: [0.0; N], period: 0 }
    }

    /// Takes a value in this period; what is `N` or more periods old is forgotten.
    pub(crate) fn take(&mut self, period: u64, value: f64) {
        for gone in (self.period + 1..=period).rev().take(N) {
            self.largest[(gone % N as u64) as usize] = 0.0;
        }
        self.period = self.period.max(period);
        let slot = &mut self.largest[(period % N as u64) as usize];
        *slot = slot.max(value);
    }

    /// The largest value, zero if there was none.
    pub(crate) fn get(&self) -> f64 {
        self.largest.iter().copied().fold(0.0, f64::max)
    }
}

/// The smallest round trip of a time window.
#[derive(Debug)]
pub(crate) struct WindowMin {
    window: Span,
    smallest: Option<Span>,
    since: Instant,
}

impl WindowMin {
    /// Nothing so far; values older than `window` are replaced.
    pub(crate) const fn new(window: Span) -> Self {
        Self { window, smallest: None, since: Instant::ZERO }
    }

    /// Takes a sample. True if the smallest one had grown too old, whatever it is now.
    pub(crate) fn take(&mut self, now: Instant, rtt: Span) -> bool {
        let expired = self.smallest.is_some() && now.since(self.since) > self.window;
        if expired || self.smallest.is_none_or(|smallest| rtt < smallest) {
            (self.smallest, self.since) = (Some(rtt), now);
        }
        expired
    }

    /// It was measured on an empty path just now.
    pub(crate) const fn refresh(&mut self, now: Instant) {
        self.since = now;
    }

    /// The smallest one, if there was any.
    pub(crate) const fn get(&self) -> Option<Span> {
        self.smallest
    }
}

/// Whether the rate has stopped to grow: three rounds in a row without a quarter more.
#[derive(Debug, Default)]
pub(crate) struct Plateau {
    rate: f64,
    rounds: u32,
}

impl Plateau {
    /// A round ended with this largest rate; true at a plateau.
    pub(crate) fn reached(&mut self, rate: f64) -> bool {
        if rate >= self.rate * 1.25 {
            *self = Self { rate, rounds: 0 };
        } else {
            self.rounds += 1;
        }
        self.rounds >= 3
    }
}

/// A number below `n`, at random as far as flows are concerned: a hash (SplitMix64) of the instant and
/// of what was delivered so far. The same run gives the same number.
pub(crate) fn scatter(path: &PathView, n: u64) -> u64 {
    let mut z = path.now.as_nanos() ^ path.delivered.get().rotate_left(32);
    z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ (z >> 31)) % n.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_value_is_forgotten_after_its_periods() {
        let mut max = PeriodMax::<3>::new();
        max.take(0, 5.0);
        max.take(1, 2.0);
        assert_eq!(max.get(), 5.0);
        max.take(2, 1.0);
        assert_eq!(max.get(), 5.0);
        max.take(3, 1.0);
        assert_eq!(max.get(), 2.0);
        max.take(1_000_000, 0.5);
        assert_eq!(max.get(), 0.5);
    }

    #[test]
    fn the_smallest_round_trip_is_replaced_when_it_is_too_old() {
        let mut min = WindowMin::new(Span::from_secs(10));
        let at = |s| Instant::ZERO + Span::from_secs(s);
        assert!(!min.take(at(0), Span::from_millis(600)));
        assert!(!min.take(at(10), Span::from_millis(700)));
        assert_eq!(min.get(), Some(Span::from_millis(600)));
        assert!(min.take(at(11), Span::from_millis(700)));
        assert_eq!(min.get(), Some(Span::from_millis(700)));
    }

    #[test]
    fn three_rounds_without_a_quarter_more_are_a_plateau() {
        let mut plateau = Plateau::default();
        let rates = [1.0, 2.0, 2.4, 2.4, 3.0, 3.1, 3.2, 3.3];
        let reached: Vec<_> = rates.map(|rate| plateau.reached(rate)).into();
        assert_eq!(reached, [false, false, false, false, false, false, false, true]);
    }
}
