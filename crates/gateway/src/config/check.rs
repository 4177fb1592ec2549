//! Whether a configuration makes sense as a whole: what no type can say.

use std::collections::BTreeMap;
use std::net::IpAddr;

use bentpipe_units::ByteCount;

use super::{Config, Parsed, Password, Protocol, Proxy, Role, UdpMode};
use crate::Ops;

/// What `limits.memory` is at least for each of `limits.connections`.
const LEAST_EACH: ByteCount = ByteCount::new(32_000);

/// Nobody listens there.
const NO_PORT: &str = "port 0 leads nowhere: it is HOST:PORT";

/// Whether this may be the name of a network device, which goes into rules of the firewall as it is.
fn is_device(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (1..16).contains(&name.len()) && name.bytes().all(fits)
}

/// Whether it is an address of this host alone, or of its own network.
fn is_of_this_site(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_loopback() || ip.is_private() || ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_loopback() || ip.is_unique_local() || ip.is_unicast_link_local(),
    }
}

/// What is wrong with a configuration, by key.
#[derive(Debug, Default)]
pub(super) struct Found(Vec<(String, String)>);

impl Found {
    /// This is wrong with this key.
    pub(super) fn add(&mut self, key: impl Into<String>, message: impl Into<String>) {
        self.0.push((key.into(), message.into()));
    }

    /// All of it.
    pub(super) fn all(self) -> Vec<(String, String)> {
        self.0
    }
}

impl Config {
    /// Whether the parts fit together; otherwise the keys and what is wrong.
    pub(super) fn check(&self) -> Vec<(String, String)> {
        let mut found = Found::default();
        if self.peers.is_empty() {
            found.add("peers", "there is none: name the remote gateway in [peers.NAME]");
        }
        for (name, peer) in &self.peers {
            if self.role == Role::Terminal && peer.address.is_none() {
                let message = "a terminal must know its peer's UDP address, HOST:PORT";
                found.add(format!("peers.{name}.address"), message);
            }
        }
        self.check_link(&mut found);
        if let Some(Err((key, message))) = self.ops.as_ref().map(Ops::check) {
            found.add(key, message);
        }
        self.check_limits(&mut found);
        self.check_peers(&mut found);
        self.check_proxies(&mut found);
        self.check_entrances(&mut found);
        found.all()
    }

    /// Whether limits leave room for anything.
    fn check_limits(&self, found: &mut Found) {
        let limits = &self.limits;
        for (key, is_zero) in [
            ("limits.idle_timeout", limits.idle_timeout.0.is_zero()),
            ("limits.connect_timeout", limits.connect_timeout.0.is_zero()),
            ("limits.new_per_second", limits.new_per_second == 0),
        ] {
            if is_zero {
                found.add(key, "it is above zero");
            }
        }
        if self.limits.connections == 0 {
            found.add("limits.connections", "it is at least 1");
        }
        if self.limits.buffer.0 < ByteCount::new(64_000) {
            found.add("limits.buffer", "it is at least 64 kB");
        }
        let least = LEAST_EACH.get().saturating_mul(self.limits.connections as u64);
        if self.limits.memory.0.get() < least {
            let connections = self.limits.connections;
            let message = format!("it is at least {least} B for {connections} connections");
            found.add("limits.memory", message);
        }
    }

    /// Whether connections can come in everywhere where they should.
    fn check_entrances(&self, found: &mut Found) {
        let names = self.transparent.iter().flat_map(|t| &t.interfaces);
        for name in names.filter(|name| !is_device(name)) {
            let message = format!("`{name}` is no name of a network device, such as \"eth0\"");
            found.add("transparent.interfaces", message);
        }
        for (n, forward) in self.forward.iter().enumerate() {
            if forward.protocol == Protocol::Udp && self.udp.mode != UdpMode::Tunnel {
                found.add(format!("forward[{n}].protocol"), "UDP needs udp = \"tunnel\"");
            }
            if !forward.to.0.leads_anywhere() {
                found.add(format!("forward[{n}].to"), NO_PORT);
            }
        }
        if self.transparent.as_ref().is_some_and(|t| t.port == 0) {
            found.add("transparent.port", "it is a TCP port that nothing else uses");
        }
        self.check_listeners(found);
        for (key, peer) in self.entrances() {
            // Without any peer that is what is wrong.
            if let Err(message) = self.peer(peer)
                && !self.peers.is_empty()
            {
                found.add(format!("{key}.peer"), message);
            }
        }
    }

    /// Whether each listener has its own address.
    fn check_listeners(&self, found: &mut Found) {
        let forwards = self.forward.iter().enumerate();
        let forwards =
            forwards.map(|(n, f)| (format!("forward[{n}].listen"), (f.protocol, f.listen)));
        let by_tcp = |listen| (Protocol::Tcp, listen);
        let proxies = self.proxies().map(|(key, p)| (format!("{key}.listen"), by_tcp(p.listen)));
        let ops = self.ops.iter().map(|ops| ("ops.listen".to_owned(), by_tcp(ops.listen)));
        let mut places = BTreeMap::new();
        for (key, place) in forwards.chain(proxies).chain(ops).filter(|(_, (_, at))| at.port() != 0)
        {
            if let Some(other) = places.insert(place, key.clone()) {
                found.add(key, format!("{} is that of {other} already", place.1));
            }
        }
    }

    /// The proxies, by key.
    pub fn proxies(&self) -> impl Iterator<Item = (&'static str, &Proxy)> {
        let proxies = [("socks5", &self.socks5), ("http", &self.http)];
        proxies.into_iter().filter_map(|(key, proxy)| Some((key, proxy.as_ref()?)))
    }

    /// Whether proxies are for those that their operator means.
    fn check_proxies(&self, found: &mut Found) {
        for (key, proxy) in self.proxies() {
            // As long as the protocols can say them (RFC 1929, section 2; RFC 7617, section 2).
            let fits = |length: usize| (1..=255).contains(&length);
            let is_wrong = |(user, password): &(&String, &Password)| {
                !fits(user.len()) || !fits(password.len()) || user.contains(':')
            };
            if proxy.users.iter().any(|user| is_wrong(&user)) {
                let message = "names and passwords have 1 to 255 bytes, and names no colon";
                found.add(format!("{key}.users"), message);
            }
            let is_ours = is_of_this_site(proxy.listen.ip().to_canonical());
            if proxy.users.is_empty() && !proxy.open && !is_ours {
                let message = format!(
                    "{} is reached from outside, and nobody has to give a password: use a loopback or \
                     private address, name users, or set open = true",
                    proxy.listen
                );
                found.add(format!("{key}.listen"), message);
            }
        }
    }

    /// Whether peers can be told apart and reached.
    fn check_peers(&self, found: &mut Found) {
        let mut keys = BTreeMap::new();
        for (name, peer) in &self.peers {
            if let Some(other) = keys.insert(peer.key.0.to_string(), name) {
                found.add(format!("peers.{name}.key"), format!("it is that of {other} already"));
            }
            let first = peer.address.iter().map(|address| ("address", address));
            let further = peer.backup.iter().map(|address| ("backup", address));
            for (key, Parsed(address)) in first.chain(further) {
                let key = format!("peers.{name}.{key}");
                if !address.leads_anywhere() {
                    found.add(&key, NO_PORT);
                }
                // An IPv6 socket reaches both.
                if self.listen.is_ipv4() && address.address().is_some_and(|a| a.is_ipv6()) {
                    found.add(key, "it is IPv6, which `listen` at an IPv4 address does not reach");
                }
            }
        }
    }
}
