//! The task that runs a machine, and how it is watched.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bentpipe_association::host::{Handle, Shared};
use bentpipe_association::stream::Streams;
use tokio::sync::watch;
use tokio::task::AbortHandle;

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

    /// Whether the task does something within this time when it is asked to.
    pub(crate) async fn answers<S: Streams>(&self, shared: &Shared<S>, limit: Duration) -> bool {
        let mut answered = self.answered.subscribe();
        let asked = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        shared.changed.notify_one();
        let answer = answered.wait_for(|answered| *answered >= asked);
        matches!(tokio::time::timeout(limit, answer).await, Ok(Ok(_)))
    }
}

/// Ends a task when it is dropped.
struct Runs(AbortHandle);

impl Drop for Runs {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Runs the task of a machine, and watches it. The task ends with the handle.
pub(crate) fn run<S: Streams>(
    shared: Arc<Shared<S>>,
    life: Arc<Life>,
    task: impl Future<Output = ()> + Send + 'static,
) -> Arc<Handle<S>> {
    let task = tokio::spawn(task);
    let runs = Runs(task.abort_handle());
    tokio::spawn(async move {
        match task.await {
            // All handles are gone.
            Err(error) if error.is_cancelled() => return,
            Err(error) => tracing::error!(%error, "datagram task failed"),
            Ok(()) => tracing::error!("datagram task ended"),
        }
        life.ended.send_replace(true);
    });
    Arc::new(Handle::new(shared, runs))
}

#[cfg(test)]
mod tests {
    use bentpipe_association::endpoint::Endpoint;
    use bentpipe_association::{SecretKey, Security};
    use bentpipe_units::Instant;

    use super::*;
    use bentpipe_system::Clock;

    fn shared() -> Arc<Shared<Endpoint>> {
        let key = SecretKey::from_bytes([1; 32]);
        let endpoint = Endpoint::new(key, Security::Full, 0, Box::new(|| 5), Instant::ZERO);
        Arc::new(Shared::new(endpoint, Arc::new(Clock::start())))
    }

    #[tokio::test]
    async fn a_task_that_fails_is_noticed() {
        let (shared, life) = (shared(), Arc::<Life>::default());
        let handle = run(shared.clone(), life.clone(), async { panic!("an invariant is broken") });
        life.ended().await;
        assert!(!life.answers(&shared, Duration::ZERO).await);
        drop(handle);
    }

    #[tokio::test]
    async fn a_task_answers_as_long_as_it_goes_round() {
        let (shared, life) = (shared(), Arc::<Life>::default());
        let (looping, signs) = (shared.clone(), life.clone());
        let _handle = run(shared.clone(), life.clone(), async move {
            loop {
                looping.changed.notified().await;
                signs.answer();
            }
        });
        assert!(life.answers(&shared, Duration::from_secs(60)).await);
        assert!(life.answers(&shared, Duration::from_secs(60)).await);
    }

    #[tokio::test]
    async fn a_task_that_hangs_does_not_answer() {
        let (shared, life) = (shared(), Arc::<Life>::default());
        let _handle = run(shared.clone(), life.clone(), std::future::pending());
        assert!(!life.answers(&shared, Duration::from_millis(1)).await);
    }
}
