//! Whoever connects by TCP, until it is known who he is.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use bentpipe_gateway::log_limit::LogLimit;
use bentpipe_gateway::places::{Kind, Place, Places};

/// Pause after an accept that failed, for lack of file descriptors most likely.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves every connection of a listener on a task of its own, for ever.
///
/// Whoever connects has one of the places of `unknown`, and is left when somebody else gets it, until `serve` drops
/// it.
pub(crate) async fn serve<F: Future<Output = io::Result<()>> + Send + 'static>(
    listener: TcpListener,
    unknown: Arc<Places>,
    serve: impl Fn(TcpStream, SocketAddr, Place) -> F,
) -> io::Result<()> {
    static FAILED: LogLimit = LogLimit::new();
    // With this future end all of them.
    let mut tasks = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = tasks.join_next() => continue,
        };
        match accepted {
            Ok((tcp, from)) => {
                // Without a place the connection is closed again.
                let Some(place) = unknown.take(from.ip(), Kind::Connection, 0) else { continue };
                let stay = place.stay();
                let served = serve(tcp, from, place);
                tasks.spawn(async move {
                    tokio::select! {
                        ended = served => if let Err(error) = ended {
                            tracing::debug!(%from, %error, "a TCP connection ended early");
                        },
                        () = stay.over() => {
                            tracing::debug!(%from, "a TCP connection gave way to another one");
                        }
                    }
                });
            }
            Err(error) => {
                if let Some(skipped) = FAILED.admit(bentpipe_system::seconds()) {
                    tracing::warn!(%error, skipped, "cannot accept a TCP connection");
                }
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpSocket;

    use super::*;
    use bentpipe_gateway::places::Rule;

    /// A connection from this host of the loopback device.
    async fn from(host: u8, to: SocketAddr) -> TcpStream {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.bind(([127, 0, 0, host], 0).into()).expect("an address");
        socket.connect(to).await.expect("a listener")
    }

    #[tokio::test]
    async fn silent_connections_keep_nobody_waiting() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let to = listener.local_addr().expect("an address");
        let unknown = Places::new(16, Rule::Newest { each: 8 });
        let places = unknown.clone();
        tokio::spawn(serve(listener, places, async |mut tcp: TcpStream, _, place| {
            let asked = tcp.read_u8().await?;
            drop(place);
            tcp.write_u8(asked + 1).await
        }));
        let mut silent = Vec::new();
        for n in 0..200 {
            silent.push(from(2 + n % 3, to).await);
        }
        // Of this host too.
        for _ in 0..20 {
            silent.push(from(1, to).await);
        }
        let mut honest = from(1, to).await;
        honest.write_u8(7).await.expect("room");
        assert_eq!(honest.read_u8().await.expect("an answer"), 8);
        assert!(unknown.count() <= 16);
    }
}
