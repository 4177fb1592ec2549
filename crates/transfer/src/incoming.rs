//! A file that is being received: a partial file until it is complete, the final name in one step.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::disk::{Disk, DiskFile, Found, FoundKind};
use crate::names::{NameError, own_partial_of, parent_of, partial_of};

/// Bytes read at a time.
const CHUNK: usize = 256 * 1024;
/// Times that a partial file is opened again because another transfer has given it its final name.
const OPENINGS: usize = 8;

/// Who sends, and what that permits.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// What proves who the sender is: its public key. Without it nobody owns what arrives.
    pub sender: Option<String>,
    /// What is there is replaced whoever put it there.
    pub overwrite: bool,
}

impl Rules {
    /// The mark of the sender on directories and on files that are not complete; empty for nobody's.
    pub(crate) fn mark(&self) -> &str {
        self.sender.as_deref().unwrap_or_default()
    }

    /// The mark of a complete file, which holds as long as nobody else changes it.
    fn complete_mark(&self, found: &Found) -> String {
        format!("{} {} {}", self.mark(), found.len, found.changed)
    }

    /// Whether the sender may replace what is there.
    pub(crate) fn may_replace(&self, found: &Found) -> bool {
        found.kind != FoundKind::Directory && (self.overwrite || self.owns(found))
    }

    /// Whether this sender has sent it, and nobody has changed it since.
    fn owns(&self, found: &Found) -> bool {
        self.sender.is_some() && found.mark.as_ref() == Some(&self.complete_mark(found))
    }

    /// Whether a partial file has failed at its last step, after which it would have had its name.
    fn failed_last(&self, found: &Found) -> bool {
        let rest = found.mark.as_ref().and_then(|mark| mark.strip_prefix(self.mark()));
        rest.is_some_and(|rest| rest.starts_with(' '))
    }

    /// Whether a partial file or a directory belongs to another sender. A partial file that failed at its last step
    /// has the mark of a complete one.
    pub(crate) fn foreign(&self, found: &Found) -> bool {
        found.mark.as_ref().is_some_and(|mark| {
            let rest = mark.strip_prefix(self.mark());
            rest.is_none_or(|rest| !rest.is_empty() && !rest.starts_with(' '))
        })
    }
}

/// Why an entry cannot be received.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PlaceError {
    #[error(transparent)]
    Name(#[from] NameError),
    #[error("a part of the name is no directory here")]
    NotADirectory,
    #[error("a directory has this name here")]
    Directory,
    #[error(
        "it is there already, from somebody else or changed since; --overwrite at the receiver replaces it"
    )]
    Exists,
    #[error(
        "a symbolic link is there already, and a link does not tell who made it; --overwrite at the receiver \
         replaces it"
    )]
    LinkExists,
    #[error("another transfer writes to this file")]
    Busy,
    #[error("another sender's file has this name until it is complete")]
    Foreign,
    #[error("what arrived is not what was sent")]
    Wrong,
    #[error("another program has put something else in the place of what arrived")]
    Exchanged,
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// What is known of a file before any of its data come.
#[derive(Debug)]
pub(crate) struct Known {
    /// So many first bytes are here.
    pub(crate) len: u64,
    /// Their hash.
    pub(crate) hash: [u8; 32],
    /// It is here under its final name, of this size and time.
    pub(crate) whole: bool,
}

/// A file that is being received.
pub(crate) struct Incoming<F> {
    path: PathBuf,
    partial: PathBuf,
    size: u64,
    mode: u32,
    changed: i128,
    known: Known,
    at: u64,
    state: State<F>,
}

enum State<F> {
    /// Nothing of it has come.
    Waiting,
    /// What has come is what the whole file here begins with. Nothing was written.
    Same(F),
    /// What comes is written to the partial file, which is locked.
    Writing(F),
}

impl<F: DiskFile> Incoming<F> {
    /// Looks at what is here of a file of `size` bytes. Changes nothing.
    pub(crate) fn look<D: Disk<File = F>>(
        disk: &D,
        rules: &Rules,
        path: PathBuf,
        size: u64,
        mode: u32,
        changed: i128,
    ) -> Result<Self, PlaceError> {
        let partial = place_of(disk, rules, &path)?;
        let there = disk.look(&path)?;
        let known = match &there {
            Some(found) if found.kind == FoundKind::Directory => return Err(PlaceError::Directory),
            Some(found)
                if found.kind == FoundKind::File
                    && (found.len, found.changed) == (size, changed) =>
            {
                let file = disk.open(&path)?;
                let hash = hash_prefix(&file, size)?;
                // It is said to be there, and so it has to stay there: somebody may have put it there a moment ago, or a
                // transfer that failed at its last step.
                file.sync()?;
                disk.sync_dir(parent_of(&path))?;
                Known { len: size, hash, whole: true }
            }
            Some(found) if !rules.may_replace(found) => return Err(exists(found)),
            _ => match disk.look(&partial)? {
                Some(found)
                    if found.kind == FoundKind::File && found.own && !rules.foreign(&found) =>
                {
                    let len = found.len.min(size);
                    let hash = hash_prefix(&disk.open(&partial)?, len)?;
                    Known { len, hash, whole: false }
                }
                _ => Known { len: 0, hash: *blake3::hash(b"").as_bytes(), whole: false },
            },
        };
        let state = State::Waiting;
        Ok(Self { path, partial, size, mode, changed, known, at: 0, state })
    }

    pub(crate) const fn known(&self) -> &Known {
        &self.known
    }

    pub(crate) const fn size(&self) -> u64 {
        self.size
    }

    /// Where the next bytes go.
    pub(crate) const fn at(&self) -> u64 {
        self.at
    }

    /// The sender goes on behind what is here.
    pub(crate) fn seek<D: Disk<File = F>>(
        &mut self,
        disk: &D,
        rules: &Rules,
        offset: u64,
    ) -> Result<(), PlaceError> {
        let (path, size) = (self.path.clone(), self.size);
        let file = self.partial_file(disk, rules)?;
        if file.found()?.len < offset {
            // Another transfer has given the beginning that was here its final name meanwhile. Whether it is the
            // right one shows at the end.
            let whole = disk.look(&path)?.filter(|found| found.kind == FoundKind::File);
            if whole.is_none_or(|found| found.len != size) {
                return Err(PlaceError::Wrong);
            }
            copy(&disk.open(&path)?, file, offset)?;
        }
        self.at = offset;
        Ok(())
    }

    /// The next bytes, which do not reach past the size.
    pub(crate) fn write<D: Disk<File = F>>(
        &mut self,
        disk: &D,
        rules: &Rules,
        bytes: &[u8],
    ) -> Result<(), PlaceError> {
        let untouched = !matches!(self.state, State::Writing(_));
        if self.known.whole && untouched {
            let file = match std::mem::replace(&mut self.state, State::Waiting) {
                State::Same(file) => file,
                _ => disk.open(&self.path)?,
            };
            let same = same_bytes(&file, bytes, self.at)?;
            self.state = State::Same(file);
            if same {
                self.at += bytes.len() as u64;
                return Ok(());
            }
        }
        let at = self.at;
        self.partial_file(disk, rules)?.write_at(bytes, at)?;
        self.at += bytes.len() as u64;
        Ok(())
    }

    /// Everything was sent. True when it was here already.
    pub(crate) fn finish<D: Disk<File = F>>(
        &mut self,
        disk: &D,
        rules: &Rules,
        hash: &[u8; 32],
    ) -> Result<bool, PlaceError> {
        if self.known.whole && !matches!(self.state, State::Writing(_)) {
            // All that has come is the same, and nothing was written: there is nothing to be renamed.
            if self.known.hash == *hash {
                self.keep(disk, rules);
                return Ok(true);
            }
            return Err(PlaceError::Wrong);
        }
        let (at, size, mode, changed) = (self.at, self.size, self.mode, self.changed);
        let path = self.path.clone();
        let file = self.partial_file(disk, rules)?;
        let right = at == size && {
            file.set_len(size)?;
            // What lies on the disk gets the name, so that is what has to be right.
            hash_prefix(file, size)? == *hash
        };
        if !right {
            // Nothing of it can be trusted.
            let _ = disk.remove(&self.partial);
            return Err(PlaceError::Wrong);
        }
        file.set_changed(changed)?;
        file.set_mark(&rules.complete_mark(&file.found()?));
        let id = file.found()?.id;
        let place = || match disk.look(&path)? {
            Some(found) if found.kind == FoundKind::Directory => Err(PlaceError::Directory),
            Some(found) if !rules.may_replace(&found) => Err(exists(&found)),
            there => Ok(there.is_some()),
        };
        // Permissions that forbid writing, also of the mark, come last.
        place()?;
        file.set_mode(mode)?;
        if let Err(error) = file.sync() {
            // What was not written then is not written later either, and reads as if it were. If the file stays all the
            // same, its mark says so.
            let _ = disk.remove(&self.partial);
            return Err(error.into());
        }
        let replace = place()?;
        // What was compared gets the name, and not what somebody has put in its place.
        let check = |path| match disk.look(path)? {
            Some(found) if found.id == id => Ok(()),
            _ => Err(PlaceError::Exchanged),
        };
        check(&self.partial)?;
        disk.rename(&self.partial, &path, replace)?;
        // There is no way to name the open file in that step. At least nobody is told that it arrived.
        check(&path)?;
        disk.sync_dir(parent_of(&path))?;
        Ok(false)
    }

    /// What is here is what is offered. Its permissions may have changed since it was sent, and the beginning of
    /// another version is not needed any more.
    pub(crate) fn keep<D: Disk<File = F>>(&mut self, disk: &D, rules: &Rules) {
        // Its bytes are there; that its permissions cannot be set is no reason to fail.
        let _ = self.set_mode(disk, rules);
        self.discard(disk, rules);
    }

    /// Gives the sender's own file its permissions. With another name they would be those of something else too.
    fn set_mode<D: Disk<File = F>>(&self, disk: &D, rules: &Rules) -> io::Result<()> {
        let there = disk.look(&self.path)?;
        let Some(found) = there.filter(|found| found.own && rules.owns(found)) else {
            return Ok(());
        };
        let file = disk.open(&self.path)?;
        if file.found()?.id == found.id && file.set_mode(self.mode)? {
            file.sync()?;
        }
        Ok(())
    }

    fn discard<D: Disk<File = F>>(&mut self, disk: &D, rules: &Rules) {
        let left = || {
            let found = disk.look(&self.partial).ok().flatten()?;
            let is_ours = found.kind == FoundKind::File && !rules.foreign(&found);
            let file = is_ours.then(|| disk.open(&self.partial).ok())??;
            (file.lock() && file.found().is_ok_and(|now| now.id == found.id)).then_some(file)
        };
        let locked = match std::mem::replace(&mut self.state, State::Waiting) {
            State::Writing(file) => Some(file),
            _ => left(),
        };
        if locked.is_some() {
            let _ = disk.remove(&self.partial);
        }
    }

    /// The partial file, opened and locked. What was compared so far is copied into it.
    fn partial_file<D: Disk<File = F>>(
        &mut self,
        disk: &D,
        rules: &Rules,
    ) -> Result<&F, PlaceError> {
        if !matches!(self.state, State::Writing(_)) {
            if self.known.whole
                && let Some(found) = disk.look(&self.path)?
                && !rules.may_replace(&found)
            {
                return Err(exists(&found));
            }
            let file = match open_partial(disk, rules, &self.partial) {
                // Another sender began it meanwhile.
                Err(PlaceError::Foreign) => {
                    self.partial = own_partial_of(&self.path, rules.mark());
                    open_partial(disk, rules, &self.partial)?
                }
                opened => opened?,
            };
            if let State::Same(whole) = &self.state {
                copy(whole, &file, self.at)?;
            }
            self.state = State::Writing(file);
        }
        match &self.state {
            State::Writing(file) => Ok(file),
            _ => Err(PlaceError::Busy),
        }
    }
}

/// Where a file is until it is complete: what another sender has begun stays his.
fn place_of(disk: &impl Disk, rules: &Rules, path: &Path) -> io::Result<PathBuf> {
    let (usual, own) = (partial_of(path), own_partial_of(path, rules.mark()));
    let foreign = disk.look(&usual)?.is_some_and(|found| rules.foreign(&found));
    Ok(if foreign || disk.look(&own)?.is_some() { own } else { usual })
}

/// Why what is there is not replaced.
pub(crate) const fn exists(found: &Found) -> PlaceError {
    match found.kind {
        FoundKind::Link(_) => PlaceError::LinkExists,
        _ => PlaceError::Exists,
    }
}

/// Opens and locks a partial file.
fn open_partial<D: Disk>(disk: &D, rules: &Rules, path: &Path) -> Result<D::File, PlaceError> {
    for _ in 0..OPENINGS {
        let mut there = disk.look(path)?;
        match &there {
            Some(found) if found.kind == FoundKind::Directory => return Err(PlaceError::Directory),
            Some(found) if rules.foreign(found) => return Err(PlaceError::Foreign),
            // A link under this name is not followed. What has another name too, or belongs to somebody else, is not
            // written to: it is not only here that it would change.
            Some(found) if found.kind != FoundKind::File || !found.own => {
                disk.remove(path)?;
                there = None;
            }
            _ => {}
        }
        let opened = if there.is_some() { disk.reopen(path) } else { disk.create(path) };
        let faster = if there.is_some() { ErrorKind::NotFound } else { ErrorKind::AlreadyExists };
        let file = match opened {
            // Another transfer has made it or has given it its final name.
            Err(error) if error.kind() == faster => continue,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Err(PlaceError::Busy),
            opened => opened?,
        };
        if !file.lock() {
            return Err(PlaceError::Busy);
        }
        let found = file.found()?;
        // Also after it was opened and before it was locked.
        if disk.look(path)?.is_none_or(|now| now.id != found.id) || (there.is_some() && !found.own)
        {
            continue;
        }
        if rules.foreign(&found) {
            return Err(PlaceError::Foreign);
        }
        if rules.failed_last(&found) {
            return copy_of(disk, rules, path, &file, found.len);
        }
        if there.is_some() {
            // It may have the permissions of the whole file, and until it is one nobody else reads it. Where they
            // cannot be set it is written to all the same.
            let _ = file.set_mode(0o600);
        }
        file.set_mark(rules.mark());
        return Ok(file);
    }
    Err(PlaceError::Busy)
}

/// Puts a copy in the place of a partial file. The medium may not have what is read from the old one: a synchronisation
/// that failed once succeeds the next time and writes nothing.
fn copy_of<D: Disk>(
    disk: &D,
    rules: &Rules,
    path: &Path,
    old: &D::File,
    len: u64,
) -> Result<D::File, PlaceError> {
    disk.remove(path)?;
    let file = disk.create(path)?;
    if !file.lock() {
        return Err(PlaceError::Busy);
    }
    file.set_mark(rules.mark());
    copy(old, &file, len)?;
    Ok(file)
}

/// The hash of the first `len` bytes of a file.
fn hash_prefix(file: &impl DiskFile, len: u64) -> io::Result<[u8; 32]> {
    let mut hasher = blake3::Hasher::new();
    each_chunk(file, len, |_, chunk| {
        hasher.update(chunk);
        Ok(())
    })?;
    Ok(*hasher.finalize().as_bytes())
}

fn copy(from: &impl DiskFile, to: &impl DiskFile, len: u64) -> io::Result<()> {
    each_chunk(from, len, |at, chunk| to.write_at(chunk, at))
}

fn each_chunk(
    file: &impl DiskFile,
    len: u64,
    mut each: impl FnMut(u64, &[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let mut chunk = vec![0; len.min(CHUNK as u64) as usize];
    let mut at = 0;
    while at < len {
        let want = (len - at).min(CHUNK as u64) as usize;
        let read = file.read_at(&mut chunk[..want], at)?;
        if read == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        each(at, &chunk[..read])?;
        at += read as u64;
    }
    Ok(())
}

fn same_bytes(file: &impl DiskFile, bytes: &[u8], at: u64) -> io::Result<bool> {
    let mut there = vec![0; bytes.len()];
    let mut have = 0;
    while have < there.len() {
        match file.read_at(&mut there[have..], at + have as u64)? {
            0 => return Ok(false),
            read => have += read,
        }
    }
    Ok(there == bytes)
}
