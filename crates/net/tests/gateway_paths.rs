//! Two gateways with several paths between them: a second link, and TCP where UDP does not get through.

mod gateways;
mod links;

use std::net::SocketAddr;
use std::time::Duration;

use bentpipe_association::Outer;
use bentpipe_gateway::PeerStatus;
use bentpipe_net::gateway::Gateway;
use bentpipe_testkit::pattern;
use bentpipe_units::Span;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UdpSocket};

use gateways::{OPEN, Site, free, server};
use links::Link;

/// Longest time for anything here.
const LONG: Duration = Duration::from_secs(60);

/// Sends back what comes, as it comes.
async fn echo(mut tcp: TcpStream) {
    let (mut reader, mut writer) = tcp.split();
    // The client may be gone.
    let _ = tokio::io::copy(&mut reader, &mut writer).await;
}

/// Sends so many bytes through the forwarded port and reads as many.
async fn round(tcp: &mut TcpStream, len: usize) {
    let data = pattern(len);
    let mut back = vec![0; len];
    let (mut reader, mut writer) = tcp.split();
    let both = async {
        tokio::try_join!(writer.write_all(&data), reader.read_exact(&mut back)).expect("an echo");
    };
    tokio::time::timeout(LONG, both).await.expect("in time");
    assert!(back == data);
}

/// A server that sends back every datagram.
async fn echo_of_datagrams() -> SocketAddr {
    let socket = UdpSocket::bind("127.0.0.1:0").await.expect("a port");
    let address = socket.local_addr().expect("an address");
    tokio::spawn(async move {
        let mut buffer = [0; 2_000];
        while let Ok((len, from)) = socket.recv_from(&mut buffer).await {
            let _ = socket.send_to(&buffer[..len], from).await;
        }
    });
    address
}

/// Sends datagrams of 1,000 bytes to a port, so many each 10 ms, until so many came back, each as it was sent and once.
async fn talk(client: &UdpSocket, each: usize, count: usize) {
    let mut came = vec![false; 100_000];
    let (mut sent, mut answers) = (0_u32, 0);
    let mut buffer = [0; 2_000];
    let talking = async {
        let mut beat = tokio::time::interval(Duration::from_millis(10));
        while answers < count {
            tokio::select! {
                _ = beat.tick() => {
                    for _ in 0..each {
                        let number = &sent.to_be_bytes()[..];
                        let bytes = [number, &pattern(996)].concat();
                        let _ = client.send(&bytes).await;
                        sent += 1;
                    }
                }
                Ok(len) = client.recv(&mut buffer) => {
                    let (number, rest) = buffer[..len].split_first_chunk().expect("a number");
                    let place = u32::from_be_bytes(*number) as usize;
                    // What was said before comes from a talk before.
                    if rest == &pattern(996)[..] && place < sent as usize {
                        assert!(!std::mem::replace(&mut came[place], true), "{place} twice");
                        answers += 1;
                    }
                }
            }
        }
    };
    tokio::time::timeout(LONG, talking).await.expect("answers");
}

/// What a gateway says of its only peer, once `is` holds.
async fn until(gateway: &Gateway, is: impl Fn(&PeerStatus) -> bool) {
    let waiting = async {
        while !is(&gateway.status().peers[0]) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let waited = tokio::time::timeout(LONG, waiting).await;
    assert!(waited.is_ok(), "{:?}", gateway.status().peers);
}

/// Carries TCP, and no UDP.
async fn tcp_only(to: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((mut near, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut far = TcpStream::connect(to).await.expect("the hub");
                let _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
            });
        }
    });
    address
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_udp_is_blocked_flows_go_by_tcp() {
    let to = server(echo).await;
    let [udp] = free().await;
    let blocked = tcp_only(udp).await;
    let site = Site::new(&to.to_string(), Some(blocked), ["", OPEN]).await.at(udp);
    let (hub, terminal) = (site.hub(), site.terminal());
    let mut tcp = TcpStream::connect(site.forward).await.expect("a connection");
    round(&mut tcp, 3_000_000).await;
    for gateway in [&hub, &terminal] {
        let peer = &gateway.status().peers[0];
        assert_eq!((peer.up, peer.outer, peer.link), (true, Outer::Tcp, 1));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hub_that_is_asked_for_udp_only_does_not_listen_for_tcp() {
    let site = Site::new("127.0.0.1:9", None, ["", "outer = \"udp\""]).await;
    let hub = site.hub();
    assert!(TcpStream::connect(hub.local_addr()).await.is_err());
    let site = Site::new("127.0.0.1:9", None, ["", ""]).await;
    let hub = site.hub();
    assert!(TcpStream::connect(hub.local_addr()).await.is_ok());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flow_goes_on_by_the_second_link_while_the_first_one_is_dark_and_then_by_the_first_again()
{
    let to = server(echo).await;
    let [first, second] = free().await;
    let site = Site::new(
        &to.to_string(),
        Some(first),
        ["outer = \"udp\"\n[backup]", &format!("{OPEN}\n[backup]")],
    )
    .await
    .with_peer(&format!("backup = \"{second}\""));
    let link = |listen| Link::new(listen, site.udp, 50, Span::from_millis(5), 0.0);
    let (primary, _backup) = (link(first), link(second));
    let (hub, terminal) = (site.hub(), site.terminal());
    let mut tcp = TcpStream::connect(site.forward).await.expect("a connection");
    round(&mut tcp, 100_000).await;
    assert_eq!(terminal.status().peers[0].link, 1);
    primary.end();
    round(&mut tcp, 1_000_000).await;
    for gateway in [&hub, &terminal] {
        assert_eq!(gateway.status().peers[0].link, 2);
    }
    let _primary = link(first);
    for gateway in [&terminal, &hub] {
        until(gateway, |peer| peer.link == 1).await;
    }
    round(&mut tcp, 1_000_000).await;
    assert_eq!(terminal.counters().cut.load(std::sync::atomic::Ordering::Relaxed), 0);
}

/// Flows that are spread over two links.
const FLOWS: u64 = 72;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn flows_are_spread_over_both_links_if_that_is_wanted_and_outlive_either_of_them() {
    let to = server(echo).await;
    let [first, second] = free().await;
    let settings = ["outer = \"udp\"\n[backup]\nload_balance = true", &format!("{OPEN}\n[backup]")];
    let site = Site::new(&to.to_string(), Some(first), settings).await;
    let site = site.with_peer(&format!("backup = \"{second}\""));
    let link = |listen| Link::new(listen, site.udp, 50, Span::from_millis(5), 0.0);
    let (primary, backup) = (link(first), link(second));
    let (_hub, terminal) = (site.hub(), site.terminal());
    until(&terminal, |peer| peer.up).await;
    // Until the second link has answered three times, half a second apart, all go by the first one: a third of them.
    let mut flows = Vec::new();
    for _ in 0..FLOWS {
        let mut tcp = TcpStream::connect(site.forward).await.expect("a connection");
        round(&mut tcp, 200_000).await;
        flows.push(tcp);
    }
    let half = FLOWS * 200_000 / 2;
    let carried = primary.end().bytes;
    assert!(carried > half / 4, "{carried} bytes by the first link");
    for tcp in &mut flows {
        round(tcp, 20_000).await;
    }
    let carried = backup.end().bytes;
    assert!(carried > half / 4, "{carried} bytes by the second link");
    assert_eq!(terminal.counters().cut.load(std::sync::atomic::Ordering::Relaxed), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bonded_flow_uses_both_links_at_once_and_outlives_either_of_them() {
    let to = server(echo).await;
    let [first, second] = free().await;
    let settings = ["outer = \"udp\"\n[backup]\nbond = true", &format!("{OPEN}\n[backup]")];
    let site = Site::new(&to.to_string(), Some(first), settings).await;
    let site = site.with_peer(&format!("backup = \"{second}\""));
    let link = |listen, millis| Link::new(listen, site.udp, 50, Span::from_millis(millis), 0.0);
    let (near, far) = (link(first, 5), link(second, 25));
    let (_hub, terminal) = (site.hub(), site.terminal());
    until(&terminal, |peer| peer.up).await;
    let mut tcp = TcpStream::connect(site.forward).await.expect("a connection");
    // The second link has answered three times by the end of these.
    for _ in 0..4 {
        round(&mut tcp, 10_000_000).await;
    }
    // A flow that keeps to one link leaves some kilobytes of probes there.
    let carried = far.end().bytes;
    assert!(carried > 2_000_000, "{carried} bytes by the second link");
    round(&mut tcp, 5_000_000).await;
    let _far = link(second, 25);
    round(&mut tcp, 5_000_000).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    near.end();
    round(&mut tcp, 5_000_000).await;
    assert_eq!(terminal.counters().cut.load(std::sync::atomic::Ordering::Relaxed), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bonded_flow_of_udp_uses_both_links_at_once_and_outlives_either_of_them() {
    let to = echo_of_datagrams().await;
    let [first, second, at] = free().await;
    let tunnel = "udp = \"tunnel\"";
    let terminal = format!("{tunnel}\nouter = \"udp\"\n[backup]\nbond = true");
    let settings = [&*terminal, &format!("{tunnel}\n{OPEN}\n[backup]")];
    let forward = format!("[[forward]]\nlisten = \"{at}\"\nprotocol = \"udp\"\nto = \"{to}\"");
    let site = Site::new("127.0.0.1:9", Some(first), settings).await;
    let site = site.with_peer(&format!("backup = \"{second}\"")).with_peer(&forward);
    let link = |listen, millis| Link::new(listen, site.udp, 6, Span::from_millis(millis), 0.0);
    let (near, far) = (link(first, 10), link(second, 15));
    let (_hub, terminal) = (site.hub(), site.terminal());
    until(&terminal, |peer| peer.up).await;
    // One socket for each talk: what comes late of one is nothing to the next one.
    let client = async || {
        let socket = UdpSocket::bind("127.0.0.1:0").await.expect("a port");
        socket.connect(at).await.expect("a destination");
        socket
    };
    // The second link has answered three times by the end of this.
    talk(&client().await, 10, 4_000).await;
    let carried = far.end().bytes;
    assert!(carried > 300_000, "{carried} bytes by the second link");
    talk(&client().await, 2, 300).await;
    let _far = link(second, 15);
    talk(&client().await, 2, 800).await;
    near.end();
    talk(&client().await, 2, 300).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bonded_flow_uses_four_links_at_once() {
    let to = server(echo).await;
    let listens = free::<4>().await;
    let bonded = "[[backup]]\nbond = true\n".repeat(3);
    let settings = [&*format!("outer = \"udp\"\n{bonded}"), OPEN];
    let site = Site::new(&to.to_string(), Some(listens[0]), settings).await;
    let further: Vec<String> = listens[1..].iter().map(|listen| format!("\"{listen}\"")).collect();
    let site = site.with_peer(&format!("backup = [{}]", further.join(", ")));
    // So slow that three of them are not enough on a busy host either.
    let link = |(n, listen): (u64, SocketAddr)| {
        Link::new(listen, site.udp, 10, Span::from_millis(5 + 10 * n), 0.0)
    };
    let links: Vec<Link> = (0..).zip(listens).map(link).collect();
    let (_hub, terminal) = (site.hub(), site.terminal());
    until(&terminal, |peer| peer.up).await;
    let mut tcp = TcpStream::connect(site.forward).await.expect("a connection");
    for _ in 0..4 {
        round(&mut tcp, 5_000_000).await;
    }
    for link in links {
        // Without the flow it carries some kilobytes of probes.
        let carried = link.end().bytes;
        assert!(carried > 200_000, "{carried} bytes by one of the links");
    }
}

/// The second link of a bond is used so. Returns what it carried of 16 MB.
/// The first one is slow, so that it has too much to do on a busy host, too.
async fn carried_by_second(settings: &str) -> u64 {
    let to = server(echo).await;
    let [first, second] = free().await;
    let settings = [&*format!("outer = \"udp\"\n[backup]\n{settings}"), OPEN];
    let site = Site::new(&to.to_string(), Some(first), settings).await;
    let site = site.with_peer(&format!("backup = \"{second}\""));
    let link =
        |listen, mbps, millis| Link::new(listen, site.udp, mbps, Span::from_millis(millis), 0.0);
    let (_near, far) = (link(first, 6, 5), link(second, 20, 15));
    let (_hub, terminal) = (site.hub(), site.terminal());
    until(&terminal, |peer| peer.up).await;
    let mut tcp = TcpStream::connect(site.forward).await.expect("a connection");
    round(&mut tcp, 1_000_000).await;
    tokio::time::sleep(Duration::from_secs(4)).await;
    for _ in 0..3 {
        round(&mut tcp, 5_000_000).await;
    }
    far.end().bytes
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_that_costs_carries_what_is_too_much_for_the_other_one_or_no_more_than_its_cap() {
    let spilled = carried_by_second("bond = true\nuse = \"spill\"").await;
    assert!(spilled > 300_000, "{spilled} bytes spilled");
    // Both directions count, of which the link says the one that has less.
    let capped = carried_by_second("bond = true\ncap = \"1 MB\"").await;
    assert!((200_000..3_000_000).contains(&capped), "{capped} bytes below the cap");
    let reserve = carried_by_second("").await;
    assert!(reserve < 100_000, "{reserve} bytes in reserve");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bonded_flow_that_has_carried_little_leaves_a_link_that_dies_or_is_kept_in_reserve() {
    let to = server(echo).await;
    let [first, second] = free().await;
    for use_of_second in ["", "bond = true"] {
        let terminal =
            format!("outer = \"udp\"\n[[backup]]\n{use_of_second}\n[[backup]]\nbond = true\n");
        let site = Site::new(&to.to_string(), Some(first), [&*terminal, OPEN]).await;
        // Nobody is at the third one.
        let site = site.with_peer(&format!("backup = [\"{second}\", \"127.0.0.1:9\"]"));
        let link = |listen| Link::new(listen, site.udp, 20, Span::from_millis(5), 0.0);
        let backup = link(second);
        let (_hub, terminal) = (site.hub(), site.terminal());
        until(&terminal, |peer| peer.up && peer.link == 2).await;
        let mut tcp = TcpStream::connect(site.forward).await.expect("a connection");
        round(&mut tcp, 1_000).await;
        let primary = link(first);
        until(&terminal, |peer| peer.link == 1).await;
        round(&mut tcp, 1_000).await;
        backup.end();
        round(&mut tcp, 1_000).await;
        round(&mut tcp, 3_000_000).await;
        assert_eq!(terminal.counters().cut.load(std::sync::atomic::Ordering::Relaxed), 0);
        primary.end();
    }
}
