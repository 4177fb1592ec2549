//! Rows that were run elsewhere.

use std::ops::Range;

use arrow_array::RecordBatch;

use super::{FileError, SweepFile, hash};
use crate::sweep::run::Row;
use crate::sweep::table::{read, run_numbers, schema};

impl SweepFile<'_> {
    /// The numbers of the runs that are missing, those excluded whose rows an earlier result has, in order.
    ///
    /// # Errors
    /// When a run cannot be.
    pub fn to_run(&mut self) -> Result<Vec<Range<u64>>, FileError> {
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for run in self.left() {
            if self.known.contains_key(&hash(self.sweep, run, &mut self.last)?) {
                continue;
            }
            match ranges.last_mut().filter(|range| range.end == run) {
                Some(range) => range.end += 1,
                None => ranges.push(run..run + 1),
            }
        }
        Ok(ranges)
    }

    /// Appends rows that were run elsewhere, by [`Sweep::run_batch`](crate::sweep::Sweep::run_batch): the next ones of those
    /// [to run](Self::to_run).
    ///
    /// # Errors
    /// When they are not those, or cannot be written.
    pub fn append(&mut self, batch: &RecordBatch) -> Result<(), FileError> {
        if batch.schema() != schema(self.sweep) {
            return Err(self.wrong("the rows are of another sweep or another version"));
        }
        let numbers = run_numbers(batch).map_err(|problem| self.wrong(&problem))?;
        let rows = read(batch).map_err(|problem| self.wrong(&problem))?;
        for (run, (of, values)) in numbers.iter().zip(rows) {
            self.push_known()?;
            let next = self.next_run();
            if next != Some(*run) {
                let next = next.map_or("none".to_owned(), |next| next.to_string());
                return Err(self.wrong(&format!("run {run} is not the next one, which is {next}")));
            }
            if hash(self.sweep, *run, &mut self.last)? != of {
                return Err(self.wrong(&format!("run {run} was another one where it was run")));
            }
            self.push(&Row { run: *run, hash: of, values, is_known: false })?;
        }
        self.flush()
    }

    /// Pushes the rows of the next runs as long as they are known.
    pub(super) fn push_known(&mut self) -> Result<(), FileError> {
        while !self.known.is_empty()
            && let Some(run) = self.next_run()
        {
            let hash = hash(self.sweep, run, &mut self.last)?;
            let Some(values) = self.known.get(&hash) else { break };
            let row = Row { run, hash, values: *values, is_known: true };
            self.push(&row)?;
        }
        Ok(())
    }

    fn next_run(&self) -> Option<u64> {
        self.left().nth(self.rows.len())
    }

    fn wrong(&self, problem: &str) -> FileError {
        FileError::taken(&self.out, problem)
    }
}
