//! Spreads departures over time, at the rate that the controller gives.

use bentpipe_units::{BitRate, ByteCount, Instant};

/// Segments that may leave back to back where the controller does not say.
const BURST: u64 = 2;

/// A token bucket, kept as the time at which it is empty no more (virtual scheduling).
#[derive(Debug, Default)]
pub(super) struct Pacer {
    /// When what left so far would have left at an even pace.
    due: Instant,
}

impl Pacer {
    /// When the next segment may leave, if not now.
    pub(super) fn wait(
        &self,
        now: Instant,
        rate: BitRate,
        burst: Option<ByteCount>,
        segment: ByteCount,
    ) -> Option<Instant> {
        let burst = burst.unwrap_or(segment * BURST).max(segment);
        // What is in the bucket beyond the one segment that leaves.
        let ahead = rate.time_for(burst - segment);
        let at = self.due.before(ahead);
        (at > now).then_some(at)
    }

    /// A segment of so many bytes, headers included, leaves.
    pub(super) fn sent(&mut self, now: Instant, rate: BitRate, bytes: ByteCount) {
        self.due = self.due.max(now) + rate.time_for(bytes);
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_units::Span;

    use super::*;

    #[test]
    fn two_segments_leave_at_once_and_then_one_in_each_interval() {
        let mut pacer = Pacer::default();
        let (rate, segment) = (BitRate::from_bps(8_000_000), ByteCount::new(1000));
        let mut now = Instant::ZERO + Span::from_secs(5);
        let mut left = Vec::new();
        while left.len() < 5 {
            match pacer.wait(now, rate, None, segment) {
                Some(at) => now = at,
                None => {
                    pacer.sent(now, rate, segment);
                    left.push(now.as_nanos() / 1_000_000 - 5_000);
                }
            }
        }
        assert_eq!(left, [0, 0, 1, 2, 3]);
        assert_eq!(pacer.wait(now, rate, Some(segment), segment), Some(now + Span::from_millis(2)));
    }
}
