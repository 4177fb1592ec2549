//! Bundles on a medium: one file for each, and one for the names of those that were here.

mod folder;
mod memory;
mod record;
mod seen;

use std::io;

pub use folder::Folder;
pub use memory::MemoryFolder;

use crate::id::IdHash;
use crate::{BundleId, Checked, DtnTime, Origin};
use seen::Seen;

/// The file of what was seen.
const SEEN: &str = "seen";
/// How files end that are written, that hold bundles, and that were found damaged.
const BESIDE: &str = ".new";
const BUNDLE: &str = ".bundle";
const DAMAGED: &str = ".damaged";
/// The file of what was seen is written anew when it has so many times the entries that count.
const SLACK: usize = 4;

/// Bundles on a medium.
///
/// A bundle that [`Store::put`] has taken is there after a crash and after a loss of power, whole. One that
/// [`Store::finish`] has given away is told apart when it comes again, after a crash too.
#[derive(Debug)]
pub(crate) struct Store<F> {
    folder: F,
    seen: Seen,
    /// Entries in the file of what was seen; `None` if it has to be written anew.
    written: Option<usize>,
}

/// A bundle that was found at the start.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) received: DtnTime,
    pub(crate) from: Origin,
    pub(crate) len: u64,
    pub(crate) bundle: Checked,
}

/// What was found wrong at the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Problem {
    /// A file is damaged and was moved aside.
    Damaged(String),
    /// The medium does not do what it should with a file.
    Medium(String),
}

/// Why a bundle cannot be loaded.
#[derive(Debug)]
pub(crate) enum LoadError {
    /// The medium does not give it at the moment.
    Unreadable(io::Error),
    /// It is damaged and was moved aside.
    Damaged,
}

impl<F: Folder> Store<F> {
    /// Opens a folder and looks through it. What is `found` is told one by one, as all of it may be more than memory holds. Damaged
    /// files are moved aside and named; one that cannot be read is named and left for the next start.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(crate) fn open(
        folder: F,
        most_seen: usize,
        mut found: impl FnMut(Found),
    ) -> io::Result<(Self, Vec<Problem>)> {
        let mut store = Self { folder, seen: Seen::new(most_seen), written: None };
        let mut problems = Vec::new();
        let names = store.folder.names()?;
        if names.iter().any(|name| name == SEEN) {
            store.read_seen(&mut problems)?;
        }
        for name in names {
            if name.strip_suffix(BESIDE).is_some_and(|of| of == SEEN || is_ours(of)) {
                // What a crash has left, of which nobody was told.
                store.clean(&name, &mut problems);
            } else if is_ours(&name) {
                let file = match store.folder.read(&name, u64::MAX) {
                    Ok(file) => file,
                    Err(error) => {
                        problems.push(Problem::Medium(format!("{name}: {error}")));
                        continue;
                    }
                };
                match read(&name, &file) {
                    Some(it) if store.was_given_away(&it.bundle) => {
                        // It was given away, and its removal did not come through.
                        store.clean(&name, &mut problems);
                    }
                    Some(it) => found(it),
                    None => {
                        if let Err(error) = store.folder.rename(&name, &format!("{name}{DAMAGED}"))
                        {
                            problems.push(Problem::Medium(format!("{name}: {error}")));
                        }
                        problems.push(Problem::Damaged(name));
                    }
                }
            }
        }
        store.folder.sync()?;
        Ok((store, problems))
    }

    /// Removes what is of no use. It costs room where that fails, and nothing else.
    fn clean(&mut self, name: &str, problems: &mut Vec<Problem>) {
        if let Err(error) = self.folder.remove(name) {
            problems.push(Problem::Medium(format!("{name}: {error}")));
        }
    }

    fn read_seen(&mut self, problems: &mut Vec<Problem>) -> io::Result<()> {
        // Without it everything would be new: it is not begun anew because a medium fails for the moment.
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{SEEN}: {error}"));
        let file = self.folder.read(SEEN, u64::MAX).map_err(named)?;
        let mut lost = 0;
        // What is torn at its end was not finished, and nobody was told that it was.
        for bytes in file.chunks_exact(record::ENTRY) {
            match record::read_entry(bytes) {
                Some((hash, expires, hops)) => {
                    self.seen.add(hash, (expires, hops), DtnTime::default());
                }
                None => lost += 1,
            }
        }
        if lost > 0 {
            problems.push(Problem::Medium(format!("{SEEN}: {lost} entries are damaged")));
        }
        Ok(())
    }

    /// How many hops a bundle had been that was here and was given away, the last time that it came.
    pub(crate) fn seen_hops(&self, id: &BundleId) -> Option<u8> {
        self.seen.hops(&id.hash())
    }

    /// Whether a bundle that lies here was given away: one that has been further has come in a circle after that.
    fn was_given_away(&self, bundle: &Checked) -> bool {
        self.seen_hops(bundle.id()).is_some_and(|hops| bundle.standing().hops <= hops)
    }

    /// Names of bundles that were here.
    pub(crate) fn seen(&self) -> usize {
        self.seen.len()
    }

    /// Takes a bundle: when it returns, the bundle is on the medium.
    ///
    /// # Errors
    /// When it cannot be put there. It may be there all the same.
    pub(crate) fn put(
        &mut self,
        id: &BundleId,
        since: (DtnTime, Origin),
        bytes: &[u8],
    ) -> io::Result<()> {
        let result = self.replace(id, since, bytes);
        if result.is_err() {
            // Whoever offers it keeps it. If this fails too, it is sent twice, and told apart where it arrives.
            let _ = self.folder.remove(&name(&id.hash()));
        }
        result
    }

    /// Takes a copy in place of the one that is there: when it returns, it is on the medium.
    ///
    /// # Errors
    /// When it cannot be put there. Either of the two is there then.
    pub(crate) fn replace(
        &mut self,
        id: &BundleId,
        since: (DtnTime, Origin),
        bytes: &[u8],
    ) -> io::Result<()> {
        let name = name(&id.hash());
        let beside = format!("{name}{BESIDE}");
        let header = record::header(since, bytes);
        let result = (|| {
            self.folder.write(&beside, &[&header, bytes])?;
            self.folder.rename(&beside, &name)?;
            self.folder.sync()
        })();
        if result.is_err() {
            let _ = self.folder.remove(&beside);
        }
        result
    }

    /// A bundle, and when it came.
    pub(crate) fn load(&mut self, id: &BundleId) -> Result<(DtnTime, Checked), LoadError> {
        let name = name(&id.hash());
        // It was taken, whatever is taken now.
        let file = self.folder.read(&name, u64::MAX).map_err(LoadError::Unreadable)?;
        match read(&name, &file) {
            Some(it) => Ok((it.received, it.bundle)),
            None => {
                let _ = self.folder.rename(&name, &format!("{name}{DAMAGED}"));
                Err(LoadError::Damaged)
            }
        }
    }

    /// A bundle is somebody else's from now on: when it returns, that is on the medium.
    ///
    /// # Errors
    /// When it cannot be put there; then the bundle is still here.
    pub(crate) fn finish(
        &mut self,
        id: &BundleId,
        (expires, hops): (DtnTime, u8),
        now: DtnTime,
    ) -> io::Result<()> {
        let (hash, what) = (id.hash(), (expires, hops));
        match self.note(hash, what, now) {
            // A full disk becomes free by what is removed. Until its name is noted it would be taken for new after a crash.
            Err(error) if is_full(&error) => {
                match self.folder.remove(&name(&hash)) {
                    // It was set aside.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    removed => removed?,
                }
                if self.note(hash, what, now).is_err() {
                    self.seen.add(hash, what, now);
                }
            }
            noted => {
                noted?;
                // If it comes back after a crash, it is known.
                let _ = self.folder.remove(&name(&hash));
            }
        }
        Ok(())
    }

    /// Deletes a bundle of which nobody is to be told apart any more.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub(crate) fn remove(&mut self, id: &BundleId) -> io::Result<()> {
        self.folder.remove(&name(&id.hash()))
    }

    fn note(
        &mut self,
        hash: IdHash,
        (expires, hops): (DtnTime, u8),
        now: DtnTime,
    ) -> io::Result<()> {
        let entry = record::entry(&hash, expires, hops);
        let appends = self.written.filter(|written| *written <= SLACK * self.seen.len().max(256));
        // It has to be written anew after a failure: what is there of it may be torn.
        self.written = None;
        match appends {
            Some(written) => {
                self.folder.append(SEEN, &entry)?;
                self.written = Some(written + 1);
            }
            None => {
                let beside = format!("{SEEN}{BESIDE}");
                let all = self.seen.entries().map(|(hash, at, hops)| record::entry(hash, at, hops));
                let all: Vec<u8> = all.flatten().chain(entry).collect();
                self.folder.write(&beside, &[&all])?;
                self.folder.rename(&beside, SEEN)?;
                self.folder.sync()?;
                self.written = Some(self.seen.len() + 1);
            }
        }
        self.seen.add(hash, (expires, hops), now);
        Ok(())
    }
}

/// The medium has no room, or its owner may have no more of it.
fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// The name of a bundle's file.
fn name(hash: &IdHash) -> String {
    let mut name: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    name.push_str(BUNDLE);
    name
}

/// Whether a file is named as those with bundles are.
fn is_ours(file_name: &str) -> bool {
    let hash = file_name.strip_suffix(BUNDLE);
    hash.is_some_and(|hash| hash.len() == 32 && hash.bytes().all(|it| it.is_ascii_hexdigit()))
}

/// A bundle from its file; `None` if it is damaged or not the one of this name.
fn read(file_name: &str, file: &[u8]) -> Option<Found> {
    let ((received, from), bytes) = record::read(file)?;
    // Whether a checksum is required was asked when it came.
    let bundle = Checked::parse(bytes, false).ok()?;
    let len = bytes.len() as u64;
    (name(&bundle.id().hash()) == file_name).then_some(Found { received, from, len, bundle })
}

#[cfg(test)]
mod tests;
