//! The wall clock.
#![expect(clippy::disallowed_types, reason = "this is where the wall clock comes in")]

use std::sync::LazyLock;
use std::time::{Duration, SystemTime};

use bentpipe_units::Instant;

/// Milliseconds since this was asked first.
pub fn millis() -> u64 {
    static START: LazyLock<tokio::time::Instant> = LazyLock::new(tokio::time::Instant::now);
    START.elapsed().as_millis() as u64
}

/// The same in seconds.
pub fn seconds() -> u64 {
    millis() / 1000
}

/// Nanoseconds since 1970, as the clock of this machine says now.
#[expect(clippy::disallowed_methods, reason = "this is where the wall clock comes in")]
pub fn calendar() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64)
}

/// Counts nanoseconds from its own start.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: tokio::time::Instant,
    /// Nanoseconds of the calendar at the start.
    calendar: u64,
}

impl Clock {
    /// A clock that starts now.
    pub fn start() -> Self {
        Self { start: tokio::time::Instant::now(), calendar: calendar() }
    }

    /// The time now.
    pub fn now(&self) -> Instant {
        Instant::from_nanos(self.start.elapsed().as_nanos() as u64)
    }

    /// Nanoseconds since 1970 at the start.
    pub const fn calendar(&self) -> u64 {
        self.calendar
    }

    /// Sleeps until a deadline, or for ever where there is none.
    pub async fn sleep_until(&self, deadline: Option<Instant>) {
        match deadline {
            Some(at) => {
                tokio::time::sleep_until(self.start + Duration::from_nanos(at.as_nanos())).await;
            }
            None => std::future::pending().await,
        }
    }
}

impl bentpipe_association::host::Clock for Clock {
    fn now(&self) -> Instant {
        Self::now(self)
    }
}
