//! What a link of a known rate carries now, and how long its path is.
//!
//! The rate that was given is an upper bound, and is believed until round trips show otherwise. While the
//! link carries less, what arrives through its standing queue is what it carries; short pulses above that
//! find out when it carries more.

use bentpipe_units::{BitRate, ByteCount, Instant, Span};

use super::base::Base;
use super::samples::{Sample, Samples, Stretch};
use super::sent::{Sent, Total};

/// Share of the base round trip above which a queue counts, and the least that counts.
const QUEUE_SHARE: u64 = 8;
const QUEUE_MIN: Span = Span::from_millis(20);
/// Share of the base round trip that the answers last which show that the link is too slow, within bounds.
const WINDOW_SHARE: u64 = 4;
const WINDOW: (Span, Span) = (Span::from_millis(50), Span::from_millis(150));
/// Full packets that a queue, and what these answers are to, are at least, and the length of one.
const QUEUE_PACKETS: u64 = 3;
const WINDOW_PACKETS: u64 = 8;
const PACKET: ByteCount = ByteCount::new(1500);
/// Answers that they are at least.
const ANSWERS: usize = 4;
/// Growth of round trips, and losses beyond the usual ones, that show it.
const GROWTH: f64 = 0.05;
const LOSSES: f64 = 0.05;
/// Losses of two rounds in a row that show it where there is next to no queue.
const MOST_LOST: f64 = 0.5;
/// A pace below what arrives, so that no queue comes back, and one at which a queue drains.
const BELOW: f64 = 0.98;
const DRAIN: f64 = 0.25;
const EASE: f64 = 0.5;
/// The smallest share of the given rate.
const FLOOR: f64 = 0.02;
/// How much above what the link carried a pulse is: the first one, and one after one that got through.
const PULSE: f64 = 1.5;
const LEAP: f64 = 4.0;
/// Share of the base round trip that a pulse lasts, within bounds, and bytes that it has at least.
const PULSE_SHARE: u64 = 6;
const PULSE_SPAN: (Span, Span) = (Span::from_millis(50), Span::from_millis(100));
const PULSE_BYTES: f64 = 15_000.0;
/// Bytes that may leave between two questions without its being a silence.
const APART: f64 = 6_000.0;
/// Bytes that left between two answers of which something can be told.
const GAP_BYTES: f64 = 15_000.0;
/// Time between pulses, if a round trip is not more.
const PAUSE: Span = Span::from_millis(300);
/// What a byte of payload may stand for on the link, headers included.
const HEADERS_MOST: f64 = 1.25;
/// Growth of round trips in a pulse that did not get through: at most this, and half of what it would be if the link
/// carried no more than before.
const PULSE_GROWTH: f64 = 0.125;

/// What the sender is doing about the link.
#[derive(Clone, Copy, Debug)]
enum Mode {
    /// It sends what the link carries.
    Even,
    /// It sends more for a moment.
    Pulse(Pulse),
    /// A queue drains. This was it, and what arrived if it is not known to be one.
    Drain { began: Instant, queue: Span, carried: Option<f64> },
    /// What was sent from `since` on met no queue, unless the path is longer.
    Settle(Settle),
}

/// What was found out since a queue should be gone.
#[derive(Clone, Copy, Debug)]
struct Settle {
    since: Instant,
    queue: Span,
    carried: Option<f64>,
    first: Option<Sample>,
    smallest: Span,
    answers: usize,
}

/// A pulse, and the last answers to what was sent before it and in it.
#[derive(Clone, Copy, Debug)]
struct Pulse {
    rate: f64,
    from: Instant,
    until: Instant,
    before: Option<Sample>,
    inside: Option<Sample>,
}

/// A round trip that is going on.
#[derive(Clone, Copy, Debug)]
struct Round {
    first: Sample,
    marked: bool,
}

/// Rates are in bytes a second.
#[derive(Debug)]
pub(super) struct Estimator {
    target: BitRate,
    /// What the link can be given, by what is known: at most the target.
    given: f64,
    pace: f64,
    base: Base,
    sent: Sent,
    /// Bytes of the pace that one that is sent stands for, where that has to be found out.
    header_factor: Option<f64>,
    samples: Samples,
    arrived: u64,
    lost: u64,
    /// Share that is usually lost.
    noise: f64,
    mode: Mode,
    /// The last pulse got through.
    climbs: bool,
    next_pulse: Instant,
    round: Option<Round>,
    /// Rounds in a row with marks, and with losses of more than half.
    marked: u32,
    lossy: u32,
    /// Gaps between answers in which more than half was lost, without a whole round between them.
    gaps: u32,
}

fn seconds(span: Span) -> f64 {
    span.as_secs_f64()
}

impl Estimator {
    pub(super) fn new(target: BitRate) -> Self {
        let bytes = target.as_bps() as f64 / 8.0;
        Self {
            target,
            given: bytes,
            pace: bytes,
            base: Base::new(),
            sent: Sent::default(),
            header_factor: None,
            samples: Samples::default(),
            arrived: 0,
            lost: 0,
            noise: 0.0,
            mode: Mode::Even,
            climbs: false,
            next_pulse: Instant::ZERO,
            round: None,
            marked: 0,
            lossy: 0,
            gaps: 0,
        }
    }

    /// Only payload is counted when something leaves; the rate counts headers as well.
    pub(super) const fn counting_payload(mut self) -> Self {
        self.header_factor = Some(1.0);
        self
    }

    /// The rate that was given.
    pub(super) const fn target(&self) -> BitRate {
        self.target
    }

    /// Another rate is given, and believed.
    pub(super) fn set_target(&mut self, target: BitRate) {
        if target != self.target {
            self.target = target;
            self.given = self.most();
            self.pace = self.given;
            self.mode = Mode::Even;
        }
    }

    /// What the link carries of it, as far as is known.
    pub(super) fn carried(&self) -> BitRate {
        BitRate::from_bps((self.given * 8.0) as u64)
    }

    /// What may leave now.
    pub(super) fn pace(&self) -> BitRate {
        BitRate::from_bps((self.pace * 8.0) as u64)
    }

    fn most(&self) -> f64 {
        self.target.as_bps() as f64 / 8.0
    }

    fn is_whole(&self) -> bool {
        self.given >= self.most()
    }

    fn threshold(&self) -> Span {
        let share = self.base.get().unwrap_or(Span::ZERO) / QUEUE_SHARE;
        share.max(QUEUE_MIN).max(self.packet() * QUEUE_PACKETS)
    }

    /// What a full packet takes: whatever leaves behind one is answered so much later, which is no queue.
    fn packet(&self) -> Span {
        self.target.time_for(PACKET)
    }

    fn queue(&self, rtt: Span) -> Span {
        rtt.saturating_sub(self.base.get().unwrap_or(rtt))
    }

    fn window(&self) -> Span {
        let base = self.base.get().unwrap_or(Span::ZERO);
        (base / WINDOW_SHARE).max(WINDOW.0).min(WINDOW.1).max(self.packet() * WINDOW_PACKETS)
    }

    /// A round trip, or as long as one can be told from chance.
    fn long(&self) -> Span {
        let least = (WINDOW.0 * 2).max(self.packet() * WINDOW_PACKETS);
        self.base.get().unwrap_or(Span::ZERO).max(least)
    }

    /// So many bytes leave now, and of so many of them answers will tell.
    pub(super) fn sent(&mut self, now: Instant, bytes: ByteCount, answered: ByteCount) {
        let factor = self.header_factor.unwrap_or(1.0);
        self.sent.add(now, ByteCount::new((bytes.get() as f64 * factor) as u64), answered);
        self.steer(now);
    }

    /// So many bytes were found to have arrived.
    pub(super) const fn arrived(&mut self, bytes: ByteCount) {
        self.arrived += bytes.get();
    }

    /// So many bytes were found lost.
    pub(super) fn lost(&mut self, now: Instant, bytes: ByteCount) {
        self.lost += bytes.get();
        // The answer that told of them was told before.
        self.samples.lost(now, self.lost);
    }

    /// A router marked something.
    pub(super) const fn marked(&mut self) {
        if let Some(round) = &mut self.round {
            round.marked = true;
        }
    }

    /// What was sent at `sent_at` was answered.
    pub(super) fn answered(&mut self, now: Instant, sent_at: Instant) {
        let rtt = now.since(sent_at);
        let newest = self.samples.newest().copied();
        if newest.is_some_and(|newest| sent_at <= newest.sent_at || now <= newest.at) {
            return;
        }
        self.base.take(now, rtt);
        let Total { all: left, answered: left_answered } = self.sent.by(sent_at);
        let (arrived, lost) = (self.arrived, self.lost);
        let sample = Sample { sent_at, at: now, rtt, left, left_answered, arrived, lost };
        // While nothing arrives nothing is learned of what the link carries. Where it is given little, little is asked.
        let apart = if self.is_whole() { 0.0 } else { APART / self.given };
        let longest = rtt + Span::from_secs_f64(apart);
        let silent = |newest: &Sample| sent_at.since(newest.sent_at) > longest;
        if let Some(newest) = newest.filter(silent) {
            self.count_gap(&newest, &sample);
            self.samples.clear();
            self.round = None;
        }
        let since = now.before(self.long().max(self.window() * 4));
        self.samples.add(sample, since);
        self.judge(now, &sample);
        self.count_round(&sample);
        self.steer(now);
    }

    fn judge(&mut self, now: Instant, sample: &Sample) {
        match self.mode {
            Mode::Even => self.watch(now, sample),
            Mode::Pulse(pulse) => self.follow_pulse(now, pulse, sample),
            Mode::Drain { began, queue, carried } => {
                let deeper = queue.max(self.queue(sample.rtt));
                self.mode = Mode::Drain { began, queue: deeper, carried };
                if let Some(carried) = self.too_slow(Some(began)) {
                    self.given = self.bounded(carried * BELOW);
                    self.mode = Mode::Drain { began, queue: deeper, carried: None };
                }
            }
            Mode::Settle(mut settle) => {
                if sample.sent_at < settle.since {
                    return;
                }
                settle.first.get_or_insert(*sample);
                settle.smallest = settle.smallest.min(sample.rtt);
                settle.answers += 1;
                self.mode = Mode::Settle(settle);
                let lasted = sample.sent_at.since(settle.since);
                let is_enough = settle.answers >= ANSWERS && lasted >= WINDOW.0;
                if self.queue(settle.smallest) <= self.threshold() / 2 || is_enough {
                    self.settle(now, &settle, sample);
                }
            }
        }
    }

    /// Looks for a link that is too slow and for a round trip that has become longer.
    fn watch(&mut self, now: Instant, sample: &Sample) {
        let queue = self.queue(sample.rtt);
        if let Some(carried) = self.too_slow(None) {
            self.given = self.bounded(carried * BELOW);
            return self.drain(now, queue, None);
        }
        let Some(window) = self.samples.last(self.long(), ANSWERS) else { return };
        if self.queue(window.smallest()) > self.threshold() {
            // A path that became longer a moment ago makes it look as if less had arrived.
            let (growth, rest) = window.growth();
            let steady = window.stretch().filter(|_| rest >= growth / 3);
            let carried = steady.map_or(self.given, |stretch| stretch.carried);
            self.drain(now, queue, Some(carried));
        }
    }

    /// What the link carries if that is less than it is given: through a standing queue that grows, or that is full.
    /// The pace `turned` at a time: losses from before say nothing of what was sent since, and none while a queue drains.
    fn too_slow(&self, turned: Option<Instant>) -> Option<f64> {
        let threshold = self.threshold();
        let newest = self.samples.newest()?;
        if self.queue(newest.rtt) <= threshold / 2 {
            return None;
        }
        let short = self.window();
        for span in [short, short * 2, short * 4] {
            let window = self.samples.last(span, ANSWERS)?;
            let stretch = window.stretch()?;
            if self.queue(window.smallest()) <= threshold / 2 {
                return None;
            }
            let (growth, rest) = window.growth();
            let is_deep = self.queue(newest.rtt) > threshold;
            let grows = is_deep && stretch.growth() > GROWTH && rest >= growth / 3;
            let drains = turned.is_some() && stretch.growth() < -GROWTH;
            let counts = !drains && turned.is_none_or(|turned| !window.contains(turned));
            let loses = counts && stretch.loss > self.noise + LOSSES;
            if (grows || loses) && stretch.carried < self.given {
                return Some(stretch.carried);
            }
        }
        None
    }

    fn bounded(&self, rate: f64) -> f64 {
        rate.max(self.most() * FLOOR).min(self.most())
    }

    fn drain(&mut self, now: Instant, queue: Span, carried: Option<f64>) {
        self.climbs = false;
        self.mode = Mode::Drain { began: now, queue, carried };
    }

    /// It was sent so little that a queue would be gone: is it?
    fn settle(&mut self, now: Instant, settle: &Settle, sample: &Sample) {
        self.mode = Mode::Even;
        self.next_pulse = now;
        let queue = self.queue(settle.smallest);
        let stretch = settle.first.and_then(|first| Stretch::between(&first, sample));
        let grows = stretch.filter(|stretch| stretch.growth() > GROWTH);
        if queue > self.threshold()
            && let Some(stretch) = grows
        {
            self.given = self.bounded(self.given.min(stretch.carried * BELOW));
            self.drain(now, queue, None);
        } else if queue > settle.queue * 3 / 4 {
            // It did not get shorter although next to nothing was sent.
            self.base.raise(now, settle.smallest);
        } else if queue > self.threshold() {
            self.drain(now, queue, settle.carried);
        } else if let Some(carried) = settle.carried
            && carried < self.given * BELOW
        {
            self.given = self.bounded(carried);
        }
        self.samples.clear();
        self.round = None;
    }

    fn follow_pulse(&mut self, now: Instant, mut pulse: Pulse, sample: &Sample) {
        if sample.sent_at <= pulse.from {
            pulse.before = Some(*sample);
        } else if sample.sent_at <= pulse.until || pulse.inside.is_none() {
            pulse.inside = Some(*sample);
        }
        self.mode = Mode::Pulse(pulse);
        if sample.sent_at >= pulse.until {
            self.end_pulse(now, &pulse);
        } else if sample.sent_at <= pulse.from {
            self.watch(now, sample);
        }
    }

    fn end_pulse(&mut self, now: Instant, pulse: &Pulse) {
        self.mode = Mode::Even;
        self.next_pulse = now.max(pulse.until + self.long().max(PAUSE));
        let (Some(before), Some(inside)) = (pulse.before, pulse.inside) else { return };
        let Some(stretch) = Stretch::between(&before, &inside) else { return };
        let queue = self.queue(inside.rtt);
        let before = self.queue(before.rtt);
        let growth = PULSE_GROWTH.min((1.0 - self.given / pulse.rate) / 2.0);
        let is_through = stretch.growth() <= growth
            && queue <= self.threshold().max(before + self.threshold() / 2)
            && stretch.loss <= self.noise + 2.0 * LOSSES
            && self.round.is_none_or(|round| !round.marked);
        self.climbs = false;
        if !is_through {
            let seen = (stretch.carried * BELOW).max(self.given * 0.9).min(pulse.rate);
            self.given = self.bounded(seen);
        } else if stretch.sent > self.given * 1.1 {
            let sent = if stretch.sent > pulse.rate * 0.8 { pulse.rate } else { stretch.sent };
            self.given = self.bounded(sent.max(self.given));
            self.climbs = true;
            self.next_pulse = now;
        }
    }

    /// Once in a round trip.
    fn count_round(&mut self, sample: &Sample) {
        let Some(round) = self.round else {
            self.round = Some(Round { first: *sample, marked: false });
            return;
        };
        if sample.sent_at < round.first.at || sample.at.since(round.first.at) < self.long() {
            return;
        }
        self.round = Some(Round { first: *sample, marked: false });
        self.gaps = 0;
        let Some(stretch) = Stretch::between(&round.first, sample) else { return };
        self.marked = if round.marked { self.marked + 1 } else { 0 };
        self.lossy = if stretch.loss > MOST_LOST { self.lossy + 1 } else { 0 };
        if self.marked >= 2 || self.lossy >= 2 {
            (self.marked, self.lossy) = (0, 0);
            self.given = self.bounded(stretch.carried.min(self.given) * 0.9);
            self.next_pulse = sample.at + self.long().max(PAUSE);
        } else if matches!(self.mode, Mode::Even) && self.queue(sample.rtt) <= self.threshold() / 2
        {
            self.noise += (stretch.loss - self.noise) / 4.0;
            if let Some(factor) = &mut self.header_factor
                && self.given <= stretch.sent * HEADERS_MOST
            {
                *factor = (*factor * self.given / stretch.sent).clamp(1.0, HEADERS_MOST);
            }
        }
    }

    /// Nothing was answered between these two, which are more than a round trip apart. An outage does that once; where the queue is
    /// short and the pace far too high it goes on, as the questions are lost with the rest.
    fn count_gap(&mut self, before: &Sample, after: &Sample) {
        let left = after.left_answered.saturating_sub(before.left_answered) as f64;
        let arrived = (after.arrived - before.arrived) as f64;
        let is_lossy = left >= GAP_BYTES && arrived < left * (1.0 - MOST_LOST);
        self.gaps = if is_lossy { self.gaps + 1 } else { 0 };
        if self.gaps >= 2 {
            self.gaps = 0;
            let carried = arrived / seconds(after.at.since(before.at));
            self.given = self.bounded(carried.min(self.given) * 0.9);
            self.next_pulse = after.at + self.long().max(PAUSE);
        }
    }

    /// Bytes that are under way beyond what fits between the hosts, if the link goes on as before.
    fn beyond(&self, now: Instant) -> f64 {
        let (Some(newest), Some(base)) = (self.samples.newest(), self.base.get()) else {
            return 0.0;
        };
        let under_way = self.sent.total().saturating_sub(newest.left) as f64;
        under_way - self.given * (seconds(now.since(newest.at)) + seconds(base))
    }

    /// Sets the pace.
    fn steer(&mut self, now: Instant) {
        let beyond = self.beyond(now);
        // At a quarter of the pace a queue is gone after four thirds of itself. Where the path became more than four times as
        // long, what is under way is more than would fit between the hosts before all the same.
        let is_over = |began: Instant, queue: Span| {
            self.samples.newest().is_some_and(|newest| newest.sent_at >= began + queue * 2)
        };
        if let Mode::Drain { began, queue, carried } = self.mode
            && (beyond <= 0.0 || is_over(began, queue))
        {
            let (since, first, smallest, answers) = (now, None, Span::MAX, 0);
            self.mode = Mode::Settle(Settle { since, queue, carried, first, smallest, answers });
        }
        let room = self.given * seconds(self.threshold()) / 2.0;
        if matches!(self.mode, Mode::Even)
            && !self.is_whole()
            && now >= self.next_pulse
            && beyond <= room
            && let Some(newest) = self.samples.newest().copied()
            && self.queue(newest.rtt) <= self.threshold()
        {
            self.begin_pulse(now, newest);
        }
        self.pace = match self.mode {
            Mode::Drain { .. } => self.given * DRAIN,
            Mode::Pulse(pulse) if now < pulse.until => pulse.rate,
            _ if !self.is_whole() && beyond > room => self.given * EASE,
            _ => self.given,
        };
    }

    fn begin_pulse(&mut self, now: Instant, newest: Sample) {
        let gain = if self.climbs { LEAP } else { PULSE };
        let rate = self.bounded(self.given * gain);
        let base = self.base.get().unwrap_or(Span::ZERO);
        let lasts = (base / PULSE_SHARE).max(PULSE_SPAN.0).min(PULSE_SPAN.1);
        let lasts = lasts.max(Span::from_secs_f64(PULSE_BYTES / rate));
        let (from, until, inside) = (now, now + lasts, None);
        self.mode = Mode::Pulse(Pulse { rate, from, until, before: Some(newest), inside });
    }
}

#[cfg(test)]
mod tests;
