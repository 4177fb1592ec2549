//! What a receiver needs of a file system.

use std::io;
use std::path::Path;

/// A directory into which files are received. All paths are relative to it, and no last part of one is followed
/// when it is a symbolic link.
pub trait Disk: Send + Sync + 'static {
    /// An open file.
    type File: DiskFile;

    /// What is at this path, if anything is.
    ///
    /// # Errors
    /// When it cannot be told.
    fn look(&self, path: &Path) -> io::Result<Option<Found>>;

    /// Opens a file to be read.
    ///
    /// # Errors
    /// When it is not there or cannot be read.
    fn open(&self, path: &Path) -> io::Result<Self::File>;

    /// Makes a file to be read and written, which nobody else may read.
    ///
    /// # Errors
    /// When it cannot be made, also because something is there.
    fn create(&self, path: &Path) -> io::Result<Self::File>;

    /// Opens a file of ours that is there to be read and written, whatever its permissions are.
    ///
    /// # Errors
    /// When it cannot be opened; [`io::ErrorKind::WouldBlock`] when another transfer has locked it.
    fn reopen(&self, path: &Path) -> io::Result<Self::File>;

    /// Makes a directory and marks it with a sender.
    ///
    /// # Errors
    /// When it cannot be made.
    fn create_dir(&self, path: &Path, mark: &str) -> io::Result<()>;

    /// Makes a symbolic link.
    ///
    /// # Errors
    /// When it cannot be made, also because something is there.
    fn link(&self, target: &str, path: &Path) -> io::Result<()>;

    /// Gives a file or a link another name in one step.
    ///
    /// # Errors
    /// When it cannot, also because something is there that is not to be replaced.
    fn rename(&self, from: &Path, to: &Path, replace: bool) -> io::Result<()>;

    /// Removes a file or a link.
    ///
    /// # Errors
    /// When it cannot be removed.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Returns when the names in a directory are on the medium.
    ///
    /// # Errors
    /// When they cannot be put there.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;

    /// Lets us work in a directory of ours whatever its permissions are.
    ///
    /// # Errors
    /// When that is not possible.
    fn open_up(&self, path: &Path) -> io::Result<()>;

    /// Gives a directory its permissions and time.
    ///
    /// # Errors
    /// When that is not possible.
    fn dress_dir(&self, path: &Path, mode: u32, changed: i128) -> io::Result<()>;
}

/// An open file.
pub trait DiskFile: Send + 'static {
    /// What it is now.
    ///
    /// # Errors
    /// When it cannot be told.
    fn found(&self) -> io::Result<Found>;

    /// Locks it against other transfers until it is closed. False when one has locked it.
    fn lock(&self) -> bool;

    /// Reads some bytes from a place; none at the end.
    ///
    /// # Errors
    /// When they cannot be read.
    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<usize>;

    /// Writes all bytes at a place.
    ///
    /// # Errors
    /// When not all of them can be written.
    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()>;

    /// Makes it so long.
    ///
    /// # Errors
    /// When that is not possible.
    fn set_len(&self, len: u64) -> io::Result<()>;

    /// Gives it its time.
    ///
    /// # Errors
    /// When that is not possible.
    fn set_changed(&self, changed: i128) -> io::Result<()>;

    /// Gives it its permissions. False when it had them.
    ///
    /// # Errors
    /// When that is not possible.
    fn set_mode(&self, mode: u32) -> io::Result<bool>;

    /// Marks it with who sent it. Not every file system can keep that.
    fn set_mark(&self, mark: &str);

    /// Returns when what was written is on the medium.
    ///
    /// # Errors
    /// When it cannot be put there.
    fn sync(&self) -> io::Result<()>;
}

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// What it is.
    pub kind: FoundKind,
    /// Its length in bytes.
    pub len: u64,
    /// When it was changed, in nanoseconds since 1970.
    pub changed: i128,
    /// Device and inode: the same for two names of one file.
    pub id: (u64, u64),
    /// Who sent it, if it is marked.
    pub mark: Option<String>,
    /// It belongs to the user that receives and has no other name: what is written to it changes nothing else.
    pub own: bool,
}

/// What there can be at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FoundKind {
    /// A file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link with its target.
    Link(String),
    /// Something else.
    Other,
}
