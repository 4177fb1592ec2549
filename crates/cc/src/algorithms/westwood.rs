//! TCP Westwood: after a loss the window is what the path was seen to deliver.

use bentpipe_units::Span;

use crate::algorithms::reno;
use crate::bandwidth::TustinFilter;
use crate::family::{Algorithm, Reduction, Windowed};
use crate::row::{Build, Parameter, Row};
use crate::window::{ABC_LIMIT, INITIAL_SSTHRESH, Window};
use crate::{Ack, Gauge, PathView};

/// The cut-off time of the filter.
pub(crate) const TAU: Parameter = Parameter {
    name: "tau",
    unit: "s",
    default: 0.5,
    range: (0.001, 100.0),
    summary: "cut-off time of the filter of the delivery rate",
};

/// The registry row.
pub(crate) const ROW: Row = Row {
    name: "westwood",
    summary: "Reno; a loss sets the window to the delivery rate times the smallest round trip",
    citation: "Mascolo, Casetti, Gerla, Sanadidi, Wang, MobiCom 2001",
    parameters: &[TAU, ABC_LIMIT, INITIAL_SSTHRESH],
    build: &|build| Windowed::boxed(build, &ROW, Westwood::new(build, &ROW)),
};

/// The algorithm of TCP Westwood.
#[derive(Debug)]
pub(crate) struct Westwood {
    rate: TustinFilter,
}

impl Westwood {
    /// The algorithm with the parameters of `row`.
    pub(crate) fn new(build: &Build<'_>, row: &Row) -> Self {
        let tau = Span::from_secs_f64(build.parameter(row, TAU.name));
        Self { rate: TustinFilter::new(tau) }
    }
}

/// What a path delivers in its smallest round trip, or half the flight as long as nothing is known.
pub(crate) fn share(rate: f64, min_rtt: Span, event: &Reduction) -> f64 {
    if rate > 0.0 { rate * min_rtt.as_secs_f64() } else { event.flight / 2.0 }
}

/// The gauge of a delivery rate of so many bytes per second.
pub(crate) const fn gauge(rate: f64) -> Gauge {
    Gauge { name: "delivery_rate_bps", value: rate * 8.0 }
}

impl Algorithm for Westwood {
    fn measure(&mut self, _window: &mut Window, path: &PathView, ack: &Ack) {
        self.rate.take(path.now, ack.bytes.get() as f64);
    }

    fn grow(&mut self, window: &mut Window, _path: &PathView, ack: &Ack) {
        reno::grow(window, ack);
    }

    fn reduce(&mut self, _window: &Window, path: &PathView, event: &Reduction) -> Option<f64> {
        Some(share(self.rate.get(), path.min_rtt, event))
    }

    fn gauges(&self, _window: &Window) -> Vec<Gauge> {
        vec![gauge(self.rate.get())]
    }
}

#[cfg(test)]
mod tests {
    use crate::LossCause;
    use crate::testing::Play;

    /// Westwood or Westwood+ as the papers have it, with this threshold.
    fn play(name: &str, ssthresh: f64) -> Play {
        let at_once = ("at_recovery_end", 0.0);
        let parameters = [("initial_ssthresh", ssthresh), at_once];
        Play::new(name, &parameters[..if name == "westwood" { 1 } else { 2 }])
    }

    #[test]
    fn a_random_loss_on_a_link_that_is_not_full_costs_little() {
        for name in ["westwood", "westwood-plus"] {
            let mut play = play(name, 50.0);
            play.link(100.0, 0.6, 60);
            let before = play.segments();
            assert!(before > 60.0, "the link is full: {before}");
            play.lose(LossCause::Gap);
            let after = play.segments();
            assert!((54.0..=66.0).contains(&after), "{name}: {after} of {before}");
        }
    }

    #[test]
    fn a_timeout_keeps_the_share_as_the_threshold() {
        for name in ["westwood", "westwood-plus"] {
            let mut play = play(name, 50.0);
            play.link(100.0, 0.6, 60);
            play.lose(LossCause::Timeout);
            assert_eq!(play.segments(), 1.0);
            assert!((54.0..=66.0).contains(&play.ssthresh()), "{name}: {}", play.ssthresh());
        }
    }

    #[test]
    fn a_share_above_the_window_does_not_enlarge_it() {
        for name in ["westwood", "westwood-plus"] {
            let mut play = play(name, 50.0);
            play.link(100.0, 0.6, 60);
            play.lose(LossCause::Gap);
            let after = play.segments();
            play.lose(LossCause::Gap);
            play.lose(LossCause::Gap);
            assert!((play.segments() - after).abs() < 0.01, "{name}");
        }
    }

    #[test]
    fn without_a_measurement_a_loss_halves() {
        for name in ["westwood", "westwood-plus"] {
            let mut play = play(name, 0.0);
            play.ack_at_once(2);
            assert_eq!(play.segments(), 4.0);
            play.lose(LossCause::Gap);
            assert_eq!(play.segments(), 2.0, "{name}");
        }
    }
}
