//! TCP Hybla: grows as a connection of 25 ms would, whatever the round trip.

use bentpipe_units::{BitRate, Instant, Span};

use crate::algorithms::reno;
use crate::family::{Algorithm, Cause, Reduction, Windowed};
use crate::row::{Build, Parameter, Row};
use crate::window::{ABC_LIMIT, INITIAL_SSTHRESH, LINUX, Window};
use crate::{Ack, Gauge, PathView, Signal};

/// The registry row.
pub(crate) const ROW: Row = Row {
    name: "hybla",
    summary: "grows in time as a connection of rtt0 would; paced; halves on a loss",
    citation: "Caini and Firrincieli, Int. J. Sat. Comm. Netw. 22, 2004; Linux 2.6.22",
    parameters: &[
        Parameter {
            name: "rtt0",
            unit: "s",
            default: 0.025,
            range: (0.001, 10.0),
            summary: "round trip of the connection that it grows like",
        },
        Parameter {
            name: "rho_max",
            unit: "1",
            default: 0.0,
            range: (0.0, 1e4),
            summary: "largest ratio of the round trip to rtt0 that counts; 0 for any",
        },
        Parameter {
            name: "estimate",
            unit: "1",
            default: 1.0,
            range: (0.0, 1.0),
            summary: "1: the distance of the first acknowledgements sets the first slow start \
                      threshold; 0: the receiver's window does, as in Linux",
        },
        Parameter {
            name: "paced",
            unit: "1",
            default: 1.0,
            range: (0.0, 1.0),
            summary: "1: a window is spread over its round trip; 0: as acknowledgements come (Linux)",
        },
        ABC_LIMIT,
        INITIAL_SSTHRESH,
        LINUX,
    ],
    build: &|build| Windowed::boxed(build, &ROW, Hybla::new(build)),
};

#[derive(Debug)]
struct Hybla {
    rtt0: f64,
    rho_max: f64,
    estimates: bool,
    paced: bool,
    min_srtt: Span,
    rho: f64,
    last_ack: Option<Instant>,
    /// In the form of Linux; there losses of a timeout are being repaired.
    linux: bool,
    repairing: bool,
}

impl Hybla {
    fn new(build: &Build<'_>) -> Self {
        let parameter = |name| build.parameter(&ROW, name);
        let rho_max = parameter("rho_max");
        Self {
            rtt0: parameter("rtt0"),
            rho_max: if rho_max > 0.0 { rho_max.max(1.0) } else { f64::INFINITY },
            estimates: parameter("estimate") >= 0.5,
            paced: parameter("paced") >= 0.5,
            min_srtt: Span::MAX,
            rho: 1.0,
            last_ack: None,
            linux: build.parameter(&ROW, LINUX.name) >= 0.5,
            repairing: false,
        }
    }

    /// The first acknowledgements: initial window and threshold of a connection with this round trip.
    fn begin(&mut self, window: &mut Window, path: &PathView, ack: &Ack) {
        let Some(last) = self.last_ack else {
            self.last_ack = Some(path.now);
            window.set(self.rho * window.init());
            return;
        };
        let apart = path.now.since(last).as_secs_f64();
        if apart > 0.0 {
            // Segments that left together come at the rate of the narrowest link (Hoe, SIGCOMM 1996).
            let rate = ack.bytes.get() as f64 / apart;
            window.set_ssthresh(rate * path.srtt.as_secs_f64());
        }
    }
}

impl Algorithm for Hybla {
    fn measure(&mut self, _window: &mut Window, path: &PathView, _ack: &Ack) {
        if path.srtt < self.min_srtt && !path.srtt.is_zero() {
            self.min_srtt = path.srtt;
            let rho = path.srtt.as_secs_f64() / self.rtt0;
            // Linux counts in eighths.
            let rho = if self.linux { libm::floor(8.0 * rho) / 8.0 } else { rho };
            self.rho = rho.max(1.0).min(self.rho_max);
        }
    }

    fn grow(&mut self, window: &mut Window, path: &PathView, ack: &Ack) {
        if window.ssthresh().is_infinite() {
            if self.estimates {
                self.begin(window, path, ack);
                if window.ssthresh().is_infinite() {
                    return;
                }
            } else {
                window.set(self.rho * window.init());
                let most = path.peer_window.get() as f64;
                window.set_ssthresh(most.min(window.max()));
            }
        }
        if self.linux && self.repairing {
            return reno::grow(window, ack);
        }
        let mss = window.mss();
        let segments = if window.cwnd() < window.ssthresh() {
            // The step is 2^24 on a geostationary link: it never passes the threshold.
            let step = (libm::exp2(self.rho) - 1.0) * window.acked_in_slow_start(ack);
            let room = (window.ssthresh() - window.cwnd()) / mss;
            window.add(step.min(room) * mss);
            0.0
        } else {
            window.acked(ack)
        };
        // A step may be more than a segment, so that it is never gathered into whole ones.
        window.add(self.rho * self.rho * mss * segments * mss / window.cwnd());
    }

    fn reduced(&mut self, _window: &mut Window, _path: &PathView, event: &Reduction) {
        self.repairing |= event.cause == Cause::Timeout;
    }

    fn signal(&mut self, _window: &mut Window, _path: &PathView, signal: &Signal) {
        self.repairing &= *signal != Signal::RecoveryDone;
    }

    fn pacing(&self, window: &Window, srtt: Span) -> Option<BitRate> {
        if self.paced { window.pacing(srtt) } else { None }
    }

    fn restart(&mut self) {
        (self.min_srtt, self.rho, self.last_ack) = (Span::MAX, 1.0, None);
        self.repairing = false;
    }

    fn gauges(&self, _window: &Window) -> Vec<Gauge> {
        vec![Gauge { name: "rho_ratio", value: self.rho }]
    }
}

#[cfg(test)]
mod tests {
    use crate::LossCause;
    use crate::testing::Play;

    #[test]
    fn rho_is_the_round_trip_over_25_ms_and_at_least_one() {
        for (rtt, rho) in [(0.6, 24.0), (0.1, 4.0), (0.025, 1.0), (0.01, 1.0)] {
            let mut play = Play::new("hybla", &[]);
            play.set_rtt(rtt);
            play.ack_at_once(1);
            assert!((play.gauge("rho_ratio") - rho).abs() < 1e-9);
        }
    }

    #[test]
    fn rho_follows_only_smaller_round_trips_and_its_limit_holds() {
        let mut play = Play::new("hybla", &[("rho_max", 8.0)]);
        play.set_rtt(0.1);
        play.ack_at_once(1);
        play.set_rtt(0.5);
        play.ack_at_once(1);
        assert_eq!(play.gauge("rho_ratio"), 4.0);
        let mut play = Play::new("hybla", &[("rho_max", 8.0)]);
        play.ack_at_once(1);
        assert_eq!(play.gauge("rho_ratio"), 8.0);
    }

    #[test]
    fn slow_start_adds_two_to_the_rho_less_one_for_each_segment() {
        let mut play = Play::new("hybla", &[("initial_ssthresh", 1000.0)]);
        play.set_rtt(0.1);
        let before = play.segments();
        play.ack_at_once(1);
        assert_eq!(play.segments() - before, 15.0);
    }

    #[test]
    fn the_jump_of_a_long_path_ends_at_the_threshold() {
        let mut play = Play::new("hybla", &[("initial_ssthresh", 300.0)]);
        play.ack_at_once(1);
        assert_eq!(play.segments(), 300.0);
    }

    #[test]
    fn avoidance_adds_rho_squared_per_round_trip() {
        let mut play = Play::new("hybla", &[("initial_ssthresh", 100.0)]);
        play.set_rtt(0.1);
        play.rounds(4);
        play.set_rtt(0.1);
        let before = play.segments();
        play.round();
        let grown = play.segments() - before;
        assert!((grown - 16.0).abs() < 1.5, "{grown}");
    }

    #[test]
    fn the_first_acknowledgements_set_the_threshold_to_what_the_path_carries() {
        let mut play = Play::new("hybla", &[]);
        play.wait(0.6);
        play.ack_at_once(1);
        play.wait(0.001);
        play.ack_at_once(1);
        assert!((play.ssthresh() - 600.0).abs() < 1.0, "{}", play.ssthresh());
    }

    #[test]
    fn without_an_estimate_the_receivers_window_is_the_threshold() {
        let mut play = Play::new("hybla", &[("estimate", 0.0)]);
        play.path.peer_window = play.bytes(500);
        play.ack_at_once(1);
        assert_eq!((play.segments(), play.ssthresh()), (500.0, 500.0));
    }

    #[test]
    fn with_linux_renos_growth_follows_a_timeout_until_everything_is_repaired() {
        for (linux, grown) in [(1.0, 2.0), (0.0, 50.0)] {
            let parameters = [("initial_ssthresh", 100.0), ("estimate", 0.0), ("linux", linux)];
            let mut play = Play::new("hybla", &parameters);
            play.ack_at_once(1);
            play.lose(LossCause::Timeout);
            play.ack_at_once(1);
            assert_eq!(play.segments(), grown);
            play.recovered();
            play.ack_at_once(1);
            assert!(play.segments() >= 50.0, "{}", play.segments());
        }
    }

    #[test]
    fn with_linux_rho_is_counted_in_eighths() {
        let mut play = Play::new("hybla", &[("linux", 1.0)]);
        play.set_rtt(0.58);
        play.ack_at_once(1);
        assert_eq!(play.gauge("rho_ratio"), 23.125);
    }

    #[test]
    fn the_window_is_spread_over_the_round_trip_and_halves_on_a_loss() {
        let mut play = Play::new("hybla", &[("initial_ssthresh", 300.0)]);
        play.ack_at_once(1);
        let rate = play.controller.limits().pacing.expect("a paced sender").as_bps();
        assert_eq!(rate, 300 * 8000 * 125 / 60);
        play.lose(LossCause::Gap);
        assert_eq!(play.segments(), 150.0);
    }
}
