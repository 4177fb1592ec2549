//! Whether an association hides what it carries.

use snow::params::{CipherChoice, DHChoice, HashChoice};
use snow::resolvers::{CryptoResolver, FallbackResolver, RingResolver};
use snow::types::{Cipher, Dh, Hash, Random};
use snow::{Builder, Error};

use super::cookie::same;
use super::datagram::TAG;
use super::exchange::{Ephemeral, Exchange, Once};

/// What protects the datagrams of a host. Both ends must name the same, or they do not hear each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Security {
    /// Everything is encrypted and authenticated.
    #[default]
    Full,
    /// Nothing is encrypted, for links where that is forbidden, as in amateur radio: everybody on the
    /// way can read what is sent. Peers still prove their keys, and every datagram its origin.
    None,
}

impl Security {
    /// Added to the first byte of a datagram, so that the kinds of the two are never mixed up.
    pub(super) const fn mark(self) -> u8 {
        match self {
            Self::Full => 0,
            Self::None => 0x10,
        }
    }

    /// What both ends must agree on before the first message.
    pub(super) const fn prologue(self) -> &'static [u8] {
        match self {
            Self::Full => b"bentpipe association 2",
            Self::None => b"bentpipe association 2 readable",
        }
    }

    /// The beginning of a handshake of this pattern, with this key of its own.
    pub(super) fn builder(self, pattern: &str, ephemeral: Ephemeral) -> Builder<'static> {
        let params = pattern.parse().expect("a pattern that snow knows");
        let ours = Box::new(Resolver { security: self, ephemeral });
        Builder::with_resolver(
            params,
            Box::new(FallbackResolver::new(ours, Box::new(RingResolver))),
        )
    }
}

/// What ring does not have: the exchange of keys that last, and a cipher that hides nothing. Randomness is the host's.
struct Resolver {
    security: Security,
    ephemeral: Ephemeral,
}

impl CryptoResolver for Resolver {
    fn resolve_rng(&self) -> Option<Box<dyn Random>> {
        Some(Box::new(Once(Some(self.ephemeral.clone()))))
    }

    fn resolve_dh(&self, choice: &DHChoice) -> Option<Box<dyn Dh>> {
        matches!(choice, DHChoice::Curve25519).then(|| Box::<Exchange>::default() as Box<dyn Dh>)
    }

    fn resolve_hash(&self, _: &HashChoice) -> Option<Box<dyn Hash>> {
        None
    }

    fn resolve_cipher(&self, _: &CipherChoice) -> Option<Box<dyn Cipher>> {
        match self.security {
            Security::Full => None,
            Security::None => Some(Box::new(Readable::new([0; 32]))),
        }
    }
}

/// Leaves the text as it is and adds a keyed BLAKE3 hash over it, its number and what belongs to it.
pub(super) struct Readable {
    key: [u8; 32],
}

impl Readable {
    pub(super) const fn new(key: [u8; 32]) -> Self {
        Self { key }
    }

    /// The hash over a text and what belongs to it.
    pub(super) fn tag(&self, nonce: u64, authtext: &[u8], text: &[u8]) -> [u8; TAG] {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        hasher.update(&nonce.to_be_bytes());
        hasher.update(&(authtext.len() as u64).to_be_bytes());
        hasher.update(authtext);
        hasher.update(text);
        let mut tag = [0; TAG];
        hasher.finalize_xof().fill(&mut tag);
        tag
    }
}

impl std::fmt::Debug for Readable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Readable").finish_non_exhaustive()
    }
}

impl Cipher for Readable {
    fn name(&self) -> &'static str {
        "BLAKE3tag"
    }

    fn set(&mut self, key: &[u8; 32]) {
        self.key = *key;
    }

    fn encrypt(&self, nonce: u64, authtext: &[u8], text: &[u8], out: &mut [u8]) -> usize {
        out[..text.len()].copy_from_slice(text);
        out[text.len()..text.len() + TAG].copy_from_slice(&self.tag(nonce, authtext, text));
        text.len() + TAG
    }

    fn decrypt(
        &self,
        nonce: u64,
        authtext: &[u8],
        sealed: &[u8],
        out: &mut [u8],
    ) -> Result<usize, Error> {
        let (text, tag) = sealed.split_last_chunk::<TAG>().ok_or(Error::Decrypt)?;
        if !same(&self.tag(nonce, authtext, text), tag) {
            return Err(Error::Decrypt);
        }
        out[..text.len()].copy_from_slice(text);
        Ok(text.len())
    }
}
