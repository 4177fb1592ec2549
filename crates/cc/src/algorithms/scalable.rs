//! Scalable TCP: the time to recover from a loss does not depend on the window.

use crate::family::{Algorithm, Reduction, Windowed};
use crate::row::{Build, Parameter, Row};
use crate::window::{ABC_LIMIT, INITIAL_SSTHRESH, LINUX, Window};
use crate::{Ack, PathView};

/// The registry row.
pub(crate) const ROW: Row = Row {
    name: "scalable",
    summary: "grows by a share of what is acknowledged; an eighth less on a loss",
    citation: "Kelly, ACM CCR 33(2), 2003; Linux 2.6.22 with a = 0.02 and `linux`",
    parameters: &[
        Parameter {
            name: "a",
            unit: "1",
            default: 0.01,
            range: (0.0001, 1.0),
            summary: "growth for each segment acknowledged, in segments",
        },
        Parameter {
            name: "b",
            unit: "1",
            default: 0.125,
            range: (0.01, 0.9),
            summary: "share of the window that a loss takes",
        },
        Parameter {
            name: "low_window",
            unit: "segments",
            default: 16.0,
            range: (0.0, 1e6),
            summary: "Reno up to this window",
        },
        ABC_LIMIT,
        INITIAL_SSTHRESH,
        LINUX,
    ],
    build: &|build| Windowed::boxed(build, &ROW, Scalable::new(build)),
};

#[derive(Debug)]
struct Scalable {
    a: f64,
    b: f64,
    low_window: f64,
}

impl Scalable {
    fn new(build: &Build<'_>) -> Self {
        let parameter = |name| build.parameter(&ROW, name);
        Self { a: parameter("a"), b: parameter("b"), low_window: parameter("low_window") }
    }
}

impl Algorithm for Scalable {
    fn grow(&mut self, window: &mut Window, _path: &PathView, ack: &Ack) {
        let segments = window.slow_start(ack);
        if window.is_whole() {
            window.step(window.segments().min(1.0 / self.a) + 1.0, segments);
        } else if window.segments() > self.low_window {
            window.add(self.a * segments * window.mss());
        } else {
            window.avoid(1.0, segments);
        }
    }

    fn reduce(&mut self, window: &Window, _path: &PathView, event: &Reduction) -> Option<f64> {
        // Linux knows no small windows: a loss takes its share of all of them.
        let legacy = event.flight <= self.low_window * window.mss() && !window.is_whole();
        let share = event.flight * if legacy { 0.5 } else { self.b };
        // In whole segments the share of a window below eight is nothing.
        let share = if window.is_whole() { window.whole_segments(share) } else { share };
        Some(event.flight - share)
    }
}

#[cfg(test)]
mod tests {
    use crate::LossCause;
    use crate::testing::Play;

    #[test]
    fn a_round_adds_one_percent_and_a_loss_takes_an_eighth() {
        let mut play = Play::new("scalable", &[("initial_ssthresh", 512.0)]);
        play.rounds(8);
        assert_eq!(play.segments(), 512.0);
        play.round();
        assert!((play.segments() - 517.12).abs() < 1e-2, "{}", play.segments());
        let before = play.segments();
        play.lose(LossCause::Gap);
        assert!((play.segments() - before * 0.875).abs() < 2e-3);
    }

    #[test]
    fn its_own_growth_begins_above_sixteen_segments() {
        for (ssthresh, grown) in [(15.0, 1.0), (20.0, 0.2)] {
            let mut play = Play::new("scalable", &[("initial_ssthresh", ssthresh)]);
            while play.segments() < ssthresh {
                play.ack_at_once(1);
            }
            let before = play.segments();
            play.round();
            assert!((play.segments() - before - grown).abs() < 0.05, "{}", play.segments());
        }
    }

    #[test]
    fn small_windows_are_renos() {
        let mut play = Play::new("scalable", &[("initial_ssthresh", 8.0)]);
        play.rounds(2);
        play.round();
        assert!((play.segments() - 9.0).abs() < 0.1);
        play.lose(LossCause::Gap);
        assert!((play.segments() - 4.5).abs() < 0.1);
    }
}
