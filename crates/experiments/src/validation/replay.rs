//! Goodput with ns-2's own losses: what is left of a difference when chance is taken out.

use bentpipe_sim::{Silent, run};
use rayon::prelude::*;

use super::{Error, agent};
use crate::experiment::Estimate;

/// Goodput of single runs of ns-2; `docs/validation.md` says how they were made.
const RUNS: &str = include_str!("../../data/ns2/geo-6mbit-runs.csv");

/// Which data packets each of these runs lost to bit errors, by their order on the satellite link. They are the same
/// for all agents with packets of one length, and go on behind what any of them sent.
const LOSSES: &str = include_str!("../../data/ns2/geo-6mbit-losses.csv");

/// The runs of a point, each with the losses that ns-2 had in it.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// Name of the agent.
    pub agent: String,
    /// Bit error rate, as it is written there.
    pub ber: String,
    /// Goodput in bit/s: ns-2's and ours in each run.
    pub runs: Vec<(f64, f64)>,
}

impl Replayed {
    /// Mean of ns-2's goodputs in bit/s.
    pub fn ns2(&self) -> f64 {
        self.runs.iter().map(|(ns2, _)| ns2).sum::<f64>() / self.runs.len().max(1) as f64
    }

    /// Ours less ns-2's, run by run, as a share of ns-2's mean.
    pub fn difference(&self) -> Estimate {
        let mean = self.ns2();
        let apart: Vec<f64> = self.runs.iter().map(|(ns2, ours)| (ours - ns2) / mean).collect();
        Estimate::of(&apart)
    }
}

/// Repeats all recorded runs of ns-2, or those of these agents, with their losses in the place of bit errors.
///
/// # Errors
/// When the data are damaged or a run cannot be built.
pub fn replays(names: &[String]) -> Result<Vec<Replayed>, Error> {
    let rows: Vec<Vec<&str>> = RUNS.lines().skip(1).map(|line| line.split(',').collect()).collect();
    let rows: Vec<Vec<&str>> = rows
        .into_iter()
        .filter(|row| names.is_empty() || names.iter().any(|n| n == row[0]))
        .collect();
    let found: Result<Vec<(f64, f64)>, Error> = rows.par_iter().map(|row| repeat(row)).collect();
    let mut all: Vec<Replayed> = Vec::new();
    for (row, run) in rows.iter().zip(found?) {
        match all.last_mut() {
            Some(last) if last.agent == row[0] && last.ber == row[1] => last.runs.push(run),
            _ => all.push(Replayed {
                agent: row[0].to_owned(),
                ber: row[1].to_owned(),
                runs: vec![run],
            }),
        }
    }
    Ok(all)
}

/// The goodput of a run of ns-2, and ours with the same losses.
fn repeat(row: &[&str]) -> Result<(f64, f64), Error> {
    let [name, ber, number, goodput] = row[..] else {
        return Err(format!("not a run of ns-2: {}", row.join(",")).into());
    };
    let agent = agent(name).ok_or_else(|| format!("`{name}` is not compared"))?;
    let length = if agent.is_linux() { "1050" } else { "1040" };
    let key = format!("{length},{ber},{number},");
    let lost = LOSSES.lines().find_map(|line| line.strip_prefix(&key));
    let lost = lost.ok_or_else(|| format!("no losses of the run {key}"))?;
    let rules: Vec<String> =
        lost.split(' ').map(|nth| format!("{{ kind = ['data'], nth = {nth} }}")).collect();
    let script = format!("links.satellite.forward.script=[{}]", rules.join(", "));
    let spec = agent.scenario(0.0, &[script])?.run_spec(Some(1), false)?;
    let summary = run(&spec, &mut Silent)?;
    let flow = summary.flows.first().ok_or("the scenario has no flow")?;
    Ok((goodput.parse()?, flow.metrics.effective_throughput))
}
