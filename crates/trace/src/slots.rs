//! Regular times at which a trace changes: a terminal that is given another satellite every 15 s.

use bentpipe_units::{Instant, Span};
use serde::Serialize;

/// The periods that are looked for, in seconds.
const PERIODS: std::ops::RangeInclusive<usize> = 5..=60;
/// Only so many seconds are looked at: a day.
const LONGEST: usize = 86_400;
/// So many changes at least show a period.
const LEAST_CHANGES: usize = 4;
/// They are so many times larger than the others in the mean, and three of four are larger.
const LEAST_RATIO: f64 = 3.0;

/// Regular changes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Slots {
    /// Seconds from one to the next.
    pub period_s: u64,
    /// The second of the first one.
    pub first_s: u64,
    /// How many times larger these changes are than the others.
    pub ratio: f64,
}

/// The period with the largest changes, if they stand out. Of each second the least value counts: what is added to it
/// varies from packet to packet.
pub fn find_slots(steps: &[(Instant, f64)], length: Span) -> Option<Slots> {
    let seconds = (length.as_secs_f64() as usize).min(LONGEST);
    let mut next = 0;
    let values: Vec<f64> = (0..seconds as u64)
        .map(|second| {
            let [begin, end] =
                [second, second + 1].map(|second| Instant::ZERO + Span::from_secs(second));
            while steps.get(next + 1).is_some_and(|(at, _)| *at <= begin) {
                next += 1;
            }
            let within = steps[next + 1..].iter().take_while(|(at, _)| *at < end);
            within.map(|(_, value)| *value).fold(steps[next].1, f64::min)
        })
        .collect();
    // The change at the end of each second.
    let changes: Vec<f64> = values.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    let all: f64 = changes.iter().sum();
    let mut best: Option<Slots> = None;
    for period in PERIODS {
        for phase in 0..period {
            let regular = changes.iter().skip(phase).step_by(period);
            let (count, sum) = (regular.clone().count(), regular.sum::<f64>());
            let others = changes.len() - count;
            if count < LEAST_CHANGES || others == 0 || sum <= 0.0 {
                continue;
            }
            let elsewhere = ((all - sum) / others as f64).max(1e-12);
            let large = changes.iter().skip(phase).step_by(period);
            if large.filter(|change| **change > elsewhere).count() * 4 < count * 3 {
                continue;
            }
            let ratio = (sum / count as f64 / elsewhere).min(1e6);
            // Every second change of a period is one of twice the period: the shorter one tells more.
            let better = |best: Slots| {
                let several = (period as u64).is_multiple_of(best.period_s);
                ratio > if several { 2.0 } else { 1.2 } * best.ratio
            };
            if ratio >= LEAST_RATIO && best.is_none_or(better) {
                best = Some(Slots { period_s: period as u64, first_s: phase as u64 + 1, ratio });
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(value: impl Fn(u64) -> f64, seconds: u64) -> Vec<(Instant, f64)> {
        (0..seconds).map(|s| (Instant::ZERO + Span::from_secs(s), value(s))).collect()
    }

    #[test]
    fn changes_every_15_seconds_are_found_among_small_ones() {
        let value = |s: u64| {
            let slot = (s + 3) / 15;
            0.02 + (slot * 7 % 5) as f64 * 0.003 + (s % 3) as f64 * 0.0002
        };
        let slots = find_slots(&steps(value, 180), Span::from_secs(180)).expect("slots");
        assert_eq!((slots.period_s, slots.first_s), (15, 12));
        assert!(slots.ratio > 5.0, "{}", slots.ratio);
    }

    #[test]
    fn where_nothing_is_regular_nothing_is_found() {
        let value = |s: u64| ((s * s * 7 + s * 13) % 101) as f64;
        let found = find_slots(&steps(value, 300), Span::from_secs(300));
        assert_eq!(found, None);
        assert_eq!(find_slots(&steps(|_| 1.0, 300), Span::from_secs(300)), None);
    }
}
