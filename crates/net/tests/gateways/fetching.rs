//! Requests through gateways, each for a number of bytes, and what becomes of them.
#![allow(dead_code, reason = "each test uses its part")]

use std::net::SocketAddr;
use std::str::FromStr;
use std::time::Duration;

use bentpipe_net::gateway::Gateway;
use bytes::Bytes;
use rand::{Rng, RngExt as _};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::server;

/// Nothing hangs for longer.
pub(crate) const LONG: Duration = Duration::from_secs(120);
/// Bytes of the largest response.
pub(crate) const LARGEST: u32 = 2_000_000;

/// A number out of the environment.
pub(crate) fn said<T: FromStr>(name: &str, otherwise: T) -> T {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// A server that answers a number by so many bytes and closes at once.
pub(crate) async fn files(content: Bytes) -> SocketAddr {
    server(move |mut tcp: TcpStream| {
        let content = content.clone();
        async move {
            let Ok(size) = tcp.read_u32().await else { return };
            // A client may have left.
            let _ = tcp.write_all(&content[..size as usize]).await;
        }
    })
    .await
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    Whole,
    Failed,
}

/// Asks for so many bytes. What comes before an error is a part of them; what comes before an end is all.
pub(crate) async fn fetch(forward: SocketAddr, size: u32, content: &Bytes) -> Ended {
    let answer = async {
        let mut answer = Vec::new();
        let Ok(mut tcp) = TcpStream::connect(forward).await else { return (answer, Ended::Failed) };
        let asked = tcp.write_all(&size.to_be_bytes()).await;
        let read = tcp.read_to_end(&mut answer).await;
        let whole = asked.is_ok() && read.is_ok();
        (answer, if whole { Ended::Whole } else { Ended::Failed })
    };
    let (answer, ended) = tokio::time::timeout(LONG, answer).await.expect("nothing hangs");
    let from = answer.iter().zip(content).position(|(ours, theirs)| ours != theirs);
    assert_eq!(from, None, "{} of {size} bytes: {:?}", answer.len(), answer.first_chunk::<8>());
    assert!(ended == Ended::Failed || answer.len() == size as usize, "{} of {size}", answer.len());
    ended
}

/// A size from 1 byte to the largest, small ones as likely as large ones.
pub(crate) fn size(random: &mut impl Rng) -> u32 {
    (f64::from(LARGEST).powf(random.random::<f64>())) as u32
}

/// Waits until it is so.
pub(crate) async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let wait = async {
        while !is_so() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(LONG, wait).await.unwrap_or_else(|_| panic!("never: {what}"));
}

/// What a connection that does nothing is counted for.
const CONNECTION: u64 = 4_096;

/// Waits until neither gateway has any flow, nor a connection inside the association but the one that
/// holds it up: with a connection go its buffers.
pub(crate) async fn settle(gateways: [&Gateway; 2]) {
    for gateway in gateways {
        until("a gateway is empty", || {
            let status = gateway.status();
            let connections = status.peers.iter().map(|peer| peer.connections).max();
            let held = status.peers.iter().map(|peer| peer.held.get()).sum::<u64>();
            status.flows.is_empty()
                && status.totals.open == 0
                && connections == Some(1)
                && held <= CONNECTION
        })
        .await;
    }
}
