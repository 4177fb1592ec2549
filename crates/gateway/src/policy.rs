//! Where flows may lead. Nothing is open to everybody, and the hub's own networks are closed unless named.

use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use bentpipe_units::Written;
use ipnet::IpNet;

use crate::Surroundings;

/// Networks that only who names them may reach: what tells a host of a cloud its secrets, the host itself, private and local
/// ones. Of two that an address is of the first one counts.
const INNER: [&str; 24] = [
    "169.254.169.254/32",
    "168.63.129.16/32",
    "100.100.100.200/32",
    "192.0.0.192/32",
    "fd00:ec2::254/128",
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.168.0.0/16",
    "224.0.0.0/3",
    "::/96",
    "fc00::/7",
    "fe80::/10",
    "fec0::/10",
    "ff00::/8",
    // Translated, 6to4 and Teredo: they lead to IPv4 addresses, private ones among them.
    "::ffff:0:0:0/96",
    "64:ff9b::/96",
    "64:ff9b:1::/48",
    "2001::/32",
    "2002::/16",
];

/// The inner network that an address is of.
fn inner(ip: IpAddr) -> Option<IpNet> {
    INNER.iter().filter_map(|n| n.parse::<IpNet>().ok()).find(|n| n.contains(&ip))
}

/// The network that only who names it may reach, if it is of one: else of one beside this host.
fn closed(ip: IpAddr, around: &impl Surroundings) -> Option<IpNet> {
    inner(ip).or_else(|| around.network_of(ip))
}

/// Destinations: a network, and a port if only one is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    network: IpNet,
    port: Option<u16>,
}

impl Written for Range {
    const NAME: &'static str = "Range";
    const EXPECTED: &'static str = "a network with or without a port, such as \"0.0.0.0/0\", \"10.1.0.0/16:443\" or \"[2001:db8::/32]:80\"";
    const PATTERN: &'static str = r"^[0-9a-fA-F:./\[\]]+$";
}

impl FromStr for Range {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{text}` is not a network with or without a port, such as 0.0.0.0/0, 10.1.0.0/16:443 \
                 or [2001:db8::/32]:80"
            )
        };
        let bare = |text: &str| text.parse().or_else(|_| text.parse().map(|ip: IpAddr| ip.into()));
        if let Ok(network) = bare(text) {
            return Ok(Self { network, port: None });
        }
        let (network, port) = text.rsplit_once(':').ok_or_else(wrong)?;
        let network =
            network.strip_prefix('[').and_then(|n| n.strip_suffix(']')).unwrap_or(network);
        let network = bare(network).map_err(|_| wrong())?;
        Ok(Self { network, port: Some(port.parse().map_err(|_| wrong())?) })
    }
}

/// What is allowed.
#[derive(Debug, Default)]
pub(crate) struct Policy {
    allowed: Vec<Range>,
}

impl Policy {
    /// These destinations and no others.
    pub(crate) const fn new(allowed: Vec<Range>) -> Self {
        Self { allowed }
    }

    /// Whether a flow may lead there. An address of this host must be named by itself, but for
    /// those of the loopback device, which are all its own.
    pub(crate) fn allows(&self, around: &impl Surroundings, to: SocketAddr) -> bool {
        let ip = to.ip().to_canonical();
        let closed = closed(ip, around);
        let covers = |range: &&Range| {
            let named = closed.is_none_or(|closed| closed.contains(&range.network));
            named && range.network.contains(&ip) && range.port.is_none_or(|port| port == to.port())
        };
        let alone = |network: IpNet| network.prefix_len() == network.max_prefix_len();
        let mut those = self.allowed.iter().filter(covers).peekable();
        those.peek().is_some()
            && (ip.is_loopback() || those.any(|range| alone(range.network)) || !around.is_own(to))
    }

    /// Whether somebody who uses a proxy here may be led there without the remote gateway: as through it, or out of this
    /// host's networks.
    pub(crate) fn allows_outside(&self, around: &impl Surroundings, to: SocketAddr) -> bool {
        let is_outside = closed(to.ip().to_canonical(), around).is_none() && !around.is_own(to);
        self.allows(around, to) || is_outside
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A host with these networks beside it, and these addresses.
    #[derive(Default)]
    struct Around<'a> {
        beside: &'a [&'a str],
        own: &'a [&'a str],
    }

    impl Surroundings for Around<'_> {
        fn is_own(&self, to: SocketAddr) -> bool {
            self.own.iter().any(|own| own.parse() == Ok(to.ip()))
        }

        fn network_of(&self, ip: IpAddr) -> Option<IpNet> {
            self.beside.iter().filter_map(|n| n.parse::<IpNet>().ok()).find(|n| n.contains(&ip))
        }
    }

    const NOTHING: Around<'_> = Around { beside: &[], own: &[] };

    fn policy(ranges: &[&str]) -> Policy {
        Policy::new(ranges.iter().map(|range| range.parse().expect("a range")).collect())
    }

    fn allows(ranges: &[&str], to: &str) -> bool {
        policy(ranges).allows(&NOTHING, to.parse().expect("an address"))
    }

    #[test]
    fn nothing_is_allowed_that_is_not_named() {
        assert!(!allows(&[], "192.0.2.1:80"));
        assert!(allows(&["192.0.2.0/24"], "192.0.2.1:80"));
        assert!(!allows(&["192.0.2.0/24"], "192.0.3.1:80"));
        assert!(allows(&["192.0.2.1:80"], "192.0.2.1:80"));
        assert!(!allows(&["192.0.2.1:80"], "192.0.2.1:81"));
        assert!(allows(&["[2001:db8::/32]:80"], "[2001:db8::1]:80"));
    }

    #[test]
    fn everywhere_does_not_mean_the_hubs_own_networks() {
        for inner in [
            "127.0.0.1",
            "10.1.2.3",
            "169.254.169.254",
            "[::1]",
            "[fe80::1]",
            "[64:ff9b::a00:1]",
            "[::7f00:1]",
            "[::ffff:0:7f00:1]",
        ] {
            assert!(!allows(&["0.0.0.0/0", "::/0"], &format!("{inner}:80")), "{inner}");
        }
        assert!(!allows(&["0.0.0.0/0"], "[::ffff:127.0.0.1]:80"));
        assert!(allows(&["0.0.0.0/0", "10.1.0.0/16"], "10.1.2.3:80"));
        assert!(allows(&["127.0.0.1:8080"], "127.0.0.1:8080"));
        assert!(allows(&["0.0.0.0/0"], "192.0.2.1:80"));
    }

    #[test]
    fn everywhere_does_not_mean_the_hubs_neighbours_nor_what_clouds_tell_their_hosts() {
        let allows = |ranges: &[&str], to: &str| {
            let around = Around { beside: &["203.0.113.0/24", "2001:db8:1::/64"], own: &[] };
            policy(ranges).allows(&around, to.parse().expect("an address"))
        };
        let everywhere = ["0.0.0.0/0", "::/0"];
        for to in ["203.0.113.7:80", "[2001:db8:1::7]:80", "168.63.129.16:80", "[fd00:ec2::254]:80"]
        {
            assert!(!allows(&everywhere, to), "{to}");
        }
        assert!(
            allows(&everywhere, "198.51.100.7:80") && allows(&everywhere, "[2001:db8:2::7]:80")
        );
        assert!(allows(&["0.0.0.0/0", "203.0.113.0/24"], "203.0.113.7:80"));
        assert!(allows(&["203.0.113.7:80"], "203.0.113.7:80"));
        // Who names the network around it has not thought of it.
        assert!(!allows(&["100.64.0.0/10", "169.254.0.0/16"], "100.100.100.200:80"));
        assert!(!allows(&["100.64.0.0/10", "169.254.0.0/16"], "169.254.169.254:80"));
        assert!(allows(&["169.254.169.254:80"], "169.254.169.254:80"));
        assert!(allows(&["100.64.0.0/10"], "100.100.100.201:80"));
    }

    #[test]
    fn an_address_of_the_hub_itself_is_named_by_itself_or_closed() {
        let allows = |ranges: &[&str]| {
            let around = Around { beside: &[], own: &["203.0.113.5"] };
            policy(ranges).allows(&around, "203.0.113.5:22".parse().expect("an address"))
        };
        assert!(!allows(&["0.0.0.0/0"]));
        assert!(!allows(&["203.0.113.0/24"]));
        assert!(allows(&["0.0.0.0/0", "203.0.113.5"]));
        assert!(allows(&["203.0.113.5:22"]));
        assert!(!allows(&["0.0.0.0/0", "203.0.113.5:80"]));
    }

    #[test]
    fn a_private_network_that_is_named_does_not_mean_the_hub_in_it() {
        let allows = |ranges: &[&str], to: &str| {
            let around = Around { beside: &[], own: &["127.0.0.1", "10.1.0.1"] };
            policy(ranges).allows(&around, to.parse().expect("an address"))
        };
        assert!(!allows(&["10.1.0.0/16"], "10.1.0.1:22"));
        assert!(allows(&["10.1.0.0/16"], "10.1.0.2:22"));
        assert!(allows(&["10.1.0.0/16", "10.1.0.1:22"], "10.1.0.1:22"));
        assert!(allows(&["127.0.0.0/8"], "127.0.0.1:22"));
    }

    #[test]
    fn without_the_far_gateway_proxies_lead_out_of_this_hosts_networks_only() {
        let outside = |policy: &Policy, around: &Around<'_>, to: &str| {
            policy.allows_outside(around, to.parse().expect("an address"))
        };
        let none = Policy::default();
        for inner in ["127.0.0.1:9100", "10.0.0.1:80", "[::1]:80", "169.254.169.254:80"] {
            assert!(!outside(&none, &NOTHING, inner), "{inner}");
        }
        assert!(outside(&none, &NOTHING, "192.0.2.1:80"));
        let beside = Around { beside: &["192.0.2.0/24"], own: &[] };
        assert!(!outside(&none, &beside, "192.0.2.1:80"));
        assert!(outside(&policy(&["10.0.0.0/8"]), &NOTHING, "10.0.0.1:80"));
    }

    #[test]
    fn what_is_no_network_is_refused() {
        for text in ["", "example.org", "10.0.0.0/33", "10.0.0.0/8:http", "[::1"] {
            assert!(text.parse::<Range>().is_err(), "{text}");
        }
    }
}
