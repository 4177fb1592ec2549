//! What the application wrote, until it is acknowledged. A byte FIFO, not segmented.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

/// Bytes that wait to be sent, and behind them those that may have to be sent again.
#[derive(Debug, Default)]
pub(super) struct SendBuffer {
    /// The writes as they came, the oldest first.
    chunks: VecDeque<Bytes>,
    /// Place of the first chunk in the stream.
    start: u64,
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
    pub(super) const fn len(&self) -> usize {
        self.unsent
    }

    /// Place in the stream of the next byte to be sent for the first time.
    pub(super) const fn sent(&self) -> u64 {
        self.sent
    }

    /// Appends a chunk as it is.
    pub(super) fn push(&mut self, chunk: Bytes) {
        if !chunk.is_empty() {
            self.unsent += chunk.len();
            self.chunks.push_back(chunk);
        }
    }

    /// The next `count` bytes to be sent for the first time, or all if there are fewer. Copies only
    /// when the segment spans several writes.
    pub(super) fn take(&mut self, count: usize) -> Bytes {
        let count = count.min(self.unsent);
        let (index, from) = self.cursor;
        let Some(chunk) = self.chunks.get(index) else { return Bytes::new() };
        let left = chunk.len() - from;
        let taken =
            if left >= count { chunk.slice(from..from + count) } else { self.gather(count) };
        self.advance(count);
        taken
    }

    /// The next `count` bytes to be sent for the first time if they come from one write.
    #[inline]
    pub(super) fn take_whole(&mut self, count: usize) -> Option<Bytes> {
        let (index, from) = self.cursor;
        let chunk = self.chunks.get(index).filter(|chunk| chunk.len() - from >= count)?;
        let end = from + count;
        self.sent += count as u64;
        self.unsent -= count;
        self.cursor = if end == chunk.len() { (index + 1, 0) } else { (index, end) };
        Some(chunk.slice(from..end))
    }

    fn advance(&mut self, count: usize) {
        self.sent += count as u64;
        self.unsent -= count;
        self.cursor.1 += count;
        while let Some(chunk) = self.chunks.get(self.cursor.0)
            && self.cursor.1 >= chunk.len()
        {
            self.cursor.1 -= chunk.len();
            self.cursor.0 += 1;
        }
    }

    #[cold]
    fn gather(&self, count: usize) -> Bytes {
        gather(self.chunks.iter().skip(self.cursor.0), self.cursor.1, count)
    }

    /// Bytes that were sent and are not acknowledged: `count` from place `offset` on.
    pub(super) fn again(&self, offset: u64, count: usize) -> Bytes {
        let mut from = offset.saturating_sub(self.start) as usize;
        let mut index = 0;
        while let Some(chunk) = self.chunks.get(index)
            && from >= chunk.len()
        {
            from -= chunk.len();
            index += 1;
        }
        match self.chunks.get(index) {
            Some(chunk) if chunk.len() - from >= count => chunk.slice(from..from + count),
            _ => gather(self.chunks.iter().skip(index), from, count),
        }
    }

    /// Everything before place `offset` is acknowledged. A chunk is freed as a whole.
    pub(super) fn acknowledge(&mut self, offset: u64) {
        while let Some(first) = self.chunks.front()
            && self.start + first.len() as u64 <= offset.min(self.sent)
        {
            self.start += first.len() as u64;
            self.cursor.0 -= 1;
            self.chunks.pop_front();
        }
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        *self = Self { start: self.sent, sent: self.sent, ..Self::default() };
    }
}

/// Copies `count` bytes out of several chunks, beginning at `from` of the first.
fn gather<'a>(chunks: impl Iterator<Item = &'a Bytes>, mut from: usize, count: usize) -> Bytes {
    let mut gathered = BytesMut::with_capacity(count);
    for chunk in chunks {
        let wanted = (count - gathered.len()).min(chunk.len() - from);
        gathered.extend_from_slice(&chunk[from..from + wanted]);
        from = 0;
        if gathered.len() == count {
            break;
        }
    }
    gathered.freeze()
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
