//! Segments that were sent and are not acknowledged.

use std::collections::VecDeque;

use bentpipe_units::{Instant, Seq32};

/// One unacknowledged segment: size, number of retransmissions and time of the last one, as in the
/// paper (section 3). Its bytes are in the send buffer.
#[derive(Debug)]
pub(super) struct Entry {
    /// Place of its first byte in the stream.
    pub(super) offset: u64,
    /// Length of its payload.
    pub(super) len: u16,
    /// When it was last sent.
    pub(super) last_sent: Instant,
    /// How often it was retransmitted.
    pub(super) retransmissions: u32,
    /// Copies of the latest retransmission that are still to be sent.
    pub(super) copies: u8,
    /// It was sent as a copy.
    pub(super) copied: bool,
    /// It waits to be retransmitted.
    pub(super) queued: bool,
    /// A report missed it when it may only have been late.
    pub(super) awaited: bool,
}

/// What an acknowledgement took out of the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Acknowledged {
    /// Payload bytes.
    pub(super) bytes: usize,
    /// Segments.
    pub(super) segments: u32,
    /// Those among them that had been retransmitted, and not only because they were late.
    pub(super) repaired: u32,
    /// Runs of these.
    pub(super) runs: u32,
    /// Those that arrived before a retransmission of them could: they had been taken for lost, and were late.
    pub(super) late: u32,
    /// Those that a report had missed and that came without a retransmission, as they were waited for.
    pub(super) awaited: u32,
    /// The latest time at which one of them was sent.
    pub(super) newest: Option<Instant>,
}

/// The unacknowledged segments, from VT(A) to VT(S) without holes.
#[derive(Debug)]
pub(super) struct SendCache {
    entries: VecDeque<Entry>,
    oldest: Seq32,
    bytes: usize,
    /// The last one that was acknowledged had been retransmitted.
    repaired: bool,
}

impl SendCache {
    /// An empty cache; `first` is the number of the first segment to be sent.
    pub(super) fn new(first: Seq32) -> Self {
        Self { entries: VecDeque::new(), oldest: first, bytes: 0, repaired: false }
    }

    /// VT(A): the oldest unacknowledged number.
    pub(super) const fn oldest(&self) -> Seq32 {
        self.oldest
    }

    /// VT(S): the next new number.
    #[inline]
    pub(super) fn next(&self) -> Seq32 {
        self.oldest.plus(self.entries.len() as u32)
    }

    /// Segments outstanding.
    #[inline]
    pub(super) fn len(&self) -> u32 {
        self.entries.len() as u32
    }

    /// Payload bytes outstanding.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds the segment VT(S), about to be sent for the first time.
    #[inline]
    pub(super) fn push(&mut self, offset: u64, len: u16, now: Instant) {
        self.bytes += usize::from(len);
        self.entries.push_back(Entry {
            offset,
            len,
            last_sent: now,
            retransmissions: 0,
            copies: 0,
            copied: false,
            queued: false,
            awaited: false,
        });
    }

    /// The entry of a number; `None` when it is acknowledged or was never sent.
    pub(super) fn get(&self, seq: Seq32) -> Option<&Entry> {
        self.entries.get(seq.distance_from(self.oldest) as usize)
    }

    /// The entry of a number, to be changed.
    pub(super) fn get_mut(&mut self, seq: Seq32) -> Option<&mut Entry> {
        self.entries.get_mut(seq.distance_from(self.oldest) as usize)
    }

    /// Removes everything before `next`, which lies in VT(A)..=VT(S), and says what it was. Nothing that was sent after `known`
    /// can have arrived.
    pub(super) fn acknowledge(&mut self, next: Seq32, known: Instant) -> Acknowledged {
        let count = next.distance_from(self.oldest).min(self.entries.len() as u32);
        let mut done = Acknowledged { segments: count, ..Acknowledged::default() };
        for _ in 0..count {
            let Some(entry) = self.entries.pop_front() else { break };
            done.bytes += usize::from(entry.len);
            let was_late = match entry.retransmissions {
                0 => entry.queued,
                1 => !entry.copied && entry.last_sent > known,
                _ => false, // One of several has arrived.
            };
            done.late += u32::from(was_late);
            let repaired = entry.retransmissions > 0 && !was_late;
            done.repaired += u32::from(repaired);
            done.runs += u32::from(repaired && !self.repaired);
            self.repaired = repaired;
            done.awaited += u32::from(entry.awaited && entry.retransmissions == 0 && !entry.queued);
            done.newest = done.newest.max(Some(entry.last_sent));
        }
        self.oldest = self.oldest.plus(count);
        self.bytes -= done.bytes;
        done
    }

    /// True when a segment shorter than `mss` is among them. Only the last burst of a period ends in
    /// one, so that looking from the newest finds it soon.
    pub(super) fn has_short_segment(&self, mss: u16) -> bool {
        self.entries.iter().rev().any(|entry| entry.len < mss)
    }

    /// Forgets everything; nothing is outstanding any more.
    pub(super) fn clear(&mut self) {
        *self = Self::new(self.next());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_arrives_before_its_retransmission_could_was_late() {
        let first = Seq32::new(0);
        let mut cache = SendCache::new(first);
        for n in 0..4 {
            cache.push(n, 1, Instant::ZERO);
        }
        for n in [0, 1] {
            let entry = cache.get_mut(first.plus(n)).expect("it was sent");
            (entry.retransmissions, entry.last_sent) = (1, Instant::from_nanos(10 * u64::from(n)));
        }
        cache.get_mut(first.plus(2)).expect("it was sent").queued = true;
        let done = cache.acknowledge(first.plus(4), Instant::from_nanos(5));
        assert_eq!(
            (done.segments, done.repaired, done.late),
            (4, 1, 2),
            "the second and the third"
        );
    }

    #[test]
    fn segments_that_were_lost_in_a_row_are_one_run_also_over_two_acknowledgements() {
        let first = Seq32::new(0);
        let mut cache = SendCache::new(first);
        for n in 0..9 {
            cache.push(n, 1, Instant::ZERO);
            let is_lost = [1, 2, 3, 4, 6].contains(&n);
            let entry = cache.get_mut(first.plus(n as u32)).expect("it was sent");
            entry.retransmissions = u32::from(is_lost);
        }
        let late = Instant::from_nanos(1);
        let counts = |done: Acknowledged| (done.repaired, done.runs);
        assert_eq!(counts(cache.acknowledge(first.plus(3), late)), (2, 1));
        assert_eq!(counts(cache.acknowledge(first.plus(9), late)), (3, 1), "the sixth");
    }

    #[test]
    fn what_was_waited_for_and_came_was_awaited_unless_it_was_retransmitted() {
        let first = Seq32::new(0);
        let mut cache = SendCache::new(first);
        for n in 0..4 {
            cache.push(n, 1, Instant::ZERO);
            cache.get_mut(first.plus(n as u32)).expect("it was sent").awaited = n > 0;
        }
        cache.get_mut(first.plus(1)).expect("it was sent").retransmissions = 1;
        cache.get_mut(first.plus(2)).expect("it was sent").queued = true;
        assert_eq!(cache.acknowledge(first.plus(4), Instant::ZERO).awaited, 1);
    }

    #[test]
    fn an_acknowledgement_frees_a_prefix_across_the_wrap() {
        let first = Seq32::new(u32::MAX);
        let mut cache = SendCache::new(first);
        for n in 0..3u64 {
            cache.push(2 * n, 2, Instant::from_nanos(n));
        }
        assert_eq!((cache.len(), cache.bytes(), cache.next()), (3, 6, Seq32::new(2)));
        let newest = Some(Instant::from_nanos(1));
        let done = Acknowledged { bytes: 4, segments: 2, newest, ..Acknowledged::default() };
        assert_eq!(cache.acknowledge(first.plus(2), Instant::ZERO), done);
        assert_eq!((cache.oldest(), cache.len(), cache.bytes()), (Seq32::new(1), 1, 2));
        assert!(cache.get(first).is_none() && cache.get(Seq32::new(1)).is_some());
    }
}
