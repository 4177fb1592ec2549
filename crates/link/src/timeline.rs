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
