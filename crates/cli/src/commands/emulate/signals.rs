//! Requests to stop.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};

use crate::commands::runtime::runtime;
use crate::failure::Failure;

/// Notes Ctrl-C and requests to end, as long as it lives.
pub(in crate::commands) struct Signals {
    interrupt: Arc<AtomicBool>,
    terminate: Arc<AtomicBool>,
    _runtime: Runtime,
}

impl Signals {
    pub(in crate::commands) fn watch() -> Result<Self, Failure> {
        let runtime = runtime()?;
        let watch = |kind| -> io::Result<Arc<AtomicBool>> {
            let _inside = runtime.enter();
            let mut signals = signal(kind)?;
            let flag = Arc::new(AtomicBool::new(false));
            let raised = flag.clone();
            runtime.spawn(async move {
                while signals.recv().await.is_some() {
                    raised.store(true, Ordering::Relaxed);
                }
            });
            Ok(flag)
        };
        let failed = |error| Failure::System(format!("cannot wait for signals: {error}"));
        let interrupt = watch(SignalKind::interrupt()).map_err(failed)?;
        let terminate = watch(SignalKind::terminate()).map_err(failed)?;
        Ok(Self { interrupt, terminate, _runtime: runtime })
    }

    /// Whether Ctrl-C was pressed since the last question.
    pub(in crate::commands) fn interrupted(&self) -> bool {
        self.interrupt.swap(false, Ordering::Relaxed)
    }

    /// Whether there was any request to stop since the last question.
    pub(in crate::commands) fn any(&self) -> bool {
        let (interrupted, terminated) = (self.interrupted(), self.terminated());
        interrupted || terminated
    }

    /// Whether there was a request to end since the last question.
    pub(in crate::commands) fn terminated(&self) -> bool {
        self.terminate.swap(false, Ordering::Relaxed)
    }
}
