//! What is known of the path: its round trip without a queue, the queue, and what it delivers.

use bentpipe_units::{ByteCount, Instant, Span};

use super::arrivals::{Arrivals, Interval};
use super::company::{FAR, LONG};
use super::delay::{Delay, Queues};
use super::noise::Noise;
use super::recalled::Recalled;
use crate::{Ack, KnownPath, PathView};

/// What is under way for each byte that arrives in a round trip: reports come a few times in one, and what is lost has its
/// place in the window.
const SPARE: f64 = 1.25;
/// A window beyond this part of another one is about as large.
const ALIKE: f64 = 0.8;
/// A queue that is the same so often in a row, though the window was cut, is none: round trips are longer for another reason.
/// Where the window has less than `LARGE` of what the path carried not long ago, it takes longer to be seen.
const STILL: u32 = 2;
const STILL_SMALL: u32 = 4;
const STILL_CONTENDING: u32 = 24;
const LARGE: f64 = 0.5;
/// Losses above the usual part by so much show a short queue that overflows.
const OVERFLOW: f64 = 0.02;
const OVERFLOW_AT_ONCE: f64 = 0.03;
/// Round trips that fall by one part in so many below the shortest of all so far show that others filled the queue.
const FULL_BEFORE: u64 = 8;
/// Of somebody who begins nothing was heard for so many round trips.
const SILENT: u64 = 2;
/// What is taken from a queue to see whether it is one, in smallest targets.
const ASKS: u64 = 3;
/// For so many round trips after a pause the path may be another one than before.
const RESUMES_FOR: u64 = 32;

/// The knowledge.
#[derive(Debug, Default)]
pub(super) struct Known {
    arrivals: Arrivals,
    delay: Delay,
    noise: Noise,
    recalled: Recalled,
    /// The interval that ended last.
    interval: Interval,
    /// When something arrived last, and whether the window was the limit then.
    heard: (Instant, bool),
    resumed: Option<Resumed>,
}

/// Something arrives again after a pause, as a handover makes one.
#[derive(Clone, Copy, Debug)]
struct Resumed {
    since: Instant,
    /// An interval has shown how long the path is since.
    is_measured: bool,
}

impl Known {
    /// Looks at an acknowledgement; gives the queues of the interval that it ends. Slow start tells nothing of how much round
    /// trips differ by themselves.
    pub(super) fn measure(
        &mut self,
        path: &PathView,
        ack: &Ack,
        cwnd: f64,
        slow_start: bool,
    ) -> Option<Queues> {
        self.delay.measure(path);
        self.look_for_pause(path);
        // Acknowledgements that waited on the way back come in bunches, what they tell of did not.
        let arrived_at = path.now.before(self.delay.back().waited());
        let trips = (self.delay.base(), self.delay.trip());
        if self.has_emptied(path, cwnd) {
            self.arrivals.end();
        }
        self.interval = self.arrivals.take(path, ack, arrived_at, trips, cwnd)?;
        if let Some(lost) = self.interval.lost {
            self.noise.take(lost);
        }
        self.delay.take(!slow_start)
    }

    /// Over a long path the queue is empty of a sudden, though the window is small: the path carries more again.
    fn has_emptied(&self, path: &PathView, cwnd: f64) -> bool {
        let was_empty = self.is_empty(self.delay.latest());
        self.base() >= LONG && !was_empty && self.is_far(cwnd, self.queue(path))
    }

    /// Where nothing came for longer than a round trip although the window was full, the path was not there.
    fn look_for_pause(&mut self, path: &PathView) {
        let (heard, limited) = std::mem::replace(&mut self.heard, (path.now, path.cwnd_limited));
        if limited && path.cwnd_limited && path.now.since(heard) > path.srtt.mul_div(9, 8) {
            self.resumed = Some(Resumed { since: path.now, is_measured: false });
        }
    }

    /// Whether the interval that ended is the first one of which all was sent after a pause.
    pub(super) fn measures_anew(&mut self) -> bool {
        let sent = self.interval.sent[0];
        let first = self.resumed.as_mut().filter(|resumed| sent >= resumed.since);
        first.is_some_and(|resumed| !std::mem::replace(&mut resumed.is_measured, true))
    }

    /// There was a pause not long ago: the path may be another one.
    pub(super) fn has_resumed(&self, now: Instant) -> bool {
        self.resumed.is_some_and(|resumed| now.since(resumed.since) < self.base() * RESUMES_FOR)
    }

    /// So much was lost, and not by noise.
    pub(super) fn lost(&mut self, bytes: ByteCount) {
        self.arrivals.lost(bytes);
    }

    /// The interval of now ends with the first that arrives of what is sent from then on, if it does before the other time.
    pub(super) const fn end_interval_with(&mut self, sent: Instant, by: Instant) {
        self.arrivals.end_with(sent, by);
    }

    /// The interval that ended last.
    pub(super) const fn interval(&self) -> &Interval {
        &self.interval
    }

    /// Bytes a second that the path delivered of late.
    pub(super) fn rate(&self) -> f64 {
        self.arrivals.rate()
    }

    /// The part of what the path carried at best that it carries of late.
    pub(super) fn part_of_best(&self) -> f64 {
        self.rate() / self.arrivals.best().max(1.0)
    }

    /// The round trip without a queue.
    pub(super) fn base(&self) -> Span {
        self.delay.base()
    }

    /// The round trip without a queue of the window: with what waits on the way back.
    pub(super) fn trip(&self) -> Span {
        self.delay.trip()
    }

    /// By what a window changes with the way back, if it does, that follows the queue.
    pub(super) fn takes_along(&mut self, follows: bool) -> Option<f64> {
        self.delay.takes_along(follows)
    }

    /// So much waits on the way back that acknowledgements come in bunches.
    pub(super) fn hears_late(&self) -> bool {
        self.trip() > self.base() + self.usual()
    }

    /// The queueing delay that is wanted.
    pub(super) fn target(&self) -> Span {
        self.delay.target()
    }

    /// The one that is wanted as a rule.
    pub(super) fn usual(&self) -> Span {
        self.delay.usual()
    }

    /// Whether the queue is kept shorter than as a rule.
    pub(super) fn is_low(&self) -> bool {
        self.target() < self.usual()
    }

    /// Something passes that cannot wait, or nothing does.
    pub(super) const fn set_low(&mut self, is_low: bool) {
        self.delay.set_low(is_low);
    }

    /// All round trips of an interval with these queues are shorter than any ever was, by so much that others must have filled the
    /// queue before.
    pub(super) fn is_found_shorter(&mut self, queues: Queues) -> bool {
        self.delay.falls_by(self.base() / FULL_BEFORE, queues)
    }

    /// Somebody sends, or begins to, over a path of which this was found; or what was known of the path is not so.
    pub(super) fn recall(&mut self, path: &PathView, found: Option<KnownPath>) {
        let now = path.now;
        self.delay.back().find(path, found.and_then(|found| found.return_delay));
        let Some(trip) = found.map(|found| found.round_trip) else {
            return self.recalled.refute(now);
        };
        let begins = self.base().is_zero() || now.since(self.heard.0) > trip * SILENT;
        if trip >= FAR && begins {
            self.recalled.begin(now, trip);
            self.delay.forget_interval();
        }
    }

    /// The window is what the path was found to carry.
    pub(super) const fn jump(&mut self) {
        self.delay.back().jump();
    }

    /// Somebody has just begun: what arrived is less than what the path carries.
    pub(super) fn begins(&self) -> bool {
        self.recalled.begins()
    }

    /// Whether somebody who began found the queue of others. The path is as long as it was without it then.
    pub(super) fn found_queue(&mut self) -> bool {
        let shortest = self.base() + self.delay.latest();
        let trip = self.recalled.look(shortest);
        if let Some(trip) = trip {
            self.delay.shorten_to(trip);
        }
        trip.is_some()
    }

    /// The longest round trip of all.
    pub(super) fn longest(&self) -> Span {
        self.delay.longest()
    }

    /// The queueing delay at this moment.
    pub(super) fn queue(&self, path: &PathView) -> Span {
        self.delay.queue(path)
    }

    /// The queueing delay that nothing undercut in the interval that ended last.
    pub(super) const fn latest_queue(&self) -> Span {
        self.delay.latest()
    }

    /// The path is so much longer than it was.
    pub(super) fn lengthen(&mut self, by: Span) {
        self.delay.lengthen(by);
    }

    /// What stays of a window that has `queue` in the queue and shall have the goal there.
    pub(super) fn part(&self, queue: Span) -> f64 {
        let goal = self.goal();
        ((self.trip() + goal).as_secs_f64() / (self.trip() + queue).as_secs_f64()).min(1.0)
    }

    /// The queueing delay that a cut leaves.
    pub(super) fn goal(&self) -> Span {
        if self.is_low() { self.target() / 2 } else { self.target() * 3 / 4 }
    }

    /// The window is cut for a longer one.
    pub(super) fn most(&self) -> Span {
        if self.is_low() { self.target() * 3 / 2 } else { self.target() * 2 }
    }

    /// The window that fits what the path delivered in the last interval.
    pub(super) fn fitting(&self) -> f64 {
        let trip = (self.trip() + self.usual() / 2).as_secs_f64();
        SPARE * self.noise.sent_for_each() * self.interval.rate * trip
    }

    /// The window is far larger than that.
    pub(super) fn exceeds(&self, cwnd: f64) -> bool {
        self.fitting() < ALIKE * cwnd
    }

    /// The window that filled the path when it carried most of late.
    pub(super) fn best_window(&self) -> f64 {
        self.noise.sent_for_each() * self.arrivals.best() * self.trip().as_secs_f64()
    }

    /// The longest queue after so many bytes more than a window left as fast as the path carried them at best, if it carries that
    /// again: half of what they make where it carries no more than the window. Over short paths that is too little to be told from
    /// chance.
    pub(super) fn most_after_try(&self, more: f64) -> Span {
        if self.base() < LONG {
            return self.goal();
        }
        let seconds = |rate: f64| more / rate.max(1.0);
        let queue = (seconds(self.rate()) - seconds(self.arrivals.best())).max(0.0);
        self.goal().min(Span::from_secs_f64(queue) / 2)
    }

    /// The same with what a cut leaves in the queue.
    pub(super) fn best_window_with_queue(&self) -> f64 {
        let trip = self.trip().as_secs_f64();
        self.best_window() * (trip + self.goal().as_secs_f64()) / trip
    }

    /// The same with what is under way besides.
    pub(super) fn best_window_spared(&self) -> f64 {
        SPARE * self.best_window()
    }

    /// The window is far smaller than what filled the path not long ago, and the queue is empty.
    pub(super) fn is_far(&self, cwnd: f64, queue: Span) -> bool {
        self.is_empty(queue) && cwnd < ALIKE * self.best_window()
    }

    fn is_empty(&self, queue: Span) -> bool {
        queue * 4 < self.target()
    }

    /// What is taken from a queue, beyond what was there before, to see whether it is one.
    pub(super) fn asks(&self) -> Span {
        self.delay.smallest() * ASKS
    }

    /// Over a long path a short queue is long at once. Over shorter ones cuts tell soon enough, and others who share them make queues
    /// as sudden.
    pub(super) fn is_sudden(&self, queues: Queues) -> bool {
        self.base() >= LONG && self.delay.is_sudden(queues)
    }

    /// The queue is so long that what arrives is all that the path carries.
    pub(super) fn is_deep(&self, queue: Span) -> bool {
        self.delay.is_deep(queue)
    }

    /// Round trips stay the same though the window was cut.
    pub(super) fn heeds_no_cut(&self) -> bool {
        let is_large = self.rate() >= LARGE * self.arrivals.best();
        self.is_still(if is_large { STILL } else { STILL_SMALL })
    }

    /// Round trips stay the same, however long the window grows.
    pub(super) fn heeds_no_growth(&self) -> bool {
        self.is_still(STILL_CONTENDING)
    }

    /// A full queue is still as well, but it drops.
    fn is_still(&self, times: u32) -> bool {
        !self.is_lossy() && self.delay.is_calm() && self.delay.still() >= times
    }

    /// So much was lost that the queue is not empty, whatever round trips say.
    pub(super) fn is_lossy(&self) -> bool {
        self.interval.lost.is_some_and(|lost| self.noise.is_much(lost))
    }

    /// More was lost than usually: what arrives tells less of what the path carries.
    pub(super) fn loses(&self) -> bool {
        self.interval.lost.is_some_and(|lost| self.noise.is_more(lost))
    }

    /// So much was lost that the path does not carry what is sent.
    pub(super) fn is_hopeless(&self) -> bool {
        self.interval.lost.is_some_and(|lost| self.noise.is_hopeless(lost))
    }

    /// What is lost in the long run.
    pub(super) const fn usual_loss(&self) -> f64 {
        self.noise.usual()
    }

    /// Losses were many for so long, or are so many, that a smaller window has to show whether it is to blame.
    pub(super) fn doubts(&self, cwnd: f64) -> bool {
        self.noise.doubts() || self.is_hopeless() && self.exceeds(cwnd)
    }

    /// What is left of the window to see that.
    pub(super) fn ask(&mut self) -> f64 {
        self.noise.ask(self.interval.lost.unwrap_or_default(), self.rate())
    }

    /// Whether losses are noise, once the smaller window has shown it.
    pub(super) fn answer(&mut self, cwnd: f64) -> Option<bool> {
        self.noise.answer(self.interval.lost?, self.interval.rate, cwnd)
    }

    /// Whether a window that is larger than this one loses what exceeds it, as far as is known.
    pub(super) fn is_bounded(&mut self, cwnd: f64) -> bool {
        self.noise.is_bounded(cwnd)
    }

    /// A queue shorter than the wanted one drops what exceeds it.
    pub(super) fn overflows(&self, queues: Queues) -> bool {
        let stands = queues.shortest * 2 > self.usual() || queues.longest * 2 > self.usual() * 3;
        stands && self.lost_above_usual() > OVERFLOW
    }

    /// So much of it that the window is too large already, whatever comes of it.
    pub(super) fn overflows_at_once(&self, queues: Queues) -> bool {
        queues.longest * 2 > self.usual() * 3 && self.lost_above_usual() > OVERFLOW_AT_ONCE
    }

    /// The part that was lost above what is lost in the long run.
    pub(super) fn lost_above_usual(&self) -> f64 {
        self.interval.lost.unwrap_or_default() - self.noise.usual()
    }
}
