//! The log of the commands that use the network.

use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;

/// Starts the log; RUST_LOG says what is in it, `otherwise` if it is not set.
pub(super) fn start(otherwise: &str, json: bool) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(otherwise));
    let colours = std::io::stderr().is_terminal();
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_ansi(colours);
    // A log that nobody takes any more, the reader of a pipe having ended, is no reason to stop.
    let log = log.with_writer(std::io::stderr).log_internal_errors(false);
    if json {
        log.json().init();
    } else {
        log.init();
    }
}
