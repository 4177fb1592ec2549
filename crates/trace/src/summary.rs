//! What a trace is like.

use bentpipe_units::{BitRate, Instant, Span};
use serde::Serialize;
use statrs::statistics::{Data, Distribution, Max, Min, OrderStatistics};

use crate::trace::held;
use crate::{Slots, Trace, find_slots};

/// So many samples at most, evenly over the trace.
const SAMPLES: u64 = 20_000;
/// Samples are no closer than this.
const CLOSEST: Span = Span::from_millis(10);
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// How values are spread over the time of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// The least.
    pub min: f64,
    /// A twentieth of the time it is less than this.
    pub p5: f64,
    /// Half of the time it is less.
    pub median: f64,
    /// Nineteen twentieths of the time it is less.
    pub p95: f64,
    /// The most.
    pub max: f64,
    /// The mean.
    pub mean: f64,
}

impl Spread {
    /// The spread of samples; `None` of none.
    fn of(samples: &[f64]) -> Option<Self> {
        let mut data = Data::new(samples.to_vec());
        let (min, max, mean) = (data.min(), data.max(), data.mean()?);
        let [p5, median, p95] = [0.05, 0.5, 0.95].map(|share| data.quantile(share));
        Some(Self { min, p5, median, p95, max, mean })
    }
}

/// What a trace is like.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Its length in seconds.
    pub seconds: f64,
    /// Rate in bits per second.
    pub rate_bps: Option<Spread>,
    /// One-way delay in seconds.
    pub delay_s: Option<Spread>,
    /// Mean probability of a loss.
    pub loss: Option<f64>,
    /// How often it is down, and for how many seconds in all.
    pub outages: Option<(usize, f64)>,
    /// Regular times at which it changes, by its delay or else its rate.
    pub slots: Option<Slots>,
    /// Samples for a picture: rates, or else delays.
    #[serde(skip)]
    pub picture: Vec<f64>,
}

impl Summary {
    /// Looks at a trace.
    pub fn of(trace: &Trace) -> Self {
        let rates = trace.rate_steps().map(|steps| {
            let bps = |rate: Option<BitRate>| rate.map_or(0.0, |rate| rate.as_bps() as f64);
            steps.into_iter().map(|(at, rate)| (at, bps(rate))).collect::<Vec<_>>()
        });
        let delays = trace.delay.as_ref().map(|steps| {
            steps.iter().map(|(at, delay)| (*at, delay.as_secs_f64())).collect::<Vec<_>>()
        });
        let sampled = |steps: &Vec<(Instant, f64)>| samples(steps, trace.length);
        let [rate, delay] = [&rates, &delays].map(|steps| steps.as_ref().map(sampled));
        let seconds = trace.length.as_secs_f64();
        let mean = |steps: &Vec<(Instant, f64)>| {
            held(steps, trace.length).map(|(loss, span)| loss * span).sum::<f64>() / seconds
        };
        let outages = trace.up.as_ref().map(|steps| {
            let down: Vec<f64> =
                held(steps, trace.length).filter(|(up, _)| !up).map(|(_, span)| span).collect();
            (down.len(), down.iter().sum())
        });
        let slots =
            [&delays, &rates].into_iter().flatten().find_map(|it| find_slots(it, trace.length));
        Self {
            seconds,
            rate_bps: rate.as_deref().and_then(Spread::of),
            delay_s: delay.as_deref().and_then(Spread::of),
            loss: trace.loss.as_ref().map(mean),
            outages,
            slots,
            picture: rate.or(delay).unwrap_or_default(),
        }
    }
}

/// Values at even times.
fn samples(steps: &[(Instant, f64)], length: Span) -> Vec<f64> {
    let apart = (length / SAMPLES).max(CLOSEST);
    let mut next = 0;
    let count = length.as_nanos().div_ceil(apart.as_nanos());
    let times = (0..count).map(|n| Instant::ZERO + apart * n);
    times
        .map(|at| {
            while steps.get(next + 1).is_some_and(|(begin, _)| *begin <= at) {
                next += 1;
            }
            steps[next].1
        })
        .collect()
}

/// A line of bars, as many as `width`, each the mean of its part of the samples: from nothing to the largest.
pub fn sparkline(samples: &[f64], width: usize) -> String {
    let width = width.min(samples.len());
    let most = samples.iter().copied().fold(0.0, f64::max);
    let bar = |n: usize| {
        let part = &samples[n * samples.len() / width..(n + 1) * samples.len() / width];
        let mean = part.iter().sum::<f64>() / part.len().max(1) as f64;
        let height = if most > 0.0 { mean / most * (BARS.len() - 1) as f64 } else { 0.0 };
        BARS[(height.round() as usize).min(BARS.len() - 1)]
    };
    (0..width).map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_count_for_as_long_as_they_hold() {
        let text = "time_s,rate_bps,delay_s,loss,up\n0,1e6,0.02,0.1,1\n9,2e6,0.04,0,0\n10,,,,1\n";
        let summary = Summary::of(&crate::read("own.csv", text.as_bytes()).expect("a trace"));
        assert_eq!(summary.seconds, 11.0);
        let rate = summary.rate_bps.expect("a rate");
        assert_eq!((rate.min, rate.median, rate.max), (1e6, 1e6, 2e6));
        assert!((rate.mean - 13e6 / 11.0).abs() < 1e4, "{}", rate.mean);
        assert!(summary.loss.is_some_and(|loss| (loss - 0.9 / 11.0).abs() < 1e-9));
        assert_eq!(summary.outages, Some((1, 1.0)));
    }

    #[test]
    fn bars_grow_with_the_mean() {
        assert_eq!(sparkline(&[0.0, 0.0, 3.5, 3.5, 7.0, 7.0], 3), "▁▅█");
        assert_eq!(sparkline(&[], 3), "");
        assert_eq!(sparkline(&[0.0], 3), "▁");
    }
}
