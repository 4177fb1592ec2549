//! A folder of this machine that holds bundles.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use bentpipe_bundle::Folder;
use rustix::fs::OFlags;

/// The file by which a process has a folder for itself.
const LOCK: &str = "lock";

/// A folder of this machine, which this process has for itself until it is dropped.
#[derive(Debug)]
pub struct DiskFolder {
    root: PathBuf,
    /// Locked as long as it is open.
    _lock: File,
}

impl DiskFolder {
    /// Opens a folder, and makes it if it is not there. Nobody but its owner may look into it.
    ///
    /// # Errors
    /// When it cannot be opened; [`io::ErrorKind::WouldBlock`] when another process has it.
    pub fn open(root: &Path) -> io::Result<Self> {
        if !root.is_dir() {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(root)?;
            if let Some(parent) = root.parent().filter(|parent| parent.is_dir()) {
                File::open(parent)?.sync_all()?;
            }
        }
        let lock = options().create(true).truncate(false).open(root.join(LOCK))?;
        lock.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => io::Error::from(io::ErrorKind::WouldBlock),
            TryLockError::Error(error) => error,
        })?;
        Ok(Self { root: root.to_owned(), _lock: lock })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }
}

/// How files of ours are written: nobody else may read them, no link is followed, and nothing waits for the other end of a pipe.
fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options
        .write(true)
        .mode(0o600)
        .custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32);
    options
}

impl Folder for DiskFolder {
    fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.root)? {
            // What is no file is found out by who reads it.
            names.extend(entry?.file_name().into_string().ok());
        }
        names.sort();
        Ok(names)
    }

    fn read(&self, name: &str, most: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
        let file = OpenOptions::new().read(true).custom_flags(flags).open(self.path(name))?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("it is no file"));
        }
        file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > most {
            return Err(io::Error::other(format!("{name} is longer than {most} bytes")));
        }
        Ok(bytes)
    }

    fn write(&mut self, name: &str, parts: &[&[u8]]) -> io::Result<()> {
        let mut file = options().create(true).truncate(true).open(self.path(name))?;
        parts.iter().try_for_each(|part| file.write_all(part))?;
        file.sync_all()
    }

    fn append(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let mut file = options().append(true).open(self.path(name))?;
        file.write_all(bytes)?;
        file.sync_all()
    }

    fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path(from), self.path(to))
    }

    fn remove(&mut self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path(name))
    }

    fn sync(&mut self) -> io::Result<()> {
        File::open(&self.root)?.sync_all()
    }
}

#[cfg(test)]
mod tests {
    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    #[test]
    fn what_is_written_is_there_and_one_process_has_the_folder() {
        let dir = tempfile::tempdir().expect("a directory");
        let root = dir.path().join("a/b");
        let mut folder = DiskFolder::open(&root).expect("a folder");
        folder.write("x.new", &[b"ab", b"c"]).expect("written");
        folder.rename("x.new", "x").expect("renamed");
        folder.append("x", b"d").expect("appended");
        folder.sync().expect("synchronised");
        assert_eq!(folder.names().expect("names"), [LOCK, "x"]);
        assert_eq!(folder.read("x", 4).expect("read"), b"abcd");
        assert!(folder.read("x", 3).expect_err("longer").to_string().contains("longer than 3"));
        let other = DiskFolder::open(&root).expect_err("it is taken");
        assert_eq!(other.kind(), io::ErrorKind::WouldBlock);
        drop(folder);
        let mut folder = DiskFolder::open(&root).expect("it is free");
        folder.remove("x").expect("removed");
        assert_eq!(folder.names().expect("names"), [LOCK]);
    }

    #[test]
    fn a_pipe_in_place_of_a_file_fails_and_holds_nothing_up() {
        let dir = tempfile::tempdir().expect("a directory");
        let root = dir.path().join("store");
        // By no program of its own: until that runs it holds the locks of other tests.
        let pipe = |name: &str| {
            let mode = Mode::RUSR | Mode::WUSR;
            mknodat(CWD, root.join(name), FileType::Fifo, mode, 0).expect("a pipe");
        };
        let mut folder = DiskFolder::open(&root).expect("a folder");
        pipe("x.new");
        assert!(folder.write("x.new", &[b"abc"]).is_err());
        let error = folder.read("x.new", 1).expect_err("a pipe").to_string();
        assert_eq!(error, "it is no file");
        assert_eq!(folder.names().expect("names"), [LOCK, "x.new"]);
        fs::remove_file(root.join(LOCK)).expect("removed");
        drop(folder);
        pipe(LOCK);
        assert!(DiskFolder::open(&root).is_err());
    }

    #[test]
    fn a_link_in_place_of_a_file_is_not_written_through() {
        let dir = tempfile::tempdir().expect("a directory");
        let mut folder = DiskFolder::open(&dir.path().join("store")).expect("a folder");
        let precious = dir.path().join("precious");
        fs::write(&precious, "do not touch").expect("written");
        std::os::unix::fs::symlink(&precious, dir.path().join("store/x.new")).expect("a link");
        assert!(folder.write("x.new", &[b"abc"]).is_err());
        assert_eq!(fs::read_to_string(&precious).expect("there"), "do not touch");
    }
}
