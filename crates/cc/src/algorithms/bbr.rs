//! BBR version 1, as Linux has it: sends at the bottleneck's rate, with two of its bandwidth-delay products under way.

mod aggregation;
mod long_term;
mod model;
mod pace;
mod window;

use bentpipe_units::{Instant, Span};

use self::aggregation::Aggregation;
use self::long_term::LongTerm;
use crate::bottleneck::{Deliveries, PeriodMax, Plateau, WindowMin};
use crate::row::{Build, Parameter, Row};
use crate::window::Window;
use crate::{
    Ack, Controller, Gauge, Limits, Loss, LossCause, PathView, Phase, Repair, Signal, Snapshot,
};

/// The registry row.
pub(crate) const ROW: Row = Row {
    name: "bbr",
    summary: "paces at the largest delivery rate of ten rounds; losses do not change the rate",
    citation: "Cardwell, Cheng, Gunn, Yeganeh, Jacobson, CACM 60(2), 2017; \
               draft-cardwell-iccrg-bbr-congestion-control-00; tcp_bbr of Linux 6",
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
    build: &|build| Box::new(Bbr::new(build)),
};

/// 2/ln 2: the smallest gain that doubles the rate in each round, in 256ths.
const STARTUP_GAIN: f64 = 739.0 / 256.0;
const DRAIN_GAIN: f64 = 88.0 / 256.0;
/// The gains of a cycle; each lasts a round trip.
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// The window while the round trip is measured, and the smallest one at all, in segments.
const PROBE_RTT_WINDOW: f64 = 4.0;
const PROBE_RTT_TIME: Span = Span::from_millis(200);

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Startup,
    Drain,
    ProbeBw,
    /// With the time until which it lasts at least, once the path is nearly empty, and whether a round is over then.
    ProbeRtt(Option<(Instant, bool)>),
}

/// What the sender is busy with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Repairs {
    None,
    /// Losses found by gaps.
    Gaps,
    /// A timeout.
    TimedOut,
}

#[derive(Debug)]
struct Bbr {
    window: Window,
    cwnd_gain: f64,
    state: State,
    /// A round is over when something arrives that left after so many bytes were delivered.
    round_ends: u64,
    round: u64,
    path_round: u64,
    deliveries: Deliveries,
    rate: PeriodMax<10>,
    rtt: WindowMin,
    plateau: Plateau,
    full: bool,
    cycle: usize,
    cycle_began: Instant,
    long_term: LongTerm,
    aggregation: Aggregation,
    lost: f64,
    srtt: Span,
    pace: f64,
    /// Window before the losses that are being repaired, or before the round trip is measured.
    prior: f64,
    repairs: Repairs,
    /// Exactly what arrives may leave.
    conserves: bool,
    idle_restart: bool,
    /// What left in this time says nothing of the rate: the round trip was being measured.
    probed: Option<(Instant, Instant)>,
}

/// What one acknowledgement says.
#[derive(Clone, Copy, Debug)]
struct Said {
    acked: f64,
    lost: f64,
    begins: bool,
    app_limited: bool,
    /// A rate came with it.
    sampled: bool,
}

impl Bbr {
    fn new(build: &Build<'_>) -> Self {
        let interval = Span::from_secs_f64(build.parameter(&ROW, "probe_rtt_interval"));
        Self {
            window: Window::new(build, &ROW),
            cwnd_gain: build.parameter(&ROW, "cwnd_gain"),
            state: State::Startup,
            round_ends: 0,
            round: 0,
            path_round: 0,
            deliveries: Deliveries::default(),
            rate: PeriodMax::new(),
            rtt: WindowMin::new(interval),
            plateau: Plateau::default(),
            full: false,
            cycle: 0,
            cycle_began: Instant::ZERO,
            long_term: LongTerm::new(),
            aggregation: Aggregation::new(),
            lost: 0.0,
            srtt: Span::ZERO,
            pace: 0.0,
            prior: 0.0,
            repairs: Repairs::None,
            conserves: false,
            idle_restart: false,
            probed: None,
        }
    }

    fn gain(&self) -> f64 {
        match self.state {
            State::Startup => STARTUP_GAIN,
            State::Drain => DRAIN_GAIN,
            State::ProbeBw if self.long_term.rate().is_some() => 1.0,
            State::ProbeBw => CYCLE[self.cycle],
            State::ProbeRtt(_) => 1.0,
        }
    }

    fn forget(&mut self) {
        self.window.restart();
        (self.state, self.full) = (State::Startup, false);
        (self.rate, self.plateau) = (PeriodMax::new(), Plateau::default());
        (self.prior, self.conserves, self.pace) = (0.0, false, 0.0);
        (self.repairs, self.long_term) = (Repairs::None, LongTerm::new());
    }
}

impl Controller for Bbr {
    fn on_ack(&mut self, path: &PathView, ack: &Ack) {
        self.srtt = path.srtt;
        let repairs = match self.repairs {
            _ if ack.repairing => Repairs::Gaps,
            Repairs::TimedOut => Repairs::TimedOut,
            _ => Repairs::None,
        };
        if repairs == Repairs::Gaps && self.repairs == Repairs::None {
            self.save_window();
        }
        let said = self.take_rate(path, ack);
        if said.sampled {
            let (rate, cwnd, mss) = (self.used_rate(), self.window.cwnd(), self.window.mss());
            self.aggregation.take(path.now, said.acked, rate, said.begins, cwnd, mss);
        }
        if self.rtt.get().is_none() {
            // The handshake measured it before anything was sent.
            self.rtt.take(ack.newest_sent_at, path.min_rtt);
        }
        let expired = self.rtt.take(path.now, path.latest_rtt);
        self.follow(path, &said, expired);
        self.move_pace();
        self.move_window(path, &said, repairs);
    }

    fn on_loss(&mut self, path: &PathView, loss: &Loss) {
        match loss.cause {
            LossCause::Timeout => self.time_out(path),
            LossCause::Persistent => self.forget(),
            // The acknowledgement that showed it was told before. Where repairs go on a window that has grown since is kept.
            LossCause::Gap | LossCause::Nack if loss.new_episode => self.save_window(),
            LossCause::Gap | LossCause::Nack => {}
        }
    }

    fn on_signal(&mut self, path: &PathView, signal: &Signal) {
        match signal {
            Signal::MtuChanged { mss } => self.window.change_mss(*mss),
            Signal::RecoveryDone => self.end_repairs(),
            Signal::SpuriousLoss => {
                (self.plateau, self.long_term) = (Plateau::default(), LongTerm::new());
                self.end_repairs();
            }
            Signal::Idle { .. } => {
                self.idle_restart = true;
                self.aggregation.restart(path.now);
                if self.state == State::ProbeBw {
                    self.pace = self.used_rate();
                }
            }
            _ => {}
        }
    }

    fn limits(&self) -> Limits {
        self.paced_limits()
    }

    fn repair(&self) -> Repair {
        Repair { own_window: true, ..Repair::default() }
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
