//! The send timer: spreads a window over a round trip in small bursts (paper, section 3).

use bentpipe_units::{BitRate, ByteCount, Instant, Span};

use super::Config;
use super::timer_clock::{Alarm, TimerClock};

/// When the next burst leaves and how long it is.
#[derive(Debug)]
pub(super) struct SendTimer {
    alarm: Alarm,
    next: Option<Instant>,
    last: Option<Instant>,
    interval: Span,
    burst: u32,
    /// Segments that are still to leave at once.
    unpaced: u32,
    /// Segments of the burst that has begun, and whether a POLL goes with its last one.
    left: u32,
    with_poll: bool,
    /// When new data last left, or a probing cycle ended.
    last_new_data: Option<Instant>,
}

/// What the timer is set from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Allowance {
    /// W: the window in segments.
    pub(super) window: u32,
    /// A: new segments that may go now.
    pub(super) allowed: u32,
    /// Smoothed round-trip time.
    pub(super) srtt: Span,
    /// The controller's own rate, which then replaces one window per round trip.
    pub(super) pacing: Option<BitRate>,
    /// Bytes of a full segment on the wire, for a rate.
    pub(super) segment: ByteCount,
}

impl SendTimer {
    /// A timer that spreads all but so many segments.
    pub(super) const fn new(unpaced: u32, clock: TimerClock) -> Self {
        Self {
            alarm: Alarm::new(clock),
            next: None,
            last: None,
            interval: Span::ZERO,
            burst: 0,
            unpaced,
            left: 0,
            with_poll: false,
            last_new_data: None,
        }
    }

    /// What the timer waits for besides bursts: the next POLL.
    pub(super) fn arm(&mut self, now: Instant, poll: Option<Instant>) {
        if self.alarm.is_coarse() {
            self.alarm.set(now, Instant::earliest(self.next, poll));
        }
    }

    /// Whether bursts and POLLs that are due may leave now.
    pub(super) fn has_rung(&mut self, now: Instant) -> bool {
        self.alarm.has_rung(now)
    }

    /// Whether what is due waits for a tick of the system's clock.
    pub(super) fn is_coarse(&self) -> bool {
        self.alarm.is_coarse()
    }

    /// New data leave.
    #[inline]
    pub(super) const fn data_sent(&mut self, now: Instant) {
        self.unpaced = self.unpaced.saturating_sub(1);
        self.last_new_data = Some(now);
    }

    /// The time since then does not count as idle.
    pub(super) const fn not_idle(&mut self, now: Instant) {
        self.last_new_data = Some(now);
    }

    /// Whether no new data left for longer than this.
    pub(super) fn is_idle(&self, now: Instant, longer_than: Span) -> bool {
        self.last_new_data.is_some_and(|at| now.since(at) > longer_than)
    }

    /// Sets interval and burst from what is allowed now, keeping the phase: the next tick is one new
    /// interval after the last one, or now. Nothing allowed stops the timer at once.
    pub(super) fn set(&mut self, now: Instant, config: &Config, may: Allowance) {
        self.alarm.keep_rate(may.pacing.is_some());
        if may.allowed == 0 {
            self.next = None;
            return;
        }
        let window = may.window.max(1);
        if let Some(rate) = may.pacing {
            let per_tick = rate.bytes_in(config.timer_tick).get() / may.segment.get().max(1);
            let most = u64::from(may.allowed.min(config.max_burst));
            self.burst = per_tick.clamp(1, most) as u32;
            let burst = ByteCount::new(may.segment.get() * u64::from(self.burst));
            self.interval = rate.time_for(burst);
        } else if window < config.burst_min {
            self.burst = may.allowed;
            self.interval = may.srtt;
        } else {
            let ticks = (may.srtt.as_nanos() / config.timer_tick.as_nanos()).max(1);
            let per_tick = u64::from(window).div_ceil(ticks) as u32;
            self.burst = per_tick.min(config.max_burst).min(may.allowed);
            // By the window and not by what is allowed: about half a window is outstanding at any
            // time, and dividing by the room left would halve the rate.
            self.interval = may.srtt.mul_div(u64::from(self.burst), u64::from(window));
        }
        if self.unpaced > 0 && may.pacing.is_none() {
            self.burst = may.allowed.min(self.unpaced).min(config.max_burst);
            self.next = Some(now);
            return;
        }
        let due = self.last.map_or(now, |last| last + self.interval);
        let late = now.since(due);
        // A coarse timer that runs rings when it rings, however late.
        let waits = self.alarm.is_coarse() && self.next.is_some();
        self.next = Some(if waits || late <= config.catch_up { due } else { now });
    }

    /// When the next burst is due, if one may leave.
    pub(super) const fn next(&self) -> Option<Instant> {
        self.next
    }

    /// The burst that is due, if one is.
    pub(super) fn due(&self, now: Instant) -> Option<u32> {
        self.next.filter(|next| *next <= now).map(|_| self.burst)
    }

    /// A burst begins. The next one is counted from when this one was due, so that a clock that
    /// rings late does not slow down the rest; a coarse timer is started anew.
    pub(super) fn begin(&mut self, now: Instant, burst: u32, with_poll: bool) {
        let due = self.next.take().unwrap_or(now);
        self.last = Some(if self.alarm.is_coarse() { now } else { due });
        (self.left, self.with_poll) = (burst, with_poll);
    }

    /// Segments of the burst that may still leave.
    #[inline]
    pub(super) const fn left(&self) -> u32 {
        self.left
    }

    /// One of them leaves.
    #[inline]
    pub(super) const fn take_one(&mut self) {
        self.left -= 1;
    }

    /// Nothing is there to be sent.
    pub(super) const fn end_burst(&mut self) {
        self.left = 0;
    }

    /// Whether the next segment of the burst has the POLL.
    #[inline]
    pub(super) const fn next_has_poll(&self) -> bool {
        self.left == 1 && self.with_poll
    }

    /// Whether the segment that was taken last has the POLL.
    pub(super) const fn last_has_poll(&self) -> bool {
        self.left == 0 && self.with_poll
    }

    /// A POLL has left, with data.
    pub(super) const fn polled(&mut self) {
        self.with_poll = false;
    }

    /// The burst is broken off, and no other one begins for now.
    pub(super) const fn break_off(&mut self) {
        (self.left, self.with_poll, self.next) = (0, false, None);
    }

    /// No new data for now.
    pub(super) fn stop(&mut self) {
        self.next = None;
    }

    /// Time between bursts.
    pub(super) const fn interval(&self) -> Span {
        self.interval
    }

    /// When the timer rings for the next burst or this POLL.
    #[inline]
    pub(super) fn deadline(&self, poll: Option<Instant>) -> Option<Instant> {
        self.alarm.rings(Instant::earliest(self.next, poll))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exact(unpaced: u32) -> SendTimer {
        SendTimer::new(unpaced, TimerClock::Exact)
    }

    fn set(timer: &mut SendTimer, now: Instant, window: u32, allowed: u32) {
        let may = Allowance {
            window,
            allowed,
            srtt: Span::from_millis(200),
            pacing: None,
            segment: ByteCount::new(1016),
        };
        timer.set(now, &Config::default(), may);
    }

    #[test]
    fn a_small_window_goes_in_one_burst() {
        let mut timer = exact(0);
        set(&mut timer, Instant::ZERO, 3, 3);
        assert_eq!(timer.due(Instant::ZERO), Some(3));
        assert_eq!(timer.interval(), Span::from_millis(200));
    }

    #[test]
    fn a_large_window_is_spread_over_the_round_trip_whatever_room_is_left() {
        for allowed in [64, 20, 4] {
            let mut timer = exact(0);
            set(&mut timer, Instant::ZERO, 64, allowed);
            // 20 ticks of 10 ms in 200 ms: 64 / 20 rounded up, at 200 ms x 4 / 64.
            assert_eq!(timer.due(Instant::ZERO), Some(4));
            assert_eq!(timer.interval(), Span::from_micros(12_500));
        }
    }

    #[test]
    fn a_burst_never_exceeds_the_largest_burst_or_what_is_allowed() {
        let mut timer = exact(0);
        set(&mut timer, Instant::ZERO, 1000, 500);
        assert_eq!(timer.due(Instant::ZERO), Some(8));
        set(&mut timer, Instant::ZERO, 1000, 3);
        assert_eq!(timer.due(Instant::ZERO), Some(3));
        set(&mut timer, Instant::ZERO, 1000, 0);
        assert_eq!((timer.due(Instant::ZERO), timer.deadline(None)), (None, None));
    }

    #[test]
    fn a_change_of_the_window_keeps_the_phase() {
        let mut timer = exact(0);
        set(&mut timer, Instant::ZERO, 64, 64);
        timer.begin(Instant::ZERO, 4, false);
        let now = Instant::ZERO + Span::from_millis(5);
        set(&mut timer, now, 32, 30);
        assert_eq!(timer.deadline(None), Some(Instant::ZERO + Span::from_micros(12_500)));
        let late = Instant::ZERO + Span::from_millis(50);
        set(&mut timer, late, 32, 30);
        assert_eq!(timer.deadline(None), Some(late));
    }

    #[test]
    fn the_first_segments_may_leave_at_once_and_those_behind_them_are_spread() {
        let mut timer = exact(10);
        let at = |ms| Instant::ZERO + Span::from_millis(ms);
        set(&mut timer, at(0), 10, 1);
        assert_eq!(timer.due(at(0)), Some(1));
        timer.begin(at(0), 1, false);
        timer.data_sent(at(0));
        set(&mut timer, at(1), 10, 9);
        assert_eq!(timer.due(at(1)), Some(8), "as many as a burst has");
        timer.begin(at(1), 8, false);
        (0..9).for_each(|_| timer.data_sent(at(1)));
        set(&mut timer, at(2), 10, 1);
        assert_eq!((timer.due(at(2)), timer.deadline(None)), (None, Some(at(21))));
    }

    #[test]
    fn a_rate_of_the_controller_replaces_the_window_per_round_trip() {
        let mut timer = exact(0);
        let may = Allowance {
            window: 64,
            allowed: 64,
            srtt: Span::from_millis(200),
            pacing: Some(BitRate::from_bps(1_016_000 * 8)),
            segment: ByteCount::new(1016),
        };
        timer.set(Instant::ZERO, &Config::default(), may);
        // A thousand segments a second: eight at most every eight milliseconds.
        assert_eq!(timer.due(Instant::ZERO), Some(8));
        assert_eq!(timer.interval(), Span::from_millis(8));
    }

    #[test]
    fn the_timers_of_the_papers_system_ring_late_and_are_started_again_from_then() {
        let mut timer = SendTimer::new(0, TimerClock::Jiffies);
        let at = |ms| Instant::ZERO + Span::from_millis(ms);
        let mut left = Vec::new();
        for now in (0..=120).map(at) {
            set(&mut timer, now, 64, 64);
            timer.arm(now, None);
            if timer.has_rung(now) && timer.due(now).is_some() {
                timer.begin(now, 4, false);
                left.push(now);
            }
        }
        assert_eq!(left, [0, 30, 60, 90, 120].map(at), "12.5 ms are 2 jiffies, and one more");
    }

    #[test]
    fn what_is_due_when_a_poll_rings_leaves_with_it() {
        let mut timer = SendTimer::new(0, TimerClock::Jiffies);
        let at = |ms| Instant::ZERO + Span::from_millis(ms);
        set(&mut timer, at(0), 64, 64);
        timer.begin(at(0), 4, false);
        set(&mut timer, at(0), 64, 60);
        timer.arm(at(0), Some(at(7)));
        assert_eq!(timer.deadline(Some(at(7))), Some(at(20)), "and not at 30 ms");
        assert!(timer.has_rung(at(20)));
        assert_eq!(timer.due(at(20)), Some(4));
    }
}
