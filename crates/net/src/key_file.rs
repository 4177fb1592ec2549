//! Key files: a secret key that only its owner may read.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bentpipe_association::{BadKey, SecretKey};

/// Permissions of a key file: its owner alone reads and writes it.
const MODE: u32 = 0o600;

/// A key file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyFileError {
    /// It could not be read or written.
    #[error("{path}: {error}", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        error: io::Error,
    },
    /// Others than its owner may read it.
    #[error(
        "{path}: mode {mode:04o} lets others read the secret key; `chmod 600 {path}` makes it right",
        path = path.display()
    )]
    Mode {
        /// The file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// It holds no key.
    #[error("{path}: {error}", path = path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        error: BadKey,
    },
}

/// Reads a key file.
///
/// # Errors
/// When the file cannot be read, others may read it too, or it holds no key.
pub fn load(path: &Path) -> Result<SecretKey, KeyFileError> {
    let file = |error| KeyFileError::File { path: path.to_owned(), error };
    let mode = fs::metadata(path).map_err(file)?.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(KeyFileError::Mode { path: path.to_owned(), mode });
    }
    let text = fs::read_to_string(path).map_err(file)?;
    text.parse().map_err(|error| KeyFileError::Content { path: path.to_owned(), error })
}

/// Writes a new key file, readable by its owner alone. An existing file is never overwritten.
///
/// # Errors
/// When the file exists or cannot be written.
pub fn save(key: &SecretKey, path: &Path) -> Result<(), KeyFileError> {
    let file = |error| KeyFileError::File { path: path.to_owned(), error };
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        fs::create_dir_all(parent).map_err(file)?;
    }
    let mut options = OpenOptions::new();
    let mut out = options.write(true).create_new(true).mode(MODE).open(path).map_err(file)?;
    writeln!(out, "{}", STANDARD.encode(key.secret())).map_err(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_saved_key_is_the_same_when_it_is_loaded() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("deep/key");
        let key = SecretKey::generate();
        save(&key, &path).expect("saved");
        assert_eq!(load(&path).expect("loaded").secret(), key.secret());
        assert!(save(&key, &path).is_err(), "an existing key is not overwritten");
    }

    #[test]
    fn a_key_that_others_may_read_is_refused() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("key");
        save(&SecretKey::generate(), &path).expect("saved");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("a mode");
        let error = load(&path).expect_err("refused").to_string();
        assert!(error.contains("0640") && error.contains("chmod 600"), "{error}");
    }
}
