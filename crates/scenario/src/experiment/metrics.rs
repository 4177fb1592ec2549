//! What can be measured on a run.

use bentpipe_record::{
    ConstellationSummary, FlowSummary, ProbingCycle, ProbingSummary, RouteSummary, RunSummary,
};

/// One metric.
pub struct Metric {
    /// Name in experiment files and in JSON.
    pub name: &'static str,
    /// Label of an axis, with its unit.
    pub label: &'static str,
    /// Takes it from a run.
    pub take: fn(&RunSummary) -> f64,
}

fn flow(run: &RunSummary) -> Option<&FlowSummary> {
    run.flows.first()
}

fn of_flow(run: &RunSummary, take: fn(&FlowSummary) -> f64) -> f64 {
    flow(run).map_or(f64::NAN, take)
}

fn mean_of_flows(run: &RunSummary, take: impl Fn(&FlowSummary) -> f64) -> f64 {
    run.flows.iter().map(take).sum::<f64>() / run.flows.len() as f64
}

/// Bits per second that both ends of a flow sent on all paths but the first.
fn further_rate(run: &RunSummary, flow: &FlowSummary) -> f64 {
    let bytes: u64 = flow.path_bytes.iter().skip(1).sum();
    8.0 * bytes as f64 / run.simulated_seconds
}

fn of_sky(run: &RunSummary, take: fn(&ConstellationSummary) -> f64) -> f64 {
    run.constellation.as_ref().map_or(f64::NAN, take)
}

/// Of the route of the first flow.
fn of_route(run: &RunSummary, take: fn(&RouteSummary) -> f64) -> f64 {
    let route = run.constellation.as_ref().and_then(|sky| sky.routes.first());
    route.map_or(f64::NAN, take)
}

fn probing(run: &RunSummary, take: fn(&ProbingSummary) -> f64) -> f64 {
    flow(run).and_then(|f| f.probing.as_ref()).map_or(0.0, take)
}

fn first_cycle(run: &RunSummary, take: fn(&ProbingCycle) -> f64) -> f64 {
    let probing = flow(run).and_then(|f| f.probing.as_ref());
    probing.and_then(|p| p.first_cycles.first()).map_or(f64::NAN, take)
}

/// Round trip of the scripted scenario in seconds.
const SCRIPTED_RTT: f64 = 0.2;

/// All metrics. The first ones are those of the XSTP paper, section 5.
pub static METRICS: &[Metric] = &[
    Metric {
        name: "effective_throughput",
        label: "effective throughput, bit/s",
        take: |run| of_flow(run, |f| f.metrics.effective_throughput),
    },
    Metric {
        name: "connection_time",
        label: "connection time, s",
        take: |run| of_flow(run, |f| f.metrics.connection_time.unwrap_or(f64::NAN)),
    },
    Metric {
        name: "total_overhead",
        label: "total overhead, %",
        take: |run| of_flow(run, |f| f.metrics.total_overhead),
    },
    Metric {
        name: "total_overhead_without_headers",
        label: "total overhead without first headers, %",
        take: |run| of_flow(run, |f| f.metrics.total_overhead_without_headers),
    },
    Metric {
        name: "retransmission_overhead",
        label: "retransmission overhead, %",
        take: |run| of_flow(run, |f| f.metrics.retransmission_overhead),
    },
    Metric {
        name: "forward_control_overhead",
        label: "forward control overhead, %",
        take: |run| of_flow(run, |f| f.metrics.forward_control_overhead),
    },
    Metric {
        name: "reverse_control_overhead",
        label: "reverse control overhead, %",
        take: |run| of_flow(run, |f| f.metrics.reverse_control_overhead),
    },
    Metric {
        name: "throughput_overhead_ratio",
        label: "throughput / overhead, bit/s per %",
        take: |run| of_flow(run, |f| f.metrics.throughput_overhead_ratio),
    },
    Metric {
        name: "early_timeouts",
        label: "early timeouts",
        take: |run| probing(run, |p| p.early as f64),
    },
    Metric {
        name: "premature_cycles",
        label: "premature cycles",
        take: |run| probing(run, |p| p.premature as f64),
    },
    Metric {
        name: "link_decisions",
        label: "cycles that found a link error",
        take: |run| probing(run, |p| p.link_decisions as f64),
    },
    Metric {
        name: "congestion_decisions",
        label: "cycles that found congestion",
        take: |run| probing(run, |p| p.congestion_decisions as f64),
    },
    Metric {
        name: "detection_delay_rtt",
        label: "from the first loss to the first cycle, round trips",
        take: |run| {
            let lost = run.links.iter().filter_map(|link| link.first_loss_ns).min();
            let started = first_cycle(run, |c| c.started_at);
            lost.map_or(f64::NAN, |ns| (started - ns as f64 / 1e9) / SCRIPTED_RTT)
        },
    },
    Metric {
        name: "first_cycle_rtt",
        label: "length of the first cycle, round trips",
        take: |run| first_cycle(run, |c| c.seconds.unwrap_or(f64::NAN)) / SCRIPTED_RTT,
    },
    Metric {
        name: "first_cycle_probes",
        label: "probes of the first cycle",
        take: |run| first_cycle(run, |c| c.probes as f64),
    },
    Metric {
        name: "mean_throughput",
        label: "throughput of a flow, bit/s",
        take: |run| mean_of_flows(run, |flow| flow.metrics.effective_throughput),
    },
    Metric {
        name: "further_paths_rate",
        label: "sent on further paths by all flows, bit/s",
        take: |run| run.flows.iter().map(|flow| further_rate(run, flow)).sum(),
    },
    Metric {
        name: "further_paths_rate_of_flow",
        label: "sent on further paths by a flow, bit/s",
        take: |run| mean_of_flows(run, |flow| further_rate(run, flow)),
    },
    Metric {
        name: "data_segments",
        label: "data segments sent for the first time",
        take: |run| of_flow(run, |f| f.source.data_segments as f64),
    },
    Metric {
        name: "handovers",
        label: "handovers of all stations",
        take: |run| of_sky(run, |sky| sky.handovers.len() as f64),
    },
    Metric {
        name: "route_changes",
        label: "changes of the route",
        take: |run| of_route(run, |route| route.changes.len() as f64 - 1.0),
    },
    Metric {
        name: "mean_route_delay",
        label: "delay of the route one way on average, s",
        take: |run| of_route(run, |route| route.mean_delay.unwrap_or(f64::NAN)),
    },
    Metric {
        name: "timeouts",
        label: "timeouts of a flow",
        take: |run| mean_of_flows(run, |flow| flow.source.timeouts as f64),
    },
    Metric {
        name: "lost_data_segments",
        label: "data segments lost",
        take: |run| run.links.iter().map(|link| link.lost_data as f64).sum(),
    },
];

/// The metric of this name.
pub fn metric(name: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|metric| metric.name == name)
}
