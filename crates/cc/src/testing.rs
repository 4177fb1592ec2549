//! Plays acknowledgements, losses and round trips to a controller, as a sender would.

use std::collections::{BTreeMap, VecDeque};

use bentpipe_units::{ByteCount, Instant, Span};

use crate::registry::Choice;
use crate::{Ack, Controller, Loss, LossCause, PathView, Phase, RateSample, Sent, Signal};

const MSS: u64 = 1000;

/// A controller and the path that it is shown.
#[derive(Debug)]
pub(crate) struct Play {
    pub(crate) controller: Box<dyn Controller>,
    pub(crate) path: PathView,
    in_recovery: bool,
}

fn secs(seconds: f64) -> Span {
    Span::from_secs_f64(seconds)
}

impl Play {
    /// The controller `name` with these parameters: 2 segments at first, 1 to 100,000 segments, a
    /// round trip of 600 ms without a queue.
    pub(crate) fn new(name: &str, parameters: &[(&str, f64)]) -> Self {
        let parameters: BTreeMap<_, _> =
            parameters.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        let choice = Choice::new(name, parameters).expect("a registered name and its parameters");
        let kb = |segments| ByteCount::new(MSS * segments);
        Self::of(choice.build(kb(1), kb(2), kb(1), kb(100_000)))
    }

    /// Any controller.
    pub(crate) fn of(controller: Box<dyn Controller>) -> Self {
        let rtt = secs(0.6);
        let path = PathView {
            now: Instant::ZERO,
            mss: ByteCount::new(MSS),
            in_flight: ByteCount::ZERO,
            peer_window: ByteCount::new(MSS * 100_000),
            srtt: rtt,
            latest_rtt: rtt,
            min_rtt: rtt,
            round: 0,
            delivered: ByteCount::ZERO,
            cwnd_limited: true,
        };
        Self { controller, path, in_recovery: false }
    }

    /// So many segments in bytes.
    pub(crate) fn bytes(&self, segments: u64) -> ByteCount {
        ByteCount::new(MSS * segments)
    }

    /// The window in segments.
    pub(crate) fn segments(&self) -> f64 {
        self.controller.limits().window.expect("a window").get() as f64 / MSS as f64
    }

    /// The threshold in segments.
    pub(crate) fn ssthresh(&self) -> f64 {
        let ssthresh = self.controller.snapshot().ssthresh;
        ssthresh.map_or(f64::INFINITY, |s| s.get() as f64 / MSS as f64)
    }

    /// What the controller is doing.
    pub(crate) fn phase(&self) -> Phase {
        self.controller.snapshot().phase
    }

    /// The gauge of this name.
    pub(crate) fn gauge(&self, name: &str) -> f64 {
        let gauges = self.controller.snapshot().gauges;
        gauges.iter().find(|g| g.name == name).expect("a gauge of this name").value
    }

    /// The round trip becomes this many seconds.
    pub(crate) fn set_rtt(&mut self, rtt: f64) {
        let rtt = secs(rtt);
        (self.path.srtt, self.path.latest_rtt) = (rtt, rtt);
        self.path.min_rtt = self.path.min_rtt.min(rtt);
    }

    /// Time passes.
    pub(crate) fn wait(&mut self, seconds: f64) {
        self.path.now += secs(seconds);
    }

    /// One acknowledgement of so many segments.
    pub(crate) fn ack_at_once(&mut self, segments: u64) {
        let bytes = self.bytes(segments);
        self.path.delivered += bytes;
        let ack = Ack {
            bytes,
            segments,
            newest_sent_at: self.path.now.before(self.path.latest_rtt),
            rate_sample: None,
            acks: 1,
            in_recovery: self.in_recovery,
        };
        self.controller.on_ack(&self.path, &ack);
    }

    /// A round trip: the window is acknowledged segment by segment, evenly over the time.
    pub(crate) fn round(&mut self) {
        let window = (self.segments() as u64).max(1);
        let rtt = self.path.latest_rtt.as_secs_f64();
        self.path.round += 1;
        self.path.in_flight = self.bytes(window);
        for _ in 0..window {
            self.wait(rtt / window as f64);
            self.ack_at_once(1);
        }
    }

    /// So many round trips.
    pub(crate) fn rounds(&mut self, n: u64) {
        for _ in 0..n {
            self.round();
        }
    }

    /// Round trips over a link that carries `rate` segments a second behind a queue; `base` is the
    /// round trip without it. Acknowledgements come evenly; nothing is lost.
    pub(crate) fn link(&mut self, rate: f64, base: f64, rounds: u64) {
        for _ in 0..rounds {
            let queue = (self.segments() - rate * base).max(0.0);
            self.set_rtt(base + queue / rate);
            self.round();
        }
    }

    fn loss(&mut self, cause: LossCause, new_episode: bool, again: bool, looks_corrupt: bool) {
        self.in_recovery = cause != LossCause::Timeout;
        let bytes = self.bytes(1);
        let loss = Loss { bytes, cause, new_episode, again, looks_corrupt };
        self.controller.on_loss(&self.path, &loss);
    }

    /// The first loss of a window.
    pub(crate) fn lose(&mut self, cause: LossCause) {
        self.loss(cause, true, false, false);
    }

    /// A further loss of the window.
    pub(crate) fn lose_more(&mut self, cause: LossCause) {
        self.loss(cause, false, false, false);
    }

    /// A repair is lost.
    pub(crate) fn lose_again(&mut self, cause: LossCause) {
        self.loss(cause, cause != LossCause::Timeout, true, false);
    }

    /// A loss that the sender takes for noise.
    pub(crate) fn corrupt(&mut self, cause: LossCause) {
        self.loss(cause, true, false, true);
    }

    /// All losses are repaired.
    pub(crate) fn recovered(&mut self) {
        self.in_recovery = false;
        self.signal(Signal::RecoveryDone);
    }

    /// Something else happens.
    pub(crate) fn signal(&mut self, signal: Signal) {
        self.controller.on_signal(&self.path, &signal);
    }

    /// A segment leaves.
    pub(crate) fn send(&mut self, probe: bool) {
        let sent = Sent { bytes: self.bytes(1), retransmission: false, probe };
        self.controller.on_sent(&self.path, &sent);
    }
}

/// The step in which data flow over a [`Link`].
const STEP: f64 = 0.005;

/// A sender with endless data on a link with a queue; data flow like water, in small steps.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) play: Play,
    /// Share of the data that noise takes.
    pub(crate) loss: f64,
    rate: f64,
    /// Round trip without a queue.
    pub(crate) base: f64,
    room: f64,
    queue: f64,
    flight: f64,
    delivered: f64,
    noise: f64,
    /// Bytes on their way and the round trip that they will have taken.
    pipe: VecDeque<(f64, f64)>,
    /// Bytes delivered by each step.
    past: VecDeque<f64>,
    round_ends: f64,
    quiet_until: f64,
}

impl Link {
    /// The controller `name` on a link of `rate` bit/s with a round trip of `base` seconds and `room`
    /// bytes of queue.
    pub(crate) fn new(name: &str, rate: f64, base: f64, room: f64) -> Self {
        let mut play = Play::new(name, &[]);
        play.set_rtt(base);
        Self {
            play,
            loss: 0.0,
            rate: rate / 8.0,
            base,
            room,
            queue: 0.0,
            flight: 0.0,
            delivered: 0.0,
            noise: 0.0,
            pipe: std::iter::repeat_n((0.0, base), (base / STEP) as usize).collect(),
            past: VecDeque::new(),
            round_ends: 0.0,
            quiet_until: 0.0,
        }
    }

    /// Bytes delivered so far.
    pub(crate) fn delivered(&self) -> f64 {
        self.delivered
    }

    /// The time that the queue takes to drain.
    pub(crate) fn queue_seconds(&self) -> f64 {
        self.queue / self.rate
    }

    /// What the controller is doing.
    pub(crate) fn phase(&self) -> Phase {
        self.play.phase()
    }

    /// The gauge of this name.
    pub(crate) fn gauge(&self, name: &str) -> f64 {
        self.play.gauge(name)
    }

    /// So many seconds pass.
    pub(crate) fn run(&mut self, seconds: f64) {
        for _ in 0..(seconds / STEP).round() as u64 {
            self.step();
        }
    }

    fn step(&mut self) {
        self.play.wait(STEP);
        let limits = self.play.controller.limits();
        let window = limits.window.map_or(f64::MAX, |w| w.get() as f64);
        let paced = limits.pacing.map_or(f64::MAX, |rate| rate.as_bps() as f64 / 8.0 * STEP);
        let sent = (window - self.flight).max(0.0).min(paced);
        self.flight += sent;
        let wait = self.queue / self.rate;
        self.queue += sent;
        let out = self.queue.min(self.rate * STEP);
        self.queue -= out;
        self.pipe.push_back((out, self.base + wait));
        let overflow = (self.queue - self.room).max(0.0);
        self.queue -= overflow;
        let (arrived, rtt) = self.pipe.pop_front().expect("a pipe of constant length");
        self.noise += arrived * self.loss;
        let noise = if self.noise >= MSS as f64 { std::mem::take(&mut self.noise) } else { 0.0 };
        let good = arrived - noise.min(arrived);
        self.flight -= arrived + overflow;
        self.tell(good, rtt, noise.min(arrived) + overflow);
    }

    fn tell(&mut self, good: f64, rtt: f64, lost: f64) {
        self.delivered += good;
        self.past.push_back(good);
        while self.past.len() as f64 * STEP > rtt {
            self.past.pop_front();
        }
        let path = &mut self.play.path;
        (path.srtt, path.latest_rtt) = (secs(rtt), secs(rtt));
        path.min_rtt = path.min_rtt.min(secs(rtt));
        path.in_flight = ByteCount::new(self.flight as u64);
        path.delivered = ByteCount::new(self.delivered as u64);
        if self.delivered > self.round_ends {
            path.round += 1;
            self.round_ends = self.delivered + self.flight;
        }
        if good >= 1.0 {
            let sample = RateSample {
                delivered: ByteCount::new(self.past.iter().sum::<f64>() as u64),
                interval: secs(self.past.len() as f64 * STEP),
                app_limited: false,
            };
            let bytes = ByteCount::new(good as u64);
            let ack = Ack {
                bytes,
                segments: (good as u64).div_ceil(MSS),
                newest_sent_at: path.now.before(secs(rtt)),
                rate_sample: Some(sample),
                acks: (good as u64).div_ceil(MSS),
                in_recovery: path.now.as_secs_f64() < self.quiet_until,
            };
            self.play.controller.on_ack(&self.play.path, &ack);
        }
        if lost > 0.0 {
            let now = self.play.path.now.as_secs_f64();
            let loss = Loss {
                bytes: ByteCount::new(lost.ceil() as u64),
                cause: LossCause::Gap,
                new_episode: now >= self.quiet_until,
                again: false,
                looks_corrupt: false,
            };
            if loss.new_episode {
                self.quiet_until = now + rtt;
            }
            self.play.controller.on_loss(&self.play.path, &loss);
        }
    }
}
