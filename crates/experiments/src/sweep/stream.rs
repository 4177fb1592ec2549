//! Rows of a sweep that is under way: an Arrow stream that is appended to, and may be cut off anywhere.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};

use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::{
    DictionaryTracker, IpcDataGenerator, IpcWriteContext, IpcWriteOptions, StreamWriter,
    write_message,
};
use arrow_schema::{ArrowError, SchemaRef};

/// Appends batches to a stream.
pub(super) struct Stream {
    file: BufWriter<File>,
    generator: IpcDataGenerator,
    options: IpcWriteOptions,
}

impl Stream {
    /// Goes on after the first `kept` bytes of a file, which hold a schema and batches.
    pub(super) fn append(mut file: File, kept: u64) -> io::Result<Self> {
        file.set_len(kept)?;
        file.seek(SeekFrom::End(0))?;
        Ok(Self::of(file))
    }

    /// Begins a stream in place of what is in a file.
    pub(super) fn begin(mut file: File, schema: &SchemaRef) -> Result<Self, ArrowError> {
        file.set_len(0)?;
        file.seek(SeekFrom::Start(0))?;
        // What it writes at first is the schema; what it writes at the end is not wanted yet.
        StreamWriter::try_new(&file, schema)?.flush()?;
        Ok(Self::of(file))
    }

    fn of(file: File) -> Self {
        let (generator, options) = (IpcDataGenerator::default(), IpcWriteOptions::default());
        Self { file: BufWriter::new(file), generator, options }
    }

    /// Writes a batch, whole, so that it survives the process.
    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        let (mut tracker, mut context) =
            (DictionaryTracker::new(false), IpcWriteContext::default());
        let (_, message) =
            self.generator.encode(batch, &mut tracker, &self.options, &mut context)?;
        write_message(&mut self.file, message, &self.options)?;
        Ok(self.file.flush()?)
    }
}

/// Reads the batches of a stream as far as it is whole, and gives each to `take`, with the bytes of the file up to its end.
///
/// # Errors
/// Those of `take`. A stream that breaks off is none.
pub(super) fn read<E>(
    file: &mut File,
    mut take: impl FnMut(&RecordBatch, u64) -> Result<(), E>,
) -> Result<Option<SchemaRef>, E> {
    if file.seek(SeekFrom::Start(0)).is_err() {
        return Ok(None);
    }
    let counted = Counted { inner: BufReader::new(&*file), bytes: 0 };
    let Ok(mut reader) = StreamReader::try_new(counted, None) else { return Ok(None) };
    let schema = reader.schema();
    while let Some(Ok(batch)) = reader.next() {
        take(&batch, reader.get_ref().bytes)?;
    }
    Ok(Some(schema))
}

/// Counts what is read.
struct Counted<R> {
    inner: R,
    bytes: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(into)?;
        self.bytes += read as u64;
        Ok(read)
    }
}
