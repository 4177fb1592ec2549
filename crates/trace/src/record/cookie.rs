//! Proof that somebody receives at the address from which he seems to send.

use std::net::{IpAddr, SocketAddr};

use bentpipe_units::{Instant, Span};

/// A cookie is good until the end of the next one of these.
const WINDOW: Span = Span::from_secs(60);

/// What a responder gives to an address and gets back from there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cookie(blake3::Hash);

impl Cookie {
    /// Its bytes.
    pub(super) const SIZE: usize = blake3::OUT_LEN;
    /// That of a recorder that has none.
    pub(super) const NONE: Self = Self(blake3::Hash::from_bytes([0; Self::SIZE]));

    /// A cookie that came in a datagram.
    pub(super) const fn from_bytes(bytes: [u8; Self::SIZE]) -> Self {
        Self(blake3::Hash::from_bytes(bytes))
    }

    /// As it is in a datagram.
    pub(super) const fn as_bytes(&self) -> &[u8; Self::SIZE] {
        self.0.as_bytes()
    }
}

/// Makes cookies and knows its own again, without remembering any.
pub(super) struct Baker {
    key: [u8; blake3::KEY_LEN],
}

impl Baker {
    /// One with a key that nobody else knows.
    pub(super) const fn new(key: [u8; blake3::KEY_LEN]) -> Self {
        Self { key }
    }

    /// The cookie of an address and a session for now.
    pub(super) fn bake(&self, address: SocketAddr, session: u64, now: Instant) -> Cookie {
        self.of_window(address, session, window(now))
    }

    /// Whether a cookie is from here, for this address and session, and not too old.
    pub(super) fn knows(
        &self,
        cookie: &Cookie,
        address: SocketAddr,
        session: u64,
        now: Instant,
    ) -> bool {
        let now = window(now);
        let windows = [Some(now), now.checked_sub(1)];
        // Hashes are compared in constant time.
        windows.into_iter().flatten().any(|at| self.of_window(address, session, at) == *cookie)
    }

    fn of_window(&self, address: SocketAddr, session: u64, window: u64) -> Cookie {
        let mut mac = blake3::Hasher::new_keyed(&self.key);
        match address.ip() {
            IpAddr::V4(ip) => mac.update(&ip.to_ipv6_mapped().octets()),
            IpAddr::V6(ip) => mac.update(&ip.octets()),
        };
        mac.update(&address.port().to_be_bytes());
        mac.update(&session.to_be_bytes());
        mac.update(&window.to_be_bytes());
        Cookie(mac.finalize())
    }
}

impl std::fmt::Debug for Baker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Baker")
    }
}

fn window(now: Instant) -> u64 {
    now.as_nanos() / WINDOW.as_nanos()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_good_for_its_address_and_session_and_for_a_while() {
        let baker = Baker::new([1; 32]);
        let address = |text: &str| text.parse::<SocketAddr>().expect("an address");
        let at = |secs| Instant::ZERO + Span::from_secs(secs);
        let mine = address("192.0.2.1:1000");
        let cookie = baker.bake(mine, 5, at(59));
        assert!(baker.knows(&cookie, mine, 5, at(59)) && baker.knows(&cookie, mine, 5, at(119)));
        assert!(!baker.knows(&cookie, mine, 5, at(120)), "it is too old");
        assert!(!baker.knows(&cookie, mine, 6, at(59)), "another session");
        for other in ["192.0.2.1:1001", "192.0.2.2:1000", "[2001:db8::1]:1000"] {
            assert!(!baker.knows(&cookie, address(other), 5, at(59)), "{other}");
        }
        assert!(!Baker::new([2; 32]).knows(&cookie, mine, 5, at(59)), "another responder");
        assert!(!baker.knows(&Cookie::NONE, mine, 5, at(59)));
    }
}
