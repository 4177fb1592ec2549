//! Frames on their way to the remote gateway, compressed where that is worth it.

use bentpipe_units::Instant;
use bytes::{Bytes, BytesMut};

use super::frames::{COMPRESSED, DATA, HEADER, put_header};
use crate::compression::{Compression, PIECE, Worth};

/// Compresses what a flow sends.
#[derive(Debug)]
pub(super) struct Pieces<'a> {
    compression: &'a Compression,
    worth: Worth,
}

impl<'a> Pieces<'a> {
    /// For a flow that has sent nothing yet.
    pub(super) fn new(compression: &'a Compression) -> Self {
        Self { compression, worth: Worth::default() }
    }

    /// The frames that carry what is in this one.
    pub(super) fn of(&mut self, now: Instant, frame: Bytes) -> Vec<Bytes> {
        if !self.compression.sends() {
            return vec![frame];
        }
        let mut frames = Vec::new();
        // Where the plain bytes begin that no frame has yet.
        let mut plain = HEADER;
        let mut from = HEADER;
        while from < frame.len() {
            let until = frame.len().min(from + PIECE);
            if let Some(compressed) =
                self.compression.compress(now, &frame[from..until], &mut self.worth)
            {
                push_plain(&mut frames, &frame[plain..from]);
                let mut piece = BytesMut::zeroed(HEADER);
                put_header(&mut piece, COMPRESSED, compressed.len());
                piece.extend_from_slice(&compressed);
                frames.push(piece.freeze());
                plain = until;
            }
            from = until;
        }
        if plain == HEADER {
            return vec![frame];
        }
        push_plain(&mut frames, &frame[plain..]);
        frames
    }
}

/// A frame of bytes as they are, if there are some. It is a copy: they are what is left of memory that is much larger.
fn push_plain(frames: &mut Vec<Bytes>, bytes: &[u8]) {
    if !bytes.is_empty() {
        let mut frame = BytesMut::zeroed(HEADER);
        put_header(&mut frame, DATA, bytes.len());
        frame.extend_from_slice(bytes);
        frames.push(frame.freeze());
    }
}

#[cfg(test)]
#[cfg(feature = "compression")]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::super::frames::Frames;
    use super::*;

    /// What comes out at the other end.
    fn carried(pieces: &mut Pieces<'_>, data: &[u8], cut: usize) -> (Vec<u8>, usize) {
        let mut frame = BytesMut::zeroed(HEADER);
        put_header(&mut frame, DATA, data.len());
        frame.extend_from_slice(data);
        let sent = pieces.of(Instant::ZERO, frame.freeze()).concat();
        let other = Compression::new(false);
        let (mut frames, mut out) = (Frames::default(), Vec::new());
        for part in sent.chunks(cut) {
            let (mut part, mut ready) = (Bytes::copy_from_slice(part), VecDeque::new());
            while !part.is_empty() {
                let ended = frames.take(&mut part, &mut ready, 64, &other).expect("frames");
                assert_eq!(ended, None);
                frames.has_expanded();
                out.extend(ready.drain(..).flatten());
            }
        }
        (out, sent.len())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn what_is_carried_is_what_was_sent_whatever_is_compressed_of_it(
            parts in prop::collection::vec((any::<bool>(), 1usize..100_000, any::<u64>()), 1..5),
            cut in 1usize..50_000,
        ) {
            let compression = Compression::new(true);
            let mut pieces = Pieces::new(&compression);
            let mut state = 1u64;
            for (is_text, len, seed) in parts {
                let data: Vec<u8> = (0..len as u64).map(|n| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(seed | 1);
                    if is_text { (n % 7) as u8 } else { (state >> 33) as u8 }
                }).collect();
                let (out, _) = carried(&mut pieces, &data, cut);
                prop_assert!(out == data, "it changed");
            }
        }
    }

    #[test]
    fn text_takes_less_room_and_who_does_not_compress_sends_the_frame_as_it_is() {
        let text = b"the same words again and again, ".repeat(5_000);
        let (on, off) = (Compression::new(true), Compression::new(false));
        let (out, sent) = carried(&mut Pieces::new(&on), &text, 1_000);
        assert!(out == text && sent < text.len() / 20, "{sent}");
        let (out, sent) = carried(&mut Pieces::new(&off), &text, 1_000);
        assert!(out == text && sent == text.len() + HEADER);
    }
}
