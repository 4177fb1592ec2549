//! Clients that connect, say next to nothing, and stay.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::Outcome;

/// Time between two bytes of a client.
const PAUSE: Duration = Duration::from_secs(2);

/// So many clients, each with a byte of a handshake now and then.
pub(crate) async fn run(to: SocketAddr, clients: usize, time: Duration) -> Outcome<()> {
    let mut tasks = JoinSet::new();
    for _ in 0..clients {
        tasks.spawn(async move {
            let Ok(mut stream) = TcpStream::connect(to).await else { return false };
            tokio::time::timeout(time, async {
                while stream.write_all(&[5]).await.is_ok() {
                    tokio::time::sleep(PAUSE).await;
                }
            })
            .await
            .is_err()
        });
    }
    let stayed = tasks.join_all().await.into_iter().filter(|stayed| *stayed).count();
    println!("{clients} clients connected, {stayed} of them stayed for {} s", time.as_secs());
    Ok(())
}
