//! TCP Fast Start: after idle time the old window is used again, at low priority.

use bentpipe_units::{BitRate, Span};

use crate::algorithms::reno;
use crate::family::{Algorithm, Cause, Reduction, Windowed};
use crate::row::{Build, Parameter, Row};
use crate::window::{ABC_LIMIT, INITIAL_SSTHRESH, Window};
use crate::{Ack, LowPriority, PathView, Phase, Signal};

/// The registry row.
pub(crate) const ROW: Row = Row {
    name: "fast-start",
    summary: "Reno that keeps its window over idle time; what it then sends goes first if room lacks",
    citation: "Padmanabhan and Katz, GLOBECOM Internet Mini-Conference 1998; ns-2's tcp-fs",
    parameters: &[
        Parameter {
            name: "max_burst",
            unit: "segments",
            default: 4.0,
            range: (1.0, 1000.0),
            summary: "segments that leave back to back while the old window is used again",
        },
        ABC_LIMIT,
        INITIAL_SSTHRESH,
    ],
    build: &|build| Windowed::boxed(build, &ROW, FastStart::new(build)),
};

#[derive(Debug)]
struct FastStart {
    max_burst: u64,
    /// The last round in which the window is the old one, not yet confirmed.
    until: Option<u64>,
}

impl FastStart {
    fn new(build: &Build<'_>) -> Self {
        Self { max_burst: build.parameter(&ROW, "max_burst") as u64, until: None }
    }
}

impl Algorithm for FastStart {
    fn measure(&mut self, _window: &mut Window, path: &PathView, _ack: &Ack) {
        if self.until.is_some_and(|round| path.round > round) {
            self.until = None;
        }
    }

    fn grow(&mut self, window: &mut Window, _path: &PathView, ack: &Ack) {
        reno::grow(window, ack);
    }

    fn reduced(&mut self, window: &mut Window, _path: &PathView, event: &Reduction) {
        // The old window was too much: an ordinary slow start.
        if self.until.take().is_some() && event.cause != Cause::Mark {
            window.set(window.mss());
        }
    }

    fn restart(&mut self) {
        self.until = None;
    }

    fn idle(&mut self, window: &mut Window, path: &PathView) {
        let cwnd =
            if window.in_slow_start() { window.cwnd() / 2.0 } else { window.cwnd() - window.mss() };
        window.set(cwnd);
        // The first acknowledgement begins the next round; in that one the rest arrives.
        self.until = Some(path.round + 1);
    }

    fn signal(&mut self, _window: &mut Window, _path: &PathView, signal: &Signal) {
        if *signal == Signal::SpuriousLoss {
            self.until = None;
        }
    }

    fn pacing(&self, window: &Window, srtt: Span) -> Option<BitRate> {
        self.until.and_then(|_| window.pacing(srtt))
    }

    fn burst(&self) -> Option<u64> {
        self.until.map(|_| self.max_burst)
    }

    fn low_priority(&self) -> LowPriority {
        if self.until.is_some() { LowPriority::Data } else { LowPriority::Nothing }
    }

    fn phase(&self) -> Option<Phase> {
        self.until.map(|_| Phase::Other("fast_start"))
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::Play;
    use crate::{LossCause, LowPriority, Phase, Signal};

    /// 16 segments in avoidance, and idle time.
    fn idle() -> Play {
        let mut play = Play::new("fast-start", &[("initial_ssthresh", 16.0)]);
        play.rounds(3);
        assert_eq!(play.segments(), 16.0);
        play.signal(Signal::Idle { halvings: None });
        play
    }

    #[test]
    fn the_old_window_is_used_again_paced_and_at_low_priority() {
        let play = idle();
        assert_eq!((play.segments(), play.phase()), (15.0, Phase::Other("fast_start")));
        assert_eq!(play.controller.low_priority(), LowPriority::Data);
        let limits = play.controller.limits();
        assert!(limits.pacing.is_some() && limits.burst == Some(play.bytes(4)));
    }

    #[test]
    fn out_of_slow_start_half_of_it_is_used() {
        let mut play = Play::new("fast-start", &[]);
        play.rounds(3);
        play.signal(Signal::Idle { halvings: None });
        assert_eq!(play.segments(), 8.0);
    }

    #[test]
    fn when_it_was_acknowledged_all_is_as_usual() {
        let mut play = idle();
        play.rounds(2);
        assert_eq!(play.controller.low_priority(), LowPriority::Nothing);
        assert!(play.controller.limits().pacing.is_none());
    }

    #[test]
    fn a_loss_in_it_starts_from_one_segment_and_later_losses_halve() {
        let mut play = idle();
        play.lose(LossCause::Gap);
        assert_eq!((play.segments(), play.controller.low_priority()), (1.0, LowPriority::Nothing));
        let mut play = idle();
        play.rounds(2);
        let before = play.segments();
        play.lose(LossCause::Gap);
        assert!((play.segments() / before - 0.5).abs() < 1e-3);
    }
}
