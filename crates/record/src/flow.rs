//! What became of one flow.

use std::ops::AddAssign;

use bentpipe_units::Span;
use serde::{Deserialize, Serialize};

use crate::Quantiles;

/// What one endpoint of a connection sent and received. Bytes are counted where a segment leaves the
/// transport, header and payload, whether or not the network then loses it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransportCounters {
    /// Segments sent.
    pub segments_sent: u64,
    /// Bytes sent in all.
    pub bytes_sent: u64,
    /// Payload bytes sent for the first time.
    pub payload_bytes: u64,
    /// Header bytes of segments that carried payload for the first time, extension blocks included.
    pub first_header_bytes: u64,
    /// Data segments sent for the first time.
    pub data_segments: u64,
    /// Data segments retransmitted.
    pub retransmitted_segments: u64,
    /// Header and payload bytes of data segments retransmitted.
    pub retransmitted_bytes: u64,
    /// POLLs sent, alone or on data.
    pub polls_sent: u64,
    /// STATs sent.
    pub stats_sent: u64,
    /// USTATs sent.
    pub ustats_sent: u64,
    /// STATs accepted.
    pub stats_received: u64,
    /// USTATs accepted.
    pub ustats_received: u64,
    /// Segments received.
    pub segments_received: u64,
    /// Data segments received that had been received before.
    pub duplicate_segments: u64,
    /// Segments that were ignored because they made no sense: outside the window, for no session,
    /// acknowledging what was not sent.
    pub ignored_segments: u64,
    /// Times that the congestion window was reduced.
    pub reductions: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// The most bytes that waited at a time at the receiver because something before them was missing
    /// (TCP).
    pub reorder_peak_bytes: u64,
}

impl TransportCounters {
    /// The names of the counters in records.
    pub const NAMES: [&'static str; 18] = [
        "segments_sent",
        "bytes_sent",
        "payload_bytes",
        "first_header_bytes",
        "data_segments",
        "retransmitted_segments",
        "retransmitted_bytes",
        "polls_sent",
        "stats_sent",
        "ustats_sent",
        "stats_received",
        "ustats_received",
        "segments_received",
        "duplicate_segments",
        "ignored_segments",
        "reductions",
        "timeouts",
        "reorder_peak_bytes",
    ];

    /// The counters in the order of [`TransportCounters::NAMES`].
    pub const fn values(&self) -> [u64; 18] {
        [
            self.segments_sent,
            self.bytes_sent,
            self.payload_bytes,
            self.first_header_bytes,
            self.data_segments,
            self.retransmitted_segments,
            self.retransmitted_bytes,
            self.polls_sent,
            self.stats_sent,
            self.ustats_sent,
            self.stats_received,
            self.ustats_received,
            self.segments_received,
            self.duplicate_segments,
            self.ignored_segments,
            self.reductions,
            self.timeouts,
            self.reorder_peak_bytes,
        ]
    }
}

impl AddAssign for TransportCounters {
    /// Adds what another connection counted.
    fn add_assign(&mut self, other: Self) {
        // Taken apart, so that no counter is forgotten.
        let Self {
            segments_sent,
            bytes_sent,
            payload_bytes,
            first_header_bytes,
            data_segments,
            retransmitted_segments,
            retransmitted_bytes,
            polls_sent,
            stats_sent,
            ustats_sent,
            stats_received,
            ustats_received,
            segments_received,
            duplicate_segments,
            ignored_segments,
            reductions,
            timeouts,
            reorder_peak_bytes,
        } = other;
        self.segments_sent += segments_sent;
        self.bytes_sent += bytes_sent;
        self.payload_bytes += payload_bytes;
        self.first_header_bytes += first_header_bytes;
        self.data_segments += data_segments;
        self.retransmitted_segments += retransmitted_segments;
        self.retransmitted_bytes += retransmitted_bytes;
        self.polls_sent += polls_sent;
        self.stats_sent += stats_sent;
        self.ustats_sent += ustats_sent;
        self.stats_received += stats_received;
        self.ustats_received += ustats_received;
        self.segments_received += segments_received;
        self.duplicate_segments += duplicate_segments;
        self.ignored_segments += ignored_segments;
        self.reductions += reductions;
        self.timeouts += timeouts;
        self.reorder_peak_bytes = self.reorder_peak_bytes.max(reorder_peak_bytes);
    }
}

/// What probing did (paper, section 4).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProbingSummary {
    /// Cycles begun.
    pub cycles: u64,
    /// Cycles begun by an early timeout.
    pub early: u64,
    /// Cycles begun by a validated gap report.
    pub explicit: u64,
    /// Cycles ended by an empty gap report.
    pub premature: u64,
    /// Cycles that found a link error and recovered at once.
    pub link_decisions: u64,
    /// Cycles that found congestion.
    pub congestion_decisions: u64,
    /// Probes sent.
    pub probes: u64,
    /// Mean length of the ended cycles in seconds.
    pub mean_cycle_seconds: f64,
    /// The first cycles, one by one. A record that is read has none.
    #[serde(skip_deserializing)]
    pub first_cycles: Vec<ProbingCycle>,
}

/// One probing cycle.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProbingCycle {
    /// When it began, in seconds.
    pub started_at: f64,
    /// `early_timeout` or `gap_report`.
    pub trigger: &'static str,
    /// How long it lasted, in seconds; `null` while it lasts.
    pub seconds: Option<f64>,
    /// `premature`, `link` or `congestion`; `null` while it lasts.
    pub verdict: Option<&'static str>,
    /// Probes sent.
    pub probes: u64,
    /// The measurements that decided it, in seconds.
    pub measurements: Vec<f64>,
}

/// The paper's metrics of one flow (section 5). A file that did not arrive whole has no
/// connection time; its other figures are then taken over what arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct FlowMetrics {
    /// Seconds from the client's first BGN until the last byte reached the sink.
    pub connection_time: Option<f64>,
    /// Bits per second seen by the sink.
    pub effective_throughput: f64,
    /// Header and payload bytes retransmitted, percent of the data bytes.
    pub retransmission_overhead: f64,
    /// All other non-payload bytes that the source sent, percent of the data bytes.
    pub forward_control_overhead: f64,
    /// All bytes that the sink sent, percent of the data bytes.
    pub reverse_control_overhead: f64,
    /// The three together.
    pub total_overhead: f64,
    /// The same without the headers of first transmissions.
    pub total_overhead_without_headers: f64,
    /// Bits per second for each percent of total overhead.
    pub throughput_overhead_ratio: f64,
}

impl FlowMetrics {
    /// The metrics of a flow that delivered `delivered` bytes in `elapsed`, from what its source and
    /// its sink counted.
    pub fn new(
        delivered: u64,
        elapsed: Span,
        complete: bool,
        source: &TransportCounters,
        sink: &TransportCounters,
    ) -> Self {
        let seconds = elapsed.as_secs_f64();
        let throughput = if seconds > 0.0 { 8.0 * delivered as f64 / seconds } else { 0.0 };
        let percent = |bytes: u64| {
            if delivered == 0 { 0.0 } else { 100.0 * bytes as f64 / delivered as f64 }
        };
        let forward =
            source.bytes_sent.saturating_sub(source.payload_bytes + source.retransmitted_bytes);
        let total = percent(source.retransmitted_bytes + forward + sink.bytes_sent);
        Self {
            connection_time: complete.then_some(seconds),
            effective_throughput: throughput,
            retransmission_overhead: percent(source.retransmitted_bytes),
            forward_control_overhead: percent(forward),
            reverse_control_overhead: percent(sink.bytes_sent),
            total_overhead: total,
            total_overhead_without_headers: total - percent(source.first_header_bytes),
            throughput_overhead_ratio: if total > 0.0 { throughput / total } else { 0.0 },
        }
    }
}

/// What became of the pieces of a flow. The time of a piece is from the moment at which it came up
/// until its last byte was delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct PieceSummary {
    /// Pieces that came up.
    pub offered: u64,
    /// Their bytes.
    pub offered_bytes: u64,
    /// Pieces that arrived whole.
    pub arrived: u64,
    /// Pieces that never will, as their connection failed.
    pub failed: u64,
    /// The times of those that arrived; `null` if there are none.
    pub seconds: Option<Quantiles>,
}

/// Everything about one flow.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowSummary {
    /// Name in the scenario.
    pub name: String,
    /// Protocol, such as `xstp`.
    pub protocol: &'static str,
    /// Congestion controller of the source.
    pub controller: &'static str,
    /// Whether the sink received every byte, each one verified.
    pub complete: bool,
    /// Why the connection ended, if it did not end well.
    pub failure: Option<String>,
    /// Bytes that the sink received and verified.
    pub delivered_bytes: u64,
    /// Seconds from the start of the flow until the first byte reached the sink.
    pub first_byte_after: Option<f64>,
    /// The paper's metrics.
    #[serde(flatten)]
    pub metrics: FlowMetrics,
    /// Counters of the source.
    pub source: TransportCounters,
    /// Counters of the sink.
    pub sink: TransportCounters,
    /// What became of the pieces that the flow sent, if its traffic consists of pieces: packets,
    /// files, web objects.
    pub pieces: Option<PieceSummary>,
    /// What probing did, if the protocol has it.
    pub probing: Option<ProbingSummary>,
    /// Bytes of packets that both ends sent on each path, if there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub path_bytes: Vec<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overhead_counts_every_byte_that_is_not_first_transmission_payload() {
        let source = TransportCounters {
            bytes_sent: 1_000_000 + 16_000 + 10_160 + 500,
            payload_bytes: 1_000_000,
            first_header_bytes: 16_000,
            retransmitted_bytes: 10_160,
            ..Default::default()
        };
        let sink = TransportCounters { bytes_sent: 2_840, ..Default::default() };
        let m = FlowMetrics::new(1_000_000, Span::from_secs(8), true, &source, &sink);
        assert_eq!(m.connection_time, Some(8.0));
        assert!((m.effective_throughput - 1e6).abs() < 1e-6);
        assert!((m.retransmission_overhead - 1.016).abs() < 1e-9);
        assert!((m.forward_control_overhead - 1.65).abs() < 1e-9);
        assert!((m.reverse_control_overhead - 0.284).abs() < 1e-9);
        assert!((m.total_overhead - 2.95).abs() < 1e-9);
        assert!((m.total_overhead_without_headers - 1.35).abs() < 1e-9);
        assert!((m.throughput_overhead_ratio - 1e6 / 2.95).abs() < 1e-3);
    }

    #[test]
    fn a_flow_that_delivered_nothing_has_finite_metrics() {
        let none = TransportCounters::default();
        let m = FlowMetrics::new(0, Span::ZERO, false, &none, &none);
        assert_eq!((m.connection_time, m.effective_throughput, m.total_overhead), (None, 0.0, 0.0));
    }
}
