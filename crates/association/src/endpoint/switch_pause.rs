//! How often connections take other paths because the peer says so.

use bentpipe_units::{Instant, Span};

/// Shortest time between two moves of all connections.
const PAUSE: Span = Span::from_millis(50);

/// When connections were moved, and whether they are to be moved once more.
#[derive(Debug, Default)]
pub(super) struct SwitchPause {
    last: Option<Instant>,
    due: Option<Instant>,
}

impl SwitchPause {
    /// Whether connections may take other paths now: all of them are looked at, which is not done for each datagram.
    /// Otherwise it is done later.
    pub(super) fn may_switch(&mut self, now: Instant) -> bool {
        let next = self.last.map_or(now, |last| last + PAUSE);
        let may = next <= now;
        if may {
            self.last = Some(now);
        } else {
            self.due = Some(next);
        }
        may
    }

    /// Whether what was put off is due; true once.
    pub(super) fn take_due(&mut self, now: Instant) -> bool {
        let is_due = self.due.take_if(|due| *due <= now).is_some();
        if is_due {
            self.last = Some(now);
        }
        is_due
    }

    /// When what was put off is due.
    pub(super) const fn due(&self) -> Option<Instant> {
        self.due
    }
}
