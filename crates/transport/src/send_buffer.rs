//! What the application wrote, until it is acknowledged. A byte FIFO, not segmented.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

/// Bytes that wait to be sent, and behind them those that may have to be retransmitted.
#[derive(Debug, Default)]
pub(crate) struct SendBuffer {
    /// The writes as they came, the oldest first, each with its place in the stream.
    chunks: VecDeque<(u64, Bytes)>,
    /// Place of the next byte to be sent for the first time.
    sent: u64,
    /// The chunk that holds that byte, and where in it the byte lies. Past the last chunk when
    /// everything was sent.
    cursor: (usize, usize),
    /// Bytes waiting to be sent for the first time.
    unsent: usize,
}

impl SendBuffer {
    /// Bytes waiting to be sent for the first time.
    pub(crate) const fn len(&self) -> usize {
        self.unsent
    }

    /// Place in the stream of the next byte to be sent for the first time.
    pub(crate) const fn sent(&self) -> u64 {
        self.sent
    }

    /// Appends a chunk as it is.
    pub(crate) fn push(&mut self, chunk: Bytes) {
        if !chunk.is_empty() {
            let start = self.sent + self.unsent as u64;
            self.unsent += chunk.len();
            self.chunks.push_back((start, chunk));
        }
    }

    /// The next `count` bytes to be sent for the first time, or all if there are fewer. Copies only
    /// when the segment spans several writes.
    pub(crate) fn take(&mut self, count: usize) -> Bytes {
        let count = count.min(self.unsent);
        if let Some(whole) = self.take_whole(count) {
            return whole;
        }
        let taken = self.gather(self.cursor, count);
        self.sent += count as u64;
        self.unsent -= count;
        self.cursor = self.find(self.sent);
        taken
    }

    /// The next `count` bytes to be sent for the first time if they come from one write.
    #[inline(always)]
    pub(crate) fn take_whole(&mut self, count: usize) -> Option<Bytes> {
        let (index, from) = self.cursor;
        let (_, chunk) = self.chunks.get(index).filter(|(_, c)| c.len() - from >= count)?;
        let end = from + count;
        self.sent += count as u64;
        self.unsent -= count;
        self.cursor = if end == chunk.len() { (index + 1, 0) } else { (index, end) };
        Some(chunk.slice(from..end))
    }

    /// Bytes that were sent and are not acknowledged: `count` from place `offset` on.
    pub(crate) fn again(&self, offset: u64, count: usize) -> Bytes {
        let (index, from) = self.find(offset);
        match self.chunks.get(index) {
            Some((_, chunk)) if chunk.len() - from >= count => chunk.slice(from..from + count),
            _ => self.gather((index, from), count),
        }
    }

    /// The chunk that holds the byte at this place, and where in it the byte lies.
    fn find(&self, offset: u64) -> (usize, usize) {
        let after = self.chunks.partition_point(|(start, _)| *start <= offset);
        let Some(index) = after.checked_sub(1) else { return (0, 0) };
        let (start, chunk) = &self.chunks[index];
        let from = (offset - start) as usize;
        if from < chunk.len() { (index, from) } else { (after, 0) }
    }

    /// Copies `count` bytes out of several chunks.
    #[cold]
    fn gather(&self, (index, mut from): (usize, usize), count: usize) -> Bytes {
        let mut gathered = BytesMut::with_capacity(count);
        for (_, chunk) in self.chunks.iter().skip(index) {
            let wanted = (count - gathered.len()).min(chunk.len() - from);
            gathered.extend_from_slice(&chunk[from..from + wanted]);
            from = 0;
            if gathered.len() == count {
                break;
            }
        }
        gathered.freeze()
    }

    /// Everything before place `offset` is acknowledged. A chunk is freed as a whole.
    #[inline(always)]
    pub(crate) fn acknowledge(&mut self, offset: u64) {
        let frees = |(start, first): &(u64, Bytes)| start + first.len() as u64 <= offset;
        if self.chunks.front().is_some_and(frees) {
            self.free_before(offset);
        }
    }

    #[inline(never)]
    fn free_before(&mut self, offset: u64) {
        while let Some((start, first)) = self.chunks.front()
            && start + first.len() as u64 <= offset.min(self.sent)
        {
            self.cursor.0 -= 1;
            self.chunks.pop_front();
        }
    }

    /// What was sent of `from .. to` is never asked for again, although what is before it may be: chunks
    /// that lie in it as a whole are freed.
    pub(crate) fn release(&mut self, from: u64, to: u64) {
        let to = to.min(self.sent);
        let first = self.chunks.partition_point(|(start, _)| *start < from);
        for (start, chunk) in self.chunks.range_mut(first..) {
            if *start + chunk.len() as u64 > to {
                break;
            }
            *chunk = Bytes::new();
        }
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        *self = Self { sent: self.sent, ..Self::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffer(parts: &[&[u8]]) -> SendBuffer {
        let mut buffer = SendBuffer::default();
        for part in parts {
            buffer.push(Bytes::copy_from_slice(part));
        }
        buffer
    }

    #[test]
    fn segments_cut_the_bytes_wherever_the_writes_ended() {
        let mut buffer = buffer(&[b"ab", b"cdefg", b"", b"h"]);
        assert_eq!(buffer.len(), 8);
        assert_eq!(&buffer.take(1)[..], b"a");
        assert_eq!(&buffer.take(3)[..], b"bcd");
        assert_eq!(&buffer.take(3)[..], b"efg");
        assert_eq!(&buffer.take(9)[..], b"h");
        assert_eq!((buffer.len(), buffer.take(1).len()), (0, 0));
    }

    #[test]
    fn a_write_of_one_segment_is_not_copied() {
        let chunk = Bytes::from(vec![7; 100]);
        let address = chunk.as_ptr();
        let mut buffer = SendBuffer::default();
        buffer.push(chunk);
        assert_eq!(buffer.take(100).as_ptr(), address);
    }

    #[test]
    fn what_was_sent_can_be_had_again_until_it_is_acknowledged() {
        let mut buffer = buffer(&[b"abc", b"def", b"ghi"]);
        assert_eq!(&buffer.take(7)[..], b"abcdefg");
        assert_eq!(&buffer.again(2, 3)[..], b"cde");
        buffer.acknowledge(5);
        assert_eq!(&buffer.again(5, 2)[..], b"fg");
        buffer.acknowledge(7);
        assert_eq!((buffer.sent(), &buffer.take(5)[..]), (7, &b"hi"[..]));
        buffer.push(Bytes::from_static(b"jk"));
        buffer.acknowledge(9);
        assert_eq!((&buffer.take(1)[..], buffer.len()), (&b"j"[..], 1));
    }

    #[test]
    fn what_is_released_is_freed_and_the_rest_can_still_be_had() {
        let mut buffer = buffer(&[b"abc", b"def", b"ghi", b"jkl"]);
        buffer.take(9);
        buffer.release(2, 9);
        let kept: Vec<_> = buffer.chunks.iter().map(|(_, chunk)| chunk.len()).collect();
        assert_eq!(kept, [3, 0, 0, 3], "the first is released in part only");
        assert_eq!(&buffer.again(0, 3)[..], b"abc");
        buffer.acknowledge(2);
        buffer.release(0, 12);
        assert_eq!(&buffer.take(3)[..], b"jkl", "what was not sent stays");
        assert_eq!(&buffer.again(10, 2)[..], b"kl");
        buffer.acknowledge(12);
        assert!(buffer.chunks.is_empty());
    }

    #[test]
    fn an_acknowledgement_frees_what_nobody_needs_any_more() {
        let mut buffer = buffer(&[b"abc", b"def", b"ghi"]);
        buffer.take(6);
        buffer.acknowledge(100);
        assert_eq!(buffer.chunks.len(), 1, "what was not sent stays");
        assert_eq!(&buffer.take(3)[..], b"ghi");
        buffer.acknowledge(9);
        assert!(buffer.chunks.is_empty());
    }
}
