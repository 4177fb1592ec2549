//! What the handles of a host share with the task that runs it, and how that task is watched.

use std::future::Future;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::{Notify, watch};

use crate::clock::Clock;
use bentpipe_association::stream::Streams;

/// Locks what nobody may have left half changed: if somebody panicked while he held it, so does this task.
///
/// # Panics
/// When somebody did.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("nobody has panicked while he held this lock")
}

/// What handles and the task share.
#[derive(Debug)]
pub(crate) struct Shared<S> {
    hub: Mutex<S>,
    pub(crate) clock: Clock,
    /// A handle changed something, or all are gone.
    pub(crate) changed: Notify,
    /// See [`Streams::shortages`].
    pub(crate) shortages: Arc<AtomicUsize>,
    pub(crate) life: Life,
}

impl<S: Streams> Shared<S> {
    pub(crate) fn new(hub: S, clock: Clock) -> Self {
        let shortages = hub.shortages();
        let life = Life::default();
        Self { hub: Mutex::new(hub), clock, changed: Notify::new(), shortages, life }
    }

    pub(crate) fn hub(&self) -> MutexGuard<'_, S> {
        lock(&self.hub)
    }

    /// Whether the task does something within this time when it is asked to.
    pub(crate) async fn answers(&self, limit: Duration) -> bool {
        let mut answered = self.life.answered.subscribe();
        let asked = self.life.asked.fetch_add(1, Ordering::Relaxed) + 1;
        self.changed.notify_one();
        let answer = answered.wait_for(|answered| *answered >= asked);
        matches!(tokio::time::timeout(limit, answer).await, Ok(Ok(_)))
    }
}

/// Signs of life of the task.
#[derive(Debug)]
pub(crate) struct Life {
    /// Questions whether it is there.
    asked: AtomicU64,
    /// Those that it has seen.
    answered: watch::Sender<u64>,
    ended: watch::Sender<bool>,
}

impl Default for Life {
    fn default() -> Self {
        let (answered, ended) = (watch::Sender::new(0), watch::Sender::new(false));
        Self { asked: AtomicU64::new(0), answered, ended }
    }
}

impl Life {
    /// The task has gone through its loop once more.
    pub(crate) fn answer(&self) {
        let asked = self.asked.load(Ordering::Relaxed);
        self.answered.send_if_modified(|answered| std::mem::replace(answered, asked) != asked);
    }

    /// Waits until the task has ended, which it never does by itself.
    pub(crate) async fn ended(&self) {
        // The sender is in `self`.
        let _ = self.ended.subscribe().wait_for(|ended| *ended).await;
    }
}

/// The side of the application. When it is gone, the task ends.
#[derive(Debug)]
pub(crate) struct Handle<S> {
    pub(crate) shared: Arc<Shared<S>>,
    task: tokio::task::AbortHandle,
}

impl<S: Streams> Handle<S> {
    /// Runs the task, and watches it.
    pub(crate) fn new(
        shared: Arc<Shared<S>>,
        task: impl Future<Output = ()> + Send + 'static,
    ) -> Self {
        let task = tokio::spawn(task);
        let abort = task.abort_handle();
        let watched = shared.clone();
        tokio::spawn(async move {
            match task.await {
                // All handles are gone.
                Err(error) if error.is_cancelled() => return,
                Err(error) => tracing::error!(%error, "the task that carries datagrams has failed"),
                Ok(()) => tracing::error!("the task that carries datagrams has ended"),
            }
            watched.life.ended.send_replace(true);
        });
        Self { shared, task: abort }
    }
}

impl<S> Drop for Handle<S> {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_units::Instant;

    use super::*;
    use bentpipe_association::SecretKey;
    use bentpipe_association::hub::Hub;
    use bentpipe_association::secure::Security;

    fn shared() -> Arc<Shared<Hub>> {
        let key = SecretKey::from_bytes([1; 32]);
        let hub = Hub::new(key, Security::Full, 0, Box::new(|| 5), Instant::ZERO);
        Arc::new(Shared::new(hub, Clock::start()))
    }

    #[tokio::test]
    async fn a_task_that_fails_is_noticed() {
        let shared = shared();
        let handle = Handle::new(shared.clone(), async { panic!("an invariant is broken") });
        shared.life.ended().await;
        assert!(!shared.answers(Duration::ZERO).await);
        drop(handle);
    }

    #[tokio::test]
    async fn a_task_answers_as_long_as_it_goes_round() {
        let shared = shared();
        let looping = shared.clone();
        let _handle = Handle::new(shared.clone(), async move {
            loop {
                looping.changed.notified().await;
                looping.life.answer();
            }
        });
        assert!(shared.answers(Duration::from_secs(60)).await);
        assert!(shared.answers(Duration::from_secs(60)).await);
    }

    #[tokio::test]
    async fn a_task_that_hangs_does_not_answer() {
        let shared = shared();
        let _handle = Handle::new(shared.clone(), std::future::pending());
        assert!(!shared.answers(Duration::from_millis(1)).await);
    }

    #[test]
    #[should_panic = "this lock"]
    fn who_finds_what_a_panic_left_goes_no_further() {
        let mutex = Mutex::new(5);
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _held = lock(&mutex);
            panic!("half changed");
        }));
        let _held = lock(&mutex);
    }
}
