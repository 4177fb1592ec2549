//! Whether a configuration makes sense as a whole: what no type can say.

use std::collections::BTreeMap;
use std::net::IpAddr;

use bentpipe_units::ByteCount;

use super::{Config, Forward, Password, Protocol, Proxy, Role, Udp};
use crate::gateway::Ops;

/// What `limits.memory` is at least for each of `limits.connections`.
const LEAST_EACH: ByteCount = ByteCount::new(32_000);

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

type Wrong = Result<(), (String, String)>;

fn wrong(key: &str, message: String) -> Wrong {
    Err((key.to_owned(), message))
}

impl Config {
    /// Whether the parts fit together; otherwise the key and what is wrong.
    pub(super) fn check(&self) -> Wrong {
        if self.peers.is_empty() {
            return wrong("peers", "there is none: name the far gateway in [peers.NAME]".into());
        }
        for (name, peer) in &self.peers {
            if self.role == Role::Terminal && peer.address.is_none() {
                let message = "a terminal must know its peer's UDP address, HOST:PORT".into();
                return wrong(&format!("peers.{name}.address"), message);
            }
        }
        self.check_link()?;
        self.ops.as_ref().map_or(Ok(()), Ops::check)?;
        self.check_limits()?;
        self.check_peers()?;
        self.check_proxies()?;
        self.check_entrances()
    }

    /// Whether limits leave room for anything.
    fn check_limits(&self) -> Wrong {
        let limits = &self.limits;
        for (key, is_zero) in [
            ("limits.patience", limits.patience.0.is_zero()),
            ("limits.connect_timeout", limits.connect_timeout.0.is_zero()),
            ("limits.new_per_second", limits.new_per_second == 0),
        ] {
            if is_zero {
                return wrong(key, "it is above zero".into());
            }
        }
        if self.limits.connections == 0 {
            return wrong("limits.connections", "it is at least 1".into());
        }
        if self.limits.buffer.0 < ByteCount::new(64_000) {
            return wrong("limits.buffer", "it is at least 64 kB".into());
        }
        let least = LEAST_EACH * self.limits.connections as u64;
        if self.limits.memory.0 < least {
            let (needs, connections) = (least.get(), self.limits.connections);
            let message = format!("it is at least {needs} B for {connections} connections");
            return wrong("limits.memory", message);
        }
        Ok(())
    }

    /// Whether connections can come in everywhere where they should.
    fn check_entrances(&self) -> Wrong {
        let names = self.transparent.iter().flat_map(|t| &t.interfaces);
        if let Some(name) = names.into_iter().find(|name| !is_device(name)) {
            let message = format!("`{name}` is no name of a network device, such as \"eth0\"");
            return wrong("transparent.interfaces", message);
        }
        let by_udp = |forward: &Forward| forward.protocol == Protocol::Udp;
        if let Some(n) = self.forward.iter().position(by_udp)
            && self.udp != Udp::Tunnel
        {
            return wrong(&format!("forward[{n}].protocol"), "UDP needs udp = \"tunnel\"".into());
        }
        if self.transparent.as_ref().is_some_and(|t| t.port == 0) {
            return wrong("transparent.port", "it is a TCP port that nothing else uses".into());
        }
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
                return wrong(&key, format!("{} is that of {other} already", place.1));
            }
        }
        for (key, peer) in self.entrances() {
            self.peer(peer).map_err(|message| (format!("{key}.peer"), message))?;
        }
        Ok(())
    }

    /// The proxies, by key.
    fn proxies(&self) -> impl Iterator<Item = (&'static str, &Proxy)> {
        let proxies = [("socks5", &self.socks5), ("http", &self.http)];
        proxies.into_iter().filter_map(|(key, proxy)| Some((key, proxy.as_ref()?)))
    }

    /// Whether proxies are for those that their operator means.
    fn check_proxies(&self) -> Wrong {
        for (key, proxy) in self.proxies() {
            // As long as the protocols can say them (RFC 1929, section 2; RFC 7617, section 2).
            let fits = |length: usize| (1..=255).contains(&length);
            let is_wrong = |(user, password): &(&String, &Password)| {
                !fits(user.len()) || !fits(password.len()) || user.contains(':')
            };
            if proxy.users.iter().any(|user| is_wrong(&user)) {
                let message = "names and passwords have 1 to 255 bytes, and names no colon";
                return wrong(&format!("{key}.users"), message.into());
            }
            let is_ours = is_of_this_site(proxy.listen.ip().to_canonical());
            if proxy.users.is_empty() && !proxy.open && !is_ours {
                let message = format!(
                    "{} is reached from outside, and nobody has to give a password: use a loopback or \
                     private address, name users, or set open = true",
                    proxy.listen
                );
                return wrong(&format!("{key}.listen"), message);
            }
        }
        Ok(())
    }

    /// Whether peers can be told apart and reached.
    fn check_peers(&self) -> Wrong {
        let mut keys = BTreeMap::new();
        for (name, peer) in &self.peers {
            if let Some(other) = keys.insert(peer.key.0.to_string(), name) {
                return wrong(
                    &format!("peers.{name}.key"),
                    format!("it is that of {other} already"),
                );
            }
            // An IPv6 socket reaches both.
            if self.listen.is_ipv4() && peer.address.is_some_and(|address| address.is_ipv6()) {
                let message = "it is IPv6, which `listen` at an IPv4 address does not reach";
                return wrong(&format!("peers.{name}.address"), message.into());
            }
        }
        Ok(())
    }
}
