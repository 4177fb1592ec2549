//! What a host keeps over a restart: small files, each written in one step.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Weak;
use std::time::Duration;

use bentpipe_association::endpoint::Endpoint;
use bentpipe_association::host::Shared;

/// Time between two looks whether there is anything new. What is lost in a crash is no more than that.
pub(crate) const PAUSE: Duration = Duration::from_secs(60);

/// Times at which a file is tried at the end, and the time between them.
const LAST_TRIES: u32 = 50;
const LAST_PAUSE: Duration = Duration::from_millis(10);

/// How often the place beside a file is asked for that others take at the same time.
const TRIES: u32 = 1000;

/// No file that a host keeps is longer.
const LONGEST: u64 = 16 << 20;

/// The content of such a file; none if there is no file, or nothing in it, which a crash may leave.
///
/// # Errors
/// When it cannot be read, is no file, or is too long to be one of these.
pub(crate) fn read(path: &Path) -> io::Result<Option<String>> {
    let is_file = match fs::metadata(path) {
        Ok(metadata) => metadata.is_file(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if !is_file {
        return Err(io::Error::other("it is no file"));
    }
    let mut text = String::new();
    let read = File::open(path)?.take(LONGEST + 1).read_to_string(&mut text)?;
    if read as u64 > LONGEST {
        return Err(io::Error::other(format!("it is longer than {LONGEST} bytes")));
    }
    Ok(Some(text).filter(|text| !text.is_empty()))
}

/// Something that is kept in a file of its own.
pub(crate) trait Kept: Clone + Send + Sync + 'static {
    /// What it is, for messages.
    const WHAT: &'static str;

    /// The content of the file.
    fn content(&self) -> Vec<u8>;

    /// Whether it says more than what the file holds.
    fn is_news(&self, saved: &Self) -> bool;

    /// The same and what the file says that another process of this key wrote meanwhile.
    fn with_others(&self, _path: &Path) -> Self {
        self.clone()
    }
}

/// Keeps something in a file.
#[derive(Debug)]
pub(crate) struct Keeper<T> {
    path: PathBuf,
    saved: Option<T>,
    /// It was said that it does not work.
    has_failed: bool,
}

impl<T: Kept> Keeper<T> {
    /// The file holds this, or there is none yet.
    pub(crate) const fn new(path: PathBuf, saved: Option<T>) -> Self {
        Self { path, saved, has_failed: false }
    }

    /// Writes what is new in the place of what was there, in one step. Of two processes that do so in turn each has what the other
    /// one wrote. Gives false where another one is at it: it may have been stopped in that moment, and nobody waits for it.
    pub(crate) fn save(&mut self, value: &T) -> bool {
        if self.saved.as_ref().is_some_and(|saved| !value.is_news(saved)) {
            return true;
        }
        match self.write(value) {
            Ok(()) => self.saved = Some(value.clone()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return false,
            Err(error) if !std::mem::replace(&mut self.has_failed, true) => {
                tracing::warn!(path = %self.path.display(), %error, "cannot store {}", T::WHAT);
            }
            Err(_) => {}
        }
        true
    }

    /// Writes what there is at the end, after another process if it does not take long.
    pub(crate) async fn save_last(&mut self, value: &T) {
        for _ in 0..LAST_TRIES {
            if self.save(value) {
                return;
            }
            tokio::time::sleep(LAST_PAUSE).await;
        }
        tracing::warn!(path = %self.path.display(), "another process holds {} back", T::WHAT);
    }

    fn write(&self, value: &T) -> io::Result<()> {
        let mut beside = self.path.as_os_str().to_owned();
        beside.push(".new");
        let beside = PathBuf::from(beside);
        let mut file = only_writer(&beside)?;
        file.set_len(0)?;
        file.write_all(&value.with_others(&self.path).content())?;
        // Or a crash may leave the new name without what is behind it.
        file.sync_all()?;
        fs::rename(&beside, &self.path)
    }

    /// Looks from time to time what an endpoint has to keep, as long as its host exists.
    pub(crate) async fn run(mut self, of: Weak<Shared<Endpoint>>, value: fn(&Endpoint) -> T) {
        loop {
            tokio::time::sleep(PAUSE).await;
            let Some(shared) = of.upgrade() else { return };
            let value = value(&shared.endpoint());
            drop(shared);
            let saved = tokio::task::spawn_blocking(move || {
                self.save(&value);
                self
            });
            match saved.await {
                Ok(keeper) => self = keeper,
                // The runtime is shutting down.
                Err(_) => return,
            }
        }
    }
}

/// A file of this name that no other process writes until it is closed.
///
/// # Errors
/// `WouldBlock` where another one has it; whatever it cannot be opened for.
fn only_writer(path: &Path) -> io::Result<File> {
    for _ in 0..TRIES {
        // What somebody else left there is not written into.
        match fs::symlink_metadata(path) {
            Ok(there) if !there.is_file() || there.nlink() > 1 => fs::remove_file(path)?,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                match File::options().write(true).create_new(true).mode(0o600).open(path) {
                    Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                        return Err(error);
                    }
                    _ => {}
                }
            }
            Err(error) => return Err(error),
        }
        let file = match File::options().write(true).open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            // Another user's, from before this process gave up its rights.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                fs::remove_file(path)?;
                continue;
            }
            Err(error) => return Err(error),
        };
        file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => io::Error::from(io::ErrorKind::WouldBlock),
            TryLockError::Error(error) => error,
        })?;
        // The one that held it has given it its name, unless it is still this one.
        if is_named(&file, path) {
            return Ok(file);
        }
    }
    Err(io::Error::other(format!("others write {} all the time", path.display())))
}

/// Whether this is the file of that name.
fn is_named(file: &File, path: &Path) -> bool {
    let (Ok(open), Ok(named)) = (file.metadata(), fs::symlink_metadata(path)) else { return false };
    (open.dev(), open.ino()) == (named.dev(), named.ino())
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Kept for String {
        const WHAT: &'static str = "a text";

        fn content(&self) -> Vec<u8> {
            self.clone().into_bytes()
        }

        fn is_news(&self, saved: &Self) -> bool {
            self != saved
        }
    }

    /// Numbers, one for each process that keeps them.
    #[derive(Clone, PartialEq)]
    struct Numbers(std::collections::BTreeSet<u32>);

    impl Numbers {
        fn load(path: &Path) -> Self {
            let text = read(path).expect("a file").unwrap_or_default();
            Self(text.lines().map(|line| line.parse().expect("a number")).collect())
        }
    }

    impl Kept for Numbers {
        const WHAT: &'static str = "numbers";

        fn content(&self) -> Vec<u8> {
            self.0.iter().flat_map(|number| format!("{number}\n").into_bytes()).collect()
        }

        fn is_news(&self, saved: &Self) -> bool {
            self != saved
        }

        fn with_others(&self, path: &Path) -> Self {
            Self(self.0.union(&Self::load(path).0).copied().collect())
        }
    }

    #[test]
    fn of_many_that_write_at_once_none_loses_what_another_one_wrote_and_the_file_is_never_in_parts()
    {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("numbers");
        std::thread::scope(|scope| {
            for number in 0..8 {
                let path = path.clone();
                scope.spawn(move || {
                    for n in 0..20 {
                        let own = Numbers([100 * number + n].into());
                        while !Keeper::new(path.clone(), None).save(&own) {
                            std::thread::yield_now();
                        }
                        let there = Numbers::load(&path);
                        assert!(own.0.is_subset(&there.0), "{number}, {n}");
                    }
                });
            }
        });
        assert_eq!(Numbers::load(&path).0.len(), 160);
        assert_eq!(fs::read_dir(dir.path()).expect("the directory").count(), 1);
    }

    #[test]
    fn what_is_new_takes_the_place_of_what_was_there_and_leaves_nothing_beside_it() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("text");
        let mut keeper = Keeper::new(path.clone(), None);
        for text in ["long ago", "now"] {
            assert!(keeper.save(&text.to_owned()));
            assert_eq!(fs::read_to_string(&path).expect("a file"), text);
        }
        assert_eq!(fs::read_dir(dir.path()).expect("the directory").count(), 1);
        fs::remove_file(&path).expect("removed");
        assert!(keeper.save(&"now".to_owned()));
        assert!(!path.exists(), "nothing is new");
    }

    #[test]
    fn what_stands_beside_is_replaced_and_not_written_into() {
        let dir = tempfile::tempdir().expect("a directory");
        let (path, beside) = (dir.path().join("text"), dir.path().join("text.new"));
        let precious = dir.path().join("precious");
        fs::write(&precious, "do not touch").expect("written");
        std::os::unix::fs::symlink(&precious, &beside).expect("a link");
        assert!(Keeper::new(path.clone(), None).save(&"now".to_owned()));
        assert_eq!(fs::read_to_string(&precious).expect("there"), "do not touch");
        assert_eq!(read(&path).expect("a file").as_deref(), Some("now"));
        let mode = std::os::unix::fs::MetadataExt::mode(&fs::metadata(&path).expect("a file"));
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn what_is_no_file_or_has_no_end_is_not_read() {
        assert!(
            read(Path::new("/dev/zero")).expect_err("a device").to_string().contains("no file")
        );
        let dir = tempfile::tempdir().expect("a directory");
        assert!(read(dir.path()).expect_err("a directory").to_string().contains("no file"));
        assert_eq!(read(&dir.path().join("nothing")).expect("none"), None);
        let long = dir.path().join("long");
        File::create(&long).expect("a file").set_len(LONGEST + 1).expect("longer");
        assert!(read(&long).expect_err("too long").to_string().contains("longer than"));
    }

    #[test]
    fn a_directory_that_cannot_be_written_is_no_reason_to_end() {
        let mut keeper = Keeper::new("/proc/no/such/place".into(), None);
        assert!(keeper.save(&"text".to_owned()));
        assert!(keeper.has_failed);
    }

    #[tokio::test]
    async fn a_process_that_was_stopped_while_it_wrote_holds_up_nobody() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("text");
        let stopped = only_writer(&dir.path().join("text.new")).expect("a file");
        let mut keeper = Keeper::new(path.clone(), None);
        assert!(!keeper.save(&"now".to_owned()));
        assert!(!path.exists() && !keeper.has_failed);
        let last = async { keeper.save_last(&"now".to_owned()).await };
        // It goes on after the first of the tries.
        tokio::join!(last, async { drop(stopped) });
        assert_eq!(read(&path).expect("a file").as_deref(), Some("now"));
    }
}
