//! TCP Vegas: keeps a few segments of its own in queues, seen from the round-trip time.

use crate::algorithms::reno;
use crate::backlog::{RoundRtt, Rounds, queued};
use crate::family::{Algorithm, Cause, Reduction, Windowed};
use crate::row::{Build, Parameter, Row};
use crate::window::{ABC_LIMIT, INITIAL_SSTHRESH, LINUX, Window};
use crate::{Ack, Gauge, PathView, Repair, Signal};

/// Fewest segments in queues: below it the window grows.
pub(crate) const ALPHA: Parameter = Parameter {
    name: "alpha",
    unit: "segments",
    default: 1.0,
    range: (0.0, 1000.0),
    summary: "the window grows while fewer of its segments wait in queues (Linux: 2)",
};
/// Most segments in queues: above it the window shrinks.
pub(crate) const BETA: Parameter = Parameter {
    name: "beta",
    unit: "segments",
    default: 3.0,
    range: (0.0, 1000.0),
    summary: "the window shrinks while more of its segments wait in queues (Linux: 4)",
};
/// Segments in queues that end slow start.
pub(crate) const GAMMA: Parameter = Parameter {
    name: "gamma",
    unit: "segments",
    default: 1.0,
    range: (0.0, 1000.0),
    summary: "slow start ends when more of its segments wait in queues",
};

/// The registry row.
pub(crate) const ROW: Row = Row {
    name: "vegas",
    summary: "keeps alpha to beta segments in queues; a quarter less on a first loss",
    citation: "Brakmo and Peterson, IEEE JSAC 13(8), 1995, as in ns-2; Linux 2.6.22 with `linux`",
    parameters: &[
        ALPHA,
        BETA,
        GAMMA,
        Parameter {
            summary: "1: as Linux 2.6.22: smallest round trip of a round for the mean, doubling every round, \
                      exit from slow start to the path's share, Reno below 3 samples, half on a loss and \
                      a round without growth after it, no fine timers, whole segments",
            ..LINUX
        },
        ABC_LIMIT,
        INITIAL_SSTHRESH,
    ],
    build: &|build| Windowed::boxed(build, &ROW, Vegas::new(build, &ROW)),
};

/// How Vegas is done where descriptions differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// The paper and ns-2: slow start grows every other round.
    Paper,
    /// The module of Linux.
    Linux,
    /// The paper's, but slow start grows every round.
    EveryRound,
}

/// Where the segments in queues lie between alpha and beta.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Fewer than alpha.
    Below,
    /// Between the two.
    Within,
    /// More than beta.
    Above,
}

/// The algorithm of TCP Vegas.
#[derive(Debug)]
pub(crate) struct Vegas {
    alpha: f64,
    beta: f64,
    gamma: f64,
    form: Form,
    rounds: Rounds,
    /// In Linux' form: the round, and what is delivered when it ends. It begins anew after a loss.
    round: (u64, u64),
    /// In Linux' form: the windows in bytes when this round and the one before began.
    began_with: [f64; 2],
    ended: Option<RoundRtt>,
    /// Slow start grows in this round.
    grows: bool,
    /// Segments by which avoidance grows in this round.
    step: f64,
    queued: f64,
}

impl Vegas {
    /// The algorithm with the parameters of `row`.
    pub(crate) fn new(build: &Build<'_>, row: &Row) -> Self {
        let linux = build.parameter(row, LINUX.name) >= 0.5;
        Self {
            alpha: build.parameter(row, ALPHA.name),
            beta: build.parameter(row, BETA.name),
            gamma: build.parameter(row, GAMMA.name),
            form: if linux { Form::Linux } else { Form::Paper },
            rounds: Rounds::default(),
            round: (1, 0),
            began_with: [0.0; 2],
            ended: None,
            grows: true,
            step: 0.0,
            queued: 0.0,
        }
    }

    /// The algorithm with the parameters of `row`, whose slow start grows every round.
    pub(crate) fn growing_every_round(build: &Build<'_>, row: &Row) -> Self {
        Self { form: Form::EveryRound, ..Self::new(build, row) }
    }

    /// Whether too few, enough or too many of the segments wait in queues.
    pub(crate) fn place(&self) -> Place {
        match self.queued {
            queued if queued > self.beta => Place::Above,
            queued if queued < self.alpha => Place::Below,
            _ => Place::Within,
        }
    }

    /// A round ended with the latest acknowledgement and nobody has answered it yet.
    pub(crate) const fn round_ended(&mut self) -> bool {
        self.ended.take().is_some()
    }

    /// The gauge of the segments in queues.
    pub(crate) const fn gauge(&self) -> Gauge {
        Gauge { name: "queued_segments", value: self.queued }
    }

    /// A round begins that ends when everything is delivered that is under way.
    const fn begin_round(&mut self, path: &PathView) {
        self.round = (self.round.0 + 1, path.delivered.get() + path.in_flight.get());
    }

    /// The end of a round in the paper's way.
    fn judge(&mut self, window: &mut Window) {
        if window.in_slow_start() {
            self.grows = self.form == Form::EveryRound || !self.grows;
            if self.queued > self.gamma {
                leave_slow_start(window, window.cwnd() * 7.0 / 8.0);
                self.step = 0.0;
            }
        } else {
            let place = self.place();
            self.step = if place == Place::Below { 1.0 } else { 0.0 };
            if place == Place::Above {
                lower(window);
            }
        }
    }

    fn grow_as_paper(&mut self, window: &mut Window, ack: &Ack) {
        if !window.in_slow_start() {
            window.avoid(self.step, window.acked(ack));
        } else if self.grows {
            let segments = window.slow_start(ack);
            window.avoid(self.step, segments);
        }
    }

    fn grow_as_linux(&mut self, window: &mut Window, ack: &Ack, ended: Option<RoundRtt>) {
        match ended {
            None if window.in_slow_start() => {
                window.slow_start(ack);
            }
            None => {}
            Some(rtt) if rtt.samples <= 2 => reno::grow(window, ack),
            Some(_) if window.in_slow_start() => {
                if self.queued > self.gamma {
                    let share = self.began_with[0] - self.queued * window.mss() + window.mss();
                    leave_slow_start(window, window.whole_segments(share.min(window.cwnd())));
                }
                window.slow_start(ack);
            }
            // It goes a step towards one more or less than the window of a round ago. Growth is in that
            // window only a round later: the window grows in every other round.
            Some(_) => {
                let step = match self.place() {
                    Place::Above => -window.mss(),
                    Place::Below => window.mss(),
                    Place::Within => 0.0,
                };
                let aim = self.began_with[0] + step;
                if aim > window.cwnd() {
                    window.add(window.mss());
                } else if aim < window.cwnd() {
                    lower(window);
                }
            }
        }
    }
}

/// Vegas never goes below two segments.
fn lower(window: &mut Window) {
    window.set((window.cwnd() - window.mss()).max(2.0 * window.mss()));
}

/// Avoidance from now on: the threshold falls to its least.
fn leave_slow_start(window: &mut Window, cwnd: f64) {
    window.set_ssthresh(0.0);
    window.set(cwnd.max(2.0 * window.mss()));
}

impl Algorithm for Vegas {
    fn measure(&mut self, window: &mut Window, path: &PathView, ack: &Ack) {
        self.ended = if self.form == Form::Linux {
            let over = path.delivered.get() > self.round.1 && !ack.in_recovery;
            if over {
                self.begin_round(path);
                self.began_with = [self.began_with[1], window.cwnd()];
            }
            self.rounds.take_in(path, self.round.0)
        } else {
            self.rounds.take(path)
        };
        if let Some(rtt) = self.ended {
            self.queued = match self.form {
                Form::Linux => queued(self.began_with[0] / window.mss(), path.min_rtt, rtt.min),
                _ => queued(window.segments(), path.min_rtt, rtt.mean),
            };
        }
    }

    fn grow(&mut self, window: &mut Window, _path: &PathView, ack: &Ack) {
        let ended = self.ended.take();
        if self.form == Form::Linux {
            return self.grow_as_linux(window, ack, ended);
        }
        if ended.is_some() {
            self.judge(window);
        }
        self.grow_as_paper(window, ack);
    }

    fn reduce(&mut self, _window: &Window, _path: &PathView, event: &Reduction) -> Option<f64> {
        let first = event.cause != Cause::Timeout && !event.again && self.form != Form::Linux;
        Some(event.flight * if first { 0.75 } else { 0.5 })
    }

    fn loss_window(&self) -> f64 {
        if self.form == Form::Linux { 1.0 } else { 2.0 }
    }

    fn signal(&mut self, _window: &mut Window, path: &PathView, signal: &Signal) {
        if self.form == Form::Linux && *signal == Signal::RecoveryDone {
            self.begin_round(path);
            self.rounds = Rounds::default();
        }
    }

    fn reduced(&mut self, window: &mut Window, _path: &PathView, event: &Reduction) {
        self.step = 0.0;
        self.grows = true;
        if event.cause != Cause::Timeout && self.form != Form::Linux {
            window.set_ssthresh(0.0);
        }
    }

    fn gauges(&self, _window: &Window) -> Vec<Gauge> {
        vec![self.gauge()]
    }

    fn repair(&self) -> Repair {
        Repair { fine_timers: self.form != Form::Linux, ..Repair::default() }
    }
}

#[cfg(test)]
mod tests;
