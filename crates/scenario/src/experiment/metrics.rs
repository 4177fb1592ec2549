//! What can be measured on a run.

use bentpipe_record::{
    FlowSummary, ProbingCycle, ProbingSummary, RunSummary, SteadyFlow, SteadyProxy,
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

/// Jain's index of fairness: 1 where all have the same, 1/n where one has all.
fn jain(run: &RunSummary) -> f64 {
    let (mut sum, mut squares, mut count) = (0.0, 0.0, 0.0);
    for rate in throughputs(run) {
        (sum, squares, count) = (sum + rate, squares + rate * rate, count + 1.0);
    }
    sum * sum / (count * squares)
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
        name: "lost_data_segments",
        label: "data segments lost",
        take: |run| run.links.iter().map(|link| link.lost_data as f64).sum(),
    },
    Metric {
        name: "goodput",
        label: "throughput from the first byte to the last, bit/s",
        take: |run| of_flow(run, goodput),
    },
    Metric {
        name: "steady_throughput",
        label: "throughput of the first flow while it is watched, bit/s",
        take: |run| steady(run, |flow| flow.throughput),
    },
    Metric {
        name: "steady_total_throughput",
        label: "throughput of all flows while they are watched, bit/s",
        take: |run| throughputs(run).sum(),
    },
    Metric {
        name: "fairness",
        label: "Jain's index of the throughputs while they are watched",
        take: jain,
    },
    Metric {
        name: "steady_in_flight",
        label: "bytes in flight of the first flow's sender, mean",
        take: |run| steady(run, |flow| flow.in_flight_mean),
    },
    Metric {
        name: "steady_in_flight_sd",
        label: "bytes in flight of the first flow's sender, standard deviation",
        take: |run| steady(run, |flow| flow.in_flight_sd),
    },
    Metric {
        name: "proxy_backlog",
        label: "bytes in the first proxy that are not under way behind it, mean",
        take: |run| proxy(run, |proxy| proxy.backlog_mean),
    },
    Metric {
        name: "proxy_occupied",
        label: "bytes in the first proxy, mean",
        take: |run| proxy(run, |proxy| proxy.occupied_mean),
    },
    Metric {
        name: "return_bytes",
        label: "what the last link carried back, bytes",
        take: return_bytes,
    },
    Metric {
        name: "reorder_peak",
        label: "most bytes out of order at the third flow's receiver",
        take: |run| third(run, |flow| flow.sink.reorder_peak_bytes as f64),
    },
    Metric {
        name: "response_time",
        label: "time until the file of the third flow is there, s",
        take: |run| third(run, |flow| flow.metrics.connection_time.unwrap_or(f64::NAN)),
    },
];

/// The metric of this name.
pub fn metric(name: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|metric| metric.name == name)
}
