//! Two gateways on loopback, and TCP servers.
#![allow(dead_code, reason = "each test uses its part")]

pub(crate) mod fetching;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, Ordering};

use bentpipe_association::SecretKey;
use bentpipe_gateway::Config;
use bentpipe_net::gateway::{Gateway, KeptFiles};
use tokio::net::{TcpListener, TcpStream, UdpSocket};

/// Destinations on loopback are allowed.
pub(crate) const OPEN: &str = "allow = [\"127.0.0.0/8\"]";

/// A link of the gateways' own, at a rate that [`Site::change_rates`] changes.
pub(crate) const DEDICATED: &str = "[link]\nmode = \"dedicated\"\nrate = \"50 Mbit/s\"";

/// Where everything listens, and the settings of both gateways.
#[derive(Debug)]
pub(crate) struct Site {
    keys: [SecretKey; 2],
    /// The terminal's SOCKS5 and HTTP servers and its forwarded port.
    pub(crate) socks5: SocketAddr,
    pub(crate) http: SocketAddr,
    pub(crate) forward: SocketAddr,
    /// Where the hub listens for the terminal.
    pub(crate) udp: SocketAddr,
    terminal: String,
    hub: String,
}

/// Ports that nobody uses now.
pub(crate) async fn free<const N: usize>() -> [SocketAddr; N] {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let mut found = Vec::new();
    while found.len() < N {
        // Below those that the system gives by itself: a connection could take one of these before a gateway does.
        let step = NEXT.fetch_add(1, Ordering::Relaxed) + std::process::id() * 64;
        let address = SocketAddr::from(([127, 0, 0, 1], 10_000 + (step % 20_000) as u16));
        if TcpListener::bind(address).await.is_ok() && UdpSocket::bind(address).await.is_ok() {
            found.push(address);
        }
    }
    std::array::from_fn(|n| found[n])
}

impl Site {
    /// The forwarded port leads to `to`; the terminal finds the hub at `link`, or directly; `terminal` and
    /// `hub` are more settings.
    pub(crate) async fn new(
        to: &str,
        link: Option<SocketAddr>,
        [terminal, hub]: [&str; 2],
    ) -> Self {
        let keys = [SecretKey::from_bytes([1; 32]), SecretKey::from_bytes([2; 32])];
        let [socks5, http, forward, udp] = free().await;
        let hub = format!(
            "role = \"hub\"\nkey = \"unused\"\nlisten = \"{udp}\"\n{hub}\n[peers.terminal]\nkey = \"{}\"",
            keys[0].public()
        );
        let terminal = format!(
            "role = \"terminal\"\nkey = \"unused\"\nlisten = \"127.0.0.1:0\"\n{terminal}\n\
             [peers.hub]\nkey = \"{}\"\naddress = \"{}\"\n[[forward]]\nlisten = \"{forward}\"\n\
             to = \"{to}\"\n[socks5]\nlisten = \"{socks5}\"\n\
             [http]\nlisten = \"{http}\"\nusers = {{ eve = \"apple\" }}",
            keys[1].public(),
            link.unwrap_or(udp),
        );
        Self { keys, socks5, http, forward, udp, terminal, hub }
    }

    /// The hub listens here instead.
    pub(crate) fn at(mut self, udp: SocketAddr) -> Self {
        self.hub = self.hub.replacen(&self.udp.to_string(), &udp.to_string(), 1);
        self.udp = udp;
        self
    }

    /// The terminal knows the hub's name only.
    pub(crate) fn by_name(mut self, name: &str) -> Self {
        let named = format!("address = \"{name}:{}\"", self.udp.port());
        self.terminal = self.terminal.replacen(&format!("address = \"{}\"", self.udp), &named, 1);
        assert!(self.terminal.contains(name));
        self
    }

    /// With more settings of the hub as the terminal's peer.
    pub(crate) fn with_peer(mut self, settings: &str) -> Self {
        self.terminal =
            self.terminal.replacen("[[forward]]", &format!("{settings}\n[[forward]]"), 1);
        self
    }

    /// SOCKS5 wants this user with this password.
    pub(crate) fn with_socks_user(mut self, user: &str, password: &str) -> Self {
        let users = format!("users = {{ {user} = \"{password}\" }}\n[http]");
        self.terminal = self.terminal.replacen("[http]", &users, 1);
        self
    }

    /// Starts the terminal.
    pub(crate) fn terminal(&self) -> Gateway {
        let config = Config::parse("terminal.toml", &self.terminal).expect("a configuration");
        Gateway::start(config, self.keys[0].clone(), KeptFiles::default()).expect("a terminal")
    }

    /// Lets a hub and a terminal on a [`DEDICATED`] link send at so many Mbit/s, as at SIGHUP. It changes
    /// nothing on other links.
    pub(crate) fn change_rates(&self, gateways: [&Gateway; 2], mbits: u64) {
        for (gateway, text) in gateways.into_iter().zip([&self.hub, &self.terminal]) {
            let text = text.replace("50 Mbit/s", &format!("{mbits} Mbit/s"));
            let config = Config::parse("changed.toml", &text).expect("a configuration");
            gateway.reload(&config).expect("only rates differ");
        }
    }

    /// Starts the hub.
    pub(crate) fn hub(&self) -> Gateway {
        let config = Config::parse("hub.toml", &self.hub).expect("a configuration");
        Gateway::start(config, self.keys[1].clone(), KeptFiles::default()).expect("a hub")
    }
}

/// Waits until all addresses of a site can be bound: a gateway that is dropped ends soon, not at once.
pub(crate) async fn released(site: &Site) {
    let wait = async {
        while UdpSocket::bind(site.udp).await.is_err() {
            tokio::task::yield_now().await;
        }
        for address in [site.forward, site.socks5, site.http] {
            while TcpListener::bind(address).await.is_err() {
                tokio::task::yield_now().await;
            }
        }
    };
    tokio::time::timeout(fetching::LONG, wait).await.expect("gateways end");
}

/// A server that answers every connection by `serve`.
pub(crate) async fn server<F: Future<Output = ()> + Send + 'static>(
    serve: impl Fn(TcpStream) -> F + Send + 'static,
) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((tcp, _)) = listener.accept().await {
            tokio::spawn(serve(tcp));
        }
    });
    address
}
