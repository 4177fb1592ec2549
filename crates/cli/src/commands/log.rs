//! The log of the commands that use the network.

use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

/// Starts the log, written by this to standard error; RUST_LOG says what is in it, `otherwise` if it is not set.
pub(super) fn start<W>(writer: W, otherwise: &str, json: bool)
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(otherwise));
    let colours = std::io::stderr().is_terminal();
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_ansi(colours);
    // A log that nobody takes any more, the reader of a pipe having ended, is no reason to stop.
    let log = log.with_writer(writer).log_internal_errors(false);
    if json {
        log.json().init();
    } else {
        log.init();
    }
}
