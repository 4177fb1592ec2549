//! A directory of this machine that receives files.
#![expect(clippy::disallowed_types, reason = "files have times of the calendar")]

use std::fs::{self, File, FileTimes, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{CWD, OFlags, RenameFlags, XattrFlags, fgetxattr, fsetxattr, renameat_with};
use rustix::process::geteuid;

use bentpipe_transfer::{Disk, DiskFile, Found, FoundKind};

/// The extended attribute in which a file says who sent it.
const MARK: &str = "user.bentpipe.sender";
/// Longest mark that is read.
const MOST_MARK: usize = 256;
/// What has taken the place of a file is not followed and not waited for.
const UNFOLLOWED: OFlags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK);
/// The mask of permissions where the system does not tell it.
const STRICT: u32 = 0o077;

/// A directory of this machine that receives files.
#[derive(Clone, Debug)]
pub struct Inbox {
    root: PathBuf,
    umask: u32,
}

impl Inbox {
    /// The directory `root`, which exists. Permissions of what is received are bounded by the umask of this process.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        // Asking by umask(2) would change it for a moment, for all threads.
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let umask = status.lines().find_map(|line| line.strip_prefix("Umask:"));
        let umask = umask.and_then(|text| u32::from_str_radix(text.trim(), 8).ok());
        Self { root: root.into(), umask: umask.unwrap_or(STRICT) }
    }

    fn full(&self, path: &Path) -> PathBuf {
        self.root.join(path)
    }
}

/// An open file of an [`Inbox`].
#[derive(Debug)]
pub struct InboxFile {
    file: File,
    umask: u32,
}

impl Disk for Inbox {
    type File = InboxFile;

    fn look(&self, path: &Path) -> io::Result<Option<Found>> {
        let full = self.full(path);
        let metadata = match fs::symlink_metadata(&full) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let (kind, mark) = if metadata.is_symlink() {
            (FoundKind::Link(fs::read_link(&full)?.to_string_lossy().into_owned()), None)
        } else if metadata.is_dir() || metadata.is_file() {
            let mut mark = [0; MOST_MARK];
            let len = rustix::fs::lgetxattr(&full, MARK, &mut mark);
            (kind_of(&metadata), text(&mark, len))
        } else {
            (FoundKind::Other, None)
        };
        Ok(Some(found(kind, &metadata, mark)))
    }

    fn open(&self, path: &Path) -> io::Result<InboxFile> {
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(UNFOLLOWED.bits() as i32);
        let full = self.full(path);
        let file = match options.open(&full) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                let before = allow(&full, 0o400)?;
                let file = options.open(&full)?;
                file.set_permissions(before)?;
                file
            }
            opened => opened?,
        };
        Ok(InboxFile { file, umask: self.umask })
    }

    fn create(&self, path: &Path) -> io::Result<InboxFile> {
        let mut options = OpenOptions::new();
        // Something that is there is not opened, not even a link to nowhere.
        options.read(true).write(true).create_new(true).mode(0o600);
        Ok(InboxFile { file: options.open(self.full(path))?, umask: self.umask })
    }

    fn reopen(&self, path: &Path) -> io::Result<InboxFile> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).custom_flags(UNFOLLOWED.bits() as i32);
        let full = self.full(path);
        let file = match options.open(&full) {
            // A transfer that was cut off at its last step leaves it with the permissions of the whole file.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                // While another transfer is at this step they stay.
                if !self.open(path)?.lock() {
                    return Err(io::ErrorKind::WouldBlock.into());
                }
                allow(&full, 0o600)?;
                options.open(&full)?
            }
            opened => opened?,
        };
        Ok(InboxFile { file, umask: self.umask })
    }

    fn create_dir(&self, path: &Path, mark: &str) -> io::Result<()> {
        // It gets its permissions when all is in it. Until then nobody else looks into it.
        fs::DirBuilder::new().mode(0o700).create(self.full(path))?;
        let dir = open_dir(&self.full(path))?;
        let _ = fsetxattr(&dir, MARK, mark.as_bytes(), XattrFlags::empty());
        Ok(())
    }

    fn link(&self, target: &str, path: &Path) -> io::Result<()> {
        std::os::unix::fs::symlink(target, self.full(path))
    }

    fn rename(&self, from: &Path, to: &Path, replace: bool) -> io::Result<()> {
        let (from, to) = (self.full(from), self.full(to));
        if !replace {
            match renameat_with(CWD, &from, CWD, &to, RenameFlags::NOREPLACE) {
                // Not every file system can do that in one step.
                Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {
                    if fs::symlink_metadata(&to).is_ok() {
                        return Err(io::ErrorKind::AlreadyExists.into());
                    }
                }
                other => return Ok(other?),
            }
        }
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(self.full(path))
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        open_dir(&self.full(path))?.sync_all()
    }

    fn open_up(&self, path: &Path) -> io::Result<()> {
        allow(&self.full(path), 0o700).map(drop)
    }

    fn dress_dir(&self, path: &Path, mode: u32, changed: i128) -> io::Result<()> {
        let dir = InboxFile { file: open_dir(&self.full(path))?, umask: self.umask };
        dir.set_changed(changed)?;
        dir.set_mode(mode).map(drop)
    }
}

impl DiskFile for InboxFile {
    fn found(&self) -> io::Result<Found> {
        let metadata = self.file.metadata()?;
        let mut mark = [0; MOST_MARK];
        let len = fgetxattr(&self.file, MARK, &mut mark);
        Ok(found(kind_of(&metadata), &metadata, text(&mark, len)))
    }

    fn lock(&self) -> bool {
        self.file.try_lock().is_ok()
    }

    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<usize> {
        loop {
            match self.file.read_at(bytes, at) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => return other,
            }
        }
    }

    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        self.file.write_all_at(bytes, at)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn set_changed(&self, changed: i128) -> io::Result<()> {
        self.file.set_times(FileTimes::new().set_modified(time(changed)))
    }

    fn set_mode(&self, mode: u32) -> io::Result<bool> {
        let mode = mode & 0o777 & !self.umask;
        if self.file.metadata()?.mode() & 0o777 == mode {
            return Ok(false);
        }
        self.file.set_permissions(Permissions::from_mode(mode))?;
        Ok(true)
    }

    fn set_mark(&self, mark: &str) {
        // Without a mark the file is nobody's, and is not replaced by anybody.
        let _ = fsetxattr(&self.file, MARK, mark.as_bytes(), XattrFlags::empty());
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }
}

fn open_dir(full: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::DIRECTORY;
    OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(full)
}

/// Gives the owner more permissions to a file or a directory of ours. Returns what they were before.
fn allow(full: &Path, bits: u32) -> io::Result<Permissions> {
    let flags = (OFlags::PATH | OFlags::NOFOLLOW).bits() as i32;
    let it = OpenOptions::new().read(true).custom_flags(flags).open(full)?;
    let metadata = it.metadata()?;
    let before = metadata.permissions();
    if metadata.uid() != geteuid().as_raw() || kind_of(&metadata) == FoundKind::Other {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    if before.mode() & bits != bits {
        // By this name it is what was looked at, whatever has taken its place meanwhile.
        let it = format!("/proc/self/fd/{}", it.as_raw_fd());
        fs::set_permissions(it, Permissions::from_mode(before.mode() & 0o7777 | bits))?;
    }
    Ok(before)
}

fn kind_of(metadata: &Metadata) -> FoundKind {
    match () {
        () if metadata.is_file() => FoundKind::File,
        () if metadata.is_dir() => FoundKind::Directory,
        () => FoundKind::Other,
    }
}

fn found(kind: FoundKind, metadata: &Metadata, mark: Option<String>) -> Found {
    let changed = i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec());
    let own = metadata.uid() == geteuid().as_raw() && metadata.nlink() <= 1;
    Found { kind, len: metadata.len(), changed, id: (metadata.dev(), metadata.ino()), mark, own }
}

fn text(bytes: &[u8], len: rustix::io::Result<usize>) -> Option<String> {
    String::from_utf8(bytes.get(..len.ok()?)?.to_vec()).ok()
}

fn time(changed: i128) -> SystemTime {
    let nanos = changed.unsigned_abs();
    let seconds = u64::try_from(nanos / 1_000_000_000).unwrap_or(u64::MAX);
    let span = Duration::new(seconds, (nanos % 1_000_000_000) as u32);
    let time =
        if changed < 0 { UNIX_EPOCH.checked_sub(span) } else { UNIX_EPOCH.checked_add(span) };
    time.unwrap_or(UNIX_EPOCH)
}
