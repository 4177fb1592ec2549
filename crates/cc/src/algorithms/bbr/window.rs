//! What may be under way.

use bentpipe_units::Span;

use super::{Bbr, PROBE_RTT_WINDOW, Repairs, STARTUP_GAIN, Said, State};
use crate::PathView;
use crate::bottleneck::Plateau;

/// Bursts on top of the window's bandwidth-delay products, for what hosts hold back.
const QUANTA: f64 = 3.0;

impl Bbr {
    /// The rate that counts in bytes per second.
    pub(super) fn used_rate(&self) -> f64 {
        self.long_term.rate().unwrap_or_else(|| self.rate.get())
    }

    /// `gain` bandwidth-delay products of a rate in bytes; the initial window as long as nothing is known.
    pub(super) fn product(&self, rate: f64, gain: f64) -> f64 {
        let rtt = self.rtt.get().map_or(0.0, Span::as_secs_f64);
        let product = gain * rate * rtt;
        if product > 0.0 { product } else { self.window.init() }
    }

    /// What may be under way for so many bytes, whole bursts considered: an even number of segments.
    pub(super) fn with_quanta(&self, bytes: f64) -> f64 {
        let mss = self.window.mss();
        let segments = libm::ceil(bytes / mss) + QUANTA * self.burst_segments();
        let probing = self.state == State::ProbeBw && self.cycle == 0;
        let even = 2.0 * libm::ceil(segments / 2.0) + if probing { 2.0 } else { 0.0 };
        even * mss
    }

    pub(super) fn inflight(&self, gain: f64) -> f64 {
        self.with_quanta(self.product(self.rate.get(), gain))
    }

    pub(super) fn few(&self) -> f64 {
        PROBE_RTT_WINDOW * self.window.mss()
    }

    pub(super) fn save_window(&mut self) {
        let fresh = self.repairs == Repairs::None && !matches!(self.state, State::ProbeRtt(_));
        let kept = if fresh { 0.0 } else { self.prior };
        self.prior = self.window.cwnd().max(kept);
    }

    pub(super) fn move_window(&mut self, path: &PathView, said: &Said, repairs: Repairs) {
        if said.acked > 0.0 {
            let mss = self.window.mss();
            let kept = (path.in_flight.get() as f64 + said.acked).max(mss);
            let mut cwnd = (self.window.cwnd() - said.lost).max(mss);
            if repairs == Repairs::Gaps && self.repairs != Repairs::Gaps {
                (self.conserves, self.round_ends) = (true, path.delivered.get());
                cwnd = kept;
            } else if repairs == Repairs::None && self.repairs != Repairs::None {
                self.conserves = false;
                cwnd = cwnd.max(self.prior);
            }
            self.repairs = repairs;
            self.window.set(if self.conserves {
                cwnd.max(kept)
            } else {
                self.grown(path, cwnd, said)
            });
        }
        if matches!(self.state, State::ProbeRtt(_)) {
            self.window.set(self.window.cwnd().min(self.few()));
        }
    }

    /// The window that follows from `cwnd` bytes when so many are acknowledged.
    pub(super) fn grown(&self, path: &PathView, cwnd: f64, said: &Said) -> f64 {
        let rate = self.used_rate();
        let gain = match self.state {
            State::Startup | State::Drain => STARTUP_GAIN,
            State::ProbeBw => self.cwnd_gain,
            State::ProbeRtt(_) => 1.0,
        };
        let heaps = if self.full { self.aggregation.window(rate) } else { 0.0 };
        let target = self.with_quanta(self.product(rate, gain) + heaps);
        let grown = if self.full {
            (cwnd + said.acked).min(target)
        } else if cwnd < target || (path.delivered.get() as f64) < self.window.init() {
            cwnd + said.acked
        } else {
            cwnd
        };
        grown.max(self.few())
    }

    pub(super) fn time_out(&mut self, path: &PathView) {
        self.save_window();
        self.plateau = Plateau::default();
        self.repairs = Repairs::TimedOut;
        let one_more = path.in_flight.get() as f64 + self.window.mss();
        self.window.set(one_more.min(self.window.cwnd()));
    }
}
