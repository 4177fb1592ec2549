//! What is to be sent: the files and directories under some paths.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use walkdir::WalkDir;

use bentpipe_transfer::{Entry, What};

/// What is done with symbolic links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Links {
    /// They are left out.
    #[default]
    Skip,
    /// They are sent as links.
    Send,
}

/// A path that cannot be sent.
#[derive(Debug, thiserror::Error)]
pub enum EntryError {
    /// It cannot be read.
    #[error("{path}: {error}", path = path.display())]
    Unreadable {
        /// The path.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// Its name is not Unicode.
    #[error("{path}: the name is not valid UTF-8", path = path.display())]
    Name {
        /// The path.
        path: PathBuf,
    },
    /// It is a symbolic link, and these are left out.
    #[error("{path}: a symbolic link", path = path.display())]
    Link {
        /// The path.
        path: PathBuf,
    },
    /// It is a device, a socket or something else that holds no bytes of its own.
    #[error("{path}: neither a file nor a directory", path = path.display())]
    Kind {
        /// The path.
        path: PathBuf,
    },
    /// It would have the same name at the receiver as another one.
    #[error(
        "{first} and {second}: both would be called {name} at the receiver; nothing is sent. Name \
         directories above them that are called differently, or send them one by one",
        first = first.display(), second = second.display()
    )]
    Twice {
        /// The path that was found first.
        first: PathBuf,
        /// The other one.
        second: PathBuf,
        /// The name of both.
        name: String,
    },
}

/// The entries under some paths, each directory before what is in it, and those that cannot be sent. There are no
/// entries when two of them would have one name at the receiver: one would replace the other.
pub fn entries(paths: &[PathBuf], links: Links) -> (Vec<Entry>, Vec<EntryError>) {
    let (mut entries, mut errors) = (Vec::new(), Vec::new());
    for root in paths {
        // What has no name of its own (`.`, `/`) is sent by its content.
        let base = match root.file_name() {
            Some(_) => root.parent().unwrap_or(Path::new("")),
            None => root,
        };
        for found in WalkDir::new(root).follow_root_links(false).sort_by_file_name() {
            let entry = match found {
                Ok(found) => found
                    .metadata()
                    .map_err(|error| unreadable(found.path(), error.into()))
                    .and_then(|metadata| entry(found.path(), base, &metadata, links)),
                Err(error) => {
                    let path = error.path().unwrap_or(root).to_owned();
                    Err(unreadable(&path, error.into()))
                }
            };
            match entry {
                Ok(Some(entry)) => entries.push(entry),
                Ok(None) => {}
                Err(error) => errors.push(error),
            }
        }
    }
    // Below a single path no name comes twice.
    if paths.len() > 1 {
        let twice = take_twice(&mut entries);
        if !twice.is_empty() {
            entries.clear();
            errors.extend(twice);
        }
    }
    (entries, errors)
}

/// Leaves out what was found twice, and tells different things that would have one name. Directories are merged.
fn take_twice(entries: &mut Vec<Entry>) -> Vec<EntryError> {
    let mut first: HashMap<String, Entry> = HashMap::with_capacity(entries.len());
    let mut errors = Vec::new();
    entries.retain(|entry| {
        let Some(before) = first.get(entry.name()) else {
            first.insert(entry.name().to_owned(), entry.clone());
            return true;
        };
        if is_same(&before.path, &entry.path) {
            return false;
        }
        if !(before.is_directory() && entry.is_directory()) {
            let (first, second) = (before.path.clone(), entry.path.clone());
            errors.push(EntryError::Twice { first, second, name: entry.name().to_owned() });
        }
        true
    });
    errors
}

/// Whether two paths lead to the same thing.
fn is_same(one: &Path, other: &Path) -> bool {
    let id = |path| std::fs::symlink_metadata(path).map(|now| (now.dev(), now.ino())).ok();
    one == other || id(one).is_some_and(|one| id(other) == Some(one))
}

fn unreadable(path: &Path, error: io::Error) -> EntryError {
    EntryError::Unreadable { path: path.to_owned(), error }
}

/// The entry of a path below `base`; none for the base itself.
fn entry(
    path: &Path,
    base: &Path,
    metadata: &Metadata,
    links: Links,
) -> Result<Option<Entry>, EntryError> {
    let bad_name = || EntryError::Name { path: path.to_owned() };
    let relative = path.strip_prefix(base).unwrap_or(path);
    let parts: Option<Vec<&str>> = relative.iter().map(OsStr::to_str).collect();
    let name = parts.ok_or_else(bad_name)?.join("/");
    if name.is_empty() {
        return Ok(None);
    }
    let what = match metadata.file_type() {
        kind if kind.is_file() => What::File { size: metadata.len() },
        kind if kind.is_dir() => What::Directory,
        kind if kind.is_symlink() && links == Links::Skip => {
            return Err(EntryError::Link { path: path.to_owned() });
        }
        kind if kind.is_symlink() => {
            let target = std::fs::read_link(path).map_err(|error| unreadable(path, error))?;
            What::Link { target: target.to_str().ok_or_else(bad_name)?.to_owned() }
        }
        _ => return Err(EntryError::Kind { path: path.to_owned() }),
    };
    let changed = changed(metadata).map_err(|error| unreadable(path, error))?;
    let mode = metadata.permissions().mode() & 0o777;
    Ok(Some(Entry::new(path.to_owned(), name, what, mode, changed)))
}

/// When a file was changed, in nanoseconds since 1970.
pub(super) fn changed(metadata: &Metadata) -> io::Result<i128> {
    Ok(match metadata.modified()?.duration_since(UNIX_EPOCH) {
        Ok(after) => after.as_nanos() as i128,
        Err(before) => -(before.duration().as_nanos() as i128),
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_directory_comes_before_what_is_in_it_and_links_are_told() {
        let dir = tempfile::tempdir().expect("a directory");
        let root = dir.path().join("tree");
        fs::create_dir_all(root.join("b")).expect("made");
        fs::write(root.join("a.txt"), "12345").expect("written");
        fs::write(root.join("b/c"), "").expect("written");
        std::os::unix::fs::symlink("/etc/passwd", root.join("link")).expect("linked");
        let (found, errors) = entries(&[root.clone(), dir.path().join("nothing")], Links::Skip);
        let names: Vec<_> = found.iter().map(|entry| (entry.name(), entry.size())).collect();
        let expected =
            [("tree", None), ("tree/a.txt", Some(5)), ("tree/b", None), ("tree/b/c", Some(0))];
        assert_eq!(names, expected);
        assert!(matches!(errors[..], [EntryError::Link { .. }, EntryError::Unreadable { .. }]));
        let (found, errors) = entries(&[root], Links::Send);
        let link = found.iter().find(|entry| entry.name() == "tree/link").expect("a link");
        assert_eq!(link.target(), Some("/etc/passwd"));
        assert!(errors.is_empty());
    }

    #[test]
    fn two_files_that_would_have_one_name_are_an_error_and_nothing_is_sent() {
        let dir = tempfile::tempdir().expect("a directory");
        let at = |name: &str| dir.path().join(name);
        for (name, text) in [("a/f", "one"), ("b/f", "two22"), ("a/d/x", "1"), ("b/d/y", "2")] {
            fs::create_dir_all(at(name).parent().expect("a parent")).expect("made");
            fs::write(at(name), text).expect("written");
        }
        let (found, errors) = entries(&[at("a/f"), at("b/f"), at("a/d")], Links::Skip);
        assert!(found.is_empty());
        let [error] = &errors[..] else { panic!("{errors:?}") };
        let said = error.to_string();
        for part in [at("a/f").display().to_string(), at("b/f").display().to_string()] {
            assert!(said.contains(&part), "{said}");
        }
        // Directories are merged as long as nothing below them has one name.
        let (found, errors) = entries(&[at("a/d"), at("b/d")], Links::Skip);
        assert!(errors.is_empty(), "{errors:?}");
        let names: Vec<_> = found.iter().map(Entry::name).collect();
        assert_eq!(names, ["d", "d/x", "d", "d/y"]);
        fs::write(at("b/d/x"), "3").expect("written");
        let (found, errors) = entries(&[at("a/d"), at("b/d")], Links::Skip);
        assert!(found.is_empty() && matches!(errors[..], [EntryError::Twice { .. }]));
        // A file where the other one is a directory.
        fs::create_dir(at("c")).expect("made");
        fs::write(at("c/d"), "4").expect("written");
        let (found, errors) = entries(&[at("a/d"), at("c/d")], Links::Skip);
        assert!(found.is_empty() && matches!(errors[..], [EntryError::Twice { .. }]));
    }

    #[test]
    fn what_is_named_twice_is_sent_once() {
        let dir = tempfile::tempdir().expect("a directory");
        fs::write(dir.path().join("f"), "x").expect("written");
        let paths = [dir.path().join("f"), dir.path().join("./f"), dir.path().join("f")];
        let (found, errors) = entries(&paths, Links::Skip);
        assert!(errors.is_empty() && found.len() == 1, "{found:?} {errors:?}");
    }
}
