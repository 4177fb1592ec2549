//! What was sent, and when: how much of it lay before a moment of the recent past.

use std::collections::VecDeque;

use bentpipe_units::{ByteCount, Instant, Span};

/// Moments that are remembered. Half of them are given up when there are more.
const MOST: usize = 1024;
/// Moments closer than this are one.
const GRAIN_MIN: Span = Span::from_micros(50);

/// Bytes sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Total {
    pub(super) all: u64,
    /// Those of which answers tell what became of them. Of datagrams of a tunnel and of reports they do not.
    pub(super) answered: u64,
}

/// Bytes sent, by time.
#[derive(Debug)]
pub(super) struct Sent {
    total: Total,
    /// Moments, and what had been sent at their end; the oldest first.
    moments: VecDeque<(Instant, Total)>,
    grain: Span,
}

impl Default for Sent {
    fn default() -> Self {
        Self { total: Total::default(), moments: VecDeque::new(), grain: GRAIN_MIN }
    }
}

impl Sent {
    /// So many bytes leave now, and of so many of them answers will tell.
    pub(super) fn add(&mut self, now: Instant, bytes: ByteCount, answered: ByteCount) {
        self.total.all += bytes.get();
        self.total.answered += answered.get();
        match self.moments.back_mut() {
            Some((at, total)) if now.since(*at) < self.grain => *total = self.total,
            _ => self.moments.push_back((now, self.total)),
        }
        if self.moments.len() > MOST {
            let mut keep = false;
            self.moments.retain(|_| {
                keep = !keep;
                keep
            });
            self.grain = self.grain * 2;
        }
    }

    /// All bytes so far.
    pub(super) const fn total(&self) -> u64 {
        self.total.all
    }

    /// What had been sent by then; nothing is asked any more of what was before.
    pub(super) fn by(&mut self, at: Instant) -> Total {
        while self.moments.get(1).is_some_and(|(next, _)| *next <= at) {
            self.moments.pop_front();
        }
        if self.moments.len() < MOST / 4 {
            self.grain = (self.grain / 2).max(GRAIN_MIN);
        }
        self.moments.front().map_or(self.total, |(_, total)| *total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Span::from_millis(millis)
    }

    #[test]
    fn what_was_sent_by_a_time_is_known_until_a_later_one_was_asked_for() {
        let mut sent = Sent::default();
        (0..10).for_each(|n| sent.add(at(10 * n), ByteCount::new(100), ByteCount::new(n)));
        assert_eq!([30, 35, 40].map(|ms| sent.by(at(ms)).all), [400, 400, 500]);
        let total = Total { all: 1000, answered: 45 };
        assert_eq!((sent.by(at(500)), sent.total()), (total, 1000));
    }

    #[test]
    fn an_hour_without_an_answer_takes_no_more_memory_than_a_minute() {
        let mut sent = Sent::default();
        (0..3_600_000).for_each(|ms| sent.add(at(ms), ByteCount::new(1), ByteCount::ZERO));
        assert!(sent.moments.len() <= MOST);
        let half = sent.by(at(1_800_000)).all;
        assert!(half.abs_diff(1_800_000) < 10_000, "{half}");
    }
}
