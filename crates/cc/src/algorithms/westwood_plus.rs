//! TCP Westwood+: Westwood with one sample of the delivery rate in a round trip, so that
//! acknowledgements that bunch together do not look like a fast path.

use bentpipe_units::{ByteCount, Instant, Span};

use crate::algorithms::reno;
use crate::algorithms::westwood::{gauge, share};
use crate::family::{Algorithm, Cause, Reduction, Windowed};
use crate::row::{Build, Parameter, Row};
use crate::window::{ABC_LIMIT, INITIAL_SSTHRESH, LINUX, Window};
use crate::{Ack, Gauge, PathView, Signal};

/// The registry row.
pub(crate) const ROW: Row = Row {
    name: "westwood-plus",
    summary: "Westwood with one sample of the delivery rate per round trip",
    citation: "Grieco and Mascolo, ACM CCR 34(2), 2004; Linux 2.6.22",
    parameters: &[
        Parameter {
            name: "single_filter",
            unit: "1",
            default: 0.0,
            range: (0.0, 1.0),
            summary: "0: Linux' two filters in a row, 7/8 each; 1: the papers' one filter of 0.9",
        },
        Parameter {
            name: "at_recovery_end",
            unit: "1",
            default: 1.0,
            range: (0.0, 1.0),
            summary: "1: the window is halved and set to what the path delivers once the losses are \
                      repaired (Linux); 0: it is set when the loss is found (the papers)",
        },
        ABC_LIMIT,
        INITIAL_SSTHRESH,
        LINUX,
    ],
    build: &|build| Windowed::boxed(build, &ROW, WestwoodPlus::new(build)),
};

/// A sample takes at least this long.
const SAMPLE_MIN: Span = Span::from_millis(50);

#[derive(Debug)]
struct WestwoodPlus {
    single_filter: bool,
    at_recovery_end: bool,
    /// The losses are being repaired and the window is not set yet.
    unset: bool,
    began: Option<Instant>,
    bytes: f64,
    first_stage: f64,
    rate: f64,
    min_rtt: Span,
    /// A timeout came: the smallest round trip is measured anew.
    remeasure: bool,
    /// In the arithmetic of Linux: bytes in a millisecond, in whole numbers.
    linux: bool,
    /// There the round trip, what duplicates announced, and whether losses are being repaired.
    rtt: Span,
    accounted: f64,
    repairing: bool,
}

impl WestwoodPlus {
    fn new(build: &Build<'_>) -> Self {
        Self {
            single_filter: build.parameter(&ROW, "single_filter") >= 0.5,
            at_recovery_end: build.parameter(&ROW, "at_recovery_end") >= 0.5,
            unset: false,
            began: None,
            bytes: 0.0,
            first_stage: 0.0,
            rate: 0.0,
            min_rtt: Span::MAX,
            remeasure: false,
            linux: build.parameter(&ROW, LINUX.name) >= 0.5,
            rtt: Span::MAX,
            accounted: 0.0,
            repairing: false,
        }
    }

    /// Filters in whole numbers never climb the last seven of them: slow paths are underestimated. The
    /// round trip is that of the last acknowledgement that advanced.
    fn measure_in_whole_numbers(&mut self, path: &PathView, ack: &Ack) {
        if ack.advanced > ByteCount::ZERO {
            self.rtt = Span::from_millis(path.srtt.as_nanos() / 1_000_000);
        }
        self.min_rtt = self.min_rtt.min(self.rtt);
        let began = *self.began.get_or_insert(path.now);
        let millis = |at: Instant| at.as_nanos() / 1_000_000;
        let elapsed = millis(path.now) - millis(began);
        if elapsed > self.rtt.max(SAMPLE_MIN).as_nanos() / 1_000_000 {
            let sample = libm::floor(self.bytes / elapsed as f64);
            let filter = |old: f64, new: f64| libm::floor((7.0 * old + new) / 8.0);
            if self.rate <= 0.0 && self.first_stage <= 0.0 {
                (self.first_stage, self.rate) = (sample, sample);
            } else {
                self.first_stage = filter(self.first_stage, sample);
                self.rate = filter(self.rate, self.first_stage);
            }
            (self.began, self.bytes) = (Some(path.now), 0.0);
        }
        self.bytes += self.count(path, ack);
    }

    /// What an acknowledgement counts for in Linux: a duplicate for a segment, which what advances later is
    /// not counted for again. Each further hole of a row counts for a segment too many.
    fn count(&mut self, path: &PathView, ack: &Ack) -> f64 {
        let (mss, advanced) = (path.mss.get() as f64, ack.advanced.get() as f64);
        if advanced <= 0.0 {
            self.accounted += mss;
            return mss;
        }
        let plain = !self.repairing && ack.advanced == ack.bytes;
        if plain || advanced <= mss {
            return advanced;
        }
        if self.accounted >= advanced {
            self.accounted -= advanced;
            return mss;
        }
        advanced - std::mem::take(&mut self.accounted)
    }

    /// The estimate in bytes per second.
    fn bytes_per_second(&self) -> f64 {
        if self.linux { 1000.0 * self.rate } else { self.rate }
    }

    fn filter(&mut self, sample: f64) {
        if self.rate <= 0.0 {
            (self.first_stage, self.rate) = (sample, sample);
        } else if self.single_filter {
            self.rate = 0.9 * self.rate + 0.1 * sample;
        } else {
            self.first_stage = (7.0 * self.first_stage + sample) / 8.0;
            self.rate = (7.0 * self.rate + self.first_stage) / 8.0;
        }
    }
}

impl Algorithm for WestwoodPlus {
    fn measure(&mut self, window: &mut Window, path: &PathView, ack: &Ack) {
        if self.linux {
            if ack.in_recovery {
                window.credit(ack.advanced);
            }
            return self.measure_in_whole_numbers(path, ack);
        }
        if self.unset && !ack.in_recovery {
            self.unset = false;
            let share = self.rate * self.min_rtt.as_secs_f64();
            window.set_ssthresh(share);
            window.set(window.ssthresh());
        }
        self.min_rtt =
            if self.remeasure { path.latest_rtt } else { self.min_rtt.min(path.latest_rtt) };
        self.remeasure = false;
        let Some(began) = self.began else {
            self.began = Some(path.now);
            return;
        };
        self.bytes += ack.bytes.get() as f64;
        let elapsed = path.now.since(began);
        if elapsed > path.srtt.max(SAMPLE_MIN) {
            self.filter(self.bytes / elapsed.as_secs_f64());
            (self.began, self.bytes) = (Some(path.now), 0.0);
        }
    }

    fn grow(&mut self, window: &mut Window, _path: &PathView, ack: &Ack) {
        if self.linux && !window.in_slow_start() {
            // Bytes are counted (RFC 3465), those of the repairs as well: unlike Reno's, this window may lie
            // above its threshold by then, and the row that was repaired enlarges it at once.
            return window.gather(window.acked(ack));
        }
        reno::grow(window, ack);
    }

    fn reduce(&mut self, _window: &Window, _path: &PathView, event: &Reduction) -> Option<f64> {
        if self.linux {
            return Some(event.flight / 2.0);
        }
        self.unset = self.at_recovery_end && event.cause == Cause::Loss && self.rate > 0.0;
        Some(if self.unset { event.flight / 2.0 } else { share(self.rate, self.min_rtt, event) })
    }

    /// The estimate counts while losses are repaired only: as ns-2.35 drives the module, the end of the
    /// repairs brings the window back to half of what it was if that is more.
    fn while_repairing(&self, window: &Window) -> f64 {
        (self.bytes_per_second() * self.min_rtt.as_secs_f64()).max(2.0 * window.mss())
    }

    fn signal(&mut self, _window: &mut Window, _path: &PathView, signal: &Signal) {
        self.repairing &= *signal != Signal::RecoveryDone;
    }

    fn reduced(&mut self, _window: &mut Window, _path: &PathView, event: &Reduction) {
        self.repairing = event.cause != Cause::Mark;
        if event.cause == Cause::Timeout && !self.linux {
            (self.remeasure, self.unset) = (true, false);
        }
    }

    fn restart(&mut self) {
        (self.began, self.bytes, self.rate, self.min_rtt) = (None, 0.0, 0.0, Span::MAX);
        (self.unset, self.repairing, self.accounted) = (false, false, 0.0);
    }

    fn gauges(&self, _window: &Window) -> Vec<Gauge> {
        vec![gauge(self.bytes_per_second())]
    }
}

#[cfg(test)]
mod tests {
    use crate::LossCause;
    use crate::testing::Play;

    #[test]
    fn bunched_acknowledgements_do_not_raise_the_estimate() {
        let mut play = Play::new("westwood-plus", &[]);
        for _ in 0..40 {
            play.wait(0.61);
            for _ in 0..20 {
                play.ack_at_once(1);
            }
        }
        let rate = play.gauge("delivery_rate_bps") / 8000.0;
        assert!((rate - 20.0 / 0.61).abs() < 0.5, "{rate} segments/s");
    }

    #[test]
    fn the_filters_follow_a_step_at_their_own_pace() {
        for (single, rounds, expected) in [(1.0, 10, 0.651), (0.0, 10, 0.408)] {
            let mut play = Play::new("westwood-plus", &[("single_filter", single)]);
            // The first acknowledgement only starts the clock, the second sets the estimate to 1.
            for segments in [1, 1].into_iter().chain(std::iter::repeat_n(2, rounds)) {
                play.wait(0.601);
                play.ack_at_once(segments);
            }
            let estimate = play.gauge("delivery_rate_bps") * 0.601 / 8000.0 - 1.0;
            assert!((estimate - expected).abs() < 0.001, "{single}: {estimate}");
        }
    }

    #[test]
    fn as_in_linux_the_window_is_halved_until_the_losses_are_repaired() {
        let mut play = Play::new("westwood-plus", &[("initial_ssthresh", 50.0)]);
        play.link(100.0, 0.6, 60);
        let before = play.segments();
        play.lose(LossCause::Gap);
        assert_eq!(play.segments(), before / 2.0);
        play.ack_at_once(1);
        assert_eq!(play.segments(), before / 2.0);
        play.recovered();
        play.ack_at_once(1);
        assert!((54.0..=66.0).contains(&play.segments()), "{} of {before}", play.segments());
    }

    #[test]
    fn with_linux_the_estimate_is_the_window_of_the_repairs_and_half_is_kept() {
        let mut play = Play::new("westwood-plus", &[("initial_ssthresh", 50.0), ("linux", 1.0)]);
        play.link(100.0, 0.6, 60);
        let before = play.segments();
        let estimate = play.gauge("delivery_rate_bps") / 8000.0;
        assert!((80.0..=100.0).contains(&estimate), "{estimate} segments/s");
        play.lose(LossCause::Gap);
        assert_eq!(play.segments(), (estimate * 0.6).floor());
        play.path.in_flight = play.bytes(1000);
        play.recovered();
        assert_eq!(play.segments(), (estimate * 0.6).floor().max((before / 2.0).floor()));
    }

    /// The sample, in bytes per millisecond, of a round trip whose acknowledgements `play` gives.
    fn sample(play: impl FnOnce(&mut Play)) -> f64 {
        let mut linux = Play::new("westwood-plus", &[("linux", 1.0)]);
        linux.ack_at_once(1);
        play(&mut linux);
        linux.wait(0.601);
        linux.report();
        linux.gauge("delivery_rate_bps") / 8000.0
    }

    #[test]
    fn with_linux_what_duplicates_announced_is_not_counted_again() {
        let ten = |play: &mut Play| {
            (0..9).for_each(|_| play.report());
            play.lose(LossCause::Gap);
            play.acknowledge(play.bytes(1), play.bytes(10), 1);
        };
        assert_eq!(sample(ten), (11_000.0_f64 / 601.0).floor());
        // After the repairs what advances counts in full.
        let more = |play: &mut Play| {
            ten(play);
            play.recovered();
            play.ack_at_once(20);
        };
        assert_eq!(sample(more), (31_000.0_f64 / 601.0).floor());
    }

    #[test]
    fn with_linux_a_second_hole_counts_for_a_segment_too_many() {
        let two_holes = |play: &mut Play| {
            (0..8).for_each(|_| play.report());
            play.lose(LossCause::Gap);
            play.acknowledge(play.bytes(1), play.bytes(4), 1);
            play.acknowledge(play.bytes(1), play.bytes(6), 1);
        };
        // The first acknowledgement, eight reports, and 1 and 6 - (8 - 4) for the two that advance.
        assert_eq!(sample(two_holes), (12_000.0_f64 / 601.0).floor());
    }

    #[test]
    fn with_linux_the_round_trip_of_a_sample_is_that_of_the_last_acknowledgement_that_advanced() {
        let longer = |play: &mut Play| play.set_rtt(1.2);
        assert!(sample(longer) > 0.0);
        let advanced = |play: &mut Play| {
            play.set_rtt(1.2);
            play.ack_at_once(1);
        };
        assert_eq!(sample(advanced), 0.0);
    }

    #[test]
    fn with_linux_what_was_repaired_enlarges_a_window_above_its_threshold() {
        let mut play = Play::new("westwood-plus", &[("initial_ssthresh", 50.0), ("linux", 1.0)]);
        play.link(100.0, 0.6, 60);
        play.lose(LossCause::Gap);
        play.recovered();
        play.lose(LossCause::Gap);
        let (window, row) = (play.segments(), 2 * play.segments() as u64);
        assert!(window > play.ssthresh());
        play.acknowledge(play.bytes(1), play.bytes(row), 1);
        assert_eq!(play.segments(), window);
        play.path.in_flight = play.bytes(window as u64);
        play.recovered();
        play.ack_at_once(1);
        assert_eq!(play.segments(), window + 1.0);
    }

    #[test]
    fn with_linux_a_slow_path_is_underestimated() {
        let mut play = Play::new("westwood-plus", &[("linux", 1.0)]);
        for segments in [1, 1].into_iter().chain(std::iter::repeat_n(4, 60)) {
            play.wait(0.601);
            play.ack_at_once(segments);
        }
        let estimate = play.gauge("delivery_rate_bps") * 0.601 / 8000.0;
        assert!(estimate < 1.5, "{estimate} of 4 segments in a round trip");
    }

    #[test]
    fn a_timeout_has_the_smallest_round_trip_measured_anew() {
        let mut play = Play::new("westwood-plus", &[("initial_ssthresh", 50.0)]);
        play.link(100.0, 0.3, 60);
        play.lose(LossCause::Timeout);
        let short = play.ssthresh();
        play.link(100.0, 0.6, 60);
        play.lose(LossCause::Timeout);
        assert!(play.ssthresh() > 1.8 * short, "{} {short}", play.ssthresh());
    }
}
