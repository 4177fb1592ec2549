//! A hub with two terminals: what one of them may have, and what is left for the other.

mod gateways;
mod links;

use std::net::SocketAddr;
use std::time::Duration;

use bentpipe_association::SecretKey;
use bentpipe_gateway::Config;
use bentpipe_net::gateway::{Gateway, KeptFiles};
use bentpipe_units::Span;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use gateways::fetching::until;
use gateways::{OPEN, free, server};
use links::Link;

/// Longest time for anything here.
const LONG: Duration = Duration::from_secs(30);

/// A hub, and two terminals with a forwarded port each.
struct Fleet {
    hub: Gateway,
    terminals: [Gateway; 2],
    forwards: [SocketAddr; 2],
    _links: [Link; 2],
}

fn start(text: &str, key: &SecretKey) -> Gateway {
    let config = Config::parse("gateway.toml", text).expect("a configuration");
    Gateway::start(config, key.clone(), KeptFiles::default()).expect("a gateway")
}

impl Fleet {
    /// Ports of both terminals lead to `to`; `settings` are the hub's, `peers` those of each terminal at the hub.
    async fn new(to: SocketAddr, settings: &str, peers: [&str; 2]) -> Self {
        let keys = [1, 2, 3].map(|n| SecretKey::from_bytes([n; 32]));
        let [udp, near, far, one, two] = free().await;
        let links =
            [one, two].map(|listen| Link::new(listen, udp, 200, Span::from_millis(10), 0.0));
        let forwards = [near, far];
        let mut hub =
            format!("role = \"hub\"\nkey = \"unused\"\nlisten = \"{udp}\"\n{OPEN}\n{settings}\n");
        for (n, settings) in peers.iter().enumerate() {
            hub += &format!("[peers.t{n}]\nkey = \"{}\"\n{settings}\n", keys[n].public());
        }
        let hub = start(&hub, &keys[2]);
        let terminals = [0, 1].map(|n| {
            let text = format!(
                "role = \"terminal\"\nkey = \"unused\"\nlisten = \"127.0.0.1:0\"\nearly_accept = false\n\
                 [peers.hub]\nkey = \"{}\"\naddress = \"{}\"\n[[forward]]\nlisten = \"{}\"\nto = \"{to}\"",
                keys[2].public(),
                [one, two][n],
                forwards[n]
            );
            start(&text, &keys[n])
        });
        let fleet = Self { hub, terminals, forwards, _links: links };
        until("both are up", || fleet.terminals.iter().all(|t| t.is_up("hub"))).await;
        fleet
    }

    /// What both get of a download without end, while the first 1 to 5 MB of both together come.
    async fn parts(&self) -> [f64; 2] {
        let mut tcps = Vec::new();
        for forward in self.forwards {
            tcps.push(TcpStream::connect(forward).await.expect("a connection"));
        }
        let (mut got, mut at_first) = ([0, 0], None);
        let mut buffers = [[0; 16_384]; 2];
        while got[0] + got[1] < 5_000_000 {
            let [near, far] = &mut buffers;
            let [a, b] = tcps.as_mut_slice() else { panic!("two connections") };
            let (n, read) = tokio::select! {
                read = a.read(near) => (0, read),
                read = b.read(far) => (1, read),
            };
            got[n] += read.expect("more");
            if got[0] + got[1] >= 1_000_000 {
                at_first.get_or_insert(got);
            }
        }
        let before = at_first.expect("a first million");
        [0, 1].map(|n| (got[n] - before[n]) as f64)
    }
}

/// Says the same for ever.
async fn endless(mut tcp: TcpStream) {
    while tcp.write_all(&[7; 16_384]).await.is_ok() {}
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn terminals_share_a_dedicated_link_by_their_weights() {
    let to = server(endless).await;
    let link = "[link]\nmode = \"dedicated\"\nrate = \"24 Mbit/s\"";
    let fleet = Fleet::new(to, link, ["weight = 3", ""]).await;
    let parts = tokio::time::timeout(LONG, fleet.parts()).await.expect("in time");
    let ratio = parts[0] / parts[1];
    assert!((2.5..3.5).contains(&ratio), "{parts:?}");
}

#[tokio::test]
async fn a_terminal_with_a_rate_of_its_own_leaves_the_rest_of_the_link_to_the_other() {
    let to = server(endless).await;
    let link = "[link]\nmode = \"dedicated\"\nrate = \"24 Mbit/s\"";
    let fleet = Fleet::new(to, link, ["rate = \"4 Mbit/s\"", ""]).await;
    let parts = tokio::time::timeout(LONG, fleet.parts()).await.expect("in time");
    let ratio = parts[1] / parts[0];
    assert!((4.0..6.0).contains(&ratio), "{parts:?}");
}

#[tokio::test]
async fn a_terminal_with_all_the_connections_it_may_have_takes_none_from_the_other() {
    let to = server(async |mut tcp: TcpStream| {
        let (mut reader, mut writer) = tcp.split();
        let _ = tokio::io::copy(&mut reader, &mut writer).await;
    })
    .await;
    let fleet = Fleet::new(to, "[limits]\nconnections = 2", ["", ""]).await;
    /// Whether a server answers behind this port.
    async fn is_served(forward: SocketAddr) -> (TcpStream, bool) {
        let mut tcp = TcpStream::connect(forward).await.expect("a connection");
        let asked = tcp.write_all(b"x").await.is_ok();
        let is_served = asked && tcp.read_exact(&mut [0]).await.is_ok();
        (tcp, is_served)
    }
    let mut held = Vec::new();
    for (forward, serves) in [(0, true), (0, true), (0, false), (1, true), (1, true), (1, false)] {
        let asked = tokio::time::timeout(LONG, is_served(fleet.forwards[forward])).await;
        let (tcp, is_served) = asked.expect("in time");
        assert_eq!(is_served, serves, "{} of terminal {forward}", held.len());
        held.push(tcp);
    }
    let peers = fleet.hub.status().peers;
    let flows = fleet.hub.status().flows;
    assert_eq!((peers.len(), flows.len()), (2, 4));
}
