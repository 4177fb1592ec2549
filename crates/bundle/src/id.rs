//! What a bundle is called.

use std::fmt;

use bp7::crc::{CrcBlock as _, CrcValue};
use bp7::{Bundle, EndpointID, bundle::Block as _};

use crate::DtnTime;

/// Which bundle it is: its name, and a hash of what no node on its way changes.
///
/// The name is its source, its creation timestamp, and, of a fragment, where it belongs (RFC 9171, section 4.3.1 and the
/// definition of fragments in section 5.8). It is written `TIME-SEQUENCE@SOURCE`, or `TIME-SEQUENCE-OFFSET-LENGTH@SOURCE` for a
/// fragment, TIME in milliseconds since 2000. The numbers stand first, so that no source can be mistaken for them.
///
/// Whoever knows a name can make another bundle of it. The hash tells the two apart: neither takes the place of the other.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BundleId {
    name: String,
    content: IdHash,
}

/// Longest name in bytes: four numbers, what separates them, and an endpoint ID.
pub const LONGEST_ID: usize = 4 * 20 + 4 + crate::checked::LONGEST_ENDPOINT;

/// Sixteen bytes of a BLAKE3 hash of a [`BundleId`], for files and for what was seen.
pub type IdHash = [u8; 16];

impl BundleId {
    /// Which one a bundle is.
    pub(crate) fn of(bundle: &Bundle) -> Self {
        let primary = &bundle.primary;
        let payload = bundle.payload().map_or(&[][..], Vec::as_slice);
        let time = &primary.creation_timestamp;
        let fragment = if primary.has_fragmentation() {
            format!("-{}-{}", primary.fragmentation_offset, payload.len())
        } else {
            String::new()
        };
        let mut plain = primary.clone();
        plain.set_crc(CrcValue::CrcNo);
        let mut hasher = blake3::Hasher::new();
        hasher.update(&plain.to_cbor()).update(payload);
        Self {
            name: format!("{}-{}{fragment}@{}", time.dtntime(), time.seqno(), primary.source),
            content: first_half(&hasher.finalize()),
        }
    }

    /// One of this name that carries nothing.
    #[cfg(test)]
    pub(crate) fn named(name: String) -> Self {
        Self { name, content: IdHash::default() }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its hash as hexadecimal digits.
    pub fn hash_text(&self) -> String {
        self.hash().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// A hash of all of it.
    pub fn hash(&self) -> IdHash {
        let mut hasher = blake3::Hasher::new();
        first_half(&hasher.update(&self.content).update(self.name.as_bytes()).finalize())
    }
}

impl fmt::Display for BundleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// The name of a bundle that is no fragment.
pub(crate) fn name(source: &EndpointID, created: DtnTime, sequence: u64) -> String {
    format!("{}-{sequence}@{source}", created.as_millis())
}

fn first_half(hash: &blake3::Hash) -> IdHash {
    let mut half = IdHash::default();
    half.copy_from_slice(&hash.as_bytes()[..16]);
    half
}
