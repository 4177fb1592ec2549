//! UDP by SOCKS5 through two gateways, with a client of another make.

mod gateways;

use std::net::SocketAddr;

use fast_socks5::client::Socks5Datagram;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpStream, UdpSocket};

use self::gateways::fetching::LONG;
use self::gateways::{OPEN, Site};

const TUNNEL: &str = "udp = \"tunnel\"";

/// A server that sends back what comes, after a letter of its own.
async fn echo(letter: u8) -> SocketAddr {
    let socket = UdpSocket::bind("127.0.0.1:0").await.expect("a socket");
    let address = socket.local_addr().expect("an address");
    tokio::spawn(async move {
        let mut room = [0; 2_048];
        while let Ok((len, from)) = socket.recv_from(&mut room).await {
            let answer = [&[letter], &room[..len]].concat();
            socket.send_to(&answer, from).await.expect("an answer");
        }
    });
    address
}

async fn associated(site: &Site) -> Socks5Datagram<TcpStream> {
    let tcp = TcpStream::connect(site.socks5).await.expect("a connection");
    Socks5Datagram::bind(tcp, "127.0.0.1:0").await.expect("an association")
}

/// What comes next.
async fn next(client: &Socks5Datagram<TcpStream>) -> (Vec<u8>, String) {
    let mut room = [0; 2_048];
    let came = tokio::time::timeout(LONG, client.recv_from(&mut room)).await.expect("in time");
    let (len, from) = came.expect("an answer");
    (room[..len].to_vec(), from.to_string())
}

#[tokio::test]
async fn answers_come_from_whom_each_datagram_was_for_by_address_and_by_name() {
    let hub = format!("{TUNNEL}\n{OPEN}");
    let site = Site::new("127.0.0.1:9", None, [TUNNEL, &hub]).await;
    let _gateways = (site.hub(), site.terminal());
    let (a, b) = (echo(b'a').await, echo(b'b').await);
    let client = associated(&site).await;
    for n in 0..40u8 {
        let datagram = vec![n; 30 * usize::from(n)];
        let named = format!("localhost:{}", b.port());
        if n % 2 == 0 {
            client.send_to(&datagram, a).await.expect("sent");
        } else {
            client.send_to(&datagram, ("localhost", b.port())).await.expect("sent");
        }
        let (letter, from) = if n % 2 == 0 { (b'a', a.to_string()) } else { (b'b', named) };
        assert_eq!(next(&client).await, ([&[letter], &datagram[..]].concat(), from));
    }
}

#[tokio::test]
async fn flows_end_with_the_association_and_the_next_one_has_its_own() {
    let hub = format!("{TUNNEL}\n{OPEN}");
    let site = Site::new("127.0.0.1:9", None, [TUNNEL, &hub]).await;
    let (_hub, terminal) = (site.hub(), site.terminal());
    let to = echo(b'a').await;
    for _ in 0..3 {
        let client = associated(&site).await;
        client.send_to(b"one", to).await.expect("sent");
        assert_eq!(next(&client).await.0, b"aone");
        assert_eq!(terminal.status().flows.len(), 1);
        drop(client);
        let ended = async {
            while !terminal.status().flows.is_empty() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(LONG, ended).await.expect("it ends");
    }
}

/// Asks for an association as the client at `named`; the port to which its datagrams go, and what was answered.
async fn by_hand(site: &Site, named: SocketAddr) -> (TcpStream, u8, SocketAddr) {
    let mut tcp = TcpStream::connect(site.socks5).await.expect("a connection");
    let mut said = vec![5, 1, 0, 5, 3, 0, 1, 127, 0, 0, 1];
    said.extend_from_slice(&named.port().to_be_bytes());
    tcp.write_all(&said).await.expect("a request");
    let mut answer = [0; 12];
    tcp.read_exact(&mut answer).await.expect("an answer");
    let port = u16::from_be_bytes([answer[10], answer[11]]);
    (tcp, answer[3], SocketAddr::from(([127, 0, 0, 1], port)))
}

fn framed(fragment: u8, to: SocketAddr, datagram: &[u8]) -> Vec<u8> {
    let port = to.port().to_be_bytes();
    [&[0, 0, fragment, 1, 127, 0, 0, 1], &port[..], datagram].concat()
}

#[tokio::test]
async fn only_whole_datagrams_of_the_client_itself_are_carried() {
    let hub = format!("{TUNNEL}\n{OPEN}");
    let site = Site::new("127.0.0.1:9", None, [TUNNEL, &hub]).await;
    let _gateways = (site.hub(), site.terminal());
    let to = echo(b'a').await;
    let client = UdpSocket::bind("127.0.0.1:0").await.expect("a socket");
    let stranger = UdpSocket::bind("127.0.0.1:0").await.expect("a socket");
    let (_tcp, reply, relay) = by_hand(&site, client.local_addr().expect("an address")).await;
    assert_eq!(reply, 0);
    stranger.send_to(&framed(0, to, b"a stranger"), relay).await.expect("sent");
    client.send_to(&framed(1, to, b"a fragment"), relay).await.expect("sent");
    let nowhere = SocketAddr::from(([127, 0, 0, 1], 0));
    for odd in [vec![], vec![0; 3], vec![0, 0, 0, 9, 1], vec![7; 60], framed(0, nowhere, b"x")] {
        client.send_to(&odd, relay).await.expect("sent");
    }
    client.send_to(&framed(0, to, b"whole"), relay).await.expect("sent");
    let mut room = [0; 2_048];
    let came = tokio::time::timeout(LONG, client.recv_from(&mut room)).await.expect("in time");
    let (len, from) = came.expect("an answer");
    assert_eq!((&room[..len], from), (&framed(0, to, b"awhole")[..], relay));
    assert!(stranger.try_recv(&mut room).is_err());
}

#[tokio::test]
async fn without_a_tunnel_there_is_no_association() {
    let site = Site::new("127.0.0.1:9", None, ["", OPEN]).await;
    let _gateways = (site.hub(), site.terminal());
    let mut tcp = TcpStream::connect(site.socks5).await.expect("a connection");
    tcp.write_all(&[5, 1, 0, 5, 3, 0, 1, 0, 0, 0, 0, 0, 0]).await.expect("a request");
    let mut answer = [0; 4];
    tcp.read_exact(&mut answer).await.expect("an answer");
    assert_eq!(answer, [5, 0, 5, 7], "the command is not supported");
}
