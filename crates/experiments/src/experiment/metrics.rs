//! What can be measured on a run.

use bentpipe_record::{
    ConstellationSummary, FlowSummary, ProbingCycle, ProbingSummary, RouteSummary, RunSummary,
    SteadyFlow, SteadyProxy,
};

use super::trace::Trace;
use crate::compare::jain;

/// One metric.
pub struct Metric {
    /// Name in experiment files and in JSON.
    pub name: &'static str,
    /// Label of an axis, with its unit.
    pub label: &'static str,
    /// Takes it from a run; not a number where there is none.
    pub take: fn(&Outcome<'_>) -> f64,
}

/// A run and what it did over time.
#[derive(Clone, Copy, Debug)]
pub struct Outcome<'a> {
    /// Its summary.
    pub run: &'a RunSummary,
    /// Its samples; empty unless the experiment asks for them by `sample_every`.
    pub trace: &'a Trace,
}

fn flow(run: &RunSummary) -> Option<&FlowSummary> {
    run.flows.first()
}

fn of_flow(run: &RunSummary, take: fn(&FlowSummary) -> f64) -> f64 {
    flow(run).map_or(f64::NAN, take)
}

/// The goodputs of the flows that send a file or without end.
fn bulk(run: &RunSummary) -> Vec<f64> {
    let bulk = run.flows.iter().filter(|flow| flow.pieces.is_none());
    bulk.map(|flow| flow.metrics.effective_throughput).collect()
}

fn mean_of_flows(run: &RunSummary, take: impl Fn(&FlowSummary) -> f64) -> f64 {
    run.flows.iter().map(take).sum::<f64>() / run.flows.len() as f64
}

/// Bits per second that both ends of a flow sent on all paths but the first.
fn further_rate(run: &RunSummary, flow: &FlowSummary) -> f64 {
    let bytes: u64 = flow.path_bytes.iter().skip(1).sum();
    8.0 * bytes as f64 / run.simulated_seconds
}

fn of_constellation(run: &RunSummary, take: fn(&ConstellationSummary) -> f64) -> f64 {
    run.constellation.as_ref().map_or(f64::NAN, take)
}

/// Of the route of the first flow.
fn of_route(run: &RunSummary, take: fn(&RouteSummary) -> f64) -> f64 {
    let route = run.constellation.as_ref().and_then(|constellation| constellation.routes.first());
    route.map_or(f64::NAN, take)
}

fn probing(run: &RunSummary, take: fn(&ProbingSummary) -> f64) -> f64 {
    flow(run).and_then(|f| f.probing.as_ref()).map_or(0.0, take)
}

fn first_cycle(run: &RunSummary, take: fn(&ProbingCycle) -> f64) -> f64 {
    let probing = flow(run).and_then(|f| f.probing.as_ref());
    probing.and_then(|p| p.first_cycles.first()).map_or(f64::NAN, take)
}

fn steady(run: &RunSummary, take: fn(&SteadyFlow) -> f64) -> f64 {
    run.steady.as_ref().and_then(|steady| steady.flows.first()).map_or(f64::NAN, take)
}

fn throughputs(run: &RunSummary) -> impl Iterator<Item = f64> {
    run.steady.iter().flat_map(|steady| &steady.flows).map(|flow| flow.throughput)
}

fn proxy(run: &RunSummary, take: fn(&SteadyProxy) -> f64) -> f64 {
    run.steady.as_ref().and_then(|steady| steady.proxies.first()).map_or(f64::NAN, take)
}

/// Bits per second from the first byte to the last of a file that arrived whole.
fn goodput(flow: &FlowSummary) -> f64 {
    match (flow.metrics.connection_time, flow.first_byte_after) {
        (Some(last), Some(first)) => 8.0 * flow.delivered_bytes as f64 / (last - first),
        _ => f64::NAN,
    }
}

/// The flow that a paper with several looks at: the third one, if there are so many.
fn third(run: &RunSummary, take: fn(&FlowSummary) -> f64) -> f64 {
    run.flows.get(2).or(run.flows.first()).map_or(f64::NAN, take)
}

/// Jain's index of the throughputs while they are watched.
fn steady_fairness(run: &RunSummary) -> f64 {
    let throughputs: Vec<f64> = throughputs(run).collect();
    jain(&throughputs).unwrap_or(f64::NAN)
}

/// Bits per second of all that was sent over a radio channel until the first flow's file was there, and as a share of the
/// bit rate.
fn on_channel(run: &RunSummary, trace: &Trace) -> [f64; 2] {
    trace.channel_throughput(of_flow(run, |f| f.metrics.connection_time.unwrap_or(f64::NAN)))
}

/// Bytes that the last link carried back.
fn return_bytes(run: &RunSummary) -> f64 {
    run.links.last().map_or(f64::NAN, |back| back.bytes as f64)
}

/// Round trip of the scripted scenario in seconds.
const SCRIPTED_RTT: f64 = 0.2;

/// All metrics. The first ones are those of the XSTP paper, section 5.
pub static METRICS: &[Metric] = &[
    Metric {
        name: "effective_throughput",
        label: "effective throughput, bit/s",
        take: |Outcome { run, .. }| of_flow(run, |f| f.metrics.effective_throughput),
    },
    Metric {
        name: "connection_time",
        label: "connection time, s",
        take: |Outcome { run, .. }| of_flow(run, |f| f.metrics.connection_time.unwrap_or(f64::NAN)),
    },
    Metric {
        name: "log_connection_time",
        label: "log10 of the connection time in s",
        take: |Outcome { run, .. }| {
            of_flow(run, |f| f.metrics.connection_time.map_or(f64::NAN, libm::log10))
        },
    },
    Metric {
        name: "channel_throughput",
        label: "all bits sent until the file is there, bit/s",
        take: |Outcome { run, trace }| on_channel(run, trace)[0],
    },
    Metric {
        name: "normalized_throughput",
        label: "all bits sent until the file is there, share of the bit rate",
        take: |Outcome { run, trace }| on_channel(run, trace)[1],
    },
    Metric {
        name: "total_overhead",
        label: "total overhead, %",
        take: |Outcome { run, .. }| of_flow(run, |f| f.metrics.total_overhead),
    },
    Metric {
        name: "total_overhead_without_headers",
        label: "total overhead without first headers, %",
        take: |Outcome { run, .. }| of_flow(run, |f| f.metrics.total_overhead_without_headers),
    },
    Metric {
        name: "retransmission_overhead",
        label: "retransmission overhead, %",
        take: |Outcome { run, .. }| of_flow(run, |f| f.metrics.retransmission_overhead),
    },
    Metric {
        name: "forward_control_overhead",
        label: "forward control overhead, %",
        take: |Outcome { run, .. }| of_flow(run, |f| f.metrics.forward_control_overhead),
    },
    Metric {
        name: "reverse_control_overhead",
        label: "reverse control overhead, %",
        take: |Outcome { run, .. }| of_flow(run, |f| f.metrics.reverse_control_overhead),
    },
    Metric {
        name: "throughput_overhead_ratio",
        label: "throughput / overhead, bit/s per %",
        take: |Outcome { run, .. }| of_flow(run, |f| f.metrics.throughput_overhead_ratio),
    },
    Metric {
        name: "early_timeouts",
        label: "early timeouts",
        take: |Outcome { run, .. }| probing(run, |p| p.early as f64),
    },
    Metric {
        name: "premature_cycles",
        label: "premature cycles",
        take: |Outcome { run, .. }| probing(run, |p| p.premature as f64),
    },
    Metric {
        name: "link_decisions",
        label: "cycles that found a link error",
        take: |Outcome { run, .. }| probing(run, |p| p.link_decisions as f64),
    },
    Metric {
        name: "congestion_decisions",
        label: "cycles that found congestion",
        take: |Outcome { run, .. }| probing(run, |p| p.congestion_decisions as f64),
    },
    Metric {
        name: "detection_delay_rtt",
        label: "from the first loss to the first cycle, round trips",
        take: |Outcome { run, .. }| {
            let lost = run.links.iter().filter_map(|link| link.first_loss_ns).min();
            let started = first_cycle(run, |c| c.started_at);
            lost.map_or(f64::NAN, |ns| (started - ns as f64 / 1e9) / SCRIPTED_RTT)
        },
    },
    Metric {
        name: "first_cycle_rtt",
        label: "length of the first cycle, round trips",
        take: |Outcome { run, .. }| {
            first_cycle(run, |c| c.seconds.unwrap_or(f64::NAN)) / SCRIPTED_RTT
        },
    },
    Metric {
        name: "first_cycle_probes",
        label: "probes of the first cycle",
        take: |Outcome { run, .. }| first_cycle(run, |c| c.probes as f64),
    },
    Metric {
        name: "mean_throughput",
        label: "throughput of a flow, bit/s",
        take: |Outcome { run, .. }| mean_of_flows(run, |flow| flow.metrics.effective_throughput),
    },
    Metric {
        name: "further_paths_rate",
        label: "sent on further paths by all flows, bit/s",
        take: |Outcome { run, .. }| run.flows.iter().map(|flow| further_rate(run, flow)).sum(),
    },
    Metric {
        name: "further_paths_rate_of_flow",
        label: "sent on further paths by a flow, bit/s",
        take: |Outcome { run, .. }| mean_of_flows(run, |flow| further_rate(run, flow)),
    },
    Metric {
        name: "data_segments",
        label: "data segments sent for the first time",
        take: |Outcome { run, .. }| of_flow(run, |f| f.source.data_segments as f64),
    },
    Metric {
        name: "handovers",
        label: "handovers of all stations",
        take: |Outcome { run, .. }| {
            of_constellation(run, |constellation| constellation.handovers.len() as f64)
        },
    },
    Metric {
        name: "route_changes",
        label: "changes of the route",
        take: |Outcome { run, .. }| of_route(run, |route| route.changes.len() as f64 - 1.0),
    },
    Metric {
        name: "mean_route_delay",
        label: "delay of the route one way on average, s",
        take: |Outcome { run, .. }| of_route(run, |route| route.mean_delay.unwrap_or(f64::NAN)),
    },
    Metric {
        name: "timeouts",
        label: "timeouts of a flow",
        take: |Outcome { run, .. }| mean_of_flows(run, |flow| flow.source.timeouts as f64),
    },
    Metric {
        name: "lost_data_segments",
        label: "data segments lost",
        take: |Outcome { run, .. }| run.links.iter().map(|link| link.lost_data as f64).sum(),
    },
    Metric {
        name: "bulk_throughput",
        label: "mean throughput of the bulk transfers, bit/s",
        take: |Outcome { run, .. }| bulk(run).iter().sum::<f64>() / bulk(run).len() as f64,
    },
    Metric {
        name: "bulk_fairness",
        label: "Jain's index of the bulk transfers",
        take: |Outcome { run, .. }| jain(&bulk(run)).unwrap_or(f64::NAN),
    },
    Metric {
        name: "delivered_throughput",
        label: "user data of the first flow that arrived, bit/s of the whole run",
        take: |Outcome { run, .. }| {
            of_flow(run, |f| 8.0 * f.delivered_bytes as f64) / run.simulated_seconds
        },
    },
    Metric {
        name: "retransmitted_segments",
        label: "segments that the first flow's sender retransmitted",
        take: |Outcome { run, .. }| of_flow(run, |f| f.source.retransmitted_segments as f64),
    },
    Metric {
        name: "first_flow_timeouts",
        label: "timeouts of the first flow's sender",
        take: |Outcome { run, .. }| of_flow(run, |f| f.source.timeouts as f64),
    },
    Metric {
        name: "lost_queue_full",
        label: "packets that found a queue full",
        take: |Outcome { run, .. }| run.links.iter().map(|link| link.lost_queue_full as f64).sum(),
    },
    Metric {
        name: "mean_cwnd",
        label: "mean congestion window of the bulk transfers, B",
        take: |Outcome { trace, .. }| trace.mean_cwnd(),
    },
    Metric {
        name: "time_to_90",
        label: "time to 90 % of the final rate, s",
        take: |Outcome { trace, .. }| trace.time_to_90(),
    },
    Metric {
        name: "longest_pause",
        label: "longest time without delivery, s",
        take: |Outcome { trace, .. }| trace.longest_pause(),
    },
    Metric {
        name: "goodput",
        label: "throughput from the first byte to the last, bit/s",
        take: |Outcome { run, .. }| of_flow(run, goodput),
    },
    Metric {
        name: "steady_throughput",
        label: "throughput of the first flow while it is watched, bit/s",
        take: |Outcome { run, .. }| steady(run, |flow| flow.throughput),
    },
    Metric {
        name: "steady_total_throughput",
        label: "throughput of all flows while they are watched, bit/s",
        take: |Outcome { run, .. }| throughputs(run).sum(),
    },
    Metric {
        name: "fairness",
        label: "Jain's index of the throughputs while they are watched",
        take: |Outcome { run, .. }| steady_fairness(run),
    },
    Metric {
        name: "steady_in_flight",
        label: "bytes in flight of the first flow's sender, mean",
        take: |Outcome { run, .. }| steady(run, |flow| flow.in_flight_mean),
    },
    Metric {
        name: "steady_in_flight_sd",
        label: "bytes in flight of the first flow's sender, standard deviation",
        take: |Outcome { run, .. }| steady(run, |flow| flow.in_flight_sd),
    },
    Metric {
        name: "proxy_backlog",
        label: "bytes in the first proxy that are not under way behind it, mean",
        take: |Outcome { run, .. }| proxy(run, |proxy| proxy.backlog_mean),
    },
    Metric {
        name: "proxy_occupied",
        label: "bytes in the first proxy, mean",
        take: |Outcome { run, .. }| proxy(run, |proxy| proxy.occupied_mean),
    },
    Metric {
        name: "return_bytes",
        label: "what the last link carried back, bytes",
        take: |Outcome { run, .. }| return_bytes(run),
    },
    Metric {
        name: "reorder_peak",
        label: "most bytes out of order at the third flow's receiver",
        take: |Outcome { run, .. }| third(run, |flow| flow.sink.reorder_peak_bytes as f64),
    },
    Metric {
        name: "response_time",
        label: "time until the file of the third flow is there, s",
        take: |Outcome { run, .. }| {
            third(run, |flow| flow.metrics.connection_time.unwrap_or(f64::NAN))
        },
    },
];

/// Metrics that need samples.
pub(super) const TRACED: [&str; 3] = ["mean_cwnd", "time_to_90", "longest_pause"];

/// The metric of this name.
pub fn metric(name: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|metric| metric.name == name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::METRICS;

    #[test]
    fn no_two_metrics_have_the_same_name() {
        // Their values would be taken for replications of one.
        let names: BTreeSet<_> = METRICS.iter().map(|metric| metric.name).collect();
        assert_eq!(names.len(), METRICS.len());
    }
}
