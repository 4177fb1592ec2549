//! Parity over the end of a burst, so that what is lost there does not cost a round trip.
//!
//! Every datagram that one side seals has a number. When it has nothing more to send, some parity
//! datagrams follow: Reed-Solomon over what the datagrams of the last round trip carried. What was sent
//! before is repaired by reports. Messages about the association and what is too long for a parity
//! datagram count as nothing.
//!
//! A [`Shield`] has the sender's part, the receiver's, and the count of losses, which tells how much is needed.

mod fec;
mod losses;
mod protector;
mod rebuilder;
mod shield;

use bytes::Bytes;

pub use self::fec::Fec;
pub(super) use self::losses::Received;
pub(super) use self::protector::Sealed;
pub(super) use self::shield::Shield;

/// Bytes of a parity datagram besides its shard.
pub(super) const PARITY_HEADER: usize = 8;
/// What full segments give up so that they fit into a shard: the header, the mark at the end of what
/// a shard holds, and a byte because shards are even.
pub(super) const ROOM: usize = PARITY_HEADER + 2;

/// Most datagrams under one parity, and most bytes of shards.
const MOST: usize = 16_384;
const MOST_BYTES: usize = 24_000_000;
/// Most parity datagrams of a block.
const MOST_PARITY: u16 = 1024;
/// Behind what a shard holds; zeros fill the rest.
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
    /// Its bytes.
    pub(super) shard: Bytes,
}

/// Writes what a datagram carried as a shard of so many bytes; nothing is all zeros.
fn fill(plain: &[u8], len: usize, shard: &mut Vec<u8>) {
    shard.clear();
    if !plain.is_empty() {
        shard.extend_from_slice(plain);
        shard.push(END);
    }
    shard.resize(len, 0);
}

/// What a shard holds; `None` for nothing.
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
