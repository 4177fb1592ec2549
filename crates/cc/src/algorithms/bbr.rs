//! BBR version 1: sends at the bottleneck's rate, with one of its bandwidth-delay products in flight.

use bentpipe_units::{Instant, Span};

use crate::bottleneck::{Deliveries, PeriodMax, Plateau, WindowMin, scatter};
use crate::row::{Build, Parameter, Row};
use crate::window::{Window, bit_rate};
use crate::{Ack, Controller, Gauge, Limits, Loss, LossCause, PathView, Phase, Signal, Snapshot};

/// The registry row.
pub(crate) const ROW: Row = Row {
    name: "bbr",
    summary: "paces at the largest delivery rate of ten rounds; losses do not change the rate",
    citation: "Cardwell, Cheng, Gunn, Yeganeh, Jacobson, CACM 60(2), 2017; \
               draft-cardwell-iccrg-bbr-congestion-control-00",
    parameters: &[
        Parameter {
            name: "cwnd_gain",
            unit: "1",
            default: 2.0,
            range: (1.0, 10.0),
            summary: "window in bandwidth-delay products",
        },
        Parameter {
            name: "probe_rtt_interval",
            unit: "s",
            default: 10.0,
            range: (1.0, 1e6),
            summary: "the path is emptied to measure its round trip when no smaller one came so long",
        },
    ],
    build: |build| Box::new(Bbr::new(build)),
};

/// 2/ln 2: the smallest gain that doubles the rate in each round.
const STARTUP_GAIN: f64 = 2.885;
/// The gains of a cycle; each lasts a round trip.
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// The window while the round trip is measured, and the smallest one at all, in segments.
const PROBE_RTT_WINDOW: f64 = 4.0;
const PROBE_RTT_TIME: Span = Span::from_millis(200);
/// Segments on top of the window's bandwidth-delay products, for what hosts hold back.
const QUANTA: f64 = 3.0;

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Startup,
    Drain,
    ProbeBw,
    /// Until then, once the path is nearly empty.
    ProbeRtt(Option<Instant>),
}

#[derive(Debug)]
struct Bbr {
    window: Window,
    cwnd_gain: f64,
    state: State,
    round: u64,
    deliveries: Deliveries,
    rate: PeriodMax<10>,
    rtt: WindowMin,
    plateau: Plateau,
    full: bool,
    cycle: usize,
    cycle_began: Instant,
    lost_in_cycle: bool,
    srtt: Span,
    /// Window before the losses that are being repaired.
    prior: Option<f64>,
    /// The round in which exactly what arrives may leave.
    conserve: Option<u64>,
}

impl Bbr {
    fn new(build: &Build<'_>) -> Self {
        let interval = Span::from_secs_f64(build.parameter(&ROW, "probe_rtt_interval"));
        Self {
            window: Window::new(build, &ROW),
            cwnd_gain: build.parameter(&ROW, "cwnd_gain"),
            state: State::Startup,
            round: 0,
            deliveries: Deliveries::default(),
            rate: PeriodMax::new(),
            rtt: WindowMin::new(interval),
            plateau: Plateau::default(),
            full: false,
            cycle: 0,
            cycle_began: Instant::ZERO,
            lost_in_cycle: false,
            srtt: Span::ZERO,
            prior: None,
            conserve: None,
        }
    }

    /// `gain` bandwidth-delay products in bytes; the initial window as long as nothing is known.
    fn inflight(&self, gain: f64) -> f64 {
        let rtt = self.rtt.get().map_or(0.0, Span::as_secs_f64);
        let product = self.rate.get() * rtt;
        if product > 0.0 { gain * product } else { self.window.init() }
    }

    fn gain(&self) -> f64 {
        match self.state {
            State::Startup => STARTUP_GAIN,
            State::Drain => 1.0 / STARTUP_GAIN,
            State::ProbeBw => CYCLE[self.cycle],
            State::ProbeRtt(_) => 1.0,
        }
    }

    fn probe_bandwidth(&mut self, path: &PathView) {
        self.state = State::ProbeBw;
        // Any phase but the draining one, so that flows do not probe together.
        self.cycle = match scatter(path, 7) {
            0 => 0,
            n => n as usize + 1,
        };
        (self.cycle_began, self.lost_in_cycle) = (path.now, false);
    }

    fn follow_cycle(&mut self, path: &PathView) {
        let elapsed = path.now.since(self.cycle_began);
        let over = elapsed > self.rtt.get().unwrap_or(Span::ZERO);
        let flight = path.in_flight.get() as f64;
        let next = match CYCLE[self.cycle] {
            gain if gain > 1.0 => over && (self.lost_in_cycle || flight >= self.inflight(gain)),
            gain if gain < 1.0 => over || flight <= self.inflight(1.0),
            _ => over,
        };
        if next {
            self.cycle = (self.cycle + 1) % CYCLE.len();
            (self.cycle_began, self.lost_in_cycle) = (path.now, false);
        }
    }

    fn follow(&mut self, path: &PathView, expired: bool) {
        if expired && !matches!(self.state, State::ProbeRtt(_)) {
            self.state = State::ProbeRtt(None);
            self.prior = Some(self.prior.unwrap_or(0.0).max(self.window.cwnd()));
        }
        let few = PROBE_RTT_WINDOW * self.window.mss();
        match self.state {
            State::Startup if self.full => self.state = State::Drain,
            State::Startup => {}
            State::Drain => {
                if path.in_flight.get() as f64 <= self.inflight(1.0) {
                    self.probe_bandwidth(path);
                }
            }
            State::ProbeBw => self.follow_cycle(path),
            State::ProbeRtt(None) => {
                if path.in_flight.get() as f64 <= few {
                    let time = PROBE_RTT_TIME.max(path.srtt);
                    self.state = State::ProbeRtt(Some(path.now + time));
                }
            }
            State::ProbeRtt(Some(until)) => {
                if path.now >= until {
                    self.rtt.refresh(path.now);
                    self.window.set(self.prior.take().unwrap_or(0.0).max(self.window.cwnd()));
                    if self.full {
                        self.probe_bandwidth(path);
                    } else {
                        self.state = State::Startup;
                    }
                }
            }
        }
    }

    fn move_window(&mut self, path: &PathView, ack: &Ack) {
        let (mss, acked) = (self.window.mss(), ack.bytes.get() as f64);
        let few = PROBE_RTT_WINDOW * mss;
        if matches!(self.state, State::ProbeRtt(_)) {
            return self.window.set(self.window.cwnd().min(few));
        }
        if !ack.in_recovery && self.conserve.is_none() {
            let prior = self.prior.take().unwrap_or(0.0);
            self.window.set(prior.max(self.window.cwnd()));
        }
        if self.conserve.is_some_and(|round| path.round <= round) {
            let flight = path.in_flight.get() as f64;
            return self.window.set((flight + acked).max(self.window.cwnd()));
        }
        self.conserve = None;
        let gain = if self.full { self.cwnd_gain } else { STARTUP_GAIN };
        let target = self.inflight(gain) + QUANTA * mss;
        let grown = self.window.cwnd() + acked;
        if self.full {
            self.window.set(grown.min(target).max(few));
        } else if self.window.cwnd() < target {
            self.window.set(grown);
        }
    }
}

impl Controller for Bbr {
    fn on_ack(&mut self, path: &PathView, ack: &Ack) {
        self.srtt = path.srtt;
        let new_round = path.round != self.round;
        self.round = path.round;
        let mut app_limited = !path.cwnd_limited;
        if let Some(delivery) = self.deliveries.take(path, ack) {
            app_limited = delivery.app_limited;
            if !app_limited || delivery.rate >= self.rate.get() {
                self.rate.take(path.round, delivery.rate);
            }
        }
        if new_round && !app_limited && !self.full && self.rate.get() > 0.0 {
            self.full = self.plateau.reached(self.rate.get());
        }
        let expired = self.rtt.take(path.now, path.latest_rtt);
        self.follow(path, expired);
        self.move_window(path, ack);
    }

    fn on_loss(&mut self, path: &PathView, loss: &Loss) {
        self.lost_in_cycle = true;
        match loss.cause {
            LossCause::Timeout => {
                self.prior = Some(self.prior.unwrap_or(0.0).max(self.window.cwnd()));
                self.window.set(self.window.mss());
                self.conserve = Some(path.round);
            }
            LossCause::Persistent => {
                self.window.restart();
                (self.state, self.full) = (State::Startup, false);
                (self.rate, self.plateau) = (PeriodMax::new(), Plateau::default());
                (self.prior, self.conserve) = (None, None);
            }
            LossCause::Gap | LossCause::Nack if loss.new_episode => {
                self.prior = Some(self.prior.unwrap_or(0.0).max(self.window.cwnd()));
                self.window.set((path.in_flight.get() as f64).min(self.window.cwnd()));
                self.conserve = Some(path.round);
            }
            LossCause::Gap | LossCause::Nack => {}
        }
    }

    fn on_signal(&mut self, _path: &PathView, signal: &Signal) {
        match signal {
            Signal::MtuChanged { mss } => self.window.change_mss(*mss),
            Signal::RecoveryDone | Signal::SpuriousLoss => {
                let prior = self.prior.take().unwrap_or(0.0);
                self.conserve = None;
                self.window.set(prior.max(self.window.cwnd()));
            }
            _ => {}
        }
    }

    fn limits(&self) -> Limits {
        let rate = self.rate.get();
        let pacing = if rate > 0.0 {
            Some(bit_rate(self.gain() * rate))
        } else {
            let srtt = self.srtt.as_secs_f64();
            (srtt > 0.0).then(|| bit_rate(STARTUP_GAIN * self.window.cwnd() / srtt))
        };
        Limits { window: Some(self.window.bytes()), pacing, ..Limits::default() }
    }

    fn snapshot(&self) -> Snapshot {
        let phase = match self.state {
            State::Startup => Phase::SlowStart,
            State::Drain => Phase::Other("drain"),
            State::ProbeBw => Phase::Other("probe_bw"),
            State::ProbeRtt(_) => Phase::Other("probe_rtt"),
        };
        let rtt = self.rtt.get().map_or(0.0, Span::as_secs_f64);
        Snapshot {
            phase,
            cwnd: Some(self.window.bytes()),
            ssthresh: None,
            gauges: vec![
                Gauge { name: "bottleneck_rate_bps", value: self.rate.get() * 8.0 },
                Gauge { name: "min_rtt_s", value: rtt },
                Gauge { name: "pacing_gain_ratio", value: self.gain() },
            ],
        }
    }
}

#[cfg(test)]
mod tests;
