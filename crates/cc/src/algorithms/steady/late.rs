//! What a sender does that came to a long path whose queue others had filled.
//!
//! It has taken their queue for the length of the path, so that its packets seem to have none, and has next to nothing of the path when
//! the first of them is lost. When they leave room the path turns out to be shorter than it ever was, which shows that they were there.

use bentpipe_units::{Instant, Span};

use super::company::{LONG, Others};
use super::delay::Queues;
use super::{BETA, Stage, Steady};
use crate::PathView;

/// Over shorter paths, as long as they seem then, a contest gives who comes late enough.
const FAR: Span = Span::from_millis(400);

impl Steady {
    /// An interval ended with these queues.
    pub(super) fn look_for_older(&mut self, now: Instant, queues: Queues) {
        let base = self.known.base();
        let is_shorter = self.known.is_found_shorter(queues);
        if base < FAR {
            return;
        }
        if is_shorter && self.known.interval().limited && !self.known.has_resumed(now) {
            let has_less = !self.came_late() && !self.company.is_half(self.known.interval().rate);
            self.company.meet_for_certain();
            self.rivals.leave(now);
            // What it jumped to was for the longer path.
            if let Some(fills) = self.company.fills(base) {
                self.window.set(self.window.cwnd().min(fills));
            }
            let is_led = matches!(self.stage, Stage::Contends { .. } | Stage::LikeBbr { .. });
            if has_less && !is_led && self.again.may_begin() {
                self.start_again();
            }
        }
    }

    /// The window doubles until something is lost: round trips grow with the queue of the others. Once only, and no longer than more
    /// arrives and round trips are no longer than with their queue: else the queue is this sender's own.
    fn start_again(&mut self) {
        self.window.set_ssthresh(f64::INFINITY);
        self.start.end();
        self.again.begin(self.known.longest());
        self.stage = Stage::Start;
    }

    /// Whether slow start that began again has filled the queue by itself.
    pub(super) fn has_filled(&mut self, queue: Span) -> bool {
        let (trip, rate) = (self.known.base() + queue, self.known.interval().rate);
        let is_full = self.again.look(trip, rate, matches!(self.stage, Stage::Start));
        if is_full {
            self.company.forget();
            self.rivals.forget();
        }
        is_full
    }

    /// It has doubled for a while since the path is full: what it was is of no account.
    pub(super) fn stop_doubling(&mut self, queue: Span) {
        let left = self.known.fitting().min(self.known.part(queue) * self.window.cwnd());
        self.cut_to(left, left, 0);
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
        play.path.min_rtt = play.path.latest_rtt;
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
            play.path.min_rtt = play.path.latest_rtt;
            play.rounds(8);
            play.set_rtt(empty);
            for _ in 0..4 {
                play.round();
                assert_ne!(play.phase(), Phase::SlowStart, "{full} s, then {empty} s");
            }
        }
    }

    #[test]
    fn it_ends_as_soon_as_no_more_arrives_and_does_not_begin_again() {
        // Somebody who had filled a part of a long queue has gone.
        let mut link = Link::of(behind_a_full_queue(), 8e6, 0.6, 6e6);
        let mut longest = 0f64;
        for _ in 0..1200 {
            link.run(0.05);
            longest = longest.max(link.queue_seconds());
        }
        assert!(longest < 2.5, "{longest} s of 6 s");
        assert!(link.queue_seconds() < 0.1, "{} s", link.queue_seconds());
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
