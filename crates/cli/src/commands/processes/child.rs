//! A process of the three, as the one that started it sees it.

use std::ffi::OsStr;
use std::io::{self, BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::process::{self, ChildStdin, ChildStdout, Command, Stdio};

use serde::de::DeserializeOwned;

use super::role::READY;
use crate::failure::Failure;

/// A process that ends with this value. When its standard input ends, because it is dismissed or this process is gone, it ends
/// by itself.
pub(super) struct Child {
    role: String,
    process: process::Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Child {
    /// Starts one and waits until it is ready.
    pub(super) fn start(role: &str, args: &[&OsStr]) -> Result<Self, Failure> {
        let failed = |error: io::Error| Failure::System(format!("the {role}: {error}"));
        let program = std::env::current_exe().map_err(failed)?;
        let mut command = Command::new(program);
        command.arg("process").args(args).stdin(Stdio::piped()).stdout(Stdio::piped());
        // Ctrl-C is for this process: the others end by themselves after it, and leave no queue.
        command.process_group(0);
        let mut process = command.spawn().map_err(failed)?;
        let piped = (process.stdin.take(), process.stdout.take());
        let (Some(input), Some(output)) = piped else {
            return Err(failed(io::ErrorKind::BrokenPipe.into()));
        };
        let (role, output) = (role.to_owned(), BufReader::new(output));
        let mut child = Self { role, process, input: Some(input), output };
        if child.line()? != READY {
            return Err(Failure::System(format!("the {} does not begin", child.role)));
        }
        Ok(child)
    }

    /// What it says at its end.
    pub(super) fn report<T: DeserializeOwned>(&mut self) -> Result<T, Failure> {
        let line = self.line()?;
        serde_json::from_str(&line)
            .map_err(|error| Failure::System(format!("the {}: {error}: {line}", self.role)))
    }

    /// Lets it end.
    pub(super) fn dismiss(&mut self) {
        self.input = None;
    }

    fn line(&mut self) -> Result<String, Failure> {
        let failed = |error: io::Error| Failure::System(format!("the {}: {error}", self.role));
        let mut line = String::new();
        self.output.read_line(&mut line).map_err(failed)?;
        if line.is_empty() {
            let status = self.process.wait().map_err(failed)?;
            return Err(Failure::System(format!("the {} ended with {status}", self.role)));
        }
        Ok(line.trim_end().to_owned())
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.dismiss();
        // It removes its queue when it ends by itself.
        let _ = self.process.wait();
    }
}
