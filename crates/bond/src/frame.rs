//! What the connections of a bond carry.
//!
//! | kind | fields | meaning |
//! |---|---|---|
//! | 0 data | offset in the stream, length, bytes | a chunk |
//! | 1 status | delivered, limit | all before `delivered` has come, and what lies before `limit` may be sent |
//! | 2 end | length of the stream | nothing follows |
//!
//! Offsets have eight bytes, a length has four, the kind has one; all are big endian.

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};

use crate::bond::BondError;

const DATA: u8 = 0;
const STATUS: u8 = 1;
const END: u8 = 2;

/// Longest chunk.
pub(crate) const CHUNK_MAX: usize = 64 * 1024;
/// Bytes in front of a chunk.
pub(crate) const DATA_HEADER: usize = 13;
const STATUS_LEN: usize = 17;
const END_LEN: usize = 9;

/// What came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    /// A chunk or a part of one.
    Data {
        offset: u64,
        bytes: Bytes,
    },
    Status {
        delivered: u64,
        limit: u64,
    },
    End {
        total: u64,
    },
}

/// What stands in front of a chunk.
pub(crate) fn data_header(offset: u64, len: usize) -> Bytes {
    let mut out = BytesMut::with_capacity(DATA_HEADER);
    out.put_u8(DATA);
    out.put_u64(offset);
    out.put_u32(len as u32);
    out.freeze()
}

pub(crate) fn status(delivered: u64, limit: u64) -> Bytes {
    let mut out = BytesMut::with_capacity(STATUS_LEN);
    out.put_u8(STATUS);
    out.put_u64(delivered);
    out.put_u64(limit);
    out.freeze()
}

pub(crate) fn end(total: u64) -> Bytes {
    let mut out = BytesMut::with_capacity(END_LEN);
    out.put_u8(END);
    out.put_u64(total);
    out.freeze()
}

/// Takes what a connection carried apart, however it was cut.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    header: BytesMut,
    /// Where the rest of the present chunk goes, and its length.
    chunk: (u64, usize),
}

impl Frames {
    /// The next frame at the front of `bytes`, of a chunk what there is of it.
    pub(crate) fn take(&mut self, bytes: &mut Bytes) -> Result<Option<Frame>, BondError> {
        let (offset, left) = &mut self.chunk;
        while *left == 0 {
            let Some(&kind) = self.header.first().or(bytes.first()) else { return Ok(None) };
            let len = match kind {
                DATA => DATA_HEADER,
                STATUS => STATUS_LEN,
                END => END_LEN,
                _ => return Err(BondError::Frame),
            };
            let missing = (len - self.header.len()).min(bytes.len());
            self.header.extend_from_slice(&bytes.split_to(missing));
            if self.header.len() < len {
                return Ok(None);
            }
            let mut header = self.header.split();
            header.advance(1);
            let first = header.get_u64();
            match kind {
                DATA => {
                    let len = header.get_u32() as usize;
                    if len == 0 || len > CHUNK_MAX || first.checked_add(len as u64).is_none() {
                        return Err(BondError::Frame);
                    }
                    (*offset, *left) = (first, len);
                }
                STATUS => {
                    return Ok(Some(Frame::Status { delivered: first, limit: header.get_u64() }));
                }
                _ => return Ok(Some(Frame::End { total: first })),
            }
        }
        if bytes.is_empty() {
            return Ok(None);
        }
        let part = bytes.split_to(bytes.len().min(*left));
        let frame = Frame::Data { offset: *offset, bytes: part.clone() };
        *offset += part.len() as u64;
        *left -= part.len();
        Ok(Some(frame))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn frames_are_read_as_they_were_written_however_they_are_cut(cut in 1usize..40) {
            let chunk = Bytes::from_static(b"a chunk of some bytes");
            let mut wire = Vec::new();
            for part in [data_header(7, chunk.len()), chunk.clone(), status(3, u64::MAX), end(28)] {
                wire.extend_from_slice(&part);
            }
            let (mut frames, mut data, mut others) = (Frames::default(), Vec::new(), Vec::new());
            for part in wire.chunks(cut) {
                let mut part = Bytes::copy_from_slice(part);
                while let Some(frame) = frames.take(&mut part).expect("frames") {
                    match frame {
                        Frame::Data { offset, bytes } => {
                            prop_assert_eq!(offset, 7 + data.len() as u64);
                            data.extend_from_slice(&bytes);
                        }
                        other => others.push(other),
                    }
                }
                prop_assert!(part.is_empty());
            }
            prop_assert_eq!(data, chunk);
            let rest = [Frame::Status { delivered: 3, limit: u64::MAX }, Frame::End { total: 28 }];
            prop_assert_eq!(others, rest);
        }

        #[test]
        fn anything_may_come(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let (mut frames, mut bytes) = (Frames::default(), Bytes::from(bytes));
            while let Ok(Some(_)) = frames.take(&mut bytes) {}
        }
    }

    #[test]
    fn chunks_that_are_empty_too_long_or_beyond_the_end_of_numbers_are_refused() {
        for (offset, len) in [(0, 0), (0, CHUNK_MAX + 1), (u64::MAX, 1)] {
            let mut bytes = data_header(offset, len);
            assert_eq!(Frames::default().take(&mut bytes), Err(BondError::Frame));
        }
        assert!(Frames::default().take(&mut Bytes::from_static(&[3])).is_err(), "no such kind");
    }
}
