//! Virtual time, for futures.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Poll, Waker};

use bentpipe_association::host::{Clock, Runtime, lock};
use bentpipe_units::{Instant, Span};

use super::executor::Task;

/// What is polled.
pub(super) type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The virtual time of a program. Clones are the same.
#[derive(Clone)]
pub struct Virtual {
    state: Arc<Mutex<State>>,
}

/// What a program's futures and its executor share.
#[derive(Default)]
pub(super) struct State {
    pub(super) now: Instant,
    /// Time that each piece of work takes that blocks.
    stall: Span,
    /// Who waits, by when and by who came first.
    timers: BTreeMap<(Instant, u64), Waker>,
    /// Futures that were woken, in this order.
    pub(super) ready: VecDeque<usize>,
    /// Futures that were spawned and never polled.
    pub(super) spawned: Vec<(usize, Work)>,
    /// Futures that are to be dropped.
    pub(super) aborted: Vec<usize>,
    serial: u64,
    next_task: usize,
}

impl State {
    /// Wakes who waited for this time or one before. What is returned is woken when the lock is gone.
    pub(super) fn due(&mut self) -> Vec<Waker> {
        let later = self.timers.split_off(&(self.now + Span::from_nanos(1), 0));
        std::mem::replace(&mut self.timers, later).into_values().collect()
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.timers.keys().next().map(|(at, _)| *at)
    }
}

impl Virtual {
    pub(super) fn new(now: Instant) -> Self {
        let state = State { now, ..State::default() };
        Self { state: Arc::new(Mutex::new(state)) }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// From now on each piece of work that blocks takes this time, as on a disk that stalls.
    pub fn stall(&self, span: Span) {
        self.state().stall = span;
    }

    /// Runs a future beside the others. It ends when what is returned is dropped.
    pub fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) -> Task {
        let mut state = self.state();
        let id = state.next_task;
        state.next_task += 1;
        let has_ended = Arc::new(AtomicBool::new(false));
        let ends = has_ended.clone();
        let work = async move {
            future.await;
            ends.store(true, Ordering::Relaxed);
        };
        state.spawned.push((id, Box::pin(work)));
        drop(state);
        Task::new(self.clone(), id, has_ended)
    }
}

/// Leaves the timer of a sleeper who is gone.
struct Sleeper<'a> {
    of: &'a Virtual,
    key: Option<(Instant, u64)>,
}

impl Drop for Sleeper<'_> {
    fn drop(&mut self) {
        if let Some(key) = self.key {
            self.of.state().timers.remove(&key);
        }
    }
}

impl Runtime for Virtual {
    fn now(&self) -> Instant {
        self.state().now
    }

    async fn sleep(&self, span: Span) {
        let until = self.state().now + span;
        let mut sleeper = Sleeper { of: self, key: None };
        poll_fn(|cx| {
            let mut state = self.state();
            if state.now >= until {
                return Poll::Ready(());
            }
            let key = *sleeper.key.get_or_insert_with(|| {
                state.serial += 1;
                (until, state.serial)
            });
            state.timers.insert(key, cx.waker().clone());
            Poll::Pending
        })
        .await;
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<T> {
        let stall = self.state().stall;
        if stall > Span::ZERO {
            self.sleep(stall).await;
        }
        Ok(work())
    }
}

impl Clock for Virtual {
    fn now(&self) -> Instant {
        self.state().now
    }
}

impl fmt::Debug for Virtual {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        f.debug_struct("Virtual").field("now", &state.now).finish_non_exhaustive()
    }
}
