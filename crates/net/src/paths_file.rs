//! What the paths to peers carried, kept in a small file of JSON beside the key. It is no more than a hint: it can be deleted at any
//! time, and one that cannot be read is as good as none.

use std::io;
use std::path::Path;

use bentpipe_association::PublicKey;
use bentpipe_association::endpoint::{PathMemory, PathRecord};
use bentpipe_units::{BitRate, Span};
use serde::{Deserialize, Serialize};

use crate::kept::{self, Kept};

/// A path in the file.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Line {
    peer: String,
    /// From 1 on, as in the configuration of a gateway.
    link: usize,
    rate_bps: u64,
    rtt_seconds: f64,
    /// Seconds since 1970.
    seen: f64,
}

impl Line {
    fn of((peer, link, record): (PublicKey, usize, PathRecord)) -> Self {
        let PathRecord { rate, round_trip, seen } = record;
        Self {
            peer: peer.to_string(),
            link: link + 1,
            rate_bps: rate.as_bps(),
            rtt_seconds: round_trip.as_secs_f64(),
            seen: seen as f64 / 1e9,
        }
    }

    fn record(self) -> Option<(PublicKey, usize, PathRecord)> {
        let is_time = |seconds: f64| (0.0..1e10).contains(&seconds);
        let link =
            self.link.checked_sub(1).filter(|_| is_time(self.rtt_seconds) && is_time(self.seen))?;
        let record = PathRecord {
            rate: BitRate::from_bps(self.rate_bps),
            round_trip: Span::from_secs_f64(self.rtt_seconds),
            seen: (self.seen * 1e9) as u64,
        };
        Some((self.peer.parse().ok()?, link, record))
    }
}

/// What the file says; nothing if there is none, or none that can be read, which is said.
pub(crate) fn load(path: &Path) -> PathMemory {
    let lines = kept::read(path).and_then(|text| match text {
        Some(text) => serde_json::from_str::<Vec<Line>>(&text).map_err(io::Error::from),
        None => Ok(Vec::new()),
    });
    let lines = lines.unwrap_or_else(|error| {
        tracing::warn!(path = %path.display(), %error, "cannot read what paths carried before; they are found out again");
        Vec::new()
    });
    PathMemory::new(lines.into_iter().filter_map(Line::record))
}

impl Kept for PathMemory {
    const WHAT: &'static str = "what paths carried";

    fn content(&self) -> Vec<u8> {
        let lines: Vec<Line> = self.records().map(Line::of).collect();
        serde_json::to_vec_pretty(&lines).expect("numbers and names")
    }

    fn is_news(&self, saved: &Self) -> bool {
        self != saved
    }

    fn with_others(&self, path: &Path) -> Self {
        self.clone().with(&load(path))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use bentpipe_association::SecretKey;

    use super::*;
    use crate::kept::Keeper;

    fn memory() -> PathMemory {
        let record = |n: u64| PathRecord {
            rate: BitRate::from_bps(n * 1_000_000),
            round_trip: Span::from_millis(600),
            seen: 1_700_000_000_000_000_000 + (n << 30),
        };
        let peer = |n| SecretKey::from_bytes([n; 32]).public();
        PathMemory::new([(peer(1), 0, record(1)), (peer(1), 1, record(2)), (peer(2), 0, record(3))])
    }

    #[test]
    fn what_was_kept_is_read_after_a_restart() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("key.paths");
        assert_eq!(load(&path), PathMemory::default());
        Keeper::new(path.clone(), None).save(&memory());
        let (read, kept) = (load(&path), memory());
        for ((peer, link, read), (as_kept, its_link, kept)) in read.records().zip(kept.records()) {
            assert_eq!((peer, link, read.rate), (as_kept, its_link, kept.rate));
            assert_eq!(read.round_trip, kept.round_trip);
            assert!(read.seen.abs_diff(kept.seen) < 1_000_000, "a millisecond");
        }
        assert_eq!(read.records().count(), 3);
    }

    #[test]
    fn a_file_that_is_none_of_ours_is_as_good_as_none_and_lines_that_lie_are_left_out() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("key.paths");
        for text in ["", "{", "[1]", "[{\"peer\":\"x\"}]"] {
            fs::write(&path, text).expect("written");
            assert_eq!(load(&path), PathMemory::default(), "{text}");
        }
        let (peer, _, _) = memory().records().next().expect("one");
        let line = |peer: &str, link: i32, rtt: f64, seen: f64| {
            format!(
                "[{{\"peer\":\"{peer}\",\"link\":{link},\"rate_bps\":1,\"rtt_seconds\":{rtt},\"seen\":{seen}}}]"
            )
        };
        let peer = peer.to_string();
        let cases = [
            (line(&peer, 1, 0.6, 1.7e9), 1),
            (line("nobody", 1, 0.6, 1.7e9), 0),
            (line(&peer, 0, 0.6, 1.7e9), 0),
            (line(&peer, 99, 0.6, 1.7e9), 0),
            (line(&peer, 1, -1.0, 1.7e9), 0),
            (line(&peer, 1, 0.6, 1e30), 0),
        ];
        for (text, records) in cases {
            fs::write(&path, &text).expect("written");
            assert_eq!(load(&path).records().count(), records, "{text}");
        }
    }
}
