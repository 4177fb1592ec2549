//! What leaves next.

use bentpipe_cc::{LowPriority, Sent, Signal};
use bentpipe_units::{ByteCount, Instant};
use bytes::Bytes;

use super::Sender;
use super::header_prediction::{plain_departure, waits_for_cwnd};
use crate::tcp::pacer::{Pace, WindowView};
use crate::tcp::path_mtu::Room;

/// A segment of the stream that leaves.
#[derive(Debug)]
pub(in crate::tcp) struct Outgoing {
    /// Offset of its first byte.
    pub(in crate::tcp) start: u64,
    pub(in crate::tcp) payload: Bytes,
    pub(in crate::tcp) fin: bool,
    /// There is nothing behind it.
    pub(in crate::tcp) push: bool,
    pub(in crate::tcp) kind: Kind,
    /// Routers shall drop it first.
    pub(in crate::tcp) low: bool,
}

/// There is no window for what waits.
struct NoWindow;

/// Why a segment leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tcp) enum Kind {
    /// For the first time.
    New,
    /// Once more.
    Retransmission,
    /// As a copy that only probes the path.
    Copy,
}

impl Sender {
    /// The next segment of the stream, if one may leave. `clock` is what its timestamp says, `wire` how
    /// many bytes go with the payload.
    pub(in crate::tcp) fn next_segment(
        &mut self,
        now: Instant,
        clock: u32,
        wire: u64,
    ) -> Option<Outgoing> {
        if !self.open || self.probing.is_on() || self.outage.is_on() {
            return None;
        }
        if self.timers.tail_probe().is_due() {
            return self.next_tail_probe(now, clock, wire);
        }
        if self.timers.inquiry().is_due() {
            let asks = self.next_new(now).unwrap_or(None);
            self.timers.inquiry_mut().left(asks.as_ref().map(|asks| asks.start));
            let asks = asks?;
            self.charge(now, wire, &asks);
            return Some(asks);
        }
        let waits = self.board.next_retransmission().is_some() || self.backlog.has_new();
        if waits && self.is_held_back(now, wire) {
            return self.next_spaced_copy(now, wire);
        }
        let new_first = self.retransmissions.prefers_new() && self.backlog.has_new();
        let mut outgoing = if new_first {
            self.next_new(now).unwrap_or(None)
        } else {
            self.next_retransmission(now, clock)
        };
        if !new_first && outgoing.is_none() && self.board.next_retransmission().is_none() {
            outgoing = match self.next_new(now) {
                Ok(Some(outgoing)) => Some(outgoing),
                Ok(None) => self.last_resort(now, clock),
                Err(NoWindow) => None,
            };
        }
        if outgoing.is_none() {
            outgoing = self.next_copy(now);
        }
        let outgoing = outgoing?;
        self.charge(now, wire, &outgoing);
        Some(outgoing)
    }

    /// The end of what is under way may be lost: a segment that tells, whatever the window and the pace say.
    fn next_tail_probe(&mut self, now: Instant, clock: u32, wire: u64) -> Option<Outgoing> {
        let new = self.next_new(now).unwrap_or(None);
        let retransmitted = new.is_none();
        let outgoing = new.or_else(|| {
            let (last, _) = self.board.last()?;
            self.resend(now, clock, last)
        });
        self.timers.tail_probe_mut().left(self.board.next(), retransmitted);
        let outgoing = outgoing?;
        self.charge(now, wire, &outgoing);
        Some(outgoing)
    }

    /// The next copy, while data are held back: what has a spacing of its own waits for no pace.
    fn next_spaced_copy(&mut self, now: Instant, wire: u64) -> Option<Outgoing> {
        match self.governor.low_priority() {
            LowPriority::Probes { spacing, .. } if !spacing.is_zero() => {}
            _ => return None,
        }
        let copy = self.next_copy(now)?;
        self.charge(now, wire, &copy);
        Some(copy)
    }

    /// A burst is over, or the pace does not allow the next segment yet.
    fn is_held_back(&mut self, now: Instant, wire: u64) -> bool {
        if self.pacer.is_burst_over() {
            return true;
        }
        let pace = self.pace(wire);
        let held_back = self.pacer.hold_back(now, pace.as_ref());
        if held_back && self.backlog.has_new() {
            self.governor.limited(self.board.next());
        }
        held_back
    }

    /// There is a pace, the controller's or the window's.
    pub(super) fn is_paced(&self) -> bool {
        self.config.pacing || self.governor.limits().pacing.is_some()
    }

    /// How segments with headers of so many bytes may leave; `None` for at once.
    fn pace(&self, wire: u64) -> Option<Pace> {
        let (limits, mss) = (self.governor.limits(), self.mss());
        if !self.config.pacing || limits.pacing.is_some() {
            return Pace::of(limits, mss, wire);
        }
        let view = WindowView {
            cwnd: self.governor.cwnd(),
            in_flight: self.in_flight(),
            ssthresh: self.governor.snapshot().ssthresh.map(ByteCount::get),
            srtt: self.round_trips.rtt().measured()?,
        };
        Pace::of(&view.limits(mss), mss, wire)
    }

    /// A segment leaves: what it costs.
    fn charge(&mut self, now: Instant, wire: u64, outgoing: &Outgoing) {
        let len = outgoing.payload.len() as u64;
        // Copies leave besides the data: they take nothing of their pace.
        let pace = if outgoing.kind == Kind::Copy { None } else { self.pace(wire) };
        self.pacer.sent(now, pace.as_ref(), len);
        if self.timers.rto().is_none() {
            self.restart_timer(now);
        }
        self.arm_tail_probe(now);
        if self.governor.follows_sending() {
            let path = self.path_view(now);
            let retransmission = outgoing.kind == Kind::Retransmission;
            let probe = outgoing.kind == Kind::Copy;
            let sent = Sent { bytes: ByteCount::new(len), retransmission, probe };
            self.governor.on_sent(&path, &sent);
        }
    }

    /// Bytes that may be under way.
    #[inline(always)]
    fn window(&self) -> u64 {
        self.retransmissions.window(self.governor.cwnd())
    }

    /// Whether `len` more bytes may be under way.
    #[inline]
    fn has_window(&mut self, len: u64) -> bool {
        let in_flight = self.in_flight();
        let fits = in_flight + len <= self.window() || in_flight == 0;
        if !fits {
            self.governor.limited(self.board.next());
        }
        fits
    }

    fn next_retransmission(&mut self, now: Instant, clock: u32) -> Option<Outgoing> {
        let index = self.board.next_retransmission()?;
        let len = u64::from(self.board.get(index)?.len);
        let closed = self.peer.is_closed_at(self.board.una());
        if !self.retransmissions.take_forced() && (closed || !self.has_window(len.min(self.mss())))
        {
            return None;
        }
        let outgoing = self.resend(now, clock, index);
        if index == 0 && self.retransmissions.take_copy() {
            self.board.lose(0);
        }
        outgoing
    }

    fn last_resort(&mut self, now: Instant, clock: u32) -> Option<Outgoing> {
        if !self.has_window(self.mss()) {
            return None;
        }
        let index = self.retransmissions.last_resort(&self.board)?;
        self.resend(now, clock, index)
    }

    /// The segment of this number leaves again, cut to what a segment may carry now.
    fn resend(&mut self, now: Instant, clock: u32, index: usize) -> Option<Outgoing> {
        let segment = self.board.get(index)?;
        let payload = segment.len - u32::from(segment.fin);
        if payload > u32::from(self.mss) {
            self.path_mtu.cut(segment.start);
            self.board.cut(index, u32::from(self.mss));
        }
        let stamp = self.delivery.stamp(now, false);
        self.board.resend(index, now, stamp);
        self.episode.repaired(clock);
        let segment = self.board.get(index)?;
        self.round_trips.resent(segment.start);
        self.retransmissions.departs(&self.board, segment);
        let (start, fin) = (segment.start, segment.fin);
        let payload = self.backlog.again(start, segment.len - u32::from(fin));
        Some(Outgoing { start, payload, fin, push: fin, kind: Kind::Retransmission, low: false })
    }

    /// The next copy that the controller asks for, if it may leave now.
    fn next_copy(&mut self, now: Instant) -> Option<Outgoing> {
        let (wanted, reports) = (self.governor.low_priority(), self.agreed.reports);
        let segment = self.probes.next(now, wanted, reports, &self.board)?;
        let (start, fin) = (segment.start, segment.fin);
        let payload = self.backlog.again(start, segment.len - u32::from(fin));
        Some(Outgoing { start, payload, fin, push: false, kind: Kind::Copy, low: true })
    }

    /// The next new segment.
    fn next_new(&mut self, now: Instant) -> Result<Option<Outgoing>, NoWindow> {
        if !self.backlog.has_new() {
            let in_flight = self.in_flight();
            if in_flight < self.governor.cwnd() {
                self.delivery.limited_by_application(in_flight);
            }
            return Ok(None);
        }
        let outstanding = self.board.outstanding();
        let unsent = self.backlog.unsent();
        let room = self.peer.take_room(self.board.next());
        let probe = self.next_probe_len(now, unsent, room);
        let len = probe.unwrap_or_else(|| unsent.min(self.mss()).min(room));
        if room == 0 || probe.is_none() && !self.is_worth_sending(len, unsent) {
            return Ok(None);
        }
        if outstanding == 0 {
            self.restart_after_idle(now);
        }
        let due = self.timers.tail_probe().is_due() || self.timers.inquiry().is_due();
        if !due && !self.has_window(len.max(1)) {
            return Err(NoWindow);
        }
        let fin = self.backlog.is_closing() && len == unsent && room > len;
        let start = self.board.next();
        let payload = self.backlog.take(len, fin);
        self.depart_new(now, len as u32, fin);
        if !self.path_mtu.is_known() {
            let behind = self.room(unsent - len, room - len);
            self.path_mtu.sent(now, [start, len], &behind, self.config.mss.into());
        }
        let push = self.backlog.unsent() == 0;
        // The first segment after idle time is to find out whether the path still works.
        let low = outstanding > 0 && self.governor.low_priority() == LowPriority::Data;
        Ok(Some(Outgoing { start, payload, fin, push, kind: Kind::New, low }))
    }

    /// The next full segment of new data if nothing but the windows decides whether it leaves: its offset, its bytes,
    /// and whether it is the last one that they allow.
    #[inline(always)]
    pub(in crate::tcp) fn next_plain(&mut self, now: Instant) -> Option<(u64, Bytes, bool)> {
        if !plain_departure(self) {
            return None;
        }
        let (full, start) = (self.mss(), self.board.next());
        let in_flight = self.in_flight();
        if in_flight == 0 || in_flight + full > self.window() {
            return None;
        }
        let payload = self.backlog.take_whole(full)?;
        self.depart_new(now, full as u32, false);
        self.pacer.sent_freely(now);
        self.arm_tail_probe(now);
        // As has_window would say: what left counts in full.
        debug_assert_eq!(self.in_flight(), in_flight + full);
        let last = in_flight + 2 * full > self.window();
        if last {
            self.governor.limited(self.board.next());
            self.stop_waiting();
        }
        Some((start, payload, last))
    }

    /// New data leave, so many sequence numbers with or without a FIN: what is remembered of them.
    #[inline(always)]
    fn depart_new(&mut self, now: Instant, payload: u32, fin: bool) {
        let stamp = self.delivery.stamp(now, self.board.outstanding() == 0);
        self.board.push(payload + u32::from(fin), fin, now, stamp);
        self.round_trips.sent(now, self.board.next());
        self.retransmissions.departs_last(&self.board);
    }

    /// A full segment waits for nothing but the congestion window, so that nothing else can leave.
    pub(in crate::tcp) fn is_spent(&mut self) -> bool {
        let spent = waits_for_cwnd(self)
            && !self.has_window(self.mss())
            && !matches!(self.governor.low_priority(), LowPriority::Probes { .. });
        if spent {
            self.stop_waiting();
        }
        spent
    }

    /// Nothing waits for time to pass: neither for the pace nor for a closed window nor a copy.
    #[inline]
    fn stop_waiting(&mut self) {
        self.pacer.stop();
        self.timers.stop_persist();
        self.probes.stop();
    }

    /// Payload of the next new segment if it is to be a probe of the path.
    #[inline]
    fn next_probe_len(&mut self, now: Instant, unsent: u64, peer: u64) -> Option<u64> {
        if self.path_mtu.is_known() {
            return None;
        }
        self.follow_path_mtu(now);
        self.path_mtu.next_probe_len(&self.room(unsent, peer))
    }

    /// What new data there are, and room for them.
    fn room(&self, unsent: u64, peer: u64) -> Room {
        let (cwnd, has_lost) = (self.governor.cwnd(), self.board.has_lost());
        Room { unsent, peer, cwnd, mss: self.mss(), has_lost }
    }

    /// Nagle's rule and the sender's part against silly windows (RFC 9293, sections 3.7.4 and
    /// 3.8.6.2.1).
    pub(super) fn is_worth_sending(&self, len: u64, unsent: u64) -> bool {
        let idle = self.board.outstanding() == 0;
        let all = len == unsent;
        len == self.mss()
            || idle
            || all && (self.backlog.is_closing() || !self.config.nagle)
            || self.peer.is_half(len)
    }

    /// RFC 5681, section 4.1, or RFC 2861, section 3.1.
    fn restart_after_idle(&mut self, now: Instant) {
        let timeout = self.timeout();
        let Some(pause) = self.pacer.take_idle(now, timeout) else { return };
        if self.config.idle_restart {
            let passed = (pause.as_nanos() - 1) / timeout.as_nanos().max(1);
            let passed = u32::try_from(passed).unwrap_or(u32::MAX);
            let halvings = self.config.idle_halving.then_some(passed);
            self.signal(now, &Signal::Idle { halvings });
        }
    }
}
