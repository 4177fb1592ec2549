//! The project's own table of a trace as Parquet, as pandas, polars and DuckDB write it.
//!
//! The columns are those of [`native`](crate::native): numbers of any kind, and `up` as a truth or as 1 and 0; null changes
//! nothing. What is written is compressed with Snappy.

use std::io::Write;
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Compression, Repetition, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{BoolType, DataType, DoubleType};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;

use crate::table::{COLUMNS, NUMBERS, Row, Rows, places, rows};
use crate::{Trace, TraceError};

/// What pandas calls an index without a name, which is a number of the row.
const INDEX: &str = "__index_level_0__";
/// The most rows of a trace: a year with one every 300 ms.
const MOST_ROWS: i64 = 100_000_000;
/// The name of the thread that reads. A panic in it is an error of the file and no fault of the program, which may leave it unsaid.
pub const THREAD: &str = "parquet";
/// Values that are read at once.
const BATCH: usize = 65_536;

/// Reads a trace.
///
/// # Errors
/// When the file is broken, a column is not known or has no numbers, a time is not later than the one before it, or a value
/// cannot be, with the number of the row.
pub fn read(file: &str, bytes: &[u8]) -> Result<Trace, TraceError> {
    let broken = |problem: String| TraceError::whole(file, problem);
    guarded(|| read_whole(file, bytes)).unwrap_or_else(|problem| Err(broken(problem)))
}

/// Does what reads Parquet on a thread of its own ([`THREAD`]): where a page promises a dictionary and there is none, the
/// library panics.
///
/// # Errors
/// When it panicked, or there is no thread: what to say of the file.
pub fn guarded<R: Send>(read: impl FnOnce() -> R + Send) -> Result<R, String> {
    std::thread::scope(|scope| {
        let reader = std::thread::Builder::new().name(THREAD.to_owned());
        let reader = reader.spawn_scoped(scope, read);
        reader
            .map_err(|error| format!("there is no thread to read it: {error}"))?
            .join()
            .map_err(|_| "it is no Parquet: a page is damaged".to_owned())
    })
}

fn read_whole(file: &str, bytes: &[u8]) -> Result<Trace, TraceError> {
    let whole = |problem: String| TraceError::whole(file, problem);
    let broken = |error: ParquetError| whole(format!("it is no Parquet: {error}"));
    let reader = SerializedFileReader::new(Bytes::copy_from_slice(bytes)).map_err(broken)?;
    let metadata = reader.metadata().file_metadata();
    if metadata.num_rows() > MOST_ROWS {
        return Err(whole(format!("{} rows: at most {MOST_ROWS}", metadata.num_rows())));
    }
    let schema = metadata.schema_descr();
    let leaves = schema.columns().iter().enumerate();
    let leaves: Vec<(usize, &str)> = leaves
        .map(|(place, column)| (place, column.name()))
        .filter(|(_, name)| *name != INDEX)
        .collect();
    let columns = places(leaves.iter().map(|(_, name)| *name)).map_err(whole)?;
    let columns = columns.map(|place| place.map(|place| leaves[place].0));
    for place in columns.into_iter().flatten() {
        let column = schema.column(place);
        if column.max_rep_level() > 0 || column.path().parts().len() > 1 {
            return Err(whole(format!("the column `{}` is a list or nested", column.name())));
        }
    }
    let mut table = Rows::default();
    let mut before = 0;
    for group in 0..reader.num_row_groups() {
        let group = reader.get_row_group(group).map_err(broken)?;
        let values = columns.map(|place| place.map(|place| column(&*group, place)));
        let [time, rate, delay, loss, up] = values.map(Option::transpose);
        let numbers = [time, rate, delay, loss];
        let mut values = [const { Vec::new() }; COLUMNS.len()];
        for (column, read) in numbers.into_iter().chain([up]).enumerate() {
            let read =
                read.map_err(|problem| whole(format!("`{}`: {problem}", COLUMNS[column])))?;
            values[column] = read.unwrap_or_default();
        }
        for number in 0..values[0].len() {
            let wrong = |(column, problem): (&'static str, String)| {
                let problem = format!("row {}: {problem}", before + number + 1);
                TraceError { field: Some(column), ..whole(problem) }
            };
            let cell = |column: usize| values[column].get(number).copied().flatten();
            let up = match cell(NUMBERS) {
                None => None,
                Some(1.0) => Some(true),
                Some(0.0) => Some(false),
                Some(other) => {
                    return Err(wrong((COLUMNS[NUMBERS], format!("`{other}` is neither 1 nor 0"))));
                }
            };
            let numbers = [0, 1, 2, 3].map(cell);
            table.push(&Row { numbers, up }).map_err(wrong)?;
        }
        before += values[0].len();
    }
    table.trace().map_err(whole)
}

/// The values of a column as numbers, of which a truth is 1 or 0.
fn column(group: &dyn RowGroupReader, place: usize) -> Result<Vec<Option<f64>>, String> {
    let broken = |error: ParquetError| error.to_string();
    match group.get_column_reader(place).map_err(broken)? {
        ColumnReader::BoolColumnReader(reader) => values(reader, |v| f64::from(u8::from(v))),
        ColumnReader::Int32ColumnReader(reader) => values(reader, f64::from),
        ColumnReader::Int64ColumnReader(reader) => values(reader, |v| v as f64),
        ColumnReader::FloatColumnReader(reader) => values(reader, f64::from),
        ColumnReader::DoubleColumnReader(reader) => values(reader, |v| v),
        _ => Err("it has no numbers".to_owned()),
    }
}

fn values<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    number: impl Fn(T::T) -> f64,
) -> Result<Vec<Option<f64>>, String> {
    let mut all = Vec::new();
    let (mut levels, mut some) = (Vec::new(), Vec::new());
    loop {
        levels.clear();
        some.clear();
        let read = reader.read_records(BATCH, Some(&mut levels), None, &mut some);
        let (records, _, count) = read.map_err(|error| error.to_string())?;
        if records == 0 && count == 0 {
            return Ok(all);
        }
        let mut values = some.drain(..).map(&number);
        if levels.is_empty() {
            all.extend(values.map(Some));
        } else {
            // One that may be null is there at level 1.
            all.extend(levels.iter().map(|level| if *level > 0 { values.next() } else { None }));
        }
    }
}

/// Writes a trace. Opportunities become the rate of each tenth of a second.
///
/// # Errors
/// When `out` cannot be written.
pub fn write(trace: &Trace, out: impl Write + Send) -> Result<(), ParquetError> {
    let (has, rows) = rows(trace);
    let mut fields = Vec::new();
    for (column, name) in COLUMNS.iter().enumerate().filter(|(column, _)| has[*column]) {
        let kind = if column < NUMBERS { Physical::DOUBLE } else { Physical::BOOLEAN };
        let needed = if column == 0 { Repetition::REQUIRED } else { Repetition::OPTIONAL };
        let field = Type::primitive_type_builder(name, kind).with_repetition(needed).build()?;
        fields.push(Arc::new(field));
    }
    let schema = Arc::new(Type::group_type_builder("trace").with_fields(fields).build()?);
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut writer = SerializedFileWriter::new(out, schema, Arc::new(properties))?;
    let mut group = writer.next_row_group()?;
    for column in (0..NUMBERS).filter(|column| has[*column]) {
        let cells = rows.iter().map(|row| row.numbers[column]);
        write_column::<DoubleType, _>(&mut group, cells, column == 0)?;
    }
    if has[NUMBERS] {
        write_column::<BoolType, _>(&mut group, rows.iter().map(|row| row.up), false)?;
    }
    group.close()?;
    writer.close()?;
    Ok(())
}

fn write_column<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    cells: impl Iterator<Item = Option<T::T>>,
    all: bool,
) -> Result<(), ParquetError> {
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    for cell in cells {
        levels.push(i16::from(cell.is_some()));
        values.extend(cell);
    }
    if let Some(mut column) = group.next_column()? {
        column.typed::<T>().write_batch(&values, (!all).then_some(&levels[..]), None)?;
        column.close()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
