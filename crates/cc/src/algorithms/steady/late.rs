//! What a sender does that came to a long path whose queue others had filled.
//!
//! It has taken their queue for the length of the path, so that its packets seem to have none, and has next to nothing of the path when
//! the first of them is lost. Two things show it who was there: the path turns out to be shorter than it ever was when they leave
//! room, or a queue stands where a window of no more than the path carries can have made none.

use bentpipe_units::{Instant, Span};

use super::company::{LONG, Others};
use super::{BETA, Stage, Steady};
use crate::PathView;

/// Who has no more than what the path was found to carry makes no queue of two targets within so many round trips.
const JUMPED_TRIPS: u64 = 8;

impl Steady {
    /// An interval ended in which the queue was so long.
    pub(super) fn look_for_older(&mut self, now: Instant, queue: Span) {
        let (base, target) = (self.known.base(), self.known.target());
        let is_shorter = self.known.is_found_shorter();
        if base < LONG {
            return;
        }
        let has_jumped = self.jumped.is_some_and(|at| now.since(at) < base * JUMPED_TRIPS);
        if has_jumped && queue > target * 2 {
            self.meet(now);
            self.met = Some(now);
        }
        if is_shorter && self.known.interval().limited && !self.known.has_resumed(now) {
            let has_less = !self.came_late() && !self.company.is_half(self.known.interval().rate);
            self.meet(now);
            // What it jumped to was for the longer path.
            if let Some(fills) = self.company.fills(base) {
                self.window.set(self.window.cwnd().min(fills));
            }
            if has_less && !matches!(self.stage, Stage::Contends { .. } | Stage::LikeBbr { .. }) {
                self.start_again();
            }
        }
    }

    fn meet(&mut self, now: Instant) {
        self.jumped = None;
        self.company.meet();
        self.rivals.leave(now);
    }

    /// The window doubles until something is lost: round trips grow with the queue of the others.
    fn start_again(&mut self) {
        self.window.set_ssthresh(f64::INFINITY);
        self.start.end();
        self.stage = Stage::Start;
    }

    /// Others were there before over a long path.
    pub(super) fn came_late(&self) -> bool {
        self.known.base() >= LONG && self.company.others() == Others::Older
    }

    /// Slow start ended by a loss beside others who fill the queue: it is no question of whose it is.
    pub(super) fn contend_from_start(&mut self, path: &PathView) {
        self.contend(path.now);
        self.contest.lose(self.window.segments());
        self.window.set(BETA * self.window.cwnd());
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_units::BitRate;

    use crate::testing::{Link, Play};
    use crate::{LossCause, Phase, Signal};

    const CONTENDS: Phase = Phase::Other("contending");

    /// A slow start that ended early, behind a queue of 600 ms that somebody else has in a path of 600 ms.
    fn behind_a_full_queue() -> Play {
        let mut play = Play::new("steady", &[("initial_ssthresh", 32.0)]);
        play.set_rtt(1.2);
        play.rounds(8);
        assert_ne!(play.phase(), Phase::SlowStart);
        play
    }

    #[test]
    fn when_others_leave_room_slow_start_begins_again_and_their_return_does_not_end_it() {
        let mut play = behind_a_full_queue();
        let before = play.segments();
        for rtt in [1.0, 0.9, 0.95, 1.0, 1.05] {
            play.set_rtt(rtt);
            play.round();
        }
        assert_eq!(play.phase(), Phase::SlowStart);
        assert!(play.segments() > 8.0 * before, "{} of {before}", play.segments());
    }

    #[test]
    fn the_loss_that_ends_it_begins_a_contest() {
        let mut play = behind_a_full_queue();
        for rtt in [1.0, 0.9, 1.05] {
            play.set_rtt(rtt);
            play.round();
        }
        let before = play.segments();
        play.lose(LossCause::Nack);
        assert_eq!(play.phase(), CONTENDS);
        assert!((play.segments() / before - 0.85).abs() < 0.01, "{} of {before}", play.segments());
    }

    #[test]
    fn round_trips_that_fall_by_little_or_over_a_short_path_show_nobody() {
        for (full, empty) in [(0.66, 0.6), (0.1, 0.05)] {
            let mut play = Play::new("steady", &[("initial_ssthresh", 32.0)]);
            play.set_rtt(full);
            play.rounds(8);
            play.set_rtt(empty);
            for _ in 0..4 {
                play.round();
                assert_ne!(play.phase(), Phase::SlowStart, "{full} s, then {empty} s");
            }
        }
    }

    /// A window of what packet trains found: 8 Mbit/s over 600 ms.
    fn jumped() -> Play {
        let mut play = Play::new("steady", &[]);
        play.set_rtt(0.6);
        play.rounds(2);
        let window = play.bytes(600);
        play.signal(Signal::Capacity(Some(BitRate::from_bps(8_000_000))));
        play.signal(Signal::Resume { window, ssthresh: Some(window) });
        assert_eq!(play.segments(), 600.0);
        play
    }

    #[test]
    fn a_queue_that_a_window_of_what_the_path_carries_cannot_make_is_that_of_others() {
        let mut play = jumped();
        play.round();
        for rtt in [0.9, 1.1, 1.2] {
            play.set_rtt(rtt);
            play.round();
        }
        assert_eq!(play.phase(), Phase::Other("settling"));
        let cut = play.segments();
        assert!(cut < 400.0, "it may be a link that carries less: {cut}");
        // They leave room for a moment, which is taken.
        play.set_rtt(0.6);
        play.rounds(3);
        assert!(play.segments() > 1.4 * cut, "{} of {cut}", play.segments());
        // They come back.
        let after = (0..20).find(|round| {
            play.set_rtt([0.9, 1.1, 1.2][round % 3]);
            play.round();
            play.phase() == CONTENDS
        });
        assert!(after.is_some_and(|rounds| rounds < 4), "{after:?}");
    }

    #[test]
    fn a_path_that_becomes_longer_after_the_jump_is_believed_to_be_longer() {
        let mut play = jumped();
        play.round();
        play.set_rtt(0.8);
        for _ in 0..40 {
            play.round();
            assert_ne!(play.phase(), CONTENDS);
        }
        assert!(play.gauge("min_rtt_s") > 0.75, "{}", play.gauge("min_rtt_s"));
    }

    #[test]
    fn a_link_that_comes_to_carry_a_fifth_after_the_jump_is_nobody_elses() {
        for tenths in 1..30 {
            // As long a queue as it takes to see no loss.
            let mut link = Link::of(jumped(), 8e6, 0.6, 6e6);
            link.run(f64::from(tenths) / 10.0);
            link.rate = 1.6e6;
            link.run(15.0);
            for _ in 0..200 {
                link.run(0.05);
                let (phase, queue) = (link.phase(), link.queue_seconds());
                assert!(phase != CONTENDS && queue < 0.3, "{tenths}: {phase:?}, {queue} s");
            }
        }
    }

    #[test]
    fn who_has_half_of_a_long_path_leaves_as_much_after_a_loss_as_cubic() {
        // A segment has 8,000 bit, and a round trip takes some 1.1 s.
        for (segments, left) in [(1.5, 0.7), (3.0, 0.85)] {
            let mut play = behind_a_full_queue();
            for rtt in [1.0, 0.9, 1.05, 1.1, 1.15] {
                play.set_rtt(rtt);
                play.round();
            }
            play.lose(LossCause::Nack);
            assert_eq!(play.phase(), CONTENDS);
            play.recovered();
            play.rounds(3);
            let before = play.segments();
            let carries = BitRate::from_bps((8_000.0 * segments * before / 1.1) as u64);
            play.signal(Signal::Capacity(Some(carries)));
            play.lose(LossCause::Nack);
            let part = play.segments() / before;
            assert!((part - left).abs() < 0.01, "{part} of a window of a part of 1 / {segments}");
        }
    }
}
