//! BGN of this end, and the answer to that of the peer.

use bentpipe_units::Instant;

use super::control::{Exhausted, Retry};
use super::{Config, timestamp};

/// How a session is opened.
#[derive(Debug)]
pub(super) struct Opening {
    request: Retry,
    /// When the first and the latest BGN were sent.
    sent: Option<(Instant, Instant)>,
    /// Timestamp of the peer's BGN, if that is to be answered.
    answer: Option<u32>,
    /// What was answered, and POLLs since then: the peer has not shown that it knows.
    unheard: Option<(u32, u32)>,
    /// Data may follow the BGN without waiting for its answer.
    early: bool,
    /// Data came before the answer.
    overtaken: bool,
}

impl Opening {
    pub(super) fn idle(config: &Config) -> Self {
        Self {
            request: Retry::idle(config),
            sent: None,
            answer: None,
            unheard: None,
            early: false,
            overtaken: false,
        }
    }

    /// This end asks.
    pub(super) fn start(&mut self) {
        self.request.start();
    }

    /// The peer can be reached again: a BGN that was not answered is repeated at once.
    pub(super) fn again(&mut self, config: &Config) {
        self.request.again(config.ctl_rto_init);
    }

    /// Data of the peer came, but not its answer. It is asked again as if it had never been asked, but no sooner than after
    /// the first wait.
    pub(super) fn ask_anew(&mut self, now: Instant, config: &Config) {
        self.overtaken = true;
        if self.sent.is_some_and(|(_, latest)| now.since(latest) >= config.ctl_rto_init) {
            self.request.restart(config);
        }
    }

    /// The answer came.
    pub(super) fn stop(&mut self) {
        self.request.stop();
    }

    /// The answer that comes now may be a copy of one that was lost: it tells no round trip.
    pub(super) const fn is_overtaken(&self) -> bool {
        self.overtaken
    }

    /// Nothing more is asked or answered.
    pub(super) fn clear(&mut self) {
        self.request.stop();
        (self.answer, self.unheard) = (None, None);
    }

    /// A POLL left.
    pub(super) fn polled(&mut self) {
        if let Some((echo, polls)) = &mut self.unheard {
            *polls += 1;
            if polls.is_power_of_two() {
                self.answer = Some(*echo);
            }
        }
    }

    /// The peer has shown that it knows the answer.
    pub(super) const fn heard(&mut self) {
        self.unheard = None;
    }

    /// Data may follow the BGN at once.
    pub(super) const fn allow_early_data(&mut self) {
        self.early = true;
    }

    /// Whether they may now.
    #[inline]
    pub(super) const fn may_send_early_data(&self) -> bool {
        self.early && self.sent.is_some()
    }

    /// Whether this end has asked.
    pub(super) const fn has_asked(&self) -> bool {
        self.sent.is_some()
    }

    /// The peer asks, with this timestamp.
    pub(super) const fn peer_asks(&mut self, ts: u32) {
        self.answer = Some(ts);
    }

    #[inline]
    pub(super) fn has_segment(&self) -> bool {
        self.request.is_due() || self.answer.is_some()
    }

    /// BGN leaves, if it is due.
    pub(super) fn take_request(&mut self, now: Instant) -> bool {
        let is_due = self.request.is_due();
        if is_due {
            self.request.sent(now);
            self.sent = Some((self.sent.map_or(now, |(first, _)| first), now));
        }
        is_due
    }

    /// BGNAK leaves, if it is due: what it answers.
    pub(super) fn take_answer(&mut self, config: &Config) -> Option<u32> {
        let echo = self.answer.take()?;
        if config.answer_copies && self.unheard.is_none_or(|(last, _)| last != echo) {
            self.unheard = Some((echo, 0));
        }
        Some(echo)
    }

    /// When the BGN with this timestamp was sent; `None` when none was.
    pub(super) fn asked_at(&self, now: Instant, echo: u32) -> Option<Instant> {
        let (first, latest) = self.sent?;
        if echo == timestamp::at(latest) {
            return Some(latest);
        }
        let when = timestamp::when(echo, now);
        (timestamp::at(first) == echo || when >= first && when <= latest).then_some(when)
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.request.deadline()
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) -> Result<(), Exhausted> {
        self.request.handle_timeout(now)
    }
}
