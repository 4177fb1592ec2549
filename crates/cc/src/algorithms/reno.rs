//! Reno's algorithm, the base of all comparisons: double, then one segment per round trip; halve.
//!
//! Tahoe, Reno, NewReno and SACK differ by how losses are repaired and share this window.

use crate::family::{Algorithm, Cause, Reduction, Windowed};
use crate::row::{Build, Parameter, Row};
use crate::window::{ABC_LIMIT, INITIAL_SSTHRESH, LINUX, Window};
use crate::{Ack, PathView};

/// The registry row.
pub(crate) const ROW: Row = Row {
    name: "reno",
    summary: "slow start, then one segment per round trip; halves on a loss",
    citation: "RFC 5681; RFC 3465 (byte counting); RFC 3168 and RFC 8511 (ECN)",
    parameters: &[
        ABC_LIMIT,
        INITIAL_SSTHRESH,
        LINUX,
        Parameter {
            name: "beta_ecn",
            unit: "1",
            default: 0.5,
            range: (0.1, 1.0),
            summary: "what a mark leaves of the window: 0.5 as for a loss, 0.8 with RFC 8511",
        },
    ],
    build: &|build| Windowed::boxed(build, &ROW, Reno::new(build, &ROW)),
};

/// Reno's algorithm.
#[derive(Debug)]
pub(crate) struct Reno {
    beta_ecn: f64,
}

impl Reno {
    /// The algorithm with the parameters of `row`; where it has no `beta_ecn` a mark halves.
    pub(crate) fn new(build: &Build<'_>, row: &Row) -> Self {
        let beta_ecn = build.parameter(row, "beta_ecn");
        Self { beta_ecn: if beta_ecn > 0.0 { beta_ecn } else { 0.5 } }
    }
}

/// Slow start, then one segment for each window acknowledged.
pub(crate) fn grow(window: &mut Window, ack: &Ack) {
    let segments = window.slow_start(ack);
    window.avoid(1.0, segments);
}

impl Algorithm for Reno {
    fn grow(&mut self, window: &mut Window, _path: &PathView, ack: &Ack) {
        grow(window, ack);
    }

    fn reduce(&mut self, _window: &Window, _path: &PathView, event: &Reduction) -> Option<f64> {
        let beta = if event.cause == Cause::Mark { self.beta_ecn } else { 0.5 };
        Some(event.flight * beta)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::Play;
    use crate::{LossCause, Phase, Signal};

    #[test]
    fn slow_start_doubles_and_avoidance_adds_one_segment_per_round() {
        let mut play = Play::new("reno", &[]);
        for expected in [2.0, 4.0, 8.0, 16.0] {
            assert_eq!(play.segments(), expected);
            play.round();
        }
        play.lose(LossCause::Gap);
        assert_eq!((play.segments(), play.phase()), (16.0, Phase::Recovery));
        play.recovered();
        for _ in 0..10 {
            play.round();
        }
        assert!((25.4..=26.0).contains(&play.segments()), "{}", play.segments());
    }

    #[test]
    fn growth_stops_while_losses_are_repaired_and_when_the_window_is_not_the_limit() {
        let mut play = Play::new("reno", &[]);
        play.rounds(4);
        play.lose(LossCause::Gap);
        let window = play.segments();
        play.round();
        assert_eq!(play.segments(), window);
        play.recovered();
        play.path.cwnd_limited = false;
        play.round();
        assert_eq!(play.segments(), window);
    }

    #[test]
    fn a_timeout_starts_from_one_segment_up_to_half_the_flight_and_repeats_leave_the_threshold() {
        let mut play = Play::new("reno", &[]);
        play.rounds(4);
        play.lose(LossCause::Timeout);
        assert_eq!((play.segments(), play.ssthresh()), (1.0, 16.0));
        play.lose_again(LossCause::Timeout);
        assert_eq!((play.segments(), play.ssthresh()), (1.0, 16.0));
        play.rounds(4);
        assert_eq!(play.segments(), 16.0);
        play.round();
        assert!((16.9..=17.0).contains(&play.segments()));
    }

    #[test]
    fn no_loss_leaves_a_threshold_below_two_segments() {
        let mut play = Play::new("reno", &[]);
        play.lose(LossCause::Gap);
        assert_eq!((play.segments(), play.ssthresh()), (2.0, 2.0));
    }

    #[test]
    fn with_linux_the_window_after_repairs_is_three_segments_above_what_is_under_way() {
        let mut play = Play::new("reno", &[("linux", 1.0)]);
        play.rounds(5);
        play.lose(LossCause::Gap);
        assert_eq!((play.segments(), play.ssthresh()), (16.0, 32.0));
        play.path.in_flight = play.bytes(10);
        play.recovered();
        assert_eq!(play.segments(), 13.0);
    }

    #[test]
    fn with_linux_the_window_counts_whatever_is_under_way_and_every_timeout_halves_it() {
        let mut play = Play::new("reno", &[("linux", 1.0)]);
        play.rounds(4);
        (play.path.cwnd_limited, play.path.in_flight) = (false, play.bytes(2));
        play.lose(LossCause::Timeout);
        assert_eq!((play.segments(), play.ssthresh()), (1.0, 16.0));
        play.lose_again(LossCause::Timeout);
        assert_eq!((play.segments(), play.ssthresh()), (1.0, 2.0));
    }

    #[test]
    fn bytes_count_up_to_the_limit_and_acknowledgements_count_without_one() {
        for (limit, grown) in [(0.0, 1.0), (1.0, 1.0), (2.0, 2.0), (8.0, 4.0)] {
            let mut play = Play::new("reno", &[("abc_limit", limit)]);
            let before = play.segments();
            play.ack_at_once(4);
            assert_eq!(play.segments() - before, grown, "L = {limit}");
        }
        let mut play = Play::new("reno", &[("abc_limit", 8.0)]);
        play.rounds(3);
        play.lose(LossCause::Timeout);
        play.ack_at_once(4);
        assert_eq!(play.segments(), 2.0, "one segment at most after a timeout");
    }

    #[test]
    fn a_mark_is_a_loss_unless_beta_says_otherwise() {
        for (beta, left) in [(0.5, 16.0), (0.8, 25.6)] {
            let mut play = Play::new("reno", &[("beta_ecn", beta)]);
            play.rounds(4);
            play.signal(Signal::EcnCe);
            assert!((play.segments() - left).abs() < 1e-3, "{}", play.segments());
        }
    }

    #[test]
    fn a_loss_that_did_not_happen_gives_the_window_back() {
        let mut play = Play::new("reno", &[]);
        play.rounds(4);
        play.lose(LossCause::Timeout);
        play.signal(Signal::SpuriousLoss);
        assert_eq!((play.segments(), play.phase()), (32.0, Phase::SlowStart));
    }

    #[test]
    fn what_is_not_in_flight_is_not_taken_for_the_window() {
        let mut play = Play::new("reno", &[]);
        play.rounds(5);
        play.path.cwnd_limited = false;
        play.path.in_flight = play.bytes(9);
        play.lose(LossCause::Gap);
        assert_eq!(play.segments(), 5.0);
    }

    #[test]
    fn idle_time_brings_the_restart_window_and_keeps_the_threshold() {
        let mut play = Play::new("reno", &[]);
        play.rounds(4);
        play.lose(LossCause::Gap);
        play.signal(Signal::Idle { halvings: None });
        assert_eq!((play.segments(), play.ssthresh()), (2.0, 16.0));
    }

    #[test]
    fn the_window_is_halved_for_each_timeout_of_a_pause_down_to_that_of_a_new_connection() {
        for (halvings, segments) in [(0, 32.0), (1, 16.0), (2, 8.0), (4, 2.0), (u32::MAX, 2.0)] {
            let mut play = Play::new("reno", &[]);
            play.rounds(4);
            let before = play.ssthresh();
            play.signal(Signal::Idle { halvings: Some(halvings) });
            assert_eq!((play.segments(), play.ssthresh()), (segments, before), "{halvings}");
        }
        let mut play = Play::new("reno", &[("initial_ssthresh", 8.0)]);
        play.rounds(40);
        let before = play.segments();
        play.signal(Signal::Idle { halvings: Some(1) });
        let halved = (play.segments() - before / 2.0).abs() < 1e-3;
        assert!(before > 16.0 && halved, "{before} {}", play.segments());
        // Three quarters are reached again in slow start.
        assert!((play.ssthresh() - before * 0.75).abs() < 1e-3, "{before} {}", play.ssthresh());
    }
}
