//! One controller for all connections over a path: they share its window, and a new one begins with its part.
//!
//! Each connection has a [`Controller`] of its own, which passes on what happened and obeys its part of what the
//! common one allows. Who needs less than its part leaves the rest to those that have more to send. The idea is
//! that of the Congestion Manager (RFC 3124); what connections may share is in RFC 9040.

mod episode;
mod observed;
mod progress;
mod resume;
mod split;

use std::sync::{Arc, Mutex, MutexGuard};

use bentpipe_units::{BitRate, ByteCount, Instant, Span};

use self::episode::Episode;
use self::observed::Observed;
use self::progress::Progress;
use self::resume::{Resume, Target};
use self::split::{Part, Split};
use crate::choice::Choice;
use crate::{
    Ack, Controller, Limits, Loss, LossCause, PathView, Phase, RateSample, Sent, Signal, Snapshot,
};

pub use self::resume::KnownPath;

/// What is known of a path counts for so long after the last acknowledgement (RFC 7661, section 4.4).
const VALID: Span = Span::from_secs(300);
/// A controller without a window is split by its rate, into so many parts.
const PARTS: u64 = 1 << 32;
/// Where less than the window divided by this was under way, nobody waits for the window.
const UNUSED: u64 = 4;

/// The window that the connections over one path share. Cloning gives another handle of the same.
#[derive(Clone, Debug)]
pub struct Ensemble(Arc<Mutex<State>>);

/// What the common controller is built from.
#[derive(Debug)]
struct Recipe {
    choice: Choice,
    mss: ByteCount,
    cwnd_init: ByteCount,
    cwnd_min: ByteCount,
    cwnd_max: ByteCount,
}

#[derive(Debug)]
struct State {
    recipe: Recipe,
    controller: Box<dyn Controller>,
    next: u64,
    split: Split,
    episode: Episode,
    progress: Progress,
    observed: Observed,
    resume: Resume,
}

/// A connection's controller.
#[derive(Debug)]
struct Member {
    ensemble: Ensemble,
    id: u64,
    weight: u32,
}

impl Ensemble {
    /// A window that this controller moves. `cwnd_init`, `cwnd_min` and `cwnd_max` are those of all
    /// connections together; `mss` is the payload of a full segment of each.
    pub fn new(
        choice: &Choice,
        mss: ByteCount,
        cwnd_init: ByteCount,
        cwnd_min: ByteCount,
        cwnd_max: ByteCount,
    ) -> Self {
        let recipe = Recipe { choice: choice.clone(), mss, cwnd_init, cwnd_min, cwnd_max };
        Self(Arc::new(Mutex::new(State {
            controller: recipe.build(),
            recipe,
            next: 0,
            split: Split::default(),
            episode: Episode::default(),
            progress: Progress::default(),
            observed: Observed::default(),
            resume: Resume::default(),
        })))
    }

    /// The path was found to carry this, a rate of payload, otherwise than by its connections. The next one that begins while nobody sends
    /// has a window of that size, and so has one in slow start; it falls back if the path does not carry it.
    pub fn know(&self, now: Instant, path: KnownPath) {
        self.lock().resume.know(now, path);
    }

    /// The path carried this, a rate of payload, in a session before, so that it may be another one by now. The next connection that
    /// begins while nobody sends has a window of half that size from its first acknowledgement on, if the round trip is like that
    /// of then.
    pub fn remember(&self, path: KnownPath) {
        self.lock().resume.remember(path);
    }

    /// What the connections' own traffic showed the path to carry, a rate of payload, and when something arrived last; `None` before
    /// somebody has had more to send than the window allowed for some round trips.
    pub fn observed(&self) -> Option<(Instant, KnownPath)> {
        let state = self.lock();
        let (at, round_trip) = state.progress.latest()?;
        Some((at, state.observed.path(round_trip)?))
    }

    /// What is known of the path is not true any more.
    pub fn forget(&self) {
        let mut state = self.lock();
        (state.resume, state.observed) = (Resume::default(), Observed::default());
    }

    /// The controller of another connection. It has weight 1 until a [`Signal::Weight`] says otherwise, and
    /// a part from [`Signal::Begins`] on until nothing of it is under way or waits, and as much of it as is under way while it is
    /// [limited by its application](Signal::AppLimited).
    ///
    /// Copies at low priority and requests to routers are not shared: no member asks for any.
    pub fn join(&self) -> Box<dyn Controller> {
        let mut state = self.lock();
        let id = state.next;
        state.next += 1;
        drop(state);
        Box::new(Member { ensemble: self.clone(), id, weight: 1 })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A holder that panicked left numbers that are as good as any.
        self.0.lock().expect("nobody has panicked while he held this lock")
    }
}

impl Recipe {
    fn build(&self) -> Box<dyn Controller> {
        self.choice.build(self.mss, self.cwnd_init, self.cwnd_min, self.cwnd_max)
    }
}

impl State {
    /// What a connection has under way, and whether it would send more if it were allowed to.
    fn note(&mut self, id: u64, weight: u32, path: &PathView, hungry: bool) {
        let in_flight = path.in_flight.get();
        if !hungry && in_flight == 0 {
            return self.split.leave(id);
        }
        let is_first = self.split.is_empty();
        if is_first && self.progress.is_over(path.now, VALID) {
            let trip = self.progress.latest().map(|(_, trip)| trip);
            if let Some(path) = trip.and_then(|trip| self.observed.path(trip)) {
                self.resume.remember(path);
            }
            self.controller = self.recipe.build();
            self.progress = Progress::default();
        }
        self.split.set(id, Part { weight, in_flight, hungry });
        if is_first {
            self.jump(path);
        }
    }

    /// Nobody sent, and somebody begins: the window is what the path is known to carry.
    fn jump(&mut self, path: &PathView) {
        self.tell_capacity(path);
        let Some(window) = self.controller.limits().window else { return };
        if let Some(target) = self.resume.begin(path.now, window, self.progress.delivered()) {
            self.resume_at(path, target);
        }
    }

    /// Something arrived: the window is half of what the path is remembered to carry, if it seems to be that path.
    fn confirm(&mut self, path: &PathView) {
        let Some(window) = self.controller.limits().window else { return };
        let delivered = self.progress.delivered();
        let target = self.resume.confirmed(path.now, path.latest_rtt, window, delivered);
        if let Some(target) = target {
            self.resume_at(path, target);
        }
    }

    /// What the path carries was found out while somebody sends who does not know it yet.
    fn learn(&mut self, path: &PathView) {
        if self.controller.snapshot().phase != Phase::SlowStart {
            return;
        }
        let Some(window) = self.controller.limits().window else { return };
        let delivered = self.progress.delivered();
        if let Some(target) = self.resume.learned(path.now, window, delivered) {
            self.tell_capacity(path);
            self.resume_at(path, target);
        }
    }

    fn resume_at(&mut self, path: &PathView, Target { window, ssthresh }: Target) {
        let view = self.view(path, ByteCount::ZERO);
        self.controller.on_signal(&view, &Signal::Resume { window, ssthresh });
        self.split.refresh();
    }

    /// The controller is told what the path is known to carry.
    fn tell_capacity(&mut self, path: &PathView) {
        let known = self.resume.known(path.now).filter(|known| !known.at_least);
        let view = self.view(path, ByteCount::ZERO);
        self.controller.on_signal(&view, &Signal::Capacity(known));
    }

    /// The path as all of them see it together, when so much is acknowledged.
    fn view(&self, path: &PathView, acked: ByteCount) -> PathView {
        let in_flight = self.split.in_flight();
        let was_used = in_flight.saturating_add(acked.get()).saturating_mul(UNUSED);
        let window = self.controller.limits().window.map_or(0, ByteCount::get);
        PathView {
            in_flight: ByteCount::new(in_flight),
            min_rtt: self.progress.min_rtt(path.min_rtt),
            round: self.progress.round(),
            delivered: self.progress.delivered(),
            cwnd_limited: self.split.is_hungry() && was_used >= window,
            ..*path
        }
    }
}

impl Controller for Member {
    fn on_ack(&mut self, path: &PathView, ack: &Ack) {
        let state = &mut *self.ensemble.lock();
        state.note(self.id, self.weight, path, path.cwnd_limited);
        let ends = state.progress.acknowledged(path, ack.bytes);
        if ends {
            state.split.refresh();
        }
        let delivered = state.progress.delivered();
        state.observed.acknowledged(path.now, delivered, state.split.is_hungry(), ends);
        if ack.bytes > ByteCount::ZERO {
            state.confirm(path);
        }
        if state.resume.take_news() {
            state.learn(path);
        }
        let init = state.recipe.cwnd_init;
        if let Some(retreat) =
            state.resume.delivered(init, ack.newest_sent_at, path.latest_rtt, delivered)
        {
            state.tell_capacity(path);
            state.resume_at(path, retreat);
        }
        let hungry = state.split.is_hungry();
        let rate_sample = ack.rate_sample.map(|own| {
            let all = state.progress.sample(path.now, own);
            RateSample { app_limited: own.app_limited && !hungry, ..all }
        });
        let in_recovery = state.episode.is_on(path.now);
        let view = state.view(path, ack.bytes);
        state.controller.on_ack(&view, &Ack { rate_sample, in_recovery, ..*ack });
    }

    fn on_loss(&mut self, path: &PathView, loss: &Loss) {
        let state = &mut *self.ensemble.lock();
        // The connection's own episodes end when all is repaired. Repairs that are lost in the meantime are losses
        // like others (RFC 9002, section 7.3.2): otherwise a window that is too large stays so for long.
        let asks = !loss.looks_corrupt || loss.cause == LossCause::Persistent;
        if matches!(loss.cause, LossCause::Timeout | LossCause::Persistent) {
            state.resume.give_up();
        } else if state.resume.absorbs_loss(loss.bytes) {
            return;
        }
        let new_episode = asks && state.episode.begin(path);
        if new_episode {
            state.resume.congested(path.now);
        }
        let view = state.view(path, ByteCount::ZERO);
        state.controller.on_loss(&view, &Loss { new_episode, ..*loss });
    }

    fn limits(&self) -> Limits {
        let state = &mut *self.ensemble.lock();
        let limits = state.controller.limits();
        let whole = limits.window.map_or(PARTS, ByteCount::get);
        let part = state.split.part(self.id, self.weight, whole);
        // Whoever has hardly a part of the window may send a segment nevertheless, and not at no pace.
        let paced = part.max(state.recipe.mss.get()).min(whole);
        let pace = |rate: BitRate| {
            let bps = u128::from(rate.as_bps()) * u128::from(paced) / u128::from(whole.max(1));
            BitRate::from_bps((bps as u64).max(1))
        };
        Limits {
            window: limits.window.map(|_| ByteCount::new(part)),
            pacing: limits.pacing.map(pace),
            ..limits
        }
    }

    fn snapshot(&self) -> Snapshot {
        let common = self.ensemble.lock().controller.snapshot();
        Snapshot { cwnd: self.limits().window, ..common }
    }

    fn follows_sending(&self) -> bool {
        self.ensemble.lock().controller.follows_sending()
    }

    fn on_sent(&mut self, path: &PathView, sent: &Sent) {
        let state = &mut *self.ensemble.lock();
        state.note(self.id, self.weight, path, path.cwnd_limited);
        let view = state.view(path, ByteCount::ZERO);
        state.controller.on_sent(&view, sent);
    }

    fn on_signal(&mut self, path: &PathView, signal: &Signal) {
        let state = &mut *self.ensemble.lock();
        match *signal {
            Signal::Begins => return state.note(self.id, self.weight, path, true),
            Signal::AppLimited(is) => return state.note(self.id, self.weight, path, !is),
            Signal::Weight(weight) => {
                self.weight = weight.max(1);
                return state.split.weigh(self.id, self.weight);
            }
            Signal::EcnCe if !state.episode.begin(path) => return,
            Signal::EcnCe => state.resume.congested(path.now),
            // Only of interest if all of them were.
            Signal::Idle { .. } if state.split.others(self.id) > 0 => return,
            _ => {}
        }
        let view = state.view(path, ByteCount::ZERO);
        state.controller.on_signal(&view, signal);
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.ensemble.lock().split.leave(self.id);
    }
}

#[cfg(test)]
mod tests;
