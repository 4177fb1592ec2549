//! A queue that is shorter than usual, while something passes that cannot wait, such as a call.

use bentpipe_units::{Instant, Span};

/// Where a shorter queue was not to be had it is tried again after so long.
const AGAIN: Span = Span::from_secs(60);
/// Cuts in a row that may not help.
const FAILURES: u32 = 2;
/// The latest acknowledgement counts for one part in so many.
const SMOOTH: u64 = 8;
/// They are not farther apart than this part of a round trip, or nothing came.
const MOST: u64 = 4;

/// Whether it is wanted, and what it takes.
#[derive(Debug, Default)]
pub(super) struct Low {
    until: Instant,
    not_before: Instant,
    /// Cuts in a row that did not help.
    failures: u32,
    /// How far apart acknowledgements come.
    apart: Span,
}

impl Low {
    /// It is wanted until then.
    pub(super) fn want(&mut self, until: Instant) {
        self.until = self.until.max(until);
    }

    /// A cut made the queue short.
    pub(super) const fn helps(&mut self) {
        self.failures = 0;
    }

    /// A cut did not. Whether it is given up.
    pub(super) fn gives_up(&mut self, now: Instant) -> bool {
        self.failures += 1;
        let gives_up = self.failures > FAILURES;
        if gives_up {
            self.give_up(now);
        }
        gives_up
    }

    /// Others fill the queue.
    pub(super) fn give_up(&mut self, now: Instant) {
        (self.failures, self.not_before) = (0, now + AGAIN);
    }

    /// Whether it is wanted now.
    pub(super) fn is_wanted(&self, now: Instant) -> bool {
        self.passes(now) && now >= self.not_before
    }

    /// Something passes that cannot wait.
    pub(super) fn passes(&self, now: Instant) -> bool {
        now < self.until
    }

    /// Something is acknowledged so long after what was before.
    pub(super) fn acknowledged(&mut self, after: Span, trip: Span) {
        self.apart = (self.apart * (SMOOTH - 1) + after.min(trip / MOST)) / SMOOTH;
    }

    /// For so long what arrived is not told yet: it has its place in the window, and none on the path.
    pub(super) const fn untold(&self) -> Span {
        self.apart
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::Play;
    use crate::{Phase, Signal};
    use bentpipe_units::Span;

    const TARGET: &str = "target_queue_s";

    /// A window that follows the queue of a path of 600 ms for so many round trips, beside a call of twenty seconds then.
    fn beside_call(rounds: u64) -> Play {
        let mut play = Play::new("steady", &[("initial_ssthresh", 64.0)]);
        play.set_rtt(0.6);
        play.rounds(rounds);
        assert_eq!((play.phase(), play.gauge(TARGET)), (Phase::CongestionAvoidance, 0.03));
        let until = play.path.now + Span::from_secs(20);
        play.signal(Signal::LowLatency { until });
        play.rounds(2);
        play
    }

    #[test]
    fn the_queue_is_short_for_as_long_as_a_call_passes() {
        let mut play = beside_call(12);
        assert_eq!(play.gauge(TARGET), 0.005);
        let before = play.segments();
        play.set_rtt(0.625);
        play.rounds(2);
        assert!(play.segments() < 0.98 * before, "25 ms are too long");
        play.set_rtt(0.6);
        play.rounds(20);
        assert_eq!(play.gauge(TARGET), 0.005);
        play.rounds(12);
        assert_eq!(play.gauge(TARGET), 0.03);
    }

    #[test]
    fn a_queue_that_heeds_no_cut_is_as_long_as_ever_and_the_window_as_large_as_before() {
        // Too few to know what all of the path carries, and that somebody has a part of it.
        let mut play = beside_call(6);
        let before = play.segments();
        let mut round = |millis: f64| {
            play.set_rtt(0.6 + millis / 1_000.0);
            play.round();
            (play.gauge(TARGET), play.segments())
        };
        // Something else keeps it at 11 to 19 ms.
        let after =
            (0..40).take_while(|n| round(if n % 2 == 0 { 11.0 } else { 19.0 }).0 < 0.03).count();
        assert!(after < 20, "{after} round trips");
        assert!(round(11.0).1 >= 0.99 * before);
    }

    #[test]
    fn the_pace_leaves_out_what_arrived_and_is_not_acknowledged_yet() {
        let mut play = beside_call(12);
        for _ in 0..60 {
            play.wait(0.05);
            play.ack_at_once((play.segments() / 12.0) as u64);
        }
        let limits = play.controller.limits();
        let window = limits.window.expect("a window").get() as f64 * 8.0;
        let pace = limits.pacing.expect("a pace").as_bps() as f64;
        let trip = window / pace;
        assert!((0.64..0.665).contains(&trip), "a window in {trip} s");
    }

    #[test]
    fn a_queue_that_is_empty_where_there_was_nothing_to_send_lets_no_window_grow() {
        let grown = |dry: bool| {
            let mut play = beside_call(12);
            let before = play.segments();
            for _ in 0..12 {
                play.round();
                play.path.cwnd_limited = !dry;
                play.ack_at_once(1);
                play.path.cwnd_limited = true;
            }
            play.segments() / before
        };
        assert!(grown(false) > 1.02, "{}", grown(false));
        assert!(grown(true) < 1.001, "{}", grown(true));
    }

    #[test]
    fn who_comes_finds_a_queue_as_long_as_ever() {
        let mut play = beside_call(12);
        let mut lasts = |round: u64| {
            play.set_rtt(0.6 + 0.01 * round as f64);
            play.round();
            play.gauge(TARGET) < 0.03
        };
        let after = (1..20).take_while(|round| lasts(*round)).count();
        assert!(after < 10, "{after} round trips");
    }
}
