//! Long work that the user can break off, as by Ctrl-C.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use bentpipe_experiments::Progress;
use pyo3::prelude::*;

/// Time between two looks for signals.
const LOOK: Duration = Duration::from_millis(50);

/// Whether somebody still waits for some work.
#[derive(Debug)]
pub(crate) struct Wanted(AtomicBool);

impl Progress for Wanted {
    fn is_wanted(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Does something without the interpreter. Where a handler of signals raises an exception meanwhile, the work is told that nobody wants it
/// any more, and the exception is what came of it.
///
/// Handlers run on the main thread of Python; work that another one asks for goes on.
pub(crate) fn interruptible<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&Wanted) -> PyResult<T> + Send,
) -> PyResult<T> {
    let wanted = Wanted(AtomicBool::new(true));
    py.detach(|| {
        thread::scope(|scope| {
            let (ends, ended) = channel::<()>();
            let wanted = &wanted;
            let worker = scope.spawn(move || {
                let _ends = ends;
                // The interpreter knows the thread from here on, so that controllers which are classes do not make themselves known each time.
                Python::attach(|py| py.detach(|| work(wanted)))
            });
            let mut raised = None;
            while ended.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                #[expect(
                    clippy::redundant_closure_for_method_calls,
                    reason = "the method is for one lifetime, the closure for any"
                )]
                if let Err(exception) = Python::attach(|py| py.check_signals()) {
                    wanted.0.store(false, Ordering::Relaxed);
                    raised.get_or_insert(exception);
                }
            }
            let done = worker.join().unwrap_or_else(|panic| resume_unwind(panic));
            raised.map_or(done, Err)
        })
    })
}
