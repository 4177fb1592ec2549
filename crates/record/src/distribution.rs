//! The distribution of many times, in little memory.

use bentpipe_units::Span;
use serde::Serialize;

/// Buckets for each power of two: a bucket is at most 1/64 wide of what is in it.
const STEPS: usize = 64;
const STEP_BITS: u32 = STEPS.trailing_zeros();

/// Times as they come. Quantiles are right within 1.6 %; count, mean and extremes are exact.
#[derive(Clone, Debug, Default)]
pub struct Distribution {
    buckets: Vec<u64>,
    count: u64,
    nanos: u128,
    least: Option<Span>,
    most: Span,
}

/// What a distribution is like, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Quantiles {
    /// Mean.
    pub mean: f64,
    /// Least of all.
    pub min: f64,
    /// Half of all are not above it.
    pub p50: f64,
    /// 90 % of all are not above it.
    pub p90: f64,
    /// 95 % of all are not above it.
    pub p95: f64,
    /// 99 % of all are not above it.
    pub p99: f64,
    /// Most of all.
    pub max: f64,
}

impl Distribution {
    /// Counts one time.
    pub fn add(&mut self, span: Span) {
        let bucket = bucket(span.as_nanos());
        if self.buckets.len() <= bucket {
            self.buckets.resize(bucket + 1, 0);
        }
        self.buckets[bucket] += 1;
        self.count += 1;
        self.nanos += u128::from(span.as_nanos());
        self.least = Some(self.least.map_or(span, |least| least.min(span)));
        self.most = self.most.max(span);
    }

    /// How many were counted.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// What the distribution is like; `None` when it is empty.
    pub fn quantiles(&self) -> Option<Quantiles> {
        let least = self.least?;
        let seconds = |nanos: u64| Span::from_nanos(nanos).as_secs_f64();
        let at = |share: f64| {
            let wanted = (share * self.count as f64).ceil() as u64;
            let mut seen = 0;
            let found = self.buckets.iter().position(|bucket| {
                seen += bucket;
                seen >= wanted
            });
            let nanos = found.map_or(self.most.as_nanos(), upper_end);
            seconds(nanos.clamp(least.as_nanos(), self.most.as_nanos()))
        };
        Some(Quantiles {
            mean: self.nanos as f64 / self.count as f64 / 1e9,
            min: least.as_secs_f64(),
            p50: at(0.5),
            p90: at(0.9),
            p95: at(0.95),
            p99: at(0.99),
            max: self.most.as_secs_f64(),
        })
    }
}

/// The bucket of a number: those below 128 have one each, larger ones by their seven first bits.
const fn bucket(n: u64) -> usize {
    let shift = (64 - n.leading_zeros()).saturating_sub(STEP_BITS + 1);
    shift as usize * STEPS + (n >> shift) as usize
}

/// The largest number of a bucket.
const fn upper_end(bucket: usize) -> u64 {
    if bucket < 2 * STEPS {
        return bucket as u64;
    }
    let shift = (bucket / STEPS - 1) as u32;
    let first = (bucket % STEPS + STEPS) as u64;
    (first << shift) + ((1 << shift) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_lies_in_its_bucket_and_no_bucket_is_wide() {
        let numbers = (0..5000).chain((0..64).map(|n| 1 << n)).chain((1..64).map(|n| (1 << n) - 1));
        for n in numbers {
            let (this, end) = (bucket(n), upper_end(bucket(n)));
            assert!(end >= n && (end - n) as f64 <= n as f64 / 64.0, "{n}");
            assert!(this == 0 || upper_end(this - 1) < n, "{n}");
        }
        assert_eq!(upper_end(bucket(u64::MAX)), u64::MAX);
    }

    #[test]
    fn quantiles_of_a_thousand_numbers_are_where_they_should_be() {
        let mut times = Distribution::default();
        assert_eq!(times.quantiles(), None);
        (1..=1000).rev().for_each(|n| times.add(Span::from_millis(n)));
        let q = times.quantiles().expect("not empty");
        assert_eq!((times.count(), q.min, q.max), (1000, 0.001, 1.0));
        assert!((q.mean - 0.5005).abs() < 1e-9);
        for (found, right) in [(q.p50, 0.5), (q.p90, 0.9), (q.p95, 0.95), (q.p99, 0.99)] {
            assert!((found / right - 1.0).abs() < 0.016, "{found}, not {right}");
        }
    }
}
