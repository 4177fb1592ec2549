//! The times in requests, kept in a small file beside the key: after a restart requests of before are refused, and
//! this host is heard although its calendar went back.
//!
//! A line for each peer, with its key and the time of its newest request in nanoseconds since 1970; `-` is this host.

use std::io;
use std::path::{Path, PathBuf};

use bentpipe_association::endpoint::Times;

use crate::kept::{self, Kept};

/// In place of a key: this host.
const OWN: &str = "-";

/// A file of times that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum TimesError {
    /// It could not be read.
    #[error("{path}: {error}; without this file nothing is lost but the times", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        error: io::Error,
    },
    /// A line of it is no key and a time.
    #[error("{path}, line {line}: not a public key and nanoseconds since 1970; without this file nothing is lost but the times", path = path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
}

/// The times in a file; none if there is no file yet.
pub(crate) fn load(path: &Path) -> Result<Times, TimesError> {
    let text = kept::read(path);
    let text = text.map_err(|error| TimesError::File { path: path.to_owned(), error })?;
    let text = text.unwrap_or_default();
    if !text.is_empty() && !text.ends_with('\n') {
        // The last number may have lost digits.
        return Err(TimesError::Line { path: path.to_owned(), line: text.lines().count() });
    }
    let (mut peers, mut own) = (Vec::new(), 0);
    for (number, line) in text.lines().enumerate() {
        let bad = || TimesError::Line { path: path.to_owned(), line: number + 1 };
        let (who, time) = line.split_once(' ').ok_or_else(bad)?;
        let time = time.parse().map_err(|_| bad())?;
        match who {
            OWN => own = time,
            key => peers.push((key.parse().map_err(|_| bad())?, time)),
        }
    }
    Ok(Times::new(peers, own))
}

impl Kept for Times {
    const WHAT: &'static str = "the times of handshake requests";

    fn content(&self) -> Vec<u8> {
        let mut text = format!("{OWN} {}\n", self.own());
        for (peer, time) in self.peers() {
            text.push_str(&format!("{peer} {time}\n"));
        }
        text.into_bytes()
    }

    fn is_news(&self, saved: &Self) -> bool {
        self != saved
    }

    fn with_others(&self, path: &Path) -> Self {
        load(path).map_or_else(|_| self.clone(), |others| self.clone().with(&others))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::kept::Keeper;
    use bentpipe_association::SecretKey;

    #[test]
    fn times_are_read_as_they_were_kept() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("key.times");
        assert_eq!(load(&path).expect("no file"), Times::default());
        let peers = [1, 2].map(|n| (SecretKey::from_bytes([n; 32]).public(), u64::from(n) << 50));
        let times = Times::new(peers, 77);
        Keeper::new(path.clone(), None).save(&times);
        assert_eq!(load(&path).expect("a file"), times);
        for bad in ["- x\n", "key 5\n", "-5\n", "- 179"] {
            fs::write(&path, format!("- 5\n{bad}")).expect("written");
            assert!(matches!(load(&path), Err(TimesError::Line { line: 2, .. })), "{bad}");
        }
    }

    #[test]
    fn what_another_process_of_the_key_heard_stays_in_the_file() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("key.times");
        let peer = |n| SecretKey::from_bytes([n; 32]).public();
        Keeper::new(path.clone(), None).save(&Times::new([(peer(1), 9), (peer(2), 5)], 70));
        Keeper::new(path.clone(), None).save(&Times::new([(peer(2), 7), (peer(3), 1)], 60));
        let both = Times::new([(peer(1), 9), (peer(2), 7), (peer(3), 1)], 70);
        assert_eq!(load(&path).expect("a file"), both);
    }
}
