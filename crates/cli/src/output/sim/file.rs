//! Files that results go to.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::Path;

use same_file::is_same_file;

use crate::failure::Failure;

/// Creates the file at `path`, or empties it. None of `used`, which the same command reads or writes, is touched under
/// any name; what is no file (`/dev/null`, a FIFO) may be used twice.
pub(crate) fn create<'a>(
    path: &Path,
    used: impl IntoIterator<Item = &'a Path>,
) -> Result<File, Failure> {
    Reserved::new(path, used)?.empty()
}

/// A file that a command will fill. What is in it stays there until it is [emptied](Reserved::empty): a command that fails
/// before it has a result takes nobody's last one. A file that was not there is removed again then.
#[derive(Debug)]
pub(crate) struct Reserved<'p> {
    path: &'p Path,
    file: File,
    /// It was not there before, and is not filled.
    is_new: bool,
}

impl<'p> Reserved<'p> {
    /// Opens the file, or creates it; it is none of `used`, as in [`create`].
    pub(crate) fn new<'a>(
        path: &'p Path,
        used: impl IntoIterator<Item = &'a Path>,
    ) -> Result<Self, Failure> {
        let is_taken = |other: &Path| path.is_file() && is_same_file(path, other).unwrap_or(false);
        if let Some(other) = used.into_iter().find(|other| is_taken(other)) {
            let (path, other) = (path.display(), other.display());
            let problem =
                format!("{path}: the command uses {other}, the same file: name another one");
            return Err(Failure::Input(problem));
        }
        let options = || {
            let mut options = File::options();
            options.write(true).truncate(false);
            options
        };
        let (opened, is_new) = match options().create_new(true).open(path) {
            // Also a link to nothing, behind which a file is made.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                (options().create(true).open(path), false)
            }
            opened => (opened, true),
        };
        let file = opened.map_err(|error| Failure::writing(path, error))?;
        Ok(Self { path, file, is_new })
    }

    /// The name of the file.
    pub(crate) const fn path(&self) -> &'p Path {
        self.path
    }

    /// Removes what is in the file, which is to be filled now.
    pub(crate) fn empty(mut self) -> Result<File, Failure> {
        let is_file = self.file.metadata().map(|about| about.is_file());
        let emptied = is_file.and_then(|yes| if yes { self.file.set_len(0) } else { Ok(()) });
        let file = emptied.and_then(|()| self.file.try_clone());
        let file = file.map_err(|error| Failure::writing(self.path, error))?;
        self.is_new = false;
        Ok(file)
    }
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        if self.is_new {
            // It may have been removed meanwhile.
            drop(fs::remove_file(self.path));
        }
    }
}
