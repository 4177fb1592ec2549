//! A queue for each flow, served by turns, with CoDel in each.

use std::collections::{BTreeMap, VecDeque};

use bentpipe_units::{ByteCount, Instant};

use super::control::{CodelConfig, Control};
use super::fifo::Fifo;
use super::stamped::{Longest, Stamped, signed};
use super::{Backlog, Discipline, FlowKey, Held, LineState, Packets};
use crate::{LossCause, QueueLimit, Stream};

/// Least quantum: with less, a long packet would take too many turns.
const MIN_QUANTUM: ByteCount = ByteCount::new(64);
/// Most packets that are dropped at once when the limit is reached.
const BATCH: usize = 64;

/// Settings of [`FqCodel`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FqCodelConfig {
    /// Queues over which flows are spread; at least 1.
    pub flows: u32,
    /// Bytes that a queue may send in its turn; at least 64.
    pub quantum: ByteCount,
    /// CoDel in each queue.
    pub codel: CodelConfig,
}

impl Default for FqCodelConfig {
    fn default() -> Self {
        Self { flows: 1024, quantum: ByteCount::new(1514), codel: CodelConfig::default() }
    }
}

impl FqCodelConfig {
    /// What may wait when nothing else is said (RFC 8290, section 5.2.3).
    pub const LIMIT: QueueLimit = QueueLimit::Packets(10_240);
}

/// FQ-CoDel (RFC 8290): flows are hashed to queues, which send by deficit round robin; a queue that
/// has just got something to send goes before those that have had their turn.
///
/// Repairs of the link go before everything, unseen by CoDel.
#[derive(Clone, Debug)]
pub struct FqCodel {
    config: FqCodelConfig,
    limit: QueueLimit,
    /// Who meets whom in a queue differs from one run to the next.
    perturbation: u64,
    longest: Longest,
    repairs: Fifo,
    /// All queues that ever held something; at most `flows` of them.
    queues: BTreeMap<u32, Queue>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    /// What waits in all the queues.
    waiting: Backlog,
}

/// A queue of one flow, or of several if their hashes say so.
#[derive(Clone, Debug, Default)]
struct Queue {
    packets: Stamped,
    control: Control,
    /// Bytes that it may still send in this turn.
    deficit: i64,
    /// It is among the new or the old ones.
    listed: bool,
}

impl FqCodel {
    /// An empty queue. `limit` counts all flows.
    pub fn new(config: FqCodelConfig, limit: QueueLimit, mut stream: Stream) -> Self {
        let (flows, quantum) = (config.flows.max(1), config.quantum.max(MIN_QUANTUM));
        Self {
            config: FqCodelConfig { flows, quantum, ..config },
            limit,
            perturbation: stream.bits(),
            longest: Longest::default(),
            repairs: Fifo::new(limit),
            queues: BTreeMap::new(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            waiting: Backlog::default(),
        }
    }

    /// CoDel has these settings from now on, in every queue.
    pub const fn set_codel(&mut self, codel: CodelConfig) {
        self.config.codel = codel;
    }

    /// So much may wait from now on. What is too much goes when the next packet comes.
    pub const fn set_limit(&mut self, limit: QueueLimit) {
        self.limit = limit;
    }

    fn queue_of(&self, flow: FlowKey) -> u32 {
        // The finalizer of splitmix64: each bit of the key changes each bit of the hash.
        let mut hash = flow.0 ^ self.perturbation;
        hash = (hash ^ hash >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        hash = (hash ^ hash >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        hash ^= hash >> 31;
        ((u128::from(hash) * u128::from(self.config.flows)) >> 64) as u32
    }

    /// True when more waits than may, and more than before the packet came that is the cause.
    fn overflows(&self, before: Backlog) -> bool {
        let now = self.backlog();
        match self.limit {
            QueueLimit::Unlimited => false,
            QueueLimit::Packets(limit) => now.packets > before.packets.max(limit as usize),
            QueueLimit::Bytes(limit) => now.bytes > before.bytes.max(limit),
        }
    }

    /// Drops half of the longest queue from its head, but no more than a batch.
    fn drop_from_fattest(&mut self, packets: &mut dyn Packets) {
        // Of equal ones the first.
        let fattest = self.queues.values_mut().rev().max_by_key(|it| it.packets.backlog().bytes);
        let Some(fattest) = fattest else { return };
        let half = fattest.packets.backlog().bytes.get() / 2;
        let mut dropped = 0;
        for _ in 0..BATCH {
            let Some((_, packet)) = fattest.packets.pop() else { return };
            self.waiting.take(&packet);
            packets.lost(&packet, LossCause::QueueFull);
            dropped += packet.bytes.get();
            if dropped >= half {
                return;
            }
        }
    }

    /// The next packet of a queue: what CoDel drops on the way waits no more.
    fn serve(&mut self, id: u32, now: Instant, packets: &mut dyn Packets) -> Option<Held> {
        let queue = self.queues.get_mut(&id)?;
        let before = queue.packets.backlog();
        let (codel, longest) = (&self.config.codel, self.longest);
        let packet = queue.control.dequeue(now, codel, longest, &mut queue.packets, packets);
        let after = queue.packets.backlog();
        self.waiting.packets -= before.packets - after.packets;
        self.waiting.bytes -= before.bytes - after.bytes;
        if let Some(packet) = &packet {
            queue.deficit = queue.deficit.saturating_sub(signed(packet.bytes));
        }
        packet
    }
}

impl Discipline for FqCodel {
    fn enqueue(&mut self, now: Instant, line: LineState, packet: Held, packets: &mut dyn Packets) {
        self.longest.note(&packet);
        if packet.first {
            self.repairs.push(packet);
            return;
        }
        let before = self.backlog();
        let id = self.queue_of(packet.flow);
        let queue = self.queues.entry(id).or_default();
        queue.packets.push(now, packet);
        self.waiting.add(&packet);
        if !queue.listed {
            queue.listed = true;
            queue.deficit = signed(self.config.quantum);
            self.new.push_back(id);
        }
        while line == LineState::Busy && self.overflows(before) {
            self.drop_from_fattest(packets);
        }
    }

    fn dequeue(&mut self, now: Instant, packets: &mut dyn Packets) -> Option<Held> {
        if let Some(repair) = self.repairs.pop() {
            return Some(repair);
        }
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let id = list.pop_front()?;
            let Some(queue) = self.queues.get_mut(&id) else { continue };
            if queue.deficit <= 0 {
                queue.deficit = queue.deficit.saturating_add(signed(self.config.quantum));
                self.old.push_back(id);
                continue;
            }
            if let Some(packet) = self.serve(id, now, packets) {
                let list = if is_new { &mut self.new } else { &mut self.old };
                list.push_front(id);
                return Some(packet);
            }
            if is_new {
                // Or one packet at a time would always be new.
                self.old.push_back(id);
            } else if let Some(queue) = self.queues.get_mut(&id) {
                queue.listed = false;
            }
        }
    }

    fn backlog(&self) -> Backlog {
        self.repairs.backlog() + self.waiting
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Watched, data, drain, fill, ms};
    use super::*;
    use crate::Streams;

    const FULL: LossCause = LossCause::QueueFull;

    fn queue(limit: QueueLimit) -> FqCodel {
        FqCodel::new(FqCodelConfig::default(), limit, Streams::new(1).stream("fq"))
    }

    fn packet(id: u32, flow: u64, bytes: u64) -> Held {
        Held { flow: FlowKey(flow), bytes: ByteCount::new(bytes), ..data(id) }
    }

    #[test]
    fn flows_send_the_same_bytes_whatever_the_length_of_their_packets() {
        let (mut queue, mut seen) = (queue(QueueLimit::Unlimited), Watched::default());
        for n in 0..3_000 {
            fill(&mut queue, &mut seen, [packet(n, 1, 1500), packet(n, 2, 300), packet(n, 3, 40)]);
        }
        let mut sent = [0; 4];
        while sent.iter().sum::<u64>() < 300_000 {
            let packet = queue.dequeue(ms(1), &mut seen).expect("a packet");
            sent[packet.flow.0 as usize] += packet.bytes.get();
        }
        for flow in 1..4 {
            // A turn more or less, and a packet that was begun.
            assert!(sent[flow].abs_diff(100_000) <= 1514 + 1500, "{sent:?}");
        }
    }

    #[test]
    fn a_flow_that_has_just_begun_goes_before_those_that_have_had_their_turn() {
        let (mut queue, mut seen) = (queue(QueueLimit::Unlimited), Watched::default());
        fill(&mut queue, &mut seen, (0..10).map(|id| packet(id, 1, 1000)));
        // A quantum of 1514 is two packets: the second one is begun with what is left.
        let turn = [0; 2].map(|_| queue.dequeue(ms(0), &mut seen).expect("a packet").id);
        assert_eq!(turn, [0, 1]);
        fill(&mut queue, &mut seen, [packet(100, 2, 1000)]);
        assert_eq!(queue.dequeue(ms(0), &mut seen).map(|packet| packet.id), Some(100));
        assert_eq!(queue.dequeue(ms(0), &mut seen).map(|packet| packet.id), Some(2));
    }

    #[test]
    fn a_flow_that_ran_empty_is_not_new_again_until_the_others_have_had_their_turn() {
        let (mut queue, mut seen) = (queue(QueueLimit::Unlimited), Watched::default());
        fill(&mut queue, &mut seen, (0..20).map(|id| packet(id, 1, 500)));
        let mut next = |queue: &mut FqCodel, comes: Option<Held>| {
            let sent = queue.dequeue(ms(0), &mut seen).map(|packet| packet.id);
            fill(queue, &mut seen, comes);
            sent.expect("a packet")
        };
        // A quantum of 1514 is four packets of 500.
        let first = [0, 1, 2, 3].map(|id| next(&mut queue, (id == 3).then(|| packet(100, 2, 100))));
        assert_eq!(first, [0, 1, 2, 3]);
        // The other flow sends its only packet, and the next one comes when its queue was found empty.
        assert_eq!(next(&mut queue, None), 100);
        assert_eq!(next(&mut queue, Some(packet(101, 2, 100))), 4);
        assert_eq!([(); 3].map(|()| next(&mut queue, None)), [5, 6, 101]);
    }

    #[test]
    fn the_fattest_queue_loses_half_of_its_bytes_from_the_head_and_64_packets_at_most() {
        let (mut queue_, mut seen) = (queue(QueueLimit::Packets(20)), Watched::default());
        fill(&mut queue_, &mut seen, (0..8).map(|id| packet(id, 1, 1000)));
        // More packets, but fewer bytes.
        fill(&mut queue_, &mut seen, (100..112).map(|id| packet(id, 2, 100)));
        assert!(seen.lost.is_empty());
        fill(&mut queue_, &mut seen, [packet(200, 3, 100)]);
        assert_eq!(seen.lost, [(0, FULL), (1, FULL), (2, FULL), (3, FULL)]);
        assert_eq!(queue_.backlog().packets, 17);

        let (mut queue, mut seen) = (queue(QueueLimit::Packets(1000)), Watched::default());
        fill(&mut queue, &mut seen, (0..1001).map(|id| packet(id, 1, 1000)));
        assert_eq!(seen.lost.len(), 64);
        assert!(seen.lost.iter().map(|(id, _)| *id).eq(0..64));
    }

    #[test]
    fn a_packet_that_no_batch_makes_room_for_goes_as_well() {
        let (mut queue, mut seen) =
            (queue(QueueLimit::Bytes(ByteCount::new(900))), Watched::default());
        fill(&mut queue, &mut seen, (0..22).map(|id| packet(id, u64::from(id), 40)));
        fill(&mut queue, &mut seen, [packet(100, 100, 1500)]);
        assert_eq!(seen.lost, [(100, FULL)]);
        assert_eq!(queue.backlog().bytes, ByteCount::new(880));
    }

    #[test]
    fn codel_drops_from_the_flow_that_stands_and_leaves_the_sparse_one_alone() {
        let (mut queue, mut seen) = (queue(QueueLimit::Unlimited), Watched::default());
        fill(&mut queue, &mut seen, (0..1_000).map(|id| packet(id, 1, 1000)));
        for n in 0..400_u64 {
            let sparse = packet(10_000 + n as u32, 2, 100);
            queue.enqueue(ms(n), LineState::Busy, sparse, &mut seen);
            queue.dequeue(ms(n), &mut seen);
            queue.dequeue(ms(n), &mut seen);
        }
        assert!(seen.lost.len() > 3);
        assert!(seen.lost.iter().all(|(id, cause)| *id < 1_000 && *cause == LossCause::Early));
        let backlog = queue.backlog().packets;
        assert_eq!(drain(&mut queue, &mut seen, ms(400)).len(), backlog);
        assert_eq!(queue.backlog(), Backlog::default());
    }

    #[test]
    fn flows_are_spread_over_all_queues_and_another_run_spreads_them_otherwise() {
        let of = |seed| {
            let config = FqCodelConfig { flows: 8, ..FqCodelConfig::default() };
            let stream = Streams::new(seed).stream("fq");
            let queue = FqCodel::new(config, QueueLimit::Unlimited, stream);
            (0..8_000).map(|flow| queue.queue_of(FlowKey(flow))).collect::<Vec<_>>()
        };
        let (one, other) = (of(1), of(2));
        for queue in 0..8 {
            // The standard deviation is 30.
            let count = one.iter().filter(|id| **id == queue).count();
            assert!(count.abs_diff(1_000) < 150, "{count}");
        }
        assert_ne!(one, other);
        assert_eq!(one, of(1));
    }

    #[test]
    fn repairs_go_first_and_find_room_in_a_full_queue() {
        let (mut queue, mut seen) = (queue(QueueLimit::Packets(2)), Watched::default());
        let repair = |id| Held { first: true, ..data(id) };
        fill(&mut queue, &mut seen, [packet(1, 1, 100), packet(2, 2, 100), repair(3), repair(4)]);
        assert!(seen.lost.is_empty());
        // Who comes now costs one place, not four.
        fill(&mut queue, &mut seen, [packet(5, 2, 100)]);
        assert_eq!(seen.lost, [(2, FULL)]);
        assert_eq!(drain(&mut queue, &mut seen, ms(0)), [3, 4, 1, 5]);
    }

    #[test]
    fn settings_of_nothing_do_not_hang() {
        let config = FqCodelConfig { flows: 0, quantum: ByteCount::ZERO, ..Default::default() };
        let mut queue = FqCodel::new(config, QueueLimit::Packets(0), Streams::new(1).stream("fq"));
        let mut seen = Watched::default();
        fill(&mut queue, &mut seen, (0..9).map(|id| packet(id, 1, 1000)));
        assert_eq!(seen.lost.len(), 9);
        queue.enqueue(ms(0), LineState::Idle, data(10), &mut seen);
        assert_eq!(drain(&mut queue, &mut seen, ms(0)), [10]);
    }
}
