//! What a constellation did during a run.

use serde::Serialize;

/// The satellites of a run: handovers, changes of links and of routes.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ConstellationSummary {
    /// Name of the constellation.
    pub name: String,
    /// Number of satellites.
    pub satellites: u64,
    /// Checks of the links, the one at the start included.
    pub checks: u64,
    /// Links between satellites that came up or went down after the start.
    pub isl_changes: u64,
    /// Packets that found no way on at a station or a satellite.
    pub lost_no_route: u64,
    /// Handovers after the start, in order.
    pub handovers: Vec<HandoverRecord>,
    /// The routes of the flows, in the order of the scenario.
    pub routes: Vec<RouteSummary>,
}

/// A station gave up a satellite, took one, or took one in place of another.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HandoverRecord {
    /// When, in seconds of simulated time.
    pub at: f64,
    /// Name of the station.
    pub station: String,
    /// The satellite that it gave up.
    pub from: Option<String>,
    /// The satellite that it took.
    pub to: Option<String>,
}

/// The route of a flow, from its sender to its receiver, as the checks found it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RouteSummary {
    /// Name of the flow.
    pub flow: String,
    /// Checks that found a route.
    pub connected: u64,
    /// The shortest delay, in seconds of propagation one way.
    pub least_delay: Option<f64>,
    /// The mean of the delays.
    pub mean_delay: Option<f64>,
    /// The longest delay.
    pub most_delay: Option<f64>,
    /// The route at the start, and each one that went over other nodes than the one before.
    pub changes: Vec<RouteChange>,
}

/// A route that was new at a check.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RouteChange {
    /// When, in seconds of simulated time.
    pub at: f64,
    /// Its delay at that time, in seconds; `None` when there was no route.
    pub delay: Option<f64>,
    /// Number of its links.
    pub hops: u64,
}
