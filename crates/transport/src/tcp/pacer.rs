//! Spreads departures over time, at the rate that the controller gives.

use bentpipe_cc::Limits;
use bentpipe_units::{BitRate, ByteCount, Instant};

/// Segments that may leave back to back where the controller does not say.
const BURST: u64 = 2;

/// How segments may leave.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    rate: BitRate,
    /// A full segment, headers included, and what may leave back to back.
    segment: ByteCount,
    burst: ByteCount,
    groups: bool,
}

impl Pace {
    /// What a controller allows; `None` where it gives no rate.
    pub(super) fn of(limits: &Limits, segment: ByteCount) -> Option<Self> {
        let burst = limits.burst.unwrap_or(segment * BURST).max(segment);
        Some(Self { rate: limits.pacing?, segment, burst, groups: limits.groups })
    }

    /// Segments of a group: a burst is told without headers.
    const fn group(&self) -> u64 {
        self.burst.get().div_ceil(self.segment.get())
    }
}

/// A token bucket, kept as the time at which it is empty no more (virtual scheduling).
#[derive(Debug, Default)]
pub(super) struct Pacer {
    /// When what left so far would have left at an even pace.
    due: Instant,
    /// Segments that may still leave of the group that is leaving.
    left: u64,
}

impl Pacer {
    /// When the next segment may leave, if not now.
    pub(super) fn wait(&self, now: Instant, pace: &Pace) -> Option<Instant> {
        if pace.groups {
            return (self.left == 0 && self.due > now).then_some(self.due);
        }
        // What is in the bucket beyond the one segment that leaves.
        let ahead = pace.rate.time_for(pace.burst - pace.segment);
        let at = self.due.before(ahead);
        (at > now).then_some(at)
    }

    /// A segment of so many bytes, headers included, leaves.
    pub(super) fn sent(&mut self, now: Instant, pace: &Pace, bytes: ByteCount) {
        if self.left == 0 || self.due <= now {
            self.left = pace.group();
        }
        self.left -= 1;
        self.due = self.due.max(now) + pace.rate.time_for(bytes);
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_units::Span;

    use super::*;

    const SEGMENT: ByteCount = ByteCount::new(1000);

    /// 1000 bytes in a millisecond.
    fn pace(burst: Option<ByteCount>, groups: bool) -> Pace {
        let pacing = Some(BitRate::from_bps(8_000_000));
        let limits = Limits { pacing, burst, groups, ..Limits::default() };
        Pace::of(&limits, SEGMENT).expect("a rate")
    }

    /// When so many segments leave, in milliseconds from the first on. Something else happens every
    /// 0.1 ms.
    fn departures(pace: &Pace, most: usize) -> (Vec<u64>, Pacer, Instant) {
        let mut pacer = Pacer::default();
        let mut now = Instant::ZERO + Span::from_secs(5);
        let mut left = Vec::new();
        while left.len() < most {
            match pacer.wait(now, pace) {
                Some(at) => now = at.min(now + Span::from_micros(100)),
                None => {
                    pacer.sent(now, pace, SEGMENT);
                    left.push(now.as_nanos() / 1_000_000 - 5_000);
                }
            }
        }
        (left, pacer, now)
    }

    #[test]
    fn two_segments_leave_at_once_and_then_one_in_each_interval() {
        let (left, pacer, now) = departures(&pace(None, false), 5);
        assert_eq!(left, [0, 0, 1, 2, 3]);
        let single = pace(Some(SEGMENT), false);
        assert_eq!(pacer.wait(now, &single), Some(now + Span::from_millis(2)));
    }

    #[test]
    fn groups_leave_whole() {
        // Two segments of 960 bytes and their headers.
        let pairs = pace(Some(ByteCount::new(1920)), true);
        assert_eq!(departures(&pairs, 6).0, [0, 0, 2, 2, 4, 4]);
    }

    #[test]
    fn what_was_not_sent_of_a_group_is_no_part_of_a_later_one() {
        let pairs = pace(Some(ByteCount::new(2000)), true);
        let (_, mut pacer, now) = departures(&pairs, 3);
        let later = now + Span::from_secs(1);
        for _ in 0..2 {
            assert_eq!(pacer.wait(later, &pairs), None);
            pacer.sent(later, &pairs, SEGMENT);
        }
        assert_eq!(pacer.wait(later, &pairs), Some(later + Span::from_millis(2)));
    }
}
