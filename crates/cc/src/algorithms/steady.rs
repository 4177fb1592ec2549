//! A window of what the path carries and a short queue, for links that lose, change, and have other users at times.
//!
//! Once in a round trip it is looked at how long the queue was that nothing undercut. An empty one lets the window grow, the
//! faster the longer it stays empty; one that is too long cuts it to what leaves a short one. What a cut does tells apart why
//! round trips are long: a queue of one's own shrinks, a path that became longer does not heed it, and others take the room,
//! beside whom the window moves like CUBIC's, or BBR's if they answer no loss. Losses without a queue are noise. Over a long
//! path whoever was there first leaves room for who comes.

mod again;
mod arrivals;
mod company;
mod delay;
mod known;
mod late;
mod like_bbr;
mod low;
mod noise;
mod recalled;
mod rivals;
mod sharing;
mod steps;
mod traces;
mod way_back;

use bentpipe_units::{Instant, Span};

use self::again::Again;
use self::company::Company;
use self::delay::Queues;
use self::known::Known;
use self::like_bbr::LikeBbr;
use self::low::Low;
use self::rivals::Rivals;
use self::traces::Traces;
use crate::cubic_curve::CubicCurve;
use crate::delay_probe_start::DelayProbeStart;
use crate::row::{Build, Row};
use crate::window::{INITIAL_SSTHRESH, Window, bit_rate};
use crate::{
    Ack, Controller, Gauge, Limits, Loss, LossCause, PathView, Phase, Repair, Signal, Snapshot,
};

/// The registry row.
pub(crate) const ROW: Row = Row {
    name: "steady",
    summary: "keeps a short queue; losses without one are noise; CUBIC or BBR beside others who fill it",
    citation: "this project's (decision 0019); after TCP Vegas, BBR and Copa (NSDI 2018)",
    parameters: &[INITIAL_SSTHRESH],
    build: &|build| Box::new(Steady::new(build)),
};

/// In slow start segments leave twice as fast as the window fills a round trip.
const PACE_START: f64 = 2.0;
/// CUBIC beside others, and what a loss leaves of its window, or a mark of a router of any.
const C: f64 = 0.4;
const BETA: f64 = 0.85;
/// For longer than so many round trips nothing is acknowledged only where nothing was sent.
const PAUSE: u64 = 2;
/// Cuts in a row that do not help.
const FAILURES: u32 = 2;
/// After a mark of a router the window does not jump for so many round trips.
const TRIES_AFTER_MARK: u64 = 32;
/// Beside others segments leave so much faster than round trips of now let them.
const PACE_BESIDE: f64 = 1.1;

/// What the window does.
#[derive(Clone, Copy, Debug)]
enum Stage {
    /// It doubles.
    Start,
    /// It follows the queue, and left it empty and grew so often in a row.
    Follows { steps: u32 },
    /// It was cut so often without help, and was that large before.
    Settles { before: f64, failures: u32 },
    /// It is smaller for a moment, to see whether round trips become shorter; it was that large before.
    Verifies { before: f64 },
    /// It is a little smaller, to see whether the path is longer by what these seem to be; it was that large before.
    Asks { before: f64, queues: Queues },
    /// It is a little larger and leaves at once, to see whether the path carries again what it did not long ago; it was that large
    /// before, after as many steps. If it does, it tries as often again.
    Tries { before: f64, steps: u32, again: u32 },
    /// It is smaller for a moment, to see whether less is lost then; it was that large before.
    Doubts { before: f64 },
    /// It leaves room for somebody who came, since then.
    Yields { since: Instant },
    /// Somebody else fills the queue, known since then.
    Contends { since: Instant },
    /// Somebody else fills it and answers no loss: BBR leads since then.
    LikeBbr { since: Instant },
}

/// What shows how the path bears a window.
#[derive(Clone, Copy, Debug)]
enum Shows {
    /// What left from then on.
    From(Instant),
    /// Nothing yet: more than the window was under way as the last so many intervals ended.
    Later(u32),
}

impl Shows {
    /// What left before then shows nothing.
    fn leave_out(&mut self, before: Instant) {
        if let Self::From(from) = self {
            *from = (*from).max(before);
        }
    }

    /// Whether what left then does.
    fn what_left(self, at: Instant) -> bool {
        matches!(self, Self::From(from) if at >= from)
    }
}

#[derive(Debug)]
struct Steady {
    window: Window,
    known: Known,
    stage: Stage,
    /// What shows something of the window of now.
    shows: Shows,
    /// Window and queue as the window began to grow slowly.
    run: Option<(f64, Span)>,
    /// When it is to be seen whether the path is as long as is believed.
    verify: Option<Instant>,
    /// It does not try before.
    tries_from: Instant,
    /// The window beside others who fill the queue.
    contest: CubicCurve,
    /// The others who fill the queue.
    rivals: Rivals,
    like_bbr: LikeBbr,
    /// The time of the last acknowledgement.
    seen: Instant,
    start: DelayProbeStart,
    /// The window to go on with when something arrives again.
    paused: Option<f64>,
    /// Slow start that begins again.
    again: Again,
    /// Who shares the path.
    company: Company,
    /// What shows that somebody does.
    traces: Traces,
    low: Low,
}

impl Steady {
    fn new(build: &Build<'_>) -> Self {
        Self {
            window: Window::new(build, &ROW),
            known: Known::default(),
            stage: Stage::Start,
            shows: Shows::From(Instant::ZERO),
            run: None,
            verify: None,
            tries_from: Instant::ZERO,
            contest: CubicCurve::new(C, BETA, true),
            rivals: Rivals::default(),
            like_bbr: LikeBbr::new(build),
            seen: Instant::ZERO,
            start: DelayProbeStart::new(true),
            paused: None,
            again: Again::Never,
            company: Company::default(),
            traces: Traces::default(),
            low: Low::default(),
        }
    }

    fn slow_start(&mut self, path: &PathView, ack: &Ack) {
        let was_misled = self.start.was_misled();
        self.start.measure(&mut self.window, path, ack);
        if path.cwnd_limited {
            self.window.slow_start_by(self.start.growth(), ack);
        }
        if !self.window.in_slow_start() {
            if was_misled {
                self.company.meet();
            }
            // A queue that stays now is somebody else's.
            self.cut_to(self.window.cwnd(), self.window.cwnd(), FAILURES - 1);
        }
    }

    /// A loss that noise does not explain, with a queue.
    fn overflowed(&mut self, path: &PathView, queue: Span) {
        match self.stage {
            Stage::Start if !self.start.absorbs_loss() && !self.bears_losses() => {
                self.start.end();
                if self.came_late() {
                    self.contend_from_start(path);
                } else {
                    self.cut(queue, self.window.cwnd(), 0);
                }
            }
            Stage::Contends { since } => self.overflowed_beside(path, queue, path.now.since(since)),
            _ => {}
        }
    }
}

impl Controller for Steady {
    fn on_ack(&mut self, path: &PathView, ack: &Ack) {
        if ack.bytes.get() > 0
            && let Some(cwnd) = self.paused.take()
        {
            self.window.set(cwnd);
            self.shows = Shows::From(path.now);
        }
        if self.known.is_low() && !path.cwnd_limited {
            // An empty queue is not the window's doing where there was nothing to send.
            self.shows.leave_out(path.now);
        }
        let slow_start = matches!(self.stage, Stage::Start);
        let queues = self.known.measure(path, ack, self.window.cwnd(), slow_start);
        match self.stage {
            Stage::Start => self.slow_start(path, ack),
            // RFC 9438, section 5.8.
            Stage::Contends { .. } if !path.cwnd_limited => {
                self.contest.rest(path.now.since(self.seen));
            }
            Stage::Contends { .. } => {
                let pause = path.now.since(self.seen);
                if pause > path.srtt * PAUSE {
                    self.contest.rest(pause);
                }
                let (cwnd, acked) = (self.window.segments(), self.window.acked(ack));
                let segments = self.contest.next(path.now, path.srtt, cwnd, acked);
                self.window.set(segments * self.window.mss());
            }
            Stage::LikeBbr { .. } => self.window.set(self.like_bbr.acknowledge(path, ack)),
            _ => {}
        }
        if ack.bytes.get() > 0 {
            self.low.acknowledged(path.now.since(self.seen), path.srtt);
        }
        self.seen = path.now;
        self.take_along();
        if let Some(queues) = queues {
            self.step(path, queues);
        }
    }

    fn on_loss(&mut self, path: &PathView, loss: &Loss) {
        let cwnd = self.window.cwnd();
        match loss.cause {
            cause if matches!(self.stage, Stage::LikeBbr { .. }) => {
                if !loss.looks_corrupt && matches!(cause, LossCause::Gap | LossCause::Nack) {
                    self.known.lost(loss.bytes);
                }
                self.window.set(self.like_bbr.lose(path, loss));
            }
            // An outage says nothing of what the path carries after it.
            LossCause::Timeout => {
                let cwnd = self.give_up_try(path.now).unwrap_or(cwnd);
                self.paused = Some(self.paused.unwrap_or(0.0).max(cwnd));
                let left = path.in_flight.get() as f64 + self.window.mss();
                self.window.set(left.min(cwnd));
            }
            LossCause::Persistent => {
                self.paused = Some(self.paused.unwrap_or(0.0).max(cwnd) / 2.0);
                // What the window was before is of no account any more.
                if !matches!(self.stage, Stage::Start | Stage::Contends { .. }) {
                    self.follow_from(path.now);
                }
                self.window.set(self.window.init().min(cwnd));
            }
            LossCause::Gap | LossCause::Nack => {
                if !loss.looks_corrupt {
                    self.known.lost(loss.bytes);
                }
                let queue = self.known.queue(path);
                if loss.new_episode && queue > self.known.usual() {
                    self.overflowed(path, queue);
                }
            }
        }
    }

    fn on_signal(&mut self, path: &PathView, signal: &Signal) {
        self.like_bbr.signal(path, signal);
        match signal {
            Signal::MtuChanged { mss } => self.window.change_mss(*mss),
            Signal::EcnCe => {
                self.interrupt_bbr(path.now);
                let cwnd = self.give_up_try(path.now).unwrap_or(self.window.cwnd());
                self.start.end();
                // A router marks before its queue shows.
                self.try_later(path.now, TRIES_AFTER_MARK);
                self.cut_to(BETA * cwnd, cwnd, 0);
            }
            Signal::Capacity(found) => {
                self.company.find(found.map(|found| found.rate.as_bps() as f64 / 8.0));
                self.known.recall(path, *found);
            }
            Signal::LowLatency { until } => self.low.want(*until),
            Signal::Resume { window, ssthresh } => {
                self.interrupt_bbr(path.now);
                self.window.resume(*window, *ssthresh);
                self.known.jump();
                self.paused = None;
                if self.window.in_slow_start() {
                    self.stage = Stage::Start;
                } else {
                    self.follow_from(path.now + self.known.trip());
                }
            }
            _ => {}
        }
    }

    fn limits(&self) -> Limits {
        if matches!(self.stage, Stage::LikeBbr { .. }) {
            return self.like_bbr.limits();
        }
        let (trip, target) = (self.known.trip(), self.known.target());
        let (gain, queue) = match self.stage {
            Stage::Start => (PACE_START, target),
            // What leaves faster meets a full queue in bursts.
            Stage::Contends { .. } => (PACE_BESIDE, target.max(self.known.latest_queue())),
            // Nearly as fast as the path carried it not long ago: if it does not any more this fills a queue at once.
            Stage::Tries { .. } => {
                ((self.known.best_window() / self.window.cwnd()).max(1.0), target)
            }
            // Not what round trips are: the pace shall not follow a queue that was there before.
            _ => (1.0, target),
        };
        let untold = if self.known.is_low() { self.low.untold() } else { Span::ZERO };
        let is_known = trip > Span::ZERO;
        let pace = gain * self.window.cwnd() / (trip + queue + untold).as_secs_f64();
        let pacing = is_known.then(|| bit_rate(pace));
        Limits { window: Some(self.window.bytes()), pacing, of_payload: true, ..Limits::default() }
    }

    fn repair(&self) -> Repair {
        Repair { own_window: true, ..Repair::default() }
    }

    fn snapshot(&self) -> Snapshot {
        let phase = match self.stage {
            Stage::Start => Phase::SlowStart,
            Stage::Follows { .. } => Phase::CongestionAvoidance,
            Stage::Settles { .. } => Phase::Other("settling"),
            Stage::Verifies { .. } => Phase::Other("verifying"),
            Stage::Asks { .. } => Phase::Other("asking"),
            Stage::Tries { .. } => Phase::Other("trying"),
            Stage::Doubts { .. } => Phase::Other("doubting"),
            Stage::Yields { .. } => Phase::Other("yielding"),
            Stage::Contends { .. } => Phase::Other("contending"),
            Stage::LikeBbr { .. } => Phase::Other("like_bbr"),
        };
        Snapshot {
            phase,
            cwnd: Some(self.window.bytes()),
            ssthresh: self.window.ssthresh_bytes(),
            gauges: vec![
                Gauge { name: "bottleneck_rate_bps", value: self.known.rate() * 8.0 },
                Gauge { name: "min_rtt_s", value: self.known.base().as_secs_f64() },
                Gauge { name: "target_queue_s", value: self.known.target().as_secs_f64() },
            ],
        }
    }
}

#[cfg(test)]
mod tests;
