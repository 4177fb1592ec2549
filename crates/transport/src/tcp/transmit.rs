//! What leaves next.

use bentpipe_cc::{LowPriority, Sent, Signal};
use bentpipe_units::{ByteCount, Instant};
use bytes::Bytes;

use super::pacer::{Pace, Pacer};
use super::recovery::Recovery;
use super::sender::Sender;

/// A segment of the stream that leaves.
#[derive(Debug)]
pub(super) struct Outgoing {
    /// Place of its first byte.
    pub(super) start: u64,
    pub(super) payload: Bytes,
    pub(super) fin: bool,
    /// There is nothing behind it.
    pub(super) push: bool,
    pub(super) kind: Kind,
    /// Routers shall drop it first.
    pub(super) low: bool,
}

/// There is no window for what waits.
struct NoWindow;

/// Why a segment leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// For the first time.
    New,
    /// Once more.
    Repair,
    /// As a copy that only probes the path.
    Copy,
}

impl Sender {
    /// The next segment of the stream, if one may leave. `clock` is what its timestamp says, `wire` how
    /// many bytes go with the payload.
    pub(super) fn next_segment(&mut self, now: Instant, clock: u32, wire: u64) -> Option<Outgoing> {
        if !self.open || self.cycle.is_some() || self.outage.is_on() {
            return None;
        }
        let waits = self.board.next_repair().is_some() || self.has_new();
        if waits && self.is_held_back(now, wire) {
            return None;
        }
        let mut outgoing = self.next_repair(now, clock);
        if outgoing.is_none() && self.board.next_repair().is_none() {
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

    /// A burst is over, or the pace does not allow the next segment yet.
    fn is_held_back(&mut self, now: Instant, wire: u64) -> bool {
        if self.config.max_burst > 0 && self.burst_left == 0 {
            return true;
        }
        let Some(pace) = self.pace(wire) else {
            self.pace_at = None;
            return false;
        };
        self.pace_at = self.pacer.wait(now, &pace);
        if self.pace_at.is_some() && self.has_new() {
            self.limited_before = self.board.next();
        }
        self.pace_at.is_some()
    }

    /// How segments with headers of so many bytes may leave; `None` for at once.
    fn pace(&self, wire: u64) -> Option<Pace> {
        Pace::of(&self.limits, ByteCount::new(self.mss() + wire))
    }

    /// A segment leaves: what it costs.
    fn charge(&mut self, now: Instant, wire: u64, outgoing: &Outgoing) {
        let len = outgoing.payload.len() as u64;
        if let Some(pace) = self.pace(wire) {
            self.pacer.sent(now, &pace, ByteCount::new(len + wire));
        }
        self.burst_left = self.burst_left.saturating_sub(1);
        self.last_sent = Some(now);
        if self.rto_at.is_none() && self.board.outstanding() > 0 {
            self.rto_at = Some(now + self.timeout());
        }
        if self.follows_sending {
            let path = self.path_view(now);
            let retransmission = outgoing.kind == Kind::Repair;
            let probe = outgoing.kind == Kind::Copy;
            let sent = Sent { bytes: ByteCount::new(len), retransmission, probe };
            self.controller.on_sent(&path, &sent);
            self.follow_controller();
        }
    }

    /// Whether `len` more bytes may be under way.
    #[inline]
    pub(super) fn has_window(&mut self, len: u64) -> bool {
        let in_flight = self.in_flight();
        let fits = in_flight + len <= self.recovery.window(self.cwnd) || in_flight == 0;
        if !fits {
            self.limited_before = self.board.next();
        }
        fits
    }

    fn next_repair(&mut self, now: Instant, clock: u32) -> Option<Outgoing> {
        let index = self.board.next_repair()?;
        let len = u64::from(self.board.get(index)?.len);
        if self.forced > 0 {
            self.forced -= 1;
        } else if self.edge <= self.board.una() || !self.has_window(len.min(self.mss())) {
            return None;
        }
        if self.first_repair.is_none() {
            self.first_repair = Some(clock);
        }
        let outgoing = self.resend(now, index);
        if index == 0 && self.copies > 0 {
            self.copies -= 1;
            self.forced += 1;
            self.board.lose(0);
        }
        outgoing
    }

    fn last_resort(&mut self, now: Instant, clock: u32) -> Option<Outgoing> {
        if !self.has_window(self.mss()) {
            return None;
        }
        let index = self.recovery.last_resort(&self.board)?;
        if self.first_repair.is_none() {
            self.first_repair = Some(clock);
        }
        self.resend(now, index)
    }

    /// The segment of this number leaves again, cut to what a segment may carry now.
    fn resend(&mut self, now: Instant, index: usize) -> Option<Outgoing> {
        let segment = self.board.get(index)?;
        let payload = segment.len - u32::from(segment.fin);
        if payload > u32::from(self.agreed.mss) {
            let start = segment.start;
            self.cut_probe(start);
            self.board.cut(index, u32::from(self.agreed.mss));
        }
        let stamp = self.delivery.stamp(now, false);
        self.board.resend(index, now, stamp);
        let segment = self.board.get(index)?;
        self.timing.resent(segment.start);
        self.recovery.departs(&self.board, segment);
        self.acks_since_repair = 0;
        let (start, fin) = (segment.start, segment.fin);
        let len = (segment.len - u32::from(fin)) as usize;
        let payload = self.buffer.again(start - 1, len);
        Some(Outgoing { start, payload, fin, push: fin, kind: Kind::Repair, low: false })
    }

    /// The next new segment.
    fn next_new(&mut self, now: Instant) -> Result<Option<Outgoing>, NoWindow> {
        if !self.has_new() {
            let in_flight = self.in_flight();
            if in_flight < self.cwnd {
                self.delivery.limited_by_application(in_flight);
            }
            return Ok(None);
        }
        let outstanding = self.board.outstanding();
        let unsent = self.buffer.len() as u64;
        let room = self.edge.saturating_sub(self.board.next());
        let room = if std::mem::take(&mut self.probe_window) { room.max(1) } else { room };
        let probe = self.next_probe_len(now, unsent, room);
        let len = probe.unwrap_or_else(|| unsent.min(self.mss()).min(room));
        if room == 0 || probe.is_none() && !self.is_worth_sending(len, unsent) {
            return Ok(None);
        }
        if outstanding == 0 {
            self.restart_after_idle(now);
        }
        if !self.has_window(len.max(1)) {
            return Err(NoWindow);
        }
        let fin = self.closing && len == unsent && room > len;
        let stamp = self.delivery.stamp(now, outstanding == 0);
        let start = self.board.next();
        let payload = self.buffer.take(len as usize);
        self.board.push(len as u32 + u32::from(fin), fin, now, stamp);
        self.timing.sent(now, self.board.next());
        if let Some((_, segment)) = self.board.last() {
            self.recovery.departs(&self.board, segment);
        }
        self.fin_sent |= fin;
        self.new_data_left(now, [start, len], unsent - len, room - len);
        let push = self.buffer.len() == 0;
        // The first segment after idle time is to find out whether the path still works.
        let low = outstanding > 0 && self.controller.low_priority() == LowPriority::Data;
        Ok(Some(Outgoing { start, payload, fin, push, kind: Kind::New, low }))
    }

    /// Nagle's rule and the sender's part against silly windows (RFC 9293, sections 3.7.4 and
    /// 3.8.6.2.1).
    fn is_worth_sending(&self, len: u64, unsent: u64) -> bool {
        let idle = self.board.outstanding() == 0;
        let all = len == unsent;
        len == self.mss()
            || idle
            || all && (self.closing || !self.config.nagle)
            || 2 * len >= self.largest_window && len > 0
    }

    /// RFC 5681, section 4.1.
    fn restart_after_idle(&mut self, now: Instant) {
        let idle = self.last_sent.is_some_and(|at| now.since(at) > self.timeout());
        if idle && self.config.idle_restart {
            self.signal(now, &Signal::Idle);
        }
        if idle {
            self.pacer = Pacer::default();
        }
    }
}
