//! TCP Jersey: the window after a loss is what the path was seen to deliver; marks tell congestion from
//! noise. TCP Star raises the window to it as well.

use bentpipe_units::Instant;

use crate::algorithms::reno;
use crate::algorithms::westwood::{gauge, share};
use crate::family::{Algorithm, Cause, Reduction, Windowed};
use crate::row::{Build, Parameter, Row};
use crate::window::{ABC_LIMIT, INITIAL_SSTHRESH, Window};
use crate::{Ack, Gauge, PathView, Repair};

/// Whether routers mark.
pub(crate) const MARKS: Parameter = Parameter {
    name: "marks",
    unit: "1",
    default: 0.0,
    range: (0.0, 1.0),
    summary: "1: routers mark before they drop, so that a loss without a mark in the last round trip \
              is noise; 0: they do not",
};

/// The registry row.
pub(crate) const ROW: Row = Row {
    name: "jersey",
    summary: "Reno; a loss or a mark sets the window to the delivery rate times the smallest round trip",
    citation: "Xu, Tian, Ansari, IEEE JSAC 22(4), 2004",
    parameters: &[MARKS, ABC_LIMIT, INITIAL_SSTHRESH],
    build: &|build| Windowed::boxed(build, &ROW, Jersey::new(build, &ROW)),
};

/// The algorithm of TCP Jersey.
#[derive(Debug)]
pub(crate) struct Jersey {
    marks: bool,
    /// Star: the estimate also raises the window.
    lifts: bool,
    /// Star: a timeout is no loss before it is known that data were lost, not acknowledgements.
    asks: bool,
    /// Bytes per second.
    rate: f64,
    last: Option<Instant>,
    marked: Option<Instant>,
    round: u64,
}

impl Jersey {
    /// The algorithm with the parameters of `row`.
    fn new(build: &Build<'_>, row: &Row) -> Self {
        let marks = build.parameter(row, MARKS.name) >= 0.5;
        let (lifts, asks) = (false, false);
        Self { marks, lifts, asks, rate: 0.0, last: None, marked: None, round: 0 }
    }

    /// That of TCP Star; if it `asks`, with acknowledgment error notification.
    pub(crate) fn star(build: &Build<'_>, row: &Row, asks: bool) -> Self {
        Self { lifts: true, asks, ..Self::new(build, row) }
    }
}

impl Algorithm for Jersey {
    fn measure(&mut self, _window: &mut Window, path: &PathView, ack: &Ack) {
        let (bytes, rtt) = (ack.bytes.get() as f64, path.srtt.as_secs_f64());
        if let Some(last) = self.last {
            let span = path.now.since(last).as_secs_f64() + rtt;
            if span > 0.0 {
                self.rate = (rtt * self.rate + bytes) / span;
            }
        }
        self.last = Some(path.now);
    }

    fn grow(&mut self, window: &mut Window, path: &PathView, ack: &Ack) {
        reno::grow(window, ack);
        if self.lifts && path.round != self.round {
            self.round = path.round;
            let estimate = self.rate * path.min_rtt.as_secs_f64();
            window.set(window.cwnd().max(estimate));
        }
    }

    fn reduce(&mut self, _window: &Window, path: &PathView, event: &Reduction) -> Option<f64> {
        if event.cause == Cause::Mark {
            self.marked = Some(path.now);
        }
        let marked = self.marked.is_some_and(|at| path.now.since(at) <= path.srtt);
        let noise = self.marks && event.cause == Cause::Loss && !marked;
        (!noise).then(|| share(self.rate, path.min_rtt, event))
    }

    fn restart(&mut self) {
        (self.rate, self.last, self.marked) = (0.0, None, None);
    }

    fn gauges(&self, _window: &Window) -> Vec<Gauge> {
        vec![gauge(self.rate)]
    }

    fn repair(&self) -> Repair {
        Repair { asks_before_repair: self.asks, ..Repair::default() }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::Play;
    use crate::{LossCause, Signal};

    #[test]
    fn the_estimate_settles_at_the_rate_of_the_link() {
        let mut play = Play::new("jersey", &[("initial_ssthresh", 64.0)]);
        play.link(100.0, 0.6, 30);
        let rate = play.gauge("delivery_rate_bps") / 8000.0;
        assert!((rate / 100.0 - 1.0).abs() < 0.02, "{rate}");
        play.lose(LossCause::Gap);
        assert!((58.0..=62.0).contains(&play.segments()), "{}", play.segments());
    }

    #[test]
    fn where_routers_mark_a_loss_without_a_mark_is_noise() {
        let mut play = Play::new("jersey", &[("initial_ssthresh", 64.0), ("marks", 1.0)]);
        play.link(100.0, 0.6, 30);
        let before = play.segments();
        play.lose(LossCause::Gap);
        assert_eq!(play.segments(), before);
        play.signal(Signal::EcnCe);
        let after = play.segments();
        assert!(after < before);
        play.lose(LossCause::Gap);
        assert!((play.segments() - after).abs() < 1e-2);
    }

    #[test]
    fn where_routers_mark_a_timeout_is_answered_all_the_same() {
        let mut play = Play::new("jersey", &[("initial_ssthresh", 64.0), ("marks", 1.0)]);
        play.link(100.0, 0.6, 30);
        play.lose(LossCause::Timeout);
        assert_eq!(play.segments(), 1.0);
    }

    #[test]
    fn star_raises_the_window_to_the_estimate_where_jersey_grows_as_reno() {
        let grown = |name| {
            let mut play = Play::new(name, &[("initial_ssthresh", 64.0)]);
            play.link(100.0, 0.6, 30);
            play.lose(LossCause::Timeout);
            play.wait(0.001);
            play.path.round += 1;
            play.ack_at_once(1);
            play.segments()
        };
        assert_eq!(grown("jersey"), 2.0);
        assert!(grown("star") > 50.0, "{}", grown("star"));
    }
}
