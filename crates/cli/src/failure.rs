//! How a command fails.

use std::process::ExitCode;

use crate::output::complaint::complain;

/// Why a command did not do what was asked.
#[derive(Debug)]
pub(crate) enum Failure {
    /// What was asked for cannot be: exit code 2, as for wrong options.
    Input(String),
    /// It could be, but the machine did not let it: exit code 1.
    System(String),
    /// A command that was run on the user's behalf failed with this code and has said why.
    #[cfg(all(feature = "net", feature = "sim"))]
    Command(u8),
    /// Whoever read the output went away; nothing to say.
    Silenced,
}

impl Failure {
    /// Tells the user and gives the exit code.
    pub(crate) fn report(&self) -> ExitCode {
        match self {
            Self::Input(message) => {
                complain(message);
                ExitCode::from(2)
            }
            Self::System(message) => {
                complain(message);
                ExitCode::FAILURE
            }
            #[cfg(all(feature = "net", feature = "sim"))]
            Self::Command(code) => ExitCode::from(*code),
            Self::Silenced => ExitCode::SUCCESS,
        }
    }

    /// A file that could not be written.
    pub(crate) fn writing(path: &std::path::Path, error: impl std::fmt::Display) -> Self {
        Self::System(format!("cannot write {}: {error}", path.display()))
    }
}

impl From<std::io::Error> for Failure {
    /// The standard output could not be written.
    fn from(error: std::io::Error) -> Self {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            return Self::Silenced;
        }
        Self::System(format!("cannot write the output: {error}"))
    }
}
