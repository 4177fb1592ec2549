//! BBR version 3: the model of version 1, bounded by what the path was seen to lose.

mod bounds;
mod marks;
mod state;

use bentpipe_units::{ByteCount, Instant, Span};

use self::bounds::{Bounds, RoundCount};
use self::marks::Marks;
use self::state::{PROBE_RTT_GAIN, State};
use crate::bottleneck::{Deliveries, PeriodMax, Plateau, WindowMin, scatter};
use crate::row::{Build, Parameter, Row};
use crate::window::{Window, bit_rate};
use crate::{Ack, Controller, Gauge, Limits, Loss, LossCause, PathView, Repair, Signal, Snapshot};

/// The registry row.
pub(crate) const ROW: Row = Row {
    name: "bbr3",
    summary: "paces at the path's rate; bounds what is in flight where more than 2 % are lost",
    citation: "draft-ietf-ccwg-bbr; tcp_bbr of Google's kernel, version 3 (ECN)",
    parameters: &[
        Parameter {
            name: "loss_threshold",
            unit: "1",
            default: 0.02,
            range: (0.0, 1.0),
            summary: "share of losses in a round above which the path is taken for full",
        },
        Parameter {
            name: "probe_wait",
            unit: "s",
            default: 2.0,
            range: (0.1, 1000.0),
            summary: "time between two probes for more bandwidth; up to a second is added",
        },
        Parameter {
            name: "probe_rtt_interval",
            unit: "s",
            default: 5.0,
            range: (1.0, 1e6),
            summary: "half of the window is used to measure the round trip when no smaller one came so \
                      long",
        },
        Parameter {
            name: "ecn_max_rtt",
            unit: "s",
            default: 0.005,
            range: (0.0, 1000.0),
            summary: "marks are heeded on paths of at most that round trip; of use where each mark is told \
                      (`ecn` of TCP)",
        },
    ],
    build: &|build| Box::new(Bbr3::new(build)),
};

/// The smallest window, and the segments on top of bandwidth-delay products.
const MIN_PIPE: f64 = 4.0;
const QUANTA: f64 = 3.0;
/// The pace is so much below what the gain says (BBR.PacingMarginPercent).
const MARGIN: f64 = 0.99;
const PROBE_RTT_TIME: Span = Span::from_millis(200);
/// So many losses at least end startup, if they are more than the threshold.
const STARTUP_LOSSES: u32 = 6;
/// Reno would have probed after so many rounds on a path of that many segments.
const RENO_ROUNDS: u64 = 63;

#[derive(Debug)]
struct Bbr3 {
    window: Window,
    loss_threshold: f64,
    probe_wait: Span,
    state: State,
    deliveries: Deliveries,
    /// Periods are cycles of probing.
    rate: PeriodMax<2>,
    cycle: Cycle,
    /// The smallest round trip counts for 10 s, and one as small is looked for every 5 s.
    rtt: WindowMin,
    probe_rtt: WindowMin,
    plateau: Plateau,
    count: RoundCount,
    full: bool,
    bounds: Bounds,
    marks: Marks,
    /// The round in which the state began, and when.
    state_round: u64,
    state_began: Instant,
    srtt: Span,
    prior: Option<f64>,
}

/// A cycle of probing for more bandwidth: how many there were, when this one began and in which round, and how long it
/// waits to probe.
#[derive(Debug)]
struct Cycle {
    number: u64,
    began: Instant,
    round: u64,
    wait: Span,
}

impl Bbr3 {
    fn new(build: &Build<'_>) -> Self {
        let interval = Span::from_secs_f64(build.parameter(&ROW, "probe_rtt_interval"));
        Self {
            window: Window::new(build, &ROW),
            loss_threshold: build.parameter(&ROW, "loss_threshold"),
            probe_wait: Span::from_secs_f64(build.parameter(&ROW, "probe_wait")),
            state: State::Startup,
            deliveries: Deliveries::default(),
            rate: PeriodMax::new(),
            cycle: Cycle { number: 0, began: Instant::ZERO, round: 0, wait: Span::ZERO },
            rtt: WindowMin::new(interval * 2),
            probe_rtt: WindowMin::new(interval),
            plateau: Plateau::default(),
            count: RoundCount::default(),
            full: false,
            bounds: Bounds::default(),
            marks: Marks::new(Span::from_secs_f64(build.parameter(&ROW, "ecn_max_rtt"))),
            state_round: 0,
            state_began: Instant::ZERO,
            srtt: Span::ZERO,
            prior: None,
        }
    }

    fn bandwidth(&self) -> f64 {
        self.rate.get().min(self.bounds.rate_short)
    }

    /// `gain` bandwidth-delay products in bytes; the initial window as long as nothing is known.
    fn inflight(&self, gain: f64) -> f64 {
        let rtt = self.rtt.get().map_or(0.0, Span::as_secs_f64);
        let product = self.bandwidth() * rtt;
        if product > 0.0 { gain * product } else { self.window.init() }
    }

    fn enter(&mut self, path: &PathView, state: State) {
        (self.state, self.state_round, self.state_began) = (state, path.round, path.now);
    }

    fn go_down(&mut self, path: &PathView) {
        self.enter(path, State::Down);
        self.cycle = Cycle {
            number: self.cycle.number + 1,
            began: path.now,
            round: path.round,
            wait: self.probe_wait + Span::from_millis(scatter(path, 1000)),
        };
    }

    /// Time for others is over: probe again.
    fn may_probe(&self, path: &PathView) -> bool {
        let segments = (self.inflight(1.0) / self.window.mss()) as u64;
        path.now.since(self.cycle.began) > self.cycle.wait
            || path.round - self.cycle.round.min(path.round) >= segments.min(RENO_ROUNDS)
    }

    fn end_of_round(&mut self, path: &PathView, app_limited: bool) {
        self.marks.take(&self.count, self.rtt.get());
        let lossy = self.count.lost_more_than(self.loss_threshold);
        if !self.full && !app_limited && self.rate.get() > 0.0 {
            let plateau = self.plateau.reached(self.rate.get());
            let lossy = lossy && self.count.losses >= STARTUP_LOSSES;
            let too_much = lossy || self.marks.end_startup();
            if too_much {
                self.bounds.long = self.inflight(1.0).max(self.count.delivered);
            }
            self.full = plateau || too_much;
        }
        let too_much = lossy || self.marks.are_too_many(&self.count);
        let flat = self.state == State::Up && self.plateau.reached(self.count.rate);
        match self.state {
            State::Up | State::Refill if too_much => {
                let target = self.inflight(self.state.gains().1).min(self.window.cwnd());
                self.bounds.bound_long_term(&self.count, target);
                self.go_down(path);
            }
            State::Up if flat => self.go_down(path),
            State::Up if self.window.cwnd() >= self.bounds.long => {
                self.bounds.raise(self.window.mss());
            }
            State::Startup | State::Refill | State::Up => {}
            _ => {
                let (rate, cwnd) = (self.rate.get(), self.window.cwnd());
                let left = self.marks.leave(&self.count);
                self.bounds.bound_short_term(&self.count, rate, cwnd, left);
            }
        }
        self.count = RoundCount { number: path.round, ..RoundCount::default() };
    }

    fn follow(&mut self, path: &PathView, app_limited: bool) {
        let flight = path.in_flight.get() as f64;
        match self.state {
            State::Down | State::Cruise if self.may_probe(path) => {
                self.bounds.forget_short_term();
                self.enter(path, State::Refill);
            }
            State::Startup if self.full => self.enter(path, State::Drain),
            State::Startup | State::Cruise => {}
            State::Drain => {
                if flight <= self.inflight(1.0) {
                    self.go_down(path);
                }
            }
            State::Down => {
                if flight <= self.bounds.with_headroom() && flight <= self.inflight(1.0) {
                    self.enter(path, State::Cruise);
                }
            }
            State::Refill => {
                if path.round > self.state_round + 1 {
                    self.enter(path, State::Up);
                    self.bounds.begin_raising();
                    self.plateau = Plateau::default();
                }
            }
            State::Up => {
                let rtt = self.rtt.get().unwrap_or(Span::ZERO);
                let long_enough = path.now.since(self.state_began) > rtt;
                if !app_limited && long_enough && flight > self.inflight(1.25) {
                    self.go_down(path);
                }
            }
            State::ProbeRtt(None) => {
                if flight <= self.probe_rtt_window() {
                    let until = path.now + PROBE_RTT_TIME.max(path.srtt);
                    self.state = State::ProbeRtt(Some(until));
                }
            }
            State::ProbeRtt(Some(until)) => {
                if path.now >= until {
                    self.probe_rtt.refresh(path.now);
                    self.rtt.refresh(path.now);
                    self.restore();
                    self.bounds.forget_short_term();
                    if self.full {
                        self.go_down(path);
                        self.enter(path, State::Cruise);
                    } else {
                        self.enter(path, State::Startup);
                    }
                }
            }
        }
    }

    fn probe_rtt_window(&self) -> f64 {
        self.inflight(PROBE_RTT_GAIN).max(MIN_PIPE * self.window.mss())
    }

    fn save(&mut self) {
        self.prior = Some(self.prior.unwrap_or(0.0).max(self.window.cwnd()));
    }

    fn restore(&mut self) {
        let prior = self.prior.take().unwrap_or(0.0);
        self.window.set(prior.max(self.window.cwnd()));
    }

    fn move_window(&mut self, ack: &Ack) {
        let mss = self.window.mss();
        let most = self.inflight(self.state.gains().1) + QUANTA * mss;
        let grown = self.window.cwnd() + ack.bytes.get() as f64;
        let mut cwnd = if self.full || grown < most { grown.min(most) } else { self.window.cwnd() };
        let bound = match self.state {
            State::Startup | State::Refill | State::Up => self.bounds.long,
            _ => self.bounds.with_headroom(),
        };
        cwnd = cwnd.min(bound).min(self.bounds.short).max(MIN_PIPE * mss);
        if matches!(self.state, State::ProbeRtt(_)) {
            cwnd = cwnd.min(self.probe_rtt_window());
        }
        self.window.set(cwnd);
    }
}

impl Controller for Bbr3 {
    fn on_ack(&mut self, path: &PathView, ack: &Ack) {
        self.srtt = path.srtt;
        let mut app_limited = !path.cwnd_limited;
        let acked = ack.bytes.get() as f64;
        self.count.delivered += acked;
        self.count.marked += ack.marked.get() as f64;
        self.count.flight = self.count.flight.max(path.in_flight.get() as f64 + acked);
        if let Some(delivery) = self.deliveries.take(path, ack) {
            app_limited = delivery.app_limited;
            self.count.rate = self.count.rate.max(delivery.rate);
            if !app_limited || delivery.rate >= self.rate.get() {
                self.rate.take(self.cycle.number, delivery.rate);
            }
        }
        if path.round != self.count.number {
            self.end_of_round(path, app_limited);
        }
        self.rtt.take(path.now, path.latest_rtt);
        if self.probe_rtt.take(path.now, path.latest_rtt)
            && !matches!(self.state, State::ProbeRtt(_))
        {
            self.save();
            self.enter(path, State::ProbeRtt(None));
        }
        self.follow(path, app_limited);
        self.move_window(ack);
    }

    fn on_loss(&mut self, path: &PathView, loss: &Loss) {
        match loss.cause {
            LossCause::Persistent => {
                self.window.restart();
                self.bounds = Bounds::default();
                (self.full, self.plateau) = (false, Plateau::default());
                self.rate = PeriodMax::new();
                self.enter(path, State::Startup);
            }
            LossCause::Timeout => {
                self.save();
                let left = path.in_flight.get() as f64 + self.window.mss();
                self.window.set(left.min(self.window.cwnd()));
            }
            LossCause::Gap | LossCause::Nack => {
                self.count.lost += loss.bytes.get() as f64;
                self.count.losses += u32::from(loss.bytes > ByteCount::ZERO);
            }
        }
    }

    fn on_signal(&mut self, _path: &PathView, signal: &Signal) {
        match signal {
            Signal::MtuChanged { mss } => self.window.change_mss(*mss),
            Signal::RecoveryDone | Signal::SpuriousLoss => self.restore(),
            _ => {}
        }
    }

    fn limits(&self) -> Limits {
        let (rate, srtt) = (self.bandwidth(), self.srtt.as_secs_f64());
        let rate =
            if rate > 0.0 { Some(rate) } else { (srtt > 0.0).then(|| self.window.cwnd() / srtt) };
        let pacing = rate.map(|rate| bit_rate(MARGIN * self.state.gains().0 * rate));
        let window = Some(self.window.bytes());
        Limits { window, pacing, of_payload: true, ..Limits::default() }
    }

    fn repair(&self) -> Repair {
        Repair { own_window: true, ..Repair::default() }
    }

    fn snapshot(&self) -> Snapshot {
        let rtt = self.rtt.get().map_or(0.0, Span::as_secs_f64);
        let long = if self.bounds.long.is_finite() { self.bounds.long } else { 0.0 };
        Snapshot {
            phase: self.state.phase(),
            cwnd: Some(self.window.bytes()),
            ssthresh: None,
            gauges: vec![
                Gauge { name: "bottleneck_rate_bps", value: self.bandwidth() * 8.0 },
                Gauge { name: "min_rtt_s", value: rtt },
                Gauge { name: "inflight_long_bytes", value: long },
                Gauge { name: "pacing_gain_ratio", value: self.state.gains().0 },
                Gauge { name: "marked_ratio", value: self.marks.share() },
            ],
        }
    }
}

#[cfg(test)]
mod tests;
