//! TCP Veno: Reno that asks Vegas' estimate whether a loss was noise.

use crate::backlog::queued;
use crate::family::{Algorithm, Cause, Reduction, Windowed};
use crate::row::{Build, Parameter, Row};
use crate::window::{ABC_LIMIT, INITIAL_SSTHRESH, LINUX, Window};
use crate::{Ack, Gauge, PathView};

/// The registry row.
pub(crate) const ROW: Row = Row {
    name: "veno",
    summary: "Reno; with few segments in queues a loss is noise and costs a fifth",
    citation: "Fu and Liew, IEEE JSAC 21(2), 2003; Linux 2.6.22",
    parameters: &[
        Parameter {
            name: "beta",
            unit: "segments",
            default: 3.0,
            range: (0.0, 1000.0),
            summary: "with fewer segments in queues the path is not congested",
        },
        ABC_LIMIT,
        INITIAL_SSTHRESH,
        LINUX,
    ],
    build: &|build| Windowed::boxed(build, &ROW, Veno::new(build)),
};

/// With fewer samples of the round trip it is Reno.
const ENOUGH: u64 = 3;

#[derive(Debug)]
struct Veno {
    beta: f64,
    samples: u64,
    queued: f64,
}

impl Veno {
    fn new(build: &Build<'_>) -> Self {
        Self { beta: build.parameter(&ROW, "beta"), samples: 0, queued: 0.0 }
    }

    const fn knows(&self) -> bool {
        self.samples >= ENOUGH
    }
}

impl Algorithm for Veno {
    fn measure(&mut self, window: &mut Window, path: &PathView, _ack: &Ack) {
        self.samples += 1;
        self.queued = queued(window.segments(), path.min_rtt, path.latest_rtt.as_secs_f64());
    }

    fn grow(&mut self, window: &mut Window, _path: &PathView, ack: &Ack) {
        let segments = window.slow_start(ack);
        // Every second acknowledgement counts while the path is congested: half a segment a round.
        let congested = self.knows() && self.queued >= self.beta;
        let growth = if congested { 0.5 } else { 1.0 };
        if window.is_whole() {
            window.step((window.segments() + 1.0) / growth, segments);
        } else {
            window.avoid(growth, segments);
        }
    }

    fn reduce(&mut self, window: &Window, _path: &PathView, event: &Reduction) -> Option<f64> {
        // Linux judges timeouts as well.
        let judged = event.cause == Cause::Loss || window.is_whole();
        let noise = judged && self.knows() && self.queued < self.beta;
        Some(event.flight * if noise { 0.8 } else { 0.5 })
    }

    fn while_repairing(&self, window: &Window) -> f64 {
        window.ssthresh()
    }

    fn restart(&mut self) {
        self.samples = 0;
    }

    fn gauges(&self, _window: &Window) -> Vec<Gauge> {
        vec![Gauge { name: "queued_segments", value: self.queued }]
    }
}

#[cfg(test)]
mod tests {
    use crate::LossCause;
    use crate::testing::Play;

    /// 20 segments in avoidance, and a round trip with so much queue.
    fn veno(rtt: f64) -> Play {
        let mut play = Play::new("veno", &[("initial_ssthresh", 20.0)]);
        play.rounds(4);
        play.set_rtt(rtt);
        play.ack_at_once(1);
        play
    }

    #[test]
    fn n_is_the_window_times_the_queues_share_of_the_round_trip() {
        let mut play = veno(0.6);
        let window = play.segments();
        play.set_rtt(0.8);
        play.ack_at_once(1);
        assert!((play.gauge("queued_segments") - window * 0.25).abs() < 1e-3);
    }

    #[test]
    fn a_loss_without_a_queue_leaves_four_fifths_and_with_one_half() {
        for (rtt, left) in [(0.6, 0.8), (0.8, 0.5)] {
            let mut play = veno(rtt);
            let before = play.segments();
            play.lose(LossCause::Gap);
            assert!((play.segments() / before - left).abs() < 1e-3, "{rtt}");
        }
    }

    #[test]
    fn a_timeout_is_reno_whatever_the_queue() {
        let mut play = veno(0.6);
        let before = play.segments();
        play.lose(LossCause::Timeout);
        assert_eq!(play.segments(), 1.0);
        assert!((play.ssthresh() / before - 0.5).abs() < 1e-3);
    }

    #[test]
    fn a_queue_halves_the_growth() {
        for (rtt, growth) in [(0.6, 1.0), (0.8, 0.5)] {
            let mut play = veno(rtt);
            let before = play.segments();
            play.rounds(4);
            let grown = (play.segments() - before) / 4.0;
            assert!((grown - growth).abs() < 0.06, "{rtt}: {grown}");
        }
    }
}
