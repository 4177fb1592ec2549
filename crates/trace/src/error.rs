//! What is wrong with a trace.

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
