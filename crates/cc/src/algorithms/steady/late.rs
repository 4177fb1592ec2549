//! What a sender does that came to a long path whose queue others had filled.
//!
//! It has taken their queue for the length of the path, so that its packets seem to have none, and has next to nothing of the path when
//! the first of them is lost. When they leave room the path turns out to be shorter than it ever was, which shows that they were there.
//! Where packet trains had found out how long the path is, a jump that is lost behind long round trips shows it at once.

use bentpipe_units::{Instant, Span};

use super::company::{FAR, LONG, Others};
use super::delay::Queues;
use super::{BETA, Shows, Stage, Steady};
use crate::PathView;

/// Losses of less than this part do not stop who has little.
const BORNE: f64 = 0.5;
/// Who came to a queue of others doubles up to this part of what the path carries.
const PART: f64 = 0.6;

impl Steady {
    /// An interval ended with these queues.
    pub(super) fn look_for_older(&mut self, now: Instant, queues: Queues) {
        let is_shorter = self.known.is_found_shorter(queues);
        let found_queue = self.known.found_queue();
        let base = self.known.base();
        if base < FAR {
            return;
        }
        let interval = self.known.interval();
        if found_queue {
            return self.begin_behind();
        }
        if self.company.has_most(interval.rate) {
            return self.forget_older();
        }
        if is_shorter && interval.limited && !self.known.has_resumed(now) {
            let has_less = !self.came_late() && !self.company.has_enough(interval.rate);
            self.company.meet_for_certain();
            // What it jumped to was for the longer path.
            if let Some(fills) = self.company.fills(self.known.trip()) {
                self.window.set(self.window.cwnd().min(fills));
            }
            let is_led = matches!(self.stage, Stage::Contends { .. } | Stage::LikeBbr { .. });
            if has_less && !is_led && self.again.may_begin() {
                self.start_again(Some(self.known.longest()));
            }
        }
    }

    /// The first packets found a queue that nothing of this sender had filled, and a jump to all that the path carries was lost in it.
    fn begin_behind(&mut self) {
        self.company.meet_for_certain();
        let is_led = matches!(self.stage, Stage::Contends { .. } | Stage::LikeBbr { .. });
        if !is_led && self.again.may_begin() {
            self.start_again(None);
        }
    }

    /// Next to nothing is left of the path that others could have.
    fn forget_older(&mut self) {
        if self.company.are_older_for_certain() {
            self.company.forget();
            self.rivals.forget();
        }
    }

    /// The window doubles until something is lost: round trips grow with the queue of the others. Once only, and no longer than more
    /// arrives and round trips are no longer than with their queue, if they were ever without it: else the queue is this sender's own.
    fn start_again(&mut self, longest: Option<Span>) {
        self.window.set_ssthresh(f64::INFINITY);
        self.start.end();
        self.again.begin(longest);
        self.stage = Stage::Start;
    }

    /// Whether slow start that began again has doubled for long enough.
    pub(super) fn has_filled(&mut self, queue: Span) -> bool {
        let (trip, rate) = (self.known.base() + queue, self.known.interval().rate);
        let goes_on = matches!(self.stage, Stage::Start);
        let has_part = self.again.goes_on() && self.has_part();
        let is_alone = self.again.goes_on() && self.company.has_most(rate);
        self.again.look(trip, rate, goes_on) || has_part || is_alone
    }

    /// The window is a fair part of what the path carries in round trips of now.
    fn has_part(&self) -> bool {
        let fills = self.company.fills(self.known.trip() + self.known.latest_queue());
        fills.is_some_and(|fills| self.window.cwnd() >= PART * fills)
    }

    /// It has doubled for a while since the path is full: what it was is of no account, if the queue is its own.
    pub(super) fn stop_doubling(&mut self, path: &PathView, queue: Span) {
        if !self.again.was_told() && !self.company.has_most(self.known.interval().rate) {
            self.shows = Shows::Later(0);
            return self.contend(path.now);
        }
        self.company.forget();
        self.rivals.forget();
        let left = self.known.fitting().min(self.known.part(queue) * self.window.cwnd());
        self.cut_to(left, left, 0);
    }

    /// Losses do not end slow start beside others who have nearly all: they have as many.
    pub(super) fn bears_losses(&self) -> bool {
        let interval = self.known.interval();
        let few = interval.lost.is_none_or(|lost| lost < BORNE);
        self.again.goes_on() && self.came_late() && few && self.company.has_little(interval.rate)
    }

    /// Others were there before over a long path.
    pub(super) fn came_late(&self) -> bool {
        self.known.base() >= LONG && self.company.others() == Others::Older
    }

    /// Slow start ended by a loss beside others who fill the queue: it is no question of whose it is.
    pub(super) fn contend_from_start(&mut self, path: &PathView) {
        self.contend(path.now);
        // What was lost until then says nothing of the window that is left.
        self.shows = Shows::Later(0);
        self.contest.lose(self.window.segments());
        self.window.set(BETA * self.window.cwnd());
    }
}

#[cfg(test)]
mod tests;
