//! What round trips say of the queue.

use bentpipe_units::Span;

use crate::PathView;

/// The part of the shortest round trip that shall stand in the queue, and no less.
const TARGET_SHARE: u64 = 20;
const TARGET_LEAST: Span = Span::from_millis(5);
/// Where round trips differ by themselves, this part of the difference shall, at most so much.
const SPREAD_SHARE: (u64, u64) = (3, 4);
const TARGET_MOST_SHARE: u64 = 8;
const TARGET_MOST: Span = Span::from_millis(25);
/// The latest difference counts for one part in so many.
const SMOOTH: u64 = 4;
/// Queues that differ by this part of the target are the same.
const SAME_SHARE: u64 = 4;
/// The queues of a stretch of time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Queues {
    pub(super) shortest: Span,
    pub(super) longest: Span,
}

/// The queue as the sender sees it.
#[derive(Debug, Default)]
pub(super) struct Delay {
    /// The round trip without a queue.
    base: Option<Span>,
    /// The shortest round trip of all when it was looked at last, and the longest since the first one.
    shortest: Option<Span>,
    longest: Span,
    /// Shortest and longest round trip of late.
    now: Option<(Span, Span)>,
    spread: Span,
    before: Span,
    still: u32,
    difference: Span,
}

impl Delay {
    /// Looks at the latest round trip.
    pub(super) fn measure(&mut self, path: &PathView) {
        let latest = path.latest_rtt;
        if latest.is_zero() {
            return;
        }
        let (shortest, longest) = self.now.get_or_insert((latest, latest));
        (*shortest, *longest) = ((*shortest).min(latest), (*longest).max(latest));
        self.base = Some(self.base.map_or(latest, |base| base.min(latest)));
        self.shortest.get_or_insert(path.min_rtt.min(latest));
        self.longest = self.longest.max(latest);
    }

    /// What was measured in the interval of now is not of now.
    pub(super) const fn forget_interval(&mut self) {
        self.now = None;
    }

    /// The path is no longer than that: the rest is a queue.
    pub(super) fn shorten_to(&mut self, trip: Span) {
        let longer = self.base().saturating_sub(trip);
        self.before = self.before + longer;
        self.base = self.base.map(|base| base - longer);
    }

    /// Whether all round trips of the interval that ended last are shorter by more than that than any was when this was so last, or
    /// than the first one.
    pub(super) fn falls_by(&mut self, by: Span, longest: Span) -> bool {
        let shortest = self.shortest.unwrap_or_default();
        let falls = shortest.saturating_sub(longest) > by;
        if falls {
            self.shortest = Some(longest);
        }
        falls
    }

    /// The longest round trip of all.
    pub(super) const fn longest(&self) -> Span {
        self.longest
    }

    /// The queues since the last call. What round trips differ by is their own doing if the window is `quiet`.
    pub(super) fn take(&mut self, quiet: bool) -> Option<Queues> {
        let (shortest, longest) = self.now.take()?;
        self.difference = longest.saturating_sub(shortest);
        if quiet && !self.is_deep(shortest.saturating_sub(self.base())) {
            self.spread = (self.spread * (SMOOTH - 1) + self.difference) / SMOOTH;
        }
        let queue = |round_trip: Span| round_trip.saturating_sub(self.base());
        let queues = Queues { shortest: queue(shortest), longest: queue(longest) };
        let (low, high) = (queues.shortest.min(self.before), queues.shortest.max(self.before));
        let same = high.saturating_sub(low) <= self.target() / SAME_SHARE;
        self.still = if same { self.still + 1 } else { 0 };
        self.before = queues.shortest;
        Some(queues)
    }

    /// How often in a row the queue was the same as before.
    pub(super) const fn still(&self) -> u32 {
        self.still
    }

    /// Round trips did not differ of late: nothing waits anywhere.
    pub(super) fn is_calm(&self) -> bool {
        self.difference <= self.target() / 2
    }

    /// The shortest queue of the stretch of time that ended last.
    pub(super) const fn latest(&self) -> Span {
        self.before
    }

    /// The queue at this moment.
    pub(super) fn queue(&self, path: &PathView) -> Span {
        path.latest_rtt.saturating_sub(self.base())
    }

    /// The round trip without a queue.
    pub(super) fn base(&self) -> Span {
        self.base.unwrap_or(Span::ZERO)
    }

    /// The path is so much longer than it was.
    pub(super) fn lengthen(&mut self, by: Span) {
        self.base = self.base.map(|base| base + by);
        (self.before, self.still) = (Span::ZERO, 0);
    }

    /// What shall stand in the queue, so that the path never runs dry.
    pub(super) fn target(&self) -> Span {
        let base = self.base();
        let least = (base / TARGET_SHARE).max(TARGET_LEAST);
        let most = (base / TARGET_MOST_SHARE).max(TARGET_MOST);
        self.spread.mul_div(SPREAD_SHARE.0, SPREAD_SHARE.1).max(least).min(most)
    }

    /// A queue is so long that its sender knows what the path carries, and that nothing else matters.
    pub(super) fn is_deep(&self, queue: Span) -> bool {
        queue > (self.base() / 2).max(self.target() * 4)
    }
}
