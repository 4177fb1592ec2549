//! Files that are files.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::path::Path;

/// Opens a file to read it. What is none is refused and not waited for: a FIFO that nobody writes to would hold up whoever opens
/// it for ever, and looking first does not help where somebody exchanges it meanwhile. What the shell has for `<(...)`, and standard
/// input, are read as they come.
///
/// # Errors
/// When there is none, or it is something else.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    let is_device = path == Path::new("/dev/stdin") || path.starts_with("/dev/fd");
    #[cfg(unix)]
    if !is_device {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32);
    }
    let file = options.open(path)?;
    if is_device || file.metadata()?.is_file() {
        return Ok(file);
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"))
}

/// The text of such a file.
///
/// # Errors
/// When there is none, it is something else, or it is no text.
pub fn read_regular(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    open_regular(path)?.read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fifo_that_nobody_writes_to_is_refused_and_not_waited_for() {
        let folder = tempfile::tempdir().expect("a folder");
        let [fifo, file] = ["fifo", "file"].map(|name| folder.path().join(name));
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, mode).expect("made");
        for wrong in [fifo.as_path(), folder.path()] {
            let error = open_regular(wrong).expect_err("refused").to_string();
            assert_eq!(error, "it is no regular file");
        }
        std::fs::write(&file, "time_s").expect("written");
        assert_eq!(read_regular(&file).expect("read"), "time_s");
        assert!(open_regular(Path::new("/dev/stdin")).is_ok());
    }
}
