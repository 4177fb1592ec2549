//! What round trips say of the queue.
//!
//! Where the receiver tells, it is the way there that is looked at: what waits on the way back makes round trips longer, and the
//! window with them, but is no queue that the window fills.

use bentpipe_units::{OneWayDelay, Span};

use super::way_back::{Shift, WayBack};
use crate::PathView;

/// The part of the shortest round trip that shall stand in the queue, and no less.
const TARGET_SHARE: u64 = 20;
const TARGET_LEAST: Span = Span::from_millis(5);
/// The same while something passes that cannot wait.
const LOW_SHARE: u64 = 120;
/// Where round trips differ by themselves, this part of the difference shall, at most so much.
const SPREAD_SHARE: (u64, u64) = (3, 4);
const LOW_SPREAD: (u64, u64) = (1, 2);
const TARGET_MOST_SHARE: u64 = 8;
const TARGET_MOST: Span = Span::from_millis(25);
/// The latest difference counts for one part in so many.
const SMOOTH: u64 = 4;
/// Queues that differ by this part of the target are the same.
const SAME_SHARE: u64 = 4;
/// A queue that is longer by so many smallest targets at once may be none.
const SUDDEN: u64 = 3;
/// No path is shorter, whatever a receiver says of its clock.
const LEAST: Span = Span::from_micros(1);

/// The queues of a stretch of time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Queues {
    pub(super) shortest: Span,
    pub(super) longest: Span,
    /// The shortest one of the stretch before.
    pub(super) before: Span,
}

impl Queues {
    /// What had come at once stays though the window was cut within this interval: round trips differ by no more than what may have
    /// drained of the queue before, where a queue is shorter by so much more.
    pub(super) fn stay(self, asked: Self, more: Span) -> bool {
        let differ = self.longest.saturating_sub(self.shortest);
        differ <= asked.before + more / 3 && self.shortest + more / 3 >= asked.step()
    }

    fn step(self) -> Span {
        self.shortest.saturating_sub(self.before)
    }
}

/// How long the way there took, from a zero of its own.
fn there(path: &PathView) -> OneWayDelay {
    path.latest_rtt - path.return_delay.unwrap_or_default()
}

/// The queue as the sender sees it.
#[derive(Debug, Default)]
pub(super) struct Delay {
    /// The way there without a queue.
    base: Option<OneWayDelay>,
    /// The shortest one of all when it was looked at last, and the longest since the first one.
    shortest: Option<OneWayDelay>,
    longest: Option<OneWayDelay>,
    /// Shortest and longest one of late.
    now: Option<(OneWayDelay, OneWayDelay)>,
    back: WayBack,
    /// The receiver tells of the way back.
    told: bool,
    spread: Span,
    before: Span,
    still: u32,
    difference: Span,
    /// Something passes that cannot wait.
    is_low: bool,
}

impl Delay {
    /// Looks at the latest round trip.
    pub(super) fn measure(&mut self, path: &PathView) {
        if path.latest_rtt.is_zero() {
            return;
        }
        if std::mem::replace(&mut self.told, path.return_delay.is_some()) && !self.told {
            // The way there is a round trip from now on, beside which no other zero counts.
            (self.base, self.shortest, self.longest, self.now) = (None, None, None, None);
            self.back = WayBack::default();
        }
        let shift = self.back.measure(path);
        self.keep_round_trips(shift);
        let latest = there(path);
        let (shortest, longest) = self.now.get_or_insert((latest, latest));
        (*shortest, *longest) = ((*shortest).min(latest), (*longest).max(latest));
        self.base = Some(self.base.map_or(latest, |base| base.min(latest)));
        self.shortest.get_or_insert(latest - path.latest_rtt.saturating_sub(path.min_rtt));
        self.longest = Some(self.longest.map_or(latest, |longest| longest.max(latest)));
    }

    /// A round trip is what one clock measures: what two clocks make of its parts changes no sum of them.
    fn keep_round_trips(&mut self, Shift { longer, shorter }: Shift) {
        if longer == shorter {
            return;
        }
        let moved = |there: OneWayDelay| there + shorter - longer;
        let there = [&mut self.base, &mut self.shortest, &mut self.longest];
        there.into_iter().flatten().for_each(|there| *there = moved(*there));
        self.now = self.now.map(|(shortest, longest)| (moved(shortest), moved(longest)));
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

    /// Whether all round trips of an interval with these queues are shorter by more than that than any was when this was so last, or
    /// than the first one.
    pub(super) fn falls_by(&mut self, by: Span, queues: Queues) -> bool {
        let longest = self.base.unwrap_or_default() + queues.longest;
        let falls = self.shortest.unwrap_or_default().beyond(longest) > by;
        if falls {
            self.shortest = Some(longest);
        }
        falls
    }

    /// The longest round trip of all.
    pub(super) fn longest(&self) -> Span {
        self.longest.map_or(Span::ZERO, |longest| longest + self.back.shortest())
    }

    /// The queues since the last call. What round trips differ by is their own doing if the window is `quiet`.
    pub(super) fn take(&mut self, quiet: bool) -> Option<Queues> {
        self.back.end_interval();
        let (shortest, longest) = self.now.take()?;
        self.difference = longest.beyond(shortest);
        if quiet && !self.is_deep(self.beyond_base(shortest)) {
            self.spread = (self.spread * (SMOOTH - 1) + self.difference) / SMOOTH;
        }
        let queues = Queues {
            shortest: self.beyond_base(shortest),
            longest: self.beyond_base(longest),
            before: self.before,
        };
        let (low, high) = (queues.shortest.min(self.before), queues.shortest.max(self.before));
        let same = high.saturating_sub(low) <= self.usual() / SAME_SHARE;
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
        self.difference <= self.usual() / 2
    }

    /// The shortest queue of the stretch of time that ended last.
    pub(super) const fn latest(&self) -> Span {
        self.before
    }

    /// The queue at this moment.
    pub(super) fn queue(&self, path: &PathView) -> Span {
        self.beyond_base(there(path))
    }

    fn beyond_base(&self, there: OneWayDelay) -> Span {
        self.base.map_or(Span::ZERO, |base| there.beyond(base))
    }

    /// The round trip without a queue.
    pub(super) fn base(&self) -> Span {
        self.base.map_or(Span::ZERO, |base| (base + self.back.shortest()).max(LEAST))
    }

    /// The same with what waits on the way back of late.
    pub(super) fn trip(&self) -> Span {
        self.base() + self.back.waits(self.base())
    }

    /// The way back.
    pub(super) const fn back(&mut self) -> &mut WayBack {
        &mut self.back
    }

    /// By what a window changes with the way back, if it does, that follows the queue.
    pub(super) fn takes_along(&mut self, follows: bool) -> Option<f64> {
        let (base, usual) = (self.base(), self.usual());
        self.back.takes_along(follows, base, usual / 2)
    }

    /// The path is so much longer than it was.
    pub(super) fn lengthen(&mut self, by: Span) {
        self.base = self.base.map(|base| base + by);
        (self.before, self.still) = (Span::ZERO, 0);
    }

    /// Something passes that cannot wait, or nothing does.
    pub(super) const fn set_low(&mut self, is_low: bool) {
        self.is_low = is_low;
    }

    /// What shall stand in the queue.
    pub(super) fn target(&self) -> Span {
        if self.is_low { self.shall(LOW_SHARE, LOW_SPREAD) } else { self.usual() }
    }

    /// What shall stand in the queue as a rule, so that the path never runs dry: queues that differ by less are alike.
    pub(super) fn usual(&self) -> Span {
        self.shall(TARGET_SHARE, SPREAD_SHARE)
    }

    /// The target where round trips do not differ by themselves.
    pub(super) fn smallest(&self) -> Span {
        (self.base() / TARGET_SHARE).max(TARGET_LEAST)
    }

    /// A short queue is long at once, and differs within the interval by no more than what may have drained of the one before: one
    /// that grows while the path carries less, or somebody else comes, differs by more.
    pub(super) fn is_sudden(&self, queues: Queues) -> bool {
        let (usual, step) = (self.usual(), queues.step());
        let differ = queues.longest.saturating_sub(queues.shortest);
        let is_long = step > self.smallest() * SUDDEN && step * 2 > usual * 3;
        is_long && queues.before <= usual * 2 && differ <= queues.before + usual
    }

    fn shall(&self, share: u64, of_spread: (u64, u64)) -> Span {
        let base = self.base();
        let least = (base / share).max(TARGET_LEAST);
        let most = (base / TARGET_MOST_SHARE).max(TARGET_MOST);
        self.spread.mul_div(of_spread.0, of_spread.1).max(least).min(most)
    }

    /// A queue is so long that its sender knows what the path carries, and that nothing else matters.
    pub(super) fn is_deep(&self, queue: Span) -> bool {
        queue > (self.base() / 2).max(self.usual() * 4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Play;

    #[test]
    fn once_the_receiver_tells_no_more_round_trips_are_all_that_counts() {
        let mut path = Play::new("steady", &[]).path;
        let mut delay = Delay::default();
        let mut interval = |back, micros| {
            path.return_delay = back;
            path.latest_rtt = Span::from_micros(micros);
            path.min_rtt = path.min_rtt.min(path.latest_rtt);
            delay.measure(&path);
            delay.take(true);
            (delay.base(), delay.trip(), delay.queue(&path))
        };
        // Its clock is 60 ms ahead of what it was, and an upload's queue of 4 ms is on the way back.
        let ahead = |micros: i64| Some(OneWayDelay::from_nanos(60_000_000 + 1_000 * micros));
        interval(ahead(0), 2_100);
        interval(ahead(4_000), 6_100);
        let trip = Span::from_micros(1_900);
        assert_eq!(interval(None, 1_900), (trip, trip, Span::ZERO));
    }
}
