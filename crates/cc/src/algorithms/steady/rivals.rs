//! Those who fill the queue: whether they were there not long ago, and whether they answer losses.
//!
//! CUBIC and Reno leave room after a loss, so that the queue is shorter for a while. Beside BBR, which answers no loss, it is as
//! long again at once, or overflows before the window is back where it was.

use bentpipe_units::{Instant, Span};

/// They may come back for so long after the queue was empty. BBR empties it for a moment every 10 s, and CUBIC fills it within 20 s
/// where a round trip takes 600 ms.
const KNOWN_FOR: Span = Span::from_secs(20);
/// Who is back within so many round trips had left for a moment only.
const BACK_TRIPS: u64 = 16;
/// What became of a loss shows in these intervals after it, by the median of their round trips.
const FROM: usize = 3;
const UNTIL: usize = 8;
/// Round trips that stay above this part of the one at the loss: nobody left room but this sender.
const STAYS: f64 = 0.93;
/// So many losses in a row that nobody else answered.
const UNANSWERED: u32 = 2;
/// So many in a row that no number of senders leaves unanswered, each of which answers its own.
const NEVER: u32 = 10;
/// Beside those who answer none the window is cut once in so many round trips at most.
const CUT_TRIPS: u64 = 128;
/// Who answered losses though it did not seem so is not suspected again for so long, each time for twice as long.
const AGAIN: Span = Span::from_secs(60);
const RARELY: Span = Span::from_secs(600);

/// What is known of them.
#[derive(Debug, Default)]
pub(super) struct Rivals {
    /// When the queue that they had filled was empty.
    left: Option<Instant>,
    /// When this sender stopped to contend with them because it was.
    ended: Option<Instant>,
    /// When it was full again soon after that.
    back: Option<Instant>,
    /// When this sender contended with them last.
    contended: Option<Instant>,
    lost: Option<Lost>,
    unanswered: u32,
    cut: Option<Instant>,
    /// Before this nobody is suspected of it.
    not_before: Instant,
    /// For so long, if they were misjudged the last time.
    again: Span,
}

/// The last loss.
#[derive(Debug)]
struct Lost {
    at: Instant,
    /// The round trip then.
    trip: Span,
    /// Round trips of the intervals after it.
    trips: Vec<Span>,
}

impl Lost {
    /// Whether nobody left room, where something is lost again. The window of this sender is back where it was after `recovers`.
    fn is_unanswered(&self, now: Instant, recovers: Span) -> bool {
        let stays = || {
            let mut trips = self.trips.get(FROM..UNTIL).unwrap_or_default().to_vec();
            trips.sort_unstable();
            let median = trips.get(trips.len() / 2).copied().unwrap_or_default();
            median.as_secs_f64() >= STAYS * self.trip.as_secs_f64()
        };
        now.since(self.at) < recovers || stays()
    }
}

impl Rivals {
    /// Somebody fills the queue from now on.
    pub(super) fn fill(&mut self, now: Instant, base: Span) {
        if !self.are_known(now) {
            let (not_before, again) = (self.not_before, self.again);
            *self = Self { not_before, again, ..Self::default() };
        }
        if self.left.is_some_and(|at| now.since(at) < base * BACK_TRIPS) {
            self.back = Some(now);
        }
        self.lost = None;
    }

    /// The queue is empty.
    pub(super) const fn leave(&mut self, now: Instant) {
        self.left = Some(now);
    }

    /// They were none.
    pub(super) const fn forget(&mut self) {
        (self.left, self.ended) = (None, None);
    }

    /// It is, and this sender contends no more.
    pub(super) const fn end(&mut self, now: Instant) {
        self.leave(now);
        self.ended = Some(now);
    }

    /// Whether a queue of now is theirs with whom this sender contended a moment ago.
    pub(super) fn return_soon(&self, now: Instant, base: Span) -> bool {
        self.ended.is_some_and(|at| now.since(at) < base * BACK_TRIPS)
    }

    /// This sender contended with somebody not long ago.
    pub(super) fn were_contended_with(&self, now: Instant, base: Span) -> bool {
        self.contended.is_some_and(|at| now.since(at) < base * BACK_TRIPS)
    }

    /// They filled the queue not long ago.
    pub(super) fn are_known(&self, now: Instant) -> bool {
        self.left.is_some_and(|at| now.since(at) < KNOWN_FOR)
    }

    /// An interval ended in which this sender contended with them and no round trip was shorter.
    pub(super) fn look(&mut self, now: Instant, trip: Span) {
        self.contended = Some(now);
        if let Some(lost) = self.lost.as_mut().filter(|lost| lost.trips.len() < UNTIL) {
            lost.trips.push(trip);
        }
    }

    /// Something was lost in a round trip of that length, by a window that is back where it was after `recovers`.
    pub(super) fn lose(&mut self, now: Instant, trip: Span, recovers: Span) {
        if let Some(before) = self.lost.take() {
            let is_unanswered = before.is_unanswered(now, recovers);
            self.unanswered = if is_unanswered { self.unanswered + 1 } else { 0 };
        }
        self.lost = Some(Lost { at: now, trip, trips: Vec::new() });
    }

    /// A smaller window would leave them more room and the queue as long.
    pub(super) fn answer_no_loss(&self, now: Instant) -> bool {
        let is_back = self.back.is_some_and(|at| now.since(at) < KNOWN_FOR);
        is_back && self.unanswered >= UNANSWERED && now >= self.not_before
    }

    /// Neither they nor anybody else who may be there answers any loss.
    pub(super) fn never_answer(&self, now: Instant) -> bool {
        self.unanswered >= NEVER && self.answer_no_loss(now)
    }

    /// It is to be seen anew whether they answer, from then on.
    pub(super) fn rest(&mut self, until: Instant) {
        (self.unanswered, self.lost) = (0, None);
        (self.not_before, self.again) = (until, Span::ZERO);
    }

    /// They were taken for some who answer no loss, and answer.
    pub(super) fn misjudged(&mut self, now: Instant) {
        let again = (self.again * 2).clamp(AGAIN, RARELY);
        self.rest(now + again);
        self.again = again;
    }

    /// Whether the window is cut for a loss that they do not answer.
    pub(super) fn want_cut(&mut self, now: Instant, base: Span) -> bool {
        let wants = self.cut.is_none_or(|at| now.since(at) > base * CUT_TRIPS);
        if wants {
            self.cut = Some(now);
        }
        wants
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: Span = Span::from_millis(50);
    const FULL: Span = Span::from_millis(100);
    const RECOVERS: Span = Span::from_secs(2);

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Span::from_millis(millis)
    }

    /// Losses `apart` in milliseconds, after each of which round trips are so much shorter than at the loss for all intervals that
    /// fit in between; the queue was empty for a moment a second before the first one.
    fn after_losses(apart: u64, part: f64) -> Rivals {
        let mut rivals = Rivals::default();
        rivals.leave(at(9_000));
        rivals.fill(at(9_500), BASE);
        for loss in 0..3 {
            rivals.lose(at(10_000 + loss * apart), FULL, RECOVERS);
            (0..apart / 50).for_each(|_| rivals.look(at(19_000), FULL.mul_f64(part)));
        }
        rivals
    }

    #[test]
    fn who_leaves_no_room_after_a_loss_answers_none() {
        let now = at(17_000);
        assert!(after_losses(3_000, 0.97).answer_no_loss(now), "the queue stays as long");
        assert!(after_losses(1_000, 0.8).answer_no_loss(now), "it overflows again at once");
        assert!(!after_losses(3_000, 0.8).answer_no_loss(now), "there was room for a while");
    }

    #[test]
    fn room_that_was_left_for_a_moment_only_is_none() {
        let mut rivals = after_losses(3_000, 0.97);
        rivals.lose(at(19_000), FULL, RECOVERS);
        for interval in 0..UNTIL {
            rivals.look(at(19_000), if interval == 5 { BASE } else { FULL });
        }
        rivals.lose(at(22_000), FULL, RECOVERS);
        assert!(rivals.answer_no_loss(at(22_000)));
    }

    #[test]
    fn one_loss_that_is_answered_ends_it() {
        let mut rivals = after_losses(3_000, 0.97);
        (0..UNTIL).for_each(|_| rivals.look(at(19_000), FULL));
        rivals.lose(at(19_000), FULL, RECOVERS);
        (0..UNTIL).for_each(|_| rivals.look(at(19_000), FULL.mul_f64(0.8)));
        rivals.lose(at(22_000), FULL, RECOVERS);
        assert!(!rivals.answer_no_loss(at(22_000)));
    }

    #[test]
    fn many_who_answer_one_after_the_other_are_not_taken_for_one_who_answers_none() {
        // The queue has never been empty for a moment.
        let mut rivals = Rivals::default();
        rivals.fill(at(9_500), BASE);
        (0..5).for_each(|loss| rivals.lose(at(10_000 + loss * 500), FULL, RECOVERS));
        assert!(!rivals.answer_no_loss(at(12_500)));
        // It was, and it took them long to fill it again.
        rivals.leave(at(13_000));
        rivals.fill(at(14_000), BASE);
        (0..5).for_each(|loss| rivals.lose(at(15_000 + loss * 500), FULL, RECOVERS));
        assert!(!rivals.answer_no_loss(at(17_500)));
    }

    #[test]
    fn they_are_forgotten_when_the_queue_was_not_empty_for_a_while() {
        let mut rivals = after_losses(3_000, 0.97);
        assert!(rivals.are_known(at(20_000)) && rivals.answer_no_loss(at(20_000)));
        assert!(!rivals.are_known(at(30_000)) && !rivals.answer_no_loss(at(30_000)));
        rivals.fill(at(30_000), BASE);
        rivals.leave(at(31_000));
        rivals.fill(at(31_100), BASE);
        assert!(rivals.are_known(at(31_100)) && !rivals.answer_no_loss(at(31_100)));
    }

    #[test]
    fn a_queue_that_is_back_soon_is_theirs_if_it_was_contended_for() {
        let mut rivals = Rivals::default();
        rivals.leave(at(1_000));
        assert!(!rivals.return_soon(at(1_100), BASE), "nobody contended");
        rivals.end(at(2_000));
        assert!(rivals.return_soon(at(2_700), BASE) && rivals.are_known(at(2_700)));
        assert!(!rivals.return_soon(at(2_800), BASE));
    }

    #[test]
    fn who_was_contended_with_may_have_left_for_a_moment_only() {
        let mut rivals = Rivals::default();
        assert!(!rivals.were_contended_with(at(1_000), BASE));
        rivals.fill(at(1_000), BASE);
        rivals.look(at(1_050), FULL);
        rivals.look(at(2_000), FULL);
        rivals.end(at(2_000));
        assert!(rivals.were_contended_with(at(2_750), BASE));
        assert!(!rivals.were_contended_with(at(2_850), BASE));
    }

    #[test]
    fn beside_those_who_answer_none_the_window_is_cut_rarely() {
        let mut rivals = Rivals::default();
        let cuts = (0..200).filter(|n| rivals.want_cut(at(n * 100), BASE)).collect::<Vec<_>>();
        assert_eq!(cuts, [0, 65, 130, 195]);
    }

    #[test]
    fn who_was_misjudged_is_suspected_ever_more_rarely() {
        let mut rivals = Rivals::default();
        let mut from = 0;
        let mut waits = Vec::new();
        for _ in 0..6 {
            let unanswered = |rivals: &mut Rivals, at_second: u64| {
                rivals.leave(at(1000 * at_second));
                rivals.fill(at(1000 * at_second + 100), BASE);
                (0..3).for_each(|n| {
                    rivals.lose(at(1000 * at_second + 200 * (n + 1)), FULL, RECOVERS);
                });
                rivals.answer_no_loss(at(1000 * at_second + 800))
            };
            let found = (from..).find(|&second| unanswered(&mut rivals, second)).expect("a time");
            waits.push(found - from);
            rivals.misjudged(at(1000 * found));
            from = found;
        }
        assert_eq!(waits, [0, 60, 120, 240, 480, 600]);
        rivals.rest(at(1000 * from));
        rivals.misjudged(at(1000 * from));
        assert_eq!(rivals.again, AGAIN, "there was somebody who answers none");
    }
}
