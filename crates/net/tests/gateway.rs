//! Two gateways on loopback, real TCP at both ends.

mod gateways;

use std::net::SocketAddr;
use std::time::Duration;

use bentpipe_net::gateway::Gateway;
use bentpipe_testkit::pattern;
use bentpipe_units::ByteCount;
use socket2::{Domain, SockRef, Socket, Type};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;

use gateways::fetching::until;
use gateways::{OPEN, Site, free, released, server};

/// Longest time for anything here.
const LONG: Duration = Duration::from_secs(20);

/// Two gateways that run.
struct Pair {
    terminal: Gateway,
    hub: Gateway,
    site: Site,
}

/// Starts a pair whose forwarded port leads to `to`; `terminal` and `hub` are more settings.
async fn pair(to: &str, terminal: &str, hub: &str) -> Pair {
    let site = Site::new(to, None, [terminal, hub]).await;
    Pair { hub: site.hub(), terminal: site.terminal(), site }
}

/// Reads everything, then sends it back.
async fn echo(mut tcp: TcpStream) {
    let mut all = Vec::new();
    tcp.read_to_end(&mut all).await.expect("a request");
    tcp.write_all(&all).await.expect("an answer");
}

/// Sends bytes, closes that direction, and reads the answer.
async fn exchange(tcp: &mut TcpStream, bytes: &[u8]) -> Vec<u8> {
    let mut answer = Vec::new();
    let (mut reader, mut writer) = tcp.split();
    let write = async {
        writer.write_all(bytes).await.expect("room");
        writer.shutdown().await.expect("an end");
    };
    let (_, read) = tokio::join!(write, reader.read_to_end(&mut answer));
    read.expect("an answer");
    answer
}

#[tokio::test]
async fn a_request_ends_by_half_close_and_the_answer_still_comes() {
    let to = server(echo).await;
    let pair = pair(&to.to_string(), "", OPEN).await;
    for size in [0, 1, 1_000, 3_000_000] {
        let mut tcp = TcpStream::connect(pair.site.forward).await.expect("a connection");
        let data = pattern(size);
        let answer = tokio::time::timeout(LONG, exchange(&mut tcp, &data)).await.expect("in time");
        assert!(answer == data, "{size}");
    }
}

#[tokio::test]
async fn text_is_compressed_by_the_end_that_shall_and_noise_by_none() {
    let to = server(echo).await;
    let open = format!("{OPEN}\n[link]\ncompression = \"zstd\"");
    let pair = pair(&to.to_string(), "", &open).await;
    let compressed = |gateway: &Gateway| {
        let totals = gateway.status().totals;
        (totals.compressed_from.get(), totals.compressed_to.get())
    };
    let text = "a line of a log that nobody has compressed so far\n".repeat(40_000);
    for (data, is_text) in [(pattern(3_000_000), false), (text.into_bytes().into(), true)] {
        let mut tcp = TcpStream::connect(pair.site.forward).await.expect("a connection");
        let answer = tokio::time::timeout(LONG, exchange(&mut tcp, &data)).await.expect("in time");
        assert!(answer == data);
        let (from, to) = compressed(&pair.hub);
        assert!(if is_text { from > 1_900_000 } else { from == 0 }, "{from}");
        assert!(to <= from / 20, "{from} {to}");
        assert_eq!(compressed(&pair.terminal), (0, 0));
    }
}

#[tokio::test]
async fn every_byte_arrives_from_a_server_that_closes_at_once() {
    let to = server(async |mut tcp: TcpStream| {
        let mut size = [0; 4];
        tcp.read_exact(&mut size).await.expect("a request");
        let data = pattern(u32::from_be_bytes(size) as usize);
        tcp.write_all(&data).await.expect("room");
    })
    .await;
    let pair = pair(&to.to_string(), "", OPEN).await;
    for size in (0..60u32).map(|n| n * n * 500) {
        let mut tcp = TcpStream::connect(pair.site.forward).await.expect("a connection");
        tcp.write_all(&size.to_be_bytes()).await.expect("room");
        let mut answer = Vec::new();
        let read = tokio::time::timeout(LONG, tcp.read_to_end(&mut answer)).await;
        read.expect("in time").expect("an answer");
        assert!(answer == pattern(size as usize), "{size}: {}", answer.len());
    }
}

#[tokio::test]
async fn a_reset_is_passed_on_behind_everything_that_came_before() {
    let to = server(async |mut tcp: TcpStream| {
        tcp.write_all(&pattern(500_000)).await.expect("room");
        // Let the data leave before the connection is torn down.
        tokio::time::sleep(Duration::from_millis(200)).await;
        tcp.set_zero_linger().expect("an option");
    })
    .await;
    let pair = pair(&to.to_string(), "", OPEN).await;
    let mut tcp = TcpStream::connect(pair.site.forward).await.expect("a connection");
    let mut answer = Vec::new();
    let error = tokio::time::timeout(LONG, tcp.read_to_end(&mut answer)).await.expect("in time");
    assert_eq!(error.expect_err("a reset").kind(), std::io::ErrorKind::ConnectionReset);
    assert!(answer == pattern(500_000), "{}", answer.len());
}

#[tokio::test]
async fn what_a_client_sent_before_it_left_reaches_the_server() {
    let (told, mut heard) = tokio::sync::mpsc::channel(1);
    let to = server(move |mut tcp: TcpStream| {
        let told = told.clone();
        async move {
            // The client does not read this and answers it with a reset.
            tcp.write_all(b"welcome").await.expect("room");
            let mut all = Vec::new();
            let _ = tcp.read_to_end(&mut all).await;
            told.send(all).await.expect("a listener");
        }
    })
    .await;
    let pair = pair(&to.to_string(), "", OPEN).await;
    let mut tcp = TcpStream::connect(pair.site.forward).await.expect("a connection");
    tcp.write_all(&pattern(300_000)).await.expect("room");
    drop(tcp);
    let all = tokio::time::timeout(LONG, heard.recv()).await.expect("in time").expect("a word");
    assert!(all == pattern(300_000), "{}", all.len());
}

/// Asks a SOCKS5 server to connect; returns the connection and the reply.
async fn socks5(proxy: SocketAddr, to: SocketAddr) -> (TcpStream, u8) {
    let mut tcp = TcpStream::connect(proxy).await.expect("a connection");
    tcp.write_all(&[5, 1, 0]).await.expect("room");
    let mut chosen = [0; 2];
    tcp.read_exact(&mut chosen).await.expect("a method");
    assert_eq!(chosen, [5, 0]);
    let reply = command(&mut tcp, to).await;
    (tcp, reply)
}

/// The reply of a SOCKS5 server that knows its client to what that wants.
async fn command(tcp: &mut TcpStream, to: SocketAddr) -> u8 {
    let SocketAddr::V4(to) = to else { panic!("an IPv4 address") };
    let mut request = vec![5, 1, 0, 1];
    request.extend(to.ip().octets());
    request.extend(to.port().to_be_bytes());
    tcp.write_all(&request).await.expect("room");
    let mut reply = [0; 10];
    tcp.read_exact(&mut reply).await.expect("a reply");
    reply[1]
}

#[tokio::test]
async fn without_an_early_accept_refusals_are_told_as_they_are() {
    let to = server(echo).await;
    let [nobody] = free().await;
    let pair = pair("127.0.0.1:1", "early_accept = false", OPEN).await;
    let (mut tcp, reply) = socks5(pair.site.socks5, to).await;
    assert_eq!((reply, exchange(&mut tcp, b"hello").await), (0, b"hello".to_vec()));
    assert_eq!(socks5(pair.site.socks5, nobody).await.1, 5, "connection refused");
    let forbidden = "10.0.0.1:80".parse().expect("an address");
    assert_eq!(socks5(pair.site.socks5, forbidden).await.1, 2, "not allowed");
    assert_eq!(pair.hub.counters().open.load(std::sync::atomic::Ordering::Relaxed), 0);
}

#[tokio::test]
async fn with_an_early_accept_a_refusal_resets_the_client() {
    let [nobody] = free().await;
    let pair = pair(&nobody.to_string(), "", OPEN).await;
    let mut tcp = TcpStream::connect(pair.site.forward).await.expect("an early accept");
    let read = tokio::time::timeout(LONG, tcp.read(&mut [0; 8])).await.expect("in time");
    assert_eq!(read.expect_err("a reset").kind(), std::io::ErrorKind::ConnectionReset);
}

#[tokio::test]
async fn while_the_far_gateway_is_gone_new_connections_go_directly_if_that_is_wanted() {
    let to = server(echo).await;
    let settings = "fallback = \"direct\"\n[limits]\nidle_timeout = \"1 s\"";
    let site = Site::new(&to.to_string(), None, [settings, OPEN]).await;
    let (terminal, hub) = (site.terminal(), site.hub());
    let ask = async |directly: bool| {
        let mut tcp = TcpStream::connect(site.forward).await.expect("a connection");
        let flows = || terminal.status().flows;
        until("its flow", || flows().iter().any(|flow| flow.direct == directly)).await;
        let answer = exchange(&mut tcp, b"hello");
        tokio::time::timeout(LONG, answer).await.expect("in time")
    };
    until("the hub answers", || terminal.is_up("hub")).await;
    assert_eq!(ask(false).await, b"hello");
    drop(hub);
    until("the hub is gone", || !terminal.is_up("hub")).await;
    assert_eq!(ask(true).await, b"hello");
    let _hub = site.hub();
    until("the hub answers again", || terminal.is_up("hub")).await;
    assert_eq!(ask(false).await, b"hello");
}

#[tokio::test]
async fn a_gateway_that_stops_takes_leave_and_open_flows_are_reset_at_once() {
    let to = server(async |mut tcp| {
        let _ = tcp.read_to_end(&mut Vec::new()).await;
    })
    .await;
    let site = Site::new(&to.to_string(), None, ["", OPEN]).await;
    let reset = async |tcp: &mut TcpStream| {
        let read = tokio::time::timeout(LONG, tcp.read(&mut [0; 8])).await.expect("in time");
        assert_eq!(read.expect_err("a reset").kind(), std::io::ErrorKind::ConnectionReset);
    };
    let begin = async || {
        let (terminal, hub) = (site.terminal(), site.hub());
        until("the hub answers", || terminal.is_up("hub") && hub.is_up("terminal")).await;
        let tcp = TcpStream::connect(site.forward).await.expect("a connection");
        until("its flow", || hub.status().flows.len() == 1).await;
        (terminal, hub, tcp)
    };
    let (terminal, hub, mut tcp) = begin().await;
    hub.stop().await;
    reset(&mut tcp).await;
    until("the hub is gone", || !terminal.is_up("hub")).await;
    drop(terminal);
    released(&site).await;

    let (terminal, hub, mut tcp) = begin().await;
    terminal.stop().await;
    reset(&mut tcp).await;
    until("the terminal is gone", || !hub.is_up("terminal")).await;
    until("no flow is left", || hub.status().flows.is_empty()).await;
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_given_up_after_the_connect_timeout() {
    // Its only place is taken, so that the system drops what comes.
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    let any: SocketAddr = "127.0.0.1:0".parse().expect("an address");
    socket.bind(&any.into()).expect("a port");
    socket.listen(0).expect("a listener");
    let silent = socket.local_addr().expect("an address").as_socket().expect("of IP");
    let _first = TcpStream::connect(silent).await.expect("the only place");
    let hub = format!("{OPEN}\n[limits]\nconnect_timeout = \"200 ms\"");
    let pair = pair("127.0.0.1:1", "early_accept = false", &hub).await;
    let reply = tokio::time::timeout(LONG, socks5(pair.site.socks5, silent)).await;
    assert_eq!(reply.expect("in time").1, 6, "timed out");
}

#[tokio::test]
async fn of_many_flows_at_once_only_so_many_begin_in_a_second() {
    let to = server(echo).await;
    let hub = format!("{OPEN}\n[limits]\nnew_per_second = 2");
    let pair = pair("127.0.0.1:1", "early_accept = false", &hub).await;
    until("the hub answers", || pair.terminal.is_up("hub")).await;
    let mut asked = JoinSet::new();
    for _ in 0..40 {
        asked.spawn(socks5(pair.site.socks5, to));
    }
    let replies: Vec<u8> = asked.join_all().await.into_iter().map(|(_, reply)| reply).collect();
    let busy = replies.iter().filter(|reply| **reply == 1).count();
    let served = replies.iter().filter(|reply| **reply == 0).count();
    assert!(served >= 2 && busy > 0 && served + busy == 40, "{replies:?}");
    let refused = pair.hub.counters().refused.load(std::sync::atomic::Ordering::Relaxed);
    assert_eq!(refused, busy as u64);
    // In another second others may.
    let again = async {
        loop {
            let (mut tcp, reply) = socks5(pair.site.socks5, to).await;
            if reply == 0 {
                return exchange(&mut tcp, b"hello").await;
            }
        }
    };
    assert_eq!(tokio::time::timeout(LONG, again).await.expect("in time"), b"hello");
}

#[tokio::test]
async fn a_socks_client_connects_with_the_right_password_only() {
    let to = server(echo).await;
    let site = Site::new("127.0.0.1:1", None, ["early_accept = false", OPEN]).await;
    let site = site.with_socks_user("eve", "apple");
    let (_hub, _terminal) = (site.hub(), site.terminal());
    /// What the server says to the methods, and to the password if it asks for one.
    async fn login(proxy: SocketAddr, methods: &[u8], password: &str) -> (TcpStream, Vec<u8>) {
        let mut tcp = TcpStream::connect(proxy).await.expect("a connection");
        let hello = [&[5, methods.len() as u8], methods].concat();
        tcp.write_all(&hello).await.expect("room");
        let mut said = vec![0; 2];
        tcp.read_exact(&mut said).await.expect("a method");
        if said == [5, 2] {
            let length = [password.len() as u8];
            let credentials = [&[1, 3], &b"eve"[..], &length, password.as_bytes()].concat();
            tcp.write_all(&credentials).await.expect("room");
            tcp.read_exact(&mut said).await.expect("a verdict");
        }
        (tcp, said)
    }
    assert_eq!(login(site.socks5, &[0], "").await.1, [5, 0xff], "a password is wanted");
    let (mut tcp, said) = login(site.socks5, &[0, 2], "pear").await;
    assert_eq!((said[0], said[1] != 0), (1, true), "the wrong one");
    assert_eq!(tcp.read(&mut [0; 8]).await.unwrap_or(0), 0);
    let (mut tcp, said) = login(site.socks5, &[0, 2], "apple").await;
    assert_eq!(said, [1, 0]);
    assert_eq!(command(&mut tcp, to).await, 0);
    assert_eq!(exchange(&mut tcp, b"hello").await, b"hello");
}

#[tokio::test]
async fn what_is_urgent_stays_in_its_place() {
    let to = server(async |mut tcp| {
        SockRef::from(&tcp).set_out_of_band_inline(true).expect("a socket");
        let mut all = Vec::new();
        tcp.read_to_end(&mut all).await.expect("a request");
        tcp.write_all(&all).await.expect("an answer");
    })
    .await;
    let pair = pair(&to.to_string(), "", OPEN).await;
    let mut tcp = TcpStream::connect(pair.site.forward).await.expect("a connection");
    tcp.write_all(b"abc").await.expect("room");
    assert_eq!(SockRef::from(&tcp).send_out_of_band(b"U").expect("room"), 1);
    let answer = tokio::time::timeout(LONG, exchange(&mut tcp, b"def")).await.expect("in time");
    assert_eq!(answer, b"abcUdef");
}

/// Asks an HTTP server to connect; returns the connection and the first line of the answer.
async fn connect(proxy: SocketAddr, to: &str, credentials: &str) -> (TcpStream, String) {
    let mut tcp = TcpStream::connect(proxy).await.expect("a connection");
    let request = format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n{credentials}\r\n");
    tcp.write_all(request.as_bytes()).await.expect("room");
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        answer.push(tcp.read_u8().await.expect("an answer"));
    }
    let answer = String::from_utf8(answer).expect("text");
    (tcp, answer.lines().next().unwrap_or_default().to_owned())
}

#[tokio::test]
async fn an_http_client_connects_with_the_right_password_only() {
    let to = server(echo).await.to_string();
    let pair = pair("127.0.0.1:1", "early_accept = false", OPEN).await;
    // eve:apple, eve:pear
    let right = "Proxy-Authorization: Basic ZXZlOmFwcGxl\r\n";
    let wrong = "Proxy-Authorization: Basic ZXZlOnBlYXI=\r\n";
    let (mut tcp, line) = connect(pair.site.http, &to, right).await;
    assert_eq!(line, "HTTP/1.1 200 OK");
    assert_eq!(exchange(&mut tcp, b"hello").await, b"hello");
    for credentials in [wrong, ""] {
        let line = connect(pair.site.http, &to, credentials).await.1;
        assert_eq!(line, "HTTP/1.1 407 Proxy Authentication Required");
    }
    let line = connect(pair.site.http, "169.254.169.254:80", right).await.1;
    assert_eq!(line, "HTTP/1.1 403 Forbidden");
}

#[tokio::test]
async fn more_flows_than_are_allowed_are_turned_away() {
    let to = server(echo).await;
    let pair = pair(&to.to_string(), "[limits]\nconnections = 2", OPEN).await;
    let mut held = Vec::new();
    for _ in 0..2 {
        let mut tcp = TcpStream::connect(pair.site.forward).await.expect("a connection");
        tcp.write_all(b"x").await.expect("room");
        held.push(tcp);
    }
    let open = || pair.terminal.counters().open.load(std::sync::atomic::Ordering::Relaxed);
    while open() < 2 {
        tokio::task::yield_now().await;
    }
    let mut tcp = TcpStream::connect(pair.site.forward).await.expect("a connection");
    let read = tokio::time::timeout(LONG, tcp.read(&mut [0; 8])).await.expect("in time");
    assert_eq!(read.expect_err("a reset").kind(), std::io::ErrorKind::ConnectionReset);
    assert_eq!(exchange(&mut held[0], b"y").await, b"xy");
}

#[tokio::test]
async fn with_little_memory_slow_readers_stop_nobody_and_get_everything_later() {
    let data = pattern(8_000_000);
    let served = data.clone();
    let to = server(move |mut tcp: TcpStream| {
        let served = served.clone();
        async move {
            // A reader may leave before the end.
            let _ = tcp.write_all(&served).await;
        }
    })
    .await;
    let limits = "[limits]\nconnections = 8\nmemory = \"256 kB\"";
    let pair = pair(&to.to_string(), limits, &format!("{OPEN}\n{limits}")).await;
    let connect = async || TcpStream::connect(pair.site.forward).await.expect("a connection");
    let mut slow = Vec::new();
    for _ in 0..5 {
        slow.push(connect().await);
    }
    let all = async |mut tcp: TcpStream| {
        let mut answer = Vec::new();
        let read = tokio::time::timeout(LONG, tcp.read_to_end(&mut answer)).await;
        read.expect("in time").expect("an answer");
        assert!(answer == data, "{}", answer.len());
    };
    let check = || {
        for gateway in [&pair.terminal, &pair.hub] {
            let held = gateway.status().peers[0].held;
            assert!(held <= ByteCount::new(256_000 + 8 * 1_500), "{held:?}");
        }
    };
    for _ in 0..3 {
        all(connect().await).await;
        check();
    }
    for tcp in slow {
        all(tcp).await;
        check();
    }
}

#[tokio::test]
async fn one_client_that_keeps_all_places_gives_way_to_another_one() {
    let to = server(echo).await;
    let pair = pair(&to.to_string(), "[limits]\nconnections = 6", OPEN).await;
    let connect = async |host: u8| {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.bind(([127, 0, 0, host], 0).into()).expect("an address");
        socket.connect(pair.site.forward).await.expect("a connection")
    };
    let mut greedy = Vec::new();
    for n in 0..6 {
        greedy.push(connect(2).await);
        let open = || pair.terminal.status().totals.open == n + 1;
        until("it is open", open).await;
    }
    let data = pattern(100_000);
    let mut honest = connect(3).await;
    let answer = tokio::time::timeout(LONG, exchange(&mut honest, &data)).await;
    assert!(answer.expect("in time") == data);
    // One of the others has ended by a reset, and is not the one that would have been whole.
    let ended = greedy[0].read_u8().await.expect_err("no byte");
    assert_eq!(ended.kind(), std::io::ErrorKind::ConnectionReset);
    let last = greedy.last_mut().expect("one");
    assert!(exchange(last, &data).await == data);
}

#[tokio::test]
async fn where_nobody_can_be_is_refused_and_why_flows_were_refused_is_counted() {
    let pair = pair("127.0.0.1:1", "", "allow = [\"127.0.0.0/8:7\"]").await;
    // Although clients are answered early.
    let [nobody] = free().await;
    assert_eq!(socks5(pair.site.socks5, SocketAddr::new(nobody.ip(), 0)).await.1, 4);
    let mut tcp = TcpStream::connect(pair.site.socks5).await.expect("a connection");
    tcp.write_all(&[5, 1, 0, 5, 1, 0, 3, 0, 0, 80]).await.expect("room");
    let mut reply = [0; 4];
    tcp.read_exact(&mut reply).await.expect("a reply");
    assert_eq!(reply, [5, 0, 5, 4], "host unreachable");
    let right = "Proxy-Authorization: Basic ZXZlOmFwcGxl\r\n";
    let line = connect(pair.site.http, "127.0.0.1:0", right).await.1;
    assert_eq!(line, "HTTP/1.1 400 Bad Request");
    let refused = |gateway: &Gateway| gateway.status().totals.refused_by;
    assert_eq!(refused(&pair.terminal), refused(&pair.hub), "none was begun");
    let (mut tcp, reply) = socks5(pair.site.socks5, nobody).await;
    assert_eq!(reply, 0, "an early answer");
    tcp.read_u8().await.expect_err("a reset");
    for gateway in [&pair.terminal, &pair.hub] {
        until("it is counted", || gateway.status().totals.refused == 1).await;
        assert_eq!(refused(gateway).denied_by_allow, 1);
    }
}

#[tokio::test]
async fn a_burst_of_flows_waits_its_turn_instead_of_being_reset() {
    let to = server(echo).await;
    let hub = format!("{OPEN}\n[limits]\nnew_per_second = 20");
    let pair = pair("127.0.0.1:1", "early_accept = false", &hub).await;
    until("the hub answers", || pair.terminal.is_up("hub")).await;
    let mut asked = JoinSet::new();
    for _ in 0..30 {
        asked.spawn(socks5(pair.site.socks5, to));
    }
    let replies: Vec<u8> = asked.join_all().await.into_iter().map(|(_, reply)| reply).collect();
    assert_eq!(replies, [0; 30]);
}

#[tokio::test]
async fn a_hub_is_found_by_its_name() {
    let to = server(echo).await;
    let site = Site::new(&to.to_string(), None, ["", OPEN]).await.by_name("localhost");
    let (_hub, _terminal) = (site.hub(), site.terminal());
    let mut tcp = TcpStream::connect(site.forward).await.expect("a connection");
    let data = pattern(100_000);
    let answer = tokio::time::timeout(LONG, exchange(&mut tcp, &data)).await.expect("in time");
    assert!(answer == data);
}
