//! A transmitter of a given rate with a drop-tail queue before it.

use std::collections::VecDeque;

use bentpipe_units::{BitRate, ByteCount, Instant, Span};

use crate::queue::{Backlog, QueueLimit};
use crate::standing::Standing;
use crate::{Fate, LossCause, Model, Passing};

/// Sends packets one after another at the line rate; those that find the queue full are lost.
///
/// A packet leaves when its last bit is sent. It is [`LossCause::QueueFull`] when it would have to
/// wait and the limit leaves no room for it.
#[derive(Clone, Debug)]
pub struct RateQueue {
    rate: BitRate,
    limit: QueueLimit,
    /// When the last accepted packet is sent.
    idle_from: Instant,
    /// When each waiting packet goes into transmission, and its size. Packets whose time has come
    /// are removed when the next one enters. Stays empty without a limit.
    waiting: VecDeque<(Instant, ByteCount)>,
    waiting_bytes: ByteCount,
    /// Nothing has to be kept of what waits: there is no limit, and nobody asks.
    forgets: bool,
    /// What somebody asks for who looks on.
    standing: Option<Box<Standing>>,
    /// The last packet's size and its time on the line: most packets are as long as the last one.
    last: (ByteCount, Span),
}

impl RateQueue {
    /// An idle transmitter.
    pub const fn new(rate: BitRate, limit: QueueLimit) -> Self {
        Self {
            rate,
            limit,
            idle_from: Instant::ZERO,
            waiting: VecDeque::new(),
            waiting_bytes: ByteCount::ZERO,
            forgets: matches!(limit, QueueLimit::Unlimited),
            standing: None,
            last: (ByteCount::ZERO, Span::ZERO),
        }
    }

    /// The time that a packet of this size takes on the line.
    #[inline]
    fn time_for(&mut self, bytes: ByteCount) -> Span {
        if bytes == self.last.0 { self.last.1 } else { self.work_out_time_for(bytes) }
    }

    #[cold]
    fn work_out_time_for(&mut self, bytes: ByteCount) -> Span {
        self.last = (bytes, self.rate.time_for(bytes));
        self.last.1
    }

    /// When a packet of so many bytes leaves that enters at `at`; `None` when there is no room for it.
    #[inline(always)]
    pub(crate) fn take(&mut self, at: Instant, bytes: ByteCount) -> Option<Instant> {
        let begins = self.begin(at, bytes)?;
        self.idle_from = begins + self.time_for(bytes);
        Some(self.idle_from)
    }

    /// When the transmission of a packet of so many bytes begins that enters at `at`; `None` when there is no room for
    /// it. Then [`RateQueue::end`] says when it ends.
    #[inline(always)]
    pub(crate) fn begin(&mut self, at: Instant, bytes: ByteCount) -> Option<Instant> {
        let begins = at.max(self.idle_from);
        let passes = begins == at && self.waiting.is_empty() || self.forgets;
        (passes || self.admit(at, begins, bytes)).then_some(begins)
    }

    /// The transmission of the last packet ends then.
    pub(crate) const fn end(&mut self, at: Instant) {
        self.idle_from = at;
    }

    /// What waits at `now`, and how much may; the packet in transmission does not count.
    pub fn waiting(&self, now: Instant) -> (Backlog, QueueLimit) {
        let left = self.waiting.partition_point(|(began, _)| *began <= now);
        let bytes = self.waiting.range(left..).fold(ByteCount::ZERO, |sum, (_, size)| sum + *size);
        (Backlog { packets: self.waiting.len() - left, bytes }, self.limit)
    }

    /// The bytes that have come and not gone into transmission at `now`, which does not go back. Unlike
    /// [`waiting`](Self::waiting) it leaves out what has been let pass before its time. It is kept from the first time that
    /// somebody asks: until then, and for all others, it costs nothing.
    pub fn standing(&mut self, now: Instant) -> ByteCount {
        self.forgets = false;
        self.standing.get_or_insert_with(|| Box::new(Standing::of(now, &self.waiting))).at(now)
    }

    /// Takes the packet into the queue, or says that there is no room.
    #[inline(never)]
    fn admit(&mut self, at: Instant, begins: Instant, bytes: ByteCount) -> bool {
        while let Some(&(began, size)) = self.waiting.front()
            && began <= at
        {
            self.waiting.pop_front();
            self.waiting_bytes -= size;
        }
        if begins <= at {
            return true;
        }
        let fits = match self.limit {
            QueueLimit::Unlimited => true,
            QueueLimit::Packets(limit) => self.waiting.len() < limit as usize,
            QueueLimit::Bytes(limit) => self.waiting_bytes + bytes <= limit,
        };
        if fits {
            self.waiting.push_back((begins, bytes));
            self.waiting_bytes += bytes;
            if let Some(standing) = &mut self.standing {
                standing.enter(at, begins, bytes);
            }
        }
        fits
    }
}

impl Model for RateQueue {
    #[inline(always)]
    fn pass(&mut self, at: Instant, packet: &Passing) -> Fate {
        self.take(at, packet.bytes).map_or(Fate::Lost(LossCause::QueueFull), Fate::Leaves)
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_wire::Kind;
    use proptest::prelude::*;

    use super::*;

    const FULL: Fate = Fate::Lost(LossCause::QueueFull);

    /// 1000 bytes take 800 us.
    fn queue(limit: QueueLimit) -> RateQueue {
        RateQueue::new(BitRate::from_bps(10_000_000), limit)
    }

    fn offer(queue: &mut RateQueue, micros: u64, bytes: u64) -> Fate {
        let packet = Passing { bytes: ByteCount::new(bytes), kind: Kind::DATA };
        queue.pass(Instant::ZERO + Span::from_micros(micros), &packet)
    }

    fn leaves(micros: u64) -> Fate {
        Fate::Leaves(Instant::ZERO + Span::from_micros(micros))
    }

    #[test]
    fn back_to_back_packets_leave_at_exactly_the_line_rate() {
        let mut queue = queue(QueueLimit::Unlimited);
        for n in 1..=10_000 {
            assert_eq!(offer(&mut queue, 0, 1000), leaves(800 * n));
        }
        assert!(queue.waiting.is_empty(), "without a limit nothing is kept per packet");
    }

    #[test]
    fn an_idle_transmitter_sends_at_once() {
        let mut queue = queue(QueueLimit::Packets(0));
        assert_eq!(offer(&mut queue, 0, 1000), leaves(800));
        assert_eq!(offer(&mut queue, 800, 500), leaves(1200));
        assert_eq!(offer(&mut queue, 5000, 1000), leaves(5800));
    }

    #[test]
    fn the_packet_in_transmission_does_not_count_towards_the_limit_in_packets() {
        let mut queue = queue(QueueLimit::Packets(2));
        let fates: Vec<_> = (0..4).map(|_| offer(&mut queue, 0, 1000)).collect();
        assert_eq!(fates, [leaves(800), leaves(1600), leaves(2400), FULL]);
        // One goes into transmission at 800, which makes room for one and no more.
        assert_eq!(offer(&mut queue, 799, 1000), FULL);
        assert_eq!(offer(&mut queue, 800, 1000), leaves(3200));
        assert_eq!(offer(&mut queue, 800, 1000), FULL);
    }

    #[test]
    fn what_waits_is_what_has_not_gone_into_transmission() {
        let mut queue = queue(QueueLimit::Packets(9));
        for _ in 0..4 {
            offer(&mut queue, 0, 1000);
        }
        let waits = |micros| {
            let (backlog, limit) = queue.waiting(Instant::ZERO + Span::from_micros(micros));
            assert_eq!(limit, QueueLimit::Packets(9));
            (backlog.packets, backlog.bytes.get())
        };
        assert_eq!([waits(0), waits(799), waits(800)], [(3, 3000), (3, 3000), (2, 2000)]);
        assert_eq!(waits(2400), (0, 0));
    }

    #[test]
    fn what_stands_in_a_queue_is_told_without_what_comes_later_with_and_without_a_limit() {
        for limit in [QueueLimit::Packets(9), QueueLimit::Unlimited] {
            let mut queue = queue(limit);
            let stands = |queue: &mut RateQueue, micros| {
                queue.standing(Instant::ZERO + Span::from_micros(micros)).get()
            };
            assert_eq!(stands(&mut queue, 0), 0);
            for micros in [0, 0, 0, 500, 500] {
                offer(&mut queue, micros, 1000);
            }
            let seen = [0, 499, 500, 799, 800, 2400, 3200].map(|at| stands(&mut queue, at));
            assert_eq!(seen, [2000, 2000, 4000, 4000, 3000, 1000, 0], "{limit:?}");
        }
    }

    #[test]
    fn the_limit_in_bytes_takes_what_fits() {
        let mut queue = queue(QueueLimit::Bytes(ByteCount::new(1500)));
        assert_eq!(offer(&mut queue, 0, 1000), leaves(800));
        assert_eq!(offer(&mut queue, 0, 1000), leaves(1600));
        assert_eq!(offer(&mut queue, 0, 501), FULL);
        assert_eq!(offer(&mut queue, 0, 500), leaves(2000));
        assert_eq!(offer(&mut queue, 0, 1), FULL);
        // A packet larger than the limit passes when it need not wait.
        assert_eq!(offer(&mut queue, 2000, 2000), leaves(3600));
    }

    #[test]
    fn a_queue_in_steady_state_does_not_grow() {
        let mut queue = queue(QueueLimit::Packets(50));
        for n in 0..1000 {
            offer(&mut queue, 400 * n, 1000);
        }
        let capacity = queue.waiting.capacity();
        for n in 1000..100_000 {
            offer(&mut queue, 400 * n, 1000);
        }
        assert_eq!(queue.waiting.capacity(), capacity);
    }

    proptest! {
        /// The lazy queue against one that remembers everything.
        #[test]
        fn drop_tail_agrees_with_its_definition(
            limit in prop_oneof![
                (0u32..6).prop_map(QueueLimit::Packets),
                (0u64..6000).prop_map(|n| QueueLimit::Bytes(ByteCount::new(n))),
            ],
            packets in prop::collection::vec((0u64..1500, 1u64..2000), 1..200),
        ) {
            let mut queue = queue(limit);
            let mut taken: Vec<(u64, u64)> = Vec::new(); // begins and size
            let (mut now, mut idle) = (0, 0);
            for (gap, bytes) in packets {
                now += gap * 1000;
                let waiting = || taken.iter().filter(|(begins, _)| *begins > now);
                let fits = idle <= now || match limit {
                    QueueLimit::Unlimited => true,
                    QueueLimit::Packets(n) => waiting().count() < n as usize,
                    QueueLimit::Bytes(n) => waiting().map(|w| w.1).sum::<u64>() + bytes <= n.get(),
                };
                let expected = if fits {
                    taken.push((idle.max(now), bytes));
                    idle = idle.max(now) + bytes * 800;
                    Fate::Leaves(Instant::from_nanos(idle))
                } else {
                    FULL
                };
                prop_assert_eq!(offer(&mut queue, now / 1000, bytes), expected);
            }
        }
    }
}
