//! What the peer is known to have, acknowledged or beyond gaps, and how fast it gets it.
//!
//! A STAT names all gaps up to the POLL that it answers: the links keep order, so what was sent before
//! the POLL has arrived or is lost. The delivery rate over the flight of a POLL is that of
//! draft-cheng-iccrg-delivery-rate-estimation, with POLLs in the place of single segments.

use std::collections::VecDeque;

use bentpipe_units::{Instant, Seq32, Span};
use bentpipe_wire::xstp::Report;

use super::poll_clock::REMEMBERED;
use super::reordering::Reordering;

/// A POLL as it left.
#[derive(Debug)]
struct Polled {
    ts: u32,
    at: Instant,
    /// VT(S): everything before it had been sent.
    next: Seq32,
    /// Segments that were known to be delivered.
    delivered: u64,
    app_limited: bool,
}

/// Segments delivered while a POLL and its answer were on their way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Flight {
    pub(super) segments: u64,
    pub(super) span: Span,
    /// The application had nothing to send when the POLL left.
    pub(super) app_limited: bool,
}

/// The account of one sender.
#[derive(Debug, Default)]
pub(super) struct Delivery {
    polls: VecDeque<Polled>,
    /// Segments that were acknowledged.
    acknowledged: u64,
    /// Segments beyond VT(A) that the peer has.
    beyond: u32,
    /// The most that was known to be delivered.
    delivered: u64,
    reordering: Reordering,
}

impl Delivery {
    /// Segments beyond VT(A) that the peer has.
    #[inline]
    pub(super) const fn beyond(&self) -> u32 {
        self.beyond
    }

    /// How far segments are out of order.
    #[inline]
    pub(super) const fn reordering(&mut self) -> &mut Reordering {
        &mut self.reordering
    }

    /// A POLL leaves.
    pub(super) fn polled(&mut self, ts: u32, at: Instant, next: Seq32, app_limited: bool) {
        if self.polls.len() == REMEMBERED {
            self.polls.pop_front();
        }
        self.polls.push_back(Polled { ts, at, next, delivered: self.delivered, app_limited });
    }

    /// So many segments were acknowledged. Returns how many of them were not known to be delivered.
    pub(super) fn acknowledged(&mut self, segments: u32) -> u64 {
        self.acknowledged += u64::from(segments);
        self.beyond = self.beyond.saturating_sub(segments);
        self.news()
    }

    /// A STAT answers a POLL, after what it acknowledges was counted. Returns how many segments were not
    /// known to be delivered, and the flight of that POLL.
    pub(super) fn answered(&mut self, now: Instant, stat: &Report) -> (u64, Option<Flight>) {
        while self.polls.front().is_some_and(|poll| poll.ts != stat.ts_echo) {
            self.polls.pop_front();
        }
        let Some(poll) = self.polls.pop_front() else { return (0, None) };
        let reach =
            if poll.next.is_before(stat.next) { 0 } else { poll.next.distance_from(stat.next) };
        // Beyond a list that was cut anything may be missing.
        let listed = stat.gaps.last().filter(|_| stat.more).map(|gap| u32::from(gap.upper));
        let reach = listed.map_or(reach, |listed| reach.min(listed));
        let gaps = stat
            .gaps
            .iter()
            .map(|gap| u32::from(gap.upper).min(reach).saturating_sub(u32::from(gap.lower)));
        self.beyond = reach.saturating_sub(gaps.sum());
        let news = self.news();
        let segments = self.delivered - poll.delivered;
        let span = now.since(poll.at);
        let flight = Flight { segments, span, app_limited: poll.app_limited };
        (news, (!span.is_zero()).then_some(flight))
    }

    fn news(&mut self) -> u64 {
        let known = self.acknowledged + u64::from(self.beyond);
        let news = known.saturating_sub(self.delivered);
        self.delivered += news;
        news
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_wire::xstp::{Gap, GapList, ReportKind};

    use super::*;

    fn ms(n: u64) -> Instant {
        Instant::from_nanos(n * 1_000_000)
    }

    fn stat(ts_echo: u32, next: u32, gaps: &[(u16, u16)]) -> Report {
        let mut list = GapList::new();
        for &(lower, upper) in gaps {
            list.push(Gap { lower, upper });
        }
        let (kind, next) = (ReportKind::Stat, Seq32::new(next));
        Report { kind, ts_echo, received_at: None, next, more: false, gaps: list }
    }

    #[test]
    fn what_lies_between_gaps_counts_as_delivered_and_only_once() {
        let mut delivery = Delivery::default();
        delivery.polled(1, ms(0), Seq32::new(10), false);
        delivery.polled(2, ms(50), Seq32::new(20), false);
        // Of ten segments 4 and 7 are missing.
        assert_eq!(delivery.acknowledged(4), 4);
        let flight = Flight { segments: 8, span: Span::from_millis(100), app_limited: false };
        assert_eq!(delivery.answered(ms(100), &stat(1, 4, &[(0, 1), (3, 4)])), (4, Some(flight)));
        assert_eq!(delivery.beyond(), 4);
        // 4 is repaired: 5 and 6 were known.
        assert_eq!(delivery.acknowledged(3), 0);
        assert_eq!(delivery.beyond(), 1);
        let flight = Flight { segments: 19, span: Span::from_millis(100), app_limited: false };
        assert_eq!(delivery.answered(ms(150), &stat(2, 7, &[(0, 1)])), (11, Some(flight)));
    }

    #[test]
    fn what_lies_beyond_a_list_that_was_cut_is_not_known() {
        let mut delivery = Delivery::default();
        delivery.polled(1, ms(0), Seq32::new(1_000), false);
        let cut = Report { more: true, ..stat(1, 0, &[(0, 1), (3, 4)]) };
        assert_eq!(delivery.answered(ms(100), &cut).0, 2);
        assert_eq!(delivery.beyond(), 2);
    }

    #[test]
    fn a_gap_beyond_the_poll_says_nothing_of_what_came_before() {
        let mut delivery = Delivery::default();
        delivery.polled(1, ms(0), Seq32::new(10), true);
        let (news, flight) = delivery.answered(ms(100), &stat(1, 0, &[(0, 2), (12, 14)]));
        assert_eq!((news, delivery.beyond()), (8, 8));
        assert!(flight.is_some_and(|flight| flight.app_limited));
    }

    #[test]
    fn an_answer_to_no_poll_changes_nothing_and_memory_is_bounded() {
        let mut delivery = Delivery::default();
        for ts in 0..1_000 {
            delivery.polled(ts, ms(u64::from(ts)), Seq32::new(ts), false);
        }
        assert_eq!(delivery.polls.len(), REMEMBERED);
        assert_eq!(delivery.answered(ms(2_000), &stat(5, 0, &[])), (0, None));
    }
}
