//! The disk of a receiver.

use std::io;
use std::path::{Path, PathBuf};

use super::{Content, MemoryDisk, MemoryFile};
use crate::disk::{Disk, Found, FoundKind};
use crate::names::parent_of;

impl Disk for MemoryDisk {
    type File = MemoryFile;

    fn look(&self, path: &Path) -> io::Result<Option<Found>> {
        let state = self.work()?;
        Ok(state.names.get(path).and_then(|id| state.found(*id)))
    }

    fn open(&self, path: &Path) -> io::Result<MemoryFile> {
        let state = self.work()?;
        let id = state.names.get(path).copied();
        id.map(|id| self.file(id)).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn create(&self, path: &Path) -> io::Result<MemoryFile> {
        let mut state = self.work()?;
        state.parent_is_there(path)?;
        if state.names.contains_key(path) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let id = state.add(path, FoundKind::File, Content::default());
        Ok(self.file(id))
    }

    fn reopen(&self, path: &Path) -> io::Result<MemoryFile> {
        self.open(path)
    }

    fn create_dir(&self, path: &Path, mark: &str) -> io::Result<()> {
        let mut state = self.work()?;
        state.parent_is_there(path)?;
        if state.names.contains_key(path) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let mark = Some(mark.to_owned());
        state.add(path, FoundKind::Directory, Content { mark, ..Content::default() });
        Ok(())
    }

    fn link(&self, target: &str, path: &Path) -> io::Result<()> {
        let mut state = self.work()?;
        state.parent_is_there(path)?;
        if state.no_links {
            return Err(io::ErrorKind::Unsupported.into());
        }
        if state.names.contains_key(path) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        state.add(path, FoundKind::Link(target.to_owned()), Content::default());
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path, replace: bool) -> io::Result<()> {
        let mut state = self.work()?;
        if let Some(bytes) = state.exchange.take() {
            state.add(from, FoundKind::File, Content { bytes, ..Content::default() });
        }
        if !replace && state.names.contains_key(to) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let id = state.names.remove(from).ok_or(io::ErrorKind::NotFound)?;
        state.names.insert(to.to_owned(), id);
        state.touch(id)?;
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.work()?;
        state.changes += 1;
        state.names.remove(path).map(drop).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        let mut state = self.work()?;
        let state = &mut *state;
        let here = |name: &PathBuf| parent_of(name) == path;
        state.durable.retain(|name, _| !here(name));
        let now = state.names.iter().filter(|(name, _)| here(name));
        state.durable.extend(now.map(|(name, id)| (name.clone(), *id)));
        Ok(())
    }

    fn open_up(&self, path: &Path) -> io::Result<()> {
        let mut state = self.work()?;
        let id = state.names.get(path).copied().ok_or(io::ErrorKind::NotFound)?;
        state.node(id)?.mode |= 0o700;
        Ok(())
    }

    fn dress_dir(&self, path: &Path, mode: u32, changed: i128) -> io::Result<()> {
        let mut state = self.work()?;
        let id = state.names.get(path).copied().ok_or(io::ErrorKind::NotFound)?;
        let node = state.node(id)?;
        (node.mode, node.now.changed) = (mode, changed);
        Ok(())
    }
}
