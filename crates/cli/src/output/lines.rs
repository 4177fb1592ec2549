//! Lines of a command that runs for long. Whoever does not read them holds nothing up: they wait a while, and then some
//! are lost.

use std::fmt::Display;
use std::io::{self, Write as _};

use tracing_appender::non_blocking::{NonBlocking, NonBlockingBuilder, WorkerGuard};

/// Lines that wait for their reader.
const WAITING: usize = 10_000;

/// Standard output and standard error. What waits is written when it is dropped, if anybody reads it.
#[derive(Debug)]
pub(crate) struct Lines {
    out: NonBlocking,
    errors: NonBlocking,
    _guards: [WorkerGuard; 2],
}

impl Lines {
    /// Starts to write.
    pub(crate) fn new() -> Self {
        let lossy = || NonBlockingBuilder::default().buffered_lines_limit(WAITING);
        let (out, out_guard) = lossy().finish(io::stdout());
        let (errors, errors_guard) = lossy().finish(io::stderr());
        Self { out, errors, _guards: [out_guard, errors_guard] }
    }

    /// A line on standard output.
    pub(crate) fn say(&self, line: impl Display) {
        // Nobody who could be told remains where it cannot be written.
        let _ = self.out.clone().write_all(format!("{line}\n").as_bytes());
    }

    /// A line on standard output, once it is written: for what is nowhere else.
    ///
    /// # Errors
    /// When it cannot be.
    pub(crate) fn deliver(&self, line: impl Display) -> io::Result<()> {
        let mut out = io::stdout().lock();
        writeln!(out, "{line}")?;
        out.flush()
    }

    /// A line on standard error.
    pub(crate) fn complain(&self, line: impl Display) {
        let _ = self.errors.clone().write_all(format!("bentpipe: {line}\n").as_bytes());
    }

    /// A line on standard error that is no complaint.
    pub(crate) fn remark(&self, line: impl Display) {
        let _ = self.errors.clone().write_all(format!("{line}\n").as_bytes());
    }

    /// Where a log goes that stops nothing.
    pub(crate) fn log(&self) -> NonBlocking {
        self.errors.clone()
    }
}
