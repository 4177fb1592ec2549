//! Variants in the order of their goodput.

use bentpipe_record::{ComparisonRow, Estimate as Mean, LimitCounts};

use super::measure::Measured;
use super::variant::Variant;
use crate::experiment::Estimate;

/// A row for each variant, the best goodput first; equal ones in the order they were asked for.
pub(super) fn ranked(variants: &[Variant], measured: &[Vec<Measured>]) -> Vec<ComparisonRow> {
    let goodputs = |runs: &[Measured]| runs.iter().map(|run| run.goodput).collect::<Vec<_>>();
    let mut order: Vec<usize> = (0..variants.len()).collect();
    let mean = |number: usize| Estimate::of(&goodputs(&measured[number])).mean;
    order.sort_by(|a, b| mean(*b).total_cmp(&mean(*a)));
    let best = order.first().map(|best| goodputs(&measured[*best])).unwrap_or_default();
    let row = |(place, &number): (usize, &usize)| {
        let runs = &measured[number];
        let of = |take: fn(&Measured) -> Option<f64>| {
            let values: Vec<f64> = runs.iter().filter_map(take).collect();
            (!values.is_empty()).then(|| estimate(&values))
        };
        let shortfalls: Vec<f64> =
            runs.iter().zip(&best).map(|(run, best)| 100.0 * (run.goodput / best - 1.0)).collect();
        ComparisonRow {
            rank: place as u64 + 1,
            variant: variants[number].name.clone(),
            goodput: estimate(&goodputs(runs)),
            to_best: estimate(&shortfalls),
            utilisation: of(|run| run.utilisation),
            limited_by: runs.iter().map(|run| run.limits).sum::<LimitCounts>().shares(),
            overhead: of(|run| Some(run.overhead)),
            fairness: of(|run| run.fairness),
            queueing_delay: of(|run| run.queueing_delay),
            connection_time: of(|run| run.connection_time),
            complete: runs.iter().filter(|run| run.complete).count() as u64,
        }
    };
    order.iter().enumerate().map(row).collect()
}

/// The mean of values; one value has neither a spread nor an interval.
pub(crate) fn estimate(values: &[f64]) -> Mean {
    let Estimate { mean, sd, ci95, n } = Estimate::of(values);
    let several = |value: f64| (n > 1).then_some(value);
    Mean { mean, sd: several(sd), ci95: several(ci95), n }
}
