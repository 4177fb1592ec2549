//! Hosts on the loopback interface: the same hub, with real sockets and the wall clock.

use std::sync::Arc;

use bentpipe_association::{SecretKey, Security};
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
