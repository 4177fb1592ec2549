//! Where merged rows go.

use std::fs::File;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, SchemaRef};

use super::file::FileError;
use super::parquet_file::ParquetFile;

/// A file that gets its name when it is whole.
pub(super) enum Output {
    Parquet(ParquetFile),
    Csv { out: PathBuf, new: PathBuf, writer: arrow_csv::Writer<File> },
}

impl Output {
    /// Begins one, which is CSV if its name says so, and none of those that are read.
    pub(super) fn begin(
        out: &Path,
        read: &[PathBuf],
        schema: &SchemaRef,
    ) -> Result<Self, FileError> {
        let same = |path: &PathBuf| matches!((path.canonicalize(), out.canonicalize()), (Ok(a), Ok(b)) if a == b);
        if read.iter().any(same) {
            return Err(FileError::taken(
                out,
                "it is one of the files that are merged: name another one",
            ));
        }
        if out.extension().is_none_or(|ending| ending != "csv") {
            return ParquetFile::begin(out, schema).map(Self::Parquet);
        }
        let mut new = out.as_os_str().to_owned();
        new.push(".new");
        let new = PathBuf::from(new);
        let file = File::create(&new).map_err(|error| FileError::disk(&new, error))?;
        Ok(Self::Csv { out: out.to_owned(), new, writer: arrow_csv::Writer::new(file) })
    }

    /// Adds rows.
    pub(super) fn write(&mut self, batch: RecordBatch) -> Result<(), FileError> {
        match self {
            Self::Parquet(file) => file.write(batch),
            Self::Csv { new, writer, .. } => {
                writer.write(&batch).map_err(|error| FileError::disk(new, error))
            }
        }
    }

    /// Ends the file and gives it its name.
    pub(super) fn finish(self) -> Result<(), FileError> {
        match self {
            Self::Parquet(file) => file.finish(),
            Self::Csv { out, new, writer } => {
                let named = || -> Result<(), ArrowError> {
                    writer.into_inner().sync_all()?;
                    Ok(std::fs::rename(&new, &out)?)
                };
                named().map_err(|error| FileError::disk(&out, error))
            }
        }
    }
}
