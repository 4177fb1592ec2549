//! What becomes of the window at the end of an interval.

use bentpipe_units::{Instant, Span};

use super::company::Others;
use super::delay::Queues;
use super::{FAILURES, Shows, Stage, Steady};
use crate::PathView;

/// The fastest growth of a window that leaves the queue empty.
const FASTEST: f64 = 0.5;
/// What a window that is far below what the path carried not long ago grows by to see whether it carries that again.
const TRIES: f64 = 0.125;
/// The most that it grows by if it does.
const MOST_AT_ONCE: f64 = 4.0;
/// So many round trips after a try that has shown a queue, or a cut to less than this part of the window, it tries again.
const TRIES_APART: u64 = 8;
const DEEP_CUT: f64 = 0.75;
/// The fastest growth beside others who have about as much.
const FASTEST_BESIDE: f64 = 0.125;
/// What is missing doubles so often.
const STEPS: u32 = 5;
/// Part of the target by which a window grows that has its queue.
const DRIFT: f64 = 1.0 / 8.0;
/// It is a segment at least for each of these in a round trip, and so many at most.
const EQUAL_TRIP: f64 = 0.05;
const EQUAL_MOST: f64 = 3.0;
/// After growth by this part of the target the queue is this part of the growth longer, if the path is full.
const SHOWS: f64 = 0.75;
const HEEDS: f64 = 0.25;
/// What is under way beyond a window that was cut is gone after so many intervals, or waits to be retransmitted.
const FITS_WITHIN: u32 = 4;
/// A path that seems to have become longer is looked at again after so many round trips, with this part of the window.
const VERIFIES_AFTER: u64 = 24;
/// Where a pause is all that says so, earlier.
const VERIFIES_SOON: u64 = 6;
const VERIFIES: f64 = 0.75;

impl Steady {
    /// An interval ended in which the queue was so long.
    pub(super) fn step(&mut self, path: &PathView, queues: Queues) {
        let is_low = self.keeps_low(path.now, queues.shortest);
        self.known.set_low(is_low);
        let (queue, target, cwnd) = (queues.shortest, self.known.target(), self.window.cwnd());
        let usual = self.known.usual();
        let exceeded = matches!(self.shows, Shows::Later(_));
        if let Shows::Later(intervals) = self.shows {
            let fits = path.in_flight.get() as f64 <= cwnd + self.window.mss();
            let has_waited = intervals >= FITS_WITHIN;
            self.shows = if fits || has_waited {
                Shows::From(path.now)
            } else {
                Shows::Later(intervals + 1)
            };
        }
        if let Stage::LikeBbr { since } = self.stage {
            return self.led_by_bbr(path, since, queue <= usual);
        }
        // All of the interval shows what became of the window, or its end.
        let sent = self.known.interval().sent;
        let [all_shows, shows] = sent.map(|sent| self.shows.what_left(sent));
        let limited = self.known.interval().limited;
        let is_deep = !self.known.begins() && self.known.is_deep(queue);
        let sheds = limited && is_deep && self.known.exceeds(cwnd);
        self.look_for_others(path.now, queue, sheds);
        self.look_for_older(path.now, queues);
        self.look_for_traces(path.now, queue);
        if self.known.measures_anew() && limited && queue > usual && !self.is_led_by_others() {
            self.believe_longer(path.now, queue, VERIFIES_SOON);
            self.follow_from(path.now);
        }
        if matches!(self.stage, Stage::Contends { .. }) {
            self.rivals.look(path.now, self.known.base() + queue);
        }
        let has_filled = self.has_filled(queue);
        match self.stage {
            Stage::Start if has_filled => self.stop_doubling(path, queue),
            Stage::Doubts { before } if !limited => {
                self.window.set(before);
                self.follow_from(path.now);
            }
            Stage::Doubts { before } => {
                if all_shows && let Some(is_noise) = self.known.answer(cwnd) {
                    self.window.set(if is_noise { before } else { cwnd });
                    self.follow_from(path.now + self.known.trip());
                }
            }
            Stage::Follows { .. } if all_shows && queue <= usual * 2 && self.known.doubts(cwnd) => {
                self.window.set(self.known.ask() * cwnd);
                (self.shows, self.run) = (Shows::Later(0), None);
                self.stage = Stage::Doubts { before: cwnd };
            }
            _ if all_shows
                && !self.again.goes_on()
                && self.known.is_hopeless()
                && self.known.exceeds(cwnd) =>
            {
                let failures = self.expected_failures(path.now);
                self.cut_to(self.known.fitting().max(cwnd / 2.0), cwnd, failures);
            }
            // Nothing shows whether the cut helped, and where it is asked for a short queue the next one follows soon.
            Stage::Settles { before, .. } if !limited && self.known.is_low() => {
                self.window.set(before);
                self.follow_from(path.now);
            }
            // Where the application is the limit the window is not to blame.
            Stage::Follows { .. } | Stage::Settles { .. } if !limited => self.follow_from(path.now),
            Stage::Follows { .. } if self.verify.is_some_and(|at| path.now >= at) => self.verify(),
            Stage::Follows { .. } | Stage::Asks { .. } | Stage::Tries { .. } if sheds => {
                self.cut_to(self.known.fitting(), cwnd, self.expected_failures(path.now));
            }
            Stage::Follows { .. } if queue > usual * 2 && self.others_return(path.now) => {
                self.contend(path.now);
            }
            Stage::Follows { .. } | Stage::Settles { .. }
                if self.is_alone() && self.known.is_sudden(queues) =>
            {
                self.ask(path.now, queues);
            }
            Stage::Asks { before, .. } | Stage::Tries { before, .. } if !limited => {
                self.window.set(before);
                self.follow_from(path.now);
            }
            Stage::Tries { before, steps, again } if shows => {
                self.tried(path.now, queues, (before, steps), again);
            }
            Stage::Asks { before, queues: asked } if shows => {
                if self.is_alone()
                    && !self.known.is_lossy()
                    && queues.stay(asked, self.known.asks())
                {
                    self.lengthen(path.now, queue, before);
                } else if queue > self.known.most() {
                    self.cut(queue, before, self.expected_failures(path.now));
                } else {
                    self.follow_from(path.now);
                }
            }
            // A try has left it, of which more was under way than fits the window.
            Stage::Follows { .. } if exceeded => {}
            Stage::Follows { .. } | Stage::Yields { .. } if queue > self.known.most() => {
                self.cut(queue, cwnd, self.expected_failures(path.now));
            }
            Stage::Follows { .. } if self.known.overflows_at_once(queues) => {
                self.cut(queues.longest, cwnd, self.expected_failures(path.now));
            }
            Stage::Yields { since } => self.yielded(path.now, since, queue),
            Stage::Follows { .. } if all_shows && self.company.wants_room(path.now) => {
                self.leave_room(path.now);
            }
            Stage::Follows { steps } if all_shows || shows && self.known.is_far(cwnd, queue) => {
                self.follow(path.now, queues, steps);
            }
            Stage::Verifies { before } if shows || !limited => {
                self.window.set(before);
                self.follow_from(path.now + self.known.trip());
            }
            Stage::Settles { before, .. }
                if shows && queue > usual * 2 && self.heeds_no_cut() && !self.others_creep() =>
            {
                self.lengthen(path.now, queue, before);
            }
            // The path has come to carry much less since the first cut, or others came: the next steps tell.
            Stage::Settles { before, failures: 0 } if !shows && sheds => {
                self.cut_to(self.known.fitting(), before, 1);
            }
            // What left before the cut leaves it empty as well where the path carries more again.
            Stage::Settles { .. }
                if queue * 4 < target
                    && (shows || self.is_alone() && self.known.is_far(cwnd, queue)) =>
            {
                self.follow_from(path.now);
                self.follow(path.now, queues, 0);
            }
            Stage::Settles { before, failures } if all_shows => {
                let failures = if self.others_creep() { FAILURES } else { failures };
                self.judge(path.now, queue, before, failures);
            }
            Stage::Contends { .. } if queue <= usual => {
                self.rivals.end(path.now);
                self.follow_from(path.now);
            }
            Stage::Contends { .. } if self.known.heeds_no_growth() => {
                self.lengthen(path.now, queue, cwnd);
            }
            _ => {}
        }
    }

    /// What waits on the way back makes round trips longer, and the window with them.
    pub(super) fn take_along(&mut self) {
        let follows = !self.is_led_by_others() && !matches!(self.stage, Stage::LikeBbr { .. });
        // What waits for something to arrive was made for the way back of then.
        if self.paused.is_some() {
            return;
        }
        let Some(part) = self.known.takes_along(follows) else { return };
        self.window.set(part * self.window.cwnd());
        self.run = None;
        if let Stage::Settles { before, .. }
        | Stage::Verifies { before }
        | Stage::Asks { before, .. }
        | Stage::Tries { before, .. }
        | Stage::Doubts { before } = &mut self.stage
        {
            *before *= part;
        }
    }

    /// Whether the queue is kept short for something that cannot wait: beside others it does not say alone how long it is.
    fn keeps_low(&mut self, now: Instant, queue: Span) -> bool {
        let (is_low, follows) = (self.known.is_low(), matches!(self.stage, Stage::Follows { .. }));
        // One that is longer than it ever is as a rule is somebody else's, or that of a path that carries less.
        let is_long = is_low && queue > self.known.usual() * 5 / 2;
        if is_long || matches!(self.stage, Stage::Contends { .. } | Stage::LikeBbr { .. }) {
            self.low.give_up(now);
        }
        // What slow start has left goes as ever.
        (is_low || follows)
            && self.is_alone()
            && !self.is_led_by_others()
            && self.low.is_wanted(now)
    }

    /// The queue is what others, or slow start, make of it.
    pub(super) const fn is_led_by_others(&self) -> bool {
        matches!(self.stage, Stage::Start | Stage::Contends { .. })
    }

    /// The window grows to have its queue, and slowly when it has it.
    fn follow(&mut self, now: Instant, queues: Queues, steps: u32) {
        let (queue, target, cwnd) = (queues.shortest, self.known.target(), self.window.cwnd());
        self.stage = Stage::Follows { steps: 0 };
        if self.known.overflows(queues) {
            return self.cut(queues.longest, cwnd, self.expected_failures(now));
        }
        if self.known.is_lossy() {
            // It goes on from where it was: bursts make every other interval lossy.
            self.stage = Stage::Follows { steps };
            return;
        }
        if queue * 2 > target {
            return self.drift(now, queue);
        }
        if self.known.is_bounded(cwnd) {
            return self.window.add(self.equal_step());
        }
        let is_far = self.is_alone() && self.known.is_far(cwnd, queue);
        if is_far && now >= self.tries_from {
            // Others who cut their window as well fill the queue in the meantime.
            let contended = self.rivals.were_contended_with(now, self.known.base());
            self.try_what_was(now, (cwnd, steps), u32::from(contended));
        } else {
            self.grow(now, queue, steps);
        }
    }

    /// The window leaves the queue empty, and grows by more each time.
    fn grow(&mut self, now: Instant, queue: Span, steps: u32) {
        let (target, trip) = (self.known.target(), self.known.trip());
        let missing = target.saturating_sub(queue).as_secs_f64() / trip.max(target).as_secs_f64();
        let reach = self.reach();
        let (first, fastest) = match self.company.others() {
            Others::None => (missing, FASTEST * reach),
            // Those who came take first what is left.
            Others::Newer => return self.window.add(self.equal_step()),
            Others::Equal => (missing, FASTEST_BESIDE * reach),
            Others::Older if self.company.has_enough(self.known.interval().rate) => {
                (missing, FASTEST_BESIDE * reach)
            }
            Others::Older => (FASTEST * reach, FASTEST * reach),
        };
        let growth = (first * f64::from(1u32 << steps)).min(fastest.max(first));
        self.window.add(growth * self.window.cwnd());
        // The pace lets a larger window in over a round trip.
        self.follow_from(now + trip);
        self.stage = Stage::Follows { steps: (steps + 1).min(STEPS) };
    }

    /// What a step puts into the queue until that shows is no more than without what waits on the way back.
    fn reach(&self) -> f64 {
        let trip = self.known.trip().max(self.known.target());
        self.known.base().as_secs_f64() / trip.as_secs_f64()
    }

    /// A window that is far below what filled the path not long ago leaves the queue empty. A little more that leaves at the rate of
    /// then shows within a round trip whether the path carries that again.
    fn try_what_was(&mut self, now: Instant, (before, steps): (f64, u32), again: u32) {
        let cwnd = self.window.cwnd();
        let more = TRIES * self.reach() * cwnd;
        self.window.add(more);
        let shows = now + self.known.trip().mul_f64(more / self.known.best_window());
        (self.shows, self.run) = (Shows::From(shows), None);
        self.known.end_interval_with(shows, shows + self.known.trip() * 2);
        self.stage = Stage::Tries { before, steps, again };
    }

    /// What left at that rate shows.
    fn tried(&mut self, now: Instant, queues: Queues, (before, steps): (f64, u32), again: u32) {
        let cwnd = self.window.cwnd();
        let is_long = queues.longest > self.known.most_after_try(cwnd - before);
        // Where nothing waits what is too much is lost.
        let loses = self.known.lost_above_usual() > (1.0 - before / cwnd) / 2.0;
        if is_long || loses || !self.is_alone() {
            self.try_later(now, TRIES_APART);
            self.window.set(before);
            (self.shows, self.run) = (Shows::Later(0), None);
            self.stage = Stage::Follows { steps };
            return;
        }
        match again.checked_sub(1) {
            Some(again) => self.try_what_was(now, (before, steps), again),
            None => self.return_to_what_was(now),
        }
    }

    /// It does not try for so many round trips.
    pub(super) fn try_later(&mut self, now: Instant, trips: u64) {
        self.tries_from = self.tries_from.max(now + self.known.trip() * trips);
    }

    /// A try ends without an answer; gives what the window was before it.
    pub(super) fn give_up_try(&mut self, now: Instant) -> Option<f64> {
        let Stage::Tries { before, .. } = self.stage else { return None };
        self.follow_from(now);
        Some(before)
    }

    /// The window is what filled the path not long ago, or as much as it may grow at once.
    fn return_to_what_was(&mut self, now: Instant) {
        let (cwnd, reach) = (self.window.cwnd(), self.reach());
        let missing = self.known.best_window_with_queue() / cwnd - 1.0;
        self.window.add(missing.clamp(TRIES * reach, MOST_AT_ONCE * reach) * cwnd);
        self.follow_from(now + self.known.trip());
    }

    /// The path is full, and the window grows by part of the target. If the queue does not grow with it, it is not full; after a
    /// pause it is no queue, but the length of another path.
    fn drift(&mut self, now: Instant, queue: Span) {
        let (rate, cwnd) = (self.known.rate(), self.window.cwnd());
        let (target, trip) = (self.known.target().as_secs_f64(), self.known.trip().as_secs_f64());
        let (began, was) = *self.run.get_or_insert((cwnd, queue));
        let expected = (cwnd - began) / rate.max(1.0);
        if expected >= self.known.usual().as_secs_f64() * SHOWS {
            if queue.as_secs_f64() < was.as_secs_f64() + expected * HEEDS {
                self.window.add(cwnd * target / trip.max(target));
                if self.is_alone() && self.known.has_resumed(now) {
                    self.believe_longer(now, queue, VERIFIES_AFTER);
                    return self.follow_from(now + self.known.trip());
                }
            }
            self.run = Some((self.window.cwnd(), queue));
        }
        let least = if self.known.is_low() { self.window.mss() } else { self.equal_step() };
        self.window.add((rate * target * DRIFT).max(least));
    }

    /// So much at least for all who share the path, whatever they have of it: that makes their parts equal.
    fn equal_step(&self) -> f64 {
        self.window.mss() * (self.known.base().as_secs_f64() / EQUAL_TRIP).min(EQUAL_MOST)
    }

    /// The window leaves less of the queue by what was there before and a little more, if it is one: over a path that has become
    /// longer the step stays.
    fn ask(&mut self, now: Instant, queues: Queues) {
        let before = self.window.cwnd();
        let trip = self.known.trip() + queues.shortest;
        let less = queues.before + self.known.asks();
        self.window.set(before * (1.0 - less.as_secs_f64() / trip.as_secs_f64()));
        let shows = now + less;
        (self.shows, self.run) = (Shows::From(shows), None);
        self.known.end_interval_with(shows, shows + trip * 2);
        self.stage = Stage::Asks { before, queues };
    }

    /// The window is what leaves little in the queue.
    pub(super) fn cut(&mut self, queue: Span, before: f64, failures: u32) {
        self.cut_to(self.known.part(queue) * self.window.cwnd(), before, failures);
    }

    /// The window is so large now, and was `before` when the first cut of these was made.
    pub(super) fn cut_to(&mut self, bytes: f64, before: f64, failures: u32) {
        let cwnd = self.window.cwnd();
        if bytes < cwnd * DEEP_CUT {
            // What is empty then was emptied by all who cut their windows.
            self.try_later(self.seen, TRIES_APART);
        }
        self.window.set(bytes.min(cwnd));
        (self.shows, self.run) = (Shows::Later(0), None);
        self.stage = Stage::Settles { before, failures };
    }

    /// A cut shows by now: it helped, or the queue is another one's.
    fn judge(&mut self, now: Instant, queue: Span, before: f64, failures: u32) {
        let (target, goal, is_low) = (self.known.target(), self.known.goal(), self.known.is_low());
        // Cuts for a short queue are too small to show that none is heeded.
        if !is_low && queue > goal + target / 4 && self.heeds_no_cut() {
            // What is left of it does not heed the window.
            self.believe_longer(now, queue.saturating_sub(goal), VERIFIES_AFTER);
            self.stage = Stage::Follows { steps: 0 };
        } else if queue <= self.known.most() {
            self.low.helps();
            self.stage = Stage::Follows { steps: 0 };
        } else if is_low && self.low.gives_up(now) {
            // Somebody else may be there, who would have all of the path beside a shorter queue.
            self.window.set(before);
            self.follow_from(now);
        } else if is_low || failures < self.failures() {
            self.cut(queue, before, failures + 1);
        } else {
            self.window.set(before);
            self.contend(now);
        }
    }

    /// The window moves like CUBIC's from now on.
    pub(super) fn contend(&mut self, now: Instant) {
        self.contest.pause();
        self.rivals.fill(now, self.known.base());
        self.stage = Stage::Contends { since: now };
    }

    /// The path is longer by what seemed to be a queue: the window that filled it has to be larger.
    fn lengthen(&mut self, now: Instant, queue: Span, before: f64) {
        self.believe_longer(now, queue, VERIFIES_AFTER);
        let trip = self.known.trip().as_secs_f64();
        let longer = before * (1.0 + queue.as_secs_f64() / trip);
        self.window.set(before.max(longer.min(self.known.best_window_spared())));
        (self.shows, self.run) = (Shows::Later(0), None);
        self.stage = Stage::Follows { steps: 0 };
    }

    /// The path is longer by that, which is looked at again after so many round trips.
    fn believe_longer(&mut self, now: Instant, by: Span, trips: u64) {
        self.known.lengthen(by);
        self.company.forget();
        self.verify = Some(now + self.known.trip() * trips);
    }

    /// Whether round trips become shorter with a smaller window is seen for a moment: a queue that was taken for a longer
    /// path is no longer one then.
    fn verify(&mut self) {
        let before = self.window.cwnd();
        self.window.set(before * VERIFIES);
        (self.verify, self.shows, self.run) = (None, Shows::Later(0), None);
        self.stage = Stage::Verifies { before };
    }

    /// The window follows the queue, which shows what became of it by what leaves from then on.
    pub(super) fn follow_from(&mut self, shows: Instant) {
        self.stage = Stage::Follows { steps: 0 };
        (self.shows, self.run) = (Shows::From(shows), None);
    }
}
