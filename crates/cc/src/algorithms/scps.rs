//! SCPS-TP: a configured rate, a window of Vegas or Reno, and losses that may be known to be noise.

use bentpipe_units::{BitRate, Span};

use crate::algorithms::reno::Reno;
use crate::algorithms::vegas::{ALPHA, BETA, GAMMA, Vegas};
use crate::family::{Algorithm, Cause, Reduction, Windowed};
use crate::row::{Build, Parameter, Row};
use crate::window::{ABC_LIMIT, INITIAL_SSTHRESH, Window};
use crate::{Ack, Gauge, PathView, Repair, Signal};

/// The registry row.
pub(crate) const ROW: Row = Row {
    name: "scps",
    summary: "Vegas or Reno below a configured rate; keeps its window on corruption and outages",
    citation: "CCSDS 714.0-B-2, sections 3.3 and 4",
    parameters: &[
        Parameter {
            name: "reno",
            unit: "1",
            default: 0.0,
            range: (0.0, 1.0),
            summary: "0: Vegas moves the window; 1: Reno",
        },
        Parameter {
            name: "rate",
            unit: "bit/s",
            default: 0.0,
            range: (0.0, 1e12),
            summary: "rate of the link, for open-loop pacing; 0 for none",
        },
        Parameter {
            name: "assume_corruption",
            unit: "1",
            default: 0.0,
            range: (0.0, 1.0),
            summary: "1: a loss is corruption unless a mark says otherwise; 0: congestion unless the \
                      sender has reason to believe otherwise",
        },
        ALPHA,
        BETA,
        GAMMA,
        ABC_LIMIT,
        INITIAL_SSTHRESH,
    ],
    build: &|build| {
        if build.parameter(&ROW, "reno") >= 0.5 {
            Windowed::boxed(build, &ROW, Scps::new(build, Reno::new(build, &ROW)))
        } else {
            Windowed::boxed(build, &ROW, Scps::new(build, Vegas::new(build, &ROW)))
        }
    },
};

#[derive(Debug)]
struct Scps<L> {
    algorithm: L,
    rate: Option<BitRate>,
    assume_corruption: bool,
    link_down: bool,
}

impl<L> Scps<L> {
    fn new(build: &Build<'_>, algorithm: L) -> Self {
        let rate = build.parameter(&ROW, "rate");
        Self {
            algorithm,
            rate: (rate >= 1.0).then(|| BitRate::from_bps(rate as u64)),
            assume_corruption: build.parameter(&ROW, "assume_corruption") >= 0.5,
            link_down: false,
        }
    }
}

impl<L: Algorithm> Algorithm for Scps<L> {
    fn measure(&mut self, window: &mut Window, path: &PathView, ack: &Ack) {
        self.algorithm.measure(window, path, ack);
    }

    fn grow(&mut self, window: &mut Window, path: &PathView, ack: &Ack) {
        self.algorithm.grow(window, path, ack);
    }

    fn reduce(&mut self, window: &Window, path: &PathView, event: &Reduction) -> Option<f64> {
        let corrupt = self.assume_corruption || event.looks_corrupt;
        if self.link_down || corrupt && event.cause != Cause::Mark {
            return None;
        }
        self.algorithm.reduce(window, path, event)
    }

    fn loss_window(&self) -> f64 {
        self.algorithm.loss_window()
    }

    fn reduced(&mut self, window: &mut Window, path: &PathView, event: &Reduction) {
        self.algorithm.reduced(window, path, event);
    }

    fn signal(&mut self, window: &mut Window, path: &PathView, signal: &Signal) {
        if let Signal::LinkState { up } = signal {
            self.link_down = !up;
        }
        self.algorithm.signal(window, path, signal);
    }

    fn pacing(&self, window: &Window, srtt: Span) -> Option<BitRate> {
        self.rate.or_else(|| self.algorithm.pacing(window, srtt))
    }

    fn gauges(&self, window: &Window) -> Vec<Gauge> {
        self.algorithm.gauges(window)
    }

    fn repair(&self) -> Repair {
        Repair { rests_in_outages: true, ..self.algorithm.repair() }
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_units::BitRate;

    use crate::testing::Play;
    use crate::{LossCause, Signal};

    #[test]
    fn the_window_is_vegas_or_renos() {
        for (reno, factor) in [(0.0, 0.75), (1.0, 0.5)] {
            let mut play = Play::new("scps", &[("reno", reno)]);
            play.rounds(5);
            let before = play.segments();
            play.lose(LossCause::Gap);
            assert_eq!(play.segments(), before * factor);
        }
    }

    #[test]
    fn corruption_and_outages_keep_the_window_and_marks_do_not() {
        let mut play = Play::new("scps", &[]);
        play.rounds(5);
        let before = play.segments();
        play.corrupt(LossCause::Gap);
        play.signal(Signal::LinkState { up: false });
        play.lose(LossCause::Timeout);
        play.lose_again(LossCause::Timeout);
        assert_eq!(play.segments(), before);
        play.signal(Signal::LinkState { up: true });
        play.lose(LossCause::Timeout);
        assert!(play.segments() < before);

        let mut play = Play::new("scps", &[("assume_corruption", 1.0)]);
        play.rounds(5);
        play.lose(LossCause::Gap);
        assert_eq!(play.segments(), before);
        play.signal(Signal::EcnCe);
        assert_eq!(play.segments(), before * 0.75);
    }

    #[test]
    fn it_rests_in_outages_and_asks_what_its_law_asks() {
        for (reno, fine_timers) in [(0.0, true), (1.0, false)] {
            let repair = Play::new("scps", &[("reno", reno)]).controller.repair();
            assert!(repair.rests_in_outages && repair.fine_timers == fine_timers);
        }
    }

    #[test]
    fn the_configured_rate_paces_from_the_first_segment_on() {
        let play = Play::new("scps", &[("rate", 2e6)]);
        assert_eq!(play.controller.limits().pacing, Some(BitRate::from_bps(2_000_000)));
    }
}
