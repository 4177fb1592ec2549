//! How a connection ends: closed by both, reset, silent for too long.

use bentpipe_units::{Instant, Span};

use super::connection::{Connection, Stage};
use crate::Failure;

/// Answers to segments that were not taken: so many in so much time (RFC 5961, section 7).
const CHALLENGES: u32 = 10;
const CHALLENGE_PERIOD: Span = Span::from_secs(5);

/// An allowance of so many things in each period.
#[derive(Debug, Default)]
pub(super) struct Allowance {
    since: Option<Instant>,
    used: u32,
}

impl Allowance {
    /// One more, if it is allowed.
    pub(super) fn take(&mut self, now: Instant) -> bool {
        if self.since.is_none_or(|since| now.since(since) >= CHALLENGE_PERIOD) {
            (self.since, self.used) = (Some(now), 0);
        }
        self.used += 1;
        self.used <= CHALLENGES
    }
}

impl Connection {
    /// Both directions are closed and everything is delivered: the end that ended first stays for a
    /// while to answer a FIN that comes again.
    pub(super) fn end_if_done(&mut self, now: Instant) {
        let ended = self.rx.has_ended() && !self.rx.is_deferring();
        if self.stage != Stage::Open || !self.tx.is_done() || !ended {
            return;
        }
        self.pending.close();
        // An end that was acknowledged late has not been heard of by the peer yet.
        if self.ended_first || self.rx.has_deferred() {
            self.stage = Stage::TimeWait;
            self.time_wait_until = Some(now + self.config.time_wait);
            self.tx.drop_all();
        } else {
            self.close_down();
        }
    }

    fn close_down(&mut self) {
        self.stage = Stage::Closed;
        self.handshake.stop();
        self.tx.drop_all();
        self.rx.drop_all();
        self.time_wait_until = None;
        self.keepalive_due = false;
    }

    /// The connection is over, well or not.
    pub(super) fn drop_connection(&mut self, failure: Option<Failure>) {
        self.pending.fail(failure);
        self.close_down();
    }

    /// Gives up and tells the peer.
    pub(super) fn abort_with(&mut self, failure: Failure) {
        if matches!(self.stage, Stage::SynReceived | Stage::Open) {
            let ack = self.rx.wire(self.rx.next());
            self.reset = Some((self.tx.wire(self.tx.next()), Some(ack)));
        }
        self.drop_connection(Some(failure));
    }

    /// When an idle connection asks whether the peer is still there.
    pub(super) fn silence_deadline(&self) -> Option<Instant> {
        let waits = self.stage == Stage::Open
            && !self.config.keepalive.is_zero()
            && !self.tx.is_resting()
            && self.tx.has_nothing_under_way();
        let asked = self.config.keepalive_interval * u64::from(self.keepalives);
        waits.then(|| self.last_heard + self.config.keepalive + asked)
    }

    /// Time may have come to ask, or to give up asking.
    pub(super) fn handle_silence(&mut self, now: Instant) {
        if self.silence_deadline().is_none_or(|at| at > now) {
            return;
        }
        if self.keepalives >= self.config.keepalive_max {
            return self.abort_with(Failure::NoResponse);
        }
        self.keepalives += 1;
        self.keepalive_due = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_answers_in_five_seconds_and_no_more() {
        let mut allowance = Allowance::default();
        let at = |ms| Instant::ZERO + Span::from_millis(ms);
        assert_eq!((0..100).filter(|n| allowance.take(at(40 * n))).count(), 10);
        assert!(!allowance.take(at(4_999)) && allowance.take(at(5_000)));
    }
}
