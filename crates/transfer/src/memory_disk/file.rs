//! An open file of a receiver.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{MOST, MemoryDisk};
use crate::disk::{Disk as _, DiskFile, Found};

/// An open file.
#[derive(Debug)]
pub struct MemoryFile {
    pub(super) disk: MemoryDisk,
    pub(super) node: u64,
    locks: AtomicBool,
}

impl MemoryFile {
    pub(super) const fn new(disk: MemoryDisk, node: u64) -> Self {
        Self { disk, node, locks: AtomicBool::new(false) }
    }
}

impl DiskFile for MemoryFile {
    fn found(&self) -> io::Result<Found> {
        let state = self.disk.work()?;
        state.found(self.node).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn lock(&self) -> bool {
        let rename = self.disk.state().rename.take();
        if let Some((from, to)) = rename {
            let _ = self.disk.rename(&from, &to, true);
        }
        let mut state = self.disk.state();
        let new = state.losses == self.disk.losses && state.locked.insert(self.node);
        drop(state);
        self.locks.fetch_or(new, Ordering::Relaxed);
        new
    }

    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<usize> {
        let mut state = self.disk.work()?;
        let there = &state.node(self.node)?.now.bytes;
        let rest = there.get(at as usize..).unwrap_or_default();
        let len = rest.len().min(bytes.len());
        bytes[..len].copy_from_slice(&rest[..len]);
        Ok(len)
    }

    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        let mut state = self.disk.work()?;
        let end = at + bytes.len() as u64;
        if end > MOST {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let lies = state.lies > 0 && state.draw() % 1000 < state.lies;
        let used = state.used();
        let room = state.room.map(|room| room.saturating_sub(used));
        let now = &mut state.touch(self.node)?.now.bytes;
        let more = end.saturating_sub(now.len() as u64);
        // Some of what still has room is written before the disk is full.
        let fits = room.is_none_or(|room| more <= room);
        let part = room.map_or(0, |room| (room / 2).min(bytes.len() as u64)) as usize;
        let kept = if fits { bytes.len() } else { part };
        let (at, kept_end) = (at as usize, at as usize + kept);
        if now.len() < kept_end {
            now.resize(kept_end, 0);
        }
        now[at..kept_end].copy_from_slice(&bytes[..kept]);
        if lies && kept > 0 {
            now[at] ^= 1;
        }
        if fits { Ok(()) } else { Err(io::ErrorKind::StorageFull.into()) }
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut state = self.disk.work()?;
        if len > MOST {
            return Err(io::ErrorKind::StorageFull.into());
        }
        state.touch(self.node)?.now.bytes.resize(len as usize, 0);
        Ok(())
    }

    fn set_changed(&self, changed: i128) -> io::Result<()> {
        let mut state = self.disk.work()?;
        state.touch(self.node)?.now.changed = changed;
        Ok(())
    }

    fn set_mode(&self, mode: u32) -> io::Result<bool> {
        let mut state = self.disk.work()?;
        let before = std::mem::replace(&mut state.node(self.node)?.mode, mode);
        Ok(before != mode)
    }

    fn set_mark(&self, mark: &str) {
        let mut state = self.disk.state();
        if state.losses == self.disk.losses
            && let Ok(node) = state.node(self.node)
        {
            node.now.mark = Some(mark.to_owned());
        }
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.disk.work()?;
        let fails = std::mem::take(&mut state.loses);
        if fails && std::mem::take(&mut state.stops) {
            state.failures = 1_000;
        }
        let node = state.node(self.node)?;
        // What is on the medium already is not lost.
        node.was_lost |= fails && node.now.bytes != node.durable.bytes;
        if fails {
            return Err(io::Error::other("the disk fails"));
        }
        node.durable = node.now.clone();
        if node.was_lost {
            node.durable.bytes.fill(0);
        }
        Ok(())
    }
}

impl Drop for MemoryFile {
    fn drop(&mut self) {
        let mut state = self.disk.state();
        if self.locks.load(Ordering::Relaxed) && state.losses == self.disk.losses {
            state.locked.remove(&self.node);
        }
    }
}
