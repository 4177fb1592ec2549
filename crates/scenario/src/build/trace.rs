//! The trace of a link, from its file.

use std::path::Path;

use bentpipe_link::{ModelSpec, QueueLimit};
use bentpipe_trace::{Trace, TraceError, TraceOptions, open};

use crate::problem::{Problem, problem};
use crate::schema::trace::TraceTable;

/// The models of a trace, for a scenario that came from `source`.
pub(super) fn models(
    path: &[&str],
    table: &TraceTable,
    source: &str,
    queue: QueueLimit,
) -> Result<Vec<ModelSpec>, Problem> {
    let rate = bytes(path, "file", &table.file, source)?;
    let read = match &table.delays {
        None => bentpipe_trace::read(&table.file, &rate),
        Some(delays) => {
            let delay = bytes(path, "delays", delays, source)?;
            bentpipe_trace::read_pair((&table.file, &rate), (delays, &delay))
        }
    };
    let trace: Trace = read.or_else(|error| {
        let of_delays = table.delays.as_ref().is_some_and(|delays| *delays == error.file);
        wrong(path, if of_delays { "delays" } else { "file" }, &error)
    })?;
    let usual = TraceOptions::default();
    let options = TraceOptions {
        start: table.start.map_or(usual.start, |start| start.0),
        repeats: table.repeats.unwrap_or(usual.repeats),
        scale: table.scale.unwrap_or(usual.scale),
        reorders: table.reorder,
    };
    let models = trace.models(&table.file, &options, queue);
    models.or_else(|error| wrong(path, error.field.unwrap_or("file"), &error))
}

fn wrong<T>(path: &[&str], key: &str, error: &TraceError) -> Result<T, Problem> {
    problem(&[path, &[key]].concat(), error.to_string())
}

/// The bytes of a file beside the scenario, or of one that comes with the program.
fn bytes(path: &[&str], key: &str, file: &str, source: &str) -> Result<Vec<u8>, Problem> {
    let beside = Path::new(source).parent().unwrap_or(Path::new("")).join(file);
    open(&beside, file).or_else(|error| wrong(path, key, &error))
}
