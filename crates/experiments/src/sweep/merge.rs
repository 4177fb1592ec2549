//! One result of several shards.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_schema::{ArrowError, DataType, SchemaRef};
use arrow_select::interleave::interleave_record_batch;
use bentpipe_trace::parquet::guarded;
use parquet::arrow::arrow_reader::ParquetRecordBatchReader;

use super::file::FileError;
use super::output::Output;
use super::parquet_file::reader;
use super::table::{SWEEP, VERSION, run_numbers};

/// Rows that are read at once from each file, and written at once.
const ROWS: usize = 1024;

/// What files came to together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Merged {
    /// Rows that were written.
    pub rows: u64,
    /// Rows that the whole sweep has.
    pub total: u64,
}

/// Puts results of shards of one sweep together, in the order of the runs; a run that is in several of them comes once. What
/// comes out of all shards is what the whole sweep had written, byte for byte. A name that ends in `.csv` becomes a table of
/// text.
///
/// # Errors
/// When a file is no result of a sweep, two are of different sweeps or versions, some runs are in none (unless `partial`),
/// or `out` is one of the files or cannot be written.
pub fn merge(files: &[PathBuf], out: &Path, partial: bool) -> Result<Merged, FileError> {
    let merged = guarded(|| merge_all(files, out, partial));
    merged.unwrap_or_else(|problem| Err(FileError::disk(out, problem)))
}

fn merge_all(files: &[PathBuf], out: &Path, partial: bool) -> Result<Merged, FileError> {
    let mut sources = files.iter().map(|path| Source::open(path)).collect::<Result<Vec<_>, _>>()?;
    let Some(first) = sources.first() else {
        return Err(FileError::taken(out, "there is nothing to merge"));
    };
    let (schema, total) = (first.schema.clone(), first.total()?);
    sources.iter().try_for_each(|other| first.check_same(other))?;
    let mut output = Output::begin(out, files, &schema)?;
    let mut heads: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
    for (number, source) in sources.iter_mut().enumerate() {
        heads.extend(source.advance()?.map(|run| Reverse((run, number))));
    }
    let broken = |error: ArrowError| FileError::disk(out, error);
    let mut chunk = Chunk::default();
    let (mut rows, mut last): (u64, Option<(u64, String)>) = (0, None);
    while let Some(Reverse((run, number))) = heads.pop() {
        let source = &mut sources[number];
        let hash = source.hash()?;
        let before = last.as_ref().map(|(run, _)| *run);
        if before == Some(run) {
            if last.is_some_and(|(_, other)| other != hash) {
                let problem = format!("run {run} is another one here than in another file");
                return Err(FileError::taken(&source.path, problem));
            }
        } else if !partial && run != before.map_or(0, |before| before + 1) {
            break;
        } else {
            chunk.take(source);
            rows += 1;
        }
        last = Some((run, hash));
        let next = source.advance()?;
        heads.extend(next.map(|run| Reverse((run, number))));
        if chunk.rows.len() >= ROWS {
            output.write(chunk.batch(&schema, &mut sources).map_err(broken)?)?;
        }
    }
    if !partial && rows < total {
        let problem = format!(
            "the sweep has {total} runs, and run {rows} is in none of the files: name all shards, or write what is there by \
             --partial"
        );
        return Err(FileError::taken(out, problem));
    }
    if !chunk.rows.is_empty() {
        output.write(chunk.batch(&schema, &mut sources).map_err(broken)?)?;
    }
    output.finish()?;
    Ok(Merged { rows, total })
}

/// Rows of several batches that are written together.
#[derive(Default)]
struct Chunk {
    batches: Vec<RecordBatch>,
    /// Batch and row.
    rows: Vec<(usize, usize)>,
}

impl Chunk {
    /// Takes the row at which a source is.
    fn take(&mut self, source: &mut Source) {
        let Some((batch, row)) = &source.at else { return };
        let place = *source.place.get_or_insert_with(|| {
            self.batches.push(batch.clone());
            self.batches.len() - 1
        });
        self.rows.push((place, *row));
    }

    /// The rows until now; none are left.
    fn batch(
        &mut self,
        schema: &SchemaRef,
        sources: &mut [Source],
    ) -> Result<RecordBatch, ArrowError> {
        let batches: Vec<&RecordBatch> = self.batches.iter().collect();
        let batch = interleave_record_batch(&batches, &self.rows);
        self.rows.clear();
        self.batches.clear();
        sources.iter_mut().for_each(|source| source.place = None);
        batch?.with_schema(schema.clone())
    }
}

/// A file that is merged.
struct Source {
    path: PathBuf,
    schema: SchemaRef,
    reader: ParquetRecordBatchReader,
    /// The batch and the row at which it is.
    at: Option<(RecordBatch, usize)>,
    /// The place of the batch in the chunk.
    place: Option<usize>,
}

impl Source {
    fn open(path: &Path) -> Result<Self, FileError> {
        let ((reader, schema), path) = (reader(path, ROWS)?, path.to_owned());
        Ok(Self { path, schema, reader, at: None, place: None })
    }

    fn wrong(&self, problem: &str) -> FileError {
        FileError::taken(&self.path, format!("it is no result of a sweep: {problem}"))
    }

    /// How many runs the sweep has.
    fn total(&self) -> Result<u64, FileError> {
        let about = self.schema.metadata().get(SWEEP);
        let about = about.ok_or_else(|| self.wrong("it does not say which sweep"))?;
        let about = serde_json::from_str::<serde_json::Value>(about).ok();
        let total = about.as_ref().and_then(|about| about.get("runs")?.as_u64());
        total.ok_or_else(|| self.wrong("it does not say how many runs the sweep has"))
    }

    /// Whether another file has runs of the same sweep.
    fn check_same(&self, other: &Self) -> Result<(), FileError> {
        let path = self.path.display();
        let differs = |key| self.schema.metadata().get(key) != other.schema.metadata().get(key);
        for (key, what) in [(VERSION, "was run by another version"), (SWEEP, "is of another sweep")]
        {
            if differs(key) {
                let problem = format!(
                    "it {what} than {path}: {} and {}",
                    other.schema.metadata().get(key).map_or("none", String::as_str),
                    self.schema.metadata().get(key).map_or("none", String::as_str),
                );
                return Err(FileError::taken(&other.path, problem));
            }
        }
        if self.schema.fields() != other.schema.fields() {
            return Err(FileError::taken(&other.path, format!("it has other columns than {path}")));
        }
        Ok(())
    }

    /// Goes to the next row and gives the number of its run; `None` after the last one.
    fn advance(&mut self) -> Result<Option<u64>, FileError> {
        if let Some((batch, row)) = &mut self.at
            && *row + 1 < batch.num_rows()
        {
            *row += 1;
        } else {
            self.place = None;
            let next = self.reader.find(|batch| batch.as_ref().map_or(true, |b| b.num_rows() > 0));
            let batch = next.transpose().map_err(|error| FileError::disk(&self.path, error))?;
            self.at = batch.map(|batch| (batch, 0));
        }
        let Some((batch, row)) = &self.at else { return Ok(None) };
        let runs = run_numbers(batch).map_err(|problem| self.wrong(&problem))?;
        Ok(Some(runs[*row]))
    }

    /// The hash of the row at which it is.
    fn hash(&self) -> Result<String, FileError> {
        let cell = self.at.as_ref().and_then(|(batch, row)| {
            let hashes = batch.column_by_name("hash")?;
            let is_text = *hashes.data_type() == DataType::Utf8;
            is_text.then(|| hashes.as_string::<i32>().value(*row).to_owned())
        });
        cell.ok_or_else(|| self.wrong("there is no column `hash` of texts"))
    }
}
