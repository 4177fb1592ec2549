//! Static keys: who a host is and whom it lets in.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use zeroize::Zeroize as _;

/// Bytes of a key (X25519).
const LEN: usize = 32;
/// Permissions of a key file: its owner alone reads and writes it.
const MODE: u32 = 0o600;

/// The public key of a host: its name towards others.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublicKey([u8; LEN]);

impl PublicKey {
    /// The key with these bytes; `None` when there are not exactly 32.
    pub fn from_slice(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// The bytes of the key.
    pub const fn as_bytes(&self) -> &[u8; LEN] {
        &self.0
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&STANDARD.encode(self.0))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({self})")
    }
}

impl FromStr for PublicKey {
    type Err = BadKey;

    fn from_str(text: &str) -> Result<Self, BadKey> {
        decode(text).map(Self)
    }
}

/// A text that is no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a key: 32 bytes in base64 (44 characters) are expected")]
pub struct BadKey;

fn decode(text: &str) -> Result<[u8; LEN], BadKey> {
    STANDARD.decode(text.trim()).ok().and_then(|bytes| bytes.try_into().ok()).ok_or(BadKey)
}

/// The secret key of this host and the public key that belongs to it.
#[derive(Clone)]
pub struct SecretKey {
    secret: [u8; LEN],
    public: PublicKey,
}

/// A key file that can not be used.
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

impl Drop for SecretKey {
    fn drop(&mut self) {
        self.secret.zeroize();
    }
}

impl SecretKey {
    /// A new key from the system's source of randomness.
    ///
    /// # Panics
    ///
    /// When the system has no source of randomness.
    pub fn generate() -> Self {
        let mut secret = [0; LEN];
        getrandom::fill(&mut secret).expect("the system's source of randomness");
        Self::from_bytes(secret)
    }

    /// The key with these bytes.
    pub fn from_bytes(secret: [u8; LEN]) -> Self {
        let public = PublicKey(crate::association::public_of(&secret));
        Self { secret, public }
    }

    /// The public key that belongs to it.
    pub const fn public(&self) -> PublicKey {
        self.public
    }

    pub(crate) const fn secret(&self) -> &[u8; LEN] {
        &self.secret
    }

    /// Reads a key file.
    ///
    /// # Errors
    /// When the file can not be read, others may read it too, or it holds no key.
    pub fn load(path: &Path) -> Result<Self, KeyFileError> {
        let file = |error| KeyFileError::File { path: path.to_owned(), error };
        let mode = fs::metadata(path).map_err(file)?.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            return Err(KeyFileError::Mode { path: path.to_owned(), mode });
        }
        let text = fs::read_to_string(path).map_err(file)?;
        let content = |error| KeyFileError::Content { path: path.to_owned(), error };
        decode(&text).map(Self::from_bytes).map_err(content)
    }

    /// Writes a new key file, readable by its owner alone. An existing file is never overwritten.
    ///
    /// # Errors
    /// When the file exists or can not be written.
    pub fn save(&self, path: &Path) -> Result<(), KeyFileError> {
        let file = |error| KeyFileError::File { path: path.to_owned(), error };
        if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            fs::create_dir_all(parent).map_err(file)?;
        }
        let mut options = OpenOptions::new();
        let mut out = options.write(true).create_new(true).mode(MODE).open(path).map_err(file)?;
        writeln!(out, "{}", STANDARD.encode(self.secret)).map_err(file)
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretKey(of {})", self.public)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_saved_key_is_the_same_when_it_is_loaded() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("deep/key");
        let key = SecretKey::generate();
        key.save(&path).expect("saved");
        let loaded = SecretKey::load(&path).expect("loaded");
        assert_eq!(loaded.secret(), key.secret());
        assert_eq!(loaded.public().to_string().parse(), Ok(key.public()));
        assert!(key.save(&path).is_err(), "an existing key is not overwritten");
    }

    #[test]
    fn a_key_that_others_may_read_is_refused() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("key");
        SecretKey::generate().save(&path).expect("saved");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("a mode");
        let error = SecretKey::load(&path).expect_err("refused").to_string();
        assert!(error.contains("0640") && error.contains("chmod 600"), "{error}");
    }

    #[test]
    fn the_secret_is_never_shown() {
        let key = SecretKey::from_bytes([7; LEN]);
        assert!(!format!("{key:?}").contains(&STANDARD.encode([7; LEN])));
        assert_eq!("c2hvcnQ=".parse::<PublicKey>(), Err(BadKey));
    }
}
