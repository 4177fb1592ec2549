//! The stretches of the stream that the peer reported, in order.

use std::collections::VecDeque;

/// Disjoint stretches `start .. end`, in order, none touching the next.
#[derive(Debug, Default)]
pub(crate) struct Runs {
    runs: VecDeque<(u64, u64)>,
    bytes: u64,
}

impl Runs {
    /// Bytes in all of them.
    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The offset behind the last one.
    pub(crate) fn highest(&self) -> Option<u64> {
        self.runs.back().map(|(_, end)| *end)
    }

    /// The run that holds `offset`.
    pub(crate) fn run_at(&self, offset: u64) -> Option<(u64, u64)> {
        let after = self.runs.partition_point(|(start, _)| *start <= offset);
        self.runs.get(after.checked_sub(1)?).copied().filter(|(_, end)| offset < *end)
    }

    /// The end of the run that holds `offset`.
    pub(crate) fn end_of_run_at(&self, offset: u64) -> Option<u64> {
        self.run_at(offset).map(|(_, end)| end)
    }

    /// Adds a stretch of which nothing is there yet.
    pub(crate) fn insert(&mut self, start: u64, end: u64) {
        self.bytes += end - start;
        let after = self.runs.partition_point(|(other, _)| *other < start);
        let joins_next = self.runs.get(after).is_some_and(|(next, _)| *next == end);
        let before = after.checked_sub(1).filter(|n| self.runs[*n].1 == start);
        match (before, joins_next) {
            (Some(before), true) => {
                self.runs[before].1 = self.runs[after].1;
                self.runs.remove(after);
            }
            (Some(before), false) => self.runs[before].1 = end,
            (None, true) => self.runs[after].0 = start,
            (None, false) => self.runs.insert(after, (start, end)),
        }
    }

    /// Everything before `offset` is of no interest any more.
    pub(crate) fn forget_before(&mut self, offset: u64) {
        while let Some((start, end)) = self.runs.front_mut() {
            if *end > offset {
                if *start < offset {
                    self.bytes -= offset - *start;
                    *start = offset;
                }
                return;
            }
            self.bytes -= *end - *start;
            self.runs.pop_front();
        }
    }

    /// The offset before which everything that was not reported counts as lost: above it the peer has
    /// at least `threshold` runs, or more than `threshold` − 1 segments of `mss` bytes (IsLost in
    /// RFC 6675, section 4). Zero when there is none.
    pub(crate) fn loss_edge(&self, threshold: u32, mss: u64) -> u64 {
        let enough = u64::from(threshold.saturating_sub(1)) * mss;
        let mut above = 0;
        for (count, (start, end)) in (1..).zip(self.runs.iter().rev()) {
            above += end - start;
            if count >= threshold || above > enough {
                return *start;
            }
        }
        0
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.runs.clear();
        self.bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_grow_together() {
        let mut runs = Runs::default();
        for (start, end) in [(10, 20), (40, 50), (30, 40), (20, 30), (60, 70)] {
            runs.insert(start, end);
        }
        assert_eq!((runs.bytes(), runs.highest()), (50, Some(70)));
        assert_eq!(runs.runs, [(10, 50), (60, 70)]);
        assert_eq!((runs.end_of_run_at(49), runs.end_of_run_at(50)), (Some(50), None));
        runs.forget_before(45);
        assert_eq!((runs.bytes(), runs.end_of_run_at(46)), (15, Some(50)));
        runs.forget_before(65);
        assert_eq!((runs.bytes(), runs.runs.len()), (5, 1));
    }

    #[test]
    fn three_runs_or_more_than_two_segments_above_a_hole_make_it_lost() {
        let mut runs = Runs::default();
        runs.insert(200, 400);
        assert_eq!(runs.loss_edge(3, 100), 0, "two segments are not enough");
        runs.insert(400, 401);
        assert_eq!(runs.loss_edge(3, 100), 200);
        let mut runs = Runs::default();
        for n in [2, 4, 6, 8] {
            runs.insert(100 * n, 100 * n + 10);
        }
        assert_eq!(runs.loss_edge(3, 100), 400, "three short runs lie above what is before 400");
    }
}
