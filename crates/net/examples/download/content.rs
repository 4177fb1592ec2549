//! What is downloaded: bytes that tell their place, so that a wrong one is noticed.

use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;

use crate::Outcome;

/// Bytes that are made at once.
const CHUNK: u64 = 64 * 1024;
/// A prime, so that no power of two hides a displacement.
const PERIOD: u64 = 251;

fn byte(place: u64) -> u8 {
    (place % PERIOD) as u8
}

/// The content in chunks.
pub(crate) fn chunks(bytes: u64) -> impl Iterator<Item = Bytes> {
    let wheel = Bytes::from_iter((0..CHUNK + PERIOD).map(byte));
    (0..bytes.div_ceil(CHUNK)).map(move |chunk| {
        let place = chunk * CHUNK;
        let from = (place % PERIOD) as usize;
        wheel.slice(from..from + CHUNK.min(bytes - place) as usize)
    })
}

/// Checks what arrives.
#[derive(Default)]
pub(crate) struct Checker {
    seen: AtomicU64,
}

impl Checker {
    /// The next bytes.
    pub(crate) fn take(&self, bytes: &[u8]) -> Outcome<()> {
        let from = self.seen.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        let wrong = (from..).zip(bytes).find(|(place, got)| byte(*place) != **got);
        wrong.map_or(Ok(()), |(place, _)| Err(format!("byte {place} is wrong").into()))
    }

    /// How many there were.
    pub(crate) fn seen(&self) -> u64 {
        self.seen.load(Ordering::Relaxed)
    }
}
