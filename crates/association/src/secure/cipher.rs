//! The cipher of datagrams, which works where they are.
//!
//! Snow seals and opens into other memory only. Behind the handshake its two keys are therefore used by ring's
//! AES-GCM directly, with the nonces and tags that Noise prescribes (The Noise Protocol Framework, revision
//! 34, sections 5.2 and 12.4).

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use snow::HandshakeState;
use zeroize::Zeroize as _;

use super::Security;
use super::cookie::same;
use super::datagram::TAG;
use super::security::Readable;

/// The key of one direction.
#[derive(Debug)]
pub(super) enum Cipher {
    Full(Box<LessSafeKey>),
    Readable(Readable),
}

/// The nonce of AES-GCM for a number.
fn nonce(number: u64) -> Nonce {
    let mut bytes = [0; 12];
    bytes[4..].copy_from_slice(&number.to_be_bytes());
    Nonce::assume_unique_for_key(bytes)
}

impl Cipher {
    pub(super) fn new(security: Security, mut key: [u8; 32]) -> Self {
        let cipher = match security {
            Security::Full => {
                let key = UnboundKey::new(&AES_256_GCM, &key).expect("a key of 32 bytes");
                Self::Full(Box::new(LessSafeKey::new(key)))
            }
            Security::None => Self::Readable(Readable::new(key)),
        };
        key.zeroize();
        cipher
    }

    /// The keys of a handshake of which both messages are done: that of what the host that asked sends, then
    /// that of what it receives.
    pub(super) fn pair(security: Security, mut noise: HandshakeState) -> [Self; 2] {
        assert!(noise.is_handshake_finished(), "both messages are done");
        let (mut asks, mut answers) = noise.dangerously_get_raw_split();
        let ciphers = [Self::new(security, asks), Self::new(security, answers)];
        asks.zeroize();
        answers.zeroize();
        ciphers
    }

    /// Seals `text` where it is, together with `also`, which is known to both. Returns its tag. A number seals one
    /// text and never another.
    ///
    /// # Panics
    ///
    /// When `text` is longer than 64 GB.
    pub(super) fn seal(&self, number: u64, also: &[u8], text: &mut [u8]) -> [u8; TAG] {
        match self {
            Self::Full(key) => {
                let sealed = key.seal_in_place_separate_tag(nonce(number), Aad::from(also), text);
                let tag = sealed.expect("a datagram is not that long");
                tag.as_ref().try_into().expect("a tag of 16 bytes")
            }
            Self::Readable(key) => key.tag(number, also, text),
        }
    }

    /// Opens a text with its tag behind it where it is, sealed together with `also`. Returns the length of the text
    /// if it is authentic; otherwise what is left there is of no use.
    pub(super) fn open(&self, number: u64, also: &[u8], sealed: &mut [u8]) -> Option<usize> {
        match self {
            Self::Full(key) => {
                Some(key.open_in_place(nonce(number), Aad::from(also), sealed).ok()?.len())
            }
            Self::Readable(key) => {
                let (text, tag) = sealed.split_last_chunk::<TAG>()?;
                same(&key.tag(number, also, text), tag).then_some(text.len())
            }
        }
    }
}

impl Drop for Cipher {
    /// Leaves no key in memory that others get.
    fn drop(&mut self) {
        let nothing = [0; 32];
        match self {
            Self::Full(key) => {
                let empty = UnboundKey::new(&AES_256_GCM, &nothing).expect("a key of 32 bytes");
                **key = LessSafeKey::new(empty);
                // The writes above are seen by somebody, so that they are not left out.
                std::hint::black_box(key);
            }
            Self::Readable(key) => {
                *key = Readable::new(nothing);
                std::hint::black_box(key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use snow::{Builder, StatelessTransportState};

    use super::*;
    use crate::secure::Ephemeral;

    const PATTERN: &str = "Noise_NN_25519_AESGCM_SHA256";

    /// Two ends of a handshake, the first with this cipher and the second with snow's own.
    fn ends(security: Security) -> ([Cipher; 2], StatelessTransportState) {
        let builder = || security.builder(PATTERN, Ephemeral::from_bytes([7; 32]));
        let mut asks = Builder::build_initiator(builder()).expect("a handshake");
        let mut answers = Builder::build_responder(builder()).expect("a handshake");
        let (mut message, mut payload) = ([0; 100], [0; 100]);
        let len = asks.write_message(&[], &mut message).expect("room");
        answers.read_message(&message[..len], &mut payload).expect("authentic");
        let len = answers.write_message(&[], &mut message).expect("room");
        asks.read_message(&message[..len], &mut payload).expect("authentic");
        (Cipher::pair(security, asks), answers.into_stateless_transport_mode().expect("done"))
    }

    #[test]
    fn what_is_sealed_and_opened_is_a_transport_message_of_noise() {
        for security in [Security::Full, Security::None] {
            let ([ours, theirs], snow) = ends(security);
            for number in [0, 7, 1 << 40] {
                let text = *b"where it is";
                let mut bytes = text.to_vec();
                let tag = ours.seal(number, b"", &mut bytes);
                bytes.extend(tag);
                let mut opened = [0; 50];
                let len = snow.read_message(number, &bytes, &mut opened).expect("authentic");
                assert_eq!(&opened[..len], text);

                let mut sealed = [0; 50];
                let len = snow.write_message(number, &text, &mut sealed).expect("room");
                let sealed = &mut sealed[..len];
                assert_eq!(theirs.open(number + 1, b"", &mut sealed.to_vec()), None);
                assert_eq!(theirs.open(number, b"", &mut sealed[..TAG - 1].to_vec()), None);
                for at in 0..len {
                    let mut forged = sealed.to_vec();
                    forged[at] ^= 1;
                    assert_eq!(theirs.open(number, b"", &mut forged), None);
                }
                let len = theirs.open(number, b"", sealed).expect("authentic");
                assert_eq!(&sealed[..len], text);
            }
        }
    }
}
