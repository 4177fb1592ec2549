//! How a command fails.

use std::process::ExitCode;

use bentpipe_net::qlp::OpenError;
use bentpipe_scenario::ScenarioError;

use crate::output::lines::Lines;

/// Why a command did not do what was asked.
#[derive(Debug)]
pub(crate) enum Failure {
    /// What was asked for cannot be: exit code 2, as for wrong options.
    Input(String),
    /// It could be, but the machine did not let it: exit code 1.
    System(String),
    /// A command that was run on the user's behalf failed with this code and has said why.
    Command(u8),
    /// Whoever read the output went away; nothing to say.
    Silenced,
}

impl Failure {
    /// Tells the user and gives the exit code.
    pub(crate) fn report(&self) -> ExitCode {
        match self {
            Self::Input(message) => {
                Lines::new().complain(message);
                ExitCode::from(2)
            }
            Self::System(message) => {
                Lines::new().complain(message);
                ExitCode::FAILURE
            }
            Self::Command(code) => ExitCode::from(*code),
            Self::Silenced => ExitCode::SUCCESS,
        }
    }

    /// What carries datagrams has ended, which it never does by itself.
    pub(crate) fn ended() -> Self {
        Self::System("the task that carries datagrams has ended".to_owned())
    }

    /// A file that could not be written.
    pub(crate) fn writing(path: &std::path::Path, error: impl std::fmt::Display) -> Self {
        Self::System(format!("cannot write {}: {error}", path.display()))
    }
}

impl From<ScenarioError> for Failure {
    fn from(error: ScenarioError) -> Self {
        Self::Input(error.to_string())
    }
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Self {
        Self::System(error.to_string())
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
