//! A message that is retransmitted until it is answered.

use bentpipe_units::{Instant, Span};

/// Nobody answered often enough.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Exhausted;

/// T1 and T2: sends a message at growing intervals.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Retry {
    /// The message is to be sent now.
    pub(super) wanted: bool,
    deadline: Option<Instant>,
    sent: u32,
    sent_at: Option<Instant>,
}

impl Retry {
    /// The message is wanted from now on.
    pub(super) const fn start(&mut self) {
        *self = Self { wanted: true, deadline: None, sent: 0, sent_at: None };
    }

    pub(super) const fn stop(&mut self) {
        *self = Self { wanted: false, deadline: None, sent: 0, sent_at: None };
    }

    /// The message leaves and is awaited for so long.
    pub(super) fn sent(&mut self, now: Instant, wait: Span) {
        self.wanted = false;
        self.deadline = Some(now + wait);
        self.sent += 1;
        self.sent_at = Some(now);
    }

    /// The message is wanted before its time, because the peer asked for it.
    pub(super) const fn again(&mut self) {
        self.wanted |= self.sent > 0;
    }

    /// When the message left, if it left once: then its answer measures a round trip.
    pub(super) fn sent_once(&self) -> Option<Instant> {
        self.sent_at.filter(|_| self.sent == 1)
    }

    /// How often the message left.
    pub(super) const fn count(&self) -> u32 {
        self.sent
    }

    pub(super) const fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Lets the time pass. True when the message must leave again.
    pub(super) fn handle_timeout(&mut self, now: Instant, most: u32) -> Result<bool, Exhausted> {
        if self.deadline.is_none_or(|at| at > now) {
            return Ok(false);
        }
        if self.sent > most {
            return Err(Exhausted);
        }
        (self.wanted, self.deadline) = (true, None);
        Ok(true)
    }
}
