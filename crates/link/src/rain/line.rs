//! A transmitter in the rain, with a drop-tail queue before it.

use bentpipe_units::{BitRate, Decibels, Instant};

use super::attenuation::{Attenuation, Walk};
use super::channel::Channel;
use super::coding::{Coding, Ladder};
use super::error::RainError;
use crate::{Fate, LossCause, Model, Passing, QueueLimit, RateQueue, Stream};

/// A line through rain and its settings.
#[derive(Clone, Debug, PartialEq)]
pub struct RainSpec {
    rate: BitRate,
    queue: QueueLimit,
    attenuation: Attenuation,
    ladder: Ladder,
}

impl RainSpec {
    /// A line with this rate and this Es/N0 in clear sky.
    ///
    /// # Errors
    /// When a value is out of its range, or nothing gets through in clear sky.
    pub fn new(
        rate: BitRate,
        queue: QueueLimit,
        clear_sky: Decibels,
        coding: &Coding,
        attenuation: Attenuation,
    ) -> Result<Self, RainError> {
        let ladder = Ladder::new(coding, clear_sky)?;
        Ok(Self { rate, queue, attenuation, ladder })
    }

    /// The rate in clear sky.
    pub const fn rate(&self) -> BitRate {
        self.rate
    }

    /// The same line with another rate in clear sky.
    #[must_use]
    pub fn with_rate(self, rate: BitRate) -> Self {
        Self { rate, ..self }
    }
}

/// A transmitter whose rate follows the attenuation, or that loses what does not get through.
///
/// It goes on sending whatever the attenuation is: where not even the most robust modulation gets through, all is lost that
/// the queue gives, as of a modulator that nobody hears.
#[derive(Clone, Debug)]
pub struct RainLine {
    queue: RateQueue,
    channel: Channel,
    losses: Stream,
}

impl RainLine {
    /// An idle transmitter. Lines whose `rain` is the same stream stand in the same rain.
    pub fn new(spec: &RainSpec, rain: Stream, losses: Stream) -> Self {
        // Of the queue only what waits is asked; the channel knows how long each takes.
        let queue = RateQueue::new(spec.rate, spec.queue);
        let walk = Walk::new(&spec.attenuation, rain);
        Self { queue, channel: Channel::new(walk, spec.ladder.clone(), spec.rate), losses }
    }
}

impl Model for RainLine {
    fn pass(&mut self, at: Instant, packet: &Passing) -> Fate {
        // Each begins when the one before has ended or later, so that the channel is asked forwards only.
        let Some(begins) = self.queue.begin(at, packet.bytes) else {
            return Fate::Lost(LossCause::QueueFull);
        };
        let passage = self.channel.send(begins, packet.bytes);
        self.queue.end(passage.ends);
        if self.losses.chance(passage.loss) {
            Fate::Lost(passage.cause)
        } else {
            Fate::Leaves(passage.ends)
        }
    }

    fn forget_before(&mut self, now: Instant) {
        self.channel.go_to(now);
    }
}

#[cfg(test)]
mod tests;
