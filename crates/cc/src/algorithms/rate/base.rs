//! The round trip of a path without a queue.

use bentpipe_units::{Instant, Span};

/// It is the smallest one of at least this long and at most twice as long: paths change.
const LIFE: Span = Span::from_secs(60);

/// The smallest round trip of the recent past.
#[derive(Debug)]
pub(super) struct Base {
    now: Span,
    before: Span,
    since: Instant,
}

impl Base {
    pub(super) const fn new() -> Self {
        Self { now: Span::MAX, before: Span::MAX, since: Instant::ZERO }
    }

    /// A round trip was measured.
    pub(super) fn take(&mut self, at: Instant, rtt: Span) {
        if at.since(self.since) >= LIFE {
            (self.before, self.now, self.since) = (self.now, rtt, at);
        }
        self.now = self.now.min(rtt);
    }

    /// The path was found to be longer.
    pub(super) const fn raise(&mut self, at: Instant, rtt: Span) {
        (self.now, self.before, self.since) = (rtt, Span::MAX, at);
    }

    /// The round trip; nothing before the first measurement.
    pub(super) fn get(&self) -> Option<Span> {
        Some(self.now.min(self.before)).filter(|base| *base < Span::MAX)
    }
}
