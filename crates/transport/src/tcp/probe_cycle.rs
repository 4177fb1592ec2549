//! TCP-Probing: before a loss is answered, two exchanges of probes tell what the path is like (Tsaoussidis
//! and Badr, ICNP 2000).
//!
//! A probe is a segment without data whose number the peer has acknowledged, as a keep-alive is: any peer
//! answers it at once, so that only this end needs to know of probing. Its answer is the first
//! acknowledgement that reports nothing new, which takes selective reports and a path that keeps order.

use bentpipe_cc::LossCause;
use bentpipe_units::{Instant, Span};

use super::sender::Sender;
use super::timers::Exhausted;
use crate::recovery::Found;

/// A loss that is not answered yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cycle {
    found: Found,
    cause: LossCause,
    /// The smoothed round trip when the loss was found.
    estimate: Span,
    /// How long the first exchange took.
    first: Option<Span>,
    /// A probe is to be sent.
    due: bool,
    /// When the latest probe left, and when it counts as lost.
    out: Option<(Instant, Instant)>,
}

impl Sender {
    /// A loss was found: the controller is told, or a cycle begins that decides whether it is.
    pub(super) fn answer_loss(&mut self, now: Instant, found: &Found, cause: LossCause) {
        if self.cycle.is_some() {
            // What else is missing is sent again with the rest, after the cycle.
        } else if self.config.probing && self.agreed.reports && found.new_episode {
            let estimate = self.rtt.srtt();
            let (first, due, out) = (None, true, None);
            self.cycle = Some(Cycle { found: *found, cause, estimate, first, due, out });
            self.rto_at = None;
        } else {
            self.tell_loss(now, found, cause);
        }
    }

    /// A probe leaves, if one is to be sent.
    pub(super) fn take_probe(&mut self, now: Instant) -> bool {
        let wait = self.rtt.srtt() + (self.rtt.rttvar() * 4).max(self.config.tick);
        let Some(cycle) = self.cycle.as_mut().filter(|cycle| cycle.due) else { return false };
        (cycle.due, cycle.out) = (false, Some((now, now + wait)));
        true
    }

    /// When a probe counts as lost.
    pub(super) fn probe_deadline(&self) -> Option<Instant> {
        self.cycle.as_ref().and_then(|cycle| cycle.out).map(|(_, lost_at)| lost_at)
    }

    /// A probe or its answer is lost: the cycle begins anew.
    ///
    /// # Errors
    /// When the peer has not answered for too long.
    pub(super) fn check_probe(&mut self, now: Instant) -> Result<(), Exhausted> {
        if self.probe_deadline().is_none_or(|lost_at| lost_at > now) {
            return Ok(());
        }
        if self.config.retries.is_some_and(|most| self.timeouts_in_row >= most) {
            return Err(Exhausted);
        }
        self.timeouts_in_row += 1;
        if let Some(cycle) = &mut self.cycle {
            (cycle.first, cycle.due, cycle.out) = (None, true, None);
        }
        Ok(())
    }

    /// An acknowledgement came; `news` if it reported something.
    pub(super) fn continue_cycle(&mut self, now: Instant, news: bool) {
        let Some(cycle) = &mut self.cycle else { return };
        if self.board.outstanding() == 0 {
            // Nothing was lost.
            self.cycle = None;
            return;
        }
        let Some((sent_at, _)) = cycle.out.filter(|_| !news) else { return };
        let took = now.since(sent_at);
        match cycle.first {
            None => (cycle.first, cycle.due, cycle.out) = (Some(took), true, None),
            Some(first) => self.end_cycle(now, first.max(took)),
        }
    }

    /// Both exchanges are over, of which the longer one took `took`. Round trips as before mean noise:
    /// everything goes on with the window as it was (immediate recovery). Longer ones mean congestion:
    /// what the loss would have meant without probing.
    fn end_cycle(&mut self, now: Instant, took: Span) {
        let Some(cycle) = self.cycle.take() else { return };
        if took > cycle.estimate {
            self.tell_loss(now, &cycle.found, cycle.cause);
        }
        self.forced = self.forced.max(1);
        self.restart_timer(now);
    }
}
