//! What each command does.

mod compare;
mod connecting;
mod emulate;
mod gateway;
mod ground;
mod identity;
mod keygen;
mod list;
mod log;
mod memory;
mod mqueue;
mod orbit;
mod privileges;
mod recv;
mod reproduce;
mod run;
mod sctp;
mod send;
mod storm;
mod top;
mod trace;
mod twin;

use std::io::Write;

use bentpipe_scenario::{Override, Scenario, ScenarioError};
use clap::CommandFactory;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::args::{Args, Command};
use crate::failure::Failure;

/// Changes values of a scenario, and says so where its keys have another name now.
fn changed(scenario: &Scenario, overrides: &[Override]) -> Result<Scenario, ScenarioError> {
    for warning in scenario.warnings() {
        anstream::eprintln!("bentpipe: warning: {warning}");
    }
    scenario.with(overrides)
}

/// Does what was asked.
pub(crate) fn execute(command: Command) -> Result<(), Failure> {
    match command {
        Command::Reproduce(args) => reproduce::reproduce(&args),
        Command::Run(args) => run::run(&args),
        Command::Compare(args) => compare::compare(&args),
        Command::List { what, json } => list::list(what, json),
        Command::Storm(args) => storm::storm(&args),
        Command::Twin(args) => twin::twin(&args),
        Command::TwinHost(args) => twin::host(&args.role),
        Command::Emulate(args) => emulate::emulate(&args),
        Command::Orbit(args) => orbit::orbit(&args),
        Command::Trace(args) => trace::trace(&args),
        Command::Gateway(args) => gateway::gateway(&args),
        Command::Top(args) => top::top(&args),
        Command::Keygen(args) => keygen::keygen(&args),
        Command::Recv(args) => recv::recv(&args),
        Command::Send(args) => send::send(&args),
        Command::Schema => print_json(&bentpipe_scenario::schema()),
        Command::Man { dir } => {
            std::fs::create_dir_all(&dir).map_err(|error| Failure::writing(&dir, error))?;
            clap_mangen::generate_to(Args::command(), &dir)
                .map_err(|error| Failure::writing(&dir, error))
        }
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Args::command(), "bentpipe", &mut script);
            Ok(std::io::stdout().write_all(&script)?)
        }
    }
}

/// The runtime of the commands that use the network.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    runtime_after(|| ())
}

/// Time for what is left of a command to clean up.
const CLEANING: std::time::Duration = std::time::Duration::from_secs(2);

/// Does this in a runtime, at whose end a thread that waits for a file system that does not answer holds nothing up.
pub(crate) fn in_runtime<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = runtime()?;
    let done = runtime.block_on(work);
    runtime.shutdown_timeout(CLEANING);
    done
}

/// A runtime each of whose threads does this first.
pub(crate) fn runtime_after(
    first: impl Fn() + Send + Sync + 'static,
) -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .on_thread_start(first)
        .build()
        .map_err(|error| Failure::System(format!("cannot start: {error}")))
}

/// Ctrl-C and requests to end. From when it is made, they do not end the process by themselves.
pub(crate) struct Stop {
    interrupt: Signal,
    terminate: Signal,
}

impl Stop {
    /// Listens for signals, inside of a runtime.
    pub(crate) fn listen() -> Result<Self, Failure> {
        let listen = |kind| {
            signal(kind).map_err(|error| Failure::System(format!("cannot handle signals: {error}")))
        };
        let interrupt = listen(SignalKind::interrupt())?;
        Ok(Self { interrupt, terminate: listen(SignalKind::terminate())? })
    }

    /// Waits for one.
    pub(crate) async fn wait(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// Prints a document to the standard output.
pub(crate) fn print_json(document: &impl serde::Serialize) -> Result<(), Failure> {
    let text = to_json(document)?;
    Ok(writeln!(std::io::stdout().lock(), "{text}")?)
}

/// A document as text.
pub(crate) fn to_json(document: &impl serde::Serialize) -> Result<String, Failure> {
    serde_json::to_string_pretty(document).map_err(|error| Failure::System(error.to_string()))
}
