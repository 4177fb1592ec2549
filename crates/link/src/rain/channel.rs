//! What a link in rain can carry at each moment: the attenuation and the modulation that follows it.

use std::collections::VecDeque;

use bentpipe_units::{BitRate, ByteCount, Instant, Span};

use super::attenuation::Walk;
use super::coding::Ladder;
use crate::LossCause;

/// A nanosecond's worth of work at one bit per second.
const SECOND: u128 = 1_000_000_000;

/// How a packet got through, at the worst moment of its transmission.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Passage {
    /// When its last bit was sent.
    pub(super) ends: Instant,
    /// Probability that it is lost.
    pub(super) loss: f64,
    /// Why it is lost, if it is.
    pub(super) cause: LossCause,
}

/// A channel that is walked along, forwards only. Nothing is kept of what lies behind.
#[derive(Clone, Debug)]
pub(super) struct Channel {
    walk: Walk,
    ladder: Ladder,
    /// The rate on each rung.
    rates: Vec<BitRate>,
    /// The rung that was chosen last.
    chosen: usize,
    /// Choices that are on their way, and when each comes into use. Not more than steps of the attenuation in the delay.
    coming: VecDeque<(Instant, usize)>,
    /// The rung that is in use.
    used: usize,
    loss: f64,
    cause: LossCause,
}

impl Channel {
    /// The channel at time zero, as if the attenuation had been there for long; `rate` is that in clear sky.
    pub(super) fn new(walk: Walk, ladder: Ladder, rate: BitRate) -> Self {
        let clear = ladder.clear();
        let efficiency = ladder.rungs()[clear].efficiency();
        let share = |own: f64| BitRate::from_bps((rate.as_bps() as f64 * own / efficiency) as u64);
        let rates = ladder.rungs().iter().enumerate();
        // The clear rung has the rate that was asked for, to the bit.
        let rates = rates
            .map(|(rung, own)| if rung == clear { rate } else { share(own.efficiency()) })
            .collect();
        let used = ladder.choose(clear, ladder.es_n0(walk.value()));
        let (coming, cause) = (VecDeque::new(), LossCause::Channel);
        let mut channel =
            Self { walk, ladder, rates, chosen: used, coming, used, loss: 0.0, cause };
        channel.weigh();
        channel
    }

    /// Goes on to a time, if that lies ahead.
    pub(super) fn go_to(&mut self, at: Instant) {
        // Nothing happens at the end of time, so there is no need to go there.
        while let Some(next) = self.until().filter(|next| *next <= at && at < Instant::MAX) {
            self.change(next);
        }
    }

    /// Sends so many bytes from a time on that does not lie behind.
    pub(super) fn send(&mut self, begins: Instant, bytes: ByteCount) -> Passage {
        if begins == Instant::MAX {
            return Passage { ends: begins, loss: 0.0, cause: self.cause };
        }
        self.go_to(begins);
        let mut left = u128::from(bytes.bits()) * SECOND;
        let (mut now, mut loss, mut cause) = (begins, self.loss, self.cause);
        while let Some(next) = self.until() {
            let bps = u128::from(self.rates[self.used].as_bps());
            let until = u128::from(next.since(now).as_nanos()) * bps;
            if left <= until || next == Instant::MAX {
                break;
            }
            (left, now) = (left - until, next);
            self.change(next);
            if self.loss > loss {
                (loss, cause) = (self.loss, self.cause);
            }
        }
        let rest = left.div_ceil(u128::from(self.rates[self.used].as_bps()));
        let ends = now + Span::from_nanos(u64::try_from(rest).unwrap_or(u64::MAX));
        Passage { ends, loss, cause }
    }

    /// Until when all stays as it is; `None` for ever.
    fn until(&self) -> Option<Instant> {
        let coming = self.coming.front().map(|(at, _)| *at);
        [self.walk.until(), coming].into_iter().flatten().min()
    }

    /// What changes at the time that [`Channel::until`] said.
    fn change(&mut self, now: Instant) {
        if self.walk.until() == Some(now) {
            self.walk.go_on();
            let es_n0 = self.ladder.es_n0(self.walk.value());
            let chosen = self.ladder.choose(self.chosen, es_n0);
            if chosen != self.chosen {
                self.chosen = chosen;
                self.coming.push_back((now + self.ladder.delay(), chosen));
            }
        }
        while let Some(&(at, rung)) = self.coming.front()
            && at <= now
        {
            self.coming.pop_front();
            self.used = rung;
        }
        self.weigh();
    }

    /// What the rung in use loses here, and why.
    fn weigh(&mut self) {
        let es_n0 = self.ladder.es_n0(self.walk.value());
        let rungs = self.ladder.rungs();
        self.loss = rungs[self.used].frame_error_rate(es_n0);
        let none = es_n0 < rungs[0].threshold();
        self.cause = if none { LossCause::Blackout } else { LossCause::Channel };
    }
}
