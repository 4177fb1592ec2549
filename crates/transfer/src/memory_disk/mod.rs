//! A disk in memory that fails, fills up and loses power as a seed says: for tests, the fuzzer and the simulator.

mod disk;
mod file;
mod source;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::disk::{Found, FoundKind};
use crate::names::parent_of;

pub use file::MemoryFile;

/// Longest file.
const MOST: u64 = 1 << 26;

/// A disk in memory. Clones are the same disk, until the power goes: those of before then reach nothing any more.
#[derive(Clone, Debug, Default)]
pub struct MemoryDisk {
    state: Arc<Mutex<State>>,
    /// Losses of power before it.
    losses: u64,
}

#[derive(Debug, Default)]
struct State {
    /// Times that the power went.
    losses: u64,
    nodes: BTreeMap<u64, Node>,
    names: Names,
    /// Those that outlast a loss of power.
    durable: Names,
    locked: BTreeSet<u64>,
    last: u64,
    random: u64,
    /// So many operations of a thousand fail.
    failures: u64,
    /// So many writes of a thousand put down something else and say nothing.
    lies: u64,
    /// Bytes that there is room for.
    room: Option<u64>,
    /// The next file that is synchronised is not.
    loses: bool,
    /// Nothing works from then on.
    stops: bool,
    /// It makes no symbolic links.
    no_links: bool,
    /// Times that anything was changed.
    changes: u64,
    /// Another transfer does this before a file is locked.
    rename: Option<(PathBuf, PathBuf)>,
    /// Somebody puts these bytes in the place of the next file that gets another name.
    exchange: Option<Vec<u8>>,
}

type Names = BTreeMap<PathBuf, u64>;

#[derive(Clone, Debug)]
struct Node {
    kind: FoundKind,
    mode: u32,
    now: Content,
    durable: Content,
    /// It could not be synchronised once. What could not be written is clean from then on, as in Linux: nobody writes
    /// it later.
    was_lost: bool,
}

#[derive(Clone, Debug, Default)]
struct Content {
    bytes: Vec<u8>,
    changed: i128,
    mark: Option<String>,
    /// Which change of the disk was the last one of it.
    touched: u64,
}

impl MemoryDisk {
    /// An empty disk whose failures are those of a seed.
    pub fn new(seed: u64) -> Self {
        let disk = Self::default();
        disk.state().random = seed;
        disk
    }

    /// So many of a thousand operations fail, so many writes go wrong without a word, and this is the room. What was to happen at
    /// the next synchronisation does not.
    pub fn fail(&self, failures: u64, lies: u64, room: Option<u64>) {
        let mut state = self.state();
        (state.failures, state.lies, state.room) = (failures, lies, room);
        (state.loses, state.stops) = (false, false);
    }

    /// The next file that is synchronised cannot be, and what was written to it is lost with the power.
    pub fn lose_next(&self) {
        self.state().loses = true;
    }

    /// The same, and then nothing works until [`MemoryDisk::fail`] says otherwise: a file system is read-only after an error
    /// until somebody mounts it again.
    pub fn lose_next_and_stop(&self) {
        let mut state = self.state();
        (state.loses, state.stops) = (true, true);
    }

    /// From now on no symbolic link can be made, as on a file system that has none.
    pub fn refuse_links(&self) {
        self.state().no_links = true;
    }

    /// The power goes: of what was not synchronised some is lost, some is zeros and some is there. Nothing is open
    /// any more, and programs of before do nothing any more.
    pub fn lose_power(&mut self) {
        let mut state = self.state();
        state.losses += 1;
        state.locked.clear();
        let paths: BTreeSet<PathBuf> =
            state.names.keys().chain(state.durable.keys()).cloned().collect();
        for path in paths {
            if state.draw().is_multiple_of(2) {
                let before = state.durable.get(&path).copied();
                put(&mut state.names, &path, before);
            }
        }
        let nodes: Vec<u64> = state.nodes.keys().copied().collect();
        for id in nodes {
            let draw = state.draw() % 3;
            let Some(node) = state.nodes.get_mut(&id).filter(|node| node.kind == FoundKind::File)
            else {
                continue;
            };
            let changed = node.now.bytes != node.durable.bytes;
            match draw {
                0 => node.now = node.durable.clone(),
                1 if changed => node.now.bytes.fill(0),
                _ => {}
            }
            node.durable = node.now.clone();
            // Whatever is read now is on the medium.
            node.was_lost = false;
        }
        state.durable = state.names.clone();
        state.changes += 1;
        let losses = state.losses;
        drop(state);
        self.losses = losses;
    }

    /// Before the next file is locked, somebody gives one another name.
    pub fn rename_before_lock(&self, from: &Path, to: &Path) {
        self.state().rename = Some((from.to_owned(), to.to_owned()));
    }

    /// Before the next file gets another name, somebody puts one with these bytes in its place.
    pub fn exchange_before_rename(&self, bytes: &[u8]) {
        self.state().exchange = Some(bytes.to_vec());
    }

    /// Gives a file one more name, as a snapshot of the directory would.
    pub fn link_file(&self, path: &Path, name: &Path) {
        let mut state = self.state();
        let id = state.names.get(path).copied();
        put(&mut state.names, name, id);
        put(&mut state.durable, name, id);
    }

    /// Puts a file there, as somebody of this machine would.
    pub fn put(&self, path: &Path, bytes: &[u8]) {
        self.put_at(path, bytes, 1);
    }

    /// Puts a file there that was changed at this time, in nanoseconds since 1970.
    pub fn put_at(&self, path: &Path, bytes: &[u8], changed: i128) {
        let mut state = self.state();
        let content = Content { bytes: bytes.to_vec(), changed, ..Content::default() };
        let id = state.add(path, FoundKind::File, content.clone());
        if let Some(node) = state.nodes.get_mut(&id) {
            node.durable = content;
        }
        state.durable.insert(path.to_owned(), id);
    }

    /// The bytes of a file.
    pub fn bytes(&self, path: &Path) -> Option<Vec<u8>> {
        let state = self.state();
        let node = state.nodes.get(state.names.get(path)?)?;
        (node.kind == FoundKind::File).then(|| node.now.bytes.clone())
    }

    /// Changes some bytes of a file where they are, as an editor would that is no friend of backups.
    pub fn edit(&self, path: &Path, at: usize, bytes: &[u8], changed: i128) {
        let mut state = self.state();
        let Some(id) = state.names.get(path).copied() else { return };
        if let Ok(node) = state.touch(id) {
            let end = (at + bytes.len()).min(node.now.bytes.len());
            let at = at.min(end);
            node.now.bytes[at..end].copy_from_slice(&bytes[..end - at]);
            node.now.changed = changed;
        }
    }

    /// Whether there is no file at a path, or one with one of these contents.
    pub fn is_one_of<'a>(&self, path: &Path, contents: impl IntoIterator<Item = &'a [u8]>) -> bool {
        let state = self.state();
        let node = state.names.get(path).and_then(|id| state.nodes.get(id));
        node.is_none_or(|node| contents.into_iter().any(|content| content == node.now.bytes))
    }

    /// How often anything was changed so far.
    pub fn changes(&self) -> u64 {
        self.state().changes
    }

    /// The permissions of what is at a path.
    pub fn mode(&self, path: &Path) -> Option<u32> {
        let state = self.state();
        Some(state.nodes.get(state.names.get(path)?)?.mode)
    }

    /// All paths.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.state().names.keys().cloned().collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nobody has panicked while he held this lock")
    }

    /// The disk for something that may fail.
    fn work(&self) -> io::Result<MutexGuard<'_, State>> {
        let mut state = self.state();
        if state.losses != self.losses {
            return Err(io::Error::other("the power is gone"));
        }
        state.may_fail()?;
        Ok(state)
    }

    fn file(&self, node: u64) -> MemoryFile {
        MemoryFile::new(self.clone(), node)
    }
}

impl State {
    /// Steele, Lea and Flood's generator.
    fn draw(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn may_fail(&mut self) -> io::Result<()> {
        if self.failures > 0 && self.draw() % 1000 < self.failures {
            return Err(io::Error::other("the disk fails"));
        }
        Ok(())
    }

    fn add(&mut self, path: &Path, kind: FoundKind, mut now: Content) -> u64 {
        self.last += 1;
        self.changes += 1;
        now.touched = self.changes;
        let durable = Content::default();
        self.nodes.insert(self.last, Node { kind, mode: 0o600, now, durable, was_lost: false });
        self.names.insert(path.to_owned(), self.last);
        self.last
    }

    fn used(&self) -> u64 {
        self.names
            .values()
            .filter_map(|id| self.nodes.get(id))
            .map(|n| n.now.bytes.len() as u64)
            .sum()
    }

    fn found(&self, id: u64) -> Option<Found> {
        let node = self.nodes.get(&id)?;
        let (changed, mark) = (node.now.changed, node.now.mark.clone());
        Some(Found {
            kind: node.kind.clone(),
            len: node.now.bytes.len() as u64,
            changed,
            id: (0, id),
            mark,
            own: self.names.values().filter(|other| **other == id).count() <= 1,
        })
    }

    /// What is about to be changed.
    fn touch(&mut self, id: u64) -> io::Result<&mut Node> {
        self.changes += 1;
        let changes = self.changes;
        let node = self.node(id)?;
        node.now.touched = changes;
        Ok(node)
    }

    fn node(&mut self, id: u64) -> io::Result<&mut Node> {
        self.nodes.get_mut(&id).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Whether something can be made at a path.
    fn parent_is_there(&self, path: &Path) -> io::Result<()> {
        let parent = parent_of(path);
        let there = self.names.get(parent).and_then(|id| self.nodes.get(id));
        if parent.as_os_str().is_empty() || there.is_some_and(|n| n.kind == FoundKind::Directory) {
            return Ok(());
        }
        Err(io::ErrorKind::NotFound.into())
    }
}

fn put(names: &mut Names, path: &Path, id: Option<u64>) {
    match id {
        Some(id) => names.insert(path.to_owned(), id),
        None => names.remove(path),
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::{Disk as _, DiskFile as _};

    #[test]
    fn what_was_open_before_a_loss_of_power_changes_nothing_and_unlocks_nothing() {
        let mut disk = MemoryDisk::new(1);
        let (before, path) = (disk.clone(), Path::new("f"));
        disk.put(path, b"abc");
        let old = before.open(path).expect("opened");
        assert!(old.lock());
        disk.lose_power();
        let new = disk.open(path).expect("opened");
        assert!(new.lock() && !old.lock());
        assert!(old.write_at(b"xyz", 0).is_err() && before.open(path).is_err());
        drop(old);
        assert!(!disk.open(path).expect("opened").lock());
        assert_eq!(disk.bytes(path).as_deref(), Some(&b"abc"[..]));
    }
}
