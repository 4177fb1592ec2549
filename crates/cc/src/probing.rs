//! Windows that are opened by low-priority copies: what TCP Peach, Peach+, Swift and PBS have in common.
//!
//! Copies fill what the path has left without harming data, because routers drop them first. At the
//! start they are sent over one round trip, as many as the receiver would take, and each one that
//! arrives is a segment of window. After a loss as many are sent as were in flight; those of the second
//! half that arrive give back what the loss took. After noise they all arrive, after congestion few. A loss
//! of which somebody on the path says that a link damaged the data takes nothing.
//!
//! The papers bound neither how often a connection starts nor what it repairs by: over a long path with many errors
//! most of what leaves are copies. Here segments of data earn them ([`COPIES_PER_SEGMENT`]).

use bentpipe_units::Span;

use crate::family::{Algorithm, Cause, Reduction};
use crate::row::{Build, Parameter, Row};
use crate::window::Window;
use crate::{Ack, Copies, Gauge, LowPriority, PathView, Phase, Sent, Signal};

/// How many copies a segment of data earns.
pub(crate) const COPIES_PER_SEGMENT: Parameter = Parameter {
    name: "copies_per_segment",
    unit: "1",
    default: 1.0,
    range: (0.0, 1e6),
    summary: "copies that each segment of data allows, of which two windows of the receiver are there at first and \
              at most; as many as in the papers with 1e6",
};

/// Windows of the receiver: a start and the recovery from one loss.
const MOST_EARNED: f64 = 2.0;

/// How the window of an algorithm is opened by copies.
#[derive(Debug)]
pub(crate) struct Probing {
    copies: Copies,
    /// The window at the start is what arrives, not what arrives on top of it.
    counts_all: bool,
    /// Copies find out what a loss means. Without them a loss is congestion, unless somebody says what it was.
    asks_after_loss: bool,
    /// Copies that a segment of data allows.
    earns: f64,
    /// Copies that may be sent; none is counted before the first start.
    earned: Option<f64>,
    /// The next segment that leaves begins the start.
    begins: bool,
    starting: bool,
    /// Copies to be sent now, and the time between them.
    pending: u64,
    spacing: Span,
    /// Copies that may still be sent while losses are repaired, one for each segment acknowledged.
    allowance: u64,
    /// Copies that arrive and do not count, because data have their room.
    ignored: u64,
    /// Segments that arrived since the start began.
    arrived: u64,
}

impl Probing {
    /// An algorithm that sends these copies; `row` has [`COPIES_PER_SEGMENT`].
    pub(crate) fn new(build: &Build<'_>, row: &Row, copies: Copies, counts_all: bool) -> Self {
        Self {
            earns: build.parameter(row, COPIES_PER_SEGMENT.name),
            earned: None,
            copies,
            counts_all,
            asks_after_loss: true,
            begins: true,
            starting: false,
            pending: 0,
            spacing: Span::ZERO,
            allowance: 0,
            ignored: 0,
            arrived: 0,
        }
    }

    /// The same algorithm; whether copies find out what a loss means.
    pub(crate) const fn asking_after_loss(mut self, asks: bool) -> Self {
        self.asks_after_loss = asks;
        self
    }

    fn begin(&mut self, window: &mut Window, path: &PathView) {
        let most = segments_taken(window, path);
        let earned = *self.earned.get_or_insert(MOST_EARNED * most);
        self.pending = (most as u64).saturating_sub(1).min(earned as u64);
        self.spacing = path.srtt / (most as u64);
        (self.begins, self.starting) = (false, true);
        (self.allowance, self.ignored, self.arrived) = (0, 0, 0);
        // No slow start: the copies do its work.
        window.set_ssthresh(0.0);
    }

    fn start_again(&mut self) {
        (self.begins, self.starting) = (true, false);
        (self.pending, self.spacing) = (0, Span::ZERO);
        (self.allowance, self.ignored, self.arrived) = (0, 0, 0);
    }

    fn copies_arrived(&mut self, window: &mut Window, segments: u64) {
        let ignored = self.ignored.min(segments);
        self.ignored -= ignored;
        let counted = segments - ignored;
        self.arrived = self.arrived.saturating_add(counted);
        if self.starting && self.counts_all {
            window.set(window.cwnd().max(self.arrived as f64 * window.mss()));
        } else {
            window.add(counted as f64 * window.mss());
        }
    }
}

/// The largest window that receiver and settings allow, in segments.
fn segments_taken(window: &Window, path: &PathView) -> f64 {
    (path.peer_window.get() as f64).min(window.max()) / window.mss()
}

impl Algorithm for Probing {
    fn measure(&mut self, _window: &mut Window, _path: &PathView, ack: &Ack) {
        if self.starting {
            self.arrived = self.arrived.saturating_add(ack.segments);
        }
        if ack.in_recovery {
            let left = (self.earned.unwrap_or(0.0) as u64).saturating_sub(self.pending);
            let more = ack.segments.min(self.allowance).min(left);
            self.allowance -= more;
            self.pending += more;
        }
    }

    fn grow(&mut self, window: &mut Window, _path: &PathView, ack: &Ack) {
        window.avoid(1.0, window.acked(ack));
    }

    fn reduce(&mut self, window: &Window, _path: &PathView, event: &Reduction) -> Option<f64> {
        if event.looks_corrupt {
            return None;
        }
        if event.cause == Cause::Loss {
            let asked = if self.asks_after_loss { event.flight } else { 0.0 };
            let flight = (asked / window.mss()) as u64;
            (self.pending, self.spacing, self.starting) = (0, Span::ZERO, false);
            (self.allowance, self.ignored) = (flight, flight / 2);
        }
        Some(event.flight / 2.0)
    }

    fn reduced(&mut self, _window: &mut Window, _path: &PathView, event: &Reduction) {
        if event.cause == Cause::Timeout {
            self.start_again();
        }
    }

    fn restart(&mut self) {
        self.start_again();
    }

    fn idle(&mut self, window: &mut Window, _path: &PathView) {
        window.idle();
        self.start_again();
    }

    fn signal(&mut self, window: &mut Window, _path: &PathView, signal: &Signal) {
        match signal {
            Signal::ProbeAcked { segments } => self.copies_arrived(window, *segments),
            Signal::RecoveryDone => (self.pending, self.allowance) = (0, 0),
            _ => {}
        }
    }

    fn follows_sending(&self) -> bool {
        true
    }

    fn sent(&mut self, window: &mut Window, path: &PathView, sent: &Sent) {
        if sent.probe {
            self.pending = self.pending.saturating_sub(1);
            self.earned = self.earned.map(|earned| (earned - 1.0).max(0.0));
            return;
        }
        let most = MOST_EARNED * segments_taken(window, path);
        self.earned = self.earned.map(|earned| (earned + self.earns).min(most));
        if self.begins {
            self.begin(window, path);
        }
    }

    fn low_priority(&self) -> LowPriority {
        let (copies, count, spacing) = (self.copies, self.pending, self.spacing);
        if count == 0 {
            LowPriority::Nothing
        } else {
            LowPriority::Probes { copies, count, spacing }
        }
    }

    fn phase(&self) -> Option<Phase> {
        (self.starting && self.pending > 0).then_some(Phase::Other("probing_start"))
    }

    fn gauges(&self, _window: &Window) -> Vec<Gauge> {
        let earned = self.earned.unwrap_or(0.0);
        vec![
            Gauge { name: "probes_pending_segments", value: self.pending as f64 },
            Gauge { name: "probes_earned_segments", value: earned },
        ]
    }
}
