//! When losses of several connections are one.

use bentpipe_units::Instant;

use crate::PathView;

/// What is lost within a round trip of a loss was sent before it was known, whoever sent it.
#[derive(Debug, Default)]
pub(super) struct Episode {
    until: Option<Instant>,
}

impl Episode {
    /// Something was lost: true if that is the first loss of an episode.
    pub(super) fn begin(&mut self, path: &PathView) -> bool {
        if self.is_on(path.now) {
            return false;
        }
        // A report tells of what was sent a round trip ago, or a little more.
        self.until = Some(path.now + path.srtt.max(path.latest_rtt).mul_div(9, 8));
        true
    }

    /// Whether an episode is going on.
    pub(super) fn is_on(&self, now: Instant) -> bool {
        self.until.is_some_and(|until| now < until)
    }
}
