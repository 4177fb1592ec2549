//! TCP Bulk Repeat: Westwood that takes losses on an empty path for noise and then sends everything
//! outstanding again.

use bentpipe_units::Span;

use crate::algorithms::reno;
use crate::algorithms::westwood::{TAU, Westwood};
use crate::backlog::queued;
use crate::family::{Algorithm, Cause, Reduction, Windowed};
use crate::row::{Build, Parameter, Row};
use crate::window::{ABC_LIMIT, INITIAL_SSTHRESH, Window};
use crate::{Ack, Gauge, PathView, Repair, Signal};

/// The registry row.
pub(crate) const ROW: Row = Row {
    name: "bulk-repeat",
    summary: "Westwood; a loss on an empty path keeps the window and repeats all that is outstanding",
    citation: "Yang, Wang, Sanadidi, Gerla, ICC 2003; the thresholds are this project's",
    parameters: &[
        Parameter {
            name: "spike",
            unit: "1",
            default: 0.4,
            range: (0.0, 1.0),
            summary: "the path is empty below this share of the way from the smallest to the largest \
                      round trip",
        },
        Parameter {
            name: "gap",
            unit: "1",
            default: 0.05,
            range: (0.0, 1.0),
            summary: "and also where the delivery rate falls short of the expected one by less than \
                      this share",
        },
        TAU,
        ABC_LIMIT,
        INITIAL_SSTHRESH,
    ],
    build: &|build| Windowed::boxed(build, &ROW, BulkRepeat::new(build)),
};

#[derive(Debug)]
struct BulkRepeat {
    westwood: Westwood,
    spike: f64,
    gap: f64,
    max_rtt: Span,
    /// The losses being repaired are noise.
    noise: bool,
}

impl BulkRepeat {
    fn new(build: &Build<'_>) -> Self {
        Self {
            westwood: Westwood::new(build, &ROW),
            spike: build.parameter(&ROW, "spike"),
            gap: build.parameter(&ROW, "gap"),
            max_rtt: Span::ZERO,
            noise: false,
        }
    }

    /// No queue stands behind a loss that comes now.
    fn path_is_empty(&self, window: &Window, path: &PathView) -> bool {
        let rtt = path.latest_rtt.as_secs_f64();
        let range = self.max_rtt.saturating_sub(path.min_rtt).as_secs_f64();
        let below_spike = rtt <= path.min_rtt.as_secs_f64() + self.spike * range;
        // Expected less actual rate, as a share of the expected one.
        let gap = queued(window.segments(), path.min_rtt, rtt) / window.segments();
        below_spike || gap < self.gap
    }
}

impl Algorithm for BulkRepeat {
    fn measure(&mut self, window: &mut Window, path: &PathView, ack: &Ack) {
        self.max_rtt = self.max_rtt.max(path.latest_rtt);
        self.westwood.measure(window, path, ack);
    }

    fn grow(&mut self, window: &mut Window, _path: &PathView, ack: &Ack) {
        reno::grow(window, ack);
    }

    fn reduce(&mut self, window: &Window, path: &PathView, event: &Reduction) -> Option<f64> {
        self.noise = event.cause != Cause::Mark && self.path_is_empty(window, path);
        if self.noise { None } else { self.westwood.reduce(window, path, event) }
    }

    fn restart(&mut self) {
        (self.max_rtt, self.noise) = (Span::ZERO, false);
    }

    fn signal(&mut self, _window: &mut Window, _path: &PathView, signal: &Signal) {
        if *signal == Signal::RecoveryDone {
            self.noise = false;
        }
    }

    fn gauges(&self, window: &Window) -> Vec<Gauge> {
        self.westwood.gauges(window)
    }

    fn repair(&self) -> Repair {
        Repair {
            resend_outstanding: self.noise,
            max_backoff: self.noise.then_some(1),
            ..Repair::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::Play;
    use crate::{LossCause, Repair};

    /// 50 segments on a path whose round trip was 0.6 to 1 s and is `rtt` now.
    fn play(rtt: f64) -> Play {
        let mut play = Play::new("bulk-repeat", &[("initial_ssthresh", 50.0)]);
        play.rounds(8);
        play.set_rtt(1.0);
        play.round();
        play.set_rtt(rtt);
        play.ack_at_once(1);
        play
    }

    #[test]
    fn on_an_empty_path_a_loss_keeps_the_window_and_repeats_everything() {
        let mut play = play(0.7);
        let before = play.segments();
        play.lose(LossCause::Gap);
        assert_eq!(play.segments(), before);
        let repair = Repair { resend_outstanding: true, max_backoff: Some(1), ..Repair::default() };
        assert_eq!(play.controller.repair(), repair);
        play.recovered();
        assert_eq!(play.controller.repair(), Repair::default());
    }

    #[test]
    fn behind_a_queue_it_is_westwood() {
        let mut play = play(0.9);
        let before = play.segments();
        play.lose(LossCause::Gap);
        assert!(play.segments() < before);
        assert_eq!(play.controller.repair(), Repair::default());
    }

    #[test]
    fn a_timeout_on_an_empty_path_keeps_the_window() {
        let mut play = play(0.6);
        let before = play.segments();
        play.lose(LossCause::Timeout);
        play.lose_again(LossCause::Timeout);
        assert_eq!(play.segments(), before);
    }
}
