//! Whose a datagram between the gateways is.

use std::fmt;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::net::{IpAddr, SocketAddr};

use bentpipe_tunnel::Datagram;
use bentpipe_wire::Ecn;
use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::open::Destination;

/// Bytes at the beginning of a packet of ESP that name its security association, the SPI (RFC 4303, section 2.1).
const SPI: usize = 4;
/// Orders that the associations of two hosts are spread over: whoever takes another SPI for each packet gets no more.
const ORDERS: u64 = 8;

/// Where a flow leads.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Target {
    /// To a port, by TCP or UDP.
    Port(Destination),
    /// To a host, by ESP (RFC 4303), which has no ports.
    Esp(IpAddr),
}

impl From<Destination> for Target {
    fn from(to: Destination) -> Self {
        Self::Port(to)
    }
}

impl From<SocketAddr> for Target {
    fn from(to: SocketAddr) -> Self {
        Self::Port(to.into())
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Port(to) => to.fmt(f),
            Self::Esp(host) => write!(f, "{host} (ESP)"),
        }
    }
}

/// Whose a datagram is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Whose {
    /// The client. With ESP its port is 0.
    pub(crate) client: SocketAddr,
    /// Whom it talks to.
    pub(crate) to: Target,
}

impl Whose {
    /// A datagram of this flow on its way to the remote gateway. Its number is for the order within the flow alone, of which
    /// security associations of IPsec have several.
    pub(crate) fn datagram(&self, bytes: &[u8], ecn: Ecn) -> Datagram {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        if let Target::Esp(_) = self.to {
            let mut spi = DefaultHasher::new();
            bytes.first_chunk::<SPI>().hash(&mut spi);
            (spi.finish() % ORDERS).hash(&mut hasher);
        }
        let (label, bytes) = (self.label(), Bytes::copy_from_slice(bytes));
        Datagram { flow: hasher.finish() as u16, ecn, label, bytes }
    }

    /// What says whose a datagram is.
    pub(crate) fn label(&self) -> Bytes {
        postcard::to_stdvec(self).expect("there are no unusual types in it").into()
    }

    /// Whose a datagram with this label is; `None` where it does not say.
    pub(crate) fn read(label: &[u8]) -> Option<Self> {
        postcard::from_bytes::<Self>(label).ok().filter(|whose| match whose.to {
            Target::Port(_) => true,
            Target::Esp(host) => {
                whose.client.port() == 0 && whose.client.is_ipv4() == host.is_ipv4()
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_label_says_whose_a_datagram_is(v6 in any::<bool>()) {
            let ip: IpAddr = if v6 { [7; 16].into() } else { [7; 4].into() };
            let name = Destination::Name("a.example".into(), 53);
            for (to, port) in [
                (name.into(), 4_000),
                (SocketAddr::new(ip, 53).into(), 4_000),
                (Target::Esp(ip), 0),
            ] {
                let whose = Whose { client: SocketAddr::new(ip, port), to };
                prop_assert_eq!(Whose::read(&whose.label()), Some(whose));
            }
            let with_port = Whose { client: SocketAddr::new(ip, 1), to: Target::Esp(ip) };
            prop_assert_eq!(Whose::read(&with_port.label()), None);
        }

        #[test]
        fn anything_may_come(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = Whose::read(&bytes);
        }
    }

    #[test]
    fn security_associations_of_the_same_hosts_have_some_orders_and_not_one_each() {
        let (client, host) = (SocketAddr::from(([10, 0, 0, 1], 0)), IpAddr::from([192, 0, 2, 1]));
        let flow = |to: &Target, bytes: &[u8]| {
            Whose { client, to: to.clone() }.datagram(bytes, Ecn::NotCapable).flow
        };
        let esp = Target::Esp(host);
        assert_eq!(flow(&esp, b"spi1first"), flow(&esp, b"spi1second"));
        let flows = (0..1_000_u32).map(|spi| flow(&esp, &spi.to_be_bytes()));
        assert_eq!(flows.collect::<std::collections::BTreeSet<_>>().len(), 8);
        let udp = Target::from(SocketAddr::new(host, 4_500));
        assert_eq!(flow(&udp, b"spi1first"), flow(&udp, b"spi2first"));
    }
}
