//! What an acknowledgement of the peer changes at the sender.
//!
//! It is taken in steps. A [plain](plain_ack) one leaves out those that find nothing to do.

use bentpipe_cc::{Ack, LossCause, RateSample, Signal};
use bentpipe_units::{ByteCount, Instant, Span};
use bentpipe_wire::tcp::{Options, Segment};

use super::Sender;
use super::header_prediction::{Whole, plain_ack};
use crate::tcp::ack_in::AckIn;
use crate::tcp::inquiry;
use crate::tcp::recovery::{AckSeen, Delivered, Departed, Found};
use crate::tcp::reduction::Heard;
use crate::tcp::round_trips::Timed;
use crate::tcp::tail_probe::Answer;

/// What the sender was like before an acknowledgement.
#[derive(Clone, Copy, Debug)]
struct Before {
    una: u64,
    /// The window was the limit.
    was_limited: bool,
}

impl Sender {
    /// Takes an acknowledgement that is neither from the future nor of what was acknowledged before.
    pub(in crate::tcp) fn handle_ack(&mut self, now: Instant, ack: &AckIn, segment: &Segment) {
        let una = self.board.una();
        let window_before = self.peer.room(una);
        let outstanding = self.board.outstanding();
        let before = self.hear_ack(ack, ack.corrupt || self.outage.may_be_blamed(una));
        let mut delivered = Delivered::default();
        self.board.acknowledge(ack.offset, &mut delivered);
        let acked = ack.offset - una;
        let cumulative = delivered.bytes;
        let twice = self.take_reports(ack.offset, segment, &mut delivered);
        let asked = self.take_requests(ack.offset, segment, &mut delivered);
        let sacked = delivered.bytes - cumulative;
        self.backlog.acknowledge(ack.offset);
        // RFC 5681, section 2.
        let same_window = self.peer.room(ack.offset) == window_before;
        let duplicate = ack.pure
            && acked == 0
            && outstanding > 0
            && same_window
            && twice.is_none()
            && window_before > 0;
        if !(self.agreed.reports && self.retransmissions.reads_reports()) {
            let (mss, outstanding) = (self.mss(), self.board.outstanding());
            self.retransmissions.count_duplicates(duplicate, &mut delivered, mss, outstanding);
        }
        let exact =
            delivered.sent_once.filter(|_| !delivered.resent).map(|once| now.since(once.sent_at));
        let newest = delivered.newest.as_ref();
        let rate_sample = self.measure(now, ack, [acked, delivered.bytes], exact, newest);
        let was_active = self.retransmissions.is_active();
        let about_path = |until: u64| !self.timers.tail_probe().is_about(until);
        let seen = AckSeen {
            path: self.repair_path(now),
            delivered,
            acked,
            sacked,
            duplicate,
            twice: twice.is_some_and(about_path),
            asked,
        };
        let mut found = self.retransmissions.on_ack(&mut self.board, &seen);
        // What advances counts, even if duplicates announced all of it (RFC 5681, section 3.1): after a
        // timeout the window would not grow otherwise.
        let bytes = delivered.bytes.max(acked.min(self.mss()));
        if bytes > 0 {
            let told = Ack {
                bytes: ByteCount::new(bytes),
                advanced: ByteCount::new(acked),
                segments: delivered.segments.max(1),
                newest_sent_at: delivered.newest.map_or(now, |newest| newest.sent_at),
                rate_sample,
                acks: 1,
                // What is only reported selectively is no reason to send faster.
                in_recovery: was_active
                    || self.retransmissions.is_active()
                    || self.probing.is_on()
                    || acked == 0,
                repairing: self.retransmissions.is_active(),
                lost: ByteCount::new(found.lost),
                marked: ByteCount::new(if ack.tells_mark { bytes } else { 0 }),
            };
            self.notify_ack(now, &told, before);
        }
        self.undo_if_mistaken(now, ack, acked, twice, found.mistaken);
        if found == Found::default() {
            found = self.check_fine_timer(now, duplicate, acked);
        }
        if let Some(judgement) = self.outage.take_judgement(now) {
            self.board.lose_sent_by(judgement.left_by, judgement.under_way);
        }
        self.follow(now, &found);
        let says_nothing = acked == 0 && sacked == 0 && duplicate;
        let answer = Answer { una: ack.offset, twice_until: twice, says_nothing };
        self.hear_tail_probe(now, &answer);
        let heard = Heard {
            delivered: delivered.bytes,
            progress: acked > 0 && found.lost == 0,
            mss: self.mss(),
        };
        self.retransmissions.follow_reduction(&self.board, &heard);
        if ack.marked {
            self.handle_mark(now);
        }
        self.settle_ack(now, acked > 0 && !found.keep_timer || found.restart_timer);
        self.hear_inquiry(now, duplicate);
        self.continue_probing(now, acked > 0 || delivered.bytes > 0);
    }

    /// Takes an acknowledgement of new data if it is a plain one. False, and nothing changed, when it is not.
    #[inline(always)]
    pub(in crate::tcp) fn take_plain_ack(&mut self, now: Instant, ack: &AckIn) -> bool {
        let Some(Whole { segments, newest }) = plain_ack(self, ack) else { return false };
        let path = self.repair_path(now);
        if self.timers.tail_probe().is_under_way()
            || self.timers.inquiry().is_on()
            || !self.retransmissions.on_plain_ack(&path, &newest)
        {
            return false;
        }
        let before = self.hear_ack(ack, false);
        self.board.acknowledge_whole(segments, ack.offset);
        self.backlog.acknowledge(ack.offset);
        let acked = ack.offset - before.una;
        let exact = Some(now.since(newest.sent_at));
        let rate_sample = self.measure(now, ack, [acked, acked], exact, Some(&newest));
        let told = Ack {
            bytes: ByteCount::new(acked),
            advanced: ByteCount::new(acked),
            segments,
            newest_sent_at: newest.sent_at,
            rate_sample,
            acks: 1,
            in_recovery: false,
            repairing: false,
            lost: ByteCount::ZERO,
            marked: ByteCount::ZERO,
        };
        self.notify_ack(now, &told, before);
        _ = self.episode.advanced();
        self.settle_ack(now, true);
        true
    }

    /// First step: the peer is there, and states its window.
    #[inline(always)]
    fn hear_ack(&mut self, ack: &AckIn, excused: bool) -> Before {
        let una = self.board.una();
        self.pacer.new_burst();
        self.timers.heard();
        self.episode.heard(excused);
        let was_limited = self.governor.was_limited(una);
        if self.peer.take(ack, una) {
            // What probed the closed window was thrown away.
            self.timers.forget_backoff();
            if self.board.outstanding() > 0 && una == ack.offset {
                self.board.lose(0);
                self.retransmissions.force(1);
            }
        }
        Before { una, was_limited }
    }

    /// Second step, after the scoreboard took it: what it tells of the round trip and of the rate. `acked` bytes were
    /// acknowledged cumulatively, so many were `delivered`; a segment that was sent once took the `exact` time.
    #[inline(always)]
    fn measure(
        &mut self,
        now: Instant,
        ack: &AckIn,
        [acked, delivered]: [u64; 2],
        exact: Option<Span>,
        newest: Option<&Departed>,
    ) -> Option<RateSample> {
        let timed = Timed {
            acked,
            exact,
            since: self.outage.over_at(),
            outstanding: self.board.outstanding(),
            mss: self.mss(),
            next: self.board.next(),
        };
        if self.round_trips.measure(now, &self.config, ack, &timed) && acked > 0 {
            self.timers.forget_backoff();
        }
        self.delivery.take(now, delivered, newest, self.round_trips.rtt().min())
    }

    /// Third step: the controller is told of what arrived.
    #[inline]
    fn notify_ack(&mut self, now: Instant, told: &Ack, before: Before) {
        let mut path = self.path_view(now);
        path.cwnd_limited |= before.was_limited;
        self.governor.on_ack(&path, told);
    }

    /// Last step: the window follows, and the timer starts anew where it `restarts`.
    #[inline(always)]
    fn settle_ack(&mut self, now: Instant, restarts: bool) {
        self.governor.follow(self.mss());
        if restarts {
            self.restart_timer(now);
            self.arm_tail_probe(now);
        }
        self.probes.may_follow_ack();
    }

    /// Takes the selective acknowledgements. When the first of them reports something that came twice (RFC 2883,
    /// section 4): the offset behind it.
    fn take_reports(
        &mut self,
        una: u64,
        segment: &Segment,
        delivered: &mut Delivered,
    ) -> Option<u64> {
        let Options::Sack(blocks) = &segment.options else { return None };
        if !self.agreed.reports {
            return None;
        }
        let offsets = |n: usize| {
            let block = blocks.get(n)?;
            let (first, end) = (self.offset(block.first), self.offset(block.end));
            (first < end && end <= self.board.next() as i64).then_some((first, end))
        };
        let twice = offsets(0).is_some_and(|(first, end)| {
            let within = |(from, to): (i64, i64)| from <= first && end <= to;
            end <= una as i64 || offsets(1).is_some_and(within)
        });
        let first_block = offsets(0).filter(|_| twice);
        let read = if self.retransmissions.reads_reports() { blocks.len() } else { 0 };
        for n in usize::from(twice)..read {
            let block = blocks.get(n).copied().unwrap_or_default();
            let (first, end) = (self.offset(block.first), self.offset(block.end));
            if una as i64 <= first && first < end {
                self.board.sack(first as u64, end as u64, delivered);
                self.release(first as u64);
            }
        }
        if let Some((first, end)) = first_block {
            self.probing.take_report(first, end);
            self.probes.take_report();
        }
        first_block.map(|(_, end)| end.max(0) as u64)
    }

    /// Takes a SNACK: the first hole, then a bit for each segment behind it that says whether it is missing. Gives
    /// the offset before which the peer asks for all that it has not reported.
    fn take_requests(&mut self, una: u64, segment: &Segment, delivered: &mut Delivered) -> u64 {
        let (Options::Snack(snack), Some(unit)) = (&segment.options, self.agreed.snacks) else {
            return 0;
        };
        let next = self.board.next();
        let mut at = una + (u64::from(snack.hole_offset) + u64::from(snack.hole_size)) * unit;
        let mut asked = at.min(next);
        for byte in snack.vector.iter() {
            for bit in (0..8).rev() {
                let end = at + unit;
                if end > next {
                    return asked;
                }
                if byte >> bit & 1 == 1 {
                    asked = end;
                } else {
                    self.board.sack(at, end, delivered);
                    self.release(at);
                }
                at = end;
            }
        }
        asked
    }

    /// Frees what the peer has of the stretch at this offset.
    fn release(&mut self, offset: u64) {
        if self.config.release_reported
            && let Some((start, end)) = self.board.runs().run_at(offset)
        {
            self.backlog.release(start, end);
        }
    }

    /// The originals of what was retransmitted may have arrived, as an echo shows, or what came twice, or that what left
    /// before a timeout was not lost.
    fn undo_if_mistaken(
        &mut self,
        now: Instant,
        ack: &AckIn,
        acked: u64,
        twice: Option<u64>,
        mistaken: bool,
    ) {
        let echo = ack.echo.filter(|_| acked > 0).map(|(echo, _)| echo);
        let early = echo.is_some_and(|echo| self.episode.take_mistake(echo));
        let both = twice.is_some_and(|until| self.episode.take_twice(until));
        if self.config.undo && (early || both || mistaken) {
            self.board.believe();
            self.retransmissions.undone(&self.board);
            self.signal(now, &Signal::SpuriousLoss);
        }
    }

    /// The probe of the end of a flight may be answered. Where it repaired a loss the window is reduced for it.
    fn hear_tail_probe(&mut self, now: Instant, answer: &Answer) {
        if self.timers.tail_probe_mut().hear(answer) && self.retransmissions.is_open() {
            let found = Found { new_episode: true, ..Found::default() };
            self.tell_loss(now, &found, LossCause::Gap);
            self.retransmissions.undone(&self.board);
            self.signal(now, &Signal::RecoveryDone);
        }
    }

    /// What was asked before a repair may be answered: where data were lost the timeout is answered now.
    fn hear_inquiry(&mut self, now: Instant, duplicate: bool) {
        let Some(start) = self.timers.inquiry().asked() else {
            // It was about a silence that is over.
            return self.timers.inquiry_mut().stop();
        };
        let reported = if self.retransmissions.reads_reports() && self.agreed.reports {
            self.board.get(self.board.find(start)).is_some_and(|asked| asked.sacked)
        } else {
            duplicate
        };
        let answer = self.timers.inquiry_mut().hear(self.board.una(), reported);
        if answer == inquiry::Answer::DataLost && !self.retransmissions.is_active() {
            self.time_out(now, true);
            self.governor.follow(self.mss());
        }
    }

    /// A controller with fine timers wants the oldest segment looked at by the first duplicate and by
    /// the first two acknowledgements after a retransmission.
    fn check_fine_timer(&mut self, now: Instant, duplicate: bool, acked: u64) -> Found {
        let looks =
            if acked > 0 { self.episode.advanced() } else { self.episode.stood_still(duplicate) };
        let Some(head) = self.board.head().filter(|_| looks) else { return Found::default() };
        let due = self.round_trips.overdue_after(&self.config);
        if !self.governor.repair().fine_timers || now.since(head.sent_at) <= due {
            return Found::default();
        }
        let sent_since = self.episode.is_since_reduction(head.sent_at);
        let found = self.retransmissions.suspect(&mut self.board);
        Found { new_episode: found.new_episode || sent_since, ..found }
    }

    /// Does what the recovery found to be done.
    fn follow(&mut self, now: Instant, found: &Found) {
        self.retransmissions.force(found.forced);
        if found.lost > 0 || found.new_episode {
            if self.path_mtu.is_probe(found, &self.board) {
                self.episode.excuse();
            }
            let timed_out = found.as_timeout && !self.episode.is_excused();
            let cause = if timed_out { LossCause::Timeout } else { LossCause::Gap };
            self.answer_loss(now, found, cause);
            if found.new_episode || found.again {
                // The retransmission has a timeout of its own: what is left of the old one is less than a round
                // trip where the round trip hardly varies.
                self.restart_timer(now);
            }
        }
        // Where the next one has begun the controller was told of that.
        if found.done && !found.new_episode {
            self.signal(now, &Signal::RecoveryDone);
        }
        let reports = self.probes.take_reported();
        if reports > 0 {
            self.signal(now, &Signal::ProbeAcked { segments: reports });
        }
    }

    /// The peer has seen a mark, or a router tells of one. A loss may have reduced the window already.
    pub(in crate::tcp) fn handle_mark(&mut self, now: Instant) {
        if self.ecn.take_echo(self.board.una(), self.board.next())
            && !self.retransmissions.is_active()
        {
            let before = self.governor.cwnd();
            self.signal(now, &Signal::EcnCe);
            self.reduce_from(before);
        }
    }

    /// The acknowledgement may end a cycle of probes; `news` if it reported something.
    fn continue_probing(&mut self, now: Instant, news: bool) {
        let complete = self.board.outstanding() == 0;
        if let Some(end) = self.probing.take_ack(now, news, complete) {
            if end.congested {
                self.tell_loss(now, &end.found, end.cause);
            }
            self.retransmissions.force(1);
            self.restart_timer(now);
        }
    }
}
