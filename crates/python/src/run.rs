//! What became of one run, as tables.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use bentpipe_experiments::Progress as _;
use bentpipe_record::{
    FlowSummary, HandoverRecord, LinkSummary, RouteChange, RunSummary, Sample, SendLimit,
};
use bentpipe_sim::{Capture, Observer, PacketSeen, RunSpec};
use bentpipe_units::{ByteCount, Instant, Span};
use pyo3::prelude::*;

use crate::error::error;
use crate::interrupt::Wanted;
use crate::table::{Columns, Table};

/// A run that is over.
#[pyclass(frozen, module = "bentpipe._native")]
pub(crate) struct Run {
    summary: RunSummary,
    /// None where none were asked for.
    samples: Option<Vec<Sample>>,
}

#[pymethods]
impl Run {
    /// The document that `bentpipe run --json` prints.
    fn json(&self) -> PyResult<String> {
        serde_json::to_string(&self.summary).map_err(error)
    }

    /// A row for each flow.
    fn flows(&self) -> PyResult<Table> {
        flows(&self.summary.flows)
    }

    /// A row for each direction of each link.
    fn links(&self) -> PyResult<Table> {
        links(&self.summary.links)
    }

    /// The states of the senders over time, if they were asked for.
    fn samples(&self) -> PyResult<Option<Table>> {
        let name = |sample: &Sample| self.summary.flows[sample.flow].name.as_str();
        self.samples.as_ref().map(|samples| samples_of(samples, name)).transpose()
    }

    /// The handovers, where a constellation carries the flows.
    fn handovers(&self) -> PyResult<Option<Table>> {
        let constellation = self.summary.constellation.as_ref();
        constellation.map(|it| handovers(&it.handovers)).transpose()
    }

    /// The routes of the flows, where a constellation carries them: a row for each change.
    fn routes(&self) -> PyResult<Option<Table>> {
        let Some(constellation) = &self.summary.constellation else { return Ok(None) };
        let routes = constellation.routes.iter();
        let rows: Vec<(&str, &RouteChange)> = routes
            .flat_map(|route| route.changes.iter().map(|change| (route.flow.as_str(), change)))
            .collect();
        let table = Columns::of(&rows)
            .text("flow", |row| row.0)
            .number("at", |row| row.1.at)
            .number("delay", |row| row.1.delay)
            .count("hops", |row| row.1.hops);
        table.table().map(Some)
    }
}

/// Collects samples and writes packets.
struct Watch<'a> {
    wanted: &'a Wanted,
    every: Option<Span>,
    samples: Vec<Sample>,
    capture: Option<(&'a Path, Capture<BufWriter<File>>)>,
}

impl Observer for Watch<'_> {
    fn goes_on(&self) -> bool {
        self.wanted.is_wanted()
    }

    fn sample_every(&self) -> Option<Span> {
        self.every
    }

    fn sample(&mut self, sample: &Sample) {
        self.samples.push(*sample);
    }

    fn wants_packets(&self) -> bool {
        self.capture.is_some()
    }

    fn packet(&mut self, at: Instant, channel: usize, packet: &PacketSeen<'_>) {
        if let Some((_, capture)) = &mut self.capture {
            capture.packet(at, channel, packet);
        }
    }
}

/// Lets a run happen, looks at the flows so often, and writes the packets of these links, or of all, into a file.
pub(crate) fn run(
    spec: &RunSpec,
    every: Option<Span>,
    capture: Option<(&Path, &[String])>,
    wanted: &Wanted,
) -> Result<Run, String> {
    let unwritten = |path: &Path, error: &dyn std::fmt::Display| {
        format!("cannot write {}: {error}", path.display())
    };
    let capture = capture.map(|(path, links)| {
        let file = File::create(path).map_err(|error| unwritten(path, &error))?;
        let capture = Capture::new(BufWriter::new(file), spec, links);
        Ok::<_, String>((path, capture.map_err(|error| unwritten(path, &error))?))
    });
    let mut watch = Watch { wanted, every, samples: Vec::new(), capture: capture.transpose()? };
    let summary = bentpipe_sim::run(spec, &mut watch).map_err(|error| error.to_string())?;
    if let Some((path, capture)) = watch.capture {
        let mut out = capture.finish().map_err(|error| unwritten(path, &error))?;
        out.flush().map_err(|error| unwritten(path, &error))?;
    }
    Ok(Run { summary, samples: every.map(|_| watch.samples) })
}

fn flows(flows: &[FlowSummary]) -> PyResult<Table> {
    let mut columns = Columns::of(flows)
        .text("name", |flow| flow.name.as_str())
        .text("protocol", |flow| flow.protocol)
        .text("controller", |flow| flow.controller)
        .truth("complete", |flow| flow.complete)
        .text("failure", |flow| flow.failure.as_deref())
        .count("delivered_bytes", |flow| flow.delivered_bytes)
        .number("first_byte_after", |flow| flow.first_byte_after)
        .number("connection_time", |flow| flow.metrics.connection_time)
        .number("effective_throughput", |flow| flow.metrics.effective_throughput)
        .number("retransmission_overhead", |flow| flow.metrics.retransmission_overhead)
        .number("forward_control_overhead", |flow| flow.metrics.forward_control_overhead)
        .number("reverse_control_overhead", |flow| flow.metrics.reverse_control_overhead)
        .number("total_overhead", |flow| flow.metrics.total_overhead)
        .number("total_overhead_without_headers", |flow| {
            flow.metrics.total_overhead_without_headers
        })
        .number("throughput_overhead_ratio", |flow| flow.metrics.throughput_overhead_ratio);
    for (place, name) in bentpipe_record::TransportCounters::NAMES.into_iter().enumerate() {
        columns = columns.count(&format!("source_{name}"), |flow| flow.source.values()[place]);
    }
    for (place, name) in bentpipe_record::TransportCounters::NAMES.into_iter().enumerate() {
        columns = columns.count(&format!("sink_{name}"), |flow| flow.sink.values()[place]);
    }
    let seconds = |flow: &FlowSummary| flow.pieces.and_then(|pieces| pieces.seconds);
    columns
        .count("pieces_offered", |flow| flow.pieces.map(|pieces| pieces.offered))
        .count("pieces_offered_bytes", |flow| flow.pieces.map(|pieces| pieces.offered_bytes))
        .count("pieces_arrived", |flow| flow.pieces.map(|pieces| pieces.arrived))
        .count("pieces_failed", |flow| flow.pieces.map(|pieces| pieces.failed))
        .number("pieces_seconds_mean", |flow| seconds(flow).map(|it| it.mean))
        .number("pieces_seconds_min", |flow| seconds(flow).map(|it| it.min))
        .number("pieces_seconds_p50", |flow| seconds(flow).map(|it| it.p50))
        .number("pieces_seconds_p90", |flow| seconds(flow).map(|it| it.p90))
        .number("pieces_seconds_p95", |flow| seconds(flow).map(|it| it.p95))
        .number("pieces_seconds_p99", |flow| seconds(flow).map(|it| it.p99))
        .number("pieces_seconds_max", |flow| seconds(flow).map(|it| it.max))
        .table()
}

fn links(links: &[LinkSummary]) -> PyResult<Table> {
    Columns::of(links)
        .text("name", |link| link.name.as_str())
        .text("from", |link| link.from.as_str())
        .text("to", |link| link.to.as_str())
        .count("packets", |link| link.packets)
        .count("bytes", |link| link.bytes)
        .count("delivered", |link| link.delivered)
        .count("corrupted", |link| link.corrupted)
        .count("lost_queue_full", |link| link.lost_queue_full)
        .count("lost_random", |link| link.lost_random)
        .count("lost_blackout", |link| link.lost_blackout)
        .count("lost_channel", |link| link.lost_channel)
        .count("lost_scripted", |link| link.lost_scripted)
        .count("lost_early", |link| link.lost_early)
        .count("lost_collision", |link| link.lost_collision)
        .count("lost_packet_too_big", |link| link.lost_packet_too_big)
        .count("acks_filtered", |link| link.acks_filtered)
        .count("acks_added", |link| link.acks_added)
        .count("marked", |link| link.marked)
        .count("lost_data", |link| link.lost_data)
        .count("first_loss_ns", |link| link.first_loss_ns)
        .table()
}

fn samples_of<'a>(samples: &'a [Sample], name: impl Fn(&Sample) -> &'a str) -> PyResult<Table> {
    let [time, flow, cwnd, ssthresh, srtt, in_flight, delivered, phase, activity, delay, limit] =
        Sample::COLUMNS;
    Columns::of(samples)
        .number(time, |sample| sample.at.as_secs_f64())
        .text(flow, name)
        .count(cwnd, |sample| sample.cwnd.map(ByteCount::get))
        .count(ssthresh, |sample| sample.ssthresh.map(ByteCount::get))
        .number(srtt, |sample| sample.srtt.map(Span::as_secs_f64))
        .count(in_flight, |sample| sample.in_flight.get())
        .count(delivered, |sample| sample.delivered.get())
        .text(phase, |sample| sample.phase)
        .text(activity, |sample| sample.activity)
        .number(delay, |sample| sample.route_delay.map(Span::as_secs_f64))
        .text(limit, |sample| sample.limit.map(SendLimit::name))
        .table()
}

fn handovers(handovers: &[HandoverRecord]) -> PyResult<Table> {
    Columns::of(handovers)
        .number("at", |handover| handover.at)
        .text("station", |handover| handover.station.as_str())
        .text("from", |handover| handover.from.as_deref())
        .text("to", |handover| handover.to.as_deref())
        .table()
}
