//! CUBIC: the window is a cubic function of the time since the last loss.

mod capacity;
mod kernel;
mod linux;

use bentpipe_units::Instant;

use self::capacity::{Advice, Capacity};
use crate::bottleneck::{Deliveries, PeriodMax};
use crate::cubic_curve::CubicCurve;
use crate::delay_probe_start::{DELAY_PROBE_START, DelayProbeStart};
use crate::family::{Algorithm, Cause, Reduction, Windowed};
use crate::hystart::{HYSTART, HyStart};
use crate::row::{Build, Parameter, Row};
use crate::window::{ABC_LIMIT, INITIAL_SSTHRESH, LINUX, Window, linux_form};
use crate::{Ack, Gauge, PathView, Signal};

/// The registry row.
pub(crate) const ROW: Row = Row {
    name: "cubic",
    summary: "grows towards the window of the last loss and beyond, as a cube of time",
    citation: "RFC 9438, HyStart++ (RFC 9406) with `hystart`; Linux with `linux`; `delay_probe_start` \
               and `floor_to_delivered` are this project's",
    parameters: &[
        Parameter {
            name: "c",
            unit: "segments/s^3",
            default: 0.4,
            range: (0.001, 100.0),
            summary: "how steep the cube is",
        },
        Parameter {
            name: "beta",
            unit: "1",
            default: 0.7,
            range: (0.1, 0.95),
            summary: "what a loss leaves of the window; with `linux` what Linux has",
        },
        Parameter {
            name: "fast_convergence",
            unit: "1",
            default: 1.0,
            range: (0.0, 1.0),
            summary: "1: a window that shrank between two losses makes room for others",
        },
        Parameter {
            name: "floor_to_delivered",
            unit: "1",
            default: 0.0,
            range: (0.0, 1.0),
            summary: "1: a loss leaves at least what arrives in a round trip without a queue and three sixteenths more, \
                      after TCP Westwood (this project's)",
        },
        HYSTART,
        DELAY_PROBE_START,
        ABC_LIMIT,
        INITIAL_SSTHRESH,
        Parameter {
            range: (0.0, 2.0),
            summary: "1: as Linux 2.6.22: whole segments, slow start to one segment above the threshold; 2: as \
                      Linux 6, with its HyStart by trains of acknowledgements and delay",
            ..LINUX
        },
    ],
    build: &|build| Windowed::boxed(build, &ROW, Cubic::new(build)),
};

#[derive(Debug)]
struct Cubic {
    curve: CubicCurve,
    start: HyStart,
    start_probe: DelayProbeStart,
    floor: Option<DeliveredFloor>,
    capacity: Capacity,
    seen: Instant,
    form: Form,
}

/// Whose CUBIC it is.
#[derive(Debug)]
enum Form {
    Rfc,
    /// The module of Linux 2.6.22.
    Module(linux::Module),
    /// That of Linux 6.
    Kernel(kernel::Kernel),
}

impl Form {
    /// A timeout, or a new start.
    fn forget(&mut self) {
        match self {
            Self::Rfc => {}
            Self::Module(module) => module.forget(),
            Self::Kernel(kernel) => kernel.forget(),
        }
    }
}

impl Cubic {
    fn new(build: &Build<'_>) -> Self {
        let c = build.parameter(&ROW, "c");
        Self {
            curve: CubicCurve::new(
                c,
                build.parameter(&ROW, "beta"),
                build.parameter(&ROW, "fast_convergence") >= 0.5,
            ),
            start: HyStart::new(build.parameter(&ROW, HYSTART.name) >= 0.5),
            start_probe: DelayProbeStart::new(build.parameter(&ROW, DELAY_PROBE_START.name) >= 0.5),
            floor: (build.parameter(&ROW, "floor_to_delivered") >= 0.5).then(DeliveredFloor::new),
            capacity: Capacity::default(),
            seen: Instant::ZERO,
            form: match linux_form(build, &ROW) {
                0 => Form::Rfc,
                1 => Form::Module(linux::Module::new(c)),
                _ => Form::Kernel(kernel::Kernel::new(c)),
            },
        }
    }
}

/// Besides what fills the path: it shall not run dry between two reports.
const SPARE: f64 = 1.1875;

/// What the path carried of late.
#[derive(Debug)]
struct DeliveredFloor {
    deliveries: Deliveries,
    /// The fastest delivery of this round trip and the one before, in bytes per second.
    fastest: PeriodMax<2>,
}

impl DeliveredFloor {
    fn new() -> Self {
        Self { deliveries: Deliveries::default(), fastest: PeriodMax::new() }
    }

    fn measure(&mut self, path: &PathView, ack: &Ack) {
        if let Some(delivery) = self.deliveries.take(path, ack) {
            self.fastest.take(path.round, delivery.rate);
        }
    }

    /// Bytes that fill the path and hardly any queue.
    fn without_queue(&self, path: &PathView) -> f64 {
        SPARE * self.fastest.get() * path.min_rtt.as_secs_f64()
    }
}

impl Algorithm for Cubic {
    fn measure(&mut self, window: &mut Window, path: &PathView, ack: &Ack) {
        match &mut self.form {
            Form::Rfc => {}
            Form::Module(module) => return module.measure(path, ack),
            Form::Kernel(kernel) => {
                if !path.cwnd_limited {
                    kernel.rest(path.now.since(self.seen));
                }
                self.seen = path.now;
                return kernel.measure(window, path);
            }
        }
        self.start.measure(window, path);
        self.start_probe.measure(window, path, ack);
        if let Some(floor) = &mut self.floor {
            floor.measure(path, ack);
        }
        // Time in which the application was the limit does not count (section 5.8), nor does that in which the window
        // was large enough.
        if !path.cwnd_limited || self.capacity.is_resting() {
            self.curve.rest(path.now.since(self.seen));
        }
        self.seen = path.now;
    }

    fn grow(&mut self, window: &mut Window, path: &PathView, ack: &Ack) {
        let segments = window.slow_start_by(self.start.growth() * self.start_probe.growth(), ack);
        if segments <= 0.0 {
            return;
        }
        if let Some(floor) = &self.floor {
            match self.capacity.advise(path, floor.fastest.get(), window.cwnd()) {
                Advice::Grow => {}
                Advice::Stay => return,
                Advice::Set(cwnd) => return window.set(cwnd),
            }
        }
        let cwnd = window.segments();
        match &mut self.form {
            Form::Rfc => {}
            Form::Module(module) => {
                return window.step(module.needed(path.now, cwnd) + 1.0, segments);
            }
            Form::Kernel(kernel) => {
                return window.add(window.mss() * kernel.grow(path.now, cwnd, segments));
            }
        }
        let next = self.curve.next(path.now, path.srtt, cwnd, segments);
        window.set(next * window.mss());
    }

    fn reduce(&mut self, window: &Window, path: &PathView, event: &Reduction) -> Option<f64> {
        if event.cause != Cause::Timeout && self.start_probe.absorbs_loss() {
            return None;
        }
        self.start.end();
        self.start_probe.end();
        self.capacity.reduced();
        let cwnd = window.segments();
        match &mut self.form {
            Form::Rfc => {}
            Form::Module(module) => {
                module.lose(cwnd);
                return Some(event.flight * linux::BETA);
            }
            Form::Kernel(kernel) => {
                let whole = libm::floor(cwnd);
                kernel.lose(whole);
                return Some(window.whole_segments(whole * window.mss() * kernel::BETA));
            }
        }
        self.curve.lose(cwnd);
        let left = event.flight * self.curve.beta();
        let Some(floor) = self.floor.as_ref().filter(|_| event.cause != Cause::Timeout) else {
            return Some(left);
        };
        // Not what is under way: where the application was the limit that says nothing.
        Some(left.max(floor.without_queue(path).min(window.cwnd())))
    }

    fn reduced(&mut self, _window: &mut Window, _path: &PathView, event: &Reduction) {
        if event.cause == Cause::Timeout {
            self.curve.time_out();
            self.form.forget();
        }
    }

    fn idle(&mut self, window: &mut Window, path: &PathView) {
        window.idle();
        self.curve.rest(path.now.since(self.seen));
        self.seen = path.now;
    }

    fn while_repairing(&self, window: &Window) -> f64 {
        window.ssthresh()
    }

    fn signal(&mut self, _window: &mut Window, _path: &PathView, signal: &Signal) {
        if let Signal::Capacity(capacity) = signal {
            self.capacity.set(capacity.map(|path| path.rate));
        }
    }

    fn restart(&mut self) {
        self.curve.forget();
        self.form.forget();
    }

    fn gauges(&self, _window: &Window) -> Vec<Gauge> {
        let (w_max, k) = match &self.form {
            Form::Kernel(kernel) => (kernel.last_max(), kernel.k()),
            Form::Rfc | Form::Module(_) => (self.curve.w_max(), self.curve.k()),
        };
        vec![Gauge { name: "w_max_segments", value: w_max }, Gauge { name: "k_s", value: k }]
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_units::{BitRate, ByteCount, Span};

    use crate::testing::{Link, Play};
    use crate::{KnownPath, LossCause, Signal};

    /// A window of 1024 segments that just lost one.
    fn cubic() -> Play {
        let mut play = Play::new("cubic", &[("initial_ssthresh", 1024.0)]);
        play.rounds(9);
        assert_eq!(play.segments(), 1024.0);
        play.lose(LossCause::Gap);
        play.recovered();
        play
    }

    /// The longest queue in seconds of a minute over 10 Mbit/s and 600 ms with a queue of one product, which the sender jumped
    /// to and takes for a path of this capacity.
    fn queue(capacity: Option<u64>) -> f64 {
        let mut play = Play::new("cubic", &[("floor_to_delivered", 1.0)]);
        let window = ByteCount::new(797_000);
        play.signal(Signal::Resume { window, ssthresh: Some(window) });
        play.signal(Signal::Capacity(capacity.map(|mbps| KnownPath {
            rate: BitRate::from_bps(mbps * 1_000_000),
            round_trip: Span::from_millis(600),
            at_least: false,
            return_delay: None,
        })));
        let mut link = Link::of(play, 10e6, 0.6, 750e3);
        // The whole window left at once.
        link.run(3.0);
        let seconds = (0..120).map(|_| {
            link.run(0.5);
            link.queue_seconds()
        });
        seconds.fold(0.0, f64::max)
    }

    #[test]
    fn a_window_that_fills_a_path_of_known_capacity_stands_still() {
        let known = queue(Some(10));
        // A sixteenth of the window more is tried now and then.
        assert!((0.03..0.09).contains(&known), "{known} s");
        assert!(queue(None) > 0.5, "it grows until the queue is full");
        assert!(queue(Some(15)) > 0.5, "somebody else has a part of it");
    }

    #[test]
    fn a_loss_leaves_seven_tenths_and_k_is_the_cube_root_of_the_rest() {
        let mut play = cubic();
        assert!((play.segments() - 716.8).abs() < 1e-3);
        play.ack_at_once(1);
        let k = play.gauge("k_s");
        assert!((k - 9.158).abs() < 1e-3, "cbrt(307.2 / 0.4) = {k}");
    }

    #[test]
    fn with_carried_a_loss_leaves_what_fills_the_path() {
        // 1,200 segments a second in 600 ms without a queue are 720, and three sixteenths more 855.
        for (rate, left) in [(1_200.0, 855.0), (2_000.0, 1_024.0), (600.0, 716.8)] {
            let mut play =
                Play::new("cubic", &[("initial_ssthresh", 1024.0), ("floor_to_delivered", 1.0)]);
            play.rounds(9);
            // Windows of slow start acknowledge as fast as this, and are two round trips ago then.
            play.path.round += 2;
            play.deliver(rate);
            play.lose(LossCause::Nack);
            assert!((play.segments() - left).abs() < 1e-3, "{rate}: {}", play.segments());
            play.lose(LossCause::Timeout);
            assert_eq!(play.segments(), 1.0);
        }
    }

    #[test]
    fn after_k_seconds_the_window_is_that_of_the_loss_whatever_the_round_trip() {
        for rtt in [0.1, 0.6] {
            let mut play = cubic();
            play.set_rtt(rtt);
            let began = play.path.now;
            while play.path.now.since(began).as_secs_f64() < 9.158 {
                play.round();
            }
            let window = play.segments();
            assert!((window - 1024.0).abs() < 5.0, "{rtt}: {window}");
        }
    }

    #[test]
    fn the_cube_is_flat_at_its_plateau_and_steep_beyond() {
        let mut play = cubic();
        let mut at = |seconds: f64| {
            while play.path.now.as_secs_f64() < seconds {
                play.round();
            }
            play.segments()
        };
        let began = 5.4; // nine rounds of slow start
        let (eight, ten, fifteen) = (at(began + 8.0), at(began + 10.2), at(began + 15.0));
        assert!(ten - eight < 10.0, "{eight} {ten}");
        assert!(fifteen - ten > 60.0, "{ten} {fifteen}");
    }

    #[test]
    fn small_windows_on_short_paths_grow_as_reno_would() {
        let mut play = Play::new("cubic", &[("initial_ssthresh", 20.0)]);
        play.set_rtt(0.02);
        play.rounds(4);
        play.lose(LossCause::Gap);
        play.recovered();
        let before = play.segments();
        play.rounds(10);
        let grown = (play.segments() - before) / 10.0;
        assert!((0.45..=0.6).contains(&grown), "{grown}");
    }

    #[test]
    fn a_window_that_shrank_between_two_losses_aims_lower() {
        let mut play = cubic();
        play.round();
        let window = play.segments();
        play.lose(LossCause::Gap);
        assert!((play.gauge("w_max_segments") - window * 0.85).abs() < 1e-2);
    }

    #[test]
    fn time_in_which_the_application_is_the_limit_does_not_count() {
        let mut play = cubic();
        play.rounds(2);
        play.path.cwnd_limited = false;
        play.ack_at_once(1);
        let before = play.segments();
        play.wait(60.0);
        play.ack_at_once(1);
        play.path.cwnd_limited = true;
        play.round();
        assert!(play.segments() - before < 60.0, "{} {before}", play.segments());
    }

    #[test]
    fn idle_time_does_not_count() {
        let grown = |pause: f64| {
            let mut play = cubic();
            play.rounds(2);
            play.wait(pause);
            play.signal(Signal::Idle { halvings: None });
            play.rounds(12);
            play.segments()
        };
        let (short, long) = (grown(2.0), grown(600.0));
        assert!((long - short).abs() < 1e-3 && short > 716.8, "{short} {long}");
    }
}
