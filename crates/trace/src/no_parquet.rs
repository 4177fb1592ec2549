//! What stands for Parquet in a build without it: it can neither be read nor written.

use std::io::Write;

use crate::{Trace, TraceError};

/// The name of a thread that this build does not have.
pub const THREAD: &str = "parquet";

const MISSING: &str =
    "this program was built without Parquet (the feature `parquet`); CSV has the same columns";

/// Reads nothing.
///
/// # Errors
/// Always.
pub fn read(file: &str, _: &[u8]) -> Result<Trace, TraceError> {
    Err(TraceError::whole(file, MISSING))
}

/// Writes nothing.
///
/// # Errors
/// Always.
pub fn write(_: &Trace, _: impl Write + Send) -> Result<(), &'static str> {
    Err(MISSING)
}
