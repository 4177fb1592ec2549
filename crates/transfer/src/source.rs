//! What a sender needs of a file system.

use std::io;
use std::path::{Path, PathBuf};

use crate::frames::{Kind, Offer};

/// Where the files of a sender come from.
pub trait Source: Clone + Send + Sync + 'static {
    /// An open file.
    type File: SourceFile;

    /// What is at this path now; `None` if it is no file.
    ///
    /// # Errors
    /// When it cannot be told.
    fn stamp(&self, path: &Path) -> io::Result<Option<Stamp>>;

    /// Opens a file to be read. A symbolic link is not followed, and nothing is waited for.
    ///
    /// # Errors
    /// When it cannot be opened, or is no file any more.
    fn open(&self, path: &Path) -> io::Result<Self::File>;
}

/// An open file of a sender.
pub trait SourceFile: Send + Sync + 'static {
    /// What it is now.
    ///
    /// # Errors
    /// When it cannot be told.
    fn stamp(&self) -> io::Result<Stamp>;

    /// Reads some bytes from a place; none at the end.
    ///
    /// # Errors
    /// When they cannot be read.
    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<usize>;
}

/// What tells two states of a file apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Its length in bytes.
    pub size: u64,
    /// When its content was changed, in nanoseconds since 1970, as a program may have set it.
    pub changed: i128,
    /// Device and inode: another file under the same name has others.
    pub id: (u64, u64),
    /// When anything of it was changed, in seconds and nanoseconds. No program sets that back.
    pub touched: (i64, i64),
}

/// What is to be sent: a file, a directory or a symbolic link.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Where it is.
    pub path: PathBuf,
    pub(crate) offer: Offer,
}

impl Entry {
    /// What is at `path` and has this `name` at the receiver: relative to its directory, with `/` between the parts.
    /// `mode` are its permission bits, `changed` nanoseconds since 1970.
    pub fn new(path: PathBuf, name: String, what: What, mode: u32, changed: i128) -> Self {
        let kind = match what {
            What::File { size } => Kind::File { size },
            What::Directory => Kind::Directory,
            What::Link { target } => Kind::Link { target },
        };
        Self { path, offer: Offer { name, kind, mode, changed } }
    }

    /// Its name at the receiver, relative to its directory.
    pub fn name(&self) -> &str {
        &self.offer.name
    }

    /// Its size in bytes; `None` for what is no file.
    pub const fn size(&self) -> Option<u64> {
        match self.offer.kind {
            Kind::File { size } => Some(size),
            Kind::Directory | Kind::Link { .. } => None,
        }
    }

    /// Whether it is a directory.
    pub const fn is_directory(&self) -> bool {
        matches!(self.offer.kind, Kind::Directory)
    }

    /// The target of a symbolic link.
    pub fn target(&self) -> Option<&str> {
        match &self.offer.kind {
            Kind::Link { target } => Some(target),
            Kind::File { .. } | Kind::Directory => None,
        }
    }

    /// What is offered of it now. A file may have changed since it was found.
    pub(crate) fn offer_now(&self, source: &impl Source) -> Offer {
        let mut offer = self.offer.clone();
        if let Kind::File { size } = &mut offer.kind
            && let Ok(Some(now)) = source.stamp(&self.path)
        {
            (*size, offer.changed) = (now.size, now.changed);
        }
        offer
    }
}

/// What an entry is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A file of so many bytes.
    File {
        /// How many.
        size: u64,
    },
    /// A directory.
    Directory,
    /// A symbolic link.
    Link {
        /// Where it leads.
        target: String,
    },
}
