//! UDP through two gateways.

mod gateways;

use std::net::SocketAddr;
use std::time::Duration;

use bentpipe_gateway::Config;
use tokio::net::UdpSocket;

use gateways::{Site, free};

const LONG: Duration = Duration::from_secs(20);
/// Nothing comes in this time where nothing shall.
const SHORT: Duration = Duration::from_millis(300);

async fn socket() -> UdpSocket {
    UdpSocket::bind("127.0.0.1:0").await.expect("a port")
}

/// A server that sends every datagram back with the port that it came from in front.
async fn echo() -> SocketAddr {
    let socket = socket().await;
    let address = socket.local_addr().expect("an address");
    tokio::spawn(async move {
        let mut buffer = vec![0; 65_535];
        while let Ok((len, from)) = socket.recv_from(&mut buffer).await {
            let answer = [&from.port().to_be_bytes()[..], &buffer[..len]].concat();
            let _ = socket.send_to(&answer, from).await;
        }
    });
    address
}

/// A site that forwards `at` to a destination by UDP.
async fn site(to: SocketAddr, at: SocketAddr, hub: &str) -> Site {
    let hub = format!("allow = [\"127.0.0.0/8\"]\n{hub}");
    Site::new("127.0.0.1:9", None, ["udp = \"tunnel\"", &hub])
        .await
        .with_peer(&format!("[[forward]]\nlisten = \"{at}\"\nprotocol = \"udp\"\nto = \"{to}\""))
}

/// Sends a datagram until an answer comes; the first ones are lost while the gateways associate.
async fn ask(client: &UdpSocket, at: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut buffer = vec![0; 65_535];
    let asking = async {
        loop {
            client.send_to(bytes, at).await.expect("sent");
            let answer = tokio::time::timeout(SHORT, client.recv_from(&mut buffer)).await;
            if let Ok(Ok((len, from))) = answer {
                assert_eq!(from, at);
                return buffer[..len].to_vec();
            }
        }
    };
    tokio::time::timeout(LONG, asking).await.expect("an answer")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn datagrams_go_there_and_back_whole_and_each_client_has_its_own_flow() {
    let to = echo().await;
    let [at] = free().await;
    let site = site(to, at, "udp = \"tunnel\"").await;
    let (hub, _terminal) = (site.hub(), site.terminal());
    let clients = [socket().await, socket().await];
    let mut ports = Vec::new();
    for client in &clients {
        for len in [0, 1, 1_000, 1_400, 1_472, 9_000, 60_000] {
            let bytes = vec![len as u8; len];
            let answer = ask(client, at, &bytes).await;
            let (port, rest) = answer.split_first_chunk::<2>().expect("a port");
            assert!(rest == bytes, "{len}");
            ports.push(u16::from_be_bytes(*port));
        }
    }
    assert!(ports[..7].iter().all(|port| *port == ports[0]), "{ports:?}");
    assert!(ports[7..].iter().all(|port| *port == ports[7] && *port != ports[0]), "{ports:?}");
    let flows = hub.status().flows;
    assert_eq!(flows.len(), 2);
    assert!(flows.iter().all(|flow| flow.sent.get() > 3_000 && flow.received.get() > 3_000));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hub_that_carries_no_udp_or_does_not_allow_it_answers_nothing() {
    let to = echo().await;
    for hub in ["", "udp = \"tunnel\""] {
        let [at] = free().await;
        // The second one carries UDP, but not to there.
        let site = if hub.is_empty() {
            site(to, at, hub).await
        } else {
            let elsewhere = format!("allow = [\"192.0.2.0/24\"]\n{hub}");
            Site::new("127.0.0.1:9", None, ["udp = \"tunnel\"", &elsewhere]).await.with_peer(
                &format!("[[forward]]\nlisten = \"{at}\"\nprotocol = \"udp\"\nto = \"{to}\""),
            )
        };
        let (_hub, terminal) = (site.hub(), site.terminal());
        let up = async {
            while !terminal.is_up("hub") {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(LONG, up).await.expect("an association");
        let client = socket().await;
        for _ in 0..3 {
            client.send_to(b"hello", at).await.expect("sent");
        }
        let mut buffer = [0; 10];
        assert!(tokio::time::timeout(SHORT, client.recv(&mut buffer)).await.is_err(), "{hub}");
    }
}

#[test]
fn a_port_for_udp_needs_the_tunnel() {
    let text = "role = \"terminal\"\nkey = \"key\"\nlisten = \"0.0.0.0:25300\"\n[peers.hub]\n\
                key = \"g9GFFU8rGj+Q69zpXoj1ecxx/izHNwRWbH/BhgNl9w8=\"\naddress = \"192.0.2.1:25300\"\n\
                [[forward]]\nlisten = \"127.0.0.1:53\"\nprotocol = \"udp\"\nto = \"192.0.2.53:53\"";
    let error = Config::parse("gateway.toml", text).expect_err("no tunnel").to_string();
    assert!(error.contains("`forward[0].protocol`") && error.contains("tunnel"), "{error}");
    assert!(Config::parse("gateway.toml", &format!("udp = \"tunnel\"\n{text}")).is_ok());
}
