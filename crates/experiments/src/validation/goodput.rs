//! Goodput beside ns-2's, point by point.

use bentpipe_record::FlowSummary;
use bentpipe_scenario::Scenario;
use bentpipe_sim::{Silent, run};
use rayon::prelude::*;

use super::Error;
use crate::experiment::Estimate;

/// What ns-2 found; `docs/validation.md` says how.
const NS2: &str = include_str!("../../data/ns2/geo-6mbit.csv");

/// A point of ns-2's results: means over its runs.
#[derive(Clone, Debug)]
pub struct Reference {
    /// Name of the agent.
    pub agent: String,
    /// Bit error rate, as it is written there.
    pub ber: String,
    /// Runs.
    pub runs: u64,
    /// Goodput in bit/s and half its 95 % confidence interval.
    pub goodput: (f64, f64),
    /// Segments retransmitted.
    pub resent: f64,
    /// Timeouts.
    pub timeouts: f64,
    /// Reductions of the window.
    pub reductions: f64,
}

/// All of ns-2's results.
///
/// # Errors
/// When a row is damaged.
pub fn references() -> Result<Vec<Reference>, Error> {
    NS2.lines()
        .skip(1)
        .map(|line| {
            let fields: Vec<&str> = line.split(',').collect();
            let [_, agent, _, ber, runs, goodput, ci95, resent, timeouts, _, reductions, ..] =
                fields[..]
            else {
                return Err(format!("not a row of ns-2's results: {line}").into());
            };
            Ok(Reference {
                agent: agent.to_owned(),
                ber: ber.to_owned(),
                runs: runs.parse()?,
                goodput: (goodput.parse()?, ci95.parse()?),
                resent: resent.parse()?,
                timeouts: timeouts.parse()?,
                reductions: reductions.parse()?,
            })
        })
        .collect()
}

/// What our runs of a point give.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    /// Goodput in bit/s.
    pub goodput: Estimate,
    /// Mean of the segments retransmitted.
    pub resent: f64,
    /// Mean of the timeouts.
    pub timeouts: f64,
    /// Mean of the reductions of the window.
    pub reductions: f64,
}

impl Found {
    /// Runs a scenario with one flow so often, with the seeds 1, 2 and so on.
    ///
    /// # Errors
    /// When a run cannot be built.
    pub fn in_runs(scenario: &Scenario, runs: u64) -> Result<Self, Error> {
        let flows: Result<Vec<FlowSummary>, Error> = (1..=runs)
            .into_par_iter()
            .map(|seed| {
                let spec = scenario.run_spec(Some(seed), false)?;
                let summary = run(&spec, &mut Silent)?;
                summary.flows.into_iter().next().ok_or_else(|| "the scenario has no flow".into())
            })
            .collect();
        let flows = flows?;
        let of = |value: fn(&FlowSummary) -> f64| {
            let values: Vec<f64> = flows.iter().map(value).collect();
            Estimate::of(&values)
        };
        Ok(Self {
            goodput: of(|flow| flow.metrics.effective_throughput),
            resent: of(|flow| flow.source.retransmitted_segments as f64).mean,
            timeouts: of(|flow| flow.source.timeouts as f64).mean,
            reductions: of(|flow| flow.source.reductions as f64).mean,
        })
    }
}

/// How two goodputs compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agreement {
    /// They lie within a tenth of each other.
    Near,
    /// Each lies in the confidence interval of the other.
    InBothIntervals,
    /// Neither.
    No,
}

impl Reference {
    /// Ours over ns-2's, less one.
    pub fn difference(&self, found: &Found) -> f64 {
        found.goodput.mean / self.goodput.0 - 1.0
    }

    /// Whether our runs agree with ns-2's.
    pub fn judge(&self, found: &Found) -> Agreement {
        let apart = (found.goodput.mean - self.goodput.0).abs();
        if self.difference(found).abs() <= 0.1 {
            Agreement::Near
        } else if apart <= self.goodput.1 && apart <= found.goodput.ci95 {
            Agreement::InBothIntervals
        } else {
            Agreement::No
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(mean: f64, ci95: f64) -> Found {
        let goodput = Estimate { mean, ci95, sd: 0.0, n: 10 };
        Found { goodput, resent: 0.0, timeouts: 0.0, reductions: 0.0 }
    }

    #[test]
    fn a_tenth_is_near_and_further_apart_both_intervals_must_hold_the_other() {
        let reference = references().expect("sound data").swap_remove(0);
        let reference = Reference { goodput: (100.0, 20.0), ..reference };
        assert_eq!(reference.judge(&found(109.0, 0.0)), Agreement::Near);
        assert_eq!(reference.judge(&found(118.0, 19.0)), Agreement::InBothIntervals);
        assert_eq!(reference.judge(&found(118.0, 17.0)), Agreement::No);
        assert_eq!(reference.judge(&found(121.0, 30.0)), Agreement::No);
    }

    #[test]
    fn every_agent_has_eight_points() {
        let references = references().expect("sound data");
        for agent in super::super::AGENTS {
            assert_eq!(references.iter().filter(|r| r.agent == agent.name).count(), 8);
        }
    }
}
