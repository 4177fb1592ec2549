//! What a sender's one timer can do: ring when it should, or as the timers of the paper's system did.

use bentpipe_units::{Instant, Span};

/// Length of a tick of the system clock: 100 Hz.
const JIFFY: Span = Span::from_millis(10);

/// How exactly a sender's timer rings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimerClock {
    /// At once when something is due.
    #[default]
    Exact,
    /// As on Linux 2.4, where the paper's implementation ran. One timer serves data and POLLs (paper, section 3). It is
    /// started again after each tick, waits for its time rounded up to jiffies of 10 ms and for one more, and what is
    /// due by then leaves with it. Under a controller that gives a rate it is exact.
    Jiffies,
}

/// The timer, where it is not exact: when what it waits for is due, and when it rings.
#[derive(Clone, Copy, Debug)]
struct Armed {
    due: Instant,
    rings: Instant,
}

/// The timer of a sender.
#[derive(Debug)]
pub(super) struct Alarm {
    clock: TimerClock,
    /// The controller gives a rate, which the paper's do not: bursts are made for a timer that keeps to it.
    keeps_rate: bool,
    armed: Option<Armed>,
}

impl Alarm {
    pub(super) const fn new(clock: TimerClock) -> Self {
        Self { clock, keeps_rate: false, armed: None }
    }

    /// Whether it rings late, so that lateness is part of the schedule.
    #[inline]
    pub(super) fn is_coarse(&self) -> bool {
        self.clock == TimerClock::Jiffies && !self.keeps_rate
    }

    /// Whether bursts leave by a rate from now on.
    #[inline]
    pub(super) const fn keep_rate(&mut self, keeps_rate: bool) {
        self.keeps_rate = keeps_rate;
    }

    /// Starts it for what is due first. While it runs only what is due sooner starts it again; what is due now does not
    /// wait.
    pub(super) fn set(&mut self, now: Instant, first: Option<Instant>) {
        let Some(due) = first else {
            self.armed = None;
            return;
        };
        if self.armed.is_none_or(|armed| due < armed.due) {
            self.armed = Some(Armed { due, rings: self.clock.rings(now, due) });
        }
    }

    /// Whether the time has come to look at what is due. It has to be started again then.
    #[inline]
    pub(super) fn has_rung(&mut self, now: Instant) -> bool {
        !self.is_coarse() || self.armed.take_if(|armed| armed.rings <= now).is_some()
    }

    /// When it rings, where that is not when the first thing is due.
    #[inline]
    pub(super) fn rings(&self, first: Option<Instant>) -> Option<Instant> {
        if self.is_coarse() { self.armed.map(|armed| armed.rings) } else { first }
    }
}

impl TimerClock {
    /// When a timer rings that is started now for something that is due then.
    fn rings(self, now: Instant, due: Instant) -> Instant {
        if self == Self::Exact || due <= now {
            return due.max(now);
        }
        let tick = now.as_nanos() / JIFFY.as_nanos();
        let wait = due.since(now).as_nanos().div_ceil(JIFFY.as_nanos());
        Instant::from_nanos((tick + wait + 1) * JIFFY.as_nanos())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: u64) -> Instant {
        Instant::from_nanos(micros * 1_000)
    }

    #[test]
    fn a_wait_is_rounded_up_to_jiffies_and_takes_one_more() {
        let rings = |now, due| TimerClock::Jiffies.rings(at(now), at(due));
        assert_eq!(rings(0, 12_500), at(30_000));
        assert_eq!(rings(0, 10_000), at(20_000));
        assert_eq!(rings(29_999, 42_499), at(50_000), "counted from the tick before");
        assert_eq!(rings(5_000, 5_000), at(5_000), "nothing to wait for");
        assert_eq!(TimerClock::Exact.rings(at(0), at(12_500)), at(12_500));
    }

    #[test]
    fn a_timer_that_runs_is_started_again_only_for_what_is_due_sooner() {
        let mut alarm = Alarm::new(TimerClock::Jiffies);
        alarm.set(at(0), Some(at(12_500)));
        alarm.set(at(8_000), Some(at(20_000)));
        assert_eq!(alarm.rings(None), Some(at(30_000)));
        alarm.set(at(8_000), Some(at(9_000)));
        assert_eq!(alarm.rings(None), Some(at(20_000)));
        assert!(!alarm.has_rung(at(19_999)));
        assert!(alarm.has_rung(at(20_000)));
        assert_eq!(alarm.rings(Some(at(1))), None, "it has to be started again");
        alarm.set(at(20_000), Some(at(20_000)));
        assert_eq!(alarm.rings(None), Some(at(20_000)));
        alarm.set(at(20_000), None);
        assert!(!alarm.has_rung(at(60_000)));
    }

    #[test]
    fn a_timer_that_keeps_a_rate_is_never_late() {
        let mut alarm = Alarm::new(TimerClock::Jiffies);
        alarm.set(at(0), Some(at(12_500)));
        alarm.keep_rate(true);
        assert!(alarm.has_rung(at(1)));
        assert_eq!(alarm.rings(Some(at(12_500))), Some(at(12_500)));
    }

    #[test]
    fn an_exact_timer_rings_when_something_is_due() {
        let mut alarm = Alarm::new(TimerClock::Exact);
        assert!(alarm.has_rung(at(1)));
        assert_eq!(alarm.rings(Some(at(12_500))), Some(at(12_500)));
    }
}
