//! What time brings at the sender: retransmissions, probes of a closed window, the pace.

use bentpipe_cc::LossCause;
use bentpipe_units::{Instant, Span};

use super::recovery::{Found, Recovery};
use super::sender::Sender;

/// The peer has not answered for too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Exhausted;

/// So many doublings of the timeout in a row show that the estimate of the round trip is of no use. 4.4BSD and
/// ns-2 have as many.
const FORGET_AFTER: u32 = 4;

impl Sender {
    /// The retransmission timeout with its backoff (RFC 6298, section 2).
    #[inline]
    pub(super) fn timeout(&self) -> Span {
        let base = match self.rtt.measured() {
            None => self.rtt.srtt(),
            Some(srtt) => srtt + (self.rtt.rttvar() * 4).max(self.config.tick),
        };
        let base = base.max(self.config.rto_min);
        if self.backoff == 0 {
            return base.min(self.config.rto_max);
        }
        let most = self.controller.repair().max_backoff.or(self.mode.max_backoff());
        let factor = 1 << self.backoff.min(16);
        let factor = most.map_or(factor, |most| factor.min(u64::from(most.max(1))));
        (base * factor).min(self.config.rto_max)
    }

    /// The timer starts anew if anything is outstanding (RFC 6298, rules 5.2 and 5.3).
    #[inline(always)]
    pub(super) fn restart_timer(&mut self, now: Instant) {
        let runs = self.board.outstanding() > 0 && self.cycle.is_none() && !self.outage.is_on();
        self.rto_at = runs.then(|| now + self.timeout());
    }

    /// Sets the timer of a closed window to what is true now.
    pub(super) fn set_persist(&mut self, now: Instant) {
        if !self.must_persist() || self.outage.is_on() {
            self.persist_at = None;
        } else if self.persist_at.is_none() {
            self.persist_at = Some(now + self.timeout().min(self.config.persist_max));
        }
    }

    /// When [`Sender::handle_timeout`] must be called.
    #[inline]
    pub(super) fn deadline(&self) -> Option<Instant> {
        let resend = Instant::earliest(self.rto_at, self.persist_at);
        let resend = Instant::earliest(resend, self.probe_deadline());
        let search = self.path_search.as_ref().filter(|_| !self.outage.is_on());
        let resend = Instant::earliest(resend, search.and_then(|of| of.deadline()));
        let pace = Instant::earliest(self.pace_at, self.probes.deadline());
        let controller = if self.open { self.controller.next_timer() } else { None };
        Instant::earliest(resend, Instant::earliest(pace, controller))
    }

    /// Lets the time pass.
    ///
    /// # Errors
    /// When the peer has not answered for too long.
    pub(super) fn handle_timeout(&mut self, now: Instant) -> Result<(), Exhausted> {
        self.burst_left = self.config.max_burst;
        if self.pace_at.is_some_and(|at| at <= now) {
            self.pace_at = None;
        }
        if self.open && self.controller.next_timer().is_some_and(|at| at <= now) {
            let path = self.path_view(now);
            self.controller.on_timer(&path);
            self.follow_controller();
        }
        self.check_probe(now)?;
        if !self.outage.is_on() {
            self.search_mtu(now);
        }
        if self.persist_at.is_some_and(|at| at <= now) {
            self.persist_at = None;
            self.probe_window = true;
        }
        if self.rto_at.is_some_and(|at| at <= now) {
            self.rto_at = None;
            if self.board.outstanding() > 0 {
                return self.time_out(now);
            }
        }
        Ok(())
    }

    fn time_out(&mut self, now: Instant) -> Result<(), Exhausted> {
        if self.config.retries.is_some_and(|most| self.timeouts_in_row >= most) {
            return Err(Exhausted);
        }
        self.timeouts_in_row += 1;
        if self.edge <= self.board.una() {
            // The peer closed its window: this is a probe of it, not a loss.
            self.board.lose(0);
        } else {
            self.doubt_mtu(now);
            let new_episode = self.board.head().is_some_and(|head| !head.timed_out);
            let again = self.board.head().is_some_and(|head| head.transmissions > 1);
            let lost = self.recovery.on_timeout(&mut self.board);
            self.timeouts += 1;
            self.copies = self.mode.timeout_copies() - 1;
            let found = Found { lost, new_episode, again, ..Found::default() };
            self.answer_loss(now, &found, LossCause::Timeout);
        }
        self.forced = 1;
        self.backoff += u32::from(self.cycle.is_none());
        if self.backoff >= FORGET_AFTER {
            self.rtt.forget();
        }
        self.restart_timer(now);
        Ok(())
    }
}
