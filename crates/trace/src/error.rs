//! What is wrong with a trace.

use std::fmt::{self, Write as _};

/// Characters of a value that a message cites.
const MOST_CITED: usize = 40;

/// A trace that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}{}{}: {problem}", in_line(.line), in_field(.field))]
pub struct TraceError {
    /// The file.
    pub file: String,
    /// The line, from 1 on.
    pub line: Option<u64>,
    /// The column or field.
    pub field: Option<&'static str>,
    /// What is wrong and what would be right.
    pub problem: String,
}

fn in_line(line: &Option<u64>) -> String {
    line.map_or_else(String::new, |line| format!(", line {line}"))
}

fn in_field(field: &Option<&'static str>) -> String {
    field.map_or_else(String::new, |field| format!(", `{field}`"))
}

impl TraceError {
    /// Something about the whole file.
    pub(crate) fn whole(file: &str, problem: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line: None, field: None, problem: problem.into() }
    }

    /// Something about a line.
    pub(crate) fn at(file: &str, line: u64, problem: impl Into<String>) -> Self {
        Self { line: Some(line), ..Self::whole(file, problem) }
    }

    /// Something about a field of a line.
    pub(crate) fn of(
        file: &str,
        line: u64,
        field: &'static str,
        problem: impl Into<String>,
    ) -> Self {
        Self { field: Some(field), ..Self::at(file, line, problem) }
    }
}

/// A value of a file as a message cites it: one line and short, whatever the file holds.
pub(crate) struct Cited<'a>(pub &'a str);

impl fmt::Display for Cited<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, c) in self.0.chars().enumerate() {
            match c {
                _ if place == MOST_CITED => return f.write_char('…'),
                _ if c.is_control() => write!(f, "{}", c.escape_default())?,
                _ => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cited_value_is_one_short_line() {
        assert_eq!(Cited("five").to_string(), "five");
        assert_eq!(Cited("a\0\x1b[2J").to_string(), "a\\u{0}\\u{1b}[2J");
        assert_eq!(Cited(&"7".repeat(40)).to_string(), "7".repeat(40));
        assert_eq!(Cited(&"é".repeat(3_000_000)).to_string(), format!("{}…", "é".repeat(40)));
    }
}
