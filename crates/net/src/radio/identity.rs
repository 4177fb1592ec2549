//! How a station is called.

use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;

use bentpipe_wire::radio::{Address, BadAddress};

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
}

impl Identity {
    /// The station of this call sign, with this address in packets.
    pub const fn new(call_sign: Address, ip: Ipv4Addr) -> Self {
        Self { call_sign, ip }
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
    /// The station of this call sign with the address that follows from it, in the network for tests of the amateurs'
    /// (44.128.0.0/16). Two call signs may have the same address, and are still told apart.
    fn from(call_sign: Address) -> Self {
        let [third, fourth, ..] = *blake3::hash(call_sign.to_string().as_bytes()).as_bytes();
        Self { call_sign, ip: Ipv4Addr::new(44, 128, third, fourth) }
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
        Ok(Self { call_sign, ip })
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
    }
}
