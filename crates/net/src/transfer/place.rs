//! Where a received file goes: names that stay in the directory, a partial file until it is complete,
//! the final name in one step.
#![expect(clippy::disallowed_types, reason = "files have times of the calendar")]

use std::fs::{self, File, FileTimes, OpenOptions, Permissions};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::frames::Offer;

/// Bytes hashed at a time.
const CHUNK: usize = 256 * 1024;

/// Why an entry can not be received.
#[derive(Debug, thiserror::Error)]
pub(super) enum PlaceError {
    #[error("the name `{0}` leaves the directory")]
    Escapes(String),
    #[error("`{0}` is not a directory")]
    NotADirectory(String),
    #[error("another transfer writes to this file")]
    Busy,
    #[error("what arrived is not what was sent")]
    Wrong,
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// The path of a name below `dir`. Nothing on the way may be a link, and no part may lead upwards.
pub(super) fn path_of(dir: &Path, name: &str) -> Result<PathBuf, PlaceError> {
    let bad = |part: &str| {
        part.is_empty() || part == "." || part == ".." || part.contains(['/', '\\', '\0'])
    };
    if name.split('/').any(bad) {
        return Err(PlaceError::Escapes(name.to_owned()));
    }
    let mut path = dir.to_owned();
    let mut parts = name.split('/').peekable();
    while let Some(part) = parts.next() {
        path.push(part);
        if parts.peek().is_none() {
            break;
        }
        match fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_dir() => {}
            Ok(_) => return Err(PlaceError::NotADirectory(name.to_owned())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => fs::create_dir(&path)?,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(path)
}

/// Makes a directory, or finds it there.
pub(super) fn make_dir(path: &Path, name: &str) -> Result<(), PlaceError> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => Ok(()),
        Ok(_) => Err(PlaceError::NotADirectory(name.to_owned())),
        Err(_) => Ok(fs::create_dir(path)?),
    }
}

/// Gives a directory its permissions and time, once everything is in it.
pub(super) fn finish_dir(path: &Path, offer: &Offer) -> io::Result<()> {
    let dir = File::open(path)?;
    dir.set_permissions(Permissions::from_mode(offer.mode & 0o777))?;
    dir.set_times(FileTimes::new().set_modified(changed(offer)))
}

fn changed(offer: &Offer) -> SystemTime {
    let nanos = offer.changed.unsigned_abs();
    let span = Duration::new((nanos / 1_000_000_000) as u64, (nanos % 1_000_000_000) as u32);
    let time =
        if offer.changed < 0 { UNIX_EPOCH.checked_sub(span) } else { UNIX_EPOCH.checked_add(span) };
    time.unwrap_or(UNIX_EPOCH)
}

/// A file that is being received.
#[derive(Debug)]
pub(super) struct Incoming {
    path: PathBuf,
    partial: PathBuf,
    file: File,
    offer: Offer,
    size: u64,
    at: u64,
    hasher: blake3::Hasher,
    /// What was here before: how much, and the state of its hash.
    before: Option<(u64, blake3::Hasher)>,
    /// It was here before as a whole, under its final name.
    complete: bool,
}

impl Incoming {
    /// Opens the place of a file of `size` bytes and looks at what is there already.
    pub(super) fn open(dir: &Path, offer: Offer, size: u64) -> Result<Self, PlaceError> {
        let path = path_of(dir, &offer.name)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let partial = path.with_file_name(format!(".{name}.bentpipe-part"));
        if fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_dir()) {
            return Err(io::Error::from(io::ErrorKind::IsADirectory).into());
        }
        // A link under this name is not followed.
        if fs::symlink_metadata(&partial).is_ok_and(|metadata| !metadata.is_file()) {
            fs::remove_file(&partial)?;
        }
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let file = options.open(&partial)?;
        if file.try_lock().is_err() {
            return Err(PlaceError::Busy);
        }
        let finished = fs::symlink_metadata(&path).ok().filter(|metadata| {
            let same_time = metadata.modified().is_ok_and(|time| time == changed(&offer));
            metadata.is_file() && metadata.len() == size && same_time
        });
        let complete = finished.is_some();
        let before = if complete {
            Some((size, hash_prefix(&File::open(&path)?, size)?))
        } else {
            let len = file.metadata()?.len().min(size);
            if len > 0 { Some((len, hash_prefix(&file, len)?)) } else { None }
        };
        Ok(Self {
            path,
            partial,
            file,
            offer,
            size,
            at: 0,
            hasher: blake3::Hasher::new(),
            before,
            complete,
        })
    }

    /// Where the next bytes go.
    pub(super) const fn at(&self) -> u64 {
        self.at
    }

    /// How much of it is here already, and the hash of that.
    pub(super) fn have(&self) -> (u64, [u8; 32]) {
        let nothing = || (0, *blake3::hash(b"").as_bytes());
        let known = |(len, hasher): &(u64, blake3::Hasher)| (*len, *hasher.finalize().as_bytes());
        self.before.as_ref().map_or_else(nothing, known)
    }

    /// The sender goes on behind what is here. False when that is not where it goes on.
    pub(super) fn seek(&mut self, offset: u64) -> bool {
        match self.before.take() {
            Some((len, hasher)) if len == offset && offset >= self.at => {
                (self.at, self.hasher) = (len, hasher);
                true
            }
            _ => false,
        }
    }

    /// The next bytes. False when they reach past the size that was announced.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<bool> {
        let end = self.at + bytes.len() as u64;
        if end > self.size {
            return Ok(false);
        }
        self.complete = false;
        self.file.write_all_at(bytes, self.at)?;
        self.hasher.update(bytes);
        self.at = end;
        Ok(true)
    }

    /// Everything was sent: verifies it and gives it its final name.
    pub(super) fn finish(self, hash: &[u8; 32]) -> Result<(), PlaceError> {
        let right =
            self.at == self.size && self.hasher.finalize() == blake3::Hash::from_bytes(*hash);
        if !right {
            // Nothing of it can be trusted.
            let _ = fs::remove_file(&self.partial);
            return Err(PlaceError::Wrong);
        }
        if self.complete {
            let _ = fs::remove_file(&self.partial);
            return Ok(());
        }
        self.file.set_len(self.size)?;
        self.file.set_permissions(Permissions::from_mode(self.offer.mode & 0o777))?;
        self.file.set_times(FileTimes::new().set_modified(changed(&self.offer)))?;
        self.file.sync_all()?;
        fs::rename(&self.partial, &self.path)?;
        Ok(())
    }
}

/// The hash of the first `len` bytes of a file.
pub(super) fn hash_prefix(mut file: &File, len: u64) -> io::Result<blake3::Hasher> {
    let mut hasher = blake3::Hasher::new();
    let mut left = len;
    let mut chunk = vec![0; CHUNK];
    while left > 0 {
        let want = left.min(CHUNK as u64) as usize;
        file.read_exact(&mut chunk[..want])?;
        hasher.update(&chunk[..want]);
        left -= want as u64;
    }
    Ok(hasher)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_leave_the_directory_are_refused() {
        let dir = tempfile::tempdir().expect("a directory");
        for name in ["", "/etc/passwd", "../x", "a/../../x", "a//b", ".", "a/.", "a\\b", "a\0b"] {
            let refused = matches!(path_of(dir.path(), name), Err(PlaceError::Escapes(_)));
            assert!(refused, "{name:?}");
        }
        assert!(path_of(dir.path(), "a/b/..c").is_ok());
    }

    #[test]
    fn a_link_on_the_way_is_not_followed() {
        let dir = tempfile::tempdir().expect("a directory");
        std::os::unix::fs::symlink("/tmp", dir.path().join("link")).expect("linked");
        let refused = path_of(dir.path(), "link/file");
        assert!(matches!(refused, Err(PlaceError::NotADirectory(_))));
    }

    fn offer(size: u64) -> Offer {
        Offer { name: "file".into(), size: Some(size), mode: 0o640, changed: 1_000_000_007 }
    }

    #[test]
    fn what_was_cut_off_is_taken_up_and_the_final_name_comes_last() {
        let dir = tempfile::tempdir().expect("a directory");
        let (data, hash) = (b"hello world", *blake3::hash(b"hello world").as_bytes());
        let mut first = Incoming::open(dir.path(), offer(11), 11).expect("open");
        assert_eq!(first.have().0, 0);
        assert!(first.write(&data[..5]).expect("written"));
        assert!(matches!(Incoming::open(dir.path(), offer(11), 11), Err(PlaceError::Busy)));
        drop(first);
        assert!(!dir.path().join("file").exists());
        let mut second = Incoming::open(dir.path(), offer(11), 11).expect("open");
        assert_eq!(second.have(), (5, *blake3::hash(b"hello").as_bytes()));
        // The sender began before it knew.
        assert!(second.write(&data[..2]).expect("written"));
        assert!(second.seek(5));
        assert!(second.write(&data[5..]).expect("written"));
        assert!(!second.write(b"!").expect("refused"), "more than was announced");
        second.finish(&hash).expect("finished");
        assert_eq!(fs::read(dir.path().join("file")).expect("read"), data);
        let metadata = fs::metadata(dir.path().join("file")).expect("metadata");
        assert_eq!(metadata.permissions().mode() & 0o777, 0o640);
        assert_eq!(metadata.modified().expect("a time"), changed(&offer(11)));
        // Once more: it is there as a whole.
        let mut third = Incoming::open(dir.path(), offer(11), 11).expect("open");
        assert_eq!(third.have(), (11, hash));
        assert!(third.seek(11));
        third.finish(&hash).expect("finished");
        assert_eq!(fs::read_dir(dir.path()).expect("a directory").count(), 1);
    }

    #[test]
    fn what_is_not_what_was_sent_gets_no_final_name() {
        let dir = tempfile::tempdir().expect("a directory");
        let mut file = Incoming::open(dir.path(), offer(3), 3).expect("open");
        assert!(file.write(b"abc").expect("written"));
        assert!(matches!(file.finish(&[0; 32]), Err(PlaceError::Wrong)));
        assert_eq!(fs::read_dir(dir.path()).expect("a directory").count(), 0);
    }
}
