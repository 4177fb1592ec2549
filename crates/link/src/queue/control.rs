//! The control law of CoDel, for one queue.

use bentpipe_units::{Instant, Span};

use super::stamped::{Longest, Stamped, mark};
use super::{Held, Packets};
use crate::LossCause;

/// Intervals after the end of a dropping state for which its rate is remembered.
const REMEMBERED: u64 = 16;

/// Settings of CoDel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodelConfig {
    /// Sojourn time that is acceptable as a standing queue.
    pub target: Span,
    /// How long the sojourn time must stay above `target` before something is dropped: a round trip
    /// that is longer than most.
    pub interval: Span,
    /// Packets of senders that understand marks are marked and not dropped.
    pub ecn: bool,
}

impl Default for CodelConfig {
    fn default() -> Self {
        Self { target: Span::from_millis(5), interval: Span::from_millis(100), ecn: true }
    }
}

/// What CoDel remembers of a queue. Names are those of RFC 8289, section 5.
#[derive(Clone, Debug, Default)]
pub(super) struct Control {
    /// When the sojourn time will have been above the target for an interval; `None` while it is
    /// below.
    first_above_time: Option<Instant>,
    dropping: bool,
    drop_next: Instant,
    /// Drops since the dropping state was entered, and with what it was entered.
    count: u32,
    lastcount: u32,
}

impl Control {
    /// Takes the next packet from the queue. What is hit on the way is marked or lost.
    pub(super) fn dequeue(
        &mut self,
        now: Instant,
        config: &CodelConfig,
        longest: Longest,
        queue: &mut Stamped,
        packets: &mut dyn Packets,
    ) -> Option<Held> {
        let (mut packet, mut above) = self.take(now, config, longest, queue);
        if !self.dropping {
            if above && let Some(first) = packet {
                if !(config.ecn && mark(&first, packets)) {
                    packets.lost(&first, LossCause::Early);
                    (packet, _) = self.take(now, config, longest, queue);
                }
                self.enter(now, config);
            }
            return packet;
        }
        loop {
            self.dropping &= above;
            if !self.dropping || now < self.drop_next {
                return packet;
            }
            let hit = packet?;
            self.count = self.count.saturating_add(1);
            if config.ecn && mark(&hit, packets) {
                self.drop_next = control_law(self.drop_next, config, self.count);
                return packet;
            }
            packets.lost(&hit, LossCause::Early);
            (packet, above) = self.take(now, config, longest, queue);
            if above {
                self.drop_next = control_law(self.drop_next, config, self.count);
            }
        }
    }

    /// The packet at the head, and whether it may be dropped.
    fn take(
        &mut self,
        now: Instant,
        config: &CodelConfig,
        longest: Longest,
        queue: &mut Stamped,
    ) -> (Option<Held>, bool) {
        let Some((arrived, packet)) = queue.pop() else {
            self.first_above_time = None;
            return (None, false);
        };
        let short = now.since(arrived) < config.target || queue.backlog().bytes <= longest.0;
        let above = match self.first_above_time {
            _ if short => {
                self.first_above_time = None;
                false
            }
            None => {
                self.first_above_time = Some(now + config.interval);
                false
            }
            Some(at) => now >= at,
        };
        (Some(packet), above)
    }

    /// Enters the dropping state. Soon after the last one its rate is where this one begins.
    fn enter(&mut self, now: Instant, config: &CodelConfig) {
        self.dropping = true;
        let delta = self.count.saturating_sub(self.lastcount);
        let recent = now.since(self.drop_next) < config.interval * REMEMBERED;
        self.count = if delta > 1 && recent { delta } else { 1 };
        self.drop_next = control_law(now, config, self.count);
        self.lastcount = self.count;
    }
}

/// When the next packet is to be dropped after one at `at`.
fn control_law(at: Instant, config: &CodelConfig, count: u32) -> Instant {
    at + config.interval.mul_f64(1.0 / libm::sqrt(f64::from(count)))
}
