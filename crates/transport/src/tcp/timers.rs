//! The timers of the sending side, and what counts how often they ran out.

use bentpipe_units::Instant;

use super::inquiry::Inquiry;
use super::tail_probe::TailProbe;

/// The peer has not answered for too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Exhausted;

/// So many doublings of the timeout in a row show that the estimate of the round trip is of no use. 4.4BSD and
/// ns-2 have as many.
const FORGET_AFTER: u32 = 4;

/// The timer of the oldest segment, that of the newest ones and that of a closed window.
#[derive(Debug, Default)]
pub(super) struct Timers {
    rto_at: Option<Instant>,
    tail_probe: TailProbe,
    inquiry: Inquiry,
    persist_at: Option<Instant>,
    /// How often the timeout is doubled.
    backoff: u32,
    timeouts: u64,
    /// How often the peer did not answer in time, since it was last heard.
    in_row: u32,
}

impl Timers {
    /// When the oldest segment counts as lost.
    #[inline]
    pub(super) const fn rto(&self) -> Option<Instant> {
        self.rto_at
    }

    /// The probe for the newest segments.
    #[inline]
    pub(super) const fn tail_probe(&self) -> &TailProbe {
        &self.tail_probe
    }

    /// The probe for the newest segments, to be moved on.
    #[inline]
    pub(super) const fn tail_probe_mut(&mut self) -> &mut TailProbe {
        &mut self.tail_probe
    }

    /// What is asked before the oldest segment counts as lost.
    #[inline]
    pub(super) const fn inquiry(&self) -> &Inquiry {
        &self.inquiry
    }

    /// What is asked before the oldest segment counts as lost, to be moved on.
    #[inline]
    pub(super) const fn inquiry_mut(&mut self) -> &mut Inquiry {
        &mut self.inquiry
    }

    /// When something that was sent counts as late.
    #[inline]
    pub(super) fn late_at(&self) -> Option<Instant> {
        Instant::earliest(self.rto_at, self.tail_probe.deadline())
    }

    /// The oldest segment counts as lost then; the timer does not run for `None`.
    #[inline(always)]
    pub(super) const fn set_rto(&mut self, at: Option<Instant>) {
        self.rto_at = at;
    }

    /// The timer of a closed window runs until then, or until when it already does; not at all for `None`.
    pub(super) fn set_persist(&mut self, at: Option<Instant>) {
        match at {
            Some(at) => _ = self.persist_at.get_or_insert(at),
            None => self.persist_at = None,
        }
    }

    /// The window is not closed.
    #[inline]
    pub(super) const fn stop_persist(&mut self) {
        self.persist_at = None;
    }

    /// Nothing runs.
    pub(super) const fn stop(&mut self) {
        (self.rto_at, self.persist_at) = (None, None);
        self.tail_probe.stop();
        self.inquiry.stop();
    }

    /// The next time that something runs out.
    #[inline]
    pub(super) fn deadline(&self) -> Option<Instant> {
        Instant::earliest(self.late_at(), self.persist_at)
    }

    /// The timer of the oldest segment ran out; true once.
    pub(super) fn take_rto(&mut self, now: Instant) -> bool {
        self.rto_at.take_if(|at| *at <= now).is_some()
    }

    /// The timer of a closed window ran out; true once.
    pub(super) fn take_persist(&mut self, now: Instant) -> bool {
        self.persist_at.take_if(|at| *at <= now).is_some()
    }

    /// The peer was heard.
    #[inline]
    pub(super) const fn heard(&mut self) {
        self.in_row = 0;
    }

    /// The peer did not answer in time; gives how often in a row.
    ///
    /// # Errors
    /// When that was once more than `most` times.
    pub(super) fn count_unanswered(&mut self, most: Option<u32>) -> Result<u32, Exhausted> {
        if most.is_some_and(|most| self.in_row >= most) {
            return Err(Exhausted);
        }
        self.in_row += 1;
        Ok(self.in_row)
    }

    /// A segment was lost by its timer.
    pub(super) const fn count_timeout(&mut self) {
        self.timeouts += 1;
    }

    /// Segments that were lost by their timers.
    pub(super) const fn timeouts(&self) -> u64 {
        self.timeouts
    }

    /// The timeout doubles. True when the estimate of the round trip is of no use any more.
    pub(super) const fn back_off(&mut self, doubles: bool) -> bool {
        self.backoff += doubles as u32;
        self.backoff >= FORGET_AFTER
    }

    /// The timeout is what the round trip says (RFC 6298, section 5).
    #[inline]
    pub(super) const fn forget_backoff(&mut self) {
        self.backoff = 0;
    }

    /// By what the timeout is multiplied; `None` for nothing.
    #[inline]
    pub(super) fn factor(&self, most: impl FnOnce() -> Option<u32>) -> Option<u64> {
        if self.backoff == 0 {
            return None;
        }
        let factor = 1 << self.backoff.min(16);
        Some(most().map_or(factor, |most| factor.min(u64::from(most.max(1)))))
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_units::Span;

    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn the_timeout_doubles_until_the_round_trip_is_known() {
        let mut timers = Timers::default();
        assert_eq!(timers.factor(|| None), None);
        assert!((0..3).all(|_| !timers.back_off(true)) && timers.back_off(true));
        assert_eq!((timers.factor(|| None), timers.factor(|| Some(1))), (Some(16), Some(1)));
        timers.forget_backoff();
        assert_eq!(timers.factor(|| None), None);
    }

    #[test]
    fn a_peer_that_is_heard_may_be_silent_as_often_again() {
        let mut timers = Timers::default();
        assert_eq!(timers.count_unanswered(Some(1)), Ok(1));
        assert_eq!(timers.count_unanswered(Some(1)), Err(Exhausted));
        timers.heard();
        assert_eq!(timers.count_unanswered(Some(1)), Ok(1));
    }

    #[test]
    fn a_timer_runs_out_once_and_the_one_of_a_closed_window_is_not_put_off() {
        let mut timers = Timers::default();
        timers.set_rto(Some(at(10)));
        timers.set_persist(Some(at(5)));
        timers.set_persist(Some(at(50)));
        assert_eq!(timers.deadline(), Some(at(5)));
        assert!(timers.take_persist(at(5)) && !timers.take_persist(at(60)));
        assert!(!timers.take_rto(at(9)) && timers.take_rto(at(10)) && !timers.take_rto(at(11)));
        assert_eq!(timers.deadline(), None);
    }
}
