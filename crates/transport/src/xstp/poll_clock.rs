//! When POLLs go out, which answers count, and how polling backs off.

use std::collections::VecDeque;

use bentpipe_units::{BitRate, ByteCount, Instant, Span};

use super::poll_density::PollDensity;
use super::timestamp;

/// POLLs whose exact time is remembered. Older ones are dated by their timestamp.
pub(super) const REMEMBERED: usize = 512;

/// Time between POLLs at least, or a peer that answers before it is asked would have them without end.
pub(super) const LEAST_INTERVAL: Span = Span::from_micros(100);
/// The least where many POLLs have no answer: over a shorter round trip there is news often enough.
const DENSE_INTERVAL: Span = Span::from_millis(3);

/// Bytes of a POLL behind a header.
const POLL: ByteCount = ByteCount::new(4);

/// Least time between POLLs, each with so many bytes of headers, that take no more than a share of what is sent, where a window of
/// bytes leaves in a round trip, or no more than at a pace.
pub(super) fn sparse(
    share: f64,
    headers: ByteCount,
    srtt: Span,
    window: u64,
    pacing: Option<BitRate>,
) -> Span {
    if share <= 0.0 {
        return Span::ZERO;
    }
    let bytes = ((headers + POLL).get() as f64 / share) as u64;
    let paced = pacing.map_or(Span::ZERO, |pacing| pacing.time_for(ByteCount::new(bytes)));
    srtt.mul_div_ceil(bytes, window).max(paced)
}

/// The POLL side of a sender.
#[derive(Debug)]
pub(super) struct PollClock {
    due: Option<Instant>,
    /// Timestamp and exact time of the latest POLLs, oldest first: the wire's 100 µs would quantise
    /// the round-trip samples.
    sent: VecDeque<(u32, Instant)>,
    forgot_some: bool,
    last_echo: Option<u32>,
    last_stat_at: Option<Instant>,
    unanswered_since: Option<Instant>,
    /// When the first POLL left that nothing has answered since.
    silent_since: Option<Instant>,
    backoff: u32,
    epoch: Instant,
    armed: bool,
    density: PollDensity,
}

impl PollClock {
    /// A clock at rest.
    pub(super) fn new() -> Self {
        Self {
            due: None,
            sent: VecDeque::new(),
            forgot_some: false,
            last_echo: None,
            last_stat_at: None,
            unanswered_since: None,
            silent_since: None,
            backoff: 1,
            epoch: Instant::ZERO,
            armed: false,
            density: PollDensity::new(),
        }
    }

    /// Time between so many POLLs in a round trip, or up to `most` where many of them have no answer.
    pub(super) fn interval(&self, rate: u32, most: u32, srtt: Span) -> Span {
        let backoff = u64::from(self.backoff);
        // Rounded up: a STAT that is due together with a POLL must come first, or every break in the
        // rhythm of nanoseconds would look like a loss.
        let each = |rate: u32| srtt.mul_div_ceil(backoff, rate.into());
        let usual = each(rate).max(LEAST_INTERVAL * backoff);
        let denser = rate.saturating_mul(self.density.factor()).min(most);
        if denser > rate { usual.min(each(denser).max(DENSE_INTERVAL)) } else { usual }
    }

    /// Whether nearly all POLLs have an answer.
    pub(super) fn are_answered(&self) -> bool {
        self.density.is_usual()
    }

    /// When the next POLL is due.
    pub(super) const fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Answers to the POLLs so far mean nothing any more.
    pub(super) fn forget(&mut self) {
        self.density = PollDensity::new();
        self.sent.clear();
        self.forgot_some = false;
    }

    /// Sets or stops the next POLL.
    pub(super) fn set_due(&mut self, due: Option<Instant>) {
        self.due = due;
    }

    /// Brings the next POLL forward to `at` if it would come later.
    pub(super) fn pull_in(&mut self, at: Instant) {
        if self.due.is_some_and(|due| due > at) {
            self.due = Some(at);
        }
    }

    /// Backoff factor of polling.
    pub(super) const fn backoff(&self) -> u32 {
        self.backoff
    }

    /// A POLL leaves: gives its timestamp, never the same twice.
    pub(super) fn stamp(&mut self, now: Instant) -> u32 {
        let mut ts = timestamp::at(now);
        if let Some((last, _)) = self.sent.back()
            && !timestamp::is_newer(ts, *last)
        {
            ts = last.wrapping_add(1);
        }
        if self.sent.len() == REMEMBERED {
            self.sent.pop_front();
            self.forgot_some = true;
        }
        self.sent.push_back((ts, now));
        self.silent_since.get_or_insert(now);
        ts
    }

    /// How long POLLs have gone unanswered.
    pub(super) fn silence(&self, now: Instant) -> Span {
        self.silent_since.map_or(Span::ZERO, |since| now.since(since))
    }

    /// Doubles the backoff when nothing answered for `timeout` (before backoff). Returns true when it
    /// grew; normal polling is then interrupted.
    pub(super) fn back_off(&mut self, now: Instant, timeout: Span, most: u32) -> bool {
        match self.unanswered_since {
            None => self.unanswered_since = Some(now),
            Some(since) if now.since(since) >= timeout * u64::from(self.backoff) => {
                self.unanswered_since = Some(now);
                let grown = self.backoff.saturating_mul(2).min(most);
                let grew = grown > self.backoff;
                self.backoff = grown;
                if grew {
                    self.restart_epoch(now);
                }
                return grew;
            }
            Some(_) => {}
        }
        false
    }

    /// Polling is back to its normal rate.
    pub(super) fn reset_backoff(&mut self, now: Instant) {
        self.unanswered_since = None;
        if self.backoff > 1 {
            self.backoff = 1;
            self.restart_epoch(now);
        }
    }

    /// Normal polling (re)starts: the interleaf of POLL and STAT must form again before its break
    /// means a loss.
    pub(super) fn restart_epoch(&mut self, now: Instant) {
        self.epoch = now;
        self.armed = false;
    }

    /// When the POLL with this timestamp was sent; `None` when there was no such POLL or a newer one
    /// was answered before.
    pub(super) fn answered(&self, echo: u32, now: Instant) -> Option<Instant> {
        if self.last_echo.is_some_and(|last| !timestamp::is_newer(echo, last)) {
            return None;
        }
        let (newest, _) = *self.sent.back()?;
        let (oldest, _) = *self.sent.front()?;
        if timestamp::is_newer(echo, newest) {
            return None;
        }
        if timestamp::is_newer(oldest, echo) {
            return self.forgot_some.then(|| timestamp::when(echo, now));
        }
        self.sent.iter().rev().find(|(ts, _)| *ts == echo).map(|(_, at)| *at)
    }

    /// The STAT that answers the POLL of `echo`, sent at `poll_sent`, is valid.
    pub(super) fn accept(&mut self, echo: u32, poll_sent: Instant, now: Instant) {
        // What was sent before it is of no use any more.
        let before = self.sent.partition_point(|(ts, _)| timestamp::is_newer(echo, *ts));
        let last = self.last_echo;
        let unanswered = self.sent.drain(..before).filter(|(ts, _)| Some(*ts) != last).count();
        self.density.answered(now, now.since(poll_sent), unanswered);
        self.last_echo = Some(echo);
        self.last_stat_at = Some(now);
        self.silent_since = None;
        if poll_sent >= self.epoch {
            self.armed = true;
        }
    }

    /// True when the POLL that is due now finds no STAT since the previous POLL, give or take
    /// `slack`: one of them was lost.
    pub(super) fn interleaf_is_broken(&self, slack: Span) -> bool {
        let Some((_, last_poll)) = self.sent.back() else { return false };
        self.armed && self.last_stat_at.is_none_or(|stat| stat <= last_poll.before(slack))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Instant {
        Instant::from_nanos(n * 1_000_000)
    }

    #[test]
    fn polls_leave_room_for_data_however_slow_the_path_is() {
        // 480 bytes of data for each POLL of 60.
        let sparse = |srtt, window, pacing| {
            sparse(0.125, ByteCount::new(56), Span::from_millis(srtt), window, pacing)
        };
        assert_eq!(sparse(500, 12_000, None), Span::from_millis(20));
        let pacing = Some(BitRate::from_bps(9_600));
        assert_eq!(sparse(500, 12_000, pacing), Span::from_millis(400));
        assert_eq!(sparse(4_000, 1_200, None), Span::from_millis(1_600));
    }

    #[test]
    fn two_polls_at_the_same_time_have_different_timestamps() {
        let mut clock = PollClock::new();
        let (a, b, c) = (clock.stamp(ms(1)), clock.stamp(ms(1)), clock.stamp(ms(1)));
        assert_eq!((a, b, c), (10, 11, 12));
        assert_eq!(clock.answered(11, ms(5)), Some(ms(1)));
    }

    #[test]
    fn an_answer_counts_once_and_only_for_a_poll_that_was_sent() {
        let mut clock = PollClock::new();
        let first = clock.stamp(ms(10));
        let second = clock.stamp(ms(20));
        assert_eq!(clock.answered(second + 1, ms(30)), None);
        assert_eq!(clock.answered(first + 1, ms(30)), None);
        assert_eq!(clock.answered(first.wrapping_sub(5), ms(30)), None);
        assert_eq!(clock.answered(second, ms(30)), Some(ms(20)));
        clock.accept(second, ms(20), ms(30));
        assert_eq!(clock.answered(second, ms(31)), None);
        assert_eq!(clock.answered(first, ms(31)), None);
    }

    #[test]
    fn a_poll_older_than_the_memory_is_dated_by_its_timestamp() {
        let mut clock = PollClock::new();
        let first = clock.stamp(ms(7));
        for n in 1..=64 {
            clock.stamp(ms(7 + 10 * n));
        }
        assert_eq!(clock.answered(first, ms(1000)), Some(ms(7)));
    }

    #[test]
    fn silence_lasts_from_the_first_poll_to_an_answer() {
        let mut clock = PollClock::new();
        assert_eq!(clock.silence(ms(5)), Span::ZERO);
        let first = clock.stamp(ms(10));
        clock.stamp(ms(20));
        assert_eq!(clock.silence(ms(40)), Span::from_millis(30));
        clock.accept(first, ms(10), ms(45));
        assert_eq!(clock.silence(ms(50)), Span::ZERO);
    }

    #[test]
    fn backoff_doubles_with_each_silent_timeout_and_ends_with_an_answer() {
        let mut clock = PollClock::new();
        let timeout = Span::from_secs(1);
        assert!(!clock.back_off(ms(0), timeout, 8));
        assert!(!clock.back_off(ms(999), timeout, 8));
        assert!(clock.back_off(ms(1000), timeout, 8));
        assert!(!clock.back_off(ms(2999), timeout, 8));
        assert!(clock.back_off(ms(3000), timeout, 8));
        assert!(clock.back_off(ms(7000), timeout, 8));
        assert!(!clock.back_off(ms(15_000), timeout, 8));
        assert_eq!(clock.backoff(), 8);
        clock.reset_backoff(ms(15_001));
        assert_eq!(clock.backoff(), 1);
    }
}
