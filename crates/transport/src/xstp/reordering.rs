//! How late segments may come and not be lost: the reordering window of RACK (RFC 8985, section 6.2), which grows
//! where what was taken for lost had only been overtaken.

use bentpipe_units::{Instant, Span};

/// The window grows from this part of the shortest round trip on, up to all of it, and is gone below this one.
const FIRST: u64 = 16;
const LEAST: u64 = 64;
/// It grows once in a round trip when one in so many of what was taken for lost came nevertheless, and so many at least.
const SHARE: u64 = 8;
const FEW: u64 = 3;
/// A round trip without any takes this part of it.
const FADES: u64 = 32;
/// A few of them are forgotten after so many round trips without another one.
const WAITS: u32 = 64;

/// The window, and what happened of late.
#[derive(Debug, Default)]
pub(super) struct Reordering {
    window: Span,
    /// Segments taken for lost, and those that came without being retransmitted.
    lost: u64,
    late: u64,
    /// Whether one of those came in this round trip, and how many round trips were without one.
    is_fresh: bool,
    quiet: u32,
    round_began: Instant,
}

impl Reordering {
    /// What was sent less than this before something that has arrived may only be late.
    #[inline]
    pub(super) const fn window(&self) -> Span {
        self.window
    }

    /// So many segments are taken for lost.
    pub(super) const fn lost(&mut self, segments: u64) {
        self.lost += segments;
    }

    /// So many that were taken for lost arrived all the same, and so many that were not because the window is as long as it is.
    /// `shortest` is the shortest round trip.
    pub(super) fn came(&mut self, now: Instant, segments: u64, awaited: u64, shortest: Span) {
        self.late += segments;
        self.is_fresh |= segments + awaited > 0;
        if now.since(self.round_began) < shortest {
            return;
        }
        self.round_began = now;
        if std::mem::take(&mut self.is_fresh) {
            self.quiet = 0;
        } else {
            self.quiet = self.quiet.saturating_add(1);
            self.fade(shortest);
        }
        let is_share = self.late * SHARE >= self.lost;
        if is_share && (1..FEW).contains(&self.late) && self.quiet < WAITS {
            return; // More of them are waited for.
        }
        if is_share && self.late >= FEW {
            self.window = (self.window * 2).max(shortest / FIRST).min(shortest);
        }
        (self.lost, self.late) = (0, 0);
    }

    fn fade(&mut self, shortest: Span) {
        self.window = self.window.mul_div(FADES - 1, FADES);
        if self.window < shortest / LEAST {
            self.window = Span::ZERO;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRIP: Span = Span::from_millis(640);

    fn rounds(reordering: &mut Reordering, from: u64, count: u64, lost: u64, late: u64) {
        for n in from..from + count {
            reordering.lost(lost);
            reordering.came(Instant::ZERO + TRIP * (n + 1), late, 0, TRIP);
        }
    }

    #[test]
    fn the_window_grows_while_what_was_taken_for_lost_comes() {
        let mut reordering = Reordering::default();
        rounds(&mut reordering, 0, 1, 50, 7);
        assert_eq!(reordering.window(), Span::from_millis(40));
        rounds(&mut reordering, 1, 1, 50, 7);
        assert_eq!(reordering.window(), Span::from_millis(80));
        rounds(&mut reordering, 2, 9, 50, 7);
        assert_eq!(reordering.window(), TRIP);
    }

    #[test]
    fn losses_are_no_reordering() {
        let mut reordering = Reordering::default();
        rounds(&mut reordering, 0, 9, 50, 6);
        assert_eq!(reordering.window(), Span::ZERO, "less than an eighth");
        rounds(&mut reordering, 9, 1, 2, 2);
        assert_eq!(reordering.window(), Span::ZERO, "few");
        rounds(&mut reordering, 10, 1, 2, 1);
        assert!(reordering.window() > Span::ZERO, "three of four");
    }

    #[test]
    fn where_nothing_is_late_any_more_the_window_goes() {
        let mut reordering = Reordering::default();
        rounds(&mut reordering, 0, 1, 50, 50);
        rounds(&mut reordering, 1, 22, 50, 0);
        let left = reordering.window();
        assert!(left > Span::from_millis(15) && left < Span::from_millis(25), "{left:?}");
        rounds(&mut reordering, 23, 60, 0, 0);
        assert_eq!(reordering.window(), Span::ZERO);
    }

    #[test]
    fn the_window_stays_as_long_as_segments_come_for_which_it_waits() {
        let mut reordering = Reordering::default();
        rounds(&mut reordering, 0, 3, 50, 7);
        let window = reordering.window();
        for n in 3..500 {
            reordering.came(Instant::ZERO + TRIP * (n + 1), 0, 1, TRIP);
        }
        assert_eq!(reordering.window(), window);
        rounds(&mut reordering, 500, 200, 0, 0);
        assert_eq!(reordering.window(), Span::ZERO);
    }

    #[test]
    fn one_late_segment_does_not_keep_the_window() {
        let mut reordering = Reordering::default();
        rounds(&mut reordering, 0, 9, 50, 7);
        assert_eq!(reordering.window(), TRIP);
        // One more that was late, and a path without any loss from then on.
        rounds(&mut reordering, 9, 1, 1, 1);
        rounds(&mut reordering, 10, 10_000, 0, 0);
        assert_eq!(reordering.window(), Span::ZERO);
    }
}
