//! What the sender hands out: retransmissions, then new data, then a POLL alone.

use bentpipe_cc::Sent;
use bentpipe_units::{ByteCount, Instant, Seq32, Span};
use bytes::Bytes;

use super::sender::{Activity, Sender};

/// Most copies that go with a retransmission near the end.
const MOST_COPIES: u32 = 3;

/// Longest time between POLLs that `silence_ratio` makes.
const MOST_SPARSE: Span = Span::from_secs(1);

/// Something to send, to be wrapped into a segment.
#[derive(Debug, PartialEq)]
pub(super) struct Outgoing {
    /// Number of the data segment, or VT(S) for a POLL alone.
    pub(super) seq: Seq32,
    /// Its bytes; empty for a POLL alone.
    pub(super) payload: Bytes,
    /// Timestamp of the POLL that goes with it.
    pub(super) poll: Option<u32>,
    /// It was sent before.
    pub(super) retransmission: bool,
}

impl Sender {
    /// Whether [`Sender::poll_transmit`] has anything to do.
    #[inline]
    pub(super) fn has_work(&self) -> bool {
        self.stale || self.timer.left() > 0 || self.poll_need.is_asked() || self.may_retransmit()
    }

    /// Whether new data may go now. A burst under a rate is counted with the retransmissions of that moment,
    /// some of which may have become needless.
    #[inline]
    fn may_send_new(&self) -> bool {
        self.timer.left() > 0 && (!self.governor.is_paced() || self.cache.len() < self.reach())
    }

    /// Whether retransmissions may go now.
    #[inline]
    fn may_retransmit(&self) -> bool {
        !self.retransmissions.is_empty() && (!self.governor.is_paced() || self.timer.left() > 0)
    }

    /// The next thing to send: retransmissions, then new data, then a POLL alone.
    pub(super) fn poll_transmit(&mut self, now: Instant) -> Option<Outgoing> {
        if self.may_retransmit()
            && let Some(again) = self.next_retransmission(now)
        {
            if self.governor.is_paced() {
                self.timer.take_one();
                self.stale = true;
            }
            return Some(again);
        }
        if self.may_send_new()
            && let Some(data) = self.next_new(now)
        {
            return Some(data);
        }
        if self.stale {
            self.update(now);
        }
        if !self.poll_need.take_asked() {
            return None;
        }
        let poll = Some(self.stamp_poll(now));
        let seq = self.cache.next();
        Some(Outgoing { seq, payload: Bytes::new(), poll, retransmission: false })
    }

    /// Whether all that there is to send leaves within a round trip and a half. A retransmission that is lost then costs a
    /// round trip of its own: copies are cheaper. A writer that waits for room has more.
    fn is_near_end(&self) -> bool {
        let Some(rate) = self.governor.limits().pacing else { return false };
        let soon = rate.bytes_in(self.rtt.srtt() * 3 / 2);
        let is_all = self.config.tail_copies && !self.writer_waits();
        is_all && ByteCount::new(self.buffer.len() as u64) <= soon
    }

    #[inline(never)]
    fn next_retransmission(&mut self, now: Instant) -> Option<Outgoing> {
        let near_end = self.is_near_end();
        while let Some(seq) = self.retransmissions.next() {
            // Acknowledged since it was queued.
            let Some(entry) = self.cache.get_mut(seq) else { continue };
            entry.queued = false;
            entry.last_sent = now;
            if entry.copies > 0 {
                (entry.copies, entry.copied) = (entry.copies - 1, true);
            } else {
                entry.retransmissions += 1;
                entry.copies =
                    if near_end { entry.retransmissions.min(MOST_COPIES) as u8 } else { 0 };
            }
            let payload = self.buffer.again(entry.offset, usize::from(entry.len));
            if entry.copies > 0 {
                entry.queued = true;
                self.retransmissions.push(seq);
            }
            self.retransmissions.sent(now, &self.config);
            self.notify_sent(now, payload.len(), true);
            return Some(Outgoing { seq, payload, poll: None, retransmission: true });
        }
        None
    }

    /// The next new data segment if it is like nearly all of them: full, out of one write, and
    /// without a POLL.
    #[inline]
    pub(super) fn next_plain(&mut self, now: Instant) -> Option<(Seq32, Bytes)> {
        let full = self.payload.get();
        let plain = self.may_send_new()
            && !self.timer.next_has_poll()
            && self.retransmissions.is_empty()
            && !self.governor.follows_sending()
            && !self.poll_need.is_forced_by(full);
        if !plain {
            return None;
        }
        let offset = self.buffer.sent();
        let payload = self.buffer.take_whole(usize::from(full))?;
        self.timer.take_one();
        Some((self.remember(now, offset, full), payload))
    }

    #[inline(never)]
    fn next_new(&mut self, now: Instant) -> Option<Outgoing> {
        self.timer.take_one();
        let offset = self.buffer.sent();
        let payload = self.buffer.take(usize::from(self.payload.get()));
        if payload.is_empty() {
            self.timer.end_burst();
            return None;
        }
        let seq = self.remember(now, offset, payload.len() as u16);
        self.notify_sent(now, payload.len(), false);
        let poll = (self.timer.last_has_poll() || self.poll_need.is_forced()).then(|| {
            self.timer.polled();
            self.stamp_poll(now)
        });
        Some(Outgoing { seq, payload, poll, retransmission: false })
    }

    /// A new data segment of `len` bytes leaves: gives its number.
    #[inline]
    fn remember(&mut self, now: Instant, offset: u64, len: u16) -> Seq32 {
        let seq = self.cache.next();
        self.cache.push(offset, len, now);
        self.timer.data_sent(now);
        self.picked.data_sent();
        self.poll_need.data_sent(len);
        self.stale = true;
        seq
    }

    fn notify_sent(&mut self, now: Instant, bytes: usize, retransmission: bool) {
        if !self.governor.follows_sending() {
            return;
        }
        let path = self.path_view(now);
        let bytes = ByteCount::new(bytes as u64);
        self.governor.on_sent(&path, &Sent { bytes, retransmission, probe: false });
    }

    /// A POLL leaves: stamps it and schedules the next one.
    #[inline(never)]
    fn stamp_poll(&mut self, now: Instant) -> u32 {
        let ts = self.polls.stamp(now);
        if self.config.selective {
            let app_limited = self.buffer.len() == 0;
            self.delivery.polled(ts, now, self.cache.next(), app_limited);
        }
        self.poll_need.polled();
        // The timer waits for the next one from now on.
        self.stale |= self.timer.is_coarse();
        match self.activity {
            _ if self.probing.is_active() => {
                self.probing.probe_sent(ts, &self.config.probe);
                self.polls.set_due(Some(now + self.interval()));
            }
            Activity::Transmitting => {
                self.polls.back_off(now, self.rtt.rto(), self.config.backoff_max);
                let sparse = self.polls.silence(now).mul_f64(self.config.silence_ratio);
                let usual = self.interval() * if self.poll_in_data().is_some() { 2 } else { 1 };
                let wait = usual.max(sparse.min(MOST_SPARSE));
                // One that rides early does not make the next one early.
                let rides =
                    |due: &Instant| self.config.poll_rides && *due <= now + self.poll_slack();
                let due = self.polls.due().filter(rides).unwrap_or(now).max(now);
                self.polls.set_due(Some(due + wait));
            }
            Activity::Persisting => {
                let wait = self.poll_need.next_persist_wait(self.config.persist_max);
                self.polls.set_due(Some(now + wait));
            }
            Activity::Idle => {}
        }
        ts
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bentpipe_cc::Choice;

    use super::*;
    use crate::xstp::Config;

    /// How often a segment leaves that has to be retransmitted, where there was so much more to write than there was room, and
    /// what waits leaves within a round trip and a half.
    fn times_again(more: usize) -> usize {
        let parameters = [("window".to_owned(), 4.0), ("peak_rate".to_owned(), 8e6)];
        let controller = Choice::new("fixed", parameters.into()).expect("a controller");
        let unsent_limit = Some(ByteCount::new(20_000));
        let config =
            Config { mss: 1_000, tail_copies: true, unsent_limit, controller, ..Config::default() };
        let mut sender = Sender::new(Arc::new(config), Seq32::default());
        let now = Instant::ZERO;
        sender.open(now, 1_000, 1_000);
        let room = sender.space();
        sender.write(&mut Bytes::from(vec![7; room + more]));
        sender.buffer.take(room * 2 / 5);
        let first = sender.remember(now, 0, 1_000);
        sender.retransmissions.push(first);
        (0..10).filter_map(|_| sender.next_retransmission(now)).count()
    }

    #[test]
    fn retransmissions_near_the_end_leave_twice_and_others_once() {
        assert_eq!(times_again(0), 2);
        assert_eq!(times_again(1), 1, "a writer waits with more");
    }
}
