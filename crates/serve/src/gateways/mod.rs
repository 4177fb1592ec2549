//! Gateways elsewhere: what they say of themselves, once a second, and what they said within the last hour.

mod history;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bentpipe_gateway::Status;
use serde::Serialize;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval};

pub(crate) use self::history::Columns;
use self::history::History;

/// Time between two looks.
const EVERY: Duration = Duration::from_secs(1);

/// All gateways that are watched.
#[derive(Debug)]
pub(crate) struct Gateways(Vec<Arc<Watched>>);

/// A gateway that is watched.
#[derive(Debug)]
struct Watched {
    address: String,
    began: Instant,
    seen: Mutex<Seen>,
}

/// What was seen of it.
#[derive(Debug, Default)]
struct Seen {
    now: Option<Status>,
    /// When that was, in seconds since the watch began.
    at_s: f64,
    /// What was wrong at the last look.
    error: Option<String>,
    history: History,
}

/// A gateway as it is now.
#[derive(Serialize)]
pub(crate) struct Now {
    address: String,
    /// When it was asked last, in seconds since the watch began.
    time_s: f64,
    status: Option<Status>,
    error: Option<String>,
}

impl Gateways {
    pub(crate) fn new(addresses: &[String]) -> Self {
        let watched = |address: &String| {
            let (address, seen) = (address.clone(), Mutex::default());
            Arc::new(Watched { address, began: Instant::now(), seen })
        };
        Self(addresses.iter().map(watched).collect())
    }

    /// Polls each of them, for ever.
    pub(crate) async fn watch(&self) {
        let mut tasks = JoinSet::new();
        for watched in &self.0 {
            let watched = watched.clone();
            tasks.spawn(async move { watched.watch().await });
        }
        while tasks.join_next().await.is_some() {}
    }

    /// All of them as they are now.
    pub(crate) fn now(&self) -> Vec<Now> {
        self.0.iter().map(|watched| watched.now()).collect()
    }

    /// What was seen of one within the last hour, after this many seconds of the watch.
    pub(crate) fn history(&self, number: usize, since: f64) -> Option<Columns> {
        Some(self.0.get(number)?.seen().history.columns(since))
    }

    /// Where one serves its status.
    pub(crate) fn address(&self, number: usize) -> Option<String> {
        Some(self.0.get(number)?.address.clone())
    }
}

impl Watched {
    async fn watch(&self) {
        let mut ticks = interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let status = bentpipe_monitor::status(&self.address).await;
            self.take(status);
        }
    }

    fn take(&self, status: Result<Status, String>) {
        let time_s = self.began.elapsed().as_secs_f64();
        let mut seen = self.seen();
        seen.at_s = time_s;
        match status {
            Ok(status) => {
                seen.history.push(time_s, Some(&status));
                (seen.now, seen.error) = (Some(status), None);
            }
            Err(error) => {
                seen.history.push(time_s, None);
                (seen.now, seen.error) = (None, Some(error));
            }
        }
    }

    fn now(&self) -> Now {
        let seen = self.seen();
        let (status, error) = (seen.now.clone(), seen.error.clone());
        Now { address: self.address.clone(), time_s: seen.at_s, status, error }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
