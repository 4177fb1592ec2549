//! Parity over the end of a burst, so that what is lost there does not cost a round trip.
//!
//! Every datagram that one side seals has a number. When it has nothing more to send, some parity
//! datagrams follow: Reed-Solomon over what the datagrams of the last round trip carried. What was sent
//! before is repaired by reports. Messages about the association and what is too long for a parity
//! datagram count as nothing.
//!
//! A `FecState` has the sender's part, the receiver's, and the count of losses, which tells how much is needed.

mod decoder;
mod encoder;
mod fec;
mod losses;
mod state;

use bytes::Bytes;

pub(super) use self::encoder::Sealed;
pub use self::fec::Fec;
pub(super) use self::losses::Received;
pub(super) use self::state::FecState;

/// Bytes of a parity datagram besides its shard.
pub(super) const PARITY_HEADER: usize = 17;

/// Most datagrams under one parity, and most bytes of shards.
const MOST: usize = 8_000;
const MOST_BYTES: usize = 8_000_000;
/// Most parity datagrams of a block.
const MOST_PARITY: u16 = 1024;
/// A full datagram has a little more than a parity datagram has room for. It is cut into so many shards,
/// and parity carries one less.
const SLICES: u8 = 4;
/// Behind what the shards of a datagram hold; zeros fill the rest.
const END: u8 = 0x80;

/// One parity datagram. Those of one block have numbers that follow each other, and those of the
/// datagrams they cover come right before the first of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Parity {
    /// Datagrams covered.
    pub(super) of: u16,
    /// Parity datagrams in all.
    pub(super) count: u16,
    /// Which of them.
    pub(super) index: u16,
    /// Shards of each datagram.
    pub(super) slices: u8,
    /// The [`check`] of what all of them carried.
    pub(super) check: u64,
    /// Its shards, one behind the other.
    pub(super) shards: Bytes,
}

/// Encodes and decodes a little, so that the tables of the code are there before they are needed: they take
/// some tens of milliseconds.
pub fn prepare() {
    let attempt = || -> Result<(), reed_solomon_simd::Error> {
        let parity = reed_solomon_simd::encode(2, 1, [[0; 2]; 2])?;
        reed_solomon_simd::decode(2, 1, [(0, [0; 2])], [(0, &parity[0])]).map(drop)
    };
    if let Err(error) = attempt() {
        tracing::error!(%error, "parity cannot be computed");
    }
}

/// Shards in a parity datagram if other datagrams have so many.
fn carried(slices: u8) -> usize {
    usize::from(slices - 1).max(1)
}

/// What tells whether datagrams carried this. What is recovered was authenticated by nobody, and would
/// be anything at all if the two ends had different datagrams in mind.
fn check<'a>(datagrams: impl Iterator<Item = &'a [u8]>) -> u64 {
    let mut hasher = blake3::Hasher::new();
    for plain in datagrams {
        hasher.update(&(plain.len() as u64).to_be_bytes()).update(plain);
    }
    let mut first = [0; 8];
    hasher.finalize_xof().fill(&mut first);
    u64::from_be_bytes(first)
}

/// Writes what a datagram carried as shards of so many bytes in all; nothing is all zeros.
fn fill(plain: &[u8], len: usize, shard: &mut Vec<u8>) {
    shard.clear();
    if !plain.is_empty() {
        shard.extend_from_slice(plain);
        shard.push(END);
    }
    shard.resize(len, 0);
}

/// What the shards of a datagram hold; `None` for nothing.
fn strip(shard: &[u8]) -> Option<&[u8]> {
    let end = shard.iter().rposition(|&byte| byte != 0)?;
    (shard[end] == END).then(|| &shard[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_shard_holds_is_found_again() {
        let mut shard = Vec::new();
        for plain in [&b"x"[..], b"zeros\0\0", b"\x80", b""] {
            fill(plain, 10, &mut shard);
            assert_eq!((shard.len(), strip(&shard).unwrap_or_default()), (10, plain));
        }
        assert_eq!(strip(&[1, 0]), None);
    }
}
