//! How a command that uses the network ends.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::commands::runtime::runtime;
use crate::failure::Failure;

/// Time for what is left of a command to clean up.
const CLEANING: std::time::Duration = std::time::Duration::from_secs(2);

/// Does this in a runtime, at whose end a thread that waits for a file system that does not answer holds nothing up.
pub(crate) fn in_runtime<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = runtime()?;
    let done = runtime.block_on(work);
    runtime.shutdown_timeout(CLEANING);
    done
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
