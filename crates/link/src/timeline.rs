//! Values that change over time, once or again and again.

use std::sync::Arc;

use bentpipe_units::{Instant, Span};

/// Values that hold from one time to the next: the first one before its own time as well, the last one for ever or until
/// everything begins anew. Copies share the values.
#[derive(Clone, Debug, PartialEq)]
pub struct Timeline<T> {
    steps: Arc<[(Instant, T)]>,
    period: Option<Span>,
    start: Span,
}

/// A place in a [`Timeline`]: asking for times that go forward is cheap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    lap: u64,
    index: usize,
}

impl Position {
    /// That of the same value so many rounds later, where everything begins anew.
    #[must_use]
    pub const fn laps_later(self, laps: u64) -> Self {
        Self { lap: self.lap.saturating_add(laps), index: self.index }
    }
}

/// A timeline that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TimelineError {
    /// There is no value.
    #[error("there is no value")]
    Empty,
    /// The step of this number is not behind the one before it.
    #[error("value {0} is not later than the one before it")]
    Decreasing(usize),
    /// It repeats before its last value begins.
    #[error("it begins anew before its last value holds")]
    ShortPeriod,
}

impl<T: Copy> Timeline<T> {
    /// Values with the times from which they hold. With a `period` everything begins anew so long after time zero.
    ///
    /// # Errors
    /// When there is no value, a time is not later than the one before it, or the period ends before the last one.
    pub fn new(steps: Vec<(Instant, T)>, period: Option<Span>) -> Result<Self, TimelineError> {
        let last = steps.last().ok_or(TimelineError::Empty)?.0;
        if let Some(early) = steps.windows(2).position(|pair| pair[1].0 <= pair[0].0) {
            return Err(TimelineError::Decreasing(early + 1));
        }
        if period.is_some_and(|period| Instant::ZERO + period <= last) {
            return Err(TimelineError::ShortPeriod);
        }
        Ok(Self { steps: steps.into(), period, start: Span::ZERO })
    }

    /// One value at all times.
    pub fn constant(value: T) -> Self {
        Self { steps: [(Instant::ZERO, value)].into(), period: None, start: Span::ZERO }
    }

    /// The same, of which so much is over at time zero.
    #[must_use]
    pub fn starting_at(self, start: Span) -> Self {
        Self { start, ..self }
    }

    /// The values with their times.
    pub fn steps(&self) -> &[(Instant, T)] {
        &self.steps
    }

    /// The value at a time; moves `position` there.
    pub fn value_at(&self, position: &mut Position, at: Instant) -> T {
        let near = self.begins(*position).is_none_or(|begin| begin <= at)
            && self.next_change(*position).is_none_or(|next| at < next);
        if !near {
            *position = self.find(at);
        }
        self.steps[position.index].1
    }

    /// When the value at this position is followed by another one; `None` for never.
    pub fn next_change(&self, position: Position) -> Option<Instant> {
        self.begins(self.follower(position)?)
    }

    /// The position behind this one.
    pub fn follower(&self, position: Position) -> Option<Position> {
        let Position { lap, index } = position;
        if index + 1 < self.steps.len() {
            return Some(Position { lap, index: index + 1 });
        }
        self.period.map(|_| Position { lap: lap + 1, index: 0 })
    }

    /// The values of a round with the time for which each of them holds, from the first one on; `None` where nothing
    /// begins anew.
    pub fn lap(&self) -> Option<impl Iterator<Item = (T, Span)> + '_> {
        let again = self.steps[0].0 + self.period?;
        let ends = self.steps.iter().skip(1).map(|(at, _)| *at).chain([again]);
        Some(self.steps.iter().zip(ends).map(|((at, value), end)| (*value, end.since(*at))))
    }

    /// The length of a round.
    pub const fn period(&self) -> Option<Span> {
        self.period
    }

    /// The mean of what `of` says of the values from the beginning until `end`.
    pub fn mean(&self, end: Span, of: impl Fn(T) -> f64) -> f64 {
        let lap = self.lap().into_iter().flatten();
        let lap: f64 = lap.map(|(value, span)| of(value) * span.as_secs_f64()).sum();
        // Whole rounds are alike once the first value's time has come.
        let alike = end.as_nanos().saturating_sub(self.steps[0].0.as_nanos());
        let period = self.period.map_or(u64::MAX, Span::as_nanos);
        let whole = alike / period;
        let end_of_rest = Instant::from_nanos(end.as_nanos() - whole.saturating_mul(period));
        let mut position = Position::default();
        let mut now = Instant::ZERO;
        let mut value = self.value_at(&mut position, now);
        let mut sum = whole as f64 * lap;
        while let Some((next, at)) = self.follower(position).zip(self.next_change(position)) {
            if at >= end_of_rest {
                break;
            }
            sum += of(value) * at.since(now).as_secs_f64();
            (now, position, value) = (at, next, self.value(next));
        }
        let last = of(value) * end_of_rest.since(now).as_secs_f64();
        (sum + last) / end.as_secs_f64().max(f64::MIN_POSITIVE)
    }

    /// The value at a position.
    pub fn value(&self, position: Position) -> T {
        self.steps[position.index].1
    }

    /// When the value at a position begins; `None` for before everything.
    fn begins(&self, position: Position) -> Option<Instant> {
        if position == Position::default() {
            return None;
        }
        let lap = self.period.map_or(0, Span::as_nanos).saturating_mul(position.lap);
        let nanos = self.steps[position.index].0.as_nanos().saturating_add(lap);
        Some(Instant::from_nanos(nanos.saturating_sub(self.start.as_nanos())))
    }

    #[cold]
    fn find(&self, at: Instant) -> Position {
        let at = at.as_nanos().saturating_add(self.start.as_nanos());
        let (lap, within) = match self.period.map(Span::as_nanos) {
            Some(period) => (at / period, at % period),
            None => (0, at),
        };
        let after = self.steps.partition_point(|(begin, _)| begin.as_nanos() <= within);
        match after.checked_sub(1) {
            Some(index) => Position { lap, index },
            // Before the first value the last one of the lap before holds.
            None if lap > 0 => Position { lap: lap - 1, index: self.steps.len() - 1 },
            None => Position::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Span::from_millis(ms)
    }

    fn timeline(steps: &[(u64, u32)], period: Option<u64>) -> Timeline<u32> {
        let steps = steps.iter().map(|(ms, value)| (at(*ms), *value)).collect();
        Timeline::new(steps, period.map(Span::from_millis)).expect("a timeline")
    }

    #[test]
    fn a_value_holds_until_the_next_one_and_the_last_one_for_ever_or_for_a_lap() {
        let values = |timeline: &Timeline<u32>, times: &[u64]| {
            let mut position = Position::default();
            times.iter().map(|ms| timeline.value_at(&mut position, at(*ms))).collect::<Vec<_>>()
        };
        let steps = [(10, 1), (20, 2)];
        assert_eq!(values(&timeline(&steps, None), &[0, 10, 19, 20, 999, 5]), [1, 1, 1, 2, 2, 1]);
        let around = timeline(&steps, Some(30));
        assert_eq!(values(&around, &[0, 25, 30, 39, 40, 50, 62]), [1, 2, 2, 2, 1, 2, 2]);
        assert_eq!(values(&around.starting_at(Span::from_millis(20)), &[0, 19, 20]), [2, 2, 1]);
    }

    #[test]
    fn what_is_no_timeline_is_refused() {
        let new = |steps: Vec<u64>, period| {
            let steps = steps.into_iter().map(|ms| (at(ms), 0)).collect();
            Timeline::new(steps, Some(Span::from_millis(period))).map(|_| ())
        };
        assert_eq!(new(vec![], 9), Err(TimelineError::Empty));
        assert_eq!(new(vec![1, 2, 2], 9), Err(TimelineError::Decreasing(2)));
        assert_eq!(new(vec![1, 2], 2), Err(TimelineError::ShortPeriod));
        assert_eq!(new(vec![1, 2], 3), Ok(()));
    }

    #[test]
    fn the_mean_is_that_of_the_time_that_is_asked_for() {
        let sum = |timeline: Timeline<u32>, ms| {
            (timeline.mean(Span::from_millis(ms), f64::from) * ms as f64).round()
        };
        let steps = [(10, 1), (20, 4)];
        assert_eq!(sum(timeline(&steps, Some(40)), 50), 140.0, "20 ms of 1 and 30 ms of 4");
        assert_eq!(sum(timeline(&steps, Some(40)), 60), 150.0, "10 ms of 1 more");
        assert_eq!(sum(timeline(&steps, Some(40)), 850), 2_740.0, "twenty rounds more");
        assert_eq!(sum(timeline(&steps, Some(40)), 5), 5.0);
        assert_eq!(sum(timeline(&steps, None), 10), 10.0);
        assert_eq!(sum(timeline(&steps, None), 40), 100.0, "20 ms of each");
        let later = timeline(&steps, None).starting_at(Span::from_millis(15));
        assert_eq!(sum(later, 10), 25.0);
    }

    proptest! {
        #[test]
        fn whoever_goes_forward_sees_what_whoever_jumps_sees(
            gaps in prop::collection::vec(1u64..50, 1..20),
            rest in 1u64..50,
            start in 0u64..500,
            periodic: bool,
            times in prop::collection::vec(0u64..2_000, 1..60),
        ) {
            let mut ms = 0;
            let steps: Vec<_> = gaps.iter().enumerate().map(|(n, gap)| {
                ms += gap;
                (ms, n as u32)
            }).collect();
            let timeline = timeline(&steps, periodic.then_some(ms + rest))
                .starting_at(Span::from_millis(start));
            let (mut walks, mut sorted) = (Position::default(), times);
            sorted.sort_unstable();
            for ms in sorted {
                let jumped = timeline.value_at(&mut Position::default(), at(ms));
                prop_assert_eq!(timeline.value_at(&mut walks, at(ms)), jumped);
                let next = timeline.next_change(walks);
                prop_assert!(next.is_none_or(|next| next > at(ms)), "{:?}", next);
            }
        }
    }
}
