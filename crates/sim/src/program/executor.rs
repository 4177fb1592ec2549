//! Polls the futures of a program, in the order in which they were woken: the same seed gives the same order.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use bentpipe_units::Instant;

use super::runtime::{Virtual, Work};

/// Polls at one instant. A program that needs more of them goes round in circles.
const MOST_POLLS: usize = 1_000_000;

/// The futures of a program.
pub(super) struct Executor {
    runtime: Virtual,
    tasks: BTreeMap<usize, Work>,
}

/// A future that was spawned. It ends when this is dropped.
#[derive(Debug)]
pub struct Task {
    runtime: Virtual,
    id: Option<usize>,
    has_ended: Arc<AtomicBool>,
}

impl Task {
    pub(super) const fn new(runtime: Virtual, id: usize, has_ended: Arc<AtomicBool>) -> Self {
        Self { runtime, id: Some(id), has_ended }
    }

    /// Whether it has come to its end by itself.
    pub fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Relaxed)
    }

    /// Lets it go on for as long as its program lasts.
    pub fn detach(mut self) {
        self.id = None;
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            self.runtime.state().aborted.push(id);
        }
    }
}

struct Wakes {
    runtime: Virtual,
    id: usize,
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        let mut state = self.runtime.state();
        if !state.ready.contains(&self.id) {
            state.ready.push_back(self.id);
        }
    }
}

impl Executor {
    pub(super) fn new(now: Instant) -> Self {
        Self { runtime: Virtual::new(now), tasks: BTreeMap::new() }
    }

    pub(super) const fn runtime(&self) -> &Virtual {
        &self.runtime
    }

    pub(super) fn tasks(&self) -> usize {
        self.tasks.len()
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.runtime.state().next_deadline()
    }

    /// Polls until all futures wait. Returns how often it did.
    ///
    /// # Panics
    /// When they never do.
    pub(super) fn run(&mut self, now: Instant) -> usize {
        let mut state = self.runtime.state();
        state.now = now;
        let due = state.due();
        drop(state);
        due.into_iter().for_each(Waker::wake);
        let mut polls = 0;
        loop {
            let (spawned, aborted) = {
                let mut state = self.runtime.state();
                (std::mem::take(&mut state.spawned), std::mem::take(&mut state.aborted))
            };
            let new: Vec<usize> = spawned.iter().map(|(id, _)| *id).collect();
            self.tasks.extend(spawned);
            self.runtime.state().ready.extend(new);
            for id in aborted {
                // What it drops may abort others.
                drop(self.tasks.remove(&id));
            }
            let next = self.runtime.state().ready.pop_front();
            let Some(id) = next else {
                let state = self.runtime.state();
                if state.spawned.is_empty() && state.aborted.is_empty() {
                    return polls;
                }
                continue;
            };
            let Some(task) = self.tasks.get_mut(&id) else { continue };
            polls += 1;
            assert!(polls < MOST_POLLS, "futures that never wait");
            let waker = Waker::from(Arc::new(Wakes { runtime: self.runtime.clone(), id }));
            if let Poll::Ready(()) = task.as_mut().poll(&mut Context::from_waker(&waker)) {
                drop(self.tasks.remove(&id));
            }
        }
    }
}

impl Drop for Executor {
    fn drop(&mut self) {
        // The futures hold the runtime, and the runtime those that were never polled.
        let spawned = std::mem::take(&mut self.runtime.state().spawned);
        drop(spawned);
    }
}

impl fmt::Debug for Executor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Executor").field("tasks", &self.tasks.len()).finish_non_exhaustive()
    }
}
