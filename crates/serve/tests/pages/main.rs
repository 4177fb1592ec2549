//! A server on a real socket, and those who ask it.

mod changes;
mod common;
mod hostile;
#[cfg(feature = "parquet")]
mod results;
mod runs;
