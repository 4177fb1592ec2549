//! Who shares the path, where it is so long that equal steps would take minutes to make parts equal.
//!
//! Whoever had all of it and has less now leaves room for who has come; whoever came takes room that is left at once.

use bentpipe_units::{Instant, Span};

/// Over paths that seem shorter a contest gives who comes late enough.
pub(super) const FAR: Span = Span::from_millis(400);
/// Shorter paths make parts equal within seconds by themselves.
pub(super) const LONG: Span = Span::from_millis(150);
/// Whoever had this part of what the path carried for so many intervals was alone, and has company with less.
const LESS: f64 = 0.97;
const ALONE: u32 = 8;
/// It has less for so many intervals.
const LASTS: u32 = 3;
/// No room is left any more once it had no more than this part of it for so many intervals.
const MORE: f64 = 0.55;
const EVEN: u32 = 4;
/// Who has this part of what the path carries has enough, and who has that is alone.
const ENOUGH: f64 = 1.0 / 3.0;
const MOST: f64 = 3.0 / 4.0;
/// The others have gone when the queue was empty for so many intervals.
const GONE: u32 = 8;
/// Room that nobody took is not left again for so long, each time for twice as long.
const AGAIN: Span = Span::from_secs(10);
const RARELY: Span = Span::from_secs(300);
/// Whoever came is no longer new after so many intervals.
const NEW: u32 = 100;

/// The others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Others {
    /// None.
    None,
    /// They came later, and have less yet.
    Newer,
    /// They came later, and have about as much.
    Equal,
    /// They were there before.
    Older,
}

/// What is known of them. Intervals are counted in a row.
#[derive(Debug)]
pub(super) struct Company {
    others: Others,
    /// It is known by more than what arrives, which losses and pauses make doubtful.
    is_certain: bool,
    /// Bytes a second that the path was found to carry for all together, if it is known.
    carries: Option<f64>,
    /// Somebody looks for that.
    is_looked_for: bool,
    /// Intervals with all that the path carried at best.
    alone: u32,
    /// Intervals with less, though the window filled the path.
    less: u32,
    /// Intervals with no more than a fair part.
    even: u32,
    /// Intervals with an empty queue.
    empty: u32,
    /// Intervals since this is known of the others.
    known: u32,
    /// No room is left before this.
    not_before: Instant,
    /// For so long none is left if nobody takes it.
    again: Span,
}

impl Default for Company {
    fn default() -> Self {
        Self {
            others: Others::None,
            is_certain: false,
            carries: None,
            is_looked_for: false,
            alone: 0,
            less: 0,
            even: 0,
            empty: 0,
            known: 0,
            not_before: Instant::ZERO,
            again: AGAIN,
        }
    }
}

impl Company {
    /// An interval ended with this part of the most that the path carried, and an empty queue or not.
    pub(super) fn look(&mut self, base: Span, part: f64, is_empty: bool) {
        let count = |is: bool, before: u32| if is { before.saturating_add(1) } else { 0 };
        // Where the queue is empty it is the window that has less.
        self.less = count(part < LESS && !is_empty, self.less);
        let had_all = self.alone >= ALONE;
        if part >= LESS || self.less >= LASTS {
            self.alone = count(part >= LESS, self.alone);
        }
        self.even = count(part <= MORE, self.even);
        self.empty = count(is_empty, self.empty);
        self.known = self.known.saturating_add(1);
        match self.others {
            Others::None if base >= LONG && had_all && self.alone == 0 => self.found(Others::Newer),
            Others::Newer if self.even >= EVEN => self.found(Others::Equal),
            Others::Older if self.known >= NEW => self.found(Others::Equal),
            Others::Newer | Others::Equal | Others::Older if self.empty >= GONE => {
                self.found(Others::None);
            }
            _ => {}
        }
    }

    fn found(&mut self, others: Others) {
        (self.others, self.known, self.alone) = (others, 0, 0);
        self.is_certain = false;
    }

    /// The others, as far as is known.
    pub(super) const fn others(&self) -> Others {
        self.others
    }

    /// The path was found to carry so much for all together. That a jump to it lost too much is what others do as well.
    pub(super) fn find(&mut self, carries: Option<f64>) {
        self.carries = carries.or(self.carries);
        self.is_looked_for = true;
    }

    /// Who has that rate has enough of the path, or little, as far as is known.
    pub(super) fn has_enough(&self, rate: f64) -> bool {
        self.carries.is_some_and(|all| rate >= all * ENOUGH)
    }

    pub(super) fn has_little(&self, rate: f64) -> bool {
        self.carries.is_some_and(|all| rate < all * ENOUGH)
    }

    /// Who has that rate has nearly all of the path. Where nobody looks for what it carries everybody counts as alone.
    pub(super) fn has_most(&self, rate: f64) -> bool {
        self.carries.map_or(!self.is_looked_for, |all| rate > all * MOST)
    }

    /// The window that fills a path of that length, if it is known.
    pub(super) fn fills(&self, base: Span) -> Option<f64> {
        self.carries.map(|all| all * base.as_secs_f64())
    }

    /// Slow start found them there.
    pub(super) fn meet(&mut self) {
        self.found(Others::Older);
    }

    /// They were there before, for certain.
    pub(super) fn meet_for_certain(&mut self) {
        self.found(Others::Older);
        self.is_certain = true;
    }

    /// The path has come to carry less: what it carried before tells nothing.
    pub(super) fn forget(&mut self) {
        self.found(Others::None);
    }

    /// They were, for certain.
    pub(super) fn are_older_for_certain(&self) -> bool {
        self.is_certain && self.others == Others::Older
    }

    /// What arrives tells nothing for a moment.
    pub(super) fn doubt(&mut self) {
        if !self.is_certain {
            self.forget();
        }
    }

    /// Room is to be left for who has come.
    pub(super) fn wants_room(&self, now: Instant) -> bool {
        self.others == Others::Newer && self.even == 0 && now >= self.not_before
    }

    /// The room that was left was taken, or not.
    pub(super) fn took(&mut self, now: Instant, was_taken: bool) {
        if was_taken {
            self.again = AGAIN;
        } else {
            self.found(Others::None);
            self.not_before = now + self.again;
            self.again = (self.again * 2).min(RARELY);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GEO: Span = Span::from_millis(600);

    /// What is known after so many intervals with each part of the best rate, over a queue that is not empty.
    fn after(company: &mut Company, parts: &[(f64, u32)]) -> Others {
        for &(part, times) in parts {
            (0..times).for_each(|_| company.look(GEO, part, false));
        }
        company.others()
    }

    fn now(seconds: u64) -> Instant {
        Instant::ZERO + Span::from_secs(seconds)
    }

    #[test]
    fn whoever_had_all_and_has_less_has_newer_company_until_parts_are_even() {
        let mut company = Company::default();
        assert_eq!(after(&mut company, &[(1.0, 8), (0.9, 2)]), Others::None, "for a moment");
        assert_eq!(after(&mut company, &[(0.9, 1)]), Others::Newer);
        assert!(company.wants_room(now(1)));
        assert_eq!(after(&mut company, &[(0.5, 3)]), Others::Newer);
        assert!(!company.wants_room(now(1)), "they have enough");
        assert_eq!(after(&mut company, &[(0.5, 1)]), Others::Equal);
        assert_eq!(after(&mut company, &[(1.0, 20), (0.8, 20)]), Others::Equal);
        assert!(!company.wants_room(now(1)), "they take turns");
    }

    #[test]
    fn whoever_never_had_all_or_has_a_short_path_leaves_no_room() {
        let mut company = Company::default();
        assert_eq!(after(&mut company, &[(1.0, 7), (0.9, 20)]), Others::None);
        for _ in 0..2 {
            (0..20).for_each(|_| company.look(Span::from_millis(50), 1.0, false));
            (0..20).for_each(|_| company.look(Span::from_millis(50), 0.8, false));
        }
        assert_eq!(company.others(), Others::None);
    }

    #[test]
    fn an_empty_queue_says_that_the_window_has_less_and_after_a_while_that_nobody_is_there() {
        let mut company = Company::default();
        after(&mut company, &[(1.0, 8)]);
        (0..20).for_each(|_| company.look(GEO, 0.5, true));
        assert_eq!(company.others(), Others::None);
        assert_eq!(after(&mut company, &[(1.0, 8), (0.9, 3)]), Others::Newer);
        (0..7).for_each(|_| company.look(GEO, 0.8, true));
        assert_eq!(company.others(), Others::Newer);
        company.look(GEO, 0.8, true);
        assert_eq!(company.others(), Others::None);
    }

    #[test]
    fn room_that_nobody_takes_is_left_ever_more_rarely() {
        let mut company = Company::default();
        let mut left = Vec::new();
        for second in 0..1000 {
            after(&mut company, &[(1.0, 8), (0.9, 3)]);
            if company.wants_room(now(second)) {
                left.push(second);
                company.took(now(second), false);
            }
        }
        assert_eq!(left, [0, 10, 30, 70, 150, 310, 610, 910]);
        after(&mut company, &[(1.0, 8), (0.9, 3)]);
        company.took(now(2000), true);
        assert!(company.wants_room(now(2000)), "there is somebody who takes it");
    }

    #[test]
    fn those_who_were_there_before_are_equals_after_a_minute() {
        let mut company = Company::default();
        company.meet();
        assert_eq!(after(&mut company, &[(1.0, 99)]), Others::Older);
        assert_eq!(after(&mut company, &[(1.0, 1)]), Others::Equal);
    }

    #[test]
    fn a_third_of_what_the_path_carries_is_enough_and_three_quarters_are_nearly_all() {
        let mut company = Company::default();
        assert!(company.has_most(1.0), "nobody looks for what it carries");
        company.find(None);
        assert!(!company.has_most(1.0) && !company.has_enough(1.0) && !company.has_little(1.0));
        company.find(Some(9.0));
        assert!(company.has_little(2.9) && company.has_enough(3.0) && !company.has_most(6.7));
        assert!(company.has_most(6.8));
        company.find(None);
        assert!(company.has_most(6.8), "that a jump lost too much is what others do as well");
    }
}
