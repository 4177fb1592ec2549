//! The Parquet file of a sweep, which is taken up again where it was left.
//!
//! Rows go into `OUT.part`, in the order of the runs, and become `OUT` when all are there. A sweep that was broken off goes
//! on there. One that was changed meanwhile runs what it did not run before: rows are known by their hashes, and those that it has not
//! used yet wait in `OUT.old`.

mod gathered;

use std::collections::HashMap;
use std::fmt::Display;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Schema};
use bentpipe_scenario::ScenarioError;
use thiserror::Error;

use super::columns::{Value, Values};
use super::hash::RunHash;
use super::parquet_file::{GROUP, ParquetFile, each_batch};
use super::plan::{Cell, Sweep};
use super::run::Row;
use super::shard::Shard;
use super::stream::{self, Stream};
use super::table::{Rows, SWEEP, known_batch, known_schema, read, run_numbers, schema};
use crate::progress::Progress;

/// Rows are written together until they are so many.
const ROWS: usize = 1024;
/// Or until the simulator handled so many events for them: about a second of work, which is what a kill can lose.
const EVENTS: u64 = 2_000_000;

/// Why a file of a sweep cannot be.
#[derive(Debug, Error)]
pub enum FileError {
    /// A run cannot be.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The file is there, and is something else or is in use.
    #[error("{}: {problem}", .path.display())]
    Taken {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// The file could not be written or read.
    #[error("{}: {problem}", .path.display())]
    Disk {
        /// The file.
        path: PathBuf,
        /// What the system or the format says.
        problem: String,
    },
}

impl FileError {
    pub(super) fn not_of_a_sweep(out: &Path, problem: &str) -> Self {
        Self::taken(out, format!("it is no result of a sweep: {problem}; name another file"))
    }

    pub(super) fn disk(path: &Path, problem: impl Display) -> Self {
        Self::Disk { path: path.to_owned(), problem: problem.to_string() }
    }

    pub(super) fn taken(path: &Path, problem: impl Into<String>) -> Self {
        Self::Taken { path: path.to_owned(), problem: problem.into() }
    }
}

/// What a sweep came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// Rows in the file.
    pub rows: u64,
    /// Those of them that were run now and not known before.
    pub run: u64,
}

/// The file of a sweep that is under way. Nobody else writes to it meanwhile.
pub struct SweepFile<'s> {
    sweep: &'s Sweep,
    shard: Shard,
    out: PathBuf,
    /// Holds the lock as well.
    part: Stream,
    known: HashMap<RunHash, Values>,
    written: u64,
    run: u64,
    rows: Rows<'s>,
    events: u64,
    /// The cell of the run that was looked at last.
    last: Option<Cell>,
}

impl<'s> SweepFile<'s> {
    /// Begins a file, or goes on with what a sweep left. A result of another sweep is replaced only if that is asked for.
    ///
    /// # Errors
    /// When `out` is no result of a sweep, has rows that this one does not have, or another process writes to it; when it
    /// cannot be read or written.
    pub fn open(
        sweep: &'s Sweep,
        shard: Shard,
        out: &Path,
        replace: bool,
    ) -> Result<Self, FileError> {
        let path = beside(out, "part");
        let mut options = File::options();
        let file = options.create(true).truncate(false).read(true).write(true).open(&path);
        let mut file = file.map_err(|error| FileError::disk(&path, error))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(FileError::taken(out, "another sweep writes to it at this moment"));
            }
            Err(TryLockError::Error(error)) => return Err(FileError::disk(&path, error)),
        }
        let mut known = HashMap::new();
        if out.exists() {
            read_result(out, &mut known)?;
            if !replace {
                check_all_are_of(sweep, shard, out, &known)?;
            }
        }
        let old = beside(out, "old");
        if old.exists() {
            read_stream(&old, &mut known)?;
        }
        let begun = begun(sweep, shard, &mut file, &path, &mut known)?;
        let part = match begun {
            Begun { written, bytes } if written > 0 => {
                Stream::append(file, bytes).map_err(|error| FileError::disk(&path, error))?
            }
            Begun { bytes, .. } => {
                if bytes > 0 {
                    // Before the part is emptied.
                    write_stream(&old, &known)?;
                }
                let begun = Stream::begin(file, &schema(sweep));
                begun.map_err(|error| FileError::disk(&path, error))?
            }
        };
        let (rows, out) = (Rows::new(sweep), out.to_owned());
        let written = begun.written;
        Ok(Self { sweep, shard, out, part, known, written, run: 0, rows, events: 0, last: None })
    }

    /// How many rows are not there yet.
    pub fn missing(&self) -> u64 {
        self.shard.count(self.sweep.total()) - self.written
    }

    /// Runs what is missing, tells `done` after each run, and finishes the file.
    ///
    /// # Errors
    /// When a run cannot be, or the file cannot be written. The rows until then are kept.
    pub fn run(mut self, jobs: Option<usize>, progress: &dyn Progress) -> Result<Done, FileError> {
        let sweep = self.sweep;
        let known = std::mem::take(&mut self.known);
        progress.total(self.missing());
        let known = |hash| known.get(&hash).copied();
        let taken = sweep.run(self.left(), jobs, &known, progress, |row| self.push(&row));
        // What ran before an error is kept as well.
        self.flush()?;
        taken?;
        self.finish()
    }

    /// The numbers of the runs whose rows are not there yet, in order.
    pub fn left(&self) -> impl Iterator<Item = u64> + Clone + Send + use<> {
        let written = usize::try_from(self.written).unwrap_or(usize::MAX);
        self.shard.runs(self.sweep.total()).skip(written)
    }

    fn push(&mut self, row: &Row) -> Result<(), FileError> {
        self.rows.push(row);
        if !row.is_known {
            self.run += 1;
            self.events += events(row);
        }
        if self.rows.len() >= ROWS || self.events >= EVENTS { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), FileError> {
        self.events = 0;
        if self.rows.len() == 0 {
            return Ok(());
        }
        let batch = self.rows.batch();
        self.write(&batch)
    }

    fn write(&mut self, batch: &RecordBatch) -> Result<(), FileError> {
        self.part.write(batch).map_err(|error| FileError::disk(&self.part_path(), error))?;
        self.written += batch.num_rows() as u64;
        Ok(())
    }

    fn part_path(&self) -> PathBuf {
        beside(&self.out, "part")
    }

    /// Makes the Parquet file of the rows, all of which are there.
    ///
    /// # Errors
    /// When some are missing, or the file cannot be written.
    pub fn finish(mut self) -> Result<Done, FileError> {
        self.push_known()?;
        self.flush()?;
        if self.missing() > 0 {
            let problem = format!("{} rows are missing", self.missing());
            return Err(FileError::taken(&self.out, problem));
        }
        let path = self.part_path();
        let part = File::open(&path);
        let mut part = part.map_err(|error| FileError::disk(&path, error))?;
        let mut parquet = ParquetFile::begin(&self.out, &schema(self.sweep))?;
        let mut rows = 0;
        stream::read(&mut part, |batch, _| {
            rows += batch.num_rows() as u64;
            parquet.write(batch.clone())
        })?;
        if rows != self.written {
            let problem = format!("{} rows were written, and {rows} are there", self.written);
            return Err(FileError::disk(&path, problem));
        }
        parquet.finish()?;
        // All that is in them is in the result.
        for leftover in [path, beside(&self.out, "old")] {
            drop(std::fs::remove_file(leftover));
        }
        Ok(Done { rows, run: self.run })
    }
}

/// What tells a run from every other; `last` is the cell of the run before.
fn hash(sweep: &Sweep, run: u64, last: &mut Option<Cell>) -> Result<RunHash, ScenarioError> {
    let seed = sweep.place(run).map_or(0, |place| place.seed);
    Ok(sweep.cell_of(run, last)?.hash(seed))
}

/// The events that the simulator handled for a row: its last value.
fn events(row: &Row) -> u64 {
    if let Some(Value::Count(events)) = row.values.last() { *events } else { 0 }
}

/// The file of this name with another ending.
fn beside(out: &Path, ending: &str) -> PathBuf {
    let mut name = out.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    PathBuf::from(name)
}

/// Adds the rows of a result.
fn read_result(out: &Path, known: &mut HashMap<RunHash, Values>) -> Result<(), FileError> {
    each_batch(out, GROUP, |batch| {
        let rows = read(batch).map_err(|problem| FileError::not_of_a_sweep(out, &problem))?;
        known.extend(rows);
        Ok(())
    })
    .map_err(|error| match error {
        FileError::Disk { path, problem } => FileError::not_of_a_sweep(&path, &problem),
        error => error,
    })
}

/// Whether a result has nothing that this sweep does not have.
fn check_all_are_of(
    sweep: &Sweep,
    shard: Shard,
    out: &Path,
    known: &HashMap<RunHash, Values>,
) -> Result<(), FileError> {
    let (mut last, mut used): (Option<Cell>, usize) = (None, 0);
    for run in shard.runs(sweep.total()) {
        let hash = hash(sweep, run, &mut last)?;
        used += usize::from(known.contains_key(&hash));
    }
    if used < known.len() {
        return Err(FileError::taken(
            out,
            format!(
                "{} of its {} rows are of another sweep, or of another version: name another file, or replace it by --replace",
                known.len() - used,
                known.len()
            ),
        ));
    }
    Ok(())
}

/// How far a part goes that this sweep began: its rows and bytes. No rows of one that another sweep began; those are added to
/// what is known.
struct Begun {
    written: u64,
    bytes: u64,
}

fn begun(
    sweep: &Sweep,
    shard: Shard,
    file: &mut File,
    path: &Path,
    known: &mut HashMap<RunHash, Values>,
) -> Result<Begun, FileError> {
    let mut runs = shard.runs(sweep.total());
    let (mut begun, mut last) = (Begun { written: 0, bytes: 0 }, None);
    let mut is_ours = true;
    let found = stream::read(file, |batch, bytes| {
        let Ok(rows) = read(batch) else { return Ok(()) };
        let numbers = run_numbers(batch).map_err(|problem| FileError::disk(path, problem))?;
        for (number, (known, _)) in numbers.iter().zip(&rows) {
            is_ours &= runs.next() == Some(*number) && hash(sweep, *number, &mut last)? == *known;
        }
        known.extend(rows);
        begun = Begun { written: begun.written + numbers.len() as u64, bytes };
        Ok::<_, FileError>(())
    })?;
    let same = |found: &Schema| {
        found.fields() == schema(sweep).fields()
            && found.metadata().get(SWEEP) == schema(sweep).metadata().get(SWEEP)
    };
    if !is_ours || !found.is_some_and(|found| same(&found)) {
        begun.written = 0;
    }
    Ok(begun)
}

/// Adds the rows of a stream of known runs.
fn read_stream(path: &Path, known: &mut HashMap<RunHash, Values>) -> Result<(), FileError> {
    let mut file = File::open(path).map_err(|error| FileError::disk(path, error))?;
    stream::read(&mut file, |batch, _| {
        known.extend(read(batch).map_err(|problem| FileError::disk(path, problem))?);
        Ok::<_, FileError>(())
    })?;
    Ok(())
}

/// Writes all that is known.
fn write_stream(path: &Path, known: &HashMap<RunHash, Values>) -> Result<(), FileError> {
    let mut rows: Vec<(RunHash, Values)> =
        known.iter().map(|(hash, values)| (*hash, *values)).collect();
    rows.sort_unstable_by_key(|(hash, _)| *hash);
    let new = beside(path, "new");
    let written = || -> Result<(), ArrowError> {
        let mut stream = Stream::begin(File::create(&new)?, &known_schema())?;
        for rows in rows.chunks(ROWS) {
            stream.write(&known_batch(rows)?)?;
        }
        Ok(std::fs::rename(&new, path)?)
    };
    written().map_err(|error| FileError::disk(path, error))
}
