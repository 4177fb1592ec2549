//! The state cookie: all that a listener knows of an association before it exists, kept by the peer.

use std::net::IpAddr;

use bentpipe_units::{Instant, Seq32, Span};
use bentpipe_wire::sctp::{Init, Parameter};
use bytes::{Buf, BufMut, Bytes, BytesMut};

use super::auth::{Random, Terms};
use crate::Ports;

/// Length of the code at the end of a cookie.
const MAC: usize = 32;
/// Flags: ECN is agreed on; addresses may change.
const ECN: u8 = 1;
const TERMS: u8 = 2;
/// Most addresses of a peer that are kept.
const MOST_ADDRESSES: usize = 16;

/// The secret by which a host knows its own cookies (keyed BLAKE3). All associations and listeners of a
/// host have the same.
#[derive(Clone)]
pub struct CookieKey([u8; 32]);

impl CookieKey {
    /// A key of these bytes, which nobody else may know.
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl std::fmt::Debug for CookieKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CookieKey(..)")
    }
}

/// What a cookie says (RFC 9260, section 5.1.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cookie {
    pub(super) made_at: Instant,
    pub(super) ports: Ports,
    pub(super) local_tag: u32,
    pub(super) peer_tag: u32,
    /// Tags of the association there was when the cookie was made, or zeros.
    pub(super) tie_tags: (u32, u32),
    pub(super) local_tsn: Seq32,
    pub(super) peer_tsn: Seq32,
    pub(super) peer_window: u32,
    pub(super) outbound: u16,
    pub(super) inbound: u16,
    pub(super) ecn: bool,
    /// Where addresses may change.
    pub(super) terms: Option<Terms>,
    pub(super) peer_addresses: Vec<IpAddr>,
}

/// The addresses that an INIT or INIT ACK names, the first sixteen.
pub(super) fn addresses(init: &Init) -> Vec<IpAddr> {
    let address = |parameter: &Parameter| match parameter {
        Parameter::Ipv4(address) => Some(IpAddr::V4(*address)),
        Parameter::Ipv6(address) => Some(IpAddr::V6(*address)),
        _ => None,
    };
    init.parameters.iter().filter_map(address).take(MOST_ADDRESSES).collect()
}

fn read_terms(body: &mut &[u8]) -> Option<Terms> {
    let mut random = Random::default();
    body.try_copy_to_slice(&mut random).ok()?;
    let algorithm = body.try_get_u16().ok()?;
    let length = usize::from(body.try_get_u16().ok()?);
    let (peer, rest) = body.split_at_checked(length)?;
    *body = rest;
    Some(Terms { random, peer: Bytes::copy_from_slice(peer), algorithm })
}

impl Cookie {
    /// The cookie's bytes, with the code that proves them ours.
    pub(super) fn seal(&self, key: &CookieKey) -> Bytes {
        let mut out = BytesMut::with_capacity(160);
        out.put_u64(self.made_at.as_nanos());
        for n in [
            self.local_tag,
            self.peer_tag,
            self.tie_tags.0,
            self.tie_tags.1,
            self.local_tsn.get(),
            self.peer_tsn.get(),
            self.peer_window,
        ] {
            out.put_u32(n);
        }
        for n in [self.ports.local, self.ports.peer, self.outbound, self.inbound] {
            out.put_u16(n);
        }
        let flags = if self.ecn { ECN } else { 0 } | if self.terms.is_some() { TERMS } else { 0 };
        out.put_u8(flags);
        if let Some(terms) = &self.terms {
            out.put_slice(&terms.random);
            out.put_u16(terms.algorithm);
            out.put_u16(terms.peer.len() as u16); // of a parameter or three, bounded where they are read
            out.put_slice(&terms.peer);
        }
        for address in &self.peer_addresses {
            match address {
                IpAddr::V4(address) => {
                    out.put_u8(4);
                    out.put_slice(&address.octets());
                }
                IpAddr::V6(address) => {
                    out.put_u8(6);
                    out.put_slice(&address.octets());
                }
            }
        }
        let mac = blake3::keyed_hash(&key.0, &out);
        out.put_slice(mac.as_bytes());
        out.freeze()
    }

    /// Reads a cookie; `None` when it is not one of ours.
    pub(super) fn open(bytes: &[u8], key: &CookieKey) -> Option<Self> {
        let (mut body, mac) = bytes.split_last_chunk::<MAC>()?;
        // `Hash` compares in constant time.
        if blake3::keyed_hash(&key.0, body) != blake3::Hash::from_bytes(*mac) {
            return None;
        }
        let made_at = Instant::from_nanos(body.try_get_u64().ok()?);
        let mut long = [0; 7];
        for place in &mut long {
            *place = body.try_get_u32().ok()?;
        }
        let mut short = [0; 4];
        for place in &mut short {
            *place = body.try_get_u16().ok()?;
        }
        let flags = body.try_get_u8().ok()?;
        let terms = if flags & TERMS == 0 { None } else { Some(read_terms(&mut body)?) };
        let mut peer_addresses = Vec::new();
        while let Ok(family) = body.try_get_u8() {
            peer_addresses.push(match family {
                4 => IpAddr::V4(body.try_get_u32().ok()?.into()),
                _ => IpAddr::V6(body.try_get_u128().ok()?.into()),
            });
        }
        let [local_tag, peer_tag, local_tie, peer_tie, local_tsn, peer_tsn, peer_window] = long;
        let [local, peer, outbound, inbound] = short;
        Some(Self {
            made_at,
            ports: Ports { local, peer },
            local_tag,
            peer_tag,
            tie_tags: (local_tie, peer_tie),
            local_tsn: Seq32::new(local_tsn),
            peer_tsn: Seq32::new(peer_tsn),
            peer_window,
            outbound,
            inbound,
            ecn: flags & ECN != 0,
            terms,
            peer_addresses,
        })
    }

    /// How much older the cookie is than it may be; `None` while it is good.
    pub(super) fn staleness(&self, now: Instant, life: Span) -> Option<Span> {
        let age = now.since(self.made_at);
        (age > life).then(|| age.saturating_sub(life))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cookie() -> Cookie {
        Cookie {
            made_at: Instant::from_nanos(5_000_000_000),
            ports: Ports { local: 80, peer: 5001 },
            local_tag: 1,
            peer_tag: 2,
            tie_tags: (3, 4),
            local_tsn: Seq32::new(5),
            peer_tsn: Seq32::new(6),
            peer_window: 7,
            outbound: 8,
            inbound: 9,
            ecn: true,
            terms: Some(Terms {
                random: [7; 32],
                peer: Bytes::from_static(b"parameters"),
                algorithm: 3,
            }),
            peer_addresses: vec![IpAddr::from([10, 0, 0, 1]), IpAddr::from([1; 16])],
        }
    }

    #[test]
    fn a_cookie_comes_back_as_it_was() {
        let key = CookieKey::new([7; 32]);
        assert_eq!(Cookie::open(&cookie().seal(&key), &key), Some(cookie()));
    }

    #[test]
    fn a_cookie_of_another_host_or_with_one_wrong_bit_is_none() {
        let key = CookieKey::new([7; 32]);
        let sealed = cookie().seal(&key);
        assert_eq!(Cookie::open(&sealed, &CookieKey::new([8; 32])), None);
        for bit in 0..8 * sealed.len() {
            let mut forged = sealed.to_vec();
            forged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Cookie::open(&forged, &key), None, "bit {bit}");
        }
        assert_eq!(Cookie::open(&sealed[..20], &key), None);
    }

    #[test]
    fn a_cookie_is_good_for_its_life_and_stale_after_it() {
        let life = Span::from_secs(60);
        let after = |seconds| Instant::from_nanos(5_000_000_000) + Span::from_secs(seconds);
        assert_eq!(cookie().staleness(after(60), life), None);
        assert_eq!(cookie().staleness(after(61), life), Some(Span::from_secs(1)));
    }
}
