//! Memory for what is read from TCP.

use std::future::poll_fn;
use std::pin::pin;

use bytes::{BufMut as _, Bytes, BytesMut};

use super::frames::{DATA, HEADER, put_header};

/// Most bytes read from TCP at once.
const READ: usize = 256 * 1024;
/// The same of a host that has said little so far.
const READ_LEAST: usize = 16 * 1024;

/// Memory for what is read from TCP: about as much as came the last time.
#[derive(Debug)]
pub(super) struct Buffer {
    bytes: BytesMut,
    /// What is read at once.
    size: usize,
}

impl Buffer {
    /// One for a host that has said nothing so far.
    pub(super) fn new() -> Self {
        Self { bytes: BytesMut::new(), size: READ_LEAST }
    }

    /// Room for a header, and behind it for what comes, of which no more than `most` bytes are wanted.
    pub(super) fn prepare(&mut self, most: usize) -> &mut BytesMut {
        let size = self.size.min(most);
        self.bytes.clear();
        if self.bytes.capacity() < HEADER + size.div_ceil(2) {
            self.bytes = BytesMut::with_capacity(HEADER + size);
        }
        self.bytes.put_bytes(0, HEADER);
        &mut self.bytes
    }

    /// The frame of so many bytes that have come. It does not hold memory of which it needs little.
    pub(super) fn take_frame(&mut self, len: usize) -> Bytes {
        put_header(&mut self.bytes, DATA, len);
        let capacity = self.bytes.capacity();
        if self.bytes.len() == capacity {
            self.size = (2 * self.size).min(READ);
        } else if len < self.size / 4 {
            self.size = (self.size / 2).max(READ_LEAST);
        }
        if self.bytes.len() < capacity / 4 {
            Bytes::copy_from_slice(&self.bytes)
        } else {
            self.bytes.split().freeze()
        }
    }

    /// Waits for something, without memory.
    pub(super) async fn released_during<T>(&mut self, waits: impl Future<Output = T>) -> T {
        let mut waits = pin!(waits);
        poll_fn(|cx| {
            let polled = waits.as_mut().poll(cx);
            if polled.is_pending() {
                self.release();
            }
            polled
        })
        .await
    }

    /// Nothing comes for a while.
    pub(super) fn release(&mut self) {
        self.bytes = BytesMut::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(data: &[u8]) -> Vec<u8> {
        let mut frame = vec![0; HEADER];
        put_header(&mut frame, DATA, data.len());
        frame.extend_from_slice(data);
        frame
    }

    fn fill(buffer: &mut Buffer, room: usize, data: &[u8]) -> Bytes {
        buffer.prepare(room).extend_from_slice(data);
        buffer.take_frame(data.len())
    }

    #[test]
    fn a_buffer_grows_with_what_comes_and_shrinks_with_it() {
        let mut buffer = Buffer::new();
        for _ in 0..9 {
            let room = buffer.prepare(usize::MAX).capacity() - HEADER;
            let data = vec![7; room];
            assert_eq!(fill(&mut buffer, usize::MAX, &data), frame(&data));
        }
        assert_eq!(buffer.size, READ);
        for _ in 0..9 {
            assert_eq!(fill(&mut buffer, usize::MAX, b"little"), frame(b"little"));
        }
        assert_eq!(buffer.size, READ_LEAST);
    }

    #[test]
    fn a_frame_with_little_in_it_does_not_hold_the_buffer() {
        let mut buffer = Buffer::new();
        let before = buffer.prepare(usize::MAX).as_ptr();
        let little = fill(&mut buffer, usize::MAX, b"little");
        assert_ne!(little.as_ptr(), before, "it is a copy");
        assert_eq!(buffer.prepare(usize::MAX).as_ptr(), before, "the buffer is nobody else's");
    }

    #[test]
    fn a_buffer_is_no_larger_than_there_is_memory_for() {
        let mut buffer = Buffer::new();
        assert!(buffer.prepare(100).capacity() <= HEADER + 100);
        assert_eq!(fill(&mut buffer, 100, &[5; 100]), frame(&[5; 100]));
    }
}
