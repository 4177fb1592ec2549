//! The round trip of a path without a queue.

use bentpipe_units::{Instant, Span};

/// It is the smallest one of at least this long and at most twice as long: paths change.
const LIFE: Span = Span::from_secs(60);

/// So many round trips in a row that are shorter by more than a quarter are the path's: a single one is that of a copy
/// by somebody who is faster than the path.
const IN_A_ROW: u32 = 3;

/// The smallest round trip of the recent past.
#[derive(Debug)]
pub(super) struct Base {
    now: Span,
    before: Span,
    since: Instant,
    /// Much shorter ones in a row.
    short: u32,
}

impl Base {
    pub(super) const fn new() -> Self {
        Self { now: Span::MAX, before: Span::MAX, since: Instant::ZERO, short: 0 }
    }

    /// A round trip was measured.
    pub(super) fn take(&mut self, at: Instant, rtt: Span) {
        if at.since(self.since) >= LIFE {
            (self.before, self.now, self.since) = (self.now, Span::MAX, at);
        }
        let is_short = self.get().is_some_and(|base| rtt < base * 3 / 4);
        self.short = if is_short { self.short + 1 } else { 0 };
        if !is_short || self.short >= IN_A_ROW {
            self.now = self.now.min(rtt);
        }
    }

    /// The path was found to be longer.
    pub(super) const fn raise(&mut self, at: Instant, rtt: Span) {
        (self.now, self.before, self.since) = (rtt, Span::MAX, at);
    }

    /// The round trip; nothing before the first measurement.
    pub(super) fn get(&self) -> Option<Span> {
        Some(self.now.min(self.before)).filter(|base| *base < Span::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(base: &mut Base, seconds: u64, millis: &[u64]) -> Option<Span> {
        let at = Instant::ZERO + Span::from_secs(seconds);
        millis.iter().for_each(|rtt| base.take(at, Span::from_millis(*rtt)));
        base.get()
    }

    #[test]
    fn a_copy_that_is_faster_than_the_path_is_not_the_path_and_three_answers_are() {
        let mut base = Base::new();
        assert_eq!(after(&mut base, 1, &[600, 610, 300, 300, 605]), Some(Span::from_millis(600)));
        assert_eq!(after(&mut base, 2, &[550]), Some(Span::from_millis(550)), "a little shorter");
        assert_eq!(after(&mut base, 3, &[40, 40, 41]), Some(Span::from_millis(41)));
    }

    #[test]
    fn a_path_that_is_longer_is_known_after_two_minutes_whatever_copies_come() {
        let mut base = Base::new();
        after(&mut base, 1, &[300]);
        assert_eq!(after(&mut base, 62, &[200, 600]), Some(Span::from_millis(300)));
        assert_eq!(after(&mut base, 124, &[300, 600]), Some(Span::from_millis(600)));
    }
}
