//! Many storms, on all cores.

use std::ops::RangeInclusive;

use bentpipe_sim::storm::{Finding, Report, Storm};
use rayon::prelude::*;

use crate::experiment::in_pool;
use crate::progress::Progress;

/// Seeds that are taken at a time: after them it is looked whether to go on, and whether one went wrong.
const AT_A_TIME: u64 = 16;

/// What many storms were like.
#[derive(Clone, Debug)]
pub struct Explored {
    /// Which programs were in them.
    pub storm: Storm,
    /// The seeds.
    pub seeds: RangeInclusive<u64>,
    /// All together.
    pub report: Report,
}

/// A storm that went wrong.
#[derive(Clone, Debug)]
pub struct Found {
    /// Which programs were in it.
    pub storm: Storm,
    /// Its seed.
    pub seed: u64,
    /// What must not happen and did.
    pub finding: Finding,
}

/// Lets storms happen on `jobs` threads, one on each core if none is given, for as long as `goes_on` says so. Both kinds of
/// storms take turns.
///
/// # Errors
/// The first seed that goes wrong. It is the same on every machine.
pub fn explore(
    storms: &[Storm],
    seeds: RangeInclusive<u64>,
    jobs: Option<usize>,
    goes_on: &(dyn Fn() -> bool + Sync),
    progress: &dyn Progress,
) -> Result<Vec<Explored>, Box<Found>> {
    let (first, last) = seeds.into_inner();
    let each = (last - first).saturating_add(1);
    progress.total(each.saturating_mul(storms.len() as u64));
    let mut explored: Vec<Explored> = Vec::new();
    in_pool(jobs, || -> Result<(), Box<Found>> {
        let mut from = first;
        loop {
            let to = last.min(from.saturating_add(AT_A_TIME - 1));
            for (place, storm) in storms.iter().enumerate() {
                let report = some(*storm, from..=to, progress)?;
                match explored.get_mut(place) {
                    Some(all) => {
                        all.report.add(&report);
                        all.seeds = first..=to;
                    }
                    None => explored.push(Explored { storm: *storm, seeds: first..=to, report }),
                }
            }
            if to == last || !goes_on() {
                return Ok(());
            }
            from = to + 1;
        }
    })?;
    Ok(explored)
}

fn some(
    storm: Storm,
    seeds: RangeInclusive<u64>,
    progress: &dyn Progress,
) -> Result<Report, Box<Found>> {
    let (first, last) = seeds.into_inner();
    let count = last - first + 1;
    let ends: Vec<_> = (0..count)
        .into_par_iter()
        .map(|place| {
            let end = storm.run(first + place);
            progress.done();
            end
        })
        .collect();
    let mut sum = Report::default();
    for (seed, end) in (first..=last).zip(ends) {
        match end {
            Ok(report) => sum.add(&report),
            Err(finding) => return Err(Box::new(Found { storm, seed, finding: *finding })),
        }
    }
    Ok(sum)
}
