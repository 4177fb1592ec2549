//! Compression of what flows carry (zstd, RFC 8878), where it is worth its time.
//!
//! Each piece stands for itself: none refers to another one, of its own flow or of others. What is secret in one piece therefore
//! does not show in the length of another one. Within a piece it may: who can make a flow carry text of theirs beside a secret,
//! and sees how long packets are, can guess at the secret (CRIME, BREACH). That is why it is off unless somebody turns it on.

mod codec;
mod estimate;

use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use bentpipe_association::host::lock;
use bentpipe_units::{ByteCount, Instant};

use codec::{Compressor, Expander};
use estimate::{LEAST, is_dense};

/// Whether this program can compress.
pub const COMPRESSES: bool = cfg!(feature = "compression");

/// Longest piece before it is compressed: what a flow may hold of it beside what `limits.memory` counts.
pub(super) const PIECE: usize = 32 * 1024;
/// Bytes that are compressed in a second, by all flows together. A link that carries more does not need it.
const PER_SECOND: u64 = 32_000_000;
const SECOND: u64 = 1_000_000_000;
/// Pieces that are left alone after some that were not worth it.
const MOST_SKIPPED: u32 = 64;

/// What compresses for all flows of a gateway.
#[derive(Debug)]
pub(super) struct Compression {
    /// What this end sends is compressed. What comes is expanded in any case.
    sends: bool,
    compressor: Mutex<Paced>,
    expander: Mutex<Expander>,
    before: AtomicU64,
    after: AtomicU64,
}

/// A compressor, and when all that it has done would have been done at the highest pace.
#[derive(Debug, Default)]
struct Paced {
    compressor: Compressor,
    due: u64,
}

/// Whether compression has been worth it for a flow.
#[derive(Debug, Default)]
pub(super) struct Worth {
    /// Pieces that are still left alone.
    skips: u32,
    /// How many were left alone the last time.
    last: u32,
}

impl Worth {
    fn is_over(&mut self) -> bool {
        let over = self.skips == 0;
        self.skips = self.skips.saturating_sub(1);
        over
    }

    fn note(&mut self, worth_it: bool) {
        self.last = if worth_it { 0 } else { (2 * self.last).clamp(1, MOST_SKIPPED) };
        self.skips = self.last;
    }
}

impl Compression {
    /// That of a gateway which compresses what it sends, or does not.
    pub(super) fn new(sends: bool) -> Self {
        Self {
            sends,
            compressor: Mutex::default(),
            expander: Mutex::default(),
            before: AtomicU64::new(0),
            after: AtomicU64::new(0),
        }
    }

    /// Whether this end compresses what it sends.
    pub(super) const fn sends(&self) -> bool {
        self.sends
    }

    /// A piece compressed; `None` where it would not be shorter by much, others are being compressed, or enough has been in this
    /// second.
    pub(super) fn compress(
        &self,
        now: Instant,
        piece: &[u8],
        worth: &mut Worth,
    ) -> Option<Vec<u8>> {
        // What is short says nothing of what follows: commands before texts, questions before answers.
        if piece.len() < LEAST || !worth.is_over() {
            return None;
        }
        if is_dense(piece) {
            worth.note(false);
            return None;
        }
        let mut paced = self.compressor.try_lock().ok()?;
        let due = paced.due.max(now.as_nanos());
        if due > now.as_nanos() + SECOND {
            return None;
        }
        paced.due = due + piece.len() as u64 * SECOND / PER_SECOND;
        let compressed = paced.compressor.compress(piece);
        drop(paced);
        let compressed = compressed.filter(|compressed| compressed.len() < piece.len() / 16 * 15);
        worth.note(compressed.is_some());
        let compressed = compressed?;
        self.before.fetch_add(piece.len() as u64, Ordering::Relaxed);
        self.after.fetch_add(compressed.len() as u64, Ordering::Relaxed);
        Some(compressed)
    }

    /// A piece as it was.
    ///
    /// # Errors
    /// When it is none, or longer than a piece.
    pub(super) fn expand(&self, compressed: &[u8]) -> io::Result<Vec<u8>> {
        let piece = lock(&self.expander).expand(compressed, PIECE)?;
        if piece.is_empty() {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "an empty piece"));
        }
        Ok(piece)
    }

    /// Bytes of what was compressed, before and after.
    pub(super) fn counts(&self) -> [ByteCount; 2] {
        [&self.before, &self.after].map(|count| ByteCount::new(count.load(Ordering::Relaxed)))
    }
}

#[cfg(test)]
#[cfg(feature = "compression")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TEXT: &str =
        "GET /orbit/elements?group=geo HTTP/1.1\r\nHost: example.org\r\nAccept: text/plain\r\n\r\n";

    fn text(len: usize) -> Vec<u8> {
        TEXT.bytes().cycle().take(len).collect()
    }

    fn noise(len: usize, seed: u64) -> Vec<u8> {
        let mut state = seed | 1;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 32) as u8
        };
        (0..len).map(|_| next()).collect()
    }

    fn at(seconds: u64) -> Instant {
        Instant::from_nanos(seconds * SECOND)
    }

    #[test]
    fn text_becomes_shorter_and_is_what_it_was() {
        let (compression, piece) = (Compression::new(true), text(PIECE));
        let compressed = compression.compress(at(0), &piece, &mut Worth::default());
        let compressed = compressed.expect("text is worth it");
        assert!(compressed.len() < piece.len() / 10);
        assert_eq!(compression.expand(&compressed).expect("a piece"), piece);
        let counts = [piece.len(), compressed.len()].map(|len| ByteCount::new(len as u64));
        assert_eq!(compression.counts(), counts);
    }

    #[test]
    fn noise_is_looked_at_more_and_more_seldom_and_text_behind_it_is_found() {
        let (compression, mut worth) = (Compression::new(true), Worth::default());
        let mut looks = 0;
        for n in 0..1_000 {
            looks += u32::from(worth.skips == 0);
            assert_eq!(compression.compress(at(n), &noise(PIECE, n), &mut worth), None);
        }
        assert!((20..30).contains(&looks), "{looks}");
        let found = (0..=u64::from(MOST_SKIPPED))
            .find(|n| compression.compress(at(2_000 + n), &text(PIECE), &mut worth).is_some());
        assert!(found.is_some());
        assert!(compression.compress(at(3_000), &text(PIECE), &mut worth).is_some());
    }

    #[test]
    fn short_pieces_are_left_alone_and_do_not_stop_it() {
        let (compression, mut worth) = (Compression::new(true), Worth::default());
        for _ in 0..200 {
            assert_eq!(compression.compress(at(0), &text(LEAST - 1), &mut worth), None);
        }
        assert!(compression.compress(at(0), &text(LEAST), &mut worth).is_some());
    }

    #[test]
    fn in_a_second_no_more_is_compressed_than_a_link_needs() {
        let (compression, piece) = (Compression::new(true), text(PIECE));
        let compressed = |second| {
            let mut bytes = 0;
            while compression.compress(at(second), &piece, &mut Worth::default()).is_some() {
                bytes += piece.len() as u64;
            }
            bytes
        };
        assert!((PER_SECOND..PER_SECOND + 2 * PIECE as u64).contains(&compressed(0)));
        assert!(
            (PER_SECOND - PIECE as u64..PER_SECOND + 2 * PIECE as u64).contains(&compressed(1))
        );
    }

    #[test]
    fn what_would_become_longer_than_a_piece_is_refused() {
        let compression = Compression::new(false);
        let bomb = Compressor::default().compress(&vec![0; PIECE + 1]).expect("compressed");
        assert!(bomb.len() < 100);
        assert!(compression.expand(&bomb).is_err());
        let most = Compressor::default().compress(&vec![0; PIECE]).expect("compressed");
        assert_eq!(compression.expand(&most).expect("a piece").len(), PIECE);
    }

    proptest! {
        #[test]
        fn anything_may_come(bytes in prop::collection::vec(any::<u8>(), 0..200), cut in any::<prop::sample::Index>()) {
            let compression = Compression::new(false);
            let _ = compression.expand(&bytes);
            let mut damaged = Compressor::default().compress(&text(5_000)).expect("compressed");
            let place = cut.index(damaged.len());
            damaged[place] ^= 0x40;
            let _ = compression.expand(&damaged);
            damaged.truncate(place);
            // Nothing at all is no piece either.
            prop_assert!(compression.expand(&damaged).is_err());
        }
    }
}
