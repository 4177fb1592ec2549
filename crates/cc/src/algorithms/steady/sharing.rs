//! What the window does for others who share a long path, and beside them.

use bentpipe_units::{Instant, Span};

use super::company::{LONG, Others};
use super::like_bbr::Shown;
use super::traces::Seen;
use super::{BETA, FAILURES, Shows, Stage, Steady};
use crate::PathView;

/// What is left of the window where somebody came, and for how many round trips.
const LEAVES: f64 = 0.8;
const LEAVES_TRIPS: u64 = 6;
/// Cuts in a row that do not help while somebody else is in slow start, which fills the queue for a while only.
const FAILURES_NEWER: u32 = 5;
/// Headers, repeats and parity of a call of one's own take about so much of what the path carried before.
const CALL_TAKES: f64 = 0.03;
/// Who comes fills the queue step by step: one of more targets is that of a longer path, or of one that carries less.
const SUDDEN: u64 = 4;
/// Others fill the queue for so long at least, or so many round trips.
const CONTENDS: Span = Span::from_secs(10);
const CONTENDS_TRIPS: u64 = 12;
/// They fill it for so many times as long where they were there before: to ask costs more than a queue that stands for a while if they go.
const CONTENDS_OLDER: u64 = 3;
/// Where they answer no loss, few change the window over a long path, as long as less than this is lost in the long run.
const MOST_LOST: f64 = 0.1;
/// What a loss leaves of a window that has enough of a long path: others have CUBIC's part then.
const BETA_OF_ENOUGH: f64 = 0.7;
/// After so long with BBR in the lead it is looked at anew whether they answer, as two of this kind take each other for BBR.
const LASTS: Span = Span::from_secs(60);
/// BBR does not lead again for so many round trips then, in which another of this kind finds out.
const RESTS: u64 = 256;

impl Steady {
    /// An interval ended in which the queue was so long, or so that the window `sheds` most of it.
    pub(super) fn look_for_others(&mut self, now: Instant, queue: Span, sheds: bool) {
        let slow_start = matches!(self.stage, Stage::Start);
        let interval = self.known.interval();
        // After an outage, where more is lost than usually, or where acknowledgements come in bunches, what arrives tells nothing.
        if sheds || interval.paused || self.known.loses() || self.known.hears_late() {
            self.company.doubt();
        } else if interval.limited && !slow_start && queue <= self.known.usual() * SUDDEN {
            let is_empty = queue * 4 < self.known.usual();
            let own = if self.low.passes(now) { CALL_TAKES } else { 0.0 };
            self.company.look(self.known.base(), self.known.part_of_best() + own, is_empty);
        }
    }

    /// Over a long path others are known by what the window cannot have done, before cuts without help would show them.
    pub(super) fn look_for_traces(&mut self, now: Instant, queue: Span) {
        let cut_from = if let Stage::Settles { before, .. } = self.stage { before } else { 0.0 };
        let left = self.traces.look(&Seen {
            trip: self.known.base() + queue,
            target: self.known.usual(),
            is_short: queue <= self.known.usual(),
            is_deep: self.known.is_deep(queue),
            window: self.window.cwnd(),
            cut_from,
            rate: self.known.rate(),
        });
        let tells = self.known.interval().limited && !self.known.hears_late();
        if self.known.base() < LONG || !tells {
            return self.traces.forget();
        }
        let have_left = left && !self.is_led_by_others() && !self.known.has_resumed(now);
        if have_left || self.others_creep() {
            self.rivals.leave(now);
        }
    }

    /// Others fill the queue step by step.
    pub(super) fn others_creep(&self) -> bool {
        self.traces.creep() && self.company.others() != Others::Newer
    }

    /// They fill it again over a long path, who had left for a moment.
    pub(super) fn others_return(&self, now: Instant) -> bool {
        let is_long = self.known.base() >= LONG && self.company.others() != Others::Newer;
        is_long && self.rivals.return_soon(now, self.known.base())
    }

    /// Nobody else is there, as far as is known.
    pub(super) fn is_alone(&self) -> bool {
        self.company.others() == Others::None
    }

    /// The window is smaller for a moment, so that somebody who came has room.
    pub(super) fn leave_room(&mut self, now: Instant) {
        self.window.set(LEAVES * self.window.cwnd());
        (self.shows, self.run) = (Shows::Later(0), None);
        self.stage = Stage::Yields { since: now };
    }

    /// Room was left since then: after a while the queue shows whether it was taken.
    pub(super) fn yielded(&mut self, now: Instant, since: Instant, queue: Span) {
        if now.since(since) > self.known.base() * LEAVES_TRIPS {
            self.company.took(now, queue * 2 > self.known.usual());
            self.follow_from(now);
        }
    }

    /// Round trips stay the same though the window was cut, and nobody is there who could have filled the room.
    pub(super) fn heeds_no_cut(&self) -> bool {
        (self.is_alone() || self.came_late()) && self.known.heeds_no_cut()
    }

    /// So many cuts may fail before others are taken for some who fill the queue.
    pub(super) fn failures(&self) -> u32 {
        if self.company.others() == Others::Newer { FAILURES_NEWER } else { FAILURES }
    }

    /// So many cuts are taken for failed before the first one: those who filled the queue a moment ago fill it again.
    pub(super) fn expected_failures(&self, now: Instant) -> u32 {
        let contends = matches!(self.stage, Stage::Contends { .. });
        if contends || self.rivals.are_known(now) { FAILURES } else { 0 }
    }

    /// A loss that noise does not explain, beside others who have filled the queue for so long.
    pub(super) fn overflowed_beside(&mut self, path: &PathView, queue: Span, lasts: Span) {
        let cwnd = self.window.cwnd();
        let long = CONTENDS.max(self.known.base() * CONTENDS_TRIPS)
            * if self.company.are_older_for_certain() { CONTENDS_OLDER } else { 1 };
        let recovers = self.contest.recovers_within(self.window.segments());
        self.rivals.lose(path.now, path.latest_rtt, recovers);
        let is_long = self.known.base() >= LONG;
        if !is_long && self.rivals.never_answer(path.now) {
            return self.follow_bbr(path);
        }
        if is_long && self.rivals.answer_no_loss(path.now) && self.known.usual_loss() < MOST_LOST {
            if self.rivals.want_cut(path.now, self.known.base()) {
                self.contest.lose(self.window.segments());
                self.window.set(BETA * cwnd);
            }
            return;
        }
        let fills = self.known.rate() * self.known.trip().as_secs_f64();
        self.contest.lose(self.window.segments());
        let left = if is_long && self.company.has_enough(self.known.rate()) {
            BETA_OF_ENOUGH * cwnd
        } else {
            (BETA * cwnd).max(fills.min(cwnd))
        };
        if lasts < long {
            return self.window.set(left);
        }
        // Whoever follows the queue as this does has the same loss: where there is nobody else it drains now.
        self.cut_to(self.known.part(queue) * left, left, FAILURES);
    }

    /// The others answer no loss.
    fn follow_bbr(&mut self, path: &PathView) {
        self.like_bbr.begin(path);
        self.stage = Stage::LikeBbr { since: path.now };
    }

    /// Something else takes the lead from BBR, if it has it.
    pub(super) fn interrupt_bbr(&mut self, now: Instant) {
        if matches!(self.stage, Stage::LikeBbr { .. }) {
            self.rivals.rest(now + self.known.base() * RESTS);
        }
    }

    /// An interval ended in which BBR led.
    pub(super) fn led_by_bbr(&mut self, path: &PathView, since: Instant, is_empty: bool) {
        let now = path.now;
        let rests = now + self.known.base() * RESTS;
        match self.like_bbr.look(path.delivered, is_empty) {
            Shown::Left => {
                self.rivals.rest(rests);
                // BBR has twice the product under way, and paces.
                let trip = (self.known.trip() + self.known.usual()).as_secs_f64();
                let fills = self.known.rate() * trip;
                self.cut_to(fills, self.window.cwnd(), 0);
            }
            Shown::Answer => {
                self.rivals.misjudged(now);
                self.contend(now);
            }
            Shown::Stay if now.since(since) > LASTS && !self.like_bbr.measures() => {
                self.rivals.rest(rests);
                self.contend(now);
            }
            Shown::Stay => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::Play;
    use crate::{LossCause, Phase};

    const CONTENDS: Phase = Phase::Other("contending");

    /// A window that follows the queue of a path of 600 ms.
    fn follows() -> Play {
        let mut play = Play::new("steady", &[("initial_ssthresh", 64.0)]);
        play.set_rtt(0.6);
        play.rounds(12);
        assert_eq!(play.phase(), Phase::CongestionAvoidance);
        play
    }

    /// Round trips become longer by 40 ms each time, until the window contends or so often.
    fn creep(play: &mut Play, most: u64) -> u64 {
        let contends = |step: &u64| {
            play.set_rtt(0.64 + 0.04 * *step as f64);
            play.round();
            play.phase() == CONTENDS
        };
        (0..most).find(contends).unwrap_or(most)
    }

    #[test]
    fn over_a_long_path_a_queue_that_others_fill_step_by_step_is_contended_for_after_one_cut() {
        let mut play = follows();
        let before = play.segments();
        let steps = creep(&mut play, 12);
        assert!(steps < 8, "{steps} round trips");
        assert!(play.segments() >= 0.95 * before, "{} of {before}", play.segments());
    }

    #[test]
    fn a_path_that_becomes_longer_at_once_is_not_contended_for() {
        let mut play = follows();
        play.set_rtt(0.8);
        for _ in 0..30 {
            play.round();
            assert_ne!(play.phase(), CONTENDS);
        }
        assert!(play.gauge("min_rtt_s") > 0.75, "{}", play.gauge("min_rtt_s"));
    }

    #[test]
    fn those_who_empty_the_queue_for_a_moment_are_contended_with_as_soon_as_they_are_back() {
        let mut play = follows();
        assert!(creep(&mut play, 12) < 12);
        play.set_rtt(0.6);
        play.rounds(3);
        assert_eq!(play.phase(), Phase::CongestionAvoidance);
        let before = play.segments();
        play.set_rtt(0.9);
        play.rounds(2);
        assert_eq!(play.phase(), CONTENDS);
        assert!(play.segments() >= before, "{} of {before}", play.segments());
        let full = play.segments();
        play.lose(LossCause::Nack);
        assert!(play.segments() < full, "losses are answered as ever");
    }
}
