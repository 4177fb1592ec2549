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

/// What a peer sees twice of a probe.
const PROBE: &[u8] = &[0];

/// The probing of one end.
#[derive(Debug)]
pub(super) struct Probing {
    cycle: Option<Cycle>,
    /// The peer reports probes of a cycle as what came twice, as far as is known.
    reports_probes: bool,
    /// The acknowledgement that is being handled did.
    answered: bool,
}

/// A loss that is not answered yet.
#[derive(Clone, Copy, Debug)]
struct Cycle {
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

/// A cycle is over that this loss began.
#[derive(Clone, Copy, Debug)]
pub(super) struct CycleEnd {
    pub(super) found: Found,
    pub(super) cause: LossCause,
    /// Round trips are longer than they were: the loss means what it would have meant without probing. Otherwise
    /// it was bit errors, and everything goes on with the window as it was (immediate recovery).
    pub(super) congested: bool,
}

impl Probing {
    /// No loss was found.
    pub(super) const fn new() -> Self {
        Self { cycle: None, reports_probes: true, answered: false }
    }

    /// A cycle is under way.
    #[inline]
    pub(super) const fn is_on(&self) -> bool {
        self.cycle.is_some()
    }

    /// A loss begins a cycle; a round trip is taken to last `estimate`.
    pub(super) const fn begin(&mut self, found: &Found, cause: LossCause, estimate: Span) {
        let (first, due, out) = (None, true, None);
        let (probed, unsure) = (None, false);
        self.cycle =
            Some(Cycle { found: *found, cause, estimate, first, due, out, probed, unsure });
    }

    /// Nothing is to be found out any more.
    pub(super) const fn stop(&mut self) {
        self.cycle = None;
    }

    /// A probe leaves, if one is to be sent: its payload. It counts as lost after `wait`.
    pub(super) fn take_probe(
        &mut self,
        now: Instant,
        una: u64,
        wait: impl FnOnce() -> Span,
    ) -> Option<Bytes> {
        let cycle = self.cycle.as_mut().filter(|cycle| cycle.due)?;
        (cycle.due, cycle.out, cycle.unsure) = (false, Some((now, now + wait())), false);
        // The byte before the first one has the number of the SYN.
        cycle.probed = (una > 1).then_some(una);
        Some(if una > 1 { Bytes::from_static(PROBE) } else { Bytes::new() })
    }

    /// The acknowledgement that is being handled reports that `first .. end` came twice: that may be the answer to
    /// the latest probe.
    pub(super) fn take_report(&mut self, first: i64, end: i64) {
        let probed = self.cycle.as_ref().and_then(|cycle| cycle.probed);
        self.answered =
            probed.is_some_and(|offset| end == offset as i64 && first == end - PROBE.len() as i64);
    }

    /// When a probe counts as lost.
    #[inline]
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.cycle.as_ref().and_then(|cycle| cycle.out).map(|(_, lost_at)| lost_at)
    }

    /// A probe or its answer is lost.
    pub(super) fn is_probe_lost(&self, now: Instant) -> bool {
        self.deadline().is_some_and(|lost_at| lost_at <= now)
    }

    /// The cycle begins anew.
    pub(super) const fn begin_anew(&mut self) {
        if let Some(cycle) = &mut self.cycle {
            self.reports_probes &= !cycle.unsure;
            (cycle.first, cycle.due, cycle.out) = (None, true, None);
        }
    }

    /// An acknowledgement came; `news` if it reported something, `complete` if nothing is under way any more. Gives
    /// what was found out, if the cycle is over by it.
    #[inline]
    pub(super) fn take_ack(
        &mut self,
        now: Instant,
        news: bool,
        complete: bool,
    ) -> Option<CycleEnd> {
        let answered = std::mem::take(&mut self.answered);
        self.cycle.as_ref()?;
        self.advance(now, news, answered, complete)
    }

    #[inline(never)]
    fn advance(
        &mut self,
        now: Instant,
        news: bool,
        answered: bool,
        complete: bool,
    ) -> Option<CycleEnd> {
        let cycle = self.cycle.as_mut()?;
        if complete {
            // Nothing was lost.
            self.cycle = None;
            return None;
        }
        let (sent_at, _) = cycle.out?;
        let expects_report = self.reports_probes && cycle.probed.is_some();
        if !answered && (news || expects_report) {
            cycle.unsure |= !news;
            return None;
        }
        let took = now.since(sent_at);
        let Some(first) = cycle.first else {
            (cycle.first, cycle.due, cycle.out) = (Some(took), true, None);
            return None;
        };
        let Cycle { found, cause, estimate, .. } = self.cycle.take()?;
        Some(CycleEnd { found, cause, congested: first.max(took) > estimate })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Span::from_millis(ms)
    }

    /// Two exchanges that take so long where a round trip was taken to last 100 ms.
    fn exchanges(took: [u64; 2]) -> Option<CycleEnd> {
        let mut probing = Probing::new();
        probing.begin(&Found::default(), LossCause::Gap, Span::from_millis(100));
        let mut now = at(1_000);
        for (n, took) in took.into_iter().enumerate() {
            assert_eq!(probing.take_probe(now, 500, || Span::from_secs(1)).as_deref(), Some(PROBE));
            now += Span::from_millis(took);
            probing.take_report(499, 500);
            let end = probing.take_ack(now, false, false);
            assert_eq!(end.is_some(), n == 1);
            if n == 1 {
                return end;
            }
        }
        None
    }

    #[test]
    fn the_longer_of_two_exchanges_tells_noise_from_congestion() {
        assert!(exchanges([100, 90]).is_some_and(|end| !end.congested));
        assert!(exchanges([101, 90]).is_some_and(|end| end.congested));
    }

    #[test]
    fn a_peer_that_makes_no_reports_is_known_by_a_probe_without_one() {
        let mut probing = Probing::new();
        probing.begin(&Found::default(), LossCause::Gap, Span::from_millis(100));
        let wait = || Span::from_millis(300);
        assert!(probing.take_probe(at(0), 500, wait).is_some());
        assert!(probing.take_ack(at(100), false, false).is_none(), "it was not reported");
        assert!(!probing.is_probe_lost(at(299)) && probing.is_probe_lost(at(300)));
        probing.begin_anew();
        assert!(probing.take_probe(at(300), 500, wait).is_some());
        assert!(probing.take_ack(at(390), false, false).is_none());
        assert!(probing.take_probe(at(390), 500, wait).is_some(), "the first exchange is over");
    }
}
