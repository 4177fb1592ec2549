//! What is wrong with the settings of rain.

/// A setting that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{field}`: {problem}")]
pub struct RainError {
    /// Its name, as in scenario files.
    pub field: &'static str,
    /// What is wrong with its value and what would be right.
    pub problem: String,
}

impl RainError {
    pub(super) fn new(field: &'static str, problem: impl Into<String>) -> Self {
        Self { field, problem: problem.into() }
    }
}
