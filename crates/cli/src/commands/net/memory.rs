//! What transfers found out about the links to peers, for the next ones.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use bentpipe_association::{KnownLink, PublicKey};
use bentpipe_units::{BitRate, Span};
use serde::{Deserialize, Serialize};

/// A transfer shorter than this many round trips says little of the link.
const LONG_ENOUGH: f64 = 10.0;

/// The file with all that is remembered, beside the key. It can be deleted at any time; one that cannot
/// be read is as good as none.
#[derive(Debug)]
pub(super) struct Memory(PathBuf);

/// One link in the file.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
struct Link {
    /// Mean rate of the last long transfer, in bit/s.
    rate: u64,
    /// Smoothed round-trip time at its end, in seconds.
    round_trip: f64,
}

impl Memory {
    /// What belongs to the host with this key file.
    pub(super) fn beside(key: &Path) -> Self {
        Self(key.with_file_name("links.json"))
    }

    /// What is known of the link to a peer.
    pub(super) fn recall(&self, peer: PublicKey) -> Option<KnownLink> {
        let link = self.load().remove(&peer.to_string())?;
        let sane = link.rate > 0 && (0.0..100.0).contains(&link.round_trip);
        sane.then(|| KnownLink {
            rate: BitRate::from_bps(link.rate),
            round_trip: Span::from_secs_f64(link.round_trip),
        })
    }

    /// Remembers a transfer to a peer. What cannot be written is not remembered.
    pub(super) fn note(&self, peer: PublicKey, bytes: u64, seconds: f64, round_trip: Span) {
        let round_trip = round_trip.as_secs_f64();
        if seconds <= LONG_ENOUGH * round_trip {
            return;
        }
        let mut links = self.load();
        let rate = (bytes as f64 * 8.0 / seconds) as u64;
        links.insert(peer.to_string(), Link { rate, round_trip });
        let part = self.0.with_extension("json-part");
        let written = serde_json::to_vec_pretty(&links)
            .map_err(std::io::Error::from)
            .and_then(|text| fs::write(&part, text))
            .and_then(|()| fs::rename(&part, &self.0));
        if written.is_err() {
            let _ = fs::remove_file(&part);
        }
    }

    fn load(&self) -> BTreeMap<String, Link> {
        let text = fs::read(&self.0).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_association::SecretKey;

    use super::*;

    fn peer(n: u8) -> PublicKey {
        SecretKey::from_bytes([n; 32]).public()
    }

    #[test]
    fn a_long_transfer_is_remembered_for_its_peer_and_a_short_one_is_not() {
        let dir = tempfile::TempDir::new().expect("a directory");
        let memory = Memory::beside(&dir.path().join("key"));
        let trip = Span::from_millis(600);
        memory.note(peer(1), 1_000, 1.0, trip);
        assert_eq!(memory.recall(peer(1)), None);
        memory.note(peer(1), 30_000_000, 30.0, trip);
        memory.note(peer(2), 10_000_000, 30.0, trip);
        let known = KnownLink { rate: BitRate::from_bps(8_000_000), round_trip: trip };
        assert_eq!(memory.recall(peer(1)), Some(known));
        assert_eq!(memory.recall(peer(3)), None);
        assert_eq!(fs::read_dir(dir.path()).expect("the directory").count(), 1);
    }

    #[test]
    fn a_file_that_is_none_of_ours_is_as_good_as_none() {
        let dir = tempfile::TempDir::new().expect("a directory");
        let memory = Memory::beside(&dir.path().join("key"));
        for text in ["", "{", "[1]", r#"{"x": {"rate": -1}}"#] {
            fs::write(dir.path().join("links.json"), text).expect("written");
            assert_eq!(memory.recall(peer(1)), None, "{text}");
        }
        memory.note(peer(1), 30_000_000, 30.0, Span::from_millis(50));
        assert!(memory.recall(peer(1)).is_some());
    }
}
