//! A receive buffer that grows with what arrives in order (dynamic right-sizing, Fisk and Feng 2001;
//! tcp_rcv_space_adjust of Linux, which counts what is read: a reader that stops stops what arrives).

use bentpipe_units::{Instant, Span};

/// The peer begins with ten segments.
const FIRST_FLIGHT: u64 = 10;

/// Each segment that arrives widens the window by so many, up to the buffer.
const WIDENED_BY: u64 = 2;

/// How large the buffer is, and how much of it the peer may use.
#[derive(Debug)]
pub(super) struct RightSizing {
    most: u64,
    mss: u64,
    /// The buffer, and the part of it that is stated.
    size: u64,
    stated: u64,
    rtt: Option<Span>,
    /// When this round trip began, and what had arrived by then.
    began: Instant,
    from: u64,
    /// What arrived in the round trip that had most.
    arrived: u64,
}

impl RightSizing {
    /// A buffer of so many bytes, and of at most so many.
    pub(super) fn new(size: u64, most: u64, mss: u16) -> Self {
        let mss = u64::from(mss);
        let arrived = FIRST_FLIGHT * mss;
        Self { most, mss, size, stated: size, rtt: None, began: Instant::ZERO, from: 1, arrived }
    }

    /// An echo took so long.
    pub(super) fn sample(&mut self, measured: Span) {
        self.rtt = Some(self.rtt.map_or(measured, |rtt| (rtt * 7 + measured) / 8));
    }

    /// A segment arrived; everything before this offset is here, and so many bytes wait for something that is missing.
    /// The window that the peer may be told of now, if that is more than before.
    #[inline]
    pub(super) fn follow(&mut self, now: Instant, offset: u64, waiting: u64) -> Option<u64> {
        if self.rtt.is_some_and(|rtt| now.since(self.began) >= rtt) {
            self.grow(now, offset, waiting);
        }
        if waiting > 0 {
            // What came already is no room for what comes while the missing segment is retransmitted.
            self.reach((2 * self.arrived).saturating_add(waiting));
        }
        let wider = (self.stated + WIDENED_BY * self.mss).min(self.size);
        (wider > self.stated).then(|| {
            self.stated = wider;
            wider
        })
    }

    /// A round trip is over.
    fn grow(&mut self, now: Instant, offset: u64, waiting: u64) {
        let arrived = offset - self.from;
        (self.began, self.from) = (now, offset);
        if arrived <= self.arrived {
            return;
        }
        // What arrives grows as fast as the peer's window: until the peer makes use of the room it grows by this once
        // more.
        let window = 2 * arrived;
        let more = u128::from(arrived - self.arrived);
        let growth = u128::from(window) * more / u128::from(self.arrived);
        self.arrived = arrived;
        let size = u128::from(window) + 2 * growth + u128::from(waiting);
        self.reach(size.min(self.most.into()) as u64);
    }

    /// The buffer has this size if that is more than before.
    fn reach(&mut self, size: u64) {
        self.size = self.size.max(size.min(self.most));
    }

    /// By how much the window is narrower while so many bytes are kept out of order, as Linux counts them as taken
    /// although they lie within the window.
    #[inline]
    pub(super) const fn narrowed_by(&self, kept: u64) -> u64 {
        kept.saturating_sub(self.size - self.stated)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn it_grows_to_more_than_twice_of_what_arrives_in_a_round_trip() {
        let mut sizing = RightSizing::new(60_000, 1_000_000, 1_000);
        assert_eq!(sizing.follow(at(5_000), 50_001, 0), None, "no round trip is known");
        sizing.sample(Span::from_millis(600));
        assert_eq!(sizing.follow(at(599), 50_001, 0), None);
        assert_eq!(sizing.follow(at(600), 10_001, 0), None, "the first flight");
        assert_eq!(sizing.follow(at(1_200), 30_001, 500), Some(62_000));
        assert_eq!(sizing.size, 40_000 + 80_000 + 500);
        sizing.follow(at(1_800), 50_001, 0);
        assert_eq!(sizing.size, 120_500, "as much as before");
        sizing.follow(at(2_400), 950_001, 0);
        assert_eq!(sizing.size, 1_000_000, "no more than it may");
    }

    #[test]
    fn what_is_kept_behind_a_missing_segment_narrows_the_window_where_the_buffer_has_no_more() {
        let mut sizing = RightSizing::new(60_000, 1_000_000, 1_000);
        assert_eq!(sizing.follow(at(1), 1, 80_000), Some(62_000));
        assert_eq!((sizing.size, sizing.narrowed_by(38_000)), (100_000, 0));
        assert_eq!(sizing.narrowed_by(50_000), 12_000, "50,000 are left");
        sizing.follow(at(1), 1, u64::MAX / 2);
        assert_eq!(sizing.size, 1_000_000, "no more than it may");
    }

    #[test]
    fn each_segment_widens_the_window_by_two_up_to_the_buffer() {
        let mut sizing = RightSizing::new(10_000, 100_000, 1_000);
        sizing.sample(Span::from_millis(100));
        sizing.follow(at(100), 1, 0);
        let widened = |sizing: &mut RightSizing| sizing.follow(at(101), 1, 0);
        sizing.size = 13_000;
        assert_eq!([(); 3].map(|()| widened(&mut sizing)), [Some(12_000), Some(13_000), None]);
    }
}
