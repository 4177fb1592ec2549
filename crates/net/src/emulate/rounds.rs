//! The rounds of a relay: what is due leaves, what comes enters, and now and then it asks to go on.

use std::io;
use std::num::NonZeroU64;

use bentpipe_units::{Instant, Span};
use rustix::event::{PollFd, Timespec, poll};
use rustix::io::Errno;

use crate::clock::Clock;

/// Time between two questions whether to go on, and the longest sleep.
const ASK_EVERY: Span = Span::from_millis(100);

/// The clock of a relay and when it asks next.
#[derive(Debug)]
pub(super) struct Rounds {
    clock: Clock,
    ask_at: Instant,
}

impl Rounds {
    /// Rounds whose time begins now.
    pub(super) fn new() -> Self {
        Self { clock: Clock::start(), ask_at: Instant::ZERO }
    }

    /// Makes the timers of this thread exact: the kernel may otherwise wake it 50 us late to save
    /// power.
    pub(super) fn sharpen() {
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    }

    /// The time now.
    pub(super) fn now(&self) -> Instant {
        self.clock.now()
    }

    /// Whether it is time to ask again.
    pub(super) fn may_ask(&mut self, now: Instant) -> bool {
        let may = now >= self.ask_at;
        if may {
            self.ask_at = now + ASK_EVERY;
        }
        may
    }

    /// Waits, to the nanosecond, until the next packet is due, it is time to ask, or one of these is
    /// ready: then it answers yes.
    ///
    /// # Errors
    /// When the system does not let it wait.
    pub(super) fn wait(&self, fds: &mut [PollFd<'_>], next: Option<Instant>) -> io::Result<bool> {
        let until = next.map_or(self.ask_at, |next| next.min(self.ask_at));
        match poll(fds, Some(&timespec(until.since(self.now())))) {
            Ok(ready) => Ok(ready > 0),
            Err(Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

/// A span as the kernel takes it.
pub(super) const fn timespec(span: Span) -> Timespec {
    const SECOND: u64 = 1_000_000_000;
    let nanos = span.as_nanos();
    Timespec { tv_sec: (nanos / SECOND) as i64, tv_nsec: (nanos % SECOND) as i64 }
}
