//! The trace of a link, from its file.

use std::path::Path;

use bentpipe_link::{ModelSpec, QueueLimit};
use bentpipe_trace::{Trace, TraceError, TraceOptions, find_known, known};

use crate::problem::{Problem, problem};
use crate::schema::trace::TraceTable;

/// The models of a trace, for a scenario that came from `source`.
pub(super) fn models(
    path: &[&str],
    table: &TraceTable,
    source: &str,
    queue: QueueLimit,
) -> Result<Vec<ModelSpec>, Problem> {
    let rate = text(path, "file", &table.file, source)?;
    let read = match &table.delays {
        None => bentpipe_trace::read(&table.file, &rate),
        Some(delays) => {
            let text = text(path, "delays", delays, source)?;
            bentpipe_trace::read_pair((&table.file, &rate), (delays, &text))
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
    trace.models(&table.file, &options, queue).or_else(|error| {
        wrong(path, if error.problem.starts_with("scale") { "scale" } else { "start" }, &error)
    })
}

fn wrong<T>(path: &[&str], key: &str, error: &TraceError) -> Result<T, Problem> {
    problem(&[path, &[key]].concat(), error.to_string())
}

/// The text of a file beside the scenario, or of one that comes with the program.
fn text(path: &[&str], key: &str, file: &str, source: &str) -> Result<String, Problem> {
    let beside = Path::new(source).parent().unwrap_or(Path::new("")).join(file);
    match std::fs::read_to_string(&beside) {
        Ok(text) => Ok(text),
        Err(error) => find_known(file).map(str::to_owned).map_or_else(
            || {
                let names = known().map(|(name, _)| name).collect::<Vec<_>>().join(", ");
                let message =
                    format!("{}: {error}; there come with the program {names}", beside.display());
                problem(&[path, &[key]].concat(), message)
            },
            Ok,
        ),
    }
}
