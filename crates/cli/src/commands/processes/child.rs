//! A process of the three, as the one that started it sees it.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{self, ChildStdin, ChildStdout, Command, Stdio};

use bentpipe_scenario::Scenario;
use rustix::event::{PollFd, PollFlags, poll};
use serde::de::DeserializeOwned;

use super::role::READY;
use crate::failure::Failure;

/// A process that ends with this value. When its standard input ends, because it is dismissed or this process is gone, it ends
/// by itself.
pub(super) struct Child {
    role: &'static str,
    process: process::Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    /// What it has said at its end.
    said: Option<String>,
}

impl Child {
    /// Starts one for a scenario and waits until it is ready.
    pub(super) fn start(
        role: &'static str,
        args: &[String],
        scenario: &Scenario,
    ) -> Result<Self, Failure> {
        let failed = |error: io::Error| Failure::System(format!("the {role}: {error}"));
        let program = std::env::current_exe().map_err(failed)?;
        let mut command = Command::new(program);
        command.arg("process").args(args).stdin(Stdio::piped()).stdout(Stdio::piped());
        // Ctrl-C is for this process: the others end by themselves after it, and leave no queue.
        command.process_group(0);
        let mut process = command.spawn().map_err(failed)?;
        let piped = (process.stdin.take(), process.stdout.take());
        let (Some(mut input), Some(output)) = piped else {
            return Err(failed(io::ErrorKind::BrokenPipe.into()));
        };
        let text = serde_json::to_string(&(scenario.source(), scenario.text()));
        let text = text.map_err(|error| failed(error.into()))?;
        let told = writeln!(input, "{text}");
        let output = BufReader::new(output);
        let mut child = Self { role, process, input: Some(input), output, said: None };
        // One that has ended says why.
        if child.line()? != READY {
            return Err(Failure::System(format!("the {role} does not begin")));
        }
        told.map_err(failed)?;
        Ok(child)
    }

    /// Waits until the first so many of them have said what they say at their end. One that ends without a word is an error.
    pub(super) fn wait_for(children: &mut [&mut Self], many: usize) -> Result<(), Failure> {
        let failed = |error: io::Error| Failure::System(format!("three processes: {error}"));
        while children[..many].iter().any(|child| child.said.is_none()) {
            let waits: Vec<usize> =
                (0..children.len()).filter(|n| children[*n].said.is_none()).collect();
            let mut fds: Vec<PollFd<'_>> = waits
                .iter()
                .map(|n| PollFd::new(children[*n].output.get_ref(), PollFlags::IN))
                .collect();
            match poll(&mut fds, None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(failed(error.into())),
            }
            let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
            for (n, _) in waits.iter().zip(ready).filter(|(_, ready)| *ready) {
                let line = children[*n].line()?;
                if *n >= many {
                    let role = children[*n].role;
                    return Err(Failure::System(format!("the {role} ended too early")));
                }
                children[*n].said = Some(line);
            }
        }
        Ok(())
    }

    /// What it says at its end.
    pub(super) fn report<T: DeserializeOwned>(&mut self) -> Result<T, Failure> {
        let line = match self.said.take() {
            Some(line) => line,
            None => self.line()?,
        };
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
