//! How a station is called.

use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;

use bentpipe_wire::radio::{Address, BadAddress};

/// The network of addresses that follow from call signs: that of the amateurs for tests (44.128.0.0/16).
const FOLLOWS: [u8; 2] = [44, 128];

/// What tells a station from all others: its call sign, and its address in the packets that frames carry.
///
/// As text `W1ABC-1`, or `W1ABC-1=44.60.1.2` where the address is not the one that every station takes for this call sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity {
    call_sign: Address,
    ip: Ipv4Addr,
}

/// A text that is no identity of a station.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadIdentity {
    /// The call sign is none.
    #[error(transparent)]
    CallSign(#[from] BadAddress),
    /// What is behind the `=` is no address.
    #[error("`{0}` is no IPv4 address: write CALLSIGN or CALLSIGN=IPV4, such as W1ABC-1=44.60.1.2")]
    Ip(String),
    /// What is behind the `=` is the address of another call sign.
    #[error(
        "{0}: addresses in 44.128.0.0/16 follow from call signs, and this one is not that of {1}: leave it out, or take another network's"
    )]
    Other(Ipv4Addr, Address),
}

impl Identity {
    /// The station of this call sign, with this address in packets.
    pub const fn new(call_sign: Address, ip: Ipv4Addr) -> Self {
        Self { call_sign, ip }
    }

    /// Who is heard with this call sign and this address. Frames between a TNC and its host have no checksum: `None` where the address
    /// follows from another call sign, so that one of the two is damaged.
    pub(super) fn heard(call_sign: Address, ip: Ipv4Addr) -> Option<Self> {
        let follows = ip.octets()[..2] == FOLLOWS;
        (!follows || Self::from(call_sign).ip == ip).then_some(Self { call_sign, ip })
    }

    /// The call sign.
    pub const fn call_sign(&self) -> Address {
        self.call_sign
    }

    /// The address in packets.
    pub const fn ip(&self) -> Ipv4Addr {
        self.ip
    }
}

impl From<Address> for Identity {
    /// The station of this call sign with the address that follows from it. Two call signs may have the same address, and are still told apart.
    fn from(call_sign: Address) -> Self {
        let [third, fourth, ..] = *blake3::hash(call_sign.to_string().as_bytes()).as_bytes();
        let [first, second] = FOLLOWS;
        Self { call_sign, ip: Ipv4Addr::new(first, second, third, fourth) }
    }
}

impl FromStr for Identity {
    type Err = BadIdentity;

    fn from_str(text: &str) -> Result<Self, BadIdentity> {
        let Some((call_sign, ip)) = text.split_once('=') else {
            return Ok(text.parse::<Address>()?.into());
        };
        let call_sign = call_sign.parse()?;
        let ip = ip.parse().map_err(|_| BadIdentity::Ip(ip.to_owned()))?;
        Self::heard(call_sign, ip).ok_or(BadIdentity::Other(ip, call_sign))
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.call_sign.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_station_takes_the_same_address_for_a_call_sign_unless_one_is_given() {
        let identity = |text: &str| text.parse::<Identity>().expect("an identity");
        let (one, other) = (identity("W1ABC-1"), identity("W1ABC-2"));
        assert_eq!(
            (one.to_string(), one.ip().octets()[..2].to_vec()),
            ("W1ABC-1".into(), vec![44, 128])
        );
        assert_ne!(one.ip(), other.ip());
        assert_eq!(one.ip(), identity("W1ABC-1").ip());
        let given = identity("W1ABC-1=44.60.1.2");
        assert_eq!((given.call_sign(), given.ip()), (one.call_sign(), [44, 60, 1, 2].into()));
    }

    #[test]
    fn what_is_no_identity_says_what_would_be_right() {
        let error = |text: &str| text.parse::<Identity>().expect_err("refused").to_string();
        assert!(error("w1abc").contains("`w1abc` is no AX.25 address"));
        assert!(error("W1ABC=44.60.1").contains("`44.60.1` is no IPv4 address"));
        let other = error("W1ABC=44.128.1.2");
        assert!(other.contains("44.128.1.2: addresses in 44.128.0.0/16"), "{other}");
    }

    #[test]
    fn a_call_sign_that_is_damaged_on_the_line_is_nobody() {
        let station: Identity = "W1ABC-1".parse().expect("an identity");
        let heard = |name: &str, ip| Identity::heard(name.parse().expect("a call sign"), ip);
        assert_eq!(heard("W1ABC-1", station.ip()), Some(station));
        assert_eq!(heard("W1ABB-1", station.ip()), None);
        let own = Ipv4Addr::new(44, 60, 1, 2);
        assert_eq!(heard("W1ABB-1", own).map(|it| it.ip()), Some(own), "nobody knows whose it is");
    }
}
