//! How much is done for users at the same time, and how often something new begins.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::Limits;

/// Within this time so many may begin.
const WINDOW: Duration = Duration::from_secs(10);

/// Looks at a text at the same time. Each takes a moment; those that come then wait, as many as there are connections.
const LOOKS: usize = 4;

/// The places of what is done for users.
#[derive(Debug)]
pub(crate) struct Places {
    free: Arc<Semaphore>,
    looks: Arc<Semaphore>,
    at_once: usize,
    begun: usize,
    last: Mutex<VecDeque<Instant>>,
}

/// One of them, until it is dropped.
pub(crate) type Place = OwnedSemaphorePermit;

impl Places {
    pub(crate) fn new(limits: &Limits) -> Self {
        let Limits { at_once, begun, .. } = *limits;
        let free = Arc::new(Semaphore::new(at_once));
        let looks = Arc::new(Semaphore::new(LOOKS));
        Self { free, looks, at_once, begun, last: Mutex::new(VecDeque::new()) }
    }

    /// Looks at a text in a thread, as soon as one may: somebody who types asks often, also while all places are taken, and that
    /// begins nothing. Nothing where the look came to no end.
    pub(crate) async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let place = self.looks.clone().acquire_owned().await.ok()?;
        let looking = tokio::task::spawn_blocking(move || {
            let seen = look();
            drop(place);
            seen
        });
        looking.await.ok()
    }

    /// Does something that takes a while in a thread, which has a place until that is done, whoever waits for it; otherwise why there
    /// is no place.
    pub(crate) fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<JoinHandle<T>, String> {
        let place = self.take(Instant::now())?;
        Ok(tokio::task::spawn_blocking(move || {
            let done = work();
            drop(place);
            done
        }))
    }

    /// Takes a place at this time; otherwise why there is none.
    pub(crate) fn take(&self, now: Instant) -> Result<Place, String> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        while last.front().is_some_and(|began| now.duration_since(*began) >= WINDOW) {
            last.pop_front();
        }
        if last.len() >= self.begun {
            let Self { begun, .. } = self;
            return Err(format!("{begun} began within ten seconds: wait for a moment"));
        }
        let place = self.free.clone().try_acquire_owned().map_err(|_| {
            let Self { at_once, .. } = self;
            format!("{at_once} go on at once here, and no more: end one, or close its tab")
        })?;
        last.push_back(now);
        Ok(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_come_back_when_they_are_dropped_and_beginnings_with_time() {
        let limits = Limits { at_once: 2, begun: 3, ..Limits::default() };
        let (places, now) = (Places::new(&limits), Instant::now());
        let first = places.take(now).expect("free");
        let _second = places.take(now).expect("free");
        assert!(places.take(now).expect_err("full").contains("2 go on at once"));
        drop(first);
        let _third = places.take(now).expect("free again");
        drop(_second);
        assert!(places.take(now).expect_err("too many").contains("3 began"));
        assert!(places.take(now + WINDOW).is_ok());
    }
}
