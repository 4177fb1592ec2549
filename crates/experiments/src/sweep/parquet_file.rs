//! Parquet that is the same byte for byte, however its rows came.

use std::fs::File;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, SchemaRef};
use arrow_select::coalesce::BatchCoalescer;
use bentpipe_trace::open_regular;
use bentpipe_trace::parquet::guarded;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use super::file::FileError;

/// Rows of a row group.
pub(super) const GROUP: usize = 1 << 16;

/// A file that gets its name when it is whole.
pub(super) struct ParquetFile {
    out: PathBuf,
    new: PathBuf,
    writer: ArrowWriter<File>,
    rows: BatchCoalescer,
}

impl ParquetFile {
    /// Begins one.
    pub(super) fn begin(out: &Path, schema: &SchemaRef) -> Result<Self, FileError> {
        let mut new = out.as_os_str().to_owned();
        new.push(".new");
        let new = PathBuf::from(new);
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_max_row_group_row_count(Some(GROUP));
        let begun = File::create(&new).map_err(ArrowError::from).and_then(|file| {
            Ok(ArrowWriter::try_new(file, schema.clone(), Some(properties.build()))?)
        });
        let writer = begun.map_err(|error| FileError::disk(&new, error))?;
        let rows = BatchCoalescer::new(schema.clone(), GROUP);
        Ok(Self { out: out.to_owned(), new, writer, rows })
    }

    /// Adds rows.
    pub(super) fn write(&mut self, batch: RecordBatch) -> Result<(), FileError> {
        let pushed = self.rows.push_batch(batch);
        let written = pushed.and_then(|()| self.write_groups());
        written.map_err(|error| FileError::disk(&self.new, error))
    }

    fn write_groups(&mut self) -> Result<(), ArrowError> {
        while let Some(group) = self.rows.next_completed_batch() {
            self.writer.write(&group)?;
        }
        Ok(())
    }

    /// Ends the file and gives it its name.
    pub(super) fn finish(mut self) -> Result<(), FileError> {
        let finished = self.rows.finish_buffered_batch().and_then(|()| self.write_groups());
        let named = finished.and_then(|()| {
            let file = self.writer.into_inner()?;
            file.sync_all()?;
            Ok(std::fs::rename(&self.new, &self.out)?)
        });
        named.map_err(|error| FileError::disk(&self.out, error))
    }
}

/// Opens a file for reading so many rows at once; the schema has the metadata that the batches are without.
pub(super) fn reader(
    path: &Path,
    rows: usize,
) -> Result<(ParquetRecordBatchReader, SchemaRef), FileError> {
    let file = open_regular(path).map_err(|error| FileError::disk(path, error))?;
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).and_then(|builder| {
        let schema = builder.schema().clone();
        Ok((builder.with_batch_size(rows).build()?, schema))
    });
    reader.map_err(|error| FileError::disk(path, error))
}

/// Gives the rows of a file to `take`, so many at once at most.
pub(super) fn each_batch(
    path: &Path,
    rows: usize,
    mut take: impl FnMut(&RecordBatch) -> Result<(), FileError> + Send,
) -> Result<(), FileError> {
    let read = guarded(move || {
        let (mut batches, _) = reader(path, rows)?;
        batches.try_for_each(|batch| take(&batch.map_err(|error| FileError::disk(path, error))?))
    });
    read.unwrap_or_else(|problem| Err(FileError::disk(path, problem)))
}
