//! Answers to probes, and what they say of the link.

use bentpipe_units::{Instant, Span};

use super::ImportOptions;
use crate::trace::hold;
use crate::{Trace, TraceError};

/// Losses are counted together for so long.
const WINDOW: Span = Span::from_secs(10);

/// A probe: when it left, and the one-way delay that its answer shows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Probe {
    pub(crate) at: Instant,
    pub(crate) delay: Option<Span>,
}

/// The trace of probes. `probes` may begin at any time and are in any order.
pub(crate) fn trace(
    name: &str,
    mut probes: Vec<Probe>,
    options: &ImportOptions,
) -> Result<Trace, TraceError> {
    probes.sort_by_key(|probe| probe.at);
    probes.dedup_by_key(|probe| probe.at);
    let Some(first) = probes.first().map(|probe| probe.at) else {
        return Err(TraceError::whole(name, "there is no probe in it"));
    };
    if probes.iter().all(|probe| probe.delay.is_none()) {
        return Err(TraceError::whole(name, "no probe was answered"));
    }
    probes.iter_mut().for_each(|probe| probe.at = Instant::ZERO + probe.at.since(first));
    let last = probes.last().map_or(Instant::ZERO, |probe| probe.at);
    let apart = match probes.len() as u64 {
        0 | 1 => options.interval,
        count => last.since(Instant::ZERO) / (count - 1),
    };
    let up = outages(&mut probes, options.gap);
    Ok(Trace {
        delay: Some(delays(&probes)),
        loss: losses(&probes),
        up,
        ..Trace::silent(last.since(Instant::ZERO) + apart.max(Span::from_millis(1)))
    })
}

/// Takes runs of more than `gap` probes without an answer out of the others.
fn outages(probes: &mut Vec<Probe>, gap: usize) -> Option<Vec<(Instant, bool)>> {
    let mut up = vec![(Instant::ZERO, true)];
    let mut kept = Vec::with_capacity(probes.len());
    let mut rest = probes.as_slice();
    while !rest.is_empty() {
        let silent = rest.iter().take_while(|probe| probe.delay.is_none()).count();
        let (missing, after) = rest.split_at(silent);
        if silent > gap {
            let begin = missing[0].at;
            if begin == Instant::ZERO {
                up.clear();
            }
            up.push((begin, false));
            up.extend(after.first().map(|probe| (probe.at, true)));
        } else {
            kept.extend_from_slice(missing);
        }
        let heard = after.iter().take_while(|probe| probe.delay.is_some()).count();
        kept.extend_from_slice(&after[..heard]);
        rest = &after[heard..];
    }
    *probes = kept;
    (up.len() > 1 || up.iter().any(|(_, up)| !up)).then_some(up)
}

fn delays(probes: &[Probe]) -> Vec<(Instant, Span)> {
    let mut steps: Vec<(Instant, Span)> = Vec::new();
    for (at, delay) in probes.iter().filter_map(|probe| Some((probe.at, probe.delay?))) {
        hold(&mut steps, at, delay);
    }
    steps
}

/// The share of lost probes in each window.
fn losses(probes: &[Probe]) -> Option<Vec<(Instant, f64)>> {
    if probes.iter().all(|probe| probe.delay.is_some()) {
        return None;
    }
    let mut steps: Vec<(Instant, f64)> = Vec::new();
    let window = |probe: &Probe| probe.at.as_nanos() / WINDOW.as_nanos();
    for part in probes.chunk_by(|a, b| window(a) == window(b)) {
        let lost = part.iter().filter(|probe| probe.delay.is_none()).count();
        let share = lost as f64 / part.len() as f64;
        hold(&mut steps, Instant::ZERO + WINDOW * part.first().map_or(0, window), share);
    }
    Some(steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: u64) -> Instant {
        Instant::ZERO + Span::from_secs(secs)
    }

    fn probes(answered: &[bool]) -> Vec<Probe> {
        let delay = |answered: bool| answered.then_some(Span::from_millis(20));
        let probe = |(n, answered): (usize, &bool)| Probe {
            at: at(100 + n as u64),
            delay: delay(*answered),
        };
        answered.iter().enumerate().map(probe).collect()
    }

    #[test]
    fn few_missing_answers_are_losses_and_many_an_outage() {
        let options = ImportOptions { gap: 2, ..ImportOptions::default() };
        let answered = [true, false, true, true, false, false, false, true, true, true, true, true];
        let trace = trace("x", probes(&answered), &options).expect("a trace");
        assert_eq!(trace.length, Span::from_secs(12));
        assert_eq!(trace.up, Some(vec![(at(0), true), (at(4), false), (at(7), true)]));
        assert_eq!(trace.delay, Some(vec![(at(0), Span::from_millis(20))]));
        assert_eq!(trace.loss, Some(vec![(at(0), 1.0 / 7.0), (at(10), 0.0)]));
    }

    #[test]
    fn a_trace_may_begin_with_an_outage() {
        let options = ImportOptions { gap: 1, ..ImportOptions::default() };
        let trace = trace("x", probes(&[false, false, true]), &options).expect("a trace");
        assert_eq!(trace.up, Some(vec![(at(0), false), (at(2), true)]));
        assert_eq!(trace.loss, None);
    }

    #[test]
    fn probes_without_any_answer_are_no_trace() {
        let options = ImportOptions::default();
        assert!(trace("x", vec![], &options).is_err());
        let error = trace("x", probes(&[false]), &options).expect_err("nothing");
        assert_eq!(error.to_string(), "x: no probe was answered");
    }
}
