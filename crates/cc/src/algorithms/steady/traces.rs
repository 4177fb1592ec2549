//! What round trips show of others over a long path that the window of this sender cannot have done.

use bentpipe_units::Span;

/// Round trips that grow by this part of the target are longer.
const GROWS_SHARE: u64 = 8;
/// They grew so often beside a window that did not: one's own queue is as long as it gets after one round trip.
const CREEPS: u32 = 3;
/// Round trips that fall by so many targets more than the window explains.
const FALLS: u64 = 2;

/// An interval.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    /// Its shortest round trip.
    pub(super) trip: Span,
    pub(super) target: Span,
    /// The queue was no longer than that.
    pub(super) is_short: bool,
    /// It was so long that nothing but what the path carries arrived.
    pub(super) is_deep: bool,
    pub(super) window: f64,
    /// The window is smaller than this on purpose, if it is.
    pub(super) cut_from: f64,
    /// Bytes a second that arrived.
    pub(super) rate: f64,
}

/// The intervals before.
#[derive(Debug, Default)]
pub(super) struct Traces {
    before: [(Span, f64); 3],
    creeps: u32,
}

impl Traces {
    /// An interval ended. Gives whether others left the queue.
    pub(super) fn look(&mut self, seen: &Seen) -> bool {
        let [(trip, window), (trip_before, window_before), _] = self.before;
        let had_grown = seen.window > window.min(window_before);
        if seen.is_short {
            self.creeps = 0;
        } else if !seen.is_deep && !had_grown && seen.trip > trip + seen.target / GROWS_SHARE {
            self.creeps += 1;
        }
        let largest = self.before.iter().fold(seen.cut_from, |most, (_, window)| most.max(*window));
        let explained = (largest - seen.window).max(0.0) / seen.rate.max(1.0);
        let fell = trip.max(trip_before).saturating_sub(seen.trip).as_secs_f64();
        self.before.rotate_right(1);
        self.before[0] = (seen.trip, seen.window);
        fell > explained + (seen.target * FALLS).as_secs_f64()
    }

    /// The queue grew step by step, and not by this sender.
    pub(super) const fn creep(&self) -> bool {
        self.creeps >= CREEPS
    }

    /// The window was no limit: what grew tells nothing.
    pub(super) const fn forget(&mut self) {
        self.creeps = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TARGET: Span = Span::from_millis(30);

    fn seen(trip: u64, window: f64) -> Seen {
        Seen {
            trip: Span::from_millis(trip),
            target: TARGET,
            is_short: trip <= 630,
            is_deep: trip > 900,
            window,
            cut_from: 0.0,
            rate: 1e6,
        }
    }

    #[test]
    fn a_queue_that_grows_step_by_step_beside_a_window_that_does_not_is_somebody_elses() {
        let mut traces = Traces::default();
        for trip in [600, 640, 680, 720] {
            traces.look(&seen(trip, 1e5));
            assert!(!traces.creep(), "{trip}");
        }
        traces.look(&seen(760, 9e4));
        assert!(traces.creep());
        traces.look(&seen(620, 9e4));
        assert!(!traces.creep(), "it is gone");
    }

    #[test]
    fn a_queue_that_grows_with_the_window_or_at_once_is_ones_own_or_the_links() {
        let mut traces = Traces::default();
        for (step, trip) in [640, 680, 720, 760, 800, 840].into_iter().enumerate() {
            traces.look(&seen(trip, 1e5 + 1e4 * step as f64));
        }
        assert!(!traces.creep(), "the window grew");
        for trip in [600, 1200, 1700, 2300, 2900] {
            traces.look(&seen(trip, 1e5));
        }
        assert!(!traces.creep(), "the link carries less");
        for trip in [600, 800, 800, 803, 800] {
            traces.look(&seen(trip, 1e5));
        }
        assert!(!traces.creep(), "the path is longer");
    }

    #[test]
    fn round_trips_that_fall_by_more_than_the_window_explains_show_who_left() {
        let mut traces = Traces::default();
        assert!(![900, 900, 850].iter().any(|trip| traces.look(&seen(*trip, 1e5))));
        assert!(traces.look(&seen(700, 1e5)), "nothing was cut");
        let mut traces = Traces::default();
        [900, 900].iter().for_each(|trip| _ = traces.look(&seen(*trip, 4e5)));
        assert!(!traces.look(&seen(700, 1e5)), "that is what a third of a second less leaves");
        let mut traces = Traces::default();
        [900, 900, 900, 900].iter().for_each(|trip| _ = traces.look(&seen(*trip, 1e5)));
        assert!(!traces.look(&Seen { cut_from: 4e5, ..seen(700, 1e5) }), "it was cut before");
    }
}
