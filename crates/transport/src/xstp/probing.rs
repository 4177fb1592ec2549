//! XSTP-probing: telling bit errors from congestion by asking (paper, section 4).
//!
//! This module keeps the cycle: the loss descriptor, the map of probes, the decision. The sender
//! starts and ends it, sends its probes and retransmissions afterwards; the receiver knows nothing of it.
//! Rules P1 to P32 are those of `docs/protocols/xstp.md`.

use std::collections::VecDeque;

use bentpipe_record::{ProbingCycle, ProbingSummary};
use bentpipe_units::{Instant, Span};

use super::ProbingConfig;

/// Cycles that the record keeps one by one.
const RECORDED_CYCLES: usize = 16;

/// What began a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trigger {
    /// The interleaf of POLLs and STATs broke (P3).
    EarlyTimeout,
    /// A validated report of missing segments (P8).
    GapReport,
}

/// How a cycle ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Nothing is missing: it should not have begun (P16).
    Premature,
    /// The round trips are as before: bit errors (P25).
    Link,
    /// The round trips grew (P26), or they grew and the cycle was long (P27).
    Congestion {
        /// The cycle lasted as long as the idle threshold.
        persistent: bool,
    },
}

/// A probe, or the reserved place for an answer to a POLL sent before the loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Probe {
    /// Timestamp of the POLL; `None` while the reserved place is empty.
    ts: Option<u32>,
    /// The measured round trip, once answered.
    measured: Option<Span>,
    /// This is the reserved place.
    reserved: bool,
}

/// The probing side of a sender.
#[derive(Debug)]
pub(super) struct Probing {
    /// The cycle under way (P2: the activation flag and the loss descriptor are one).
    cycle: Option<Cycle>,
    /// Kept between cycles for its memory only.
    map: VecDeque<Probe>,
    totals: Totals,
}

/// The loss descriptor.
#[derive(Clone, Copy, Debug)]
struct Cycle {
    t_loss: Instant,
    rtt_loss: Span,
    probes: u64,
}

#[derive(Debug, Default)]
struct Totals {
    summary: ProbingSummary,
    ended: u64,
    seconds: f64,
}

impl Probing {
    /// No cycle.
    pub(super) fn new() -> Self {
        Self { cycle: None, map: VecDeque::new(), totals: Totals::default() }
    }

    /// A cycle is under way.
    pub(super) const fn is_active(&self) -> bool {
        self.cycle.is_some()
    }

    /// Begins a cycle: `rtt_loss` is the round-trip estimate when the loss was found (P9).
    pub(super) fn start(&mut self, now: Instant, rtt_loss: Span, trigger: Trigger) {
        self.cycle = Some(Cycle { t_loss: now, rtt_loss, probes: 0 });
        self.map.clear();
        // P13: the first entry is reserved; the first probe takes the second.
        self.map.push_back(Probe { ts: None, measured: None, reserved: true });
        self.totals.began(now, trigger);
    }

    /// A probe leaves (P13): the oldest entry makes room, the reserved one first.
    pub(super) fn probe_sent(&mut self, ts: u32, config: &ProbingConfig) {
        let Some(cycle) = &mut self.cycle else { return };
        cycle.probes += 1;
        self.totals.summary.probes += 1;
        // The answer to a probe comes after the next one has left, as soon as the round trip is a
        // nanosecond longer than its estimate. The newest entry is then always empty, and a map of
        // no more than the needed entries would never be filled.
        let size = config.map_size.max(config.probes_needed.saturating_add(1));
        if self.map.len() >= size as usize {
            self.map.pop_front();
        }
        self.map.push_back(Probe { ts: Some(ts), measured: None, reserved: false });
    }

    /// Records a valid probe acknowledgment (P18 to P20): it answers the POLL `echo` that was sent at
    /// `poll_sent`.
    pub(super) fn record(&mut self, echo: u32, poll_sent: Instant, measured: Span) {
        let Some(cycle) = &self.cycle else { return };
        let of_this_cycle = self.map.iter_mut().find(|p| !p.reserved && p.ts == Some(echo));
        if let Some(probe) = of_this_cycle {
            probe.measured = Some(measured);
        } else if poll_sent <= cycle.t_loss
            && let Some(reserved) = self.map.front_mut().filter(|p| p.reserved)
        {
            // P19: every pre-loss answer overwrites the one before.
            *reserved = Probe { ts: Some(echo), measured: Some(measured), reserved: true };
        }
    }

    /// The verdict, once enough consecutive entries are filled (P22 to P24).
    pub(super) fn verdict(
        &self,
        now: Instant,
        config: &ProbingConfig,
        idle_threshold: Span,
    ) -> Option<Verdict> {
        let cycle = self.cycle.as_ref()?;
        let window = self.deciding(config)?;
        // P24: the tolerance widens the reference; equal is not congestion.
        let limit = cycle.rtt_loss.mul_f64(1.0 + config.rtt_tolerance);
        let congested = self.map.range(window).any(|p| p.measured > Some(limit));
        let persistent = now.since(cycle.t_loss) >= idle_threshold;
        Some(if congested { Verdict::Congestion { persistent } } else { Verdict::Link })
    }

    /// The first run of filled entries that is long enough.
    fn deciding(&self, config: &ProbingConfig) -> Option<std::ops::Range<usize>> {
        let needed = config.probes_needed as usize;
        let mut filled = 0;
        for (index, probe) in self.map.iter().enumerate() {
            filled = if probe.measured.is_some() { filled + 1 } else { 0 };
            if filled == needed {
                return Some(index + 1 - needed..index + 1);
            }
        }
        None
    }

    /// Ends the cycle (P28: flag, map and descriptor are reset).
    pub(super) fn stop(&mut self, now: Instant, verdict: Verdict, config: &ProbingConfig) {
        let Some(cycle) = self.cycle.take() else { return };
        let deciding = self.deciding(config).unwrap_or(0..0);
        let measurements = self.map.range(deciding).filter_map(|p| p.measured);
        self.totals.ended(now, &cycle, verdict, measurements);
        self.map.clear();
    }

    /// Ends a cycle without a verdict: the session is gone.
    pub(super) fn forget(&mut self) {
        self.cycle = None;
        self.map.clear();
    }

    /// What happened so far (P32).
    pub(super) fn summary(&self) -> ProbingSummary {
        let mut summary = self.totals.summary.clone();
        if self.totals.ended > 0 {
            summary.mean_cycle_seconds = self.totals.seconds / self.totals.ended as f64;
        }
        summary
    }

    /// Timestamps and answers of the map, oldest first, for tests.
    #[cfg(test)]
    pub(super) fn map(&self) -> Vec<(Option<u32>, Option<Span>)> {
        self.map.iter().map(|p| (p.ts, p.measured)).collect()
    }
}

impl Totals {
    fn began(&mut self, now: Instant, trigger: Trigger) {
        let summary = &mut self.summary;
        summary.cycles += 1;
        let trigger = match trigger {
            Trigger::EarlyTimeout => {
                summary.early += 1;
                "early_timeout"
            }
            Trigger::GapReport => {
                summary.explicit += 1;
                "gap_report"
            }
        };
        if summary.first_cycles.len() < RECORDED_CYCLES {
            summary.first_cycles.push(ProbingCycle {
                started_at: now.as_secs_f64(),
                trigger,
                seconds: None,
                verdict: None,
                probes: 0,
                measurements: Vec::new(),
            });
        }
    }

    fn ended(
        &mut self,
        now: Instant,
        cycle: &Cycle,
        verdict: Verdict,
        measurements: impl Iterator<Item = Span>,
    ) {
        let length = now.since(cycle.t_loss).as_secs_f64();
        self.ended += 1;
        self.seconds += length;
        let summary = &mut self.summary;
        let name = match verdict {
            Verdict::Premature => {
                summary.premature += 1;
                "premature"
            }
            Verdict::Link => {
                summary.link_decisions += 1;
                "link"
            }
            Verdict::Congestion { .. } => {
                summary.congestion_decisions += 1;
                "congestion"
            }
        };
        // The cycle that just ended is on record only while there was room for it.
        if summary.cycles as usize <= RECORDED_CYCLES
            && let Some(record) = summary.first_cycles.last_mut()
        {
            record.seconds = Some(length);
            record.verdict = Some(name);
            record.probes = cycle.probes;
            record.measurements = measurements.map(Span::as_secs_f64).collect();
        }
    }
}

#[cfg(test)]
mod tests;
