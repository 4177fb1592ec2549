//! Users in a storm who send trees of files, and change them meanwhile.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use bentpipe_association::host::lock;
use bentpipe_link::Stream;
use bentpipe_transfer::memory_disk::MemoryDisk;
use bentpipe_transfer::{Entry, Outcome, What};
use bentpipe_units::{Instant, Span};

/// One state of a file, and from when on.
type Version = (Instant, Vec<u8>);

/// What became of an attempt, once that is known, and which of its entries failed.
#[derive(Debug, Default)]
pub(super) struct Ends {
    pub(super) ended: Option<Result<Outcome, String>>,
    pub(super) failed: Vec<String>,
}

/// Somebody who sends, until it is done.
pub(super) struct User {
    disk: MemoryDisk,
    entries: Vec<Entry>,
    /// The states of each file so far.
    versions: BTreeMap<PathBuf, Vec<Version>>,
    /// An attempt under way: since when, and how it ended.
    attempt: Option<(Instant, Arc<Mutex<Ends>>)>,
    next: Instant,
    idle_timeout: Span,
    /// Everything arrived, and nothing was changed since.
    is_done: bool,
}

impl User {
    /// One with a tree of files of his own.
    pub(super) fn new(number: usize, seed: u64, random: &mut Stream) -> Self {
        let disk = MemoryDisk::new(seed);
        let (count, most) = match random.below(4) {
            0 => (40 + random.below(60), 2_000),
            _ => (1 + random.below(4), 400_000),
        };
        let root = format!("tree{number}");
        let directory =
            |name: &str| Entry::new(name.into(), name.to_owned(), What::Directory, 0o755, 1_000);
        let mut entries = vec![directory(&root)];
        let mut versions = BTreeMap::new();
        for n in 0..count {
            let mut bytes = vec![0; random.below(most) as usize];
            bytes.iter_mut().for_each(|byte| *byte = random.bits() as u8);
            let name = format!("{root}/{n}");
            let path = PathBuf::from(&name);
            disk.put_at(&path, &bytes, 1_000);
            let what = What::File { size: bytes.len() as u64 };
            entries.push(Entry::new(path.clone(), name, what, 0o644, 1_000));
            versions.insert(path, vec![(Instant::ZERO, bytes)]);
        }
        Self {
            disk,
            entries,
            versions,
            attempt: None,
            next: Instant::ZERO,
            idle_timeout: Span::from_secs(5 + random.below(40)),
            is_done: false,
        }
    }

    /// When this user does something by himself.
    pub(super) fn next(&self) -> Option<Instant> {
        (self.attempt.is_none() && !self.is_done).then_some(self.next)
    }

    /// Everything arrived, and nothing was changed since.
    pub(super) const fn is_done(&self) -> bool {
        self.is_done
    }

    /// He sends everything once more, whatever has arrived.
    pub(super) const fn start_over(&mut self) {
        self.is_done = false;
    }

    /// Whether he begins to send now.
    pub(super) fn begins(&self, now: Instant) -> bool {
        self.next().is_some_and(|next| now >= next)
    }

    /// His program begins to send: what becomes of it is told there.
    pub(super) fn begin(&mut self, now: Instant) -> Arc<Mutex<Ends>> {
        let ends = Arc::<Mutex<Ends>>::default();
        self.attempt = Some((now, ends.clone()));
        ends
    }

    /// Whether his program runs.
    pub(super) const fn is_sending(&self) -> bool {
        self.attempt.is_some()
    }

    /// What his program has and is told.
    pub(super) fn sends(&self) -> (MemoryDisk, Vec<Entry>, Span) {
        (self.disk.clone(), self.entries.clone(), self.idle_timeout)
    }

    /// What his program, if it runs, has told since this was asked last.
    pub(super) fn news(&self) -> Option<Ends> {
        let (_, ends) = self.attempt.as_ref()?;
        Some(std::mem::take(&mut *lock(ends)))
    }

    /// His program is gone, and he tries again at `next`. Returns since when it ran, if it did.
    pub(super) fn stop(&mut self, next: Instant) -> Option<Instant> {
        let (since, _) = self.attempt.take()?;
        self.next = next;
        Some(since)
    }

    /// A program that ran since then says that everything has arrived: it is done, but for what changed meanwhile.
    pub(super) fn succeed(&mut self, since: Instant) {
        let unchanged = |versions: &Vec<Version>| versions[versions.len() - 1].0 <= since;
        self.is_done = self.versions.values().all(unchanged);
    }

    /// The names of his files.
    pub(super) fn names(&self) -> impl Iterator<Item = String> {
        self.versions.keys().map(|path| path.display().to_string())
    }

    /// All of his files are there as they are now.
    ///
    /// # Errors
    /// Which is not.
    pub(super) fn check_last(&self, there: &MemoryDisk) -> Result<(), String> {
        for (path, versions) in &self.versions {
            if there.bytes(path).as_ref() != versions.last().map(|(_, bytes)| bytes) {
                return Err(format!("{}: not what was sent", path.display()));
            }
        }
        Ok(())
    }

    /// Changes a file, in its place or by putting another one there; often its time stays.
    pub(super) fn edit(&mut self, now: Instant, random: &mut Stream) {
        let at = random.below(self.versions.len() as u64) as usize;
        let Some((path, versions)) = self.versions.iter_mut().nth(at) else { return };
        let mut bytes = versions[versions.len() - 1].1.clone();
        let changed = if random.chance(0.3) { 1_000 } else { 1_000 + i128::from(now.as_nanos()) };
        if random.chance(0.5) && !bytes.is_empty() {
            let at = random.below(bytes.len() as u64) as usize;
            bytes[at] ^= 1 + random.below(255) as u8;
            self.disk.edit(path, at, &bytes[at..=at], changed);
        } else {
            bytes.truncate(random.below(bytes.len() as u64 + 1) as usize);
            bytes.extend((0..random.below(1_000)).map(|_| random.bits() as u8));
            self.disk.put_at(path, &bytes, changed);
        }
        versions.push((now, bytes));
        self.is_done = false;
    }

    /// Every file of this user that is there is one that he had.
    ///
    /// # Errors
    /// Which is not.
    pub(super) fn check(&self, there: &MemoryDisk) -> Result<(), String> {
        for (path, versions) in &self.versions {
            if !there.is_one_of(path, versions.iter().map(|(_, bytes)| &bytes[..])) {
                return Err(format!("{}: bytes that nobody sent", path.display()));
            }
        }
        Ok(())
    }

    /// A file that is not there after a success, or is older than the attempt.
    pub(super) fn absent(&self, there: &MemoryDisk, since: Instant) -> Option<String> {
        self.versions.iter().find_map(|(path, versions)| {
            let first = versions.iter().rposition(|(from, _)| *from <= since).unwrap_or(0);
            let bytes = there.bytes(path);
            let is_right = versions[first..].iter().any(|(_, sent)| Some(sent) == bytes.as_ref());
            (!is_right).then(|| path.display().to_string())
        })
    }
}
