//! A command behind the emulated link, with this host's own network behind it.

use std::fs;
use std::io;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use bentpipe_emulator::{Addresses, Bridge, Device, Namespace, WayOut, devices};

use super::Links;
use super::counters;
use super::enclosed::{code, pass};
use super::signals::Signals;
use crate::args::Emulate;
use crate::failure::Failure;

/// Where the kernel says which routes there are.
const ROUTES: &str = "/proc/net/route";
/// Where a host says how names are looked up.
const RESOLVER: &str = "/etc/resolv.conf";
/// Where systemd says whom its own resolver asks.
const BEHIND_SYSTEMD: &str = "/run/systemd/resolve/resolv.conf";

/// What the interface of a command is called, before the number of the link.
const NEAR: &str = "bentpipe";
/// The same of this host's.
const FAR: &str = "bentpipe-out";

/// Runs the command behind the link.
pub(super) fn run(args: &Emulate, links: &Links, mtu: u16) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::System(format!("--internet: {error}"));
    let clients = Namespace::new().map_err(failed)?;
    let (number, server, way_out) = open(mtu).map_err(failed)?;
    let [near, far] = hosts(number);
    let addresses = Addresses { v4: near, v6: None, router: Some(far) };
    let client = clients.device(&format!("{NEAR}{number}"), mtu, addresses).map_err(failed)?;
    let bridge = Bridge::new(client, server, links.packet_path(), args.swap);
    anstream::eprintln!("{near} (here) leads to {far} (this host) over {}", links.names());
    let resolver = resolver();
    let signals = Signals::watch()?;
    let command = clients.start(&args.command, resolver.as_deref(), |_| {}).map_err(failed)?;
    let (bridge, status) = pass(bridge, command, &signals)?;
    drop(way_out);
    counters::report(bridge.path(), args.json, io::stderr().lock())?;
    code(status)
}

/// Whether this program itself runs behind an emulated link.
pub(super) fn is_behind_a_link() -> io::Result<bool> {
    Ok(numbers(&devices()?, NEAR).next().is_some())
}

/// The numbers of the devices with this name.
fn numbers(devices: &[String], name: &str) -> impl Iterator<Item = u8> {
    devices.iter().filter_map(move |device| device.strip_prefix(name)?.parse().ok())
}

/// The addresses at the two ends of a link, the command's first.
fn hosts(number: u8) -> [Ipv4Addr; 2] {
    [1, 2].map(|host| Ipv4Addr::new(10, 53, number, host))
}

/// Makes the far end of the link with the next number, above those of all links between here and the world.
fn open(mtu: u16) -> io::Result<(u8, Device, WayOut)> {
    let there = devices()?;
    let most = numbers(&there, NEAR).chain(numbers(&there, FAR)).max();
    let mut number = most.map_or(Some(0), |most| most.checked_add(1));
    let routes = fs::read_to_string(ROUTES)?;
    while let Some(next) = number {
        let [near, far] = hosts(next);
        if leads_into(&routes, far) {
            number = next.checked_add(1);
            continue;
        }
        match WayOut::open(&format!("{FAR}{next}"), mtu, far, near) {
            Ok((device, way_out)) => return Ok((next, device, way_out)),
            // Somebody else took it meanwhile.
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                number = next.checked_add(1);
            }
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("none of the networks in 10.53.0.0/16 is free"))
}

/// Whether a route of such a table leads into the network of 24 bits of this address: somebody uses it.
fn leads_into(routes: &str, address: Ipv4Addr) -> bool {
    let network = |address: Ipv4Addr| address.to_bits() >> 8;
    let destinations = routes.lines().skip(1).filter_map(|line| {
        // As the kernel has it in memory, in hexadecimal.
        let text = line.split_whitespace().nth(1)?;
        Some(Ipv4Addr::from(u32::from_str_radix(text, 16).ok()?.to_le_bytes()))
    });
    destinations.into_iter().any(|destination| network(destination) == network(address))
}

/// The file by which the command looks up names; `None` for the host's own. One that asks the host itself, or over IPv6, is of
/// no use behind the link.
fn resolver() -> Option<PathBuf> {
    let asks_others = |file: &str| {
        let text = fs::read(file).unwrap_or_default();
        asks_others(&String::from_utf8_lossy(&text))
    };
    if asks_others(RESOLVER) {
        return None;
    }
    // Another file can only take the place of one that is there.
    if Path::new(RESOLVER).is_file() && asks_others(BEHIND_SYSTEMD) {
        return Some(Path::new(BEHIND_SYSTEMD).to_owned());
    }
    anstream::eprintln!("names cannot be looked up: {RESOLVER} has no name server but this host");
    None
}

/// Whether a file of this form names a server that can be asked over IPv4 and is not the host itself.
fn asks_others(text: &str) -> bool {
    let servers = text.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        if words.next()? != "nameserver" {
            return None;
        }
        words.next()?.parse::<Ipv4Addr>().ok()
    });
    servers.into_iter().any(|server| !server.is_loopback() && !server.is_unspecified())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_is_in_use_when_a_route_leads_into_it() {
        let routes = "Iface\tDestination\tGateway\n\
                      eth0\t00000000\t0100000A\n\
                      eth0\t0000000A\t00000000\n\
                      eth1\t4D00350A\t00000000\n";
        let used = |number| leads_into(routes, hosts(number)[1]);
        assert!(used(0), "10.53.0.77 is a host there");
        assert!(!used(1), "10.0.0.0/8 leads elsewhere: a longer route goes first");
    }

    #[test]
    fn a_name_server_that_is_not_the_host_itself_can_be_asked_over_the_link() {
        for (text, can) in [
            ("nameserver 10.0.0.53\n", true),
            ("# nothing\nnameserver 127.0.0.53\noptions edns0\n", false),
            ("nameserver 127.0.0.53\nnameserver 9.9.9.9\n", true),
            ("nameserver ::1\n", false),
            ("nameserver 2001:db8::1\nnameserver 0.0.0.0\n", false),
            ("nameserver\nnameserver fe80::1%eth0\nsearch example.org\n", false),
            ("", false),
        ] {
            assert_eq!(asks_others(text), can, "{text}");
        }
    }
}
