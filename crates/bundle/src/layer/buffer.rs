//! Bytes that came and make no whole yet.

use bytes::{Buf as _, Bytes, BytesMut};

/// Bytes that came, taken from the front. It never has room for what has not come.
#[derive(Debug, Default)]
pub(super) struct Buffer {
    bytes: BytesMut,
}

impl Buffer {
    pub(super) fn extend(&mut self, input: &[u8]) {
        self.bytes.extend_from_slice(input);
    }

    pub(super) fn as_slice(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn skip(&mut self, len: usize) {
        self.bytes.advance(len.min(self.bytes.len()));
    }

    /// So many bytes, if they have come.
    pub(super) fn take(&mut self, len: usize) -> Option<Bytes> {
        (self.bytes.len() >= len).then(|| self.bytes.split_to(len).freeze())
    }
}
