//! Cookies: under a flood of requests the responder spends nothing on who cannot be reached at the
//! address that it gives.
//!
//! A cookie travels sealed under a key that follows from the responder's public key, together with the request that it
//! answers: who has only captured a request learns nothing that works at his own address.

use std::net::SocketAddr;

use bentpipe_units::{Instant, Span};

use super::Security;
use super::cipher::Cipher;
use super::datagram::{COOKIE, COOKIE_NONCE, Index, MAC_LEN, SealedCookie};
use crate::key::PublicKey;

/// A secret lives this long; its cookies are good for one more such time.
const LIFE: Span = Span::from_secs(60);

/// Hands out cookies and checks them, without remembering whom it gave one.
#[derive(Debug)]
pub(super) struct Cookies {
    security: Security,
    responder: PublicKey,
    secrets: [[u8; 32]; 2],
    changed: Instant,
}

impl Cookies {
    /// Cookies of this host, made from this secret.
    pub(super) const fn new(
        security: Security,
        responder: PublicKey,
        now: Instant,
        secret: [u8; 32],
    ) -> Self {
        Self { security, responder, secrets: [secret, secret], changed: now }
    }

    fn cookie(secret: &[u8; 32], address: SocketAddr) -> [u8; MAC_LEN] {
        mac(secret, address.to_string().as_bytes())
    }

    fn renew(&mut self, now: Instant) {
        if now.since(self.changed) >= LIFE {
            self.secrets[1] = self.secrets[0];
            // One way: who learns the new secret does not learn the old one.
            self.secrets[0] = *blake3::keyed_hash(&self.secrets[0], b"next").as_bytes();
            self.changed = now;
        }
    }

    /// The datagram that gives `address` its cookie, in answer to the request of `receiver` with this `mac1`.
    pub(super) fn give(
        &mut self,
        now: Instant,
        address: SocketAddr,
        receiver: Index,
        mac1: &[u8; MAC_LEN],
        nonce: [u64; 2],
    ) -> Vec<u8> {
        self.renew(now);
        let mut text = Self::cookie(&self.secrets[0], address);
        let nonce = nonce.map(u64::to_be_bytes).concat();
        let cipher = cipher(self.security, &self.responder, &nonce);
        let tag = cipher.seal(0, mac1, &mut text);
        let mut datagram = vec![COOKIE + self.security.mark()];
        datagram.extend(receiver.to_bytes());
        datagram.extend(nonce);
        datagram.extend(text);
        datagram.extend(tag);
        datagram
    }

    /// Whether a request that covers `covered` proves that its sender got the cookie of `address`.
    pub(super) fn check(
        &mut self,
        now: Instant,
        address: SocketAddr,
        covered: &[u8],
        mac2: &[u8; MAC_LEN],
    ) -> bool {
        self.renew(now);
        self.secrets.iter().any(|secret| {
            let cookie = Self::cookie(secret, address);
            same(&proof(&cookie, covered), mac2)
        })
    }
}

/// What seals one cookie of a responder. Each has a key of its own, so that nonces never meet.
fn cipher(security: Security, responder: &PublicKey, nonce: &[u8]) -> Cipher {
    let key = blake3::derive_key("bentpipe association 2 cookie key", responder.as_bytes());
    Cipher::new(security, *blake3::keyed_hash(&key, nonce).as_bytes())
}

/// The cookie that `responder` gave in answer to the request with this `mac1`.
pub(super) fn open(
    security: Security,
    responder: &PublicKey,
    mac1: &[u8; MAC_LEN],
    sealed: &SealedCookie<'_>,
) -> Option<[u8; MAC_LEN]> {
    let nonce: &[u8; COOKIE_NONCE] = &sealed.nonce;
    let mut text = *sealed.text;
    let len = cipher(security, responder, nonce).open(0, mac1, &mut text)?;
    text[..len].try_into().ok()
}

/// The proof of a cookie.
pub(super) fn proof(cookie: &[u8; MAC_LEN], covered: &[u8]) -> [u8; MAC_LEN] {
    mac(&blake3::derive_key("bentpipe association 2 cookie", cookie), covered)
}

/// A keyed hash.
pub(super) fn mac(key: &[u8; 32], covered: &[u8]) -> [u8; MAC_LEN] {
    let mut mac = [0; MAC_LEN];
    mac.copy_from_slice(&blake3::keyed_hash(key, covered).as_bytes()[..MAC_LEN]);
    mac
}

/// Compares two hashes in constant time.
pub(super) fn same(a: &[u8; MAC_LEN], b: &[u8; MAC_LEN]) -> bool {
    let pad = |bytes: &[u8; MAC_LEN]| {
        let mut padded = [0; 32];
        padded[..MAC_LEN].copy_from_slice(bytes);
        blake3::Hash::from_bytes(padded)
    };
    pad(a) == pad(b)
}

#[cfg(test)]
mod tests {
    use super::super::{Datagram, parse};
    use super::*;
    use crate::key::SecretKey;

    fn at(secs: u64) -> Instant {
        Instant::ZERO + Span::from_secs(secs)
    }

    const MAC1: [u8; MAC_LEN] = [7; MAC_LEN];

    #[test]
    fn a_cookie_is_good_for_its_address_and_for_a_while() {
        for security in [Security::Full, Security::None] {
            let us = SecretKey::from_bytes([1; 32]).public();
            let mut cookies = Cookies::new(security, us, at(0), [5; 32]);
            let [here, there] =
                ["10.0.0.1:7", "10.0.0.2:7"].map(|a| a.parse().expect("an address"));
            let datagram = cookies.give(at(1), here, Index::new(9), &MAC1, [1, 2]);
            let Some(Datagram::Cookie { receiver, sealed }) = parse(security, &datagram) else {
                panic!("a cookie")
            };
            assert_eq!(receiver, Index::new(9));
            let cookie = open(security, &us, &MAC1, &sealed).expect("ours");
            let mac2 = proof(&cookie, b"request");
            assert!(cookies.check(at(2), here, b"request", &mac2));
            assert!(!cookies.check(at(2), there, b"request", &mac2));
            assert!(!cookies.check(at(2), here, b"other", &mac2));
            assert!(cookies.check(at(61), here, b"request", &mac2));
            assert!(!cookies.check(at(122), here, b"request", &mac2));
        }
    }

    #[test]
    fn a_cookie_is_read_by_who_knows_the_responder_and_the_request() {
        let us = SecretKey::from_bytes([1; 32]).public();
        let other = SecretKey::from_bytes([2; 32]).public();
        let mut cookies = Cookies::new(Security::Full, us, at(0), [5; 32]);
        let here = "10.0.0.1:7".parse().expect("an address");
        let datagram = cookies.give(at(1), here, Index::new(9), &MAC1, [1, 2]);
        let Some(Datagram::Cookie { sealed, .. }) = parse(Security::Full, &datagram) else {
            panic!("a cookie")
        };
        assert!(open(Security::Full, &us, &MAC1, &sealed).is_some());
        assert_eq!(open(Security::Full, &other, &MAC1, &sealed), None);
        assert_eq!(open(Security::Full, &us, &[8; MAC_LEN], &sealed), None);
        let mut forged = *sealed.text;
        forged[0] ^= 1;
        let forged = SealedCookie { text: &forged, ..sealed };
        assert_eq!(open(Security::Full, &us, &MAC1, &forged), None);
    }
}
