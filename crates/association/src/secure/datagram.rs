//! The four kinds of datagrams and where their fields are.

use super::Security;

/// First byte of a request to associate.
pub(super) const INIT: u8 = 1;
/// First byte of the answer to it.
pub(super) const RESPONSE: u8 = 2;
/// First byte of a cookie.
pub(super) const COOKIE: u8 = 3;
/// First byte of a datagram under the keys of an association.
pub(super) const DATA: u8 = 4;

/// Length of a keyed hash in bytes.
pub const MAC_LEN: usize = 16;
/// Bytes of an index.
const INDEX: usize = 3;
/// Bytes of a packet number on the wire.
const NUMBER: usize = 3;
/// Bytes in front of the ciphertext of a data datagram.
pub(super) const DATA_HEADER: usize = 1 + INDEX + NUMBER;
/// Smallest Noise message of a request: an ephemeral key, an encrypted static key, an empty payload.
const NOISE_INIT: usize = 32 + 48 + 16;
/// Smallest Noise message of an answer: an ephemeral key, an empty payload.
const NOISE_RESPONSE: usize = 32 + 16;
/// Bytes of the nonce of a cookie.
pub(super) const COOKIE_NONCE: usize = 16;
/// Length of an authentication tag.
pub(super) const TAG: usize = 16;

/// The number under which a host knows a set of keys: 24 bits, chosen by the host that receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Index(u32);

impl Index {
    /// How many there are.
    pub const COUNT: u32 = 1 << 24;

    /// The index `n` modulo 2^24.
    pub const fn new(n: u32) -> Self {
        Self(n % Self::COUNT)
    }

    /// The bare number.
    pub const fn get(self) -> u32 {
        self.0
    }

    pub(super) const fn to_bytes(self) -> [u8; INDEX] {
        let [_, a, b, c] = self.0.to_be_bytes();
        [a, b, c]
    }

    const fn from_bytes(bytes: [u8; INDEX]) -> Self {
        let [a, b, c] = bytes;
        Self(u32::from_be_bytes([0, a, b, c]))
    }
}

/// A request to associate, as it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Init<'a> {
    /// Where the sender wants the answer.
    pub sender: Index,
    /// The first Noise message.
    pub noise: &'a [u8],
    /// What `mac1` covers.
    pub covered1: &'a [u8],
    /// Proof that the sender knows whom it talks to.
    pub mac1: [u8; MAC_LEN],
    /// What `mac2` covers.
    pub covered2: &'a [u8],
    /// Proof that the sender got a cookie, or zeros.
    pub mac2: [u8; MAC_LEN],
}

/// A cookie that only who knows the responder's key and the request can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SealedCookie<'a> {
    /// Drawn for this cookie.
    pub nonce: [u8; COOKIE_NONCE],
    /// The ciphertext with its tag.
    pub text: &'a [u8; MAC_LEN + TAG],
}

/// A datagram, taken apart as far as that is possible without keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Datagram<'a> {
    /// A request to associate.
    Init(Init<'a>),
    /// The answer.
    Response {
        /// Where data for the responder go.
        sender: Index,
        /// Whose answer it is.
        receiver: Index,
        /// The second Noise message.
        noise: &'a [u8],
    },
    /// Come again with this cookie.
    Cookie {
        /// Whose request it answers.
        receiver: Index,
        /// The cookie.
        sealed: SealedCookie<'a>,
    },
    /// Data.
    Data {
        /// Which keys.
        receiver: Index,
        /// Lower 24 bits of the packet number.
        number: u32,
        /// The ciphertext with its tag.
        sealed: &'a [u8],
    },
}

/// Takes a datagram of a host with this security apart; `None` when it is of no known kind or too short
/// for its kind.
pub fn parse(security: Security, bytes: &[u8]) -> Option<Datagram<'_>> {
    let (&kind, rest) = bytes.split_first()?;
    match kind.wrapping_sub(security.mark()) {
        INIT => {
            let (covered2, mac2) = bytes.split_last_chunk::<MAC_LEN>()?;
            let (covered1, mac1) = covered2.split_last_chunk::<MAC_LEN>()?;
            let (sender, noise) = covered1.get(1..)?.split_first_chunk::<INDEX>()?;
            let sender = Index::from_bytes(*sender);
            (noise.len() >= NOISE_INIT).then_some(Datagram::Init(Init {
                sender,
                noise,
                covered1,
                mac1: *mac1,
                covered2,
                mac2: *mac2,
            }))
        }
        RESPONSE => {
            let (sender, rest) = rest.split_first_chunk::<INDEX>()?;
            let (receiver, noise) = rest.split_first_chunk::<INDEX>()?;
            (noise.len() >= NOISE_RESPONSE).then_some(Datagram::Response {
                sender: Index::from_bytes(*sender),
                receiver: Index::from_bytes(*receiver),
                noise,
            })
        }
        COOKIE => {
            let (receiver, cookie) = rest.split_first_chunk::<INDEX>()?;
            let (nonce, text) = cookie.split_first_chunk::<COOKIE_NONCE>()?;
            let sealed = SealedCookie { nonce: *nonce, text: text.try_into().ok()? };
            Some(Datagram::Cookie { receiver: Index::from_bytes(*receiver), sealed })
        }
        DATA => {
            let (receiver, rest) = rest.split_first_chunk::<INDEX>()?;
            let (number, sealed) = rest.split_first_chunk::<NUMBER>()?;
            (sealed.len() >= TAG).then_some(Datagram::Data {
                receiver: Index::from_bytes(*receiver),
                number: Index::from_bytes(*number).get(),
                sealed,
            })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_index_has_24_bits() {
        let index = Index::new(0x0112_3456);
        assert_eq!((index.get(), index.to_bytes()), (0x0012_3456, [0x12, 0x34, 0x56]));
        assert_eq!(Index::from_bytes(index.to_bytes()), index);
    }

    #[test]
    fn a_data_datagram_is_an_index_a_number_and_ciphertext() {
        let bytes = [&[4, 0, 0, 9, 0, 1, 2][..], &[7; 20]].concat();
        let sealed = &[7; 20][..];
        let expected = Datagram::Data { receiver: Index::new(9), number: 0x102, sealed };
        assert_eq!(parse(Security::Full, &bytes), Some(expected));
        assert_eq!(parse(Security::None, &bytes), None);
        assert_eq!(parse(Security::Full, &bytes[..7 + TAG - 1]), None);
    }

    proptest! {
        #[test]
        fn anything_may_come(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse(Security::Full, &bytes);
            let _ = parse(Security::None, &bytes);
        }
    }
}
