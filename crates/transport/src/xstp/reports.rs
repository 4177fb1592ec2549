//! The sending side's answer to STAT and USTAT: acknowledge, open the window, retransmit or probe.

use bentpipe_cc::{Ack, Loss, LossCause, RateSample};
use bentpipe_units::{ByteCount, Instant, Seq32, Span};
use bentpipe_wire::xstp::{Report, ReportKind};

use super::probing::{Trigger, Verdict};
use super::send_cache::Acknowledged;
use super::sender::{Activity, Sender};
use super::{Received, StatRule};
use crate::payload_size::Outcome;

/// A report that no honest receiver sends, or one that came too late. It changes nothing.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Ignored;

/// Time by which a retransmission may come early, for clocks that round.
const ROUNDING: Span = Span::from_micros(1);
/// No round trip is shorter, whatever a peer that guesses timestamps makes of it.
const LEAST_ROUND_TRIP: Span = Span::from_micros(1);

impl Sender {
    /// Handles a report that came with the receive credit `window`.
    pub(super) fn handle_report(
        &mut self,
        now: Instant,
        report: &Report,
        window: u16,
    ) -> Result<(), Ignored> {
        self.check(report)?;
        let edge = report.next.plus(u32::from(window));
        match report.kind {
            ReportKind::Stat => self.handle_stat(now, report, edge)?,
            ReportKind::Ustat => self.handle_ustat(now, report, edge),
        }
        self.touch();
        Ok(())
    }

    /// A report speaks only of what was sent and is not acknowledged yet.
    fn check(&self, report: &Report) -> Result<(), Ignored> {
        let (oldest, next) = (self.cache.oldest(), self.cache.next());
        let outstanding = next.distance_from(oldest);
        let acknowledged = report.next.distance_from(oldest);
        let reach = report.gaps.last().map_or(0, |gap| u32::from(gap.upper));
        if acknowledged <= outstanding && reach <= outstanding - acknowledged {
            Ok(())
        } else {
            Err(Ignored)
        }
    }

    fn handle_stat(&mut self, now: Instant, stat: &Report, edge: Seq32) -> Result<(), Ignored> {
        let poll_sent = self.polls.answered(stat.ts_echo, now).ok_or(Ignored)?;
        let measured = now.since(poll_sent).max(LEAST_ROUND_TRIP);
        let srtt_before = self.rtt.srtt();
        self.rtt.sample_or_restart(measured); // P15: also while probing.
        self.polls.accept(stat.ts_echo, poll_sent, now);
        if let Some(at) = stat.received_at {
            // What the peer holds a STAT for is part of the round trip.
            let received = Received { at, held: Span::ZERO };
            self.round.return_delay = self.governor.queue().answered(now, measured, received);
        }
        self.credit_edge = edge;
        if self.config.selective {
            self.deliver(now, stat, poll_sent);
        } else {
            self.acknowledge(now, stat.next);
        }
        self.pick_valid(now, stat, poll_sent);
        if self.probing.is_active() {
            self.probe_answered(now, stat, poll_sent, measured);
            return Ok(());
        }
        if !self.picked.is_empty() {
            if self.config.probing {
                // P8, P9: nothing is repaired now, and the estimate is the one before this answer.
                self.start_probing(now, srtt_before, Trigger::GapReport);
                if self.config.probe.record_trigger_stat {
                    self.probing.record(stat.ts_echo, poll_sent, measured);
                }
                return Ok(());
            }
            self.retransmit_picked();
            self.reduce(now, LossCause::Nack);
        }
        self.polls.reset_backoff(now);
        if self.activity() == Activity::Transmitting {
            let next_poll = now + self.interval();
            self.polls.pull_in(next_poll);
        }
        Ok(())
    }

    fn handle_ustat(&mut self, now: Instant, ustat: &Report, edge: Seq32) {
        // P14: not even its acknowledgment counts while probing.
        if self.probing.is_active() {
            return;
        }
        // A USTAT may be overtaken by a later report; its edge is then the older one.
        self.credit_edge = self.credit_edge.latest(edge);
        if self.config.selective {
            self.deliver(now, ustat, now);
        } else {
            self.acknowledge(now, ustat.next);
        }
        let named = ustat.gaps.iter().map(|gap| u32::from(gap.upper - gap.lower)).sum();
        if !self.picked.admit(named) {
            return;
        }
        self.pick_valid(now, ustat, now);
        if self.picked.is_empty() {
            return;
        }
        if self.config.probing {
            self.start_probing(now, self.rtt.srtt(), Trigger::GapReport);
        } else {
            self.retransmit_picked();
            self.reduce(now, LossCause::Nack);
        }
    }

    /// A STAT came while probing (P16 to P22).
    fn probe_answered(&mut self, now: Instant, stat: &Report, poll_sent: Instant, measured: Span) {
        if stat.gaps.is_empty() {
            self.stop_probing(now, Verdict::Premature);
        } else if !self.picked.is_empty() {
            self.probing.record(stat.ts_echo, poll_sent, measured);
            let threshold = self.config.idle_threshold;
            if let Some(verdict) = self.probing.verdict(now, &self.config.probe, threshold) {
                self.stop_probing(now, verdict);
            }
        }
    }

    /// P28: the reaction first, then the retransmissions, then new data at the normal rate of polling.
    fn stop_probing(&mut self, now: Instant, verdict: Verdict) {
        match verdict {
            Verdict::Premature | Verdict::Link => {} // P16, P25: Immediate Recovery.
            Verdict::Congestion { persistent: false } => self.reduce(now, LossCause::Nack), // P26
            Verdict::Congestion { persistent: true } => self.reduce(now, LossCause::Persistent), // P27
        }
        self.probing.stop(now, verdict, &self.config.probe);
        self.retransmit_picked();
        // P27: the cycle does not count as idle time.
        self.timer.not_idle(now);
        self.polls.restart_epoch(now);
        self.polls.set_due(Some(now));
    }

    /// Acknowledges everything before `next` and opens the window.
    fn acknowledge(&mut self, now: Instant, next: Seq32) {
        let in_recovery = self.governor.is_in_recovery(self.cache.oldest());
        let done = self.take_acknowledged(now, next);
        let Some(newest_sent_at) = done.newest else { return };
        if next.is_after(self.round.ends_after) {
            self.round.number += 1;
            self.round.ends_after = self.cache.next();
        }
        let bytes = ByteCount::new(done.bytes as u64);
        let segments = u64::from(done.segments);
        let acks = segments; // a STAT stands for the acknowledgements that a TCP would have sent
        let (advanced, rate_sample) = (bytes, None);
        let ack = Ack {
            bytes,
            advanced,
            segments,
            newest_sent_at,
            rate_sample,
            acks,
            in_recovery,
            repairing: in_recovery,
            lost: ByteCount::ZERO,
            marked: ByteCount::ZERO,
        };
        self.round.delivered += bytes.get();
        let path = self.path_view(now);
        self.governor.on_ack(&path, &ack);
        self.follow_controller();
    }

    /// Takes everything that a report says the peer has, acknowledged or beyond gaps.
    fn deliver(&mut self, now: Instant, report: &Report, newest_sent_at: Instant) {
        let in_recovery = self.governor.is_in_recovery(self.cache.oldest());
        let done = self.take_acknowledged(now, report.next);
        let newly = self.delivery.acknowledged(done.segments);
        let (more, flight) = match report.kind {
            ReportKind::Stat => {
                self.governor.queue().measured(now, now.since(newest_sent_at));
                if newest_sent_at >= self.round.began {
                    self.round.number += 1;
                    self.round.began = now;
                    self.governor.queue().round(now);
                }
                self.delivery.answered(now, report)
            }
            ReportKind::Ustat => (0, None),
        };
        let segments = newly + more;
        self.governor.queue().delivered(segments);
        let payload = self.mean_payload();
        let rate_sample = flight.map(|flight| RateSample {
            delivered: ByteCount::new(flight.segments * payload),
            interval: flight.span,
            app_limited: flight.app_limited,
        });
        if segments == 0 && rate_sample.is_none() {
            return;
        }
        let bytes = ByteCount::new(segments * payload);
        let advanced = ByteCount::new(done.bytes as u64);
        let acks = segments;
        let ack = Ack {
            bytes,
            advanced,
            segments,
            newest_sent_at,
            rate_sample,
            acks,
            in_recovery,
            repairing: in_recovery,
            lost: ByteCount::ZERO,
            marked: ByteCount::ZERO,
        };
        self.round.delivered += bytes.get();
        let path = self.path_view(now);
        self.governor.on_ack(&path, &ack);
        self.follow_controller();
    }

    /// Frees everything before `next`.
    fn take_acknowledged(&mut self, now: Instant, next: Seq32) -> Acknowledged {
        let (oldest, shortest) = (self.cache.oldest(), self.rtt.min());
        let done = self.cache.acknowledge(next, now.before(shortest));
        if done.newest.is_some() {
            let outcome = Outcome { segments: done.segments, lost: done.repaired, runs: done.runs };
            self.payload.judged(oldest, outcome, self.cache.next());
            self.buffer.acknowledge(self.buffer.sent() - self.cache.bytes() as u64);
            if self.config.selective {
                let (late, awaited) = (u64::from(done.late), u64::from(done.awaited));
                self.delivery.reordering().came(now, late, awaited, shortest);
            }
        }
        done
    }

    /// Picks from a report what is worth sending again: from a USTAT what was sent only once, from a
    /// STAT what had the time to arrive.
    fn pick_valid(&mut self, now: Instant, report: &Report, poll_sent: Instant) {
        let age = self.rtt.srtt() * u64::from(self.polls.backoff());
        let rule = self.config.stat_rule;
        let late = self.delivery.reordering().window();
        self.picked.clear();
        for gap in &report.gaps {
            // What arrived behind the gap, and when it was sent: what was sent long enough before that is no more late.
            let behind = self.cache.get(report.next.plus(u32::from(gap.upper)));
            let behind = behind.filter(|entry| entry.retransmissions == 0);
            let overtaken = behind.map_or(Instant::ZERO, |entry| entry.last_sent.before(late));
            for offset in gap.lower..gap.upper {
                let seq = report.next.plus(u32::from(offset));
                if !seq.is_before(self.credit_edge) {
                    // The peer has no room for it any more: what it says is no sign of a loss.
                    return;
                }
                let Some(entry) = self.cache.get_mut(seq) else { continue };
                let valid = match (report.kind, rule) {
                    (ReportKind::Ustat, _) => {
                        let may_be_late = !late.is_zero() && entry.last_sent > overtaken;
                        entry.awaited |= may_be_late;
                        entry.retransmissions == 0 && !entry.queued && !may_be_late
                    }
                    (ReportKind::Stat, StatRule::Elapsed) => {
                        now.since(entry.last_sent) + ROUNDING >= age
                    }
                    (ReportKind::Stat, StatRule::Poll) => {
                        let may_be_late = entry.last_sent + late > poll_sent;
                        entry.awaited |= may_be_late && entry.last_sent <= poll_sent;
                        !may_be_late
                    }
                };
                if valid {
                    // What waits to be retransmitted was found before.
                    let newly_lost = if entry.queued { 0 } else { u64::from(entry.len) };
                    self.picked.push(seq, newly_lost);
                }
            }
        }
    }

    fn retransmit_picked(&mut self) {
        for index in 0..self.picked.segments().len() {
            self.retransmit(self.picked.segments()[index]);
        }
    }

    /// A router marked something: once for each window, like a loss but with nothing to retransmit.
    pub(super) fn handle_mark(&mut self, now: Instant) {
        if self.cache.len() > 0 && !self.governor.is_in_recovery(self.cache.oldest()) {
            let path = self.path_view(now);
            self.governor.on_mark(&path, self.cache.next());
            self.follow_controller();
            self.touch();
        }
    }

    /// Tells the controller of the picked losses; the window shrinks once for each window sent.
    fn reduce(&mut self, now: Instant, cause: LossCause) {
        let fresh = self.picked.segments().iter().filter_map(|seq| self.cache.get(*seq));
        let fresh = fresh.filter(|entry| entry.retransmissions == 0).count() as u64;
        self.delivery.reordering().lost(fresh);
        let looks_corrupt = self.config.forgive_noise && self.governor.queue().lost(fresh);
        let new_episode = !looks_corrupt && !self.governor.is_in_recovery(self.cache.oldest());
        let path = self.path_view(now);
        let bytes = ByteCount::new(self.picked.newly_lost());
        let loss = Loss { bytes, cause, new_episode, again: false, looks_corrupt };
        self.governor.on_loss(&path, &loss, self.cache.next());
        self.follow_controller();
    }
}
