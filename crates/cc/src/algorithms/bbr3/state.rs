//! The states of BBR version 3 and the gains that belong to them.

use bentpipe_units::Instant;

use crate::Phase;

/// Bandwidth-delay products that may be in flight while the round trip is measured.
pub(super) const PROBE_RTT_GAIN: f64 = 0.5;

/// What BBR is doing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum State {
    /// The rate doubles every round.
    Startup,
    /// The queue of startup drains.
    Drain,
    /// The queue of a probe drains.
    Down,
    /// At the path's rate, with room for others.
    Cruise,
    /// One round without that room, before a probe.
    Refill,
    /// Faster than the path's rate, to see whether it carries more.
    Up,
    /// Until then, once the path is emptied.
    ProbeRtt(Option<Instant>),
}

impl State {
    /// Gains of the pacing rate and of the window.
    pub(super) const fn gains(self) -> (f64, f64) {
        match self {
            Self::Startup => (2.77, 2.0),
            Self::Drain => (0.5, 2.0),
            Self::Down => (0.9, 2.0),
            Self::Cruise | Self::Refill => (1.0, 2.0),
            Self::Up => (1.25, 2.25),
            Self::ProbeRtt(_) => (1.0, PROBE_RTT_GAIN),
        }
    }

    /// As it is recorded.
    pub(super) const fn phase(self) -> Phase {
        match self {
            Self::Startup => Phase::SlowStart,
            Self::Drain => Phase::Other("drain"),
            Self::Down => Phase::Other("probe_bw_down"),
            Self::Cruise => Phase::Other("probe_bw_cruise"),
            Self::Refill => Phase::Other("probe_bw_refill"),
            Self::Up => Phase::Other("probe_bw_up"),
            Self::ProbeRtt(_) => Phase::Other("probe_rtt"),
        }
    }
}
