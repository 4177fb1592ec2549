//! Outages that the link-layer tells of: a controller may ask for a rest until the link is up again.
//!
//! While the link is down nothing is sent but acknowledgements, and no timer of the sending side runs. When it is up,
//! the oldest segment leaves at once, with the window and the timeout as they were: its acknowledgement says within a
//! round trip what arrived before the outage. What has not arrived by then is sent again, and is no sign of
//! congestion.

use bentpipe_cc::Signal;
use bentpipe_units::Instant;

use super::connection::{Connection, Stage};
use super::sender::Sender;

/// What the sender knows of the last outage.
#[derive(Debug, Default)]
pub(super) struct Outage {
    /// The sender rests since then.
    since: Option<Instant>,
    /// When the last rest was over: no round trip is measured across it.
    over_at: Instant,
    /// Everything before this offset was under way in the last outage.
    under_way: u64,
    /// When it is known what the last outage lost of what had left by its begin.
    judgement: Option<Judgement>,
}

/// At an acknowledgement at `at` or later, what last left by `left_by` and is not acknowledged is lost.
#[derive(Clone, Copy, Debug)]
struct Judgement {
    at: Instant,
    left_by: Instant,
}

impl Outage {
    /// The sender rests.
    #[inline]
    pub(super) const fn is_on(&self) -> bool {
        self.since.is_some()
    }

    /// When the last rest was over.
    #[inline]
    pub(super) const fn over_at(&self) -> Instant {
        self.over_at
    }
}

impl Sender {
    /// The link went down or came up.
    fn follow_link(&mut self, now: Instant, up: bool) {
        self.signal(now, &Signal::LinkState { up });
        if !up && !self.outage.is_on() && self.controller.repair().rests_in_outages {
            self.outage.since = Some(now);
            // Probes would get no answer: the loss that they are about is what an outage makes of it.
            (self.rto_at, self.persist_at, self.pace_at, self.cycle) = (None, None, None, None);
            self.probes.stop();
        } else if up && let Some(since) = self.outage.since.take() {
            self.resume(now, since);
        }
    }

    /// The rest that began at `since` is over.
    fn resume(&mut self, now: Instant, since: Instant) {
        // By the end of its timeout what had left before would have been acknowledged without an outage.
        let at = (now + self.rtt.min()).max(since + self.timeout());
        self.outage = Outage {
            since: None,
            over_at: now,
            under_way: self.board.next(),
            judgement: Some(Judgement { at, left_by: since }),
        };
        // The time without a link was no idle time.
        self.last_sent = self.last_sent.map(|_| now);
        self.burst_left = self.config.max_burst;
        if self.board.outstanding() > 0 {
            self.board.lose(0);
            self.forced = self.forced.max(1);
        } else {
            self.probe_window = self.must_persist();
        }
        self.restart_timer(now);
    }

    /// What is not acknowledged yet was under way in an outage that the sender rested in.
    pub(super) fn may_blame_outage(&self) -> bool {
        self.outage.is_on() || self.board.una() < self.outage.under_way
    }

    /// An acknowledgement came: it may say what the last outage lost.
    pub(super) fn judge_outage(&mut self, now: Instant) {
        if let Some(Judgement { left_by, .. }) =
            self.outage.judgement.take_if(|judgement| judgement.at <= now)
        {
            self.board.lose_sent_by(left_by, self.outage.under_way);
        }
    }
}

impl Connection {
    /// As [`Endpoint::handle_link_state`](crate::Endpoint::handle_link_state).
    pub(super) fn follow_link(&mut self, now: Instant, up: bool) {
        self.mark_dirty();
        self.tx.follow_link(now, up);
        if self.tx.outage.is_on() {
            self.handshake.rest();
        } else if self.stage == Stage::Open {
            // The peer had no way to be heard.
            (self.last_heard, self.keepalives) = (now, 0);
        }
    }
}
