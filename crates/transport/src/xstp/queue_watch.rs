//! Whether a loss looks like bit errors or like a full queue, from the round trips around it.
//!
//! A queue that drops is full, and round trips are then as long as they ever get; bit errors strike at any
//! time. The rule is this project's own, after the spike scheme of Biaz and Vaidya (GLOBECOM 1999).

use bentpipe_cc::ReturnPath;
use bentpipe_units::{Instant, OneWayDelay, Span};

use super::return_delay::{Received, ReturnDelay};

/// Round trips are compared with those of at least this long ago and at most twice as long: paths change.
const MEMORY: Span = Span::from_secs(60);
/// The longest round trip is one that nothing undercut for so long: what is longer is a host that was late.
const PATIENCE: Span = Span::from_millis(200);
/// A queue is at least this share of the shortest round trip.
const SHALLOW: u64 = 8;
/// Differences below this are the jitter of hosts.
const JITTER: Span = Span::from_millis(4);
/// Where more than one of so many segments was lost, something else than bit errors is to blame.
const TOO_MANY: u64 = 5;
/// Segments without which a share of losses means nothing.
const FEW: u64 = 64;

/// The shortest and the longest round trip of some time.
#[derive(Clone, Copy, Debug)]
struct Extremes {
    shortest: Span,
    longest: Span,
}

impl Extremes {
    const NONE: Self = Self { shortest: Span::MAX, longest: Span::ZERO };
}

/// What is known of the queue on the path.
#[derive(Debug)]
pub(super) struct QueueWatch {
    now: Extremes,
    before: Extremes,
    since: Instant,
    latest: Span,
    /// The same without what waited on the way back.
    there: Span,
    /// The shortest round trip since a time not long ago.
    recent: (Instant, Span),
    round_began: Instant,
    /// Delivered and lost segments of this round trip and the one before.
    delivered: [u64; 2],
    lost: [u64; 2],
    /// The way back, whose queue is another one.
    return_delay: ReturnDelay,
    return_path: ReturnPath,
}

impl QueueWatch {
    /// Nothing is known.
    pub(super) fn new() -> Self {
        Self {
            now: Extremes::NONE,
            before: Extremes::NONE,
            since: Instant::ZERO,
            latest: Span::ZERO,
            there: Span::ZERO,
            recent: (Instant::ZERO, Span::MAX),
            round_began: Instant::ZERO,
            delivered: [0; 2],
            lost: [0; 2],
            return_delay: ReturnDelay::default(),
            return_path: ReturnPath::default(),
        }
    }

    /// Round trips are measured anew. The clocks of both ends are what they were.
    pub(super) fn forget(&mut self) {
        *self = Self { return_delay: self.return_delay, ..Self::new() };
        self.return_delay.follow_path();
    }

    /// What left a round trip ago was answered. Returns how long the answer took for its way.
    pub(super) fn answered(
        &mut self,
        now: Instant,
        round_trip: Span,
        received: Received,
    ) -> Option<OneWayDelay> {
        self.return_delay.measure(now, round_trip, received);
        let delay = self.return_delay.get();
        if delay.is_none() {
            self.return_path = ReturnPath::default();
        }
        self.return_path.measure(now, delay);
        delay
    }

    /// How long the latest answer took for its way, if the peer tells.
    pub(super) fn return_delay(&self) -> Option<OneWayDelay> {
        self.return_delay.get()
    }

    /// A round trip was measured.
    pub(super) fn measured(&mut self, at: Instant, round_trip: Span) {
        self.latest = round_trip;
        self.take(at, round_trip.saturating_sub(self.return_path.excess()));
    }

    /// A round trip, as it would be had nothing waited on the way back.
    fn take(&mut self, at: Instant, round_trip: Span) {
        if at.since(self.since) >= MEMORY {
            self.before = std::mem::replace(&mut self.now, Extremes::NONE);
            self.since = at;
        }
        let (since, shortest) = self.recent;
        if at.since(since) >= PATIENCE {
            if shortest < Span::MAX {
                self.now.longest = self.now.longest.max(shortest);
            }
            self.recent = (at, round_trip);
        } else {
            self.recent.1 = shortest.min(round_trip);
        }
        self.now.shortest = self.now.shortest.min(round_trip);
        self.there = round_trip;
    }

    /// A round trip of a session ended. Those of several that share the path count once.
    pub(super) fn round(&mut self, at: Instant) {
        if at.since(self.round_began) < self.latest {
            return;
        }
        self.round_began = at;
        self.delivered = [0, self.delivered[0]];
        self.lost = [0, self.lost[0]];
    }

    /// The round trip measured last.
    pub(super) fn latest(&self) -> Option<Span> {
        (!self.latest.is_zero()).then_some(self.latest)
    }

    /// So many segments were delivered.
    pub(super) const fn delivered(&mut self, segments: u64) {
        self.delivered[0] += segments;
    }

    /// So many segments are missing. True when that looks like bit errors.
    pub(super) fn lost(&mut self, segments: u64) -> bool {
        self.lost[0] += segments;
        let lost = self.lost[0] + self.lost[1];
        let sent = lost + self.delivered[0] + self.delivered[1];
        let too_many = sent >= FEW && lost * TOO_MANY > sent;
        let shortest = self.now.shortest.min(self.before.shortest);
        let longest = self.now.longest.max(self.before.longest);
        let least = (shortest / SHALLOW).max(JITTER);
        let range = longest.saturating_sub(shortest).max(least);
        let queue = self.there.saturating_sub(shortest);
        !too_many && queue * 4 < range * 3
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secs(n: u64) -> Instant {
        Instant::ZERO + Span::from_secs(n)
    }

    fn watch(round_trips: &[u64]) -> QueueWatch {
        let mut watch = QueueWatch::new();
        for (n, &millis) in round_trips.iter().enumerate() {
            watch.measured(secs(n as u64), Span::from_millis(millis));
        }
        watch.delivered(1_000);
        watch
    }

    #[test]
    fn a_loss_at_a_full_queue_is_congestion_and_one_at_a_short_queue_is_noise() {
        assert!(!watch(&[600, 700, 900]).lost(1));
        assert!(watch(&[600, 900, 700]).lost(1));
        assert!(watch(&[600, 601, 600, 601]).lost(1), "jitter is no queue");
    }

    #[test]
    fn a_host_that_was_late_once_shows_no_queue() {
        let mut watch = watch(&[600, 700]);
        for (n, millis) in [690, 2_000, 690, 690, 690].into_iter().enumerate() {
            let at = secs(3) + Span::from_millis(100 * n as u64);
            watch.measured(at, Span::from_millis(millis));
        }
        assert!(!watch.lost(1), "690 is long, 2,000 was an accident");
    }

    #[test]
    fn more_losses_than_noise_makes_are_congestion() {
        let mut watch = watch(&[600, 900, 600]);
        assert!(watch.lost(200));
        watch.round(secs(4));
        watch.delivered(100);
        assert!(!watch.lost(100), "300 of 1,400");
        watch.round(secs(5));
        watch.delivered(1_000);
        watch.round(secs(6));
        assert!(watch.lost(1));
    }

    #[test]
    fn a_longer_path_is_believed_after_a_while() {
        let mut watch = watch(&[600, 650]);
        for n in 10..200 {
            watch.measured(secs(n), Span::from_millis(if n % 2 == 0 { 900 } else { 1_000 }));
            let corrupt = watch.lost(0);
            let short = n % 2 == 0;
            // What was measured up to two minutes ago counts.
            assert!(n < 120 || corrupt == short, "{n}");
            assert!(n > 60 || !corrupt, "{n}: the old path is remembered");
        }
    }
}
