//! Diffie-Hellman for snow: X25519 (RFC 7748) with keys that last, which ring does not have.

use snow::Error;
use snow::types::{Dh, Random};
use x25519_dalek::x25519;
use zeroize::Zeroize;

use crate::key::public_of;

/// Bytes of a key.
const LEN: usize = 32;

/// The secret key of one handshake. It comes from the host's source of randomness, so that a host whose source can be
/// repeated says the same again.
#[derive(Clone)]
pub struct Ephemeral([u8; LEN]);

impl Ephemeral {
    /// A key of these bytes, which nobody else may know and no other handshake may have.
    pub const fn from_bytes(bytes: [u8; LEN]) -> Self {
        Self(bytes)
    }

    /// A key of what a source of randomness gives.
    pub fn draw(entropy: &mut impl FnMut() -> u64) -> Self {
        let mut bytes = [0; LEN];
        for part in bytes.chunks_exact_mut(8) {
            part.copy_from_slice(&entropy().to_be_bytes());
        }
        Self(bytes)
    }
}

impl std::fmt::Debug for Ephemeral {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ephemeral").finish_non_exhaustive()
    }
}

impl Drop for Ephemeral {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

/// What a handshake draws is its key, once.
pub(super) struct Once(pub(super) Option<Ephemeral>);

impl Random for Once {
    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        let key = self.0.take().filter(|key| key.0.len() == bytes.len()).ok_or(Error::Rng)?;
        bytes.copy_from_slice(&key.0);
        Ok(())
    }
}

/// One end of an exchange. Its secret is erased at the end.
#[derive(Default)]
pub(super) struct Exchange {
    secret: [u8; LEN],
    public: [u8; LEN],
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.secret.zeroize();
    }
}

impl Dh for Exchange {
    fn name(&self) -> &'static str {
        "25519"
    }

    fn pub_len(&self) -> usize {
        LEN
    }

    fn priv_len(&self) -> usize {
        LEN
    }

    fn set(&mut self, secret: &[u8]) {
        self.secret.copy_from_slice(secret);
        self.public = public_of(&self.secret);
    }

    fn generate(&mut self, random: &mut dyn Random) -> Result<(), Error> {
        random.try_fill_bytes(&mut self.secret)?;
        self.public = public_of(&self.secret);
        Ok(())
    }

    fn pubkey(&self) -> &[u8] {
        &self.public
    }

    fn privkey(&self) -> &[u8] {
        &self.secret
    }

    fn dh(&self, public: &[u8], out: &mut [u8]) -> Result<(), Error> {
        let public = public.first_chunk::<LEN>().ok_or(Error::Dh)?;
        let mut shared = x25519(self.secret, *public);
        // A point of small order makes a secret that everybody knows (RFC 7748, section 6.1).
        let known = shared.iter().fold(0, |all, byte| all | byte) == 0;
        out[..LEN].copy_from_slice(&shared);
        shared.zeroize();
        if known { Err(Error::Dh) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The second key pair is that of RFC 7748, section 6.1.
    #[test]
    fn two_ends_share_a_secret() {
        let hex = |text: &str| -> [u8; LEN] {
            std::array::from_fn(|at| {
                u8::from_str_radix(&text[2 * at..2 * at + 2], 16).expect("hex")
            })
        };
        let mut ends = [Exchange::default(), Exchange::default()];
        ends[0].set(&[9; LEN]);
        ends[1].set(&hex("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb"));
        assert_eq!(
            ends[1].pubkey(),
            hex("de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f")
        );
        let [mut one, mut other] = [[0; LEN]; 2];
        ends[0].dh(ends[1].pubkey(), &mut one).expect("a secret");
        ends[1].dh(ends[0].pubkey(), &mut other).expect("a secret");
        assert_eq!(one, other);
    }

    #[test]
    fn a_point_of_small_order_is_refused() {
        let mut end = Exchange::default();
        end.set(&[7; LEN]);
        assert!(end.dh(&[0; LEN], &mut [0; LEN]).is_err());
    }
}
