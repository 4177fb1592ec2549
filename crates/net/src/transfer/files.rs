//! The files of this machine that are sent.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use bentpipe_transfer::{Source, SourceFile, Stamp};
use rustix::fs::OFlags;
use rustix::io::Errno;

use super::entries::changed;

/// Why what is no file any more is not sent.
const NO_FILE: &str = "it is no file any more";

/// The files of this machine.
#[derive(Clone, Copy, Debug)]
pub struct Files;

/// A file of this machine that is being sent.
#[derive(Debug)]
pub struct OpenFile(File);

impl Source for Files {
    type File = OpenFile;

    fn stamp(&self, path: &Path) -> io::Result<Option<Stamp>> {
        let metadata = std::fs::symlink_metadata(path)?;
        metadata.is_file().then(|| stamp(&metadata)).transpose()
    }

    /// What has taken its place since it was found may be anything: nobody may ever write to a FIFO, and a link leads
    /// elsewhere.
    fn open(&self, path: &Path) -> io::Result<OpenFile> {
        let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path);
        let is_other = |error: &io::Error| {
            [Errno::LOOP, Errno::NXIO]
                .iter()
                .any(|kind| error.raw_os_error() == Some(kind.raw_os_error()))
        };
        let no_file = || io::Error::other(NO_FILE);
        let file = opened.map_err(|error| if is_other(&error) { no_file() } else { error })?;
        if !file.metadata()?.is_file() {
            return Err(no_file());
        }
        Ok(OpenFile(file))
    }
}

impl SourceFile for OpenFile {
    fn stamp(&self) -> io::Result<Stamp> {
        stamp(&self.0.metadata()?)
    }

    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<usize> {
        loop {
            match self.0.read_at(bytes, at) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => return other,
            }
        }
    }
}

fn stamp(metadata: &Metadata) -> io::Result<Stamp> {
    Ok(Stamp {
        size: metadata.len(),
        changed: changed(metadata)?,
        id: (metadata.dev(), metadata.ino()),
        touched: (metadata.ctime(), metadata.ctime_nsec()),
    })
}
