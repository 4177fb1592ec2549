//! What a gateway says of itself while it works.

mod gateways;

use std::net::SocketAddr;
use std::time::Duration;

use bentpipe_association::SecretKey;
use bentpipe_gateway::{Config, Role, Status};
use bentpipe_net::gateway::{Gateway, KeptFiles};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use gateways::{free, server};

/// Longest time for anything here.
const LONG: Duration = Duration::from_secs(20);

const DEDICATED: &str = "[link]\nmode = \"dedicated\"\nrate = \"50 Mbit/s\"";

/// A terminal with a forwarded port that leads to `to`, and its hub.
struct Pair {
    terminal: Gateway,
    hub: Gateway,
    terminal_config: String,
    forward: SocketAddr,
}

fn gateway(text: &str, key: u8) -> Gateway {
    let config = Config::parse("gateway.toml", text).expect("a configuration");
    Gateway::start(config, SecretKey::from_bytes([key; 32]), KeptFiles::default())
        .expect("a gateway")
}

async fn pair(to: SocketAddr, more: &str) -> Pair {
    let public = |key| SecretKey::from_bytes([key; 32]).public();
    let [forward] = free().await;
    let head = "key = \"unused\"\nlisten = \"127.0.0.1:0\"\n";
    let ops = "[ops]\nlisten = \"127.0.0.1:0\"\n";
    let hub = gateway(
        &format!(
            "role = \"hub\"\nallow = [\"127.0.0.0/8\"]\n{head}{ops}[peers.sea]\nkey = \"{}\"",
            public(1)
        ),
        2,
    );
    let terminal_config = format!(
        "role = \"terminal\"\n{head}{ops}{more}\n[peers.land]\nkey = \"{}\"\naddress = \"{}\"\n\
         [[forward]]\nlisten = \"{forward}\"\nto = \"{to}\"",
        public(2),
        hub.local_addr(),
    );
    Pair { terminal: gateway(&terminal_config, 1), hub, terminal_config, forward }
}

/// A server that says back everything at once.
async fn echo() -> SocketAddr {
    server(async |mut tcp: TcpStream| {
        let (mut reader, mut writer) = tcp.split();
        let _ = tokio::io::copy(&mut reader, &mut writer).await;
    })
    .await
}

/// Waits until a status is as wanted.
async fn until(gateway: &Gateway, wanted: impl Fn(&Status) -> bool) -> Status {
    let wait = async {
        loop {
            let status = gateway.status();
            if wanted(&status) {
                return status;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    match tokio::time::timeout(LONG, wait).await {
        Ok(status) => status,
        Err(_) => panic!("{:#?}", gateway.status()),
    }
}

/// The code and the body of what is at this path.
async fn get(address: SocketAddr, path: &str) -> (u16, String) {
    let mut tcp = TcpStream::connect(address).await.expect("a connection");
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    tcp.write_all(request.as_bytes()).await.expect("room");
    let mut answer = String::new();
    tokio::time::timeout(LONG, tcp.read_to_string(&mut answer))
        .await
        .expect("in time")
        .expect("text");
    let code = answer.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a code");
    let (_, body) = answer.split_once("\r\n\r\n").expect("a body");
    (code, body.to_owned())
}

/// Sends bytes that come back.
async fn exchange(tcp: &mut TcpStream, len: usize) {
    let sent = vec![7; len];
    let mut came = vec![0; len];
    let (mut reader, mut writer) = tcp.split();
    let (written, read) = tokio::join!(writer.write_all(&sent), reader.read_exact(&mut came));
    written.expect("room");
    read.expect("an answer");
    assert!(came == sent);
}

#[tokio::test]
async fn a_flow_is_seen_at_both_ends_while_it_is_open_and_counted_after() {
    let to = echo().await;
    let pair = pair(to, "").await;
    let mut tcp = TcpStream::connect(pair.forward).await.expect("a connection");
    exchange(&mut tcp, 100_000).await;
    let here = until(&pair.terminal, |status| {
        status.flows.first().is_some_and(|flow| flow.received.get() == 100_000)
    })
    .await;
    let [flow] = &here.flows[..] else { panic!("{here:?}") };
    assert_eq!(flow.client, tcp.local_addr().expect("an address"));
    assert_eq!((flow.destination.as_str(), flow.peer.as_str()), (&*to.to_string(), "land"));
    assert_eq!((flow.sent.get(), flow.direct), (100_000, false));
    let sender = flow.connection.expect("a connection");
    assert!(sender.srtt.is_some() && sender.cwnd.is_some(), "{sender:?}");
    assert_eq!((here.role, here.peers[0].sent.get()), (Role::Terminal, 100_000));
    assert!(here.peers[0].up && here.peers[0].srtt.is_some(), "{here:?}");
    assert_eq!(here.peers[0].address, Some(pair.hub.local_addr()));
    // The one that holds the association, and the flow.
    assert_eq!((here.peers[0].connections, here.link_rate), (2, None));

    let there = pair.hub.status();
    let [flow] = &there.flows[..] else { panic!("{there:?}") };
    assert_eq!(flow.client, tcp.local_addr().expect("an address"));
    assert_eq!((flow.peer.as_str(), flow.sent.get()), ("sea", 100_000));
    assert_eq!(there.peers[0].address, Some(pair.terminal.local_addr()));

    drop(tcp);
    for gateway in [&pair.terminal, &pair.hub] {
        let status = until(gateway, |status| status.flows.is_empty()).await;
        assert_eq!((status.totals.flows, status.totals.sent.get()), (1, 100_000));
        assert_eq!(status.peers[0].received.get(), 100_000);
    }
}

#[tokio::test]
async fn no_flow_stays_behind_however_it_ends_and_numbers_never_return() {
    let to = echo().await;
    let pair = pair(to, "[limits]\nconnections = 3").await;
    let mut numbers = Vec::new();
    for round in 0..6 {
        let mut tcp = TcpStream::connect(pair.forward).await.expect("a connection");
        exchange(&mut tcp, 10).await;
        let status = until(&pair.terminal, |status| !status.flows.is_empty()).await;
        numbers.push(status.flows[0].number);
        if round % 2 == 0 {
            tcp.set_zero_linger().expect("an option");
        }
        drop(tcp);
        for gateway in [&pair.terminal, &pair.hub] {
            until(gateway, |status| status.flows.is_empty()).await;
        }
    }
    assert_eq!(numbers, [1, 2, 3, 4, 5, 6]);
}

#[tokio::test]
async fn a_dedicated_link_shows_its_rates_as_they_are_now() {
    let pair = pair(echo().await, DEDICATED).await;
    let rate = |status: &Status| {
        let bps = |rate: Option<bentpipe_units::BitRate>| rate.map(bentpipe_units::BitRate::as_bps);
        (bps(status.link_rate), bps(status.peers[0].rate), status.peers[0].weight)
    };
    let fifty = Some(50_000_000);
    assert_eq!(rate(&pair.terminal.status()), (fifty, fifty, Some(1)));
    let slower = pair.terminal_config.replace("50 Mbit/s", "20 Mbit/s");
    let config = Config::parse("gateway.toml", &slower).expect("a configuration");
    pair.terminal.reload(&config).expect("only rates");
    let twenty = Some(20_000_000);
    assert_eq!(rate(&pair.terminal.status()), (twenty, twenty, Some(1)));
    let (_, metrics) = get(pair.terminal.ops_addr().expect("a server"), "/metrics").await;
    assert!(
        metrics.contains("\nbentpipe_gateway_link_rate_bits_per_second 20000000\n"),
        "{metrics}"
    );
}

#[tokio::test]
async fn metrics_health_and_status_are_served() {
    let pair = pair(echo().await, "").await;
    let here = pair.terminal.ops_addr().expect("a server");
    until(&pair.terminal, |status| status.peers[0].up).await;
    let (code, body) = get(here, "/health").await;
    assert_eq!(code, 200);
    assert_eq!(body, "{\"healthy\":true,\"role\":\"terminal\",\"peers_up\":1,\"peers\":1}\n");
    let (_, body) = get(here, "/status").await;
    let status: Status = serde_json::from_str(&body).expect("JSON");
    assert_eq!(status.peers[0].name, "land");
    let (_, body) = get(here, "/metrics").await;
    assert!(body.contains("bentpipe_gateway_peer_up{peer=\"land\"} 1\n"), "{body}");
}

#[tokio::test]
async fn a_terminal_whose_hub_never_answers_is_not_healthy() {
    let [nowhere] = free().await;
    let key = SecretKey::from_bytes([2; 32]).public();
    let terminal = gateway(
        &format!(
            "role = \"terminal\"\nkey = \"unused\"\nlisten = \"127.0.0.1:0\"\n[ops]\n\
             listen = \"127.0.0.1:0\"\n[peers.land]\nkey = \"{key}\"\naddress = \"{nowhere}\""
        ),
        1,
    );
    let (code, body) = get(terminal.ops_addr().expect("a server"), "/health").await;
    assert_eq!(code, 503);
    assert!(body.starts_with("{\"healthy\":false"), "{body}");
}

#[tokio::test]
async fn clients_that_leave_without_a_word_leave_their_places() {
    let pair = pair(echo().await, "").await;
    let here = pair.hub.ops_addr().expect("a server");
    let mut silent = Vec::new();
    for _ in 0..40 {
        silent.push(TcpStream::connect(here).await.expect("a connection"));
    }
    drop(silent);
    assert_eq!(get(here, "/health").await.0, 200);
}

#[tokio::test]
async fn a_hub_knows_a_terminal_that_was_restarted() {
    let Pair { terminal, hub, terminal_config, forward } = pair(echo().await, "").await;
    until(&hub, |status| status.peers[0].up).await;
    let before = terminal.local_addr();
    drop(terminal);
    // The port is free again some time later.
    let [elsewhere] = free().await;
    let config = terminal_config.replace(&forward.to_string(), &elsewhere.to_string());
    let again = gateway(&config, 1);
    assert_ne!(again.local_addr(), before);
    let status = until(&hub, |status| {
        status.peers[0].up && status.peers[0].address == Some(again.local_addr())
    })
    .await;
    assert_eq!(status.peers.len(), 1);
}
