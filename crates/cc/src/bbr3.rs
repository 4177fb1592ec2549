//! BBR version 3: the model of version 1, bounded by what the path was seen to lose.

use bentpipe_units::{Instant, Span};

use crate::bottleneck::{Deliveries, PeriodMax, Plateau, WindowMin, scatter};
use crate::registry::{Build, Parameter, Row};
use crate::window::{Window, bit_rate};
use crate::{Ack, Controller, Gauge, Limits, Loss, LossCause, PathView, Phase, Signal, Snapshot};

/// The registry row.
pub(crate) const ROW: Row = Row {
    name: "bbr3",
    summary: "paces at the path's rate; bounds what is in flight where more than 2 % are lost",
    citation: "draft-ietf-ccwg-bbr, without ECN",
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
    ],
    build: |build| Box::new(Bbr3::new(build)),
};

/// What a loss leaves of a bound.
const BETA: f64 = 0.7;
/// Share of the long-term bound that is left to others while cruising.
const HEADROOM: f64 = 0.15;
/// The smallest window, and the segments on top of bandwidth-delay products.
const MIN_PIPE: f64 = 4.0;
const QUANTA: f64 = 3.0;
const PROBE_RTT_TIME: Span = Span::from_millis(200);
const PROBE_RTT_GAIN: f64 = 0.5;
/// So many losses at least end startup, if they are more than the threshold.
const STARTUP_LOSSES: u32 = 6;
/// Reno would have probed after so many rounds on a path of that many segments.
const RENO_ROUNDS: u64 = 63;

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    /// Until then, once the path is emptied.
    ProbeRtt(Option<Instant>),
}

/// What a round delivered and lost.
#[derive(Debug, Default)]
struct RoundCount {
    number: u64,
    delivered: f64,
    lost: f64,
    losses: u32,
    /// The largest rate of the round.
    rate: f64,
    /// The most in flight in it.
    flight: f64,
}

#[derive(Debug)]
struct Bbr3 {
    window: Window,
    loss_threshold: f64,
    probe_wait: Span,
    state: State,
    deliveries: Deliveries,
    /// Periods are cycles of probing.
    rate: PeriodMax<2>,
    cycles: u64,
    /// The smallest round trip counts for 10 s, and one as small is looked for every 5 s.
    rtt: WindowMin,
    probe_rtt: WindowMin,
    plateau: Plateau,
    count: RoundCount,
    full: bool,
    /// Bounds in bytes and bytes per second; infinite for none.
    inflight_long: f64,
    inflight_short: f64,
    rate_short: f64,
    /// When the cycle began, how long it waits to probe, and in which round its state began.
    cycle_began: Instant,
    wait: Span,
    cycle_round: u64,
    state_round: u64,
    state_began: Instant,
    /// Segments by which the long-term bound grows in this round of probing.
    growth: f64,
    srtt: Span,
    prior: Option<f64>,
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
            cycles: 0,
            rtt: WindowMin::new(interval * 2),
            probe_rtt: WindowMin::new(interval),
            plateau: Plateau::default(),
            count: RoundCount::default(),
            full: false,
            inflight_long: f64::INFINITY,
            inflight_short: f64::INFINITY,
            rate_short: f64::INFINITY,
            cycle_began: Instant::ZERO,
            wait: Span::ZERO,
            cycle_round: 0,
            state_round: 0,
            state_began: Instant::ZERO,
            growth: 1.0,
            srtt: Span::ZERO,
            prior: None,
        }
    }

    fn gains(&self) -> (f64, f64) {
        match self.state {
            State::Startup => (2.77, 2.0),
            State::Drain => (0.5, 2.0),
            State::Down => (0.9, 2.0),
            State::Cruise | State::Refill => (1.0, 2.0),
            State::Up => (1.25, 2.25),
            State::ProbeRtt(_) => (1.0, PROBE_RTT_GAIN),
        }
    }

    fn bandwidth(&self) -> f64 {
        self.rate.get().min(self.rate_short)
    }

    /// `gain` bandwidth-delay products in bytes; the initial window as long as nothing is known.
    fn inflight(&self, gain: f64) -> f64 {
        let rtt = self.rtt.get().map_or(0.0, Span::as_secs_f64);
        let product = self.bandwidth() * rtt;
        if product > 0.0 { gain * product } else { self.window.init() }
    }

    fn with_headroom(&self) -> f64 {
        self.inflight_long * (1.0 - HEADROOM)
    }

    fn enter(&mut self, path: &PathView, state: State) {
        (self.state, self.state_round, self.state_began) = (state, path.round, path.now);
    }

    fn forget_short_term(&mut self) {
        (self.inflight_short, self.rate_short) = (f64::INFINITY, f64::INFINITY);
    }

    fn go_down(&mut self, path: &PathView) {
        self.enter(path, State::Down);
        self.cycles += 1;
        (self.cycle_began, self.cycle_round) = (path.now, path.round);
        self.wait = self.probe_wait + Span::from_millis(scatter(path, 1000));
    }

    /// Time for others is over: probe again.
    fn may_probe(&self, path: &PathView) -> bool {
        let segments = (self.inflight(1.0) / self.window.mss()) as u64;
        path.now.since(self.cycle_began) > self.wait
            || path.round - self.cycle_round.min(path.round) >= segments.min(RENO_ROUNDS)
    }

    fn too_many_lost(&self) -> bool {
        let sent = self.count.delivered + self.count.lost;
        self.count.lost > self.loss_threshold * sent && sent > 0.0
    }

    /// The loss in this round shows how much the path holds.
    fn bound_long_term(&mut self) {
        let target = self.inflight(self.gains().1).min(self.window.cwnd());
        self.inflight_long = self.count.flight.max(target * BETA);
    }

    fn bound_short_term(&mut self) {
        let (rate, flight) = (self.rate.get(), self.window.cwnd());
        let before = if self.rate_short.is_finite() { self.rate_short } else { rate };
        self.rate_short = self.count.rate.max(BETA * before);
        let before = if self.inflight_short.is_finite() { self.inflight_short } else { flight };
        self.inflight_short = self.count.flight.max(BETA * before);
    }

    fn end_of_round(&mut self, path: &PathView, app_limited: bool) {
        let lossy = self.too_many_lost();
        if !self.full && !app_limited && self.rate.get() > 0.0 {
            let plateau = self.plateau.reached(self.rate.get());
            let lossy = lossy && self.count.losses >= STARTUP_LOSSES;
            if lossy {
                self.inflight_long = self.inflight(1.0).max(self.count.delivered);
            }
            self.full = plateau || lossy;
        }
        let flat = self.state == State::Up && self.plateau.reached(self.count.rate);
        match self.state {
            State::Up | State::Refill if lossy => {
                self.bound_long_term();
                self.go_down(path);
            }
            State::Up if flat => self.go_down(path),
            State::Up if self.window.cwnd() >= self.inflight_long => {
                self.inflight_long += self.growth * self.window.mss();
                self.growth *= 2.0;
            }
            State::Startup | State::Refill | State::Up => {}
            _ if self.count.lost > 0.0 => self.bound_short_term(),
            _ => {}
        }
        self.count = RoundCount { number: path.round, ..RoundCount::default() };
    }

    fn follow(&mut self, path: &PathView, app_limited: bool) {
        let flight = path.in_flight.get() as f64;
        match self.state {
            State::Down | State::Cruise if self.may_probe(path) => {
                self.forget_short_term();
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
                if flight <= self.with_headroom() && flight <= self.inflight(1.0) {
                    self.enter(path, State::Cruise);
                }
            }
            State::Refill => {
                if path.round > self.state_round + 1 {
                    self.enter(path, State::Up);
                    (self.growth, self.plateau) = (1.0, Plateau::default());
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
                    self.forget_short_term();
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
        let most = self.inflight(self.gains().1) + QUANTA * mss;
        let grown = self.window.cwnd() + ack.bytes.get() as f64;
        let mut cwnd = if self.full || grown < most { grown.min(most) } else { self.window.cwnd() };
        let bound = match self.state {
            State::Startup | State::Refill | State::Up => self.inflight_long,
            _ => self.with_headroom(),
        };
        cwnd = cwnd.min(bound).min(self.inflight_short).max(MIN_PIPE * mss);
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
        self.count.flight = self.count.flight.max(path.in_flight.get() as f64 + acked);
        if let Some(delivery) = self.deliveries.take(path, ack) {
            app_limited = delivery.app_limited;
            self.count.rate = self.count.rate.max(delivery.rate);
            if !app_limited || delivery.rate >= self.rate.get() {
                self.rate.take(self.cycles, delivery.rate);
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
                self.forget_short_term();
                self.inflight_long = f64::INFINITY;
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
                self.count.losses += 1;
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
        let pacing = rate.map(|rate| bit_rate(self.gains().0 * rate));
        Limits { window: Some(self.window.bytes()), pacing, burst: None }
    }

    fn snapshot(&self) -> Snapshot {
        let phase = match self.state {
            State::Startup => Phase::SlowStart,
            State::Drain => Phase::Other("drain"),
            State::Down => Phase::Other("probe_bw_down"),
            State::Cruise => Phase::Other("probe_bw_cruise"),
            State::Refill => Phase::Other("probe_bw_refill"),
            State::Up => Phase::Other("probe_bw_up"),
            State::ProbeRtt(_) => Phase::Other("probe_rtt"),
        };
        let rtt = self.rtt.get().map_or(0.0, Span::as_secs_f64);
        let long = if self.inflight_long.is_finite() { self.inflight_long } else { 0.0 };
        Snapshot {
            phase,
            cwnd: Some(self.window.bytes()),
            ssthresh: None,
            gauges: vec![
                Gauge { name: "bottleneck_rate_bps", value: self.bandwidth() * 8.0 },
                Gauge { name: "min_rtt_s", value: rtt },
                Gauge { name: "inflight_long_bytes", value: long },
            ],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Link, Play};

    #[test]
    fn the_link_is_used_with_a_short_queue() {
        let mut link = Link::new("bbr3", 6e6, 0.6, 1e9);
        link.run(20.0);
        let (before, mut queue) = (link.delivered(), 0.0);
        for _ in 0..600 {
            link.run(0.1);
            queue += link.queue_seconds() / 600.0;
        }
        let used = (link.delivered() - before) * 8.0 / 60.0 / 6e6;
        assert!(used > 0.85, "{used}");
        assert!(queue < 0.3, "{queue}");
    }

    #[test]
    fn the_states_of_a_cycle_follow_each_other() {
        let mut link = Link::new("bbr3", 6e6, 0.6, 1e9);
        let mut states = Vec::new();
        for _ in 0..6000 {
            link.run(0.01);
            let state = link.phase().name();
            if states.last() != Some(&state) {
                states.push(state);
            }
        }
        assert_eq!(states[..2], ["slow_start", "drain"]);
        let follows = |a: &str, b: &str| states.windows(2).any(|pair| pair == [a, b]);
        assert!(follows("probe_bw_refill", "probe_bw_up"), "{states:?}");
        assert!(follows("probe_bw_up", "probe_bw_down"), "{states:?}");
        assert!(follows("probe_bw_cruise", "probe_bw_refill"), "{states:?}");
    }

    #[test]
    fn one_percent_of_noise_costs_little() {
        let mut link = Link::new("bbr3", 6e6, 0.6, 1e9);
        link.loss = 0.01;
        link.run(20.0);
        let before = link.delivered();
        link.run(60.0);
        let used = (link.delivered() - before) * 8.0 / 60.0 / 6e6;
        assert!(used > 0.75, "{used}");
    }

    #[test]
    fn a_small_queue_that_overflows_bounds_what_is_in_flight() {
        let mut link = Link::new("bbr3", 6e6, 0.6, 45_000.0);
        link.run(40.0);
        let bound = link.gauge("inflight_long_bytes");
        assert!((200e3..900e3).contains(&bound), "{bound}");
        assert!(link.play.controller.limits().window.expect("a window").get() as f64 <= bound);
    }

    #[test]
    fn a_timeout_leaves_what_is_in_flight_and_one_segment() {
        let mut play = Play::new("bbr3", &[]);
        play.rounds(6);
        play.path.in_flight = play.bytes(3);
        play.lose(LossCause::Timeout);
        assert_eq!(play.segments(), 4.0);
    }
}
