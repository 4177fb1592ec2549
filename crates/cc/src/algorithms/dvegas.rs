//! TCP DVegas: Vegas on a proxy whose own queue says at once when there is too much.
//!
//! The queue before the satellite link lies on the same host: what it drops or holds is known without
//! asking the path, so that a loss behind it is a transmission error and costs no window.

use bentpipe_units::{Instant, Span};

use crate::algorithms::vegas::{ALPHA, BETA, GAMMA, Vegas};
use crate::family::{Algorithm, Cause, Reduction, Windowed};
use crate::row::{Build, Parameter, Row};
use crate::window::{ABC_LIMIT, INITIAL_SSTHRESH, Window};
use crate::{Ack, Gauge, PathView, QueueLevel, Repair, Signal};

/// The registry row.
pub(crate) const ROW: Row = Row {
    name: "dvegas",
    summary: "Vegas that obeys the queue of its own host; other losses cost no window",
    citation: "Wu, Peng, Leung, PIMRC 2005; Peng, Wu, Leung, Int. J. Sat. Comm. Netw. 24, 2006; \
               the steps are this project's",
    parameters: &[
        ALPHA,
        BETA,
        GAMMA,
        Parameter {
            name: "interval",
            unit: "s",
            default: 0.05,
            range: (0.001, 10.0),
            summary: "shortest time between two answers to a full queue",
        },
        ABC_LIMIT,
        INITIAL_SSTHRESH,
    ],
    build: &|build| Windowed::boxed(build, &ROW, DVegas::new(build)),
};

#[derive(Debug)]
struct DVegas {
    vegas: Vegas,
    interval: Span,
    level: QueueLevel,
    answered: Option<Instant>,
    /// When the round trip began in which the window may at most halve, and that half.
    since: Option<Instant>,
    floor: f64,
}

impl DVegas {
    fn new(build: &Build<'_>) -> Self {
        Self {
            vegas: Vegas::growing_every_round(build, &ROW),
            interval: Span::from_secs_f64(build.parameter(&ROW, "interval")),
            level: QueueLevel::Low,
            answered: None,
            since: None,
            floor: 0.0,
        }
    }

    /// Lowers the window to `cwnd`, in one round trip by half at most.
    fn lower(&mut self, window: &mut Window, path: &PathView, cwnd: f64) {
        if self.since.is_none_or(|since| path.now.since(since) >= path.srtt) {
            (self.since, self.floor) = (Some(path.now), window.cwnd() / 2.0);
        }
        window.set_ssthresh(0.0);
        window.set(cwnd.max(self.floor).max(2.0 * window.mss()));
    }
}

impl Algorithm for DVegas {
    fn measure(&mut self, window: &mut Window, path: &PathView, ack: &Ack) {
        self.vegas.measure(window, path, ack);
    }

    fn grow(&mut self, window: &mut Window, path: &PathView, ack: &Ack) {
        if self.level == QueueLevel::Low {
            self.vegas.grow(window, path, ack);
        }
    }

    fn reduce(&mut self, _window: &Window, _path: &PathView, event: &Reduction) -> Option<f64> {
        (event.cause == Cause::Mark).then_some(event.flight / 2.0)
    }

    fn follows_queue(&self) -> bool {
        true
    }

    fn signal(&mut self, window: &mut Window, path: &PathView, signal: &Signal) {
        let Signal::LocalQueue(level) = *signal else { return };
        self.level = level;
        let due = self.answered.is_none_or(|last| path.now.since(last) >= self.interval);
        match level {
            QueueLevel::Overflow => self.lower(window, path, window.cwnd() / 2.0),
            QueueLevel::High if due => {
                self.answered = Some(path.now);
                self.lower(window, path, window.cwnd() * 7.0 / 8.0);
            }
            QueueLevel::Low | QueueLevel::Middle | QueueLevel::High => {}
        }
    }

    fn gauges(&self, _window: &Window) -> Vec<Gauge> {
        vec![self.vegas.gauge()]
    }

    fn repair(&self) -> Repair {
        Repair { max_backoff: Some(2), ..self.vegas.repair() }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::Play;
    use crate::{LossCause, QueueLevel, Signal};

    fn grown() -> Play {
        let mut play = Play::new("dvegas", &[]);
        play.rounds(5);
        assert_eq!(play.segments(), 64.0);
        play
    }

    #[test]
    fn losses_on_the_link_cost_no_window() {
        let mut play = grown();
        for cause in [LossCause::Gap, LossCause::Timeout, LossCause::Nack] {
            play.lose(cause);
            assert_eq!(play.segments(), 64.0);
            play.lose_again(cause);
            assert_eq!(play.segments(), 64.0, "the repair is lost as well");
        }
    }

    #[test]
    fn it_wants_to_be_told_of_the_queue_and_vegas_does_not() {
        assert!(Play::new("dvegas", &[]).controller.follows_queue());
        assert!(!Play::new("vegas", &[]).controller.follows_queue());
    }

    #[test]
    fn a_full_queue_takes_an_eighth_once_per_interval_and_half_per_round_trip() {
        let mut play = grown();
        let full = Signal::LocalQueue(QueueLevel::High);
        play.signal(full);
        play.signal(full);
        assert_eq!(play.segments(), 56.0);
        for _ in 0..10 {
            play.wait(0.05);
            play.signal(full);
        }
        assert_eq!(play.segments(), 32.0);
        play.wait(0.2);
        play.signal(full);
        assert_eq!(play.segments(), 28.0);
    }

    #[test]
    fn between_the_thresholds_the_window_rests() {
        let mut play = grown();
        play.signal(Signal::LocalQueue(QueueLevel::Middle));
        play.rounds(3);
        assert_eq!(play.segments(), 64.0);
        play.signal(Signal::LocalQueue(QueueLevel::Low));
        play.round();
        assert!(play.segments() > 64.0);
    }

    #[test]
    fn an_overflow_of_the_own_queue_halves_once_per_round_trip() {
        let mut play = grown();
        for _ in 0..5 {
            play.signal(Signal::LocalQueue(QueueLevel::Overflow));
        }
        assert_eq!(play.segments(), 32.0);
    }
}
