//! The frames in which the bytes of a flow travel between gateways.

use std::collections::VecDeque;
use std::io;
use std::mem;

use bytes::{Buf as _, Bytes, BytesMut};

use crate::compression::{Compression, PIECE};

/// Bytes in front of each frame: what it is, and its length.
pub(super) const HEADER: usize = 4;
pub(super) const DATA: u8 = 0;
pub(super) const END: u8 = 1;
pub(super) const RESET: u8 = 2;
/// A piece that is shorter than it was.
pub(super) const COMPRESSED: u8 = 3;

/// Writes the header of a frame at the beginning of `buffer`.
pub(super) fn put_header(buffer: &mut [u8], kind: u8, len: usize) {
    let header = u32::from(kind) << 24 | len as u32;
    buffer[..HEADER].copy_from_slice(&header.to_be_bytes());
}

/// Takes frames apart as they come.
#[derive(Debug, Default)]
pub(super) struct Frames {
    header: BytesMut,
    /// Bytes of the present frame that are still to come.
    left: usize,
    /// What came of a piece that is compressed, while one comes.
    compressed: Option<BytesMut>,
    /// A piece was expanded since somebody asked.
    expanded: bool,
}

impl Frames {
    /// Moves the data among `bytes` to `data`, until `data` has `most` parts: of frames of a byte each the list would be
    /// longer than what they carry. A piece that was compressed is the last part: of few bytes many may become. Returns how the
    /// direction ended, if it did.
    pub(super) fn take(
        &mut self,
        bytes: &mut Bytes,
        data: &mut VecDeque<Bytes>,
        most: usize,
        compression: &Compression,
    ) -> io::Result<Option<u8>> {
        while !bytes.is_empty() && data.len() < most && !self.expanded {
            if self.left > 0 {
                let len = self.left.min(bytes.len());
                let part = bytes.split_to(len);
                self.left -= len;
                match &mut self.compressed {
                    None => data.push_back(part),
                    Some(compressed) => {
                        compressed.extend_from_slice(&part);
                        if self.left == 0 {
                            data.push_back(compression.expand(compressed)?.into());
                            (self.compressed, self.expanded) = (None, true);
                        }
                    }
                }
                continue;
            }
            let missing = HEADER - self.header.len();
            self.header.extend_from_slice(&bytes.split_to(missing.min(bytes.len())));
            if self.header.len() < HEADER {
                break;
            }
            let header = self.header.get_u32();
            let (kind, len) = ((header >> 24) as u8, header & 0xff_ffff);
            match (kind, len) {
                (DATA, 1..) => self.left = len as usize,
                (COMPRESSED, 1..) if len as usize <= PIECE => {
                    (self.left, self.compressed) = (len as usize, Some(BytesMut::new()));
                }
                (END | RESET, 0) if bytes.is_empty() => return Ok(Some(kind)),
                _ => return Err(io::Error::new(io::ErrorKind::InvalidData, "no such frame")),
            }
        }
        Ok(None)
    }

    /// Whether what was taken has to be passed on before more is.
    pub(super) fn has_expanded(&mut self) -> bool {
        mem::take(&mut self.expanded)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frame(kind: u8, data: &[u8]) -> Vec<u8> {
        let mut buffer = BytesMut::zeroed(HEADER);
        put_header(&mut buffer, kind, data.len());
        buffer.extend_from_slice(data);
        buffer.to_vec()
    }

    proptest! {
        #[test]
        fn pieces_are_put_together_however_they_are_cut(
            data in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..50), 0..10),
            cut in 1usize..400,
            most in 1usize..5,
            kind in prop::sample::select(vec![END, RESET]),
        ) {
            let mut bytes: Vec<u8> = data.iter().flat_map(|data| frame(DATA, data)).collect();
            bytes.extend(frame(kind, &[]));
            let (mut frames, mut out, mut ended) = (Frames::default(), Vec::<u8>::new(), None);
            for part in bytes.chunks(cut) {
                prop_assert_eq!(ended, None);
                let (mut part, mut parts) = (Bytes::copy_from_slice(part), VecDeque::new());
                while !part.is_empty() {
                    parts.clear();
                    ended = frames.take(&mut part, &mut parts, most, &Compression::new(false)).expect("frames");
                    prop_assert!(parts.len() <= most && parts.capacity() <= 4 * most.max(4));
                    prop_assert!(parts.len() == most || part.is_empty());
                    out.extend(parts.iter().flatten());
                }
            }
            prop_assert_eq!(ended, Some(kind));
            prop_assert_eq!(out, data.concat());
        }

        #[test]
        fn anything_may_come(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let mut out = VecDeque::new();
            let _ = Frames::default().take(&mut bytes.into(), &mut out, usize::MAX, &Compression::new(false));
        }
    }

    #[test]
    fn nothing_may_follow_the_end() {
        let mut bytes = frame(END, &[]);
        bytes.push(0);
        let mut out = VecDeque::new();
        assert!(
            Frames::default()
                .take(&mut bytes.into(), &mut out, usize::MAX, &Compression::new(false))
                .is_err()
        );
    }
}
