//! Files that results go to.

use std::fs::File;
use std::path::Path;

use same_file::is_same_file;

use crate::failure::Failure;

/// Creates the file at `path`, or empties it. None of `used`, which the same command reads or writes, is touched under
/// any name; what is no file (`/dev/null`, a FIFO) may be used twice.
pub(crate) fn create<'a>(
    path: &Path,
    used: impl IntoIterator<Item = &'a Path>,
) -> Result<File, Failure> {
    let is_taken = |other: &Path| path.is_file() && is_same_file(path, other).unwrap_or(false);
    if let Some(other) = used.into_iter().find(|other| is_taken(other)) {
        let (path, other) = (path.display(), other.display());
        let problem = format!("{path}: the command uses {other}, the same file: name another one");
        return Err(Failure::Input(problem));
    }
    File::create(path).map_err(|error| Failure::writing(path, error))
}
