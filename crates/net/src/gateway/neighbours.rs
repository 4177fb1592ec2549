//! The networks beside this host, as its routing table has them.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, Mutex};

use ipnet::IpNet;

use bentpipe_association::host::lock;

/// The tables; they are there also where a unit of systemd shows processes only.
const TABLES: [&str; 2] = ["/proc/self/net/route", "/proc/self/net/ipv6_route"];
/// Seconds for which a table holds: that of a router of the internet is long.
const HOLDS: u64 = 30;
/// What leads further, and what leads nowhere (linux/route.h, linux/ipv6_route.h).
const GATEWAY: u32 = 0x0002;
const REJECT: u32 = 0x0200;
/// A shorter prefix is no network of neighbours but what lies behind a tunnel.
const SHORTEST: [u8; 2] = [8, 16];

/// The networks beside this host.
#[derive(Debug, Default)]
pub(super) struct Neighbours {
    read: Mutex<Option<(u64, Arc<[IpNet]>)>>,
}

impl Neighbours {
    /// The network beside this host that an address is of; of several the smallest.
    pub(super) fn network_of(&self, ip: IpAddr) -> Option<IpNet> {
        let networks = self.networks();
        let found = networks.iter().filter(|network| network.contains(&ip));
        found.max_by_key(|network| network.prefix_len()).copied()
    }

    fn networks(&self) -> Arc<[IpNet]> {
        let now = bentpipe_system::seconds();
        let mut read = lock(&self.read);
        match &*read {
            Some((at, networks)) if now < at + HOLDS => networks.clone(),
            _ => {
                let [v4, v6] = TABLES.map(|table| fs::read_to_string(table).unwrap_or_default());
                let v4 = v4.lines().filter_map(of_ipv4);
                let networks: Arc<[IpNet]> = v4.chain(v6.lines().filter_map(of_ipv6)).collect();
                *read = Some((now, networks.clone()));
                networks
            }
        }
    }
}

/// A network if it is one beside this host.
fn network(ip: IpAddr, prefix: u8, flags: u32) -> Option<IpNet> {
    let network = IpNet::new(ip, prefix).ok()?;
    let shortest = SHORTEST[usize::from(ip.is_ipv6())];
    let is_beside = flags & (GATEWAY | REJECT) == 0
        && (shortest..network.max_prefix_len()).contains(&prefix)
        && !ip.is_loopback();
    is_beside.then_some(network.trunc())
}

/// What a line says: device, destination, gateway, flags, three counts, mask; numbers as they lie in memory.
fn of_ipv4(line: &str) -> Option<IpNet> {
    let mut fields = line.split_whitespace().skip(1);
    let mut number = |skip| u32::from_str_radix(fields.nth(skip)?, 16).ok();
    let (destination, flags, mask) = (number(0)?, number(1)?, number(3)?);
    let prefix = mask.count_ones() as u8;
    network(Ipv4Addr::from(destination.to_ne_bytes()).into(), prefix, flags)
}

/// What a line says: destination and length of the prefix, the same of a source, next hop, three counts, flags, device.
fn of_ipv6(line: &str) -> Option<IpNet> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let [destination, prefix, _, _, _, _, _, _, flags, device] = fields[..] else { return None };
    let ip = Ipv6Addr::from_bits(u128::from_str_radix(destination, 16).ok()?);
    let prefix = u8::from_str_radix(prefix, 16).ok()?;
    let flags = u32::from_str_radix(flags, 16).ok()?;
    network(ip.into(), prefix, flags).filter(|_| device != "lo")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn routes_without_a_gateway_lead_to_neighbours() {
        let table = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n\
            eth0\t00000000\t010071CB\t0003\t0\t0\t0\t00000000\t0\t0\t0\n\
            eth0\t007100CB\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n\
            eth1\t0002000A\t0100000A\t0003\t0\t0\t0\t00FFFFFF\t0\t0\t0\n\
            tun0\t00000080\t00000000\t0001\t0\t0\t0\t00000080\t0\t0\t0\n";
        let found: Vec<String> =
            table.lines().filter_map(of_ipv4).map(|network| network.to_string()).collect();
        assert_eq!(found, ["203.0.113.0/24"]);
        let zeros = "0".repeat(32);
        let line = |destination: &str, prefix: &str, next: &str, flags: &str, device: &str| {
            format!(
                "{destination} {prefix} {zeros} 00 {next} 00000100 00000001 00000000 {flags} {device}"
            )
        };
        let there = "20010db8000100000000000000000000";
        let gateway = "fe800000000000000000000000000001";
        for (line, is_beside) in [
            (line(there, "40", &zeros, "00000001", "eth0"), true),
            (line(there, "40", gateway, "00000003", "eth0"), false),
            (line(there, "80", &zeros, "80200001", "lo"), false),
            (line(&zeros, "00", gateway, "00450003", "eth0"), false),
            (line(&zeros, "00", &zeros, "00200200", "lo"), false),
        ] {
            let expected = is_beside.then(|| "2001:db8:1::/64".parse().expect("a network"));
            assert_eq!(of_ipv6(&line), expected, "{line}");
        }
    }

    proptest! {
        #[test]
        fn anything_may_stand_there(line in "[ -~\\t]{0,200}") {
            let _ = (of_ipv4(&line), of_ipv6(&line));
        }
    }
}
