//! Static keys: who a host is and whom it lets in.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bentpipe_units::Written;
use x25519_dalek::{X25519_BASEPOINT_BYTES, x25519};
use zeroize::Zeroize as _;

/// Bytes of a key (X25519).
const LEN: usize = 32;

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

impl Written for PublicKey {
    const NAME: &'static str = "PublicKey";
    const EXPECTED: &'static str = "a public key as `bentpipe keygen` prints it, 44 characters";
    const PATTERN: &'static str = r"^[A-Za-z0-9+/]{43}=$";
}

impl FromStr for PublicKey {
    type Err = BadKey;

    fn from_str(text: &str) -> Result<Self, BadKey> {
        decode(text).map(Self)
    }
}

/// The public key of a secret one.
pub(crate) fn public_of(secret: &[u8; LEN]) -> [u8; LEN] {
    x25519(*secret, X25519_BASEPOINT_BYTES)
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

impl FromStr for SecretKey {
    type Err = BadKey;

    fn from_str(text: &str) -> Result<Self, BadKey> {
        decode(text).map(Self::from_bytes)
    }
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
        let public = PublicKey(public_of(&secret));
        Self { secret, public }
    }

    /// The public key that belongs to it.
    pub const fn public(&self) -> PublicKey {
        self.public
    }

    /// Its bytes, which nobody else may know.
    pub const fn secret(&self) -> &[u8; LEN] {
        &self.secret
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
    fn keys_are_what_their_texts_say() {
        let key = SecretKey::generate();
        assert_eq!(key.public().to_string().parse(), Ok(key.public()));
        let text = STANDARD.encode(key.secret());
        assert_eq!(text.parse::<SecretKey>().map(|key| key.public()), Ok(key.public()));
    }

    #[test]
    fn the_secret_is_never_shown() {
        let key = SecretKey::from_bytes([7; LEN]);
        assert!(!format!("{key:?}").contains(&STANDARD.encode([7; LEN])));
        assert_eq!("c2hvcnQ=".parse::<PublicKey>(), Err(BadKey));
    }
}
