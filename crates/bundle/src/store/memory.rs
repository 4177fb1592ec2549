//! A folder in memory that fails and loses power, for tests and the simulator.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use super::folder::Folder;

/// A folder in memory. Clones are the same folder, until the power goes: those of before then reach nothing any more.
#[derive(Clone, Debug, Default)]
pub struct MemoryFolder {
    state: Arc<Mutex<State>>,
    /// Losses of power before it.
    losses: u64,
}

#[derive(Debug, Default)]
struct State {
    losses: u64,
    /// Names now, and those that outlast a loss of power.
    names: BTreeMap<String, u64>,
    durable: BTreeMap<String, u64>,
    files: BTreeMap<u64, File>,
    last: u64,
    random: u64,
    /// So many operations of a thousand fail.
    failures: u64,
    /// Operations until none works any more.
    dies_after: Option<u64>,
    /// Changes that were tried so far.
    operations: u64,
}

#[derive(Debug, Default)]
struct File {
    now: Vec<u8>,
    durable: Vec<u8>,
}

impl MemoryFolder {
    /// An empty folder whose failures are those of a seed.
    pub fn new(seed: u64) -> Self {
        let folder = Self::default();
        folder.state().random = seed;
        folder
    }

    /// So many of a thousand changes fail from now on, each having done a part of its work.
    pub fn fail(&self, of_thousand: u64) {
        self.state().failures = of_thousand;
    }

    /// After so many more changes none works any more, until the power goes.
    pub fn die_after(&self, changes: u64) {
        self.state().dies_after = Some(changes);
    }

    /// Changes that were tried so far.
    pub fn operations(&self) -> u64 {
        self.state().operations
    }

    /// Changes a byte of a file on the medium. False if there is no such byte.
    pub fn damage(&self, name: &str, at: usize) -> bool {
        let mut state = self.state();
        let Some(id) = state.names.get(name).copied() else { return false };
        let file = state.files.entry(id).or_default();
        for content in [&mut file.now, &mut file.durable] {
            let Some(byte) = content.get_mut(at) else { return false };
            *byte ^= 0x40;
        }
        true
    }

    /// The power goes: of names and contents that were not synchronised some are there and some are not, contents perhaps in
    /// part. The folder works again, for those who get it from here.
    #[must_use = "the folder that is left"]
    pub fn lose_power(&self) -> Self {
        let mut state = self.state();
        state.losses += 1;
        (state.dies_after, state.failures) = (None, 0);
        let all: Vec<String> = state.names.keys().chain(state.durable.keys()).cloned().collect();
        for name in all {
            if state.draw().is_multiple_of(2) {
                match state.durable.get(&name).copied() {
                    Some(id) => state.names.insert(name, id),
                    None => state.names.remove(&name),
                };
            }
        }
        state.durable = state.names.clone();
        let ids: Vec<u64> = state.files.keys().copied().collect();
        for id in ids {
            let draw = state.draw();
            let file = state.files.entry(id).or_default();
            if file.now != file.durable {
                // What was on the medium before stays there.
                let safe = file.durable.len().min(file.now.len());
                let part = safe + draw as usize % (file.now.len() - safe + 1);
                match draw >> 60 & 3 {
                    0 => file.now = file.durable.clone(),
                    1 => file.now.truncate(part),
                    2 => file.now[part..].fill(0),
                    _ => {}
                }
            }
            file.durable = file.now.clone();
        }
        let losses = state.losses;
        drop(state);
        Self { state: self.state.clone(), losses }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nobody has panicked while he held this lock")
    }

    /// The folder for whoever has it now.
    fn own(&self) -> io::Result<MutexGuard<'_, State>> {
        let state = self.state();
        if state.losses == self.losses { Ok(state) } else { Err(io::Error::other("no power")) }
    }

    /// The folder for a change, and whether that fails half-way.
    fn work(&self) -> io::Result<(MutexGuard<'_, State>, bool)> {
        let mut state = self.own()?;
        state.operations += 1;
        match &mut state.dies_after {
            Some(0) => return Err(io::Error::other("the disk is dead")),
            Some(left) => *left -= 1,
            None => {}
        }
        let dies = state.dies_after == Some(0);
        let fails = state.failures > 0 && state.draw() % 1000 < state.failures;
        Ok((state, dies || fails))
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

    /// Puts content into a file, a part of it if the operation fails. What was to be synchronised and was not is not.
    fn put(&mut self, id: u64, content: Vec<u8>, fails: bool) -> io::Result<()> {
        let part = self.draw() as usize % (content.len() + 1);
        let file = self.files.entry(id).or_default();
        file.now = content;
        if fails {
            file.now.truncate(part);
            return Err(io::Error::other("the disk fails"));
        }
        file.durable = file.now.clone();
        Ok(())
    }
}

fn done(fails: bool) -> io::Result<()> {
    if fails { Err(io::Error::other("the disk fails")) } else { Ok(()) }
}

impl Folder for MemoryFolder {
    fn names(&self) -> io::Result<Vec<String>> {
        Ok(self.own()?.names.keys().cloned().collect())
    }

    fn read(&self, name: &str, most: u64) -> io::Result<Vec<u8>> {
        let state = self.own()?;
        let file = state.names.get(name).and_then(|id| state.files.get(id));
        let file = file.ok_or(io::ErrorKind::NotFound)?;
        if file.now.len() as u64 > most {
            return Err(io::Error::other("it is too long"));
        }
        Ok(file.now.clone())
    }

    fn write(&mut self, name: &str, parts: &[&[u8]]) -> io::Result<()> {
        let (mut state, fails) = self.work()?;
        state.last += 1;
        let id = state.last;
        state.names.insert(name.to_owned(), id);
        state.put(id, parts.concat(), fails)
    }

    fn append(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let (mut state, fails) = self.work()?;
        let id = *state.names.get(name).ok_or(io::ErrorKind::NotFound)?;
        let before = state.files.get(&id).map_or(&[][..], |file| &file.now);
        let content = [before, bytes].concat();
        if fails {
            // What was there before is there.
            let part = before.len() + state.draw() as usize % (bytes.len() + 1);
            state.files.entry(id).or_default().now = content[..part].to_vec();
            return done(true);
        }
        state.put(id, content, false)
    }

    fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        let (mut state, fails) = self.work()?;
        let id = *state.names.get(from).ok_or(io::ErrorKind::NotFound)?;
        done(fails)?;
        state.names.remove(from);
        state.names.insert(to.to_owned(), id);
        Ok(())
    }

    fn remove(&mut self, name: &str) -> io::Result<()> {
        let (mut state, fails) = self.work()?;
        if !state.names.contains_key(name) {
            return Err(io::ErrorKind::NotFound.into());
        }
        done(fails)?;
        state.names.remove(name);
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        let (mut state, fails) = self.work()?;
        done(fails)?;
        let state = &mut *state;
        state.durable.clone_from(&state.names);
        let live: std::collections::BTreeSet<u64> = state.names.values().copied().collect();
        state.files.retain(|id, _| live.contains(id));
        Ok(())
    }
}
