//! Datagrams that wait: FQ-CoDel between flows, and their numbers.

use std::collections::VecDeque;
use std::collections::hash_map::Entry;

use bentpipe_link::queue::{
    CodelConfig, Discipline as _, FlowKey, FqCodel, FqCodelConfig, Held, LineState, Packets,
};
use bentpipe_link::{LossCause, QueueLimit, Streams};
use bentpipe_units::{ByteCount, Instant, Seq32, Span};
use bentpipe_wire::xcp::{RateChange, Request};
use bentpipe_wire::{Ecn, Kind};
use rustc_hash::FxHashMap;
use slab::Slab;

use crate::labels::{Told, digest};
use crate::meter::{Length, Meter};
use crate::record::{Datagram, Record};

/// Bytes that wait at most: what left in the last interval of CoDel, so often, and at least so many. CoDel alone needs long
/// for senders that do not answer to it.
const INTERVALS: u64 = 2;
const LIMIT_MIN: u64 = 128 << 10;
/// Before anything left.
const LIMIT: ByteCount = ByteCount::new(1 << 20);
/// Headers of IP and UDP, which count for the queue like the rest.
const HEADERS: u64 = 28;
/// Without a round trip that was measured CoDel has its usual settings.
const INTERVAL: Span = Span::from_millis(100);
const TARGET: Span = Span::from_millis(5);
/// The target as a part of the interval. RFC 8289, section 4.3, has a tenth; over one round trip alone a flow of CUBIC needs
/// three sevenths to keep the path full when it answers a drop, and others do not wait in its queue.
const PART: u64 = 3;
/// A datagram of a sparse flow goes a second time after so long.
pub(crate) const REPEAT: Span = Span::from_millis(10);

/// What waits to be packed.
#[derive(Debug)]
pub(crate) struct Backlog {
    queue: FqCodel,
    store: Store,
    flows: FxHashMap<u16, Flow>,
    labels: Told,
    repeats: VecDeque<(Instant, Record)>,
    interval: Span,
    /// When this interval began, and what has left in it.
    began: Instant,
    left: u64,
    /// The limit is never more.
    most: u64,
}

/// A flow that sends.
#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    /// Number of its next datagram.
    next: u16,
    meter: Meter,
    length: Length,
}

/// How many datagrams of a flow wait.
#[derive(Debug, Default)]
struct Waiting {
    sparse: u32,
    others: u32,
}

impl Waiting {
    const fn of(&mut self, is_sparse: bool) -> &mut u32 {
        if is_sparse { &mut self.sparse } else { &mut self.others }
    }
}

/// The datagrams that the queue knows by number.
#[derive(Debug, Default)]
struct Store {
    waiting: Slab<(Datagram, bool)>,
    /// What waits of each flow.
    flows: FxHashMap<u16, Waiting>,
    /// Datagrams of sparse flows.
    sparse: usize,
    dropped: u64,
    marked: u64,
}

impl Store {
    fn take(&mut self, id: u32) -> Option<(Datagram, bool)> {
        let taken = self.waiting.try_remove(id as usize)?;
        self.sparse -= usize::from(taken.1);
        if let Entry::Occupied(mut flow) = self.flows.entry(taken.0.flow) {
            *flow.get_mut().of(taken.1) -= 1;
            if flow.get().sparse + flow.get().others == 0 {
                flow.remove();
            }
        }
        Some(taken)
    }
}

impl Packets for Store {
    fn departs(&mut self, _: &Held, _: Instant) {}

    fn lost(&mut self, packet: &Held, _: LossCause) {
        self.take(packet.id);
        self.dropped += 1;
    }

    fn mark(&mut self, packet: &Held) {
        if let Some((datagram, _)) = self.waiting.get_mut(packet.id as usize) {
            datagram.ecn = Ecn::Congestion;
            self.marked += 1;
        }
    }

    fn request(&self, _: &Held) -> Option<Request> {
        None
    }

    fn grant(&mut self, _: &Held, _: RateChange) {}

    fn copy_of_ack(&mut self, _: &Held, _: Seq32) -> Option<Held> {
        None
    }
}

impl Backlog {
    /// Nothing waits, and so many bytes may. Which flows share a queue follows from the seed.
    pub(crate) fn new(most: usize, seed: u64) -> Self {
        let most = most as u64;
        let limit = QueueLimit::Bytes(LIMIT.min(ByteCount::new(most)));
        let config = FqCodelConfig::default();
        Self {
            queue: FqCodel::new(config, limit, Streams::new(seed).stream("tunnel")),
            store: Store::default(),
            flows: FxHashMap::default(),
            labels: Told::default(),
            repeats: VecDeque::new(),
            interval: INTERVAL,
            began: Instant::ZERO,
            left: 0,
            most,
        }
    }

    /// The round trip of the path, after which CoDel goes.
    pub(crate) fn set_round_trip(&mut self, round_trip: Span) {
        let interval = round_trip.max(INTERVAL);
        self.interval = interval;
        self.queue.set_codel(CodelConfig {
            target: (interval / PART).max(TARGET),
            interval,
            ecn: true,
        });
    }

    /// One more. Returns whether it is one of a call.
    pub(crate) fn push(&mut self, now: Instant, datagram: Datagram) -> bool {
        let bytes = ByteCount::new((datagram.label.len() + datagram.bytes.len()) as u64 + HEADERS);
        let meter = &mut self.flows.entry(datagram.flow).or_default().meter;
        let (is_little, is_call) = (meter.sends(now, bytes), meter.is_call());
        let waiting = self.store.flows.entry(datagram.flow).or_default();
        // What comes behind others of its flow has to wait for them.
        let is_sparse = is_little && waiting.others == 0;
        *waiting.of(is_sparse) += 1;
        let (flow, ecn) = (FlowKey(u64::from(datagram.flow)), datagram.ecn);
        self.store.sparse += usize::from(is_sparse);
        let id = self.store.waiting.insert((datagram, is_sparse)) as u32;
        let held =
            Held { id, line: 0, kind: Kind::DATA, ecn, bytes, flow, ack: None, first: false };
        self.queue.enqueue(now, LineState::Busy, held, &mut self.store);
        is_sparse && is_call
    }

    /// The next one that goes a second time, if that is due.
    pub(crate) fn pop_repeated(&mut self, now: Instant) -> Option<Record> {
        self.repeat_due().filter(|due| *due <= now)?;
        self.repeats.pop_front().map(|(_, record)| record)
    }

    /// The next one; one of a sparse flow is `repeated` later.
    pub(crate) fn pop(&mut self, now: Instant, repeated: bool) -> Option<Record> {
        let held = self.queue.dequeue(now, &mut self.store)?;
        self.adapt(now, held.bytes);
        let (datagram, is_sparse) = self.store.take(held.id)?;
        let flow = self.flows.entry(datagram.flow).or_default();
        // What CoDel dropped is nobody's number: nobody waits for it.
        let order = flow.next;
        flow.next = flow.next.wrapping_add(1);
        let is_due = self.labels.is_due(datagram.flow, &datagram.label);
        let digest = (!is_due).then(|| digest(&datagram.label));
        let is_short = flow.length.sends(datagram.bytes.len());
        let is_ordered = !is_sparse && !is_short;
        let is_repeated = is_sparse && repeated;
        let record = Record { datagram, order, is_sparse, is_ordered, is_repeated, digest };
        if is_repeated {
            self.repeats.push_back((now + REPEAT, record.clone()));
        }
        Some(record)
    }

    /// Which labels the peer has.
    pub(crate) const fn labels(&mut self) -> &mut Told {
        &mut self.labels
    }

    /// So much leaves: the limit follows.
    fn adapt(&mut self, now: Instant, bytes: ByteCount) {
        let passed = now.since(self.began);
        if passed >= self.interval {
            // What left before a pause tells of the pause.
            if passed < self.interval * 2 {
                let limit = (self.left * INTERVALS).max(LIMIT_MIN).min(self.most);
                self.queue.set_limit(QueueLimit::Bytes(ByteCount::new(limit)));
            }
            (self.began, self.left) = (now, 0);
        }
        self.left += bytes.get();
    }

    /// When the next one goes a second time.
    pub(crate) fn repeat_due(&self) -> Option<Instant> {
        self.repeats.front().map(|(due, _)| *due)
    }

    /// Bytes that wait for the first time.
    pub(crate) fn bytes(&self) -> usize {
        self.queue.backlog().bytes.get() as usize
    }

    /// Whether something waits for the first time.
    pub(crate) fn is_empty(&self) -> bool {
        self.store.waiting.is_empty()
    }

    /// Flows of which something waits.
    pub(crate) fn flows_waiting(&self) -> usize {
        self.store.flows.len()
    }

    /// Whether something of a sparse flow waits.
    pub(crate) const fn has_sparse(&self) -> bool {
        self.store.sparse > 0
    }

    /// Datagrams that were dropped and marked because they waited for too long or too many did.
    pub(crate) const fn hits(&self) -> (u64, u64) {
        (self.store.dropped, self.store.marked)
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Span::from_millis(millis)
    }

    fn datagram(flow: u16, len: usize, ecn: Ecn) -> Datagram {
        Datagram { flow, ecn, label: Bytes::new(), bytes: Bytes::from(vec![flow as u8; len]) }
    }

    #[test]
    fn a_call_goes_ahead_of_two_downloads_and_its_datagrams_go_twice() {
        let mut backlog = Backlog::new(8 << 20, 1);
        for _ in 0..100 {
            backlog.push(at(0), datagram(1, 1_200, Ecn::NotCapable));
            backlog.push(at(0), datagram(2, 1_200, Ecn::NotCapable));
        }
        // Both have had their turn.
        (0..6).for_each(|_| drop(backlog.pop(at(0), true)));
        backlog.push(at(1), datagram(3, 172, Ecn::NotCapable));
        assert!(backlog.has_sparse());
        let next = std::array::from_fn::<_, 3, _>(|_| {
            backlog.pop(at(1), true).expect("one").datagram.flow
        });
        assert!(next.contains(&3), "{next:?}");
        let repeated: Vec<u16> = std::iter::from_fn(|| backlog.pop_repeated(at(11)))
            .map(|record| record.datagram.flow)
            .collect();
        assert!(repeated.contains(&3), "{repeated:?}");
    }

    #[test]
    fn a_download_that_pauses_for_a_moment_is_no_call_while_its_queue_stands() {
        let mut backlog = Backlog::new(8 << 20, 1);
        for _ in 0..100 {
            backlog.push(at(0), datagram(1, 1_200, Ecn::NotCapable));
        }
        (0..10).for_each(|_| drop(backlog.pop(at(0), false)));
        backlog.push(at(500), datagram(1, 1_200, Ecn::NotCapable));
        assert!(!backlog.has_sparse(), "it waits behind the others of its flow");
        while backlog.pop(at(500), false).is_some() {}
        backlog.push(at(1_000), datagram(1, 1_200, Ecn::NotCapable));
        assert!(backlog.has_sparse(), "nothing is before it");
    }

    #[test]
    fn what_is_dropped_has_no_number() {
        let mut backlog = Backlog::new(8 << 20, 1);
        for _ in 0..5_000 {
            backlog.push(at(0), datagram(1, 1_200, Ecn::NotCapable));
        }
        let orders: Vec<u16> =
            std::iter::from_fn(|| backlog.pop(at(0), false)).map(|record| record.order).collect();
        assert!(orders.len() < 5_000 && backlog.hits().0 > 0);
        assert!(orders.iter().copied().eq(0..orders.len() as u16));
        assert!(backlog.is_empty() && backlog.bytes() == 0);
    }

    #[test]
    fn who_understands_marks_is_marked_after_a_round_trip_of_standing_queue() {
        let mut backlog = Backlog::new(8 << 20, 1);
        backlog.set_round_trip(Span::from_millis(600));
        for _ in 0..850 {
            backlog.push(at(0), datagram(1, 1_200, Ecn::Capable0));
        }
        let marked = (0..850).map(|n| (n, backlog.pop(at(n), false)));
        let first = marked
            .filter_map(|(n, record)| (record?.datagram.ecn == Ecn::Congestion).then_some(n))
            .next();
        assert_eq!((first, backlog.hits()), (Some(800), (0, 1)));
    }
}
