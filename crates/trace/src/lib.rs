//! Traces of links: rate, one-way delay, loss and state over time, as files have them.
//!
//! [`read`] knows the formats that describe a link: one line for each opportunity to send (mahimahi), and a table with a
//! time and columns ([`native`]). [`import`] makes such a table of what measuring programs write, and
//! [`record`] measures.

mod error;
pub mod import;
mod known;
mod mahimahi;
pub mod native;
mod options;
pub mod record;
mod slots;
mod summary;
mod trace;

pub use error::TraceError;
pub use known::{known, open};
pub use options::TraceOptions;
pub use slots::{Slots, find_slots};
pub use summary::{Spread, Summary, sparkline};
pub use trace::{Rate, Trace, hold};

/// The trace in the text of a file, in whichever format it is; `name` is what errors call the file.
///
/// # Errors
/// When the text is none, with the number of the line and the column.
pub fn read(name: &str, text: &str) -> Result<Trace, TraceError> {
    if native::is_one(text) { native::read(name, text) } else { mahimahi::read(name, text) }
}

/// The trace of a pair of files as LeoReplayer has them: one for the rate, as mahimahi has it, and one with a one-way
/// delay in milliseconds on each line, 10 ms apart. Each is a name and a text.
///
/// # Errors
/// When one of them is none, with the number of the line.
pub fn read_pair(rate: (&str, &str), delay: (&str, &str)) -> Result<Trace, TraceError> {
    let trace = read(rate.0, rate.1)?;
    mahimahi::with_delays(trace, delay.0, delay.1)
}
