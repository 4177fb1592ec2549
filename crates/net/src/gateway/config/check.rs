//! Whether a configuration makes sense as a whole: what no type can say.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use bentpipe_units::ByteCount;

use super::{Config, Forward, Protocol, Role, Udp};
use crate::gateway::Ops;

/// What `limits.memory` is at least for each of `limits.connections`.
const LEAST_EACH: ByteCount = ByteCount::new(32_000);

/// Whether this may be the name of a network device, which goes into rules of the firewall as it is.
fn is_device(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (1..16).contains(&name.len()) && name.bytes().all(fits)
}

impl Config {
    /// Whether the parts fit together; otherwise the key and what is wrong.
    pub(super) fn check(&self) -> Result<(), (String, String)> {
        let wrong = |key: &str, message: String| Err((key.to_owned(), message));
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
        self.check_peers()?;
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
        let by_tcp = self.forward.iter().enumerate().filter(|(_, f)| f.protocol == Protocol::Tcp);
        let mut places: BTreeMap<SocketAddr, String> = BTreeMap::new();
        let listening = by_tcp.map(|(n, f)| (format!("forward[{n}].listen"), f.listen));
        let proxies = [("socks5.listen", &self.socks5), ("http.listen", &self.http)];
        let proxies =
            proxies.into_iter().filter_map(|(key, p)| Some((key.into(), p.as_ref()?.listen)));
        for (key, listen) in listening.chain(proxies).filter(|(_, listen)| listen.port() != 0) {
            if let Some(other) = places.insert(listen, key.clone()) {
                return wrong(&key, format!("{listen} is that of {other} already"));
            }
        }
        for (key, peer) in self.entrances() {
            self.peer(peer).map_err(|message| (format!("{key}.peer"), message))?;
        }
        Ok(())
    }

    /// Whether peers can be told apart and reached.
    fn check_peers(&self) -> Result<(), (String, String)> {
        let mut keys = BTreeMap::new();
        for (name, peer) in &self.peers {
            if let Some(other) = keys.insert(peer.key.0.to_string(), name) {
                return Err((
                    format!("peers.{name}.key"),
                    format!("it is that of {other} already"),
                ));
            }
            // An IPv6 socket reaches both.
            if self.listen.is_ipv4() && peer.address.is_some_and(|address| address.is_ipv6()) {
                let message = "it is IPv6, which `listen` at an IPv4 address does not reach";
                return Err((format!("peers.{name}.address"), message.into()));
            }
        }
        Ok(())
    }
}
