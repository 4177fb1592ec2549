//! What an acknowledgement of the peer changes at the sender.

use bentpipe_cc::{Ack, LossCause, Signal};
use bentpipe_units::{ByteCount, Instant, Span};
use bentpipe_wire::tcp::{Options, Segment};

use super::recovery::{AckSeen, Delivered, Found, Recovery};
use super::sender::Sender;
use super::timing::Timing;

/// An acknowledgement, as the connection read it from a segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct AckIn {
    /// Place up to which everything is acknowledged.
    pub(super) offset: u64,
    /// Place of the segment that carries it, in the peer's stream.
    pub(super) from: u64,
    /// The peer's window in bytes.
    pub(super) window: u64,
    /// It carries nothing else: it may be a duplicate.
    pub(super) pure: bool,
    /// The peer has seen a congestion mark.
    pub(super) marked: bool,
    /// Somebody on the way says that what it asks for was damaged on a link (the corruption-experienced
    /// option of CCSDS 714.0-B).
    pub(super) corrupt: bool,
    /// The stamp that it echoes, and the time since then.
    pub(super) echo: Option<(u32, Span)>,
}

impl Sender {
    /// Takes an acknowledgement that is not from the future.
    pub(super) fn handle_ack(&mut self, now: Instant, ack: &AckIn, segment: &Segment) {
        let una = self.board.una();
        if ack.offset < una {
            return;
        }
        self.burst_left = self.config.max_burst;
        self.timeouts_in_row = 0;
        self.excused = ack.corrupt || self.may_blame_outage();
        let window_before = self.edge - una.min(self.edge);
        let was_limited = self.board.una() <= self.limited_before;
        let outstanding = self.board.outstanding();
        self.take_window(ack);
        let mut delivered = Delivered::default();
        self.board.acknowledge(ack.offset, &mut delivered);
        let acked = ack.offset - una;
        let cumulative = delivered.bytes;
        let twice = self.take_reports(ack.offset, segment, &mut delivered);
        let asked = self.take_requests(ack.offset, segment, &mut delivered);
        let sacked = delivered.bytes - cumulative;
        // RFC 5681, section 2.
        let same_window = self.edge - ack.offset.min(self.edge) == window_before;
        let duplicate =
            ack.pure && acked == 0 && outstanding > 0 && same_window && !twice && window_before > 0;
        self.buffer.acknowledge(ack.offset - 1);
        self.count_duplicates(duplicate, &mut delivered);
        let exact = delivered.sent_once_at.filter(|_| !delivered.resent).map(|at| now.since(at));
        self.measure(now, ack, acked, exact);
        let newest = delivered.newest.as_ref();
        let rate_sample = self.delivery.take(now, delivered.bytes, newest, self.rtt.min());
        let was_active = self.recovery.is_active();
        let seen = AckSeen {
            now,
            srtt: self.rtt.srtt(),
            mss: self.mss(),
            acked,
            sacked,
            duplicate,
            asked,
        };
        let mut found = self.recovery.on_ack(&mut self.board, &seen);
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
                    || self.recovery.is_active()
                    || self.cycle.is_some()
                    || acked == 0,
            };
            self.tell_ack(now, &told, was_limited);
        }
        self.undo_if_mistaken(now, ack, acked);
        if found == Found::default() {
            found = self.check_fine_timer(now, duplicate, acked);
        }
        self.judge_outage(now);
        self.follow(now, &found);
        if ack.marked {
            self.handle_mark(now);
        }
        self.follow_controller();
        if acked > 0 && !found.keep_timer || found.restart_timer {
            self.restart_timer(now);
        }
        let answered = std::mem::take(&mut self.probe_answered);
        self.continue_cycle(now, acked > 0 || delivered.bytes > 0, answered);
        self.probes.may_follow_ack();
    }

    /// Tells the controller of what arrived; `was_limited` if the window was the limit before.
    #[inline]
    pub(super) fn tell_ack(&mut self, now: Instant, told: &Ack, was_limited: bool) {
        let mut path = self.path_view(now);
        path.cwnd_limited |= was_limited;
        self.controller.on_ack(&path, told);
    }

    #[inline(always)]
    pub(super) fn take_window(&mut self, ack: &AckIn) {
        let (from, offset) = self.window_from;
        if ack.from > from || ack.from == from && ack.offset >= offset {
            let was_closed = self.edge <= self.board.una().max(ack.offset);
            self.window_from = (ack.from, ack.offset);
            self.peer_window = ack.window;
            self.largest_window = self.largest_window.max(ack.window);
            self.edge = ack.offset + ack.window;
            if was_closed && ack.window > 0 {
                // What probed the closed window was thrown away.
                self.backoff = 0;
                if self.board.outstanding() > 0 && self.board.una() == ack.offset {
                    self.board.lose(0);
                    self.forced = self.forced.max(1);
                }
            }
        }
    }

    /// Takes the selective acknowledgements. True when the first of them reports something that came
    /// twice (RFC 2883, section 4).
    fn take_reports(&mut self, una: u64, segment: &Segment, delivered: &mut Delivered) -> bool {
        let Options::Sack(blocks) = &segment.options else { return false };
        if !self.agreed.reports {
            return false;
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
        let answers_probe =
            twice && offsets(0).is_some_and(|(first, end)| self.answers_probe(first, end));
        let read = if self.mode.reads_reports() { blocks.len() } else { 0 };
        for n in usize::from(twice)..read {
            let block = blocks.get(n).copied().unwrap_or_default();
            let (first, end) = (self.offset(block.first), self.offset(block.end));
            if una as i64 <= first && first < end {
                self.board.sack(first as u64, end as u64, delivered);
                self.release(first as u64);
            }
        }
        self.probe_answered = answers_probe;
        if twice && self.probes.take_report() {
            self.probe_reports += 1;
        }
        twice
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
            self.buffer.release(start - 1, end - 1);
        }
    }

    /// Where selective reports are not read, a duplicate says that one more segment arrived.
    fn count_duplicates(&mut self, duplicate: bool, delivered: &mut Delivered) {
        if self.agreed.reports && self.mode.reads_reports() {
            return;
        }
        let known = self.counted.min(delivered.bytes);
        delivered.bytes -= known;
        self.counted -= known;
        if duplicate {
            let arrived = self.mss().min(self.board.outstanding().saturating_sub(self.counted));
            self.counted += arrived;
            delivered.bytes += arrived;
        }
    }

    /// Takes a sample of the round trip: the `exact` one of a segment that was sent once, unless it waited at
    /// the peer for one that was sent again (Karn), or else from the echo of a timestamp.
    #[inline(always)]
    pub(super) fn measure(&mut self, now: Instant, ack: &AckIn, acked: u64, exact: Option<Span>) {
        let echo = ack.echo.map(|(_, since)| since);
        let echoed = echo.filter(|_| acked > 0 || self.config.sample_duplicates);
        let measured = match self.timing {
            Timing::All => exact.or(echoed),
            Timing::Idle | Timing::One { .. } => self.timing.acknowledged(now, ack.offset),
        };
        let Some(measured) = measured else { return };
        if now.before(measured) < self.outage.over_at() {
            return;
        }
        if acked > 0 {
            self.backoff = 0;
        }
        let many = if self.config.sample_every_ack && !self.config.sample_duplicates {
            // RFC 7323, appendix G, with an acknowledgement for every two segments.
            (self.board.outstanding() / (2 * self.mss())).max(1)
        } else {
            1
        };
        let smoothed = echoed.filter(|_| self.config.sample_duplicates).unwrap_or(measured);
        self.take_sample(now, measured, smoothed, many);
    }

    #[inline(never)]
    fn take_sample(&mut self, now: Instant, measured: Span, smoothed: Span, many: u64) {
        let shown = self.in_ticks(now, smoothed);
        if self.timing == Timing::All {
            self.rtt.sample_one_of(measured, shown, many);
        } else {
            let tick = self.config.tick.max(Span::from_nanos(1));
            self.rtt.sample_ticks(measured, (shown.as_nanos() / tick.as_nanos()).max(1), tick);
        }
    }

    /// A span that ends now as the clock shows it: how often it ticked meanwhile.
    fn in_ticks(&self, now: Instant, span: Span) -> Span {
        let tick = self.config.tick.as_nanos().max(1);
        let shown = |at: Instant| at.since(Instant::ZERO).as_nanos() / tick;
        Span::from_nanos((shown(now) - shown(now.before(span))) * tick)
    }

    /// The first acknowledgement after a repair echoes a stamp from before it: the original had arrived
    /// (RFC 3522, section 3.2).
    fn undo_if_mistaken(&mut self, now: Instant, ack: &AckIn, acked: u64) {
        let (Some(repair), Some((echo, _)), true) = (self.first_repair, ack.echo, acked > 0) else {
            return;
        };
        if std::mem::take(&mut self.may_undo)
            && self.config.undo
            && (echo.wrapping_sub(repair) as i32) < 0
        {
            self.board.believe();
            self.signal(now, &Signal::SpuriousLoss);
        }
    }

    /// A controller with fine timers wants the oldest segment looked at by the first duplicate and by
    /// the first two acknowledgements after a repair.
    fn check_fine_timer(&mut self, now: Instant, duplicate: bool, acked: u64) -> Found {
        let looks = if acked > 0 {
            self.duplicates = 0;
            self.acks_since_repair = self.acks_since_repair.saturating_add(1);
            self.acks_since_repair <= 2
        } else {
            self.duplicates += u32::from(duplicate);
            duplicate && self.duplicates == 1
        };
        let Some(head) = self.board.head().filter(|_| looks) else { return Found::default() };
        let due = self.rtt.srtt() + (self.rtt.rttvar() * 4).max(self.config.tick);
        if !self.controller.repair().fine_timers || now.since(head.sent_at) <= due {
            return Found::default();
        }
        let sent_since = self.last_reduction.is_none_or(|at| head.sent_at > at);
        let found = self.recovery.suspect(&mut self.board);
        Found { new_episode: found.new_episode || sent_since, ..found }
    }

    /// Does what the recovery found to be done.
    fn follow(&mut self, now: Instant, found: &Found) {
        self.forced = self.forced.max(found.forced);
        if found.lost > 0 {
            self.excused |= self.lost_a_probe(found);
            let timed_out = found.as_timeout && !self.excused;
            let cause = if timed_out { LossCause::Timeout } else { LossCause::Gap };
            self.answer_loss(now, found, cause);
            if found.new_episode || found.again {
                // The repair has a timeout of its own: what is left of the old one is less than a round
                // trip where the round trip hardly varies.
                self.restart_timer(now);
            }
        }
        if found.done {
            self.signal(now, &Signal::RecoveryDone);
        }
        let reports = std::mem::take(&mut self.probe_reports);
        if reports > 0 {
            self.signal(now, &Signal::ProbeAcked { segments: reports });
        }
    }

    /// RFC 3168, section 6.1.2: once for each window, and not where a loss reduced it already. The peer repeats
    /// a mark until it has the first segment behind that window, which tells it of the reduction.
    fn handle_mark(&mut self, now: Instant) {
        if self.board.una() <= self.marked_before {
            return;
        }
        self.marked_before = self.board.next();
        self.cwr = true;
        if !self.recovery.is_active() {
            self.signal(now, &Signal::EcnCe);
        }
    }
}
