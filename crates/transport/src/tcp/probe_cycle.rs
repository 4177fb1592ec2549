//! TCP-Probing: before a loss is answered, two exchanges of probes tell what the path is like (Tsaoussidis
//! and Badr, ICNP 2000).
//!
//! A probe is a byte that the peer has acknowledged already, as in a keep-alive: any peer answers it at once,
//! so that only this end needs to know of probing, and throws it away. A peer that reports what came
//! twice (RFC 2883) answers by a report of this byte, which is an answer to nothing else, in whatever order
//! acknowledgements come. Timestamps would not tell: a segment before the window leaves the echo as it is
//! (RFC 7323, section 5.3). Of a peer that makes no such reports the first acknowledgement without news
//! counts, which is right on a path that keeps order; it is known by a probe that was answered without one.

use bentpipe_cc::LossCause;
use bentpipe_units::{Instant, Span};
use bytes::Bytes;

use super::recovery::Found;
use super::sender::Sender;
use super::timers::Exhausted;

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
    /// The offset behind its byte; none where nothing is acknowledged yet, and the probe is empty.
    probed: Option<u64>,
    /// An acknowledgement without news came since, which was not taken for the answer.
    unsure: bool,
}

/// What a peer sees twice of a probe.
const PROBE: &[u8] = &[0];

impl Sender {
    /// A loss was found: the controller is told, or a cycle begins that decides whether it is.
    pub(super) fn answer_loss(&mut self, now: Instant, found: &Found, cause: LossCause) {
        if self.cycle.is_some() {
            // What else is missing is sent again with the rest, after the cycle.
        } else if self.config.probing
            && self.agreed.reports
            && found.new_episode
            && !self.outage.is_on()
        {
            let estimate = self.rtt.srtt();
            let (first, due, out) = (None, true, None);
            let (probed, unsure) = (None, false);
            self.cycle =
                Some(Cycle { found: *found, cause, estimate, first, due, out, probed, unsure });
            self.rto_at = None;
        } else {
            self.tell_loss(now, found, cause);
        }
    }

    /// A probe leaves, if one is to be sent: its payload.
    pub(super) fn take_probe(&mut self, now: Instant) -> Option<Bytes> {
        let cycle = self.cycle.as_mut().filter(|cycle| cycle.due)?;
        let wait = self.rtt.srtt() + (self.rtt.rttvar() * 4).max(self.config.tick);
        let una = self.board.una();
        (cycle.due, cycle.out, cycle.unsure) = (false, Some((now, now + wait)), false);
        // The byte before the first one has the number of the SYN.
        cycle.probed = (una > 1).then_some(una);
        Some(if una > 1 { Bytes::from_static(PROBE) } else { Bytes::new() })
    }

    /// The peer reports that `first .. end` came twice: whether that answers the latest probe.
    pub(super) fn answers_probe(&self, first: i64, end: i64) -> bool {
        let probed = self.cycle.as_ref().and_then(|cycle| cycle.probed);
        probed.is_some_and(|offset| end == offset as i64 && first == end - PROBE.len() as i64)
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
            self.reports_probes &= !cycle.unsure;
            (cycle.first, cycle.due, cycle.out) = (None, true, None);
        }
        Ok(())
    }

    /// An acknowledgement came; `news` if it reported something, `answered` if it reported the probe.
    pub(super) fn continue_cycle(&mut self, now: Instant, news: bool, answered: bool) {
        let Some(cycle) = &mut self.cycle else { return };
        if self.board.outstanding() == 0 {
            // Nothing was lost.
            self.cycle = None;
            return;
        }
        let Some((sent_at, _)) = cycle.out else { return };
        let expects_report = self.reports_probes && cycle.probed.is_some();
        if !answered && (news || expects_report) {
            cycle.unsure |= !news;
            return;
        }
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
