//! The rounds of a relay: what is due leaves, what comes enters, and now and then it asks to go on.

use std::io;
use std::num::NonZeroU64;

use bentpipe_system::Clock;
use bentpipe_units::{Instant, Span};
use rustix::event::{PollFd, Timespec, poll};
use rustix::io::Errno;

/// Time between two questions whether to go on, and the longest sleep.
const ASK_EVERY: Span = Span::from_millis(100);

/// Niceness of the thread of a relay, which takes CAP_SYS_NICE.
const PRIORITY: i32 = -15;

/// Time that the system may take to wake a thread: that much earlier it stops sleeping, and looks at
/// the clock until a packet is due.
const WAKE: Span = Span::from_micros(80);

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

    /// Makes the timers of this thread exact: the kernel may otherwise wake it 50 us late to save power. Where it may, the
    /// thread also goes before others: a link does not become slower because its ends are busy.
    pub(super) fn sharpen() {
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        // Linux has a priority for each thread.
        let _ = rustix::process::setpriority_process(None, PRIORITY);
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

    /// Waits until the next packet is due, it is time to ask, or one of these is ready: then it answers
    /// yes.
    ///
    /// # Errors
    /// When the system does not let it wait.
    pub(super) fn wait(&self, fds: &mut [PollFd<'_>], next: Option<Instant>) -> io::Result<bool> {
        loop {
            let now = self.now();
            let idle = self.ask_at.since(now);
            let span = match next {
                Some(next) if next <= now => Span::ZERO,
                Some(next) => idle.min(next.since(now).saturating_sub(WAKE)),
                None => idle,
            };
            match poll(fds, Some(&timespec(span))) {
                Ok(0) => {}
                Ok(_) => return Ok(true),
                Err(Errno::INTR) => return Ok(false),
                Err(error) => return Err(error.into()),
            }
            let now = self.now();
            if now >= self.ask_at || next.is_some_and(|next| next <= now) {
                return Ok(false);
            }
            // Awake and early. Whoever has something to do may do it.
            rustix::thread::sched_yield();
        }
    }
}

/// A span as the kernel takes it.
pub(super) const fn timespec(span: Span) -> Timespec {
    const SECOND: u64 = 1_000_000_000;
    let nanos = span.as_nanos();
    Timespec { tv_sec: (nanos / SECOND) as i64, tv_nsec: (nanos % SECOND) as i64 }
}

#[cfg(test)]
mod tests {
    use rustix::event::PollFlags;

    use super::*;

    #[test]
    fn it_asks_at_once_and_then_ten_times_a_second() {
        let mut rounds = Rounds::new();
        let at = |n| Instant::ZERO + Span::from_millis(n);
        let asked = (0..1000).filter(|n| rounds.may_ask(at(*n))).count();
        assert_eq!(asked, 10);
    }

    #[test]
    fn waiting_ends_when_a_packet_is_due_or_one_can_be_read_and_not_before() {
        let mut rounds = Rounds::new();
        let far = Instant::ZERO + Span::from_secs(3600);
        assert!(rounds.may_ask(far));
        let (reader, mut writer) = io::pipe().expect("a pipe");
        let mut fds = [PollFd::new(&reader, PollFlags::IN)];
        for micros in [0, 50, 5000] {
            let due = rounds.now() + Span::from_micros(micros);
            assert!(!rounds.wait(&mut fds, Some(due)).expect("waited"));
            assert!(rounds.now() >= due);
        }
        io::Write::write_all(&mut writer, b"x").expect("written");
        assert!(rounds.wait(&mut fds, Some(far)).expect("waited"));
        assert!(rounds.now() < far);
    }
}
