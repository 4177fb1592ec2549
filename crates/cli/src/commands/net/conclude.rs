//! What is said at the end of a transfer, and how long its end may take.

use std::io::{self, Write as _};
use std::time::Duration;

use crate::args::net::{Carrier, Via};

/// Time for its reader.
const UNREAD: Duration = Duration::from_secs(5);

/// Time for a peer to take its leave once everything was said. Over a radio that takes some turns of seconds each.
pub(super) fn leave(carrier: &Carrier) -> Duration {
    match carrier.via {
        Some(Via::Kiss(_)) => Duration::from_secs(60),
        Some(Via::Mqueue) | None => Duration::from_secs(10),
    }
}

/// The mean rate of so many bytes in so many seconds.
pub(super) fn rate(bytes: u64, seconds: f64) -> String {
    let rate = bytes as f64 * 8.0 / seconds.max(1e-3);
    if rate < 1e5 {
        format!("{:.2} kbit/s", rate * 1e-3)
    } else {
        format!("{:.2} Mbit/s", rate * 1e-6)
    }
}

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

#[cfg(test)]
mod tests {
    use super::rate;

    #[test]
    fn a_rate_has_the_unit_that_fits() {
        assert_eq!(rate(10_240, 130.0), "0.63 kbit/s");
        assert_eq!(rate(30_000_000, 10.0), "24.00 Mbit/s");
    }
}
