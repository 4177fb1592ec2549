//! SCTP's algorithm: bytes count up to a limit, the window grows by steps, the threshold has a high floor.

use crate::family::{Algorithm, Cause, Reduction, Windowed};
use crate::row::{Parameter, Row};
use crate::window::{INITIAL_SSTHRESH, Window};
use crate::{Ack, Gauge, PathView};

/// The registry row.
pub(crate) const ROW: Row = Row {
    name: "sctp",
    summary: "Reno by bytes: slow start up to a byte counting limit, then one segment per window",
    citation: "RFC 9260, section 7.2; RFC 2960, section 7.2 (L = 1, floor = 2)",
    parameters: &[
        Parameter {
            name: "abc_limit",
            unit: "segments",
            default: 1.0,
            range: (1.0, 1e6),
            summary: "most segments that one SACK counts for in slow start (L, the byte counting \
                      limit)",
        },
        INITIAL_SSTHRESH,
        Parameter {
            name: "ssthresh_floor",
            unit: "segments",
            default: 4.0,
            range: (2.0, 1e3),
            summary: "a loss leaves at least this threshold: 4 (RFC 9260), 2 (RFC 2960)",
        },
    ],
    build: &|build| {
        let algorithm = Sctp {
            limit: build.parameter(&ROW, "abc_limit"),
            floor: build.parameter(&ROW, "ssthresh_floor"),
            acked: 0.0,
        };
        Windowed::boxed(build, &ROW, algorithm)
    },
};

/// SCTP's algorithm.
#[derive(Debug)]
struct Sctp {
    /// L in segments.
    limit: f64,
    /// Smallest threshold in segments.
    floor: f64,
    /// partial_bytes_acked.
    acked: f64,
}

impl Sctp {
    /// At the threshold slow start still goes on (RFC 9260, section 7.2.1).
    fn in_slow_start(window: &Window) -> bool {
        window.cwnd() <= window.ssthresh()
    }
}

impl Algorithm for Sctp {
    fn measure(&mut self, window: &mut Window, path: &PathView, ack: &Ack) {
        if path.in_flight.get() == 0 && !path.cwnd_limited {
            self.acked = 0.0;
        } else if !Self::in_slow_start(window) {
            self.acked += ack.bytes.get() as f64;
            if !path.cwnd_limited {
                self.acked = self.acked.min(window.cwnd());
            }
        }
    }

    fn grow(&mut self, window: &mut Window, path: &PathView, ack: &Ack) {
        if Self::in_slow_start(window) {
            window.add((ack.bytes.get() as f64).min(self.limit * window.mss()));
        } else if self.acked >= window.cwnd() {
            self.acked -= window.cwnd();
            window.add(window.mss());
        }
        if path.in_flight.get() == 0 {
            self.acked = 0.0;
        }
    }

    fn reduce(&mut self, window: &Window, _path: &PathView, _event: &Reduction) -> Option<f64> {
        Some((window.cwnd() / 2.0).max(self.floor * window.mss()))
    }

    fn reduced(&mut self, window: &mut Window, _path: &PathView, event: &Reduction) {
        self.acked = 0.0;
        if event.cause != Cause::Timeout {
            // RFC 9260, section 7.2.3: the window is the threshold, also where that is more.
            window.set(window.ssthresh());
        }
    }

    fn restart(&mut self) {
        self.acked = 0.0;
    }

    /// RFC 9260, section 7.2.1: half for each timeout's time without data.
    fn idle(&mut self, window: &mut Window, _path: &PathView) {
        let half = (window.cwnd() / 2.0).max(self.floor * window.mss());
        window.set(half.min(window.cwnd()));
    }

    fn gauges(&self, _window: &Window) -> Vec<Gauge> {
        vec![Gauge { name: "partially_acked_bytes", value: self.acked }]
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_units::ByteCount;

    use crate::testing::Play;
    use crate::{Choice, LossCause, Signal};

    #[test]
    fn a_sack_opens_the_window_by_its_bytes_up_to_the_limit() {
        for (limit, segments, grown) in [(1.0, 3, 1.0), (2.0, 3, 2.0), (4.0, 3, 3.0)] {
            let mut play = Play::new("sctp", &[("abc_limit", limit)]);
            let before = play.segments();
            play.ack_at_once(segments);
            assert_eq!(play.segments() - before, grown, "L = {limit}");
        }
    }

    /// Fu, Atiquzzaman, Ivancic 2005, section IV-C: a PMTU of 1500 bytes, segments of 536, a SACK for two of
    /// them; and a SACK for 3000 bytes with limits of one and two packets.
    #[test]
    fn the_papers_examples_of_byte_counting_come_out() {
        for (limit, acked, opened) in [(1.0, 1072, 1072), (1.0, 3000, 1500), (2.0, 3000, 3000)] {
            let parameters = [("abc_limit".to_owned(), limit)].into();
            let choice = Choice::new("sctp", parameters).expect("a controller");
            let packets = |count: u64| ByteCount::new(1500 * count);
            let controller = choice.build(packets(1), packets(2), packets(1), packets(100));
            let mut play = Play::of(controller);
            play.path.mss = packets(1);
            let window = |play: &Play| play.controller.limits().window.expect("a window").get();
            let before = window(&play);
            play.ack_bytes(ByteCount::new(acked), acked.div_ceil(1500));
            assert_eq!(window(&play) - before, opened, "L = {limit}, {acked} B");
        }
    }

    #[test]
    fn avoidance_adds_one_segment_once_a_window_is_acknowledged() {
        let mut play = Play::new("sctp", &[("initial_ssthresh", 4.0)]);
        play.round();
        assert_eq!(play.segments(), 4.0);
        play.path.in_flight = play.bytes(4);
        play.ack_at_once(1);
        assert_eq!(play.segments(), 5.0, "at the threshold slow start still goes on");
        for acked in 1..5 {
            play.ack_at_once(1);
            assert_eq!(play.segments(), 5.0, "{acked} of 5 segments");
        }
        play.ack_at_once(1);
        assert_eq!(play.segments(), 6.0);
    }

    #[test]
    fn a_loss_halves_down_to_the_floor_and_a_timeout_leaves_one_segment() {
        let mut play = Play::new("sctp", &[]);
        play.rounds(4);
        play.lose(LossCause::Gap);
        assert_eq!((play.segments(), play.ssthresh()), (16.0, 16.0));
        play.recovered();
        play.lose(LossCause::Timeout);
        assert_eq!((play.segments(), play.ssthresh()), (1.0, 8.0));
        play.lose(LossCause::Timeout);
        assert_eq!((play.segments(), play.ssthresh()), (1.0, 4.0));
        let mut old = Play::new("sctp", &[("ssthresh_floor", 2.0)]);
        old.lose(LossCause::Gap);
        assert_eq!((old.segments(), old.ssthresh()), (2.0, 2.0));
    }

    #[test]
    fn idle_time_halves_the_window_down_to_the_floor() {
        let mut play = Play::new("sctp", &[]);
        play.rounds(3);
        for expected in [8.0, 4.0, 4.0] {
            play.signal(Signal::Idle { halvings: None });
            assert_eq!(play.segments(), expected);
        }
    }
}
