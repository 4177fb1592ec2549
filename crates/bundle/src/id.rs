//! What a bundle is called.

use std::fmt;

use bp7::Bundle;

use crate::DtnTime;

/// The name of a bundle: its source, its creation timestamp, and, of a fragment, where it belongs (RFC 9171, section
/// 4.3.1 and the definition of fragments in section 5.8). No two bundles that differ have the same.
///
/// It is written `TIME-SEQUENCE@SOURCE`, or `TIME-SEQUENCE-OFFSET-LENGTH@SOURCE` for a fragment, TIME in milliseconds since
/// 2000. The numbers stand first, so that no source can be mistaken for them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BundleId(String);

/// Longest name in bytes: four numbers, what separates them, and an endpoint ID.
pub const LONGEST_ID: usize = 4 * 20 + 4 + crate::checked::LONGEST_ENDPOINT;

/// Sixteen bytes of a BLAKE3 hash of a [`BundleId`], for files and for what was seen.
pub type IdHash = [u8; 16];

impl BundleId {
    /// The name of a bundle.
    pub(crate) fn of(bundle: &Bundle) -> Self {
        let primary = &bundle.primary;
        let time = &primary.creation_timestamp;
        let fragment = if primary.has_fragmentation() {
            let len = bundle.payload().map_or(0, Vec::len);
            format!("-{}-{len}", primary.fragmentation_offset)
        } else {
            String::new()
        };
        Self(format!("{}-{}{fragment}@{}", time.dtntime(), time.seqno(), primary.source))
    }

    /// The name of a whole bundle.
    pub fn new(source: &str, created: DtnTime, sequence: u64) -> Self {
        Self(format!("{}-{sequence}@{source}", created.as_millis()))
    }

    /// A name that somebody said; it is compared, never taken apart.
    pub(crate) fn said(text: String) -> Self {
        Self(text)
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Its hash.
    pub fn hash(&self) -> IdHash {
        let mut hash = IdHash::default();
        hash.copy_from_slice(&blake3::hash(self.0.as_bytes()).as_bytes()[..16]);
        hash
    }
}

impl fmt::Display for BundleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
