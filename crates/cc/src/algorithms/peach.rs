//! TCP Peach: dummy segments open the window at the start and give it back after noise.

use crate::Copies;
use crate::family::Windowed;
use crate::probing::{COPIES_PER_SEGMENT, Probing};
use crate::row::Row;
use crate::window::ABC_LIMIT;

/// The registry row.
pub(crate) const ROW: Row = Row {
    name: "peach",
    summary: "sudden start and rapid recovery with low-priority dummy segments",
    citation: "Akyildiz, Morabito, Palazzo, IEEE/ACM ToN 9(3), 2001",
    parameters: &[ABC_LIMIT, COPIES_PER_SEGMENT],
    build: &|build| {
        let algorithm = Probing::new(build, &ROW, Copies::Last, false);
        Windowed::boxed(build, &ROW, algorithm)
    },
};

#[cfg(test)]
mod tests {
    use bentpipe_units::Span;

    use crate::testing::Play;
    use crate::{Copies, LossCause, LowPriority, Phase, Signal};

    fn probes(play: &Play) -> (u64, Span) {
        match play.controller.low_priority() {
            LowPriority::Probes { count, spacing, .. } => (count, spacing),
            _ => (0, Span::ZERO),
        }
    }

    /// A connection whose start found room for 63 segments besides its first one.
    fn opened(name: &str) -> Play {
        let mut play = Play::new(name, &[]);
        play.path.peer_window = play.bytes(64);
        play.send(false);
        for _ in 0..63 {
            play.send(true);
        }
        for _ in 0..62 {
            play.signal(Signal::ProbeAcked { segments: 1 });
        }
        play
    }

    #[test]
    fn the_start_spreads_what_the_receiver_takes_over_a_round_trip() {
        let mut play = Play::new("peach", &[]);
        play.path.peer_window = play.bytes(64);
        assert_eq!(probes(&play).0, 0);
        play.send(false);
        assert_eq!(probes(&play), (63, Span::from_millis(600) / 64));
        assert_eq!(play.phase(), Phase::Other("probing_start"));
        play.send(true);
        assert_eq!(probes(&play).0, 62);
    }

    #[test]
    fn each_copy_that_arrives_is_a_segment_of_window() {
        assert_eq!(opened("peach").segments(), 64.0);
    }

    /// Loses one segment, lets a round trip of acknowledgements send copies, of which `arriving` return.
    fn recover(play: &mut Play, arriving: u64) -> f64 {
        play.lose(LossCause::Gap);
        assert_eq!(play.segments(), 32.0);
        let mut sent = 0;
        for _ in 0..63 {
            play.ack_at_once(1);
            while probes(play).0 > 0 {
                play.send(true);
                sent += 1;
            }
        }
        assert_eq!(sent, 63, "a copy for each acknowledgement");
        for _ in 0..arriving {
            play.signal(Signal::ProbeAcked { segments: 1 });
        }
        play.recovered();
        play.segments()
    }

    #[test]
    fn a_connection_that_starts_again_and_again_has_the_copies_that_its_data_earned() {
        let mut play = opened("peach");
        let mut copies = 63;
        for start in 1..=40 {
            play.lose(LossCause::Timeout);
            play.send(false);
            while probes(&play).0 > 0 {
                play.send(true);
                copies += 1;
            }
            // Two windows of 64 segments, and one for each segment of data but the first.
            assert!(copies <= 2 * 64 + start, "{copies} copies after {start} starts");
        }
        assert_eq!(copies, 2 * 64 + 40);
    }

    #[test]
    fn without_a_bound_each_start_has_all_its_copies() {
        let mut play = Play::new("peach", &[("copies_per_segment", 1e6)]);
        play.path.peer_window = play.bytes(64);
        for _ in 0..40 {
            play.send(false);
            assert_eq!(probes(&play).0, 63);
            for _ in 0..63 {
                play.send(true);
            }
            play.lose(LossCause::Timeout);
        }
    }

    #[test]
    fn after_noise_all_copies_arrive_and_bring_the_window_back() {
        assert_eq!(recover(&mut opened("peach"), 63), 63.0);
    }

    #[test]
    fn after_congestion_few_copies_arrive_and_the_window_stays_halved() {
        assert_eq!(recover(&mut opened("peach"), 30), 32.0);
    }

    #[test]
    fn a_timeout_begins_a_new_start_with_one_segment() {
        let mut play = opened("peach");
        play.lose(LossCause::Timeout);
        assert_eq!((play.segments(), probes(&play).0), (1.0, 0));
        play.send(false);
        assert_eq!(probes(&play).0, 63);
    }

    #[test]
    fn the_plus_form_and_swift_copy_what_is_outstanding() {
        for (name, expected) in [
            ("peach", Copies::Last),
            ("peach-plus", Copies::Outstanding),
            ("swift", Copies::Outstanding),
        ] {
            let mut play = Play::new(name, &[]);
            play.send(false);
            let asked = play.controller.low_priority();
            assert!(
                matches!(asked, LowPriority::Probes { copies, .. } if copies == expected),
                "{name}"
            );
        }
    }

    #[test]
    fn swifts_window_is_the_number_of_segments_that_arrived() {
        let mut play = Play::new("swift", &[]);
        play.path.peer_window = play.bytes(64);
        play.send(false);
        play.send(false);
        play.path.cwnd_limited = false;
        play.ack_at_once(2);
        for _ in 0..40 {
            play.signal(Signal::ProbeAcked { segments: 1 });
        }
        assert_eq!(play.segments(), 42.0);
    }
}
