//! What goes wrong, as the exception of the package.

use std::fmt::Display;

use pyo3::PyErr;
use pyo3::create_exception;
use pyo3::exceptions::PyValueError;

create_exception!(
    bentpipe,
    Error,
    PyValueError,
    "What was asked for cannot be; the message is that of the command."
);

/// An error with this message.
pub(crate) fn error(message: impl Display) -> PyErr {
    Error::new_err(message.to_string())
}

/// An error of an argument that was written wrong.
pub(crate) fn of_argument(name: &str) -> impl Fn(String) -> PyErr {
    let name = name.to_owned();
    move |message| error(format!("{name}: {message}"))
}
