//! Departures in their order.

use std::collections::VecDeque;

use super::{Scoreboard, Sent};

/// A departure of a segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Departure {
    pub(super) number: u64,
    pub(super) start: u64,
    pub(super) end: u64,
}

impl Departure {
    /// What left.
    pub(super) const fn of(segment: &Sent) -> Self {
        Self { number: segment.departure, start: segment.start, end: segment.end() }
    }

    /// Number of its segment, if this is the latest departure of it and it did not arrive.
    pub(super) fn missing(&self, board: &Scoreboard) -> Option<usize> {
        let index = board.find(self.start);
        let segment = board.get(index).filter(|segment| segment.start <= self.start)?;
        let latest = segment.departure == self.number && !segment.sacked;
        latest.then_some(index)
    }
}

/// Departures that are not judged yet, the oldest first.
pub(super) type Departures = VecDeque<Departure>;
