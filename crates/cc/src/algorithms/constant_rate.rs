//! Constant-rate increase: Reno whose throughput grows equally fast on every round trip.

use crate::family::{Algorithm, Windowed};
use crate::row::{Build, Parameter, Row};
use crate::window::{ABC_LIMIT, INITIAL_SSTHRESH, Window};
use crate::{Ack, PathView};

/// The registry row.
pub(crate) const ROW: Row = Row {
    name: "constant-rate",
    summary: "Reno that adds as much throughput per second as one of a round trip of rtt0",
    citation: "Floyd, ACM CCR 21(5), 1991; Henderson and Katz, JSAC 17(2), 1999",
    parameters: &[
        Parameter {
            name: "rtt0",
            unit: "s",
            default: 0.1,
            range: (0.001, 10.0),
            summary: "round trip at which it is Reno",
        },
        ABC_LIMIT,
        INITIAL_SSTHRESH,
    ],
    build: &|build| Windowed::boxed(build, &ROW, ConstantRate::new(build)),
};

#[derive(Debug)]
struct ConstantRate {
    rtt0: f64,
}

impl ConstantRate {
    fn new(build: &Build<'_>) -> Self {
        Self { rtt0: build.parameter(&ROW, "rtt0") }
    }
}

impl Algorithm for ConstantRate {
    fn grow(&mut self, window: &mut Window, path: &PathView, ack: &Ack) {
        let segments = window.slow_start(ack);
        let ratio = path.srtt.as_secs_f64() / self.rtt0;
        window.avoid(ratio * ratio, segments);
    }
}

#[cfg(test)]
mod tests {
    use crate::LossCause;
    use crate::testing::Play;

    #[test]
    fn throughput_grows_by_the_same_rate_on_every_round_trip() {
        for rtt in [0.05, 0.1, 0.6] {
            let mut play = Play::new("constant-rate", &[("initial_ssthresh", 1024.0)]);
            play.set_rtt(rtt);
            play.rounds(9);
            let before = play.segments();
            play.round();
            // One segment per round of 0.1 s is 100 segments/s more each second.
            let grown = (play.segments() - before) / rtt / rtt;
            assert!((grown - 100.0).abs() < 4.0, "{rtt}: {grown}");
        }
    }

    #[test]
    fn a_loss_halves() {
        let mut play = Play::new("constant-rate", &[]);
        play.rounds(4);
        play.lose(LossCause::Gap);
        assert_eq!(play.segments(), 16.0);
    }
}
