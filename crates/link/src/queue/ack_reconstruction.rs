//! Acknowledgments that were thinned out on the way are filled up again.

use std::collections::{BTreeMap, VecDeque};

use bentpipe_units::{ByteCount, Instant, Seq32, Span};

use super::{Backlog, Cumulative, Discipline, FlowKey, Held, LineState, Packets};
use crate::{LossCause, QueueLimit};

/// Connections whose acknowledgments are followed at once; beyond that the one that was silent for
/// longest is forgotten.
const MOST_FLOWS: usize = 1024;

/// Settings of [`AckReconstruction`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckReconstructionConfig {
    /// Bytes that one data segment of the connection carries.
    pub segment: ByteCount,
    /// Most segments that one acknowledgment acknowledges after it; at least 1.
    pub every: u32,
}

impl Default for AckReconstructionConfig {
    fn default() -> Self {
        Self { segment: ByteCount::new(1460), every: 2 }
    }
}

/// ACK reconstruction (Balakrishnan, Padmanabhan and Katz 1999, section 4.3.2), for the link behind
/// the one whose queue filters: where an acknowledgment advances by more than `every` segments,
/// others are put before it, spaced by the smoothed time that acknowledgments take for so much.
///
/// Everything else waits only for what came before it on the same connection, and for the line.
#[derive(Clone, Debug)]
pub struct AckReconstruction {
    config: AckReconstructionConfig,
    limit: QueueLimit,
    /// What waits and when it may go, the next first.
    waiting: VecDeque<(Instant, Held)>,
    backlog: Backlog,
    flows: BTreeMap<FlowKey, Flow>,
}

/// What is known of a connection.
#[derive(Clone, Copy, Debug)]
struct Flow {
    next: Seq32,
    last_at: Instant,
    /// Smoothed nanoseconds for each byte acknowledged.
    nanos_per_byte: Option<f64>,
    /// When the last of its packets may go.
    busy_until: Instant,
}

impl AckReconstruction {
    /// An empty queue.
    pub fn new(config: AckReconstructionConfig, limit: QueueLimit) -> Self {
        let (waiting, backlog) = (VecDeque::new(), Backlog::default());
        Self { config, limit, waiting, backlog, flows: BTreeMap::new() }
    }

    fn has_room(&self, packet: &Held) -> bool {
        match self.limit {
            QueueLimit::Unlimited => true,
            QueueLimit::Packets(limit) => self.waiting.len() < limit as usize,
            QueueLimit::Bytes(limit) => self.backlog.bytes + packet.bytes <= limit,
        }
    }

    /// Puts the packet behind those that go at the same time.
    fn hold(&mut self, at: Instant, packet: Held) {
        let place = self.waiting.partition_point(|(other, _)| *other <= at);
        self.backlog.add(&packet);
        self.waiting.insert(place, (at, packet));
    }

    /// Bytes by which the acknowledgment advances, and the time that each of them takes.
    fn follow(&mut self, now: Instant, key: FlowKey, ack: Cumulative) -> (u32, f64) {
        if !self.flows.contains_key(&key) && self.flows.len() == MOST_FLOWS {
            let oldest = self.flows.iter().min_by_key(|(_, flow)| flow.last_at);
            if let Some(oldest) = oldest.map(|(key, _)| *key) {
                self.flows.remove(&oldest);
            }
        }
        let flow = self.flows.entry(key).or_insert(Flow {
            next: ack.next,
            last_at: now,
            nanos_per_byte: None,
            busy_until: now,
        });
        if !ack.next.is_after(flow.next) {
            return (0, 0.0);
        }
        let advance = ack.next.distance_from(flow.next);
        let sample = now.since(flow.last_at).as_nanos() as f64 / f64::from(advance);
        let smoothed = flow.nanos_per_byte.map_or(sample, |old| old + (sample - old) / 8.0);
        (flow.next, flow.last_at, flow.nanos_per_byte) = (ack.next, now, Some(smoothed));
        (advance, smoothed)
    }

    /// Puts acknowledgments before one that advances too far. Returns when that one may go.
    fn fill_up(
        &mut self,
        now: Instant,
        packet: &Held,
        ack: Cumulative,
        packets: &mut dyn Packets,
    ) -> Instant {
        let (advance, nanos_per_byte) = self.follow(now, packet.flow, ack);
        let step = u64::from(self.config.every.max(1)) * self.config.segment.get().max(1);
        let step = u32::try_from(step).unwrap_or(u32::MAX);
        let spacing = Span::from_nanos((nanos_per_byte * f64::from(step)) as u64);
        let mut at = self.flows.get(&packet.flow).map_or(now, |flow| flow.busy_until.max(now));
        let mut left = advance;
        while left > step && ack.plain && self.has_room(packet) {
            let next = Seq32::new(ack.next.get().wrapping_sub(left)).plus(step);
            let Some(copy) = packets.copy_of_ack(packet, next) else { break };
            self.hold(at, copy);
            at += spacing;
            left -= step;
        }
        if let Some(flow) = self.flows.get_mut(&packet.flow) {
            flow.busy_until = at;
        }
        at
    }
}

impl Discipline for AckReconstruction {
    fn enqueue(&mut self, now: Instant, line: LineState, packet: Held, packets: &mut dyn Packets) {
        if line == LineState::Busy && !self.has_room(&packet) {
            packets.lost(&packet, LossCause::QueueFull);
            return;
        }
        let at = match packet.ack {
            Some(ack) => self.fill_up(now, &packet, ack, packets),
            None => self.flows.get(&packet.flow).map_or(now, |flow| flow.busy_until.max(now)),
        };
        self.hold(at, packet);
    }

    fn dequeue(&mut self, now: Instant, _packets: &mut dyn Packets) -> Option<Held> {
        if self.waiting.front()?.0 > now {
            return None;
        }
        let (_, packet) = self.waiting.pop_front()?;
        self.backlog.take(&packet);
        Some(packet)
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn ready_at(&self) -> Instant {
        self.waiting.front().map_or(Instant::ZERO, |(at, _)| *at)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Watched, ack, data, drain, ms};
    use super::*;

    /// Hands over each packet at its time and says what leaves when, in milliseconds, and what
    /// the copies acknowledge.
    fn spread(arrivals: &[(u64, Held)]) -> (Vec<(u64, u32)>, Vec<u32>) {
        let mut queue =
            AckReconstruction::new(AckReconstructionConfig::default(), QueueLimit::Packets(20));
        let mut seen = Watched::default();
        let mut left = Vec::new();
        for now in 0..1000 {
            for (_, packet) in arrivals.iter().filter(|(at, _)| *at == now) {
                queue.enqueue(ms(now), LineState::Busy, *packet, &mut seen);
            }
            left.extend(drain(&mut queue, &mut seen, ms(now)).into_iter().map(|id| (now, id)));
        }
        assert!(seen.lost.is_empty() && queue.backlog() == Backlog::default());
        (left, seen.copies.iter().map(|(_, next)| next.get()).collect())
    }

    const SEGMENT: u32 = 1460;

    #[test]
    fn an_acknowledgment_that_jumps_is_filled_up_at_the_pace_of_those_before() {
        // Every 40 ms eight segments: 10 ms for two of them.
        let arrivals = [0, 1, 2].map(|n| (40 * u64::from(n), ack(n, 1, 8 * SEGMENT * n)));
        let (left, copies) = spread(&arrivals);
        let times = [0, 40, 50, 60, 70, 80, 90, 100, 110];
        assert_eq!(left.iter().map(|(at, _)| *at).collect::<Vec<_>>(), times);
        let numbers = copies.iter().map(|next| next / SEGMENT);
        assert_eq!(numbers.collect::<Vec<_>>(), [2, 4, 6, 10, 12, 14]);
        assert_eq!((left[4], left[8]), ((70, 1), (110, 2)));
    }

    #[test]
    fn small_steps_duplicates_and_data_pass_at_once() {
        let arrivals = [
            (0, ack(1, 1, 0)),
            (10, ack(2, 1, 2 * SEGMENT)),
            (11, ack(3, 1, 2 * SEGMENT)),
            (12, data(4)),
            (13, ack(5, 1, SEGMENT)),
        ];
        let (left, copies) = spread(&arrivals);
        assert_eq!(left, [(0, 1), (10, 2), (11, 3), (12, 4), (13, 5)]);
        assert!(copies.is_empty());
    }

    #[test]
    fn nothing_overtakes_within_a_connection_and_others_do_not_wait() {
        let arrivals = [
            (0, ack(1, 1, 0)),
            (40, ack(2, 1, 8 * SEGMENT)),
            (45, ack(3, 1, 8 * SEGMENT)),
            (45, ack(4, 2, 8 * SEGMENT)),
        ];
        let (left, _) = spread(&arrivals);
        assert_eq!(left[2..], [(45, 4), (50, 1002), (60, 1003), (70, 2), (70, 3)]);
    }

    #[test]
    fn what_says_more_than_a_number_is_never_copied() {
        let mut jump = ack(2, 1, 8 * SEGMENT);
        jump.ack = Some(Cumulative { next: Seq32::new(8 * SEGMENT), plain: false });
        assert_eq!(spread(&[(0, ack(1, 1, 0)), (40, jump)]).0, [(0, 1), (40, 2)]);
    }

    #[test]
    fn the_limit_holds_for_copies_too_and_flows_are_forgotten() {
        let mut queue =
            AckReconstruction::new(AckReconstructionConfig::default(), QueueLimit::Packets(4));
        let mut seen = Watched::default();
        queue.enqueue(ms(0), LineState::Idle, ack(1, 1, 0), &mut seen);
        queue.enqueue(ms(9), LineState::Idle, ack(2, 1, 100 * SEGMENT), &mut seen);
        assert!(queue.backlog().packets <= 5, "{:?}", queue.backlog());
        for flow in 0..2 * MOST_FLOWS as u64 {
            queue.follow(ms(flow), FlowKey(flow), Cumulative { next: Seq32::new(1), plain: true });
        }
        assert_eq!(queue.flows.len(), MOST_FLOWS);
    }
}
