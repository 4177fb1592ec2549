//! Random early detection, with marks where the sender understands them.

use bentpipe_units::{BitRate, ByteCount, Instant, Span};
use bentpipe_wire::Ecn;

use super::fifo::Fifo;
use super::{Backlog, Discipline, Held, LineState, Packets};
use crate::{LossCause, QueueLimit, Stream};

/// Length of the packets by which idle time is measured.
const TYPICAL_PACKET: ByteCount = ByteCount::new(1000);

/// Settings of RED.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RedConfig {
    /// Mean queue in packets below which nothing happens.
    pub min: f64,
    /// Mean queue in packets from which every packet is dropped; above `min`.
    pub max: f64,
    /// Weight in 0..=1 of a new packet in the mean.
    pub weight: f64,
    /// Probability in 0..=1 at `max`.
    pub probability: f64,
    /// From `max` to twice that the probability rises to 1 instead of jumping there.
    pub gentle: bool,
    /// Packets of senders that understand marks are marked and not dropped, below `max`.
    pub ecn: bool,
}

impl Default for RedConfig {
    fn default() -> Self {
        Self { min: 5.0, max: 15.0, weight: 0.002, probability: 0.1, gentle: true, ecn: true }
    }
}

/// RED (Floyd and Jacobson 1993, figure 2), in packets, with "gentle" as option and marks as in
/// RFC 3168, section 7: above `max` a packet is dropped whatever its sender understands.
#[derive(Clone, Debug)]
pub struct Red {
    config: RedConfig,
    fifo: Fifo,
    stream: Stream,
    /// What a typical packet takes on the line.
    packet_time: Span,
    mean: f64,
    /// Packets let through since the last one marked or dropped, while the mean is not below `min`.
    count: u32,
    /// When the queue ran empty.
    empty_since: Option<Instant>,
}

/// What the mean queue demands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Demand {
    Nothing,
    /// Some packet: a mark is enough.
    Notice,
    /// Every packet.
    Drop,
}

impl Red {
    /// An empty queue before a line of this rate. `limit` holds besides.
    pub fn new(config: RedConfig, limit: QueueLimit, rate: BitRate, stream: Stream) -> Self {
        Self {
            config,
            fifo: Fifo::new(limit),
            stream,
            packet_time: rate.time_for(TYPICAL_PACKET).max(Span::from_nanos(1)),
            mean: 0.0,
            count: 0,
            empty_since: Some(Instant::ZERO),
        }
    }

    /// The mean queue length in packets.
    pub const fn mean(&self) -> f64 {
        self.mean
    }

    fn update_mean(&mut self, now: Instant) {
        if let Some(since) = self.empty_since {
            // As if so many packets had met an empty queue.
            let packets = now.since(since).as_secs_f64() / self.packet_time.as_secs_f64();
            self.mean *= libm::pow(1.0 - self.config.weight, packets);
            self.empty_since = Some(now);
        }
        let waiting = self.fifo.backlog().packets as f64;
        self.mean += self.config.weight * (waiting - self.mean);
    }

    fn demand(&mut self) -> Demand {
        let RedConfig { min, max, probability, gentle, .. } = self.config;
        if self.mean < min {
            self.count = 0;
            return Demand::Nothing;
        }
        let ceiling = if gentle { 2.0 * max } else { max };
        if self.mean >= ceiling {
            self.count = 0;
            return Demand::Drop;
        }
        let p = if self.mean < max {
            probability * (self.mean - min) / (max - min)
        } else {
            probability + (1.0 - probability) * (self.mean - max) / max
        };
        // Spreads the packets evenly: gaps are uniform in 1 to 1/p and not geometric (section 7 of
        // the paper; its figure 2 counts one packet more).
        let room = 1.0 - f64::from(self.count) * p;
        let spread = if room > 0.0 { (p / room).min(1.0) } else { 1.0 };
        if self.stream.chance(spread) {
            self.count = 0;
            return if self.mean < max { Demand::Notice } else { Demand::Drop };
        }
        self.count = self.count.saturating_add(1);
        Demand::Nothing
    }
}

impl Discipline for Red {
    fn enqueue(&mut self, now: Instant, line: LineState, packet: Held, packets: &mut dyn Packets) {
        self.update_mean(now);
        let capable = self.config.ecn && packet.ecn != Ecn::NotCapable;
        let demand = self.demand();
        if demand == Demand::Drop || demand == Demand::Notice && !capable {
            packets.lost(&packet, LossCause::Early);
            return;
        }
        if self.fifo.take_or_lose(line, packet, packets) {
            self.empty_since = None;
            if demand == Demand::Notice && packet.ecn != Ecn::Congestion {
                packets.mark(&packet);
            }
        }
    }

    fn dequeue(&mut self, now: Instant, _packets: &mut dyn Packets) -> Option<Held> {
        let packet = self.fifo.pop();
        if packet.is_some() && self.fifo.backlog().packets == 0 {
            self.empty_since = Some(now);
        }
        packet
    }

    fn backlog(&self) -> Backlog {
        self.fifo.backlog()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Watched, data, ms};
    use super::*;
    use crate::Streams;

    /// A queue with this mean, kept there by a weight of nearly nothing, and what becomes of 20,000
    /// packets, none of which it may keep.
    fn at_mean(mean: f64, gentle: bool, ecn: Ecn) -> Watched {
        let config = RedConfig { weight: 0.0, gentle, ..RedConfig::default() };
        let stream = Streams::new(1).stream("red");
        let rate = BitRate::from_bps(8_000_000);
        let mut queue = Red::new(config, QueueLimit::Unlimited, rate, stream);
        queue.mean = mean;
        let mut seen = Watched::default();
        for id in 0..20_000 {
            let packet = Held { ecn, ..data(id) };
            queue.enqueue(ms(0), LineState::Busy, packet, &mut seen);
            queue.dequeue(ms(0), &mut seen);
        }
        assert!(seen.lost.iter().all(|(_, cause)| *cause == LossCause::Early));
        seen
    }

    fn lost_at(mean: f64, gentle: bool) -> f64 {
        at_mean(mean, gentle, Ecn::NotCapable).lost.len() as f64 / 20_000.0
    }

    #[test]
    fn losses_grow_with_the_mean_queue_between_the_thresholds() {
        assert_eq!(lost_at(4.9, true), 0.0);
        assert_eq!((lost_at(30.0, true), lost_at(15.0, false)), (1.0, 1.0));
        // Uniform gaps of mean (1/p + 1) / 2: p = 0.05 loses one packet in 10.5. With p = 0.55
        // the second packet at the latest is lost.
        for (mean, p) in [(10.0, 0.05), (15.0, 0.1), (22.5, 0.55)] {
            let expected = if p < 0.5 { 2.0 / (1.0 / p + 1.0) } else { 1.0 / 1.45 };
            let lost = lost_at(mean, true);
            assert!((lost - expected).abs() < 0.01, "{mean}: {lost}, not {expected}");
        }
    }

    #[test]
    fn losses_are_spread_evenly() {
        let lost = at_mean(10.0, true, Ecn::NotCapable).lost;
        let gaps: Vec<u32> = lost.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
        // With p = 1/20 no gap exceeds 20 packets.
        assert!(gaps.iter().all(|gap| (1..=20).contains(gap)), "{:?}", gaps.iter().max());
        assert!(gaps.contains(&1) && gaps.contains(&20));
    }

    #[test]
    fn a_sender_that_understands_marks_loses_nothing_below_the_upper_threshold() {
        let seen = at_mean(10.0, true, Ecn::Capable0);
        assert!(seen.lost.is_empty());
        let without = at_mean(10.0, true, Ecn::NotCapable);
        assert_eq!(seen.marked.len(), without.lost.len());
        let seen = at_mean(22.5, true, Ecn::Capable0);
        assert!(seen.marked.is_empty() && !seen.lost.is_empty());
        // What another router has marked stays as it is.
        let seen = at_mean(10.0, true, Ecn::Congestion);
        assert!(seen.marked.is_empty() && seen.lost.is_empty());
    }

    #[test]
    fn the_mean_follows_the_queue_slowly_and_forgets_while_idle() {
        let stream = Streams::new(1).stream("red");
        let config = RedConfig { min: 1e9, max: 2e9, ..RedConfig::default() };
        let rate = BitRate::from_bps(8_000_000);
        let mut queue = Red::new(config, QueueLimit::Unlimited, rate, stream);
        let mut seen = Watched::default();
        for id in 0..100 {
            queue.enqueue(ms(0), LineState::Busy, data(id), &mut seen);
        }
        // Sum of 0.002 n over n < 100, a little less for what is forgotten meanwhile.
        assert!((9.0..9.9).contains(&queue.mean()), "{}", queue.mean());
        while queue.dequeue(ms(0), &mut seen).is_some() {}
        let before = queue.mean();
        // 500 packets of a millisecond each: 0.998^500 = 0.3675, and once more for the packet.
        queue.enqueue(ms(500), LineState::Idle, data(1), &mut seen);
        assert!((queue.mean() / before - 0.3675 * 0.998).abs() < 1e-3);
    }

    #[test]
    fn the_limit_holds_besides() {
        let config = RedConfig::default();
        let stream = Streams::new(1).stream("red");
        let rate = BitRate::from_bps(8_000_000);
        let mut queue = Red::new(config, QueueLimit::Packets(3), rate, stream);
        let mut seen = Watched::default();
        for id in 0..5 {
            queue.enqueue(ms(0), LineState::Busy, data(id), &mut seen);
        }
        assert_eq!(seen.lost, [(3, LossCause::QueueFull), (4, LossCause::QueueFull)]);
    }
}
