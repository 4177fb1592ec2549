//! How long the peer has said nothing.

use bentpipe_units::{Instant, Span};

/// When the peer was last heard, and what it was asked since.
#[derive(Clone, Copy, Debug)]
pub(super) struct Silence {
    since: Instant,
    keepalives: u32,
}

impl Silence {
    pub(super) const fn new(now: Instant) -> Self {
        Self { since: now, keepalives: 0 }
    }

    /// How long it lasts.
    pub(super) fn lasts(self, now: Instant) -> Span {
        now.since(self.since)
    }

    /// When it has lasted so long.
    pub(super) fn end(self, after: Span) -> Instant {
        self.since + after
    }

    /// When the next keep-alive is due.
    pub(super) fn next_keepalive(self, interval: Span) -> Instant {
        self.since + interval * (u64::from(self.keepalives) + 1)
    }

    /// Keep-alives that were not answered.
    pub(super) const fn keepalives(self) -> u32 {
        self.keepalives
    }

    pub(super) const fn keepalive_sent(&mut self) {
        self.keepalives += 1;
    }
}
