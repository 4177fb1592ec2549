//! What came of a load, and the rate that it shows.

use bentpipe_units::{BitRate, ByteCount, Instant, Span};

use super::message::BIN;
use crate::trace::{Rate, hold};

/// Bytes that came here, in bins from the first one on.
#[derive(Debug, Default)]
pub(super) struct Arrivals {
    origin: Option<Instant>,
    bins: Vec<u64>,
}

impl Arrivals {
    /// Bytes of a load came.
    pub(super) fn came(&mut self, now: Instant, bytes: ByteCount) {
        let origin = *self.origin.get_or_insert(now);
        self.also_came(origin, now, bytes);
    }

    /// Other bytes came, which count as soon as there is a load.
    pub(super) fn came_besides(&mut self, now: Instant, bytes: ByteCount) {
        if let Some(origin) = self.origin {
            self.also_came(origin, now, bytes);
        }
    }

    fn also_came(&mut self, origin: Instant, now: Instant, bytes: ByteCount) {
        let place = (now.since(origin).as_nanos() / BIN.as_nanos()) as usize;
        if place >= self.bins.len() {
            self.bins.resize(place + 1, 0);
        }
        self.bins[place] += bytes.get();
    }

    /// Bytes of each bin between two times, with the time at which it began, counted from `zero`.
    pub(super) fn until(
        &self,
        zero: Instant,
        end: Instant,
    ) -> impl Iterator<Item = (Instant, u64)> + '_ {
        let origin = self.origin.unwrap_or(end);
        let bins = self.bins.iter().zip(0u64..);
        bins.map(move |(bytes, n)| (origin + BIN * n, *bytes))
            .skip_while(move |(at, _)| *at < zero)
            .take_while(move |(at, _)| *at + BIN <= end)
            .map(move |(at, bytes)| (Instant::ZERO + at.since(zero), bytes))
    }
}

/// The rate that the bytes of bins show. The first one holds from the beginning; nothing is no rate where the link was
/// down, which says it already.
pub(super) fn rate(
    bins: impl IntoIterator<Item = (Instant, u64)>,
    up: Option<&[(Instant, bool)]>,
) -> Option<Rate> {
    let mut steps = Vec::new();
    for (at, bytes) in bins {
        let bps = (ByteCount::new(bytes) * (Span::from_secs(1).as_nanos() / BIN.as_nanos())).bits();
        let rate = (bps > 0).then(|| BitRate::from_bps(bps));
        if rate.is_some() || !was_down(up.unwrap_or_default(), at, at + BIN) {
            let from = if steps.is_empty() { Instant::ZERO } else { at };
            hold(&mut steps, from, rate);
        }
    }
    steps.iter().any(|(_, rate)| rate.is_some()).then_some(Rate::Steps(steps))
}

/// Whether a link was down at any time between two others.
fn was_down(up: &[(Instant, bool)], from: Instant, until: Instant) -> bool {
    let begun = up.partition_point(|(at, _)| *at <= from);
    let before = begun.checked_sub(1).and_then(|place| up.get(place));
    let meanwhile = up.iter().skip(begun).take_while(|(at, _)| *at < until);
    before.into_iter().chain(meanwhile).any(|(_, up)| !up)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn bytes_in_a_tenth_of_a_second_are_a_rate() {
        let mut arrivals = Arrivals::default();
        arrivals.came_besides(at(0), ByteCount::new(7));
        for (ms, bytes) in [(1_050, 1000), (1_149, 250), (1_150, 1250), (1_360, 500)] {
            arrivals.came(at(ms), ByteCount::new(bytes));
        }
        let bins: Vec<_> = arrivals.until(at(1_000), at(1_450)).collect();
        assert_eq!(bins, [(at(50), 1250), (at(150), 1250), (at(250), 0), (at(350), 500)]);
        assert_eq!(arrivals.until(at(1_000), at(1_449)).count(), 3, "the last one was not over");
        let bps = |n| Some(BitRate::from_bps(n));
        let steps = vec![(at(0), bps(100_000)), (at(250), None), (at(350), bps(40_000))];
        assert_eq!(rate(bins.clone(), None), Some(Rate::Steps(steps)));
        let up = [(at(0), true), (at(260), false), (at(270), true)];
        let steps = vec![(at(0), bps(100_000)), (at(350), bps(40_000))];
        assert_eq!(rate(bins, Some(&up)), Some(Rate::Steps(steps)));
        assert_eq!(rate([(at(0), 0)], None), None);
    }
}
