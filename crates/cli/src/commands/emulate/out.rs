//! A command behind the emulated link, with this host's own network behind it.

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};

use bentpipe_emulator::{Addresses, Bridge, Device, Namespace, WayOut, devices};

use super::Links;
use super::enclosed::{code, pass, report};
use super::signals::Signals;
use crate::args::Emulate;
use crate::failure::Failure;

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
    let resolver = resolver().map_err(failed)?;
    let signals = Signals::watch()?;
    let command = clients.start(&args.command, resolver.as_deref(), |_| {}).map_err(failed)?;
    let (bridge, status) = pass(bridge, command, &signals)?;
    drop(way_out);
    report(&bridge, args.json)?;
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
    while let Some(next) = number {
        let [near, far] = hosts(next);
        match WayOut::open(&format!("{FAR}{next}"), mtu, far, near) {
            Ok((device, way_out)) => return Ok((next, device, way_out)),
            // Somebody else took it meanwhile.
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                number = next.checked_add(1);
            }
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("there are 256 emulated links already"))
}

/// The file by which the command looks up names; `None` for the host's own. One that asks the host itself is of no use
/// behind the link.
fn resolver() -> io::Result<Option<PathBuf>> {
    let asks_elsewhere = |file: &str| -> io::Result<bool> {
        match fs::read_to_string(file) {
            Ok(text) => Ok(asks_others(&text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    };
    if asks_elsewhere(RESOLVER)? {
        return Ok(None);
    }
    if asks_elsewhere(BEHIND_SYSTEMD)? {
        return Ok(Some(Path::new(BEHIND_SYSTEMD).to_owned()));
    }
    anstream::eprintln!("names cannot be looked up: {RESOLVER} has no name server but this host");
    Ok(None)
}

/// Whether a file of this form names a server that is not the host itself.
fn asks_others(text: &str) -> bool {
    let servers = text.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        if words.next()? != "nameserver" {
            return None;
        }
        words.next()?.parse::<IpAddr>().ok()
    });
    servers.into_iter().any(|server| !server.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_server_that_is_not_the_host_itself_can_be_asked_over_the_link() {
        for (text, can) in [
            ("nameserver 10.0.0.53\n", true),
            ("# nothing\nnameserver 127.0.0.53\noptions edns0\n", false),
            ("nameserver 127.0.0.53\nnameserver 9.9.9.9\n", true),
            ("nameserver ::1\n", false),
            ("nameserver\nnameserver fe80::1%eth0\nsearch example.org\n", false),
            ("", false),
        ] {
            assert_eq!(asks_others(text), can, "{text}");
        }
    }
}
