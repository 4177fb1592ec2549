//! Hosts on the loopback interface: the same hub, with real sockets and the wall clock.

use std::sync::Arc;

use bentpipe_association::{SecretKey, Security, Tuning};
use bentpipe_net::Host;
use bentpipe_testkit::pattern;
use bentpipe_transport::xstp::Config;
use bentpipe_units::ByteCount;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

fn config() -> Arc<Config> {
    Arc::new(Config {
        mss: 1400,
        snd_buf: ByteCount::new(4_000_000),
        rcv_buf: ByteCount::new(4_000_000),
        cwnd_init: 64,
        max_burst: 64,
        ..Config::default()
    })
}

fn hosts(family: &str) -> (Host, Host, SecretKey) {
    let [a, b] = [(); 2].map(|()| SecretKey::generate());
    let any = format!("{family}:0").parse().expect("an address");
    let server = Host::bind(any, b.clone(), Security::Full).expect("a server");
    server.allow(a.public());
    server.listen(config());
    (Host::bind(any, a, Security::Full).expect("a client"), server, b)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_megabyte_goes_there_and_comes_back() {
    for family in ["127.0.0.1", "[::1]"] {
        let (client, server, key) = hosts(family);
        let address = server.local_addr();
        let echo = tokio::spawn(async move {
            let mut connection = server.accept().await;
            let mut all = Vec::new();
            connection.read_to_end(&mut all).await.expect("all bytes");
            connection.write_all(&all).await.expect("written");
            connection.finish().await.expect("closed");
        });
        let mut connection =
            client.connect(address, key.public(), 7, config()).await.expect("a connection");
        assert_eq!(connection.peer(), key.public());
        let data = pattern(1_000_000);
        connection.write_bytes(data.clone()).await.expect("written");
        connection.shutdown().await.expect("shut down");
        let mut back = Vec::new();
        connection.read_to_end(&mut back).await.expect("all bytes");
        assert_eq!(back, data);
        connection.finish().await.expect("closed");
        echo.await.expect("the server ends");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_connections_live_side_by_side() {
    let (client, server, key) = hosts("127.0.0.1");
    let address = server.local_addr();
    tokio::spawn(async move {
        loop {
            let connection = server.accept().await;
            tokio::spawn(async move {
                while let Some(bytes) = connection.read_bytes().await.expect("bytes") {
                    connection.write_bytes(bytes).await.expect("written");
                }
                connection.finish().await.expect("closed");
            });
        }
    });
    let tasks: Vec<_> = (0..100)
        .map(|n| {
            let (client, peer) = (client.clone(), key.public());
            tokio::spawn(async move {
                let mut connection =
                    client.connect(address, peer, 7, config()).await.expect("a connection");
                let data = pattern(1000 + n);
                connection.write_bytes(data.clone()).await.expect("written");
                connection.shutdown().await.expect("shut down");
                let mut back = Vec::new();
                connection.read_to_end(&mut back).await.expect("all bytes");
                assert_eq!(back, data);
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("a connection that worked");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_path_carried_is_kept_when_a_host_ends_and_known_to_the_next_one() {
    let dir = tempfile::tempdir().expect("a directory");
    let kept = dir.path().join("key.paths");
    let (client, server, key) = hosts("127.0.0.1");
    // As `send` and gateways do, it shares a window with others.
    let config = Tuning::default().config().expect("settings");
    server.listen(config.clone());
    client.keep_paths(kept.clone());
    let address = server.local_addr();
    let read = tokio::spawn(async move {
        let mut connection = server.accept().await;
        let mut all = Vec::new();
        connection.read_to_end(&mut all).await.expect("all bytes");
        connection.finish().await.expect("closed");
        all.len()
    });
    let mut connection =
        client.connect(address, key.public(), 7, config).await.expect("a connection");
    connection.write_bytes(pattern(30_000_000)).await.expect("written");
    connection.shutdown().await.expect("shut down");
    connection.finish().await.expect("closed");
    assert_eq!(read.await.expect("the server ends"), 30_000_000);
    client.shutdown().await;
    let text = std::fs::read_to_string(&kept).expect("a file");
    assert!(text.contains(&key.public().to_string()) && text.contains("\"rate_bps\""), "{text}");
    let (next, _, _) = hosts("127.0.0.1");
    next.keep_paths(kept);
    let known: Vec<_> = next.shared().endpoint().path_memory().records().collect();
    assert!(matches!(known[..], [(peer, 0, _)] if peer == key.public()), "{known:?}");
}
