//! Cookies: under a flood of requests the responder spends nothing on who can not be reached at the
//! address that it gives.

use std::net::SocketAddr;

use bentpipe_units::{Instant, Span};

use super::Security;
use super::datagram::{COOKIE, Index, MAC_LEN};

/// A secret lives this long; its cookies are good for one more such time.
const LIFE: Span = Span::from_secs(60);
/// More requests than this in a second are a flood.
const FLOOD: u32 = 200;

/// Hands out cookies and checks them, without remembering whom it gave one.
#[derive(Debug)]
pub struct Cookies {
    security: Security,
    secrets: [[u8; 32]; 2],
    changed: Instant,
    /// Requests in the current second, and when it began.
    requests: (Instant, u32),
}

impl Cookies {
    /// Cookies made from this secret.
    pub const fn new(security: Security, now: Instant, secret: [u8; 32]) -> Self {
        Self { security, secrets: [secret, secret], changed: now, requests: (now, 0) }
    }

    /// Counts a request. True when there are too many to answer those without a cookie.
    pub fn is_flood(&mut self, now: Instant) -> bool {
        if now.since(self.requests.0) >= Span::from_secs(1) {
            self.requests = (now, 0);
        }
        self.requests.1 = self.requests.1.saturating_add(1);
        self.requests.1 > FLOOD
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

    /// The datagram that gives `address` its cookie, in answer to the request of `receiver`.
    pub fn give(&mut self, now: Instant, address: SocketAddr, receiver: Index) -> Vec<u8> {
        self.renew(now);
        let mut datagram = vec![COOKIE + self.security.mark()];
        datagram.extend(receiver.to_bytes());
        datagram.extend(Self::cookie(&self.secrets[0], address));
        datagram
    }

    /// Whether a request that covers `covered` proves that its sender got the cookie of `address`.
    pub fn check(
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

/// The proof of a cookie.
pub(super) fn proof(cookie: &[u8; MAC_LEN], covered: &[u8]) -> [u8; MAC_LEN] {
    mac(&blake3::derive_key("bentpipe association 1 cookie", cookie), covered)
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
    use super::*;

    fn at(secs: u64) -> Instant {
        Instant::ZERO + Span::from_secs(secs)
    }

    #[test]
    fn a_cookie_is_good_for_its_address_and_for_a_while() {
        let mut cookies = Cookies::new(Security::Full, at(0), [5; 32]);
        let [here, there] = ["10.0.0.1:7", "10.0.0.2:7"].map(|a| a.parse().expect("an address"));
        let datagram = cookies.give(at(1), here, Index::new(9));
        let cookie = datagram[4..].try_into().expect("a cookie");
        let mac2 = proof(&cookie, b"request");
        assert!(cookies.check(at(2), here, b"request", &mac2));
        assert!(!cookies.check(at(2), there, b"request", &mac2));
        assert!(!cookies.check(at(2), here, b"other", &mac2));
        assert!(cookies.check(at(61), here, b"request", &mac2));
        assert!(!cookies.check(at(122), here, b"request", &mac2));
    }

    #[test]
    fn many_requests_in_a_second_are_a_flood() {
        let mut cookies = Cookies::new(Security::Full, at(0), [5; 32]);
        assert!((0..FLOOD).all(|_| !cookies.is_flood(at(1))));
        assert!(cookies.is_flood(at(1)));
        assert!(!cookies.is_flood(at(3)));
    }
}
