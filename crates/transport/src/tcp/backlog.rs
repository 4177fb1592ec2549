//! What the application wrote: how much of it waits, and whether it wrote the last of it.

use bytes::Bytes;

use crate::send_buffer::SendBuffer;

/// The side of the sender that the application sees.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    buffer: SendBuffer,
    closing: bool,
    fin_sent: bool,
    writer_waits: bool,
}

impl Backlog {
    /// Takes from `data` what fits where so many bytes are free. A writer that could not write all waits.
    pub(super) fn write(&mut self, data: &mut Bytes, space: usize) -> usize {
        let accepted = data.len().min(space);
        if accepted == data.len() {
            self.buffer.push(std::mem::take(data));
        } else {
            self.buffer.push(data.split_to(accepted));
            self.writer_waits = true;
        }
        accepted
    }

    /// There will be no more than what is written.
    pub(super) const fn close(&mut self) {
        self.closing = true;
    }

    /// There will be no more.
    pub(super) const fn is_closing(&self) -> bool {
        self.closing
    }

    /// The FIN left.
    pub(super) const fn is_fin_sent(&self) -> bool {
        self.fin_sent
    }

    /// A writer waits for room.
    #[inline]
    pub(super) const fn has_writer(&self) -> bool {
        self.writer_waits
    }

    /// A writer that waits can go on.
    pub(super) const fn wake_writer(&mut self) {
        self.writer_waits = false;
    }

    /// Bytes that were not sent yet.
    #[inline]
    pub(super) const fn unsent(&self) -> u64 {
        self.buffer.len() as u64
    }

    /// Something waits to be sent for the first time.
    #[inline]
    pub(super) const fn has_new(&self) -> bool {
        self.buffer.len() > 0 || self.closing && !self.fin_sent
    }

    /// The next so many bytes leave, and the FIN behind them.
    pub(super) fn take(&mut self, len: u64, fin: bool) -> Bytes {
        self.fin_sent |= fin;
        self.buffer.take(len as usize)
    }

    /// The next so many bytes leave, if they lie in one piece.
    #[inline]
    pub(super) fn take_whole(&mut self, len: u64) -> Option<Bytes> {
        self.buffer.take_whole(len as usize)
    }

    /// The bytes of the segment at this offset once more. The SYN has the offset before the first byte.
    pub(super) fn again(&self, start: u64, len: u32) -> Bytes {
        self.buffer.again(start - 1, len as usize)
    }

    /// Everything before this offset is acknowledged.
    #[inline]
    pub(super) fn acknowledge(&mut self, offset: u64) {
        self.buffer.acknowledge(offset - 1);
    }

    /// The peer has everything between these offsets.
    pub(super) fn release(&mut self, start: u64, end: u64) {
        self.buffer.release(start - 1, end - 1);
    }

    /// The connection is gone.
    pub(super) fn clear(&mut self) {
        self.buffer.clear();
        self.writer_waits = false;
    }
}
