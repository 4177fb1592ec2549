//! What the handles of a host share with whoever runs it.

use std::any::Any;
use std::fmt::{self, Debug};
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, MutexGuard};

use bentpipe_units::Instant;
use tokio::sync::Notify;

use crate::stream::Streams;

/// Locks what nobody may have left half changed: if somebody panicked while he held it, so does this task.
///
/// # Panics
/// When somebody did.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("nobody has panicked while he held this lock")
}

/// The time of a host: that of a wall clock, or of a simulator.
pub trait Clock: Debug + Send + Sync + 'static {
    /// The time now. It never goes back.
    fn now(&self) -> Instant;
}

/// A machine that has connections, and what tells whoever runs it that a handle has changed something.
#[derive(Debug)]
pub struct Shared<S> {
    endpoint: Mutex<S>,
    clock: Arc<dyn Clock>,
    /// A handle changed something: the machine has to be flushed.
    pub changed: Notify,
    /// See [`Streams::shortages`].
    pub shortages: Arc<AtomicUsize>,
}

impl<S: Streams> Shared<S> {
    /// A machine and its clock.
    pub fn new(endpoint: S, clock: Arc<dyn Clock>) -> Self {
        let shortages = endpoint.shortages();
        Self { endpoint: Mutex::new(endpoint), clock, changed: Notify::new(), shortages }
    }

    /// The machine, until what is returned is dropped.
    ///
    /// # Panics
    /// When somebody has panicked who held it.
    pub fn endpoint(&self) -> MutexGuard<'_, S> {
        lock(&self.endpoint)
    }

    /// The time now.
    pub fn now(&self) -> Instant {
        self.clock.now()
    }
}

/// The side of the application: its host and connections hold it, and when the last of them is gone, so is what
/// runs the machine.
pub struct Handle<S> {
    /// The machine.
    pub shared: Arc<Shared<S>>,
    _runs: Box<dyn Any + Send + Sync>,
}

impl<S> Handle<S> {
    /// `runs` is dropped with the handle, and ends what drives the machine.
    pub fn new(shared: Arc<Shared<S>>, runs: impl Any + Send + Sync) -> Self {
        Self { shared, _runs: Box::new(runs) }
    }
}

impl<S: Debug> Debug for Handle<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").field("shared", &self.shared).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    #[test]
    #[should_panic = "this lock"]
    fn who_finds_what_a_panic_left_goes_no_further() {
        let mutex = Mutex::new(5);
        let _ = catch_unwind(AssertUnwindSafe(|| {
            let _held = lock(&mutex);
            panic!("half changed");
        }));
        let _held = lock(&mutex);
    }
}
