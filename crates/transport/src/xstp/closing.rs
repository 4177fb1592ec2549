//! END of both ends.

use bentpipe_units::{Instant, Seq32};

use super::Config;
use super::control::{Exhausted, Retry};

/// How a session is closed.
#[derive(Debug)]
pub(super) struct Closing {
    /// The application wants to close.
    wanted: bool,
    end: Retry,
    /// The number of the peer's END, if that is to be answered.
    answer: Option<Seq32>,
    peer_ended: bool,
    /// Until when a session that was closed in both directions answers a repeated END.
    quiet_until: Option<Instant>,
}

impl Closing {
    pub(super) fn idle(config: &Config) -> Self {
        Self {
            wanted: false,
            end: Retry::idle(config),
            answer: None,
            peer_ended: false,
            quiet_until: None,
        }
    }

    /// The application closes.
    pub(super) const fn want(&mut self) {
        self.wanted = true;
    }

    pub(super) const fn is_wanted(&self) -> bool {
        self.wanted
    }

    /// END is to be sent until it is answered.
    pub(super) fn start(&mut self) {
        self.end.start();
    }

    /// It was answered.
    pub(super) fn stop(&mut self) {
        self.end.stop();
    }

    /// The peer's END came. True the first time.
    pub(super) const fn peer_ends(&mut self, seq: Seq32) -> bool {
        self.answer = Some(seq);
        let is_first = !self.peer_ended;
        self.peer_ended = true;
        is_first
    }

    pub(super) const fn has_peer_ended(&self) -> bool {
        self.peer_ended
    }

    /// Both ends are closed, and repeated ENDs are answered until then.
    pub(super) const fn be_quiet(&mut self, until: Instant) {
        self.quiet_until = Some(until);
    }

    pub(super) const fn quiet_until(&self) -> Option<Instant> {
        self.quiet_until
    }

    /// Nothing more is said.
    pub(super) fn clear(&mut self) {
        self.end.stop();
        (self.answer, self.quiet_until) = (None, None);
    }

    pub(super) fn is_due(&self) -> bool {
        self.end.is_due()
    }

    #[inline]
    pub(super) const fn has_answer(&self) -> bool {
        self.answer.is_some()
    }

    /// ENDAK leaves: the number in it.
    pub(super) const fn take_answer(&mut self) -> Option<Seq32> {
        self.answer.take()
    }

    /// END leaves.
    pub(super) fn sent(&mut self, now: Instant) {
        self.end.sent(now);
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.end.deadline()
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) -> Result<(), Exhausted> {
        self.end.handle_timeout(now)
    }
}
