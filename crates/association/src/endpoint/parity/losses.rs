//! How many datagrams get lost: the receiver counts what comes and tells, the sender draws its conclusion.

use bentpipe_units::{Instant, Span};

use crate::secure::Index;

/// So many datagrams with content are worth a message, if the last one was some time ago.
const MANY: u32 = 64;
/// Shortest time between two messages.
const PAUSE: Span = Span::from_millis(250);
/// Even few datagrams are told of after this time.
const LATEST: Span = Span::from_secs(1);
/// Datagrams after which the past counts a third.
const MEMORY: f64 = 4096.0;
/// The share of losses that is noticed, and the one that is forgotten again.
const NOTICED: f64 = 0.002;
const FORGOTTEN: f64 = 0.001;
/// What a path is taken for of which nothing is known: so many lost of so many sent. Some hundred datagrams
/// outweigh it.
const UNKNOWN: (f64, f64) = (1.0, 100.0);
/// So much may get lost of a path of which little is known, and so many datagrams more than were.
const WORST: f64 = 0.1;
const UNSEEN: f64 = 3.0;
/// How far the losses of reports may differ more than those of single datagrams would, and what that is taken for of a path of
/// which nothing is known, in losses.
const DISPERSED: f64 = 32.0;
const SINGLE: f64 = 4.0;
/// Fewer losses show nothing.
const LOST_MIN: f64 = 2.0;

/// What has come under one set of keys, in 32 bits each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::endpoint) struct Received {
    /// One more than the highest number.
    pub(in crate::endpoint) next: u32,
    /// How many came.
    pub(in crate::endpoint) count: u32,
}

/// The losses of one association, both directions.
#[derive(Debug)]
pub(super) struct Losses {
    keys: Option<Index>,
    received: Received,
    /// Datagrams with content that the peer was not told of, and since when.
    unreported: u32,
    unreported_since: Option<Instant>,
    reported_at: Option<Instant>,
    /// What the peer said last.
    reported: Received,
    sent: f64,
    lost: f64,
    /// What is left in them of what the path was taken for.
    unknown: f64,
    /// The squares of how far the losses of reports differed from the share, and what they would be of single losses.
    squares: [f64; 2],
    noticed: bool,
}

impl Default for Losses {
    fn default() -> Self {
        let (lost, sent) = UNKNOWN;
        Self {
            keys: None,
            received: Received::default(),
            unreported: 0,
            unreported_since: None,
            reported_at: None,
            reported: Received::default(),
            sent,
            lost,
            unknown: 1.0,
            squares: [SINGLE; 2],
            noticed: true,
        }
    }
}

impl Losses {
    /// A datagram of this number came.
    pub(super) fn saw(&mut self, now: Instant, keys: Index, number: u64, content: bool) {
        if self.keys != Some(keys) {
            self.keys = Some(keys);
            self.received = Received { next: number as u32, count: number as u32 };
        }
        let next = (number as u32).wrapping_add(1);
        if next.wrapping_sub(self.received.next) < u32::MAX / 2 {
            self.received.next = next;
        }
        self.received.count = self.received.count.wrapping_add(1);
        if content {
            self.unreported += 1;
            self.unreported_since.get_or_insert(now);
        }
    }

    /// What to tell the peer now.
    pub(super) fn news(&mut self, now: Instant) -> Option<Received> {
        let due = self.due()?;
        (due <= now).then(|| {
            (self.unreported, self.unreported_since, self.reported_at) = (0, None, Some(now));
            self.received
        })
    }

    /// When there will be something to tell; in the past if there is now.
    pub(super) fn due(&self) -> Option<Instant> {
        let latest = self.unreported_since? + LATEST;
        let soon = self.reported_at.map_or(Instant::ZERO, |at| at + PAUSE);
        Some(if self.unreported >= MANY { soon.min(latest) } else { latest })
    }

    /// The peer tells what it received.
    pub(super) fn report(&mut self, received: Received) {
        let sent = received.next.wrapping_sub(self.reported.next);
        let came = received.count.wrapping_sub(self.reported.count);
        // Less than before, or more than can be: other keys, or a message that came late.
        let plausible = sent < 1 << 24 && came < 1 << 24;
        self.reported = received;
        if !plausible {
            return;
        }
        let (sent, came) = (f64::from(sent), f64::from(came));
        let keep = MEMORY / (MEMORY + sent);
        self.sent = self.sent * keep + sent;
        self.unknown *= keep;
        // Negative when what was late comes after all.
        self.lost = (self.lost * keep + sent - came).max(0.0);
        let share = self.share();
        let [seen, single] = self.squares;
        let (differs, of_single) = (sent - came - sent * share, sent * share * (1.0 - share));
        self.squares = [seen * keep + differs * differs, single * keep + of_single];
        self.noticed = if self.noticed {
            share >= FORGOTTEN
        } else {
            share >= NOTICED && self.lost >= LOST_MIN
        };
    }

    /// Losses are worth protection.
    pub(super) const fn are_noticed(&self) -> bool {
        self.noticed
    }

    /// The share of datagrams that get lost.
    pub(super) fn share(&self) -> f64 {
        self.lost / self.sent
    }

    /// The share that gets lost at worst, as far as the peer's reports tell: where a hundred datagrams came it may be 3 %, of which
    /// one hundred in twenty loses none.
    pub(super) fn worst(&self) -> f64 {
        let (lost, sent) = self.counted();
        ((lost + UNSEEN) / sent.max(1.0)).min(WORST).max(self.share())
    }

    /// How many times as much the number of losses varies as if each datagram were lost by itself: bursts of ten make it nineteen.
    pub(super) fn dispersion(&self) -> f64 {
        let [seen, single] = self.squares;
        (seen / single.max(1.0)).clamp(1.0, DISPERSED)
    }

    /// The share of datagrams that got lost as the peer's reports have it, without what the path is taken
    /// for before; `None` before the first.
    pub(super) fn measured(&self) -> Option<f64> {
        let (lost, sent) = self.counted();
        (sent > 0.0).then(|| (lost / sent).clamp(0.0, 1.0))
    }

    /// What was lost, and of how many, without what the path is taken for before.
    fn counted(&self) -> (f64, f64) {
        let (lost, sent) = UNKNOWN;
        ((self.lost - lost * self.unknown).max(0.0), self.sent - sent * self.unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: Index = Index::new(1);

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Span::from_millis(millis)
    }

    #[test]
    fn many_datagrams_are_told_of_soon_and_few_after_a_second_and_nothing_of_no_content() {
        let mut losses = Losses::default();
        losses.saw(at(0), KEYS, 0, false);
        assert_eq!(losses.due(), None);
        losses.saw(at(5), KEYS, 1, true);
        assert_eq!(losses.due(), Some(at(1005)));
        for number in 3..67 {
            losses.saw(at(6), KEYS, number, true);
        }
        assert_eq!(losses.news(at(6)), Some(Received { next: 67, count: 66 }));
        assert_eq!(losses.due(), None);
        for number in 67..131 {
            losses.saw(at(7), KEYS, number, true);
        }
        assert_eq!((losses.news(at(255)), losses.due()), (None, Some(at(256))));
    }

    #[test]
    fn new_keys_begin_with_nothing_lost() {
        let mut losses = Losses::default();
        losses.saw(at(0), KEYS, 500, true);
        losses.saw(at(0), Index::new(2), 3, true);
        assert_eq!(losses.news(at(2000)), Some(Received { next: 4, count: 4 }));
    }

    #[test]
    fn losses_are_noticed_when_they_are_many_and_forgotten_when_they_end() {
        let mut losses = Losses::default();
        losses.report(Received { next: 2000, count: 2000 });
        assert!(!losses.are_noticed());
        losses.report(Received { next: 3000, count: 2990 });
        assert!(losses.are_noticed());
        assert!((losses.share() - 0.004).abs() < 0.001, "{}", losses.share());
        let mut received = Received { next: 3000, count: 2990 };
        let forgotten = (0..20).any(|_| {
            received.next += 1000;
            received.count += 1000;
            losses.report(received);
            !losses.are_noticed()
        });
        assert!(forgotten);
    }

    #[test]
    fn a_path_of_which_nothing_is_known_is_taken_for_lossy_for_some_hundred_datagrams() {
        let mut losses = Losses::default();
        losses.report(Received { next: 100, count: 100 });
        assert!(losses.are_noticed());
        losses.report(Received { next: 1100, count: 1100 });
        assert!(!losses.are_noticed());
    }

    #[test]
    fn what_is_measured_has_nothing_of_what_was_assumed() {
        let mut losses = Losses::default();
        assert_eq!(losses.measured(), None);
        losses.report(Received { next: 100, count: 100 });
        assert_eq!(losses.measured(), Some(0.0));
        losses.report(Received { next: 200, count: 190 });
        let measured = losses.measured().expect("a share");
        assert!((measured - 0.05).abs() < 0.002, "{measured}");
    }

    #[test]
    fn little_that_was_lost_of_little_shows_less_than_nothing_of_much() {
        let mut losses = Losses::default();
        assert_eq!(losses.worst(), WORST);
        let mut worst = Vec::new();
        for count in [50, 100, 1_000, 4_000] {
            losses.report(Received { next: count, count });
            worst.push((1e3 * losses.worst()).round());
        }
        assert_eq!(worst, [60.0, 30.0, 3.0, 1.0]);
        losses.report(Received { next: 6_000, count: 5_800 });
        assert!((1.0..1.05).contains(&(losses.worst() / losses.share())), "{}", losses.worst());
    }

    #[test]
    fn losses_in_bursts_vary_more_than_single_ones() {
        let dispersion = |lost: &dyn Fn(u32) -> u32| {
            let mut losses = Losses::default();
            let (mut next, mut count) = (0, 0);
            for n in 0..200 {
                (next, count) = (next + 200, count + 200 - lost(n));
                losses.report(Received { next, count });
            }
            losses.dispersion()
        };
        // Ten in each report and three more or less, and forty in each fourth one.
        assert!(dispersion(&|n| [7, 13][n as usize % 2]) < 1.1);
        assert!((20.0..=32.0).contains(&dispersion(&|n| [0, 0, 0, 40][n as usize % 4])));
        assert_eq!(dispersion(&|_| 0), 1.0);
    }

    #[test]
    fn a_report_from_before_changes_nothing() {
        let mut losses = Losses::default();
        losses.report(Received { next: 1000, count: 900 });
        let before = losses.share();
        losses.report(Received { next: 10, count: 10 });
        assert_eq!(losses.share().to_bits(), before.to_bits());
    }
}
