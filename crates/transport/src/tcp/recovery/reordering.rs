//! How long what is missing may be late because the path changes the order (RFC 8985, section 6.2, step 4).

use bentpipe_units::Span;

use super::{AckSeen, Path, Scoreboard};

/// Recoveries without a report of something that came twice after which the window is small again.
const PERSISTS: u32 = 16;
const MOST_STEPS: u64 = 255;

/// What is known of the order in which segments arrive.
#[derive(Debug)]
pub(super) struct Reordering {
    /// A segment arrived behind one that had left after it.
    seen: bool,
    /// The highest offset that was reported before.
    highest: u64,
    /// The window in quarters of the shortest round trip.
    steps: u64,
    persists: u32,
    /// Something came twice that was no answer to a probe.
    came_twice: bool,
    /// The window grows once in a round trip: not before what left when so much was delivered arrives.
    settled_at: u64,
}

impl Default for Reordering {
    fn default() -> Self {
        Self { seen: false, highest: 0, steps: 1, persists: 0, came_twice: false, settled_at: 0 }
    }
}

impl Reordering {
    /// Something came out of order.
    pub(super) const fn is_seen(&self) -> bool {
        self.seen
    }

    /// Looks at what arrived, and at what came twice.
    pub(super) fn look(&mut self, board: &Scoreboard, ack: &AckSeen) {
        self.seen |= ack.delivered.first_sent_once.is_some_and(|first| first < self.highest);
        self.highest = board.runs().highest().unwrap_or(0);
        self.came_twice |= ack.twice && self.seen;
        let Some(newest) = ack.delivered.newest else { return };
        let settled = newest.stamp.delivered >= self.settled_at;
        if std::mem::take(&mut self.came_twice) && settled {
            (self.steps, self.persists) = ((self.steps + 1).min(MOST_STEPS), PERSISTS);
            self.settled_at = ack.path.delivered;
        }
    }

    /// A recovery is over.
    pub(super) const fn recovered(&mut self) {
        self.persists = self.persists.saturating_sub(1);
        if self.persists == 0 {
            self.steps = 1;
        }
    }

    /// The settling time.
    pub(super) fn window(&self, path: &Path) -> Span {
        (path.min_rtt / 4 * self.steps).min(path.srtt / 8)
    }
}
