//! Bytes that the application wrote and that were not sent yet. A byte FIFO, not segmented.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

/// What waits to be sent for the first time.
#[derive(Debug, Default)]
pub(super) struct SendBuffer {
    chunks: VecDeque<Bytes>,
    len: usize,
}

impl SendBuffer {
    /// Bytes waiting.
    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// Appends a chunk as it is.
    pub(super) fn push(&mut self, chunk: Bytes) {
        if !chunk.is_empty() {
            self.len += chunk.len();
            self.chunks.push_back(chunk);
        }
    }

    /// Takes the first `count` bytes, or all if there are fewer. Copies only when the segment spans
    /// several writes.
    #[inline]
    pub(super) fn take(&mut self, count: usize) -> Bytes {
        let count = count.min(self.len);
        self.len -= count;
        match self.chunks.front_mut() {
            None => Bytes::new(),
            Some(front) if front.len() > count => front.split_to(count),
            Some(front) if front.len() == count => {
                let whole = std::mem::take(front);
                self.chunks.pop_front();
                whole
            }
            Some(_) => self.gather(count),
        }
    }

    fn gather(&mut self, count: usize) -> Bytes {
        let mut gathered = BytesMut::with_capacity(count);
        while gathered.len() < count {
            let Some(mut front) = self.chunks.pop_front() else { break };
            let wanted = count - gathered.len();
            if front.len() > wanted {
                gathered.extend_from_slice(&front.split_to(wanted));
                self.chunks.push_front(front);
            } else {
                gathered.extend_from_slice(&front);
            }
        }
        gathered.freeze()
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_cut_the_bytes_wherever_the_writes_ended() {
        let mut buffer = SendBuffer::default();
        for part in [&b"ab"[..], b"cdefg", b"", b"h"] {
            buffer.push(Bytes::copy_from_slice(part));
        }
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
}
