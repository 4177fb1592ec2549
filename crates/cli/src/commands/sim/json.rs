//! Results as documents.

use std::io::Write as _;

use crate::failure::Failure;

/// Prints a document to the standard output.
pub(crate) fn print_json(document: &impl serde::Serialize) -> Result<(), Failure> {
    let text = to_json(document)?;
    Ok(writeln!(std::io::stdout().lock(), "{text}")?)
}

/// A document as text.
pub(crate) fn to_json(document: &impl serde::Serialize) -> Result<String, Failure> {
    serde_json::to_string_pretty(document).map_err(|error| Failure::System(error.to_string()))
}
