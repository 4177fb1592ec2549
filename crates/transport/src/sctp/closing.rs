//! How an association is closed: SHUTDOWN, SHUTDOWN ACK, SHUTDOWN COMPLETE (RFC 9260, section 9).

use bentpipe_units::{Instant, Span};

use super::State;
use super::retry::Retry;

/// SHUTDOWN or SHUTDOWN ACK of this end, and whether the application wants to close.
#[derive(Debug, Default)]
pub(super) struct Closing {
    message: Retry,
    wanted: bool,
}

impl Closing {
    /// The application closes.
    pub(super) const fn want(&mut self) {
        self.wanted = true;
    }

    pub(super) const fn is_wanted(&self) -> bool {
        self.wanted
    }

    /// The state after this one, once everything that was sent is acknowledged: its message is to be sent.
    pub(super) const fn next(&self, state: State, is_idle: bool) -> State {
        let state = match state {
            State::Established if self.wanted => State::ShutdownPending,
            other => other,
        };
        match state {
            State::ShutdownPending if is_idle => State::ShutdownSent,
            State::ShutdownReceived if is_idle => State::ShutdownAckSent,
            other => other,
        }
    }

    /// The message of the state is to be sent.
    pub(super) const fn start(&mut self) {
        self.message.start();
    }

    /// The peer asks for it before its time.
    pub(super) const fn again(&mut self) {
        self.message.again();
    }

    pub(super) const fn stop(&mut self) {
        self.message.stop();
    }

    /// Whether it is to be sent now.
    pub(super) const fn is_due(&self) -> bool {
        self.message.wanted
    }

    /// Whether another path than the first one is its turn: every second time.
    pub(super) const fn takes_other_path(&self) -> bool {
        !self.message.count().is_multiple_of(2)
    }

    /// It leaves and is awaited for so long.
    pub(super) fn sent(&mut self, now: Instant, wait: Span) {
        self.message.sent(now, wait);
    }

    pub(super) const fn deadline(&self) -> Option<Instant> {
        self.message.deadline()
    }

    /// T2. True when the message must leave again.
    pub(super) fn handle_timeout(&mut self, now: Instant) -> bool {
        self.message.handle_timeout(now, u32::MAX) == Ok(true)
    }
}
