//! What packet trains told of a long path before somebody begins, and what its first round trips say of that.
//!
//! Round trips that are longer from the first on have many reasons: others fill the queue, or the one back, or the path has become longer.
//! Where in addition a jump to what the path carries lost too much it is others who fill the queue.

use bentpipe_units::{Instant, Span};

/// Somebody has begun after so many intervals. The first acknowledgement ends one, and may be late by itself, as where a link has to be
/// asked for.
const BEGINS: u32 = 2;
/// Round trips that are longer by one part in so many are longer.
const LONGER: u64 = 8;
/// A jump is judged within so many round trips.
const JUDGED: u64 = 8;

/// The knowledge, while it is of use.
#[derive(Debug, Default)]
pub(super) struct Recalled(Option<Begin>);

/// Somebody begins.
#[derive(Clone, Copy, Debug)]
struct Begin {
    since: Instant,
    /// The round trip without a queue.
    trip: Span,
    intervals: u32,
    /// A jump lost too much.
    is_refuted: bool,
}

impl Recalled {
    /// Somebody begins over a path that has this round trip without a queue.
    pub(super) const fn begin(&mut self, now: Instant, trip: Span) {
        self.0 = Some(Begin { since: now, trip, intervals: 0, is_refuted: false });
    }

    /// No interval shows yet what was found.
    pub(super) fn begins(&self) -> bool {
        self.0.is_some_and(|begin| begin.intervals < BEGINS)
    }

    /// What is known of the path is not so: a jump to it lost too much.
    pub(super) fn refute(&mut self, now: Instant) {
        self.0 = self.0.filter(|begin| now.since(begin.since) <= begin.trip * JUDGED);
        if let Some(begin) = &mut self.0 {
            begin.is_refuted = true;
        }
    }

    /// An interval ended with this shortest round trip. Gives that of the path, once, if the rest of it is the queue of others.
    pub(super) fn look(&mut self, shortest: Span) -> Option<Span> {
        let begin = self.0.as_mut()?;
        if begin.intervals < BEGINS {
            begin.intervals += 1;
            if shortest <= begin.trip + begin.trip / LONGER && begin.intervals == BEGINS {
                self.0 = None;
                return None;
            }
        }
        let is_theirs = begin.is_refuted && begin.intervals == BEGINS;
        is_theirs.then(|| self.0.take().map(|begin| begin.trip)).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRIP: Span = Span::from_millis(600);
    const FULL: Span = Span::from_millis(1_100);

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Span::from_millis(millis)
    }

    fn begun() -> Recalled {
        let mut recalled = Recalled::default();
        recalled.begin(at(0), TRIP);
        assert!(recalled.begins());
        recalled
    }

    #[test]
    fn long_round_trips_and_a_jump_that_lost_too_much_show_others_once() {
        let mut recalled = begun();
        assert_eq!([FULL, FULL, FULL].map(|trip| recalled.look(trip)), [None; 3]);
        assert!(!recalled.begins());
        recalled.refute(at(2_000));
        assert_eq!([recalled.look(FULL), recalled.look(FULL)], [Some(TRIP), None]);
    }

    #[test]
    fn what_came_with_the_first_acknowledgement_counts() {
        let mut recalled = begun();
        recalled.refute(at(1_200));
        assert_eq!([recalled.look(FULL), recalled.look(FULL)], [None, Some(TRIP)]);
    }

    #[test]
    fn one_of_the_two_alone_shows_nobody() {
        let mut recalled = begun();
        (0..20).for_each(|_| assert_eq!(recalled.look(FULL), None, "the path is longer"));
        recalled.refute(at(5_000));
        assert_eq!(recalled.look(FULL), None, "that was another jump");
        let mut recalled = begun();
        assert_eq!(recalled.look(FULL), None);
        assert_eq!(recalled.look(Span::from_millis(670)), None, "the first one was late by itself");
        recalled.refute(at(2_000));
        assert_eq!(recalled.look(FULL), None, "the link carries less");
    }
}
