//! Who is no session and shares a path with sessions: datagrams that are counted and repaired elsewhere.

use bentpipe_cc::{Ack, Controller, Limits, Loss, LossCause, PathView, Sent, Signal};
use bentpipe_units::{ByteCount, Instant, OneWayDelay, Span};

use super::Received;
use super::shared_path::{SharedPath, SharedWatch};

/// A part of the window of a [`SharedPath`]. It is told what leaves, what arrives and what is lost, and says how much may
/// be under way and how fast it leaves.
#[derive(Debug)]
pub struct SharedMember {
    controller: Box<dyn Controller>,
    queue: SharedWatch,
    mss: ByteCount,
    in_flight: u64,
    delivered: u64,
    latest: Span,
    /// How long the way back of that was.
    return_delay: Option<OneWayDelay>,
    srtt: Span,
    least: Span,
    round: u64,
    round_began: Instant,
    /// Losses of what left before belong to the reduction of then.
    reduced_at: Option<Instant>,
    /// More would leave if it were allowed to.
    hungry: bool,
}

/// Before a round trip was measured.
const UNKNOWN: Span = Span::from_secs(1);

impl SharedMember {
    /// A member more.
    pub fn new(path: &SharedPath) -> Self {
        let (known, return_delay) = {
            let queue = path.queue();
            let queue = queue.get();
            (queue.latest(), queue.return_delay())
        };
        Self {
            return_delay,
            controller: path.controller(),
            queue: path.queue(),
            mss: path.mss(),
            in_flight: 0,
            delivered: 0,
            latest: known.unwrap_or(UNKNOWN),
            srtt: known.unwrap_or(UNKNOWN),
            least: known.unwrap_or(Span::MAX),
            round: 0,
            round_began: Instant::ZERO,
            reduced_at: None,
            hungry: false,
        }
    }

    /// Whether so many bytes more may be under way. What is `ahead` of the rest may exceed the window by a quarter.
    pub fn may_send(&self, bytes: u64, ahead: bool) -> bool {
        let window = self.limits().window.map_or(u64::MAX, ByteCount::get);
        let window = if ahead { window.saturating_add(window / 4) } else { window };
        self.in_flight == 0 || self.in_flight.saturating_add(bytes) <= window
    }

    /// Window and pace.
    pub fn limits(&self) -> Limits {
        self.controller.limits()
    }

    /// Something waits, or nothing does any more.
    pub fn set_hungry(&mut self, now: Instant, hungry: bool) {
        if std::mem::replace(&mut self.hungry, hungry) == hungry {
            return;
        }
        let begins = hungry && self.in_flight == 0;
        let signal = if begins { Signal::Begins } else { Signal::AppLimited(!hungry) };
        let path = self.view(now);
        self.controller.on_signal(&path, &signal);
    }

    /// Until then something of it passes that cannot wait.
    pub fn set_low_latency(&mut self, now: Instant, until: Instant) {
        let path = self.view(now);
        self.controller.on_signal(&path, &Signal::LowLatency { until });
    }

    /// So many bytes leave.
    pub fn sent(&mut self, now: Instant, bytes: u64) {
        self.in_flight += bytes;
        if self.controller.follows_sending() {
            let path = self.view(now);
            let sent = Sent { bytes: ByteCount::new(bytes), retransmission: false, probe: false };
            self.controller.on_sent(&path, &sent);
        }
    }

    /// A round trip was measured, and the peer says when it had received what it answers.
    pub fn measured(&mut self, now: Instant, round_trip: Span, received: Received) {
        self.srtt =
            if self.least == Span::MAX { round_trip } else { (self.srtt * 7 + round_trip) / 8 };
        (self.latest, self.least) = (round_trip, self.least.min(round_trip));
        let mut queue = self.queue.get();
        self.return_delay = queue.answered(now, round_trip, received);
        queue.measured(now, round_trip);
    }

    /// So many bytes in so many packets arrived, the newest of which left then. Where something was lost besides, this
    /// is told first.
    pub fn arrived(&mut self, now: Instant, bytes: u64, packets: u64, newest_sent_at: Instant) {
        self.in_flight = self.in_flight.saturating_sub(bytes);
        self.delivered += bytes;
        if newest_sent_at >= self.round_began {
            (self.round, self.round_began) = (self.round + 1, now);
            self.queue.get().round(now);
        }
        self.queue.get().delivered(packets);
        let repairing = self.reduced_at.is_some_and(|at| newest_sent_at < at);
        let ack = Ack {
            bytes: ByteCount::new(bytes),
            advanced: ByteCount::new(bytes),
            segments: packets,
            newest_sent_at,
            rate_sample: None,
            acks: packets,
            in_recovery: repairing,
            repairing,
            lost: ByteCount::ZERO,
            marked: ByteCount::ZERO,
        };
        let path = self.view(now);
        self.controller.on_ack(&path, &ack);
    }

    /// So many bytes in so many packets are missing, the oldest of which left then.
    pub fn lost(&mut self, now: Instant, bytes: u64, packets: u64, oldest_sent_at: Instant) {
        self.in_flight = self.in_flight.saturating_sub(bytes);
        let looks_corrupt = self.queue.get().lost(packets);
        let before = self.reduced_at.is_some_and(|at| oldest_sent_at < at);
        let new_episode = !looks_corrupt && !before;
        if new_episode {
            self.reduced_at = Some(now);
        }
        let path = self.view(now);
        let bytes = ByteCount::new(bytes);
        let loss = Loss { bytes, cause: LossCause::Nack, new_episode, again: false, looks_corrupt };
        self.controller.on_loss(&path, &loss);
        self.leaves(now);
    }

    /// A router on the path marked something as a sign of congestion (RFC 3168), of whichever member.
    pub fn marked(&mut self, now: Instant) {
        let path = self.view(now);
        self.controller.on_signal(&path, &Signal::EcnCe);
    }

    /// So many bytes are nobody's any more: it is not known what became of them.
    pub fn given_up(&mut self, now: Instant, bytes: u64) {
        self.in_flight = self.in_flight.saturating_sub(bytes);
        self.leaves(now);
    }

    /// Where nothing is under way and nothing waits, the others have all of the window.
    fn leaves(&mut self, now: Instant) {
        if self.in_flight == 0 && !self.hungry {
            let path = self.view(now);
            self.controller.on_signal(&path, &Signal::AppLimited(true));
        }
    }

    fn view(&self, now: Instant) -> PathView {
        PathView {
            now,
            mss: self.mss,
            in_flight: ByteCount::new(self.in_flight),
            peer_window: ByteCount::new(u64::MAX),
            srtt: self.srtt,
            latest_rtt: self.latest,
            min_rtt: self.least,
            return_delay: self.return_delay,
            round: self.round,
            delivered: ByteCount::new(self.delivered),
            cwnd_limited: self.hungry,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::xstp::Config;

    #[test]
    fn a_member_that_has_sent_everything_leaves_the_rest_to_the_others() {
        let now = Instant::ZERO;
        let config = Config { mss: 1_000, cwnd_init: 10, ..Config::default() };
        let path = SharedPath::new(Arc::new(config));
        let [mut one, mut other] = [SharedMember::new(&path), SharedMember::new(&path)];
        [&mut one, &mut other].into_iter().for_each(|member| member.set_hungry(now, true));
        one.sent(now, 1_000);
        other.sent(now, 5_000);
        assert!(!other.may_send(4_000, false), "each has a half");
        one.set_hungry(now, false);
        assert!(other.may_send(4_000, false) && !other.may_send(4_001, false));
        one.set_hungry(now, true);
        assert!(!other.may_send(1, false));
        one.set_hungry(now, false);
        one.given_up(now, 1_000);
        assert!(other.may_send(5_000, false), "nothing of the first is under way");
    }
}
