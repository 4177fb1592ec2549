//! How datagrams go to a peer and come from one.

use std::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};

/// The outer transport of an association: what carries its datagrams.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Outer {
    /// UDP, each by itself.
    #[default]
    Udp,
    /// A TCP connection, one behind the other, for where UDP does not get through.
    Tcp,
}

/// A path to a peer as the network sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Route {
    /// Where the peer is.
    pub address: SocketAddr,
    /// The address of this host; the system's choice if there is none.
    pub local: Option<IpAddr>,
    /// What carries the datagrams.
    pub outer: Outer,
}

impl From<SocketAddr> for Route {
    /// By UDP, from the address that the system chooses.
    fn from(address: SocketAddr) -> Self {
        Self { address, local: None, outer: Outer::Udp }
    }
}

impl Route {
    /// Whether it leads to the same place over the same outer transport, from whatever address.
    pub(super) fn ends_like(&self, other: &Self) -> bool {
        (self.address, self.outer) == (other.address, other.outer)
    }

    /// Headers of IP and of UDP or TCP around a datagram.
    pub(super) const fn headers(&self) -> usize {
        let ip = if self.address.is_ipv4() { 20 } else { 40 };
        let rest = match self.outer {
            Outer::Udp => 8,
            // TCP with timestamps and the length of the datagram.
            Outer::Tcp => 34,
        };
        ip + rest
    }
}
