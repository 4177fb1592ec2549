//! Which path a datagram takes: that of a call the nearest one, and one of bulk whichever has room first, once more waits
//! than nearer ones carry. A flow that uses a far path as well as a near one has the round trip of the far one: that is
//! worth it where the far one carries more.

use bentpipe_units::{BitRate, Instant, Span};

/// Most paths of a tunnel: what is sent by each names it in three bits.
pub(crate) const PATHS: usize = 8;
/// Of a path that is farther than the nearest one by some time what waits is watched for so many times as long, and no
/// shorter than this. A path that costs is watched for a second at least.
const WATCHED: u64 = 4;
const WATCHED_MIN: Span = Span::from_millis(20);
const WATCHED_COSTLY: Span = Span::from_secs(1);
/// It takes part once something has waited for the first part of that time, as the nearest one is full; until all together
/// carry less than the second part of what that one carried.
const JOINS: f64 = 0.9;
const LEAVES: f64 = 0.8;
/// Where each byte costs the nearest one is left less to spare.
const LEAVES_COSTLY: f64 = 0.95;
/// A path that is farther by less than a quarter of the nearest one's round trip is beside it.
const BESIDE: u64 = 4;
/// Another path is the nearest one once its round trip is less than this part, in quarters, of the one before.
const NEARER: u64 = 3;
/// A round trip that nobody knows.
pub(crate) const UNKNOWN: Span = Span::from_secs(1);

/// What is known of a path besides what its packets tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathPlan {
    /// The round trip as somebody else has measured it.
    pub round_trip: Option<Span>,
    /// What it carries, as far as is known.
    pub rate: Option<BitRate>,
    /// It carries only what others do not, as it costs.
    pub spills: bool,
}

/// A path that works.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    pub(crate) path: usize,
    pub(crate) round_trip: Option<Span>,
    pub(crate) rate: Option<BitRate>,
    pub(crate) spills: bool,
    /// Nothing of what was sent by it is answered any more.
    pub(crate) is_stalled: bool,
}

impl Candidate {
    fn round_trip(&self) -> Span {
        self.round_trip.unwrap_or(UNKNOWN)
    }
}

/// What is watched of a path.
#[derive(Clone, Copy, Debug, Default)]
struct Watched {
    since: Instant,
    /// How long something had waited by then, and what was sent by each path.
    waited: Span,
    sent: [u64; PATHS],
    carries: bool,
    /// Until when receivers may not know that it does.
    joins_until: Instant,
    /// It is hardly farther than the nearest one.
    is_beside: bool,
    /// The most that the nearest path carried in such a time, in bytes a second, and which one it is.
    most: f64,
    nearest: usize,
}

/// Who takes what.
#[derive(Debug, Default)]
pub(crate) struct Schedule {
    nearest: usize,
    /// Since when something waits, and how long something has waited in all before that.
    waits_since: Option<Instant>,
    waited: Span,
    /// Bytes that were sent by each path.
    sent: [u64; PATHS],
    watched: [Watched; PATHS],
}

impl Schedule {
    /// The path of those who cannot wait.
    pub(crate) const fn nearest(&self) -> usize {
        self.nearest
    }

    /// Whether a path takes part in what waits.
    pub(crate) const fn carries(&self, path: usize) -> bool {
        path == self.nearest || self.watched[path].carries
    }

    /// Whether a path is hardly farther than the nearest one, so that calls may take it as well.
    pub(crate) const fn is_beside(&self, path: usize) -> bool {
        path == self.nearest || self.watched[path].is_beside
    }

    /// Whether a path takes part of which the receiver may not have heard yet.
    pub(crate) fn has_joined(&self, now: Instant) -> bool {
        self.watched.iter().any(|watched| watched.carries && now < watched.joins_until)
    }

    /// Something waits from now on, or nothing does.
    pub(crate) fn set_waits(&mut self, now: Instant, waits: bool) {
        match (waits, self.waits_since) {
            (true, None) => self.waits_since = Some(now),
            (false, Some(since)) => {
                self.waited = self.waited + now.since(since);
                self.waits_since = None;
            }
            _ => {}
        }
    }

    /// So many bytes were sent by a path.
    pub(crate) const fn sent(&mut self, path: usize, bytes: u64) {
        self.sent[path] += bytes;
    }

    /// Time for which something has waited in all.
    fn waited(&self, now: Instant) -> Span {
        self.waited + self.waits_since.map_or(Span::ZERO, |since| now.since(since))
    }

    /// Decides anew, after what is known of the paths that work, the one first that is used where nothing else counts. What is
    /// late by more than `useful` is of no use.
    pub(crate) fn decide(&mut self, now: Instant, useful: Option<Span>, paths: &[Candidate]) {
        self.choose_nearest(paths);
        let Some(nearest) = paths.iter().find(|path| path.path == self.nearest) else { return };
        let (waited, sent) = (self.waited(now), self.sent);
        for path in paths.iter().filter(|path| path.path != nearest.path) {
            let watched = &mut self.watched[path.path];
            if path.is_stalled {
                *watched = Watched { since: now, waited, sent, ..Watched::default() };
                continue;
            }
            let farther = path.round_trip().saturating_sub(nearest.round_trip()) / 2;
            watched.is_beside = farther <= nearest.round_trip() / BESIDE && !path.spills;
            let least = if path.spills { WATCHED_COSTLY } else { WATCHED_MIN };
            let span = now.since(watched.since);
            if span < (farther * WATCHED).max(least) {
                continue;
            }
            let before =
                std::mem::replace(watched, Watched { since: now, waited, sent, ..*watched });
            let each = |of: f64| of / span.as_secs_f64();
            let bytes = |path: usize| each((sent[path] - before.sent[path]) as f64);
            let carried = bytes(nearest.path);
            // Whoever waits for what is that far behind waits for a round trip of the nearest path more.
            let is_near = farther <= nearest.round_trip();
            let is_worth = path.rate.is_some_and(|rate| rate.as_bps() as f64 > 8.0 * carried);
            let is_other = before.nearest != nearest.path;
            watched.nearest = nearest.path;
            watched.most =
                if is_other || !before.carries { carried } else { before.most.max(carried) };
            let is_late = useful.is_some_and(|useful| farther > useful);
            let leaves = if path.spills { LEAVES_COSTLY } else { LEAVES };
            watched.carries = if is_late || !is_near && !is_worth {
                false
            } else if before.carries {
                (0..PATHS).map(bytes).sum::<f64>() >= leaves * watched.most
            } else {
                each(waited.saturating_sub(before.waited).as_secs_f64()) >= JOINS
            };
            if watched.carries && !before.carries {
                watched.joins_until = now + path.round_trip() * 2;
            }
        }
    }

    /// The only path takes all.
    pub(crate) const fn choose_alone(&mut self, path: usize) {
        self.nearest = path;
    }

    fn choose_nearest(&mut self, paths: &[Candidate]) {
        let rank = |path: &Candidate| (path.is_stalled, path.spills);
        let Some(best) = paths.iter().map(rank).min() else { return };
        let mut among = paths.iter().filter(|path| rank(path) == best);
        let known = among.clone().find(|path| path.path == self.nearest);
        let Some(mut nearest) = known.or_else(|| among.next()) else { return };
        for path in paths.iter().filter(|path| rank(path) == best) {
            if path.round_trip() < nearest.round_trip() * NEARER / 4 {
                nearest = path;
            }
        }
        self.nearest = nearest.path;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEAR: Candidate = candidate(3, 50);
    const FAR: Candidate = candidate(1, 600);

    const fn candidate(path: usize, millis: u64) -> Candidate {
        let round_trip = Some(Span::from_millis(millis));
        let rate = Some(BitRate::from_bps(2_000_000));
        Candidate { path, round_trip, rate, spills: false, is_stalled: false }
    }

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Span::from_millis(millis)
    }

    #[test]
    fn the_nearest_path_that_works_and_costs_nothing_is_taken_and_kept_for_a_little() {
        let mut schedule = Schedule::default();
        let mut nearest = |paths: &[Candidate]| {
            schedule.decide(at(0), None, paths);
            schedule.nearest()
        };
        let unknown = Candidate { round_trip: None, ..FAR };
        assert_eq!(nearest(&[unknown]), 1);
        assert_eq!(nearest(&[unknown, NEAR]), 3);
        assert_eq!(nearest(&[FAR, NEAR, candidate(2, 40)]), 3, "not much nearer");
        assert_eq!(nearest(&[FAR, NEAR, candidate(2, 30)]), 2);
        assert_eq!(nearest(&[FAR, Candidate { is_stalled: true, ..NEAR }]), 1);
        assert_eq!(nearest(&[FAR, Candidate { spills: true, ..NEAR }]), 1);
        assert_eq!(nearest(&[Candidate { spills: true, ..NEAR }]), 3, "there is nothing else");
        assert_eq!(nearest(&[]), 3);
    }

    /// For so many seconds something waits for this part of each 10 ms, and so many bytes are sent in them by path 3.
    fn go(
        schedule: &mut Schedule,
        (from, secs): (u64, u64),
        (part, bytes): (u64, u64),
        paths: &[Candidate],
    ) {
        for step in 0..secs * 100 {
            let now = from * 1_000 + step * 10;
            schedule.set_waits(at(now), true);
            schedule.decide(at(now), None, paths);
            schedule.sent(3, bytes);
            schedule.set_waits(at(now + part / 10), part == 100);
            schedule.decide(at(now + part / 10), None, paths);
        }
    }

    #[test]
    fn a_farther_path_takes_part_once_the_nearest_one_is_full_until_that_is_enough() {
        let mut schedule = Schedule::default();
        let paths = [NEAR, FAR];
        go(&mut schedule, (0, 3), (60, 700), &paths);
        assert!(schedule.carries(3) && !schedule.carries(1));
        go(&mut schedule, (3, 1), (100, 1_000), &paths);
        assert!(!schedule.carries(1), "not for long enough");
        go(&mut schedule, (4, 2), (100, 1_000), &paths);
        assert!(schedule.carries(1));
        schedule.sent(1, 100_000);
        go(&mut schedule, (6, 4), (10, 900), &paths);
        assert!(schedule.carries(1), "nothing waits, as both carry it");
        go(&mut schedule, (10, 4), (10, 700), &paths);
        assert!(!schedule.carries(1));
    }

    #[test]
    fn a_far_path_that_carries_less_than_the_nearest_takes_no_part_and_one_as_near_does() {
        for (slow, takes_part) in [(FAR, false), (candidate(1, 150), true)] {
            for rate in [Some(BitRate::from_bps(500_000)), None] {
                let mut schedule = Schedule::default();
                go(&mut schedule, (0, 9), (100, 1_000), &[NEAR, Candidate { rate, ..slow }]);
                assert_eq!(schedule.carries(1), takes_part, "{slow:?}");
            }
        }
    }

    #[test]
    fn one_that_is_as_near_takes_part_at_once_unless_it_costs_and_never_while_it_stalls() {
        let beside = candidate(2, 60);
        for (second, at_once, later) in [
            (beside, true, true),
            (Candidate { spills: true, ..beside }, false, true),
            (Candidate { is_stalled: true, ..beside }, false, false),
        ] {
            let mut schedule = Schedule::default();
            go(&mut schedule, (0, 1), (10, 100), &[NEAR, second]);
            assert!(!schedule.carries(2));
            schedule.set_waits(at(1_000), true);
            for now in (1_000..1_050).step_by(10) {
                schedule.decide(at(now), None, &[NEAR, second]);
            }
            assert_eq!(schedule.carries(2), at_once, "{second:?}");
            go(&mut schedule, (2, 3), (100, 1_000), &[NEAR, second]);
            assert_eq!(schedule.carries(2), later, "{second:?}");
        }
    }
}
