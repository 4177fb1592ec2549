//! The last line of a transfer.

use std::io::{self, Write as _};
use std::time::Duration;

/// Time for its reader.
const UNREAD: Duration = Duration::from_secs(5);

/// A last line on standard output. Whoever does not read it holds nothing up either, but is told of.
///
/// # Errors
/// When it cannot be written, or nobody takes it.
pub(super) async fn conclude(line: String) -> io::Result<()> {
    let write = tokio::task::spawn_blocking(move || {
        let mut out = io::stdout();
        writeln!(out, "{line}")?;
        out.flush()
    });
    match tokio::time::timeout(UNREAD, write).await {
        Ok(written) => written.map_err(io::Error::other)?,
        Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, "nobody reads it")),
    }
}
