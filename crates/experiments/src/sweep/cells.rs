//! What a result comes to, cell by cell, for pictures: means over the seeds, and the runs that they are made of.

use std::collections::HashMap;
use std::ops::{Range, RangeInclusive};
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, SchemaRef};
use bentpipe_record::Estimate;
use serde::Serialize;
use serde_json::Value as Json;

use super::columns::{ColumnId, Value, Values};
use super::file::FileError;
use super::parquet_file::{each_batch, reader};
use super::table::{SWEEP, VERSION, read, run_numbers};
use crate::compare::estimate;
use crate::progress::Progress;

/// The most cells of a result that are told of, its most rows, and the most runs that are told of one by one.
const MOST: usize = 10_000;
const MOST_ROWS: usize = 5_000_000;
const MOST_RUNS: usize = 1_000;
/// Rows that are read at once: texts may be long.
const AT_ONCE: usize = 1_024;

/// A result, cell by cell.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cells {
    /// What the sweep was, as its file says.
    pub sweep: Json,
    /// The version of the program that ran it.
    pub version: String,
    /// What was varied, in the order of the columns.
    pub axes: Vec<CellAxis>,
    /// Every combination of values and variant, in the order of the runs.
    pub cells: Vec<Cell>,
}

/// What was varied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CellAxis {
    /// The key of the scenario.
    pub key: String,
    /// The unit of its values, where they are numbers of one unit.
    pub unit: Option<String>,
}

/// A combination of values and variant.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cell {
    /// The values, without their units.
    pub values: Vec<String>,
    /// The variant, where there are some.
    pub variant: Option<String>,
    /// The number of its first run.
    pub first_run: u64,
    /// The number of its last run. In a shard not all that lie between are there.
    pub last_run: u64,
    /// How many there are.
    pub runs: u64,
    /// The measure over its runs; none where no run has it.
    pub measure: Option<Estimate>,
}

/// A run of a result.
#[derive(Clone, Debug, PartialEq)]
pub struct CellRun {
    /// Its number in the sweep.
    pub run: u64,
    /// Its seed.
    pub seed: u64,
    /// What was measured.
    pub values: Values,
}

/// Reads the cells of a result, with a measure, as long as somebody waits for it.
///
/// # Errors
/// When the file is no result of a sweep, cannot be read, or has more than ten thousand cells or five million rows.
pub fn cells(path: &Path, measure: ColumnId, progress: &dyn Progress) -> Result<Cells, FileError> {
    let not_one = |problem: &str| FileError::not_of_a_sweep(path, problem);
    let (_, schema) = reader(path, 1)?;
    let axes =
        axes(&schema).ok_or_else(|| not_one("there are no columns `scenario` and `variant`"))?;
    let said = schema.metadata().get(SWEEP).and_then(|text| serde_json::from_str(text).ok());
    let mut found: Vec<(Cell, Vec<f64>)> = Vec::new();
    let mut places: HashMap<(Vec<String>, Option<String>), usize> = HashMap::new();
    let range = axes.clone();
    let mut left = MOST_ROWS;
    each_batch(path, AT_ONCE, |batch| {
        wanted(path, progress)?;
        left = left
            .checked_sub(batch.num_rows())
            .ok_or_else(|| not_one(&format!("it has more than {MOST_ROWS} rows")))?;
        let rows = read(batch).map_err(|problem| not_one(&problem))?;
        let numbers = run_numbers(batch).map_err(|problem| not_one(&problem))?;
        for (row, ((_, values), run)) in rows.iter().zip(numbers).enumerate() {
            let key = key_of(batch, &range, row);
            let next = found.len();
            let cell = *places.entry(key.clone()).or_insert(next);
            if cell == MOST {
                return Err(not_one(&format!("it has more than {MOST} cells")));
            }
            if cell == next {
                let (values, variant) = key;
                let (first_run, last_run) = (*run, *run);
                let cell = Cell { values, variant, first_run, last_run, runs: 0, measure: None };
                found.push((cell, Vec::new()));
            }
            let (cell, measured) = &mut found[cell];
            cell.runs += 1;
            cell.last_run = cell.last_run.max(*run);
            measured.extend(number(measure.value(values)));
        }
        Ok(())
    })?;
    let axis = |place: usize| {
        let field = schema.field(place);
        CellAxis { key: field.name().clone(), unit: field.metadata().get("unit").cloned() }
    };
    let cells = found.into_iter().map(|(cell, measured)| {
        let measure = (!measured.is_empty()).then(|| estimate(&measured));
        Cell { measure, ..cell }
    });
    Ok(Cells {
        sweep: said.unwrap_or_default(),
        version: schema.metadata().get(VERSION).cloned().unwrap_or_default(),
        axes: axes.map(axis).collect(),
        cells: cells.collect(),
    })
}

/// Reads the runs of a result with these numbers, the first thousand of them, as long as somebody waits for it.
///
/// # Errors
/// When the file is no result of a sweep or cannot be read.
pub fn runs(
    path: &Path,
    numbers: RangeInclusive<u64>,
    progress: &dyn Progress,
) -> Result<Vec<CellRun>, FileError> {
    let not_one = |problem: &str| FileError::not_of_a_sweep(path, problem);
    let mut found = Vec::new();
    each_batch(path, AT_ONCE, |batch| {
        wanted(path, progress)?;
        let rows = read(batch).map_err(|problem| not_one(&problem))?;
        let seeds =
            batch.column_by_name("seed").filter(|seeds| *seeds.data_type() == DataType::UInt64);
        let seeds = seeds.ok_or_else(|| not_one("there is no column `seed` of whole numbers"))?;
        let seeds = seeds.as_primitive::<UInt64Type>().values();
        let of_batch = run_numbers(batch).map_err(|problem| not_one(&problem))?;
        for ((run, seed), (_, values)) in of_batch.iter().zip(seeds).zip(rows) {
            if numbers.contains(run) && found.len() < MOST_RUNS {
                found.push(CellRun { run: *run, seed: *seed, values });
            }
        }
        Ok(())
    })?;
    Ok(found)
}

fn wanted(path: &Path, progress: &dyn Progress) -> Result<(), FileError> {
    if progress.is_wanted() { Ok(()) } else { Err(FileError::disk(path, "broken off")) }
}

/// A value as a number.
fn number(value: Value) -> Option<f64> {
    match value {
        Value::Number(number) => number,
        Value::Count(count) => Some(count as f64),
        Value::Truth(truth) => Some(f64::from(u8::from(truth))),
    }
}

/// Where the columns of varied keys are.
fn axes(schema: &SchemaRef) -> Option<Range<usize>> {
    let first = schema.index_of("scenario").ok()? + 1;
    let end = schema.index_of("variant").ok()?;
    (first <= end).then_some(first..end)
}

/// The values and the variant of a row.
fn key_of(batch: &RecordBatch, axes: &Range<usize>, row: usize) -> (Vec<String>, Option<String>) {
    let text = |column: &dyn Array| match column.data_type() {
        DataType::Float64 => Some(column.as_primitive::<Float64Type>().value(row).to_string()),
        DataType::Utf8 => {
            column.is_valid(row).then(|| column.as_string::<i32>().value(row).to_owned())
        }
        _ => None,
    };
    let values = axes.clone().map(|place| text(batch.column(place)).unwrap_or_default());
    (values.collect(), text(batch.column(axes.end)))
}
