//! Watching a part of a run by samples.

use bentpipe_record::{ProxySample, Sample, Steady, SteadyFlow, SteadyProxy};
use bentpipe_scenario::Quantity;
use bentpipe_sim::Observer;
use bentpipe_units::{Instant, Span};
use serde::Deserialize;

/// The part of a run that is watched: that in which things are steady.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WatchSpec {
    /// Samples count from here on.
    pub from: Quantity<Span>,
    /// And up to here.
    pub until: Quantity<Span>,
    /// Time between samples.
    pub every: Quantity<Span>,
}

/// Collects the samples of a part of a run.
pub(super) struct Watch {
    spec: WatchSpec,
    flows: Vec<Flow>,
    proxies: Vec<(usize, usize, Proxy)>,
}

/// Sums over the samples of a flow.
#[derive(Clone, Copy, Default)]
struct Flow {
    samples: f64,
    in_flight: f64,
    squares: f64,
    first: Option<(Instant, u64)>,
    last: Option<(Instant, u64)>,
}

/// Sums over the samples of a proxy.
#[derive(Clone, Copy, Default)]
struct Proxy {
    samples: f64,
    occupied: f64,
    backlog: f64,
}

impl Watch {
    pub(super) fn new(spec: WatchSpec, flows: usize) -> Self {
        Self { spec, flows: vec![Flow::default(); flows], proxies: Vec::new() }
    }

    fn is_within(&self, at: Instant) -> bool {
        let since = at.since(Instant::ZERO);
        self.spec.from.0 <= since && since <= self.spec.until.0
    }

    /// What was measured.
    pub(super) fn steady(&self) -> Steady {
        Steady {
            flows: self.flows.iter().map(Flow::steady).collect(),
            proxies: self.proxies.iter().map(|(_, _, proxy)| proxy.steady()).collect(),
        }
    }
}

impl Observer for Watch {
    fn sample_every(&self) -> Option<Span> {
        Some(self.spec.every.0)
    }

    fn sample(&mut self, sample: &Sample) {
        if !self.is_within(sample.at) {
            return;
        }
        let flow = &mut self.flows[sample.flow];
        let bytes = sample.in_flight.get() as f64;
        flow.samples += 1.0;
        flow.in_flight += bytes;
        flow.squares += bytes * bytes;
        let seen = Some((sample.at, sample.delivered.get()));
        (flow.first, flow.last) = (flow.first.or(seen), seen);
    }

    fn proxy(&mut self, sample: &ProxySample) {
        if !self.is_within(sample.at) {
            return;
        }
        let key = (sample.flow, sample.proxy);
        let known = self.proxies.iter().position(|(flow, proxy, _)| (*flow, *proxy) == key);
        let place = known.unwrap_or_else(|| {
            self.proxies.push((key.0, key.1, Proxy::default()));
            self.proxies.len() - 1
        });
        let proxy = &mut self.proxies[place].2;
        proxy.samples += 1.0;
        proxy.occupied += sample.occupied.get() as f64;
        proxy.backlog += sample.backlog.get() as f64;
    }
}

impl Flow {
    fn steady(&self) -> SteadyFlow {
        let samples = self.samples.max(1.0);
        let mean = self.in_flight / samples;
        let variance = (self.squares / samples - mean * mean).max(0.0);
        let throughput = match (self.first, self.last) {
            (Some((begin, before)), Some((end, after))) if end > begin => {
                8.0 * (after - before) as f64 / end.since(begin).as_secs_f64()
            }
            _ => 0.0,
        };
        SteadyFlow { in_flight_mean: mean, in_flight_sd: variance.sqrt(), throughput }
    }
}

impl Proxy {
    fn steady(&self) -> SteadyProxy {
        let samples = self.samples.max(1.0);
        SteadyProxy { occupied_mean: self.occupied / samples, backlog_mean: self.backlog / samples }
    }
}
