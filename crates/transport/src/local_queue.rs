//! The queue of an end's own host, and how full it is on average.

use bentpipe_cc::QueueLevel;
use bentpipe_units::{Instant, Span};

/// Time constant of the average.
const TIME_CONSTANT: Span = Span::from_millis(100);
/// Shares of the queue: below the lower one there is room, from the upper one on there is too much.
const LOW: f64 = 0.25;
const HIGH: f64 = 0.75;

/// The queue on its own host that the segments of an end pass first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalQueue {
    /// How much waits, in the unit of the limit: packets or bytes.
    pub waiting: u64,
    /// How much may wait.
    pub limit: u64,
    /// It had no room for a segment of this end.
    pub overflowed: bool,
}

/// Follows a queue: the load that counts is an average over a tenth of a second, as bursts are no
/// congestion.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct QueueMeter {
    share: f64,
    at: Option<Instant>,
}

impl QueueMeter {
    /// Takes what the queue is like now and says how full it is.
    pub(crate) fn take(&mut self, now: Instant, queue: &LocalQueue) -> QueueLevel {
        let share = queue.waiting as f64 / queue.limit.max(1) as f64;
        let elapsed = self.at.map_or(Span::ZERO, |at| now.since(at));
        let kept = libm::exp(-elapsed.as_secs_f64() / TIME_CONSTANT.as_secs_f64());
        (self.share, self.at) = (share + (self.share - share) * kept, Some(now));
        if queue.overflowed {
            QueueLevel::Overflow
        } else if self.share < LOW {
            QueueLevel::Low
        } else if self.share < HIGH {
            QueueLevel::Middle
        } else {
            QueueLevel::High
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(waiting: u64) -> LocalQueue {
        LocalQueue { waiting, limit: 100, overflowed: false }
    }

    #[test]
    fn the_level_follows_the_average_of_a_tenth_of_a_second() {
        let mut meter = QueueMeter::default();
        let at = |ms| Instant::ZERO + Span::from_millis(ms);
        assert_eq!(meter.take(at(0), &queue(100)), QueueLevel::Low, "a burst is none yet");
        // 1 - exp(-0.28) = 0.244, 1 - exp(-0.3) = 0.259; 0.749 and 0.751 at 1.38 and 1.39.
        assert_eq!(meter.take(at(28), &queue(100)), QueueLevel::Low);
        assert_eq!(meter.take(at(30), &queue(100)), QueueLevel::Middle);
        assert_eq!(meter.take(at(138), &queue(100)), QueueLevel::Middle);
        assert_eq!(meter.take(at(139), &queue(100)), QueueLevel::High);
        assert_eq!(meter.take(at(1000), &queue(0)), QueueLevel::Low);
    }

    #[test]
    fn an_overflow_counts_at_once() {
        let full = LocalQueue { overflowed: true, ..queue(100) };
        assert_eq!(QueueMeter::default().take(Instant::ZERO, &full), QueueLevel::Overflow);
    }
}
