//! What a command that fails says last.

/// Tells the user, on standard error. Whoever does not read it holds nothing up.
#[cfg(feature = "net")]
pub(crate) fn complain(message: &str) {
    super::lines::Lines::new().complain(message);
}

/// Tells the user, on standard error.
#[cfg(not(feature = "net"))]
pub(crate) fn complain(message: &str) {
    use std::io::Write as _;

    // Nobody who could be told remains where it cannot be written.
    drop(writeln!(std::io::stderr(), "bentpipe: {message}"));
}
