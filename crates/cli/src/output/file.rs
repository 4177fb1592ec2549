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
    let file = reserve(path, used)?;
    empty(&file).map_err(|error| Failure::writing(path, error))?;
    Ok(file)
}

/// The same, but what is in the file stays there until [`empty`]: a command that fails before it has a result takes
/// nobody's last one.
pub(crate) fn reserve<'a>(
    path: &Path,
    used: impl IntoIterator<Item = &'a Path>,
) -> Result<File, Failure> {
    let is_taken = |other: &Path| path.is_file() && is_same_file(path, other).unwrap_or(false);
    if let Some(other) = used.into_iter().find(|other| is_taken(other)) {
        let (path, other) = (path.display(), other.display());
        let problem = format!("{path}: the command uses {other}, the same file: name another one");
        return Err(Failure::Input(problem));
    }
    let mut options = File::options();
    let opened = options.write(true).create(true).truncate(false).open(path);
    opened.map_err(|error| Failure::writing(path, error))
}

/// Removes what is in a file that was reserved.
pub(crate) fn empty(file: &File) -> std::io::Result<()> {
    if file.metadata()?.is_file() { file.set_len(0) } else { Ok(()) }
}
