//! Traces of links: rate, one-way delay, loss and state over time, as files have them.
//!
//! [`read`] knows the formats that describe a link: one line for each opportunity to send (mahimahi), and a table with a
//! time and columns, as CSV ([`native`]) or [`parquet`]. [`import`] makes such a table of what measuring programs write, and
//! [`record`] measures.
//!
//! ```
//! use bentpipe_trace::{Summary, read};
//!
//! let trace = read("down.csv", b"time_s,rate_bps,delay_s\n0,50e6,0.025\n15,80e6,0.031\n30,80e6,0.031\n")?;
//! let summary = Summary::of(&trace);
//! assert_eq!(summary.rate_bps.map(|rate| rate.max), Some(80e6));
//!
//! let error = read("down.csv", b"time_s,rate_bps\n0,fast\n").unwrap_err();
//! assert!(error.to_string().starts_with("down.csv, line 2"));
//! # Ok::<(), bentpipe_trace::TraceError>(())
//! ```

mod attenuation;
mod error;
pub mod import;
mod known;
mod mahimahi;
pub mod native;
mod options;
#[cfg(feature = "parquet")]
pub mod parquet;
#[cfg(not(feature = "parquet"))]
#[path = "no_parquet.rs"]
pub mod parquet;
pub mod record;
mod regular;
mod slots;
mod summary;
mod table;
mod trace;

pub use attenuation::AttenuationTrace;
pub use error::TraceError;
pub use known::{Known, known, open};
pub use options::TraceOptions;
pub use regular::{open_regular, read_regular};
pub use slots::{Slots, find_slots};
pub use summary::{Spread, Summary, sparkline};
pub use table::Row;
pub use trace::{Rate, Trace, hold};

/// How a file in the format Parquet begins.
const PARQUET: &[u8] = b"PAR1";

/// The trace in the bytes of a file, in whichever format it is; `name` is what errors call the file.
///
/// # Errors
/// When the bytes are none, with the number of the line and the column.
pub fn read(name: &str, bytes: &[u8]) -> Result<Trace, TraceError> {
    if bytes.starts_with(PARQUET) {
        return parquet::read(name, bytes);
    }
    let text = text(name, bytes)?;
    if native::is_one(text) { native::read(name, text) } else { mahimahi::read(name, text) }
}

/// The trace of a pair of files as LeoReplayer has them: one for the rate, as mahimahi has it, and one with a one-way
/// delay in milliseconds on each line, 10 ms apart. Each is a name and its bytes.
///
/// # Errors
/// When one of them is none, with the number of the line.
pub fn read_pair(rate: (&str, &[u8]), delay: (&str, &[u8])) -> Result<Trace, TraceError> {
    let trace = read(rate.0, rate.1)?;
    mahimahi::with_delays(trace, delay.0, text(delay.0, delay.1)?)
}

fn text<'a>(name: &str, bytes: &'a [u8]) -> Result<&'a str, TraceError> {
    std::str::from_utf8(bytes).map_err(|error| {
        let line = bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count() + 1;
        TraceError::at(name, line as u64, "it is neither text in UTF-8 nor Parquet")
    })
}
