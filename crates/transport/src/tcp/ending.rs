//! What is left of a connection at its end: who ended first, a reset that is to leave, the time to wait.

use bentpipe_units::{Instant, Seq32};

/// The end of a connection.
#[derive(Debug, Default)]
pub(super) struct Ending {
    /// Our FIN left before the peer's came.
    ended_first: bool,
    /// A reset that is to be sent: its number, and the number that it acknowledges.
    reset: Option<(Seq32, Option<Seq32>)>,
    time_wait_until: Option<Instant>,
}

impl Ending {
    /// Our FIN left before the peer's came.
    pub(super) const fn end_first(&mut self) {
        self.ended_first = true;
    }

    /// Our FIN left before the peer's came.
    pub(super) const fn is_first(&self) -> bool {
        self.ended_first
    }

    /// A reset with this number is to be sent, which acknowledges another.
    pub(super) const fn reset(&mut self, seq: Seq32, ack: Option<Seq32>) {
        self.reset = Some((seq, ack));
    }

    /// A reset is to be sent.
    #[inline]
    pub(super) const fn has_reset(&self) -> bool {
        self.reset.is_some()
    }

    /// The reset leaves, if there is one.
    pub(super) const fn take_reset(&mut self) -> Option<(Seq32, Option<Seq32>)> {
        self.reset.take()
    }

    /// Late segments are answered until then.
    pub(super) const fn wait_until(&mut self, until: Instant) {
        self.time_wait_until = Some(until);
    }

    /// No late segments are answered any more.
    pub(super) const fn stop_waiting(&mut self) {
        self.time_wait_until = None;
    }

    /// When nothing is answered any more.
    pub(super) const fn deadline(&self) -> Option<Instant> {
        self.time_wait_until
    }

    /// The time to wait is over.
    pub(super) fn is_over(&self, now: Instant) -> bool {
        self.time_wait_until.is_some_and(|until| until <= now)
    }
}
