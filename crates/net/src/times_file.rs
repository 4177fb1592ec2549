//! The times in requests, kept in a small file beside the key: after a restart requests of before are refused, and
//! this host is heard although its calendar went back.
//!
//! A line for each peer, with its key and the time of its newest request in nanoseconds since 1970; `-` is this host.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Weak;
use std::time::Duration;

use bentpipe_association::endpoint::{Endpoint, Times};
use bentpipe_association::host::Shared;

/// Time between two looks whether there is anything new. What is lost in a crash is no more than that.
const PAUSE: Duration = Duration::from_secs(60);
/// In place of a key: this host.
const OWN: &str = "-";

/// A file of times that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum TimesError {
    /// It could not be read.
    #[error("{path}: {error}", path = path.display())]
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
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(TimesError::File { path: path.to_owned(), error }),
    };
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

/// Writes times in the place of those before, in one step.
fn save(path: &Path, times: &Times) -> io::Result<()> {
    let mut text = format!("{OWN} {}\n", times.own());
    for (peer, time) in times.peers() {
        text.push_str(&format!("{peer} {time}\n"));
    }
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    fs::write(&beside, text)?;
    fs::rename(&beside, path)
}

/// Keeps the times of a host in a file.
#[derive(Debug)]
pub(crate) struct Keeper {
    path: PathBuf,
    saved: Times,
    /// It was said that it does not work.
    has_failed: bool,
}

impl Keeper {
    /// The file holds these.
    pub(crate) const fn new(path: PathBuf, saved: Times) -> Self {
        Self { path, saved, has_failed: false }
    }

    /// Writes what is new.
    pub(crate) fn save(&mut self, times: &Times) {
        if *times == self.saved {
            return;
        }
        match save(&self.path, times) {
            Ok(()) => self.saved = times.clone(),
            Err(error) if !std::mem::replace(&mut self.has_failed, true) => {
                let path = self.path.display();
                tracing::warn!(%path, %error, "cannot store the times of handshake requests");
            }
            Err(_) => {}
        }
    }

    /// Looks from time to time, as long as the host exists.
    pub(crate) async fn run(mut self, shared: Weak<Shared<Endpoint>>) {
        loop {
            tokio::time::sleep(PAUSE).await;
            let Some(shared) = shared.upgrade() else { return };
            let times = shared.endpoint().times().clone();
            drop(shared);
            let saved = tokio::task::spawn_blocking(move || {
                self.save(&times);
                self
            });
            match saved.await {
                Ok(keeper) => self = keeper,
                // The runtime is shutting down.
                Err(_) => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_association::SecretKey;

    #[test]
    fn times_are_read_as_they_were_kept() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("key.times");
        assert_eq!(load(&path).expect("no file"), Times::default());
        let peers = [1, 2].map(|n| (SecretKey::from_bytes([n; 32]).public(), u64::from(n) << 50));
        let times = Times::new(peers, 77);
        let mut keeper = Keeper::new(path.clone(), Times::default());
        keeper.save(&times);
        assert_eq!(load(&path).expect("a file"), times);
        for bad in ["- x", "key 5", "-5"] {
            fs::write(&path, format!("- 5\n{bad}\n")).expect("written");
            assert!(matches!(load(&path), Err(TimesError::Line { line: 2, .. })), "{bad}");
        }
    }

    #[test]
    fn a_directory_that_cannot_be_written_is_no_reason_to_end() {
        let mut keeper = Keeper::new("/proc/no/such/place".into(), Times::default());
        keeper.save(&Times::new([], 5));
        assert!(keeper.has_failed);
    }
}
