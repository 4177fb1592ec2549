//! The files of a sender.

use std::io;
use std::path::Path;

use super::{MemoryDisk, MemoryFile, State};
use crate::disk::FoundKind;
use crate::source::{Source, SourceFile, Stamp};

impl State {
    fn stamp(&self, id: u64) -> io::Result<Option<Stamp>> {
        let node = self.nodes.get(&id).ok_or(io::ErrorKind::NotFound)?;
        let now = &node.now;
        Ok((node.kind == FoundKind::File).then_some(Stamp {
            size: now.bytes.len() as u64,
            changed: now.changed,
            id: (0, id),
            touched: (now.touched as i64, 0),
        }))
    }
}

impl Source for MemoryDisk {
    type File = MemoryFile;

    fn stamp(&self, path: &Path) -> io::Result<Option<Stamp>> {
        let state = self.work()?;
        let id = state.names.get(path).copied().ok_or(io::ErrorKind::NotFound)?;
        state.stamp(id)
    }

    fn open(&self, path: &Path) -> io::Result<MemoryFile> {
        let opened = crate::disk::Disk::open(self, path)?;
        SourceFile::stamp(&opened).map(|_| opened)
    }
}

impl SourceFile for MemoryFile {
    fn stamp(&self) -> io::Result<Stamp> {
        let state = self.disk.work()?;
        state.stamp(self.node)?.ok_or_else(|| io::Error::other("it is no file any more"))
    }

    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<usize> {
        crate::disk::DiskFile::read_at(self, bytes, at)
    }
}
