//! The congestion window beside ns-2's, second by second, on a path that loses nothing but by its queues.

use bentpipe_record::Sample;
use bentpipe_sim::{Observer, run};
use bentpipe_units::{ByteCount, Span};

use super::{Agent, Error};

/// The windows of ns-2's agents, without bit errors.
const NS2: &str = include_str!("../../data/ns2/geo-6mbit-cwnd-lossless.csv");

/// The agents whose windows must be the same up to the first loss.
pub const TRACED: [&str; 3] = ["reno", "newreno", "sack1"];

/// A second of two runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Second {
    /// Time since the start in seconds.
    pub at: u64,
    /// ns-2's window in segments.
    pub ns2: f64,
    /// Ours in segments.
    pub ours: f64,
    /// Neither of the two has found a loss so far.
    pub before_loss: bool,
}

/// Two runs, second by second.
#[derive(Clone, Debug)]
pub struct Trace {
    /// Every second of the runs.
    pub seconds: Vec<Second>,
}

impl Trace {
    /// The largest distance in segments while neither had found a loss, and the last such second.
    pub fn apart_before_loss(&self) -> (f64, u64) {
        let before = self.seconds.iter().filter(|second| second.before_loss);
        before.fold((0.0, 0), |(apart, _), second| {
            (f64::max(apart, (second.ns2 - second.ours).abs()), second.at)
        })
    }
}

/// Window and threshold in bytes, each second.
#[derive(Default)]
struct EachSecond(Vec<(u64, Option<u64>)>);

impl Observer for EachSecond {
    fn sample_every(&self) -> Option<Span> {
        Some(Span::from_secs(1))
    }

    fn sample(&mut self, sample: &Sample) {
        let cwnd = sample.cwnd.map_or(0, ByteCount::get);
        self.0.push((cwnd, sample.ssthresh.map(ByteCount::get)));
    }
}

/// The window of an agent beside ns-2's.
///
/// # Errors
/// When ns-2's file is damaged or the run cannot be built.
pub fn trace(agent: &Agent) -> Result<Trace, Error> {
    let spec = agent.scenario(0.0, &[])?.run_spec(Some(1), false)?;
    let mut ours = EachSecond::default();
    run(&spec, &mut ours)?;
    let mut seconds = Vec::new();
    let mut lost = false;
    let first_ssthresh = ours.0.first().and_then(|(_, ssthresh)| *ssthresh);
    for line in NS2.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let [_, name, _, at, cwnd, ssthresh, ..] = fields[..] else {
            return Err(format!("not a row of ns-2's windows: {line}").into());
        };
        if name != agent.name {
            continue;
        }
        let at = at.parse::<f64>()? as u64;
        let Some((window, threshold)) = ours.0.get(at as usize) else { break };
        // A reduction sets the threshold.
        lost |= ssthresh.parse::<f64>()? < 2000.0 || *threshold != first_ssthresh;
        let (ns2, ours) = (cwnd.parse()?, *window as f64 / 1000.0);
        seconds.push(Second { at, ns2, ours, before_loss: !lost });
    }
    Ok(Trace { seconds })
}
