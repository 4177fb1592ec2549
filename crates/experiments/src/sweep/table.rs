//! Rows of a sweep as Arrow record batches.
//!
//! The columns are `run`, `hash`, `scenario`, one for each key that is varied, `variant`, `seed`, and those of
//! [`COLUMNS`]. A varied key whose values are numbers of one unit is a column of numbers, with the unit in the
//! field's metadata; otherwise it has the values as they were written. The schema's metadata say which version of the
//! program ran which sweep.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, Float64Builder, StringBuilder, UInt64Builder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use bentpipe_scenario::ScenarioError;
use serde_json::json;

use super::axis::Axis;
use super::columns::{COLUMNS, Column, Value, Values};
use super::hash::RunHash;
use super::plan::Sweep;
use super::run::Row;
use crate::progress::Progress;

/// The key of the schema's metadata that says which sweep it was: JSON.
pub const SWEEP: &str = "bentpipe.sweep";
/// The key of the schema's metadata that says which version of the program ran it.
pub const VERSION: &str = "bentpipe.version";

/// The columns of a sweep's rows.
pub fn schema(sweep: &Sweep) -> SchemaRef {
    let plain = |name: &str, kind| Field::new(name, kind, false);
    let mut fields = vec![
        plain("run", DataType::UInt64),
        plain("hash", DataType::Utf8),
        plain("scenario", DataType::Utf8),
    ];
    fields.extend(sweep.axes().iter().map(of_axis));
    fields.push(Field::new("variant", DataType::Utf8, true));
    fields.push(plain("seed", DataType::UInt64));
    fields.extend(COLUMNS.iter().map(of_column));
    let vary: serde_json::Map<String, serde_json::Value> =
        sweep.axes().iter().map(|axis| (axis.key().to_owned(), json!(axis.values()))).collect();
    let variants: Vec<&str> =
        sweep.variants().iter().map(|variant| variant.name.as_str()).collect();
    let about = json!({
        "scenario": sweep.name(),
        "identity": sweep.identity(),
        "text": sweep.scenario().text(),
        "vary": vary,
        "variants": variants,
        "seeds": sweep.seeds().to_string(),
        "flows": sweep.flows(),
        "runs": sweep.total(),
    });
    let metadata = [
        (SWEEP.to_owned(), about.to_string()),
        (VERSION.to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
    ];
    Arc::new(Schema::new_with_metadata(fields, HashMap::from(metadata)))
}

fn of_axis(axis: &Axis) -> Field {
    let kind = if axis.numbers().is_some() { DataType::Float64 } else { DataType::Utf8 };
    with_unit(Field::new(axis.key(), kind, false), axis.unit())
}

fn of_column(column: &Column) -> Field {
    let kind = match column {
        column if column.is_number() => DataType::Float64,
        column if column.is_count() => DataType::UInt64,
        _ => DataType::Boolean,
    };
    with_unit(Field::new(column.name, kind, column.is_number()), column.unit)
}

fn with_unit(field: Field, unit: Option<&str>) -> Field {
    match unit {
        None => field,
        Some(unit) => field.with_metadata(HashMap::from([("unit".to_owned(), unit.to_owned())])),
    }
}

impl Sweep {
    /// Runs these runs, as [`run`](Self::run) does, and gives the rows as one batch: a part of a sweep for whoever gathers it.
    ///
    /// # Errors
    /// When a run cannot be, or nobody waits any more.
    pub fn run_batch(
        &self,
        runs: impl Iterator<Item = u64> + Send,
        jobs: Option<usize>,
        progress: &dyn Progress,
    ) -> Result<RecordBatch, ScenarioError> {
        let mut rows = Rows::new(self);
        self.run(runs, jobs, &|_| None, progress, |row| {
            rows.push(&row);
            Ok::<_, ScenarioError>(())
        })?;
        Ok(rows.batch())
    }
}

/// A column of values that are put together.
enum Cells {
    Number(Float64Builder),
    Count(UInt64Builder),
    Truth(BooleanBuilder),
}

/// Rows that become a batch.
pub(super) struct Rows<'s> {
    sweep: &'s Sweep,
    schema: SchemaRef,
    rows: Vec<(u64, RunHash)>,
    measured: Vec<Cells>,
}

impl<'s> Rows<'s> {
    pub(super) fn new(sweep: &'s Sweep) -> Self {
        Self { sweep, schema: schema(sweep), rows: Vec::new(), measured: cells() }
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn push(&mut self, row: &Row) {
        self.rows.push((row.run, row.hash));
        append(&mut self.measured, &row.values);
    }

    /// The rows until now; none are left.
    pub(super) fn batch(&mut self) -> RecordBatch {
        let rows = std::mem::take(&mut self.rows);
        let places: Vec<_> = rows.iter().filter_map(|(run, _)| self.sweep.place(*run)).collect();
        let mut columns: Vec<ArrayRef> = vec![
            Arc::new(rows.iter().map(|(run, _)| Some(*run)).collect::<arrow_array::UInt64Array>()),
            texts(rows.iter().map(|(_, hash)| Some(hash.to_string()))),
            texts(rows.iter().map(|_| Some(self.sweep.name()))),
        ];
        for (number, axis) in self.sweep.axes().iter().enumerate() {
            let values = places.iter().map(|place| place.values[number]);
            columns.push(match axis.numbers() {
                Some(numbers) => Arc::new(arrow_array::Float64Array::from_iter_values(
                    values.map(|value| numbers[value]),
                )),
                None => texts(values.map(|value| Some(axis.values()[value].clone()))),
            });
        }
        let variants = self.sweep.variants();
        columns.push(texts(
            places.iter().map(|place| Some(variants.get(place.variant)?.name.clone())),
        ));
        columns.push(Arc::new(arrow_array::UInt64Array::from_iter_values(
            places.iter().map(|place| place.seed),
        )));
        columns.extend(finished(&mut self.measured));
        // Every column has a value for each row.
        RecordBatch::try_new(Arc::clone(&self.schema), columns)
            .unwrap_or_else(|_| RecordBatch::new_empty(Arc::clone(&self.schema)))
    }
}

fn texts<S: AsRef<str>>(values: impl Iterator<Item = Option<S>>) -> ArrayRef {
    let mut builder = StringBuilder::new();
    values.for_each(|value| builder.append_option(value));
    Arc::new(builder.finish())
}

fn cells() -> Vec<Cells> {
    let of = |column: &Column| match column {
        column if column.is_number() => Cells::Number(Float64Builder::new()),
        column if column.is_count() => Cells::Count(UInt64Builder::new()),
        _ => Cells::Truth(BooleanBuilder::new()),
    };
    COLUMNS.iter().map(of).collect()
}

fn append(cells: &mut [Cells], values: &Values) {
    for (cells, value) in cells.iter_mut().zip(values) {
        match (cells, value) {
            (Cells::Number(cells), Value::Number(number)) => cells.append_option(*number),
            (Cells::Count(cells), Value::Count(count)) => cells.append_value(*count),
            (Cells::Truth(cells), Value::Truth(truth)) => cells.append_value(*truth),
            // The same table says the kinds of both.
            (Cells::Number(_) | Cells::Count(_) | Cells::Truth(_), _) => {}
        }
    }
}

fn finished(cells: &mut [Cells]) -> impl Iterator<Item = ArrayRef> + '_ {
    cells.iter_mut().map(|cells| -> ArrayRef {
        match cells {
            Cells::Number(cells) => Arc::new(cells.finish()),
            Cells::Count(cells) => Arc::new(cells.finish()),
            Cells::Truth(cells) => Arc::new(cells.finish()),
        }
    })
}

/// The schema of runs that are known by their hashes alone.
pub(super) fn known_schema() -> SchemaRef {
    let hash = Field::new("hash", DataType::Utf8, false);
    Arc::new(Schema::new(
        [hash].into_iter().chain(COLUMNS.iter().map(of_column)).collect::<Vec<_>>(),
    ))
}

/// A batch of them.
pub(super) fn known_batch(known: &[(RunHash, Values)]) -> Result<RecordBatch, ArrowError> {
    let mut measured = cells();
    known.iter().for_each(|(_, values)| append(&mut measured, values));
    let hashes = texts(known.iter().map(|(hash, _)| Some(hash.to_string())));
    RecordBatch::try_new(
        known_schema(),
        [hashes].into_iter().chain(finished(&mut measured)).collect(),
    )
}

/// The hashes and the values of a batch that this program wrote.
pub(super) fn read(batch: &RecordBatch) -> Result<Vec<(RunHash, Values)>, String> {
    let column = |name: &str, kind: DataType| {
        let column = batch.column_by_name(name).filter(|column| *column.data_type() == kind);
        column.ok_or_else(|| format!("there is no column `{name}` of {kind}"))
    };
    let hashes = column("hash", DataType::Utf8)?.as_string::<i32>();
    let mut measured = Vec::new();
    for about in &COLUMNS {
        let kind = of_column(about).data_type().clone();
        measured.push(column(about.name, kind)?);
    }
    let row = |row: usize| {
        let hash = hashes.value(row).parse::<RunHash>()?;
        let values = std::array::from_fn(|place| match (&COLUMNS[place], measured[place]) {
            (about, cells) if about.is_number() => {
                let cells = cells.as_primitive::<Float64Type>();
                Value::Number(cells.is_valid(row).then(|| cells.value(row)))
            }
            (about, cells) if about.is_count() => {
                Value::Count(cells.as_primitive::<UInt64Type>().value(row))
            }
            (_, cells) => Value::Truth(cells.as_boolean().value(row)),
        });
        Ok((hash, values))
    };
    (0..batch.num_rows()).map(row).collect()
}

/// The numbers of the runs of a batch.
pub(super) fn run_numbers(batch: &RecordBatch) -> Result<&[u64], String> {
    let runs = batch.column_by_name("run").filter(|column| *column.data_type() == DataType::UInt64);
    let runs = runs.ok_or("there is no column `run` of whole numbers")?;
    Ok(runs.as_primitive::<UInt64Type>().values())
}
