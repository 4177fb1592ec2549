//! Whether somebody still waits for what a thread does.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bentpipe_experiments::Progress;

/// Whether who asked is still there.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wanted(Arc<AtomicBool>);

impl Progress for Wanted {
    fn is_wanted(&self) -> bool {
        !self.0.load(Ordering::Relaxed)
    }
}

/// Who asked: gone when it is dropped, as it is with the answer that a closed connection no longer waits for.
pub(crate) struct Asker(Wanted);

impl Asker {
    /// One that waits, and what is told of it.
    pub(crate) fn new() -> (Self, Wanted) {
        let wanted = Wanted::default();
        (Self(wanted.clone()), wanted)
    }
}

impl Drop for Asker {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}
