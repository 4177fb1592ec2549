//! A link with a queue, to see where a controller settles.

use std::collections::VecDeque;

use bentpipe_units::{ByteCount, OneWayDelay};

use super::play::{MSS, Play, secs};
use crate::{Ack, Loss, LossCause, Phase, RateSample};

/// The step in which data flow over a [`Link`].
const STEP: f64 = 0.005;

/// A sender with endless data on a link with a queue; data flow like water, in small steps.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) play: Play,
    /// Share of the data that noise takes.
    pub(crate) loss: f64,
    /// Bytes in the queue above which everything that joins it is marked.
    pub(crate) marks_above: f64,
    pub(crate) rate: f64,
    /// Round trip without a queue.
    pub(crate) base: f64,
    /// The receiver tells how long the way back is, by a clock that gains so many seconds in a second.
    pub(crate) clock: Option<f64>,
    /// What acknowledgements wait on their way.
    back: f64,
    room: f64,
    queue: f64,
    flight: f64,
    delivered: f64,
    overflowed: f64,
    noise: f64,
    pipe: VecDeque<Piece>,
    /// Bytes delivered by each step.
    past: VecDeque<f64>,
    round_ends: f64,
    quiet_until: f64,
}

/// Bytes on their way, and the acknowledgement that they will have.
#[derive(Clone, Copy, Debug)]
struct Piece {
    bytes: f64,
    round_trip: f64,
    /// How long of that it will have waited.
    back: f64,
    is_marked: bool,
}

impl Link {
    /// The controller `name` on a link of `rate` bit/s with a round trip of `base` seconds and `room`
    /// bytes of queue.
    pub(crate) fn new(name: &str, rate: f64, base: f64, room: f64) -> Self {
        Self::of(Play::new(name, &[]), rate, base, room)
    }

    /// Any controller on such a link.
    pub(crate) fn of(mut play: Play, rate: f64, base: f64, room: f64) -> Self {
        play.set_rtt(base);
        Self {
            play,
            loss: 0.0,
            marks_above: f64::INFINITY,
            rate: rate / 8.0,
            base,
            clock: None,
            back: 0.0,
            room,
            queue: 0.0,
            flight: 0.0,
            delivered: 0.0,
            overflowed: 0.0,
            noise: 0.0,
            pipe: std::iter::repeat_n(Piece::empty(base, 0.0), (base / STEP) as usize).collect(),
            past: VecDeque::new(),
            round_ends: 0.0,
            quiet_until: 0.0,
        }
    }

    /// The path is so many seconds longer from now on.
    pub(crate) fn lengthen(&mut self, seconds: f64) {
        self.base += seconds;
        let more = (seconds / STEP).round() as usize;
        self.pipe.extend(std::iter::repeat_n(Piece::empty(self.base, self.back), more));
    }

    /// Acknowledgements of what leaves the link from now on wait for so many seconds.
    pub(crate) fn wait_back(&mut self, seconds: f64) {
        let steps = |seconds: f64| (seconds / STEP).round() as usize;
        let (before, now) = (steps(self.back), steps(seconds));
        self.back = seconds;
        if now > before {
            let piece = Piece::empty(self.base + self.queue_seconds() + seconds, seconds);
            self.pipe.extend(std::iter::repeat_n(piece, now - before));
        }
        // Those that come out of a shorter queue come with the last ones before.
        for _ in now..before {
            let bytes = self.pipe.pop_back().map_or(0.0, |piece| piece.bytes);
            self.pipe.iter_mut().next_back().expect("the path is long").bytes += bytes;
        }
    }

    /// Bytes delivered so far.
    pub(crate) fn delivered(&self) -> f64 {
        self.delivered
    }

    /// Bytes that the queue had no room for so far.
    pub(crate) fn overflowed(&self) -> f64 {
        self.overflowed
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
        self.pipe.push_back(Piece {
            bytes: out,
            round_trip: self.base + wait + self.back,
            back: self.back,
            is_marked: self.queue > self.marks_above,
        });
        let overflow = (self.queue - self.room).max(0.0);
        self.queue -= overflow;
        self.overflowed += overflow;
        let piece = self.pipe.pop_front().expect("a pipe of constant length");
        let arrived = piece.bytes;
        self.noise += arrived * self.loss;
        let noise = if self.noise >= MSS as f64 { std::mem::take(&mut self.noise) } else { 0.0 };
        let good = arrived - noise.min(arrived);
        self.flight -= arrived + overflow;
        self.play.path.return_delay = self.clock.map(|gains| {
            let fast = gains * self.play.path.now.as_secs_f64();
            OneWayDelay::from_nanos(((piece.back - fast) * 1e9) as i64)
        });
        self.tell(good, piece.round_trip, noise.min(arrived) + overflow, piece.is_marked);
    }

    fn tell(&mut self, good: f64, rtt: f64, lost: f64, marked: bool) {
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
                advanced: bytes,
                segments: (good as u64).div_ceil(MSS),
                newest_sent_at: path.now.before(secs(rtt)),
                rate_sample: Some(sample),
                acks: (good as u64).div_ceil(MSS),
                in_recovery: path.now.as_secs_f64() < self.quiet_until,
                repairing: path.now.as_secs_f64() < self.quiet_until,
                lost: ByteCount::new(lost.ceil() as u64),
                marked: if marked { bytes } else { ByteCount::ZERO },
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

impl Piece {
    const fn empty(round_trip: f64, back: f64) -> Self {
        Self { bytes: 0.0, round_trip, back, is_marked: false }
    }
}
