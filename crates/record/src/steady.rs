//! What was measured in a part of a run, by sampling it.

use serde::Serialize;

/// Flows and proxies in a part of a run: after the start, before the end.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Steady {
    /// The flows in the order of the scenario; one that had no connection yet has zeros.
    pub flows: Vec<SteadyFlow>,
    /// Flow by flow and in the order of the way.
    pub proxies: Vec<SteadyProxy>,
}

/// A flow in a part of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct SteadyFlow {
    /// Bytes that its sender had sent and that were not acknowledged: the mean of the samples.
    pub in_flight_mean: f64,
    /// Their standard deviation.
    pub in_flight_sd: f64,
    /// What reached the receiver from the first sample to the last, in bit/s.
    pub throughput: f64,
}

/// A proxy in a part of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct SteadyProxy {
    /// Bytes that it held: the mean of the samples.
    pub occupied_mean: f64,
    /// Those of them that were not under way on the far leg.
    pub backlog_mean: f64,
}
