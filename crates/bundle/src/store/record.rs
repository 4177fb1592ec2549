//! A bundle as a file, and what was seen as entries of another one.

use crate::{DtnTime, Origin, id::IdHash};

/// How a file with a bundle begins.
const MAGIC: &[u8; 16] = b"bentpipe-bundle1";
/// Bytes before the bundle: the magic, a BLAKE3 hash of what follows, the time at which it came, 1 if a stranger gave it.
pub(super) const HEADER: usize = 16 + 32 + 8 + 1;
/// Length of an entry of what was seen: hash of a name, time, hops, the first bytes of a hash of these.
pub(super) const ENTRY: usize = 16 + 8 + 1 + 7;

/// What stands before a bundle in its file.
pub(super) fn header((received, from): (DtnTime, Origin), bundle: &[u8]) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header[..16].copy_from_slice(MAGIC);
    header[48..56].copy_from_slice(&received.as_millis().to_be_bytes());
    header[56] = u8::from(from == Origin::Stranger);
    let mut hasher = blake3::Hasher::new();
    hasher.update(&header[48..]).update(bundle);
    header[16..48].copy_from_slice(hasher.finalize().as_bytes());
    header
}

/// When a bundle came and from whom, and the bundle; `None` if the file is damaged.
pub(super) fn read(file: &[u8]) -> Option<((DtnTime, Origin), &[u8])> {
    let (start, bundle) = file.split_at_checked(HEADER)?;
    let time = DtnTime::from_millis(u64::from_be_bytes(start[48..56].try_into().ok()?));
    let from = if start[56] == 0 { Origin::Known } else { Origin::Stranger };
    (start == header((time, from), bundle)).then_some(((time, from), bundle))
}

/// An entry of what was seen.
pub(super) fn entry(hash: &IdHash, expires: DtnTime, hops: u8) -> [u8; ENTRY] {
    let mut entry = [0; ENTRY];
    entry[..16].copy_from_slice(hash);
    entry[16..24].copy_from_slice(&expires.as_millis().to_be_bytes());
    entry[24] = hops;
    let check = blake3::hash(&entry[..25]);
    entry[25..].copy_from_slice(&check.as_bytes()[..7]);
    entry
}

/// What an entry says; `None` if it is damaged.
pub(super) fn read_entry(bytes: &[u8]) -> Option<(IdHash, DtnTime, u8)> {
    let hash: IdHash = bytes.get(..16)?.try_into().ok()?;
    let expires = DtnTime::from_millis(u64::from_be_bytes(bytes.get(16..24)?.try_into().ok()?));
    let hops = *bytes.get(24)?;
    (bytes == entry(&hash, expires, hops)).then_some((hash, expires, hops))
}
