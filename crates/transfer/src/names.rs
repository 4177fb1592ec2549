//! Names that a peer may give to what it sends.

use std::path::{Path, PathBuf};

/// Longest name, in bytes.
const MOST_NAME: usize = 4096;
/// Most parts of a name.
const MOST_PARTS: usize = 256;
/// Longest part of a name that file systems take, in bytes.
const MOST_PART: usize = 255;
/// What the name of a file that is not complete begins and ends with.
const PARTIAL: (&str, &str) = (".", ".bentpipe-part");
/// The same of one that is not complete while another sender's has the usual name.
const OWN_PARTIAL: (&str, &str) = (".", ".bentpipe-sender-part");
/// The same of a symbolic link that is being made.
const LINK: (&str, &str) = (".", ".bentpipe-link");

/// Why something has no place in the directory.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum NameError {
    #[error("the name leaves the directory")]
    Escapes,
    #[error("the name is longer than {MOST_NAME} bytes or {MOST_PARTS} parts")]
    Long,
    #[error("the name is one of a file that is being received")]
    Reserved,
}

/// The path of a name below the directory: no part leads upwards.
pub(crate) fn path_of(name: &str) -> Result<PathBuf, NameError> {
    if name.len() > MOST_NAME || name.split('/').count() > MOST_PARTS {
        return Err(NameError::Long);
    }
    let bad = |part: &str| matches!(part, "" | "." | "..") || part.contains('\0');
    if name.split('/').any(bad) {
        return Err(NameError::Escapes);
    }
    let is =
        |part: &str, (first, last): (&str, &str)| part.starts_with(first) && part.ends_with(last);
    let reserved = |part: &str| [PARTIAL, OWN_PARTIAL, LINK].iter().any(|name| is(part, *name));
    if name.split('/').any(reserved) {
        return Err(NameError::Reserved);
    }
    Ok(PathBuf::from(name))
}

/// Where a file is until it is complete.
pub(crate) fn partial_of(path: &Path) -> PathBuf {
    let (first, last) = PARTIAL;
    let mut name = path.file_name().unwrap_or_default().to_string_lossy();
    if name.len() + first.len() + last.len() > MOST_PART {
        name = blake3::hash(name.as_bytes()).to_hex().to_string().into();
    }
    path.with_file_name(format!("{first}{name}{last}"))
}

/// Where it is when another sender's is there.
pub(crate) fn own_partial_of(path: &Path, sender: &str) -> PathBuf {
    of_sender(path, sender, OWN_PARTIAL)
}

/// Where a symbolic link is made.
pub(crate) fn new_link_of(path: &Path, sender: &str) -> PathBuf {
    of_sender(path, sender, LINK)
}

/// A name that is that of no other file and no other sender.
fn of_sender(path: &Path, sender: &str, (first, last): (&str, &str)) -> PathBuf {
    let mut hasher = blake3::Hasher::new();
    hasher.update(path.file_name().unwrap_or_default().as_encoded_bytes());
    hasher.update(b"/").update(sender.as_bytes());
    path.with_file_name(format!("{first}{}{last}", hasher.finalize().to_hex()))
}

/// The directory that a path is in; empty for that of the whole transfer.
pub(crate) fn parent_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}

/// Whether a link with this name and target leads to something inside of the directory. `..` may only stand in
/// front, where it leaves real directories: behind another link it could lead anywhere.
pub(crate) fn stays_inside(path: &Path, target: &str) -> bool {
    if target.is_empty() || target.len() > MOST_NAME || target.contains('\0') {
        return false;
    }
    let mut depth = parent_of(path).iter().count();
    let mut upwards = true;
    if target.starts_with('/') {
        return false;
    }
    for part in target.split('/') {
        match part {
            "." | "" => {}
            ".." if !upwards || depth == 0 => return false,
            ".." => depth -= 1,
            _ => upwards = false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_leave_the_directory_are_refused() {
        for name in ["", "/etc/passwd", "../x", "a/../../x", "a//b", ".", "a/.", "a\0b", "a/"] {
            assert_eq!(path_of(name), Err(NameError::Escapes), "{name:?}");
        }
        for name in ["a/b/..c", "dev-disk\\x2dby.device"] {
            assert_eq!(path_of(name), Ok(PathBuf::from(name)));
        }
        assert_eq!(path_of(&"x/".repeat(3000)), Err(NameError::Long));
    }

    #[test]
    fn nobody_sends_the_beginning_of_a_file_of_somebody_else() {
        assert_eq!(path_of(".file.bentpipe-part"), Err(NameError::Reserved));
        assert_eq!(path_of(".d.bentpipe-part/x"), Err(NameError::Reserved));
        assert_eq!(path_of(".l.bentpipe-link"), Err(NameError::Reserved));
        assert_eq!(path_of(".f.bentpipe-sender-part"), Err(NameError::Reserved));
        let [a, b] = ["a", "b"].map(|sender| own_partial_of(Path::new("d/f"), sender));
        assert!(a != b && a.starts_with("d") && path_of(&a.to_string_lossy()).is_err());
        assert_eq!(partial_of(Path::new("a/file")), Path::new("a/.file.bentpipe-part"));
        let long = "x".repeat(MOST_PART);
        assert!(partial_of(Path::new(&long)).as_os_str().len() <= MOST_PART);
    }

    #[test]
    fn links_lead_to_what_is_inside() {
        let inside = [
            ("l", "a"),
            ("l", "a/b"),
            ("d/l", "../a"),
            ("d/e/l", "../../a"),
            ("l", "./a"),
            ("d/l", ".."),
        ];
        let outside = [
            ("l", "/etc"),
            ("l", ".."),
            ("l", "../a"),
            ("d/l", "../../a"),
            ("l", ""),
            ("a/l", "b/../../x"),
        ];
        assert!(inside.iter().all(|(name, target)| stays_inside(Path::new(name), target)));
        assert!(!outside.iter().any(|(name, target)| stays_inside(Path::new(name), target)));
    }

    #[test]
    fn a_link_does_not_leave_by_way_of_another_one() {
        // With `a/up` leading to the directory itself, this would be above it.
        assert!(stays_inside(Path::new("a/up"), ".."));
        assert!(!stays_inside(Path::new("a/b/c/l"), "../../up/../x"));
    }
}
