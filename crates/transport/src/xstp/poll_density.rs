//! How much denser POLLs are where many of them, or of their answers, are lost: bursts that take ten packets one after the other
//! take as many reports, and leave the sender without news for most of a round trip.

use bentpipe_units::{Instant, Span};

/// Fewer POLLs without an answer one after the other are not counted, nor are more: single losses leave news enough, and a link
/// that is down loses them all.
const ROW: std::ops::RangeInclusive<usize> = 3..=16;
/// POLLs are denser where more than this share of them is in such rows, and as ever where it is less than the second.
const OFTEN: f64 = 0.04;
const SELDOM: f64 = 0.02;
/// POLLs after which the past counts a third.
const MEMORY: f64 = 100.0;
/// Round trips that are all longer than the shortest one by this part of it show a queue, perhaps one of reports: POLLs become no
/// denser then, and as ever where it is the second part.
const SOME_QUEUE: u64 = 12;
const QUEUE: u64 = 4;
/// POLLs are as ever then for so many round trips.
const REST: u64 = 256;
/// They are after so many in which they were denser, too: answers that overtake each other, or come several at a time, look like
/// lost ones only where POLLs are dense.
const LOOKS_AFTER: u32 = 256;
/// They become so many times denser at once, each time after so many round trips, and so many times in all.
const STEP: u32 = 2;
const SHOWS: u32 = 2;
const DENSEST: u32 = 16;

/// What became of POLLs, and how much denser they are for it.
#[derive(Debug)]
pub(super) struct PollDensity {
    /// The share that is in rows without an answer.
    unanswered: f64,
    factor: u32,
    /// Round trips since that changed, and since they are denser than ever.
    trips: u32,
    dense: u32,
    /// The shortest round trip of all, and since when the shortest one was which.
    shortest: Span,
    lately: Option<(Instant, Span)>,
    /// They are as ever until then.
    rests_until: Instant,
}

impl PollDensity {
    /// POLLs are as dense as the settings have them.
    pub(super) const fn new() -> Self {
        Self {
            unanswered: 0.0,
            factor: 1,
            trips: SHOWS,
            dense: 0,
            shortest: Span::MAX,
            lately: None,
            rests_until: Instant::ZERO,
        }
    }

    /// So many times as many POLLs as the settings have.
    pub(super) const fn factor(&self) -> u32 {
        self.factor
    }

    /// POLLs are as dense as the settings have them, and few are in rows without an answer.
    pub(super) fn is_usual(&self) -> bool {
        self.factor == 1 && self.unanswered < SELDOM
    }

    /// A POLL was answered after `round_trip`, and so many before it were not.
    pub(super) fn answered(&mut self, now: Instant, round_trip: Span, unanswered: usize) {
        let row = if unanswered < *ROW.start() { 0 } else { unanswered.min(*ROW.end()) };
        for _ in 0..row {
            self.unanswered += (1.0 - self.unanswered) / MEMORY;
        }
        self.unanswered -= self.unanswered / MEMORY;
        self.shortest = self.shortest.min(round_trip);
        let (since, shortest) = self.lately.unwrap_or((now, round_trip));
        let shortest = shortest.min(round_trip);
        self.lately = Some((since, shortest));
        if now.since(since) >= self.shortest {
            self.lately = None;
            self.decide(now, shortest);
        }
    }

    /// A round trip has passed, none of whose round trips was shorter.
    fn decide(&mut self, now: Instant, shortest: Span) {
        self.trips += 1;
        self.dense = if self.factor > 1 { self.dense + 1 } else { 0 };
        let queue = shortest.saturating_sub(self.shortest);
        if queue * QUEUE > self.shortest && self.factor > 1 {
            self.factor = 1;
            self.rests_until = now + self.shortest * REST;
        } else if self.dense >= LOOKS_AFTER {
            // What few POLLs show counts, and not what many seemed to.
            (self.factor, self.unanswered) = (1, 0.0);
        } else if self.unanswered < SELDOM {
            self.factor = 1;
        } else if self.unanswered > OFTEN
            && self.trips >= SHOWS
            && queue * SOME_QUEUE < self.shortest
            && now >= self.rests_until
        {
            (self.factor, self.trips) = ((self.factor * STEP).min(DENSEST), 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lets time pass: a hundred round trips of 16 POLLs times the factor, of each `of` of which `lost` have no answer. Returns the
    /// factors.
    fn run(
        density: &mut PollDensity,
        [lost, of]: [usize; 2],
        trip: impl Fn(u32) -> u64,
    ) -> Vec<u32> {
        let mut now = density.lately.map_or(Instant::ZERO, |(at, _)| at);
        let (mut factors, mut sent) = (Vec::new(), 0);
        for _ in 0..100 {
            let polls = 16 * density.factor();
            for _ in 0..polls {
                sent += 1;
                now += Span::from_millis(600) / u64::from(polls);
                if sent % of == 0 {
                    let trip = Span::from_millis(trip(density.factor()));
                    (0..of - lost)
                        .for_each(|n| density.answered(now, trip, if n == 0 { lost } else { 0 }));
                }
            }
            factors.push(density.factor());
        }
        density.lately = Some((now, Span::MAX));
        factors
    }

    #[test]
    fn polls_are_dense_where_many_have_no_answer_and_as_ever_where_few_have_none() {
        let mut density = PollDensity::new();
        let factors = run(&mut density, [4, 24], |_| 600);
        assert!(factors.ends_with(&[DENSEST; 80]), "{factors:?}");
        assert!(!density.is_usual());
        assert_eq!(run(&mut density, [0, 1], |_| 600)[99], 1);
        assert!(density.is_usual());
        assert_eq!(run(&mut PollDensity::new(), [4, 400], |_| 600), [1; 100]);
        assert_eq!(run(&mut PollDensity::new(), [2, 8], |_| 600), [1; 100], "one by one");
    }

    #[test]
    fn a_link_that_was_down_for_a_while_changes_nothing_for_long() {
        let mut density = PollDensity::new();
        density.answered(Instant::ZERO, Span::from_millis(600), 1_000);
        assert_eq!(run(&mut density, [0, 1], |_| 600)[50..], [1; 50]);
    }

    #[test]
    fn what_looks_like_losses_only_where_polls_are_dense_does_not_keep_them_so() {
        let mut density = PollDensity::new();
        run(&mut density, [4, 24], |_| 600);
        // From then on as if nine of twelve were overtaken by the next one, but only where POLLs are dense.
        let mut now = density.lately.map_or(Instant::ZERO, |(at, _)| at);
        for _ in 0..400 * 16 {
            now += Span::from_millis(600) / 16;
            let overtaken = if density.factor() > 1 { 9 } else { 0 };
            density.answered(now, Span::from_millis(600), overtaken);
        }
        assert_eq!(density.factor(), 1);
        assert_eq!(run(&mut density, [4, 24], |_| 600)[99], DENSEST, "losses are noticed again");
    }

    #[test]
    fn reports_that_fill_their_way_back_become_fewer() {
        // More than twice as many as ever stand in a queue.
        let trip = |factor| if factor > 2 { 900 } else { 600 };
        let factors = run(&mut PollDensity::new(), [4, 24], trip);
        let dense = factors.iter().filter(|factor| **factor > 2).count();
        assert!((1..=3).contains(&dense), "{factors:?}");
    }
}
