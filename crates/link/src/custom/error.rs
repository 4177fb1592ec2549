//! What can be wrong with the choice of a model or a queue that a program brings.

use std::fmt;

/// A model or a queue that cannot be.
#[derive(Clone, Debug, PartialEq)]
pub enum CustomError {
    /// There is a model or a queue of this name already.
    NameTaken(&'static str),
    /// The program brings no model of this name.
    NoSuchModel(String),
    /// The program brings no queue of this name.
    NoSuchQueue(String),
    /// The model or the queue has no such parameter.
    NoSuchParameter {
        /// The model or the queue.
        row: &'static str,
        /// The name that it does not know.
        parameter: String,
    },
    /// The value is out of range.
    OutOfRange {
        /// The model or the queue.
        row: &'static str,
        /// The parameter.
        parameter: &'static str,
        /// What was asked for.
        value: f64,
        /// Smallest allowed value.
        low: f64,
        /// Largest allowed value.
        high: f64,
    },
}

impl fmt::Display for CustomError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NameTaken(name) => write!(f, "`{name}`: there is one of this name already"),
            Self::NoSuchModel(name) => write!(f, "the program brings no link model `{name}`"),
            Self::NoSuchQueue(name) => write!(f, "the program brings no queue `{name}`"),
            Self::NoSuchParameter { row, parameter } => {
                write!(f, "`{row}` has no parameter `{parameter}`")
            }
            Self::OutOfRange { row, parameter, value, low, high } => {
                write!(
                    f,
                    "parameter `{parameter}` of `{row}` is {value}: it must lie in {low}..={high}"
                )
            }
        }
    }
}

impl std::error::Error for CustomError {}
