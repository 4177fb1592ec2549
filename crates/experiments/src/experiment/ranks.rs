//! Claims about the order of all variants.

use super::claims::{Judge, Places};
use super::stats::Estimate;
use super::sweep::Values;
use super::verdicts::{Missing, Verdict};

/// Which end of the order a claim is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Top,
    Bottom,
}

impl Judge<'_> {
    /// At every place each of `variants` is above (below) each other one, and the 95 % interval of the
    /// paired difference excludes the opposite. With `less` a smaller value is better.
    pub(super) fn ends(
        &self,
        end: End,
        variants: &[String],
        less: bool,
        metric: &'static str,
        places: &Places,
    ) -> Verdict {
        let sign = if (end == End::Top) == less { -1.0 } else { 1.0 };
        let places = self.places(places);
        let others: Vec<&String> =
            self.result.variants.iter().filter(|name| !variants.contains(name)).collect();
        let mut against = Vec::new();
        for (&place, variant) in places.iter().flat_map(|p| variants.iter().map(move |v| (p, v))) {
            for other in &others {
                let these = &self.result.values(variant, metric)[place];
                let those = &self.result.values(other, metric)[place];
                let difference = Estimate::of_difference(these, those);
                let (mean, ci95) = (sign * difference.mean, difference.ci95);
                if mean.is_nan() || mean < ci95 {
                    let (a, b) = (Estimate::of(these).mean, Estimate::of(those).mean);
                    let x = self.result.xs[place];
                    let how = if mean < -ci95 { "the other way" } else { "not told apart" };
                    against.push(format!("{variant} {a:.4} against {other} {b:.4} at {x}, {how}"));
                }
            }
        }
        let holds = against.is_empty() && !places.is_empty() && !others.is_empty();
        let measured = if holds {
            format!(
                "at {} of {} points against {} others",
                places.len(),
                places.len(),
                others.len()
            )
        } else {
            against.join("; ")
        };
        (holds, measured)
    }

    /// The spread of the variants' means, (largest - smallest) / mean, is smaller at `at` than at
    /// `than_at`, and the 95 % interval of the difference excludes the opposite.
    pub(super) fn spread(&self, metric: &'static str, at: f64, than_at: f64) -> Verdict {
        let measured = |x: f64| -> Option<Vec<&Values>> {
            let place = self.result.xs.iter().position(|known| *known == x)?;
            let of = |name: &String| self.result.values(name, metric).get(place);
            self.result.variants.iter().map(of).collect()
        };
        let (Some(here), Some(there)) = (measured(at), measured(than_at)) else {
            return (false, "nothing was measured there".into());
        };
        let difference = |without| spread_without(&there, without) - spread_without(&here, without);
        // A spread has no value in one replication: the interval comes from leaving out each in turn.
        let n = here.first().map_or(0, |values| values.len());
        let all = difference(None);
        let without = |one| n as f64 * all - (n as f64 - 1.0) * difference(Some(one));
        let pseudo: Vec<f64> = if n > 1 { (0..n).map(without).collect() } else { vec![all] };
        let sure = Estimate::of(&pseudo).ci95 <= all;
        let (here, there) = (spread_without(&here, None), spread_without(&there, None));
        let doubt = if sure || all <= 0.0 { "" } else { "; not told apart" };
        (all > 0.0 && sure, format!("{here:.3} at {at}, {there:.3} at {than_at}{doubt}"))
    }

    /// Over all places of some figures, the ranks of `variant` have the smallest sum. Figures are
    /// written as experiment and figure.
    pub(super) fn rank_sum(
        &self,
        variant: &str,
        metric: &'static str,
        figures: &[[String; 2]],
    ) -> Result<Verdict, Missing> {
        let names = &self.result.variants;
        let mut sums = vec![0_usize; names.len()];
        for [experiment, figure] in figures {
            let missing = || Missing::new(experiment, figure);
            let result = (self.find)(experiment, figure).ok_or_else(missing)?;
            for place in 0..result.xs.len() {
                let mean = |name: &String| {
                    let values = result.values(name, metric).get(place);
                    values.map_or(f64::NAN, |values| Estimate::of(values).mean)
                };
                let means: Vec<f64> = names.iter().map(mean).collect();
                for (sum, own) in sums.iter_mut().zip(&means) {
                    *sum += 1 + means.iter().filter(|other| **other > *own).count();
                }
            }
        }
        let mut order: Vec<(usize, &String)> = sums.iter().copied().zip(names).collect();
        order.sort_by_key(|(sum, _)| *sum);
        let first = order.first().is_some_and(|(_, name)| *name == variant);
        let alone = order.len() < 2 || order[0].0 < order[1].0;
        let text: Vec<_> = order.iter().map(|(sum, name)| format!("{name} {sum}")).collect();
        Ok((first && alone, text.join(", ")))
    }
}

/// (Largest - smallest) / mean of the means of some variants, with one replication left out or none.
fn spread_without(variants: &[&Values], without: Option<usize>) -> f64 {
    let mean = |values: &&Values| {
        let kept = values.iter().enumerate().filter(|(at, _)| Some(*at) != without);
        Estimate::of(&kept.map(|(_, value)| *value).collect::<Vec<_>>()).mean
    };
    let means: Vec<f64> = variants.iter().map(mean).collect();
    let low = means.iter().copied().fold(f64::INFINITY, f64::min);
    let high = means.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (high - low) / (means.iter().sum::<f64>() / means.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::super::sweep::SweepResult;
    use super::*;

    const METRIC: &str = "mean_throughput";

    /// Three variants at two places, three replications each.
    fn measured() -> SweepResult {
        let a = vec![vec![10.0, 11.0, 12.0], vec![5.0, 5.1, 5.2]];
        let b = vec![vec![8.0, 9.0, 10.0], vec![5.3, 4.9, 5.2]];
        let c = vec![vec![1.0, 2.0, 3.0], vec![4.0, 4.1, 4.2]];
        SweepResult::by_hand(METRIC, &[("a", a), ("b", b), ("c", c)])
    }

    fn with<R>(result: &SweepResult, look: impl FnOnce(&Judge<'_>) -> R) -> R {
        let find = |experiment: &str, _: &str| (experiment == "E1").then_some(result);
        look(&Judge { experiment: "E1", default_metric: METRIC, result, find: &find })
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn the_top_is_above_each_other_beyond_doubt_and_the_bottom_below() {
        let result = measured();
        let ends = |end, variants: &[&str], less, x| {
            let places = Places { at: Some(vec![x]), from_x: None };
            with(&result, |judge| judge.ends(end, &names(variants), less, METRIC, &places)).0
        };
        assert!(ends(End::Top, &["a"], false, 0.0) && ends(End::Top, &["a", "b"], false, 0.0));
        assert!(!ends(End::Top, &["b"], false, 0.0), "a is above it");
        assert!(!ends(End::Top, &["a"], false, 1.0), "b is not told apart from it");
        assert!(ends(End::Bottom, &["c"], false, 0.0) && !ends(End::Bottom, &["b"], false, 0.0));
        assert!(ends(End::Top, &["c"], true, 0.0) && ends(End::Bottom, &["a"], true, 0.0));
        assert!(!ends(End::Top, &["a"], false, 7.0), "nothing was measured there");
    }

    #[test]
    fn spreads_of_two_places_are_compared() {
        let result = measured();
        // (11 - 2) / 7.33 at the first, 1.03 / 4.77 at the second place.
        assert!(with(&result, |judge| judge.spread(METRIC, 1.0, 0.0)).0);
        assert!(!with(&result, |judge| judge.spread(METRIC, 0.0, 1.0)).0);
        assert!(!with(&result, |judge| judge.spread(METRIC, 0.0, 5.0)).0);
    }

    #[test]
    fn a_spread_that_may_be_smaller_by_chance_is_not_told_apart() {
        // Spreads of 4.33 / 12.17 and 4.67 / 12.33: each replication gives the other order or the same.
        let a = vec![vec![10.0, 12.0, 8.0], vec![10.0, 9.0, 11.0]];
        let b = vec![vec![14.0, 17.0, 12.0], vec![15.0, 11.0, 18.0]];
        let result = SweepResult::by_hand(METRIC, &[("a", a), ("b", b)]);
        let (holds, text) = with(&result, |judge| judge.spread(METRIC, 0.0, 1.0));
        assert!(!holds && text.ends_with("not told apart"), "{text}");
    }

    #[test]
    fn ranks_are_summed_over_all_places_of_all_figures() {
        let result = measured();
        let figure = |experiment: &str| [experiment.to_owned(), "1".to_owned()];
        let sum = |variant: &str, figures: &[[String; 2]]| {
            with(&result, |judge| judge.rank_sum(variant, METRIC, figures))
        };
        // a: 1 and 2, b: 2 and 1, c: 3 and 3.
        let (holds, text) = sum("c", &[figure("E1")]).expect("judged");
        assert!(!holds && text == "a 3, b 3, c 6", "{text}");
        let shared = sum("a", &[figure("E1")]).expect("judged");
        assert!(!shared.0, "it shares the first place");
        assert!(sum("a", &[figure("E2")]).is_err(), "that figure was not run");
        let better =
            SweepResult::by_hand(METRIC, &[("a", vec![vec![2.0]]), ("b", vec![vec![1.0]])]);
        let better = with(&better, |judge| judge.rank_sum("a", METRIC, &[figure("E1")]));
        assert!(better.expect("judged").0);
    }
}
