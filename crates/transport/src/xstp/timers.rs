//! What time brings: bursts, POLLs, and probing when their answers stay away.

use bentpipe_cc::Signal;
use bentpipe_units::{Instant, Span};

use super::probing::Trigger;
use super::sender::{Activity, Sender};

/// Data bring POLLs where these would otherwise be less than so many ticks apart.
const POLLS_IN_DATA: u64 = 4;

impl Sender {
    /// Lets the time pass: bursts, POLLs, paced retransmissions.
    pub(super) fn handle_timeout(&mut self, now: Instant) {
        self.retransmissions.handle_timeout(now, &self.config);
        if !self.timer.has_rung(now) {
            return;
        }
        if self.timer.is_coarse() {
            self.touch();
        }
        if self.timer.due(now).is_some() {
            self.tick(now);
        }
        if self.next_poll().is_some_and(|due| due <= now) {
            if self.interleaf_broken() {
                self.start_probing(now, self.rtt.srtt(), Trigger::EarlyTimeout);
            } else {
                self.poll_need.ask();
            }
        }
    }

    /// A POLL with nothing outstanding would ask for nothing; it waits for the first burst.
    pub(super) fn poll_may_go(&self) -> bool {
        self.cache.len() > 0 || self.activity == Activity::Persisting
    }

    /// P3: the POLL that is due finds no STAT since the previous one. P31: only with data outstanding.
    fn interleaf_broken(&self) -> bool {
        let probe = &self.config.probe;
        self.config.probing
            && probe.early_timeout
            && !self.probing.is_active()
            && self.cache.len() > 0
            && self.polls.interleaf_is_broken(self.interval().mul_f64(probe.early_slack))
    }

    /// By how much a POLL that rides on a burst may be early, or late.
    pub(super) fn poll_slack(&self) -> Span {
        let between = if self.config.poll_rides { self.interval() } else { self.timer.interval() };
        between / 2
    }

    /// After how many bytes data bring a POLL, if they do.
    pub(super) fn poll_in_data(&self) -> Option<u64> {
        if !self.config.poll_in_data || !self.polls.are_answered() {
            return None;
        }
        // A small window leaves in one burst: the STAT of its last segment lets all of the next one go.
        let is_spread =
            self.window() >= self.config.burst_min || self.governor.limits().pacing.is_some();
        let between = self.interval();
        let is_close = between < self.config.timer_tick * POLLS_IN_DATA;
        let trip = self.rtt.spread().as_nanos().max(1);
        let part = || self.governor.window().saturating_mul(between.as_nanos()) / trip;
        (is_spread && is_close).then(part)
    }

    /// A burst of new data is due.
    fn tick(&mut self, now: Instant) {
        // Who repairs what was lost is not idle, however long new data wait for it.
        let is_repairing = !self.retransmissions.is_empty();
        if !is_repairing && self.timer.is_idle(now, self.config.idle_threshold) {
            self.signal(now, &Signal::Idle { halvings: None });
            self.set_timer(now);
        }
        let Some(burst) = self.timer.due(now) else { return };
        let about_now = now + self.poll_slack();
        let due = self.polls.due();
        let mut with_poll = due.is_some_and(|due| due <= about_now);
        if with_poll && self.interleaf_broken() {
            if due.is_some_and(|due| due <= now) {
                self.start_probing(now, self.rtt.srtt(), Trigger::EarlyTimeout);
                return;
            }
            // P3: only a POLL that is due tells. Until then the STAT may come in time, and a POLL
            // that joined the burst ahead of it would break the interleaf by itself.
            with_poll = false;
        }
        self.timer.begin(now, burst, with_poll);
    }

    /// P10: new data stop, one POLL per round trip from now on, no backoff.
    pub(super) fn start_probing(&mut self, now: Instant, rtt_loss: Span, trigger: Trigger) {
        self.probing.start(now, rtt_loss, trigger);
        self.polls.reset_backoff(now);
        self.timer.break_off();
        self.poll_need.ask();
        for seq in self.retransmissions.take_all() {
            if let Some(entry) = self.cache.get_mut(seq) {
                entry.queued = false;
            }
        }
        self.touch();
    }
}
