//! How connections come in.

mod datagrams;
mod forward;
mod held;
mod http;
mod socks5;
mod syn;
mod transparent;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::Inner;
use super::open::Destination;
use crate::gateway::flow::Reach;
use crate::sockets;

/// Pause after an accept or a receive that failed, for lack of files or memory most likely.
const PAUSE: std::time::Duration = std::time::Duration::from_millis(100);

/// Opens every entrance of the configuration.
///
/// # Errors
/// When one can not be opened.
pub(super) fn start(inner: &Arc<Inner>, tasks: &mut JoinSet<io::Result<()>>) -> io::Result<()> {
    forward::start(inner, tasks)?;
    socks5::start(inner, tasks)?;
    http::start(inner, tasks)?;
    transparent::start(inner, tasks)
}

/// Listens, and says where it could not.
fn listen(address: SocketAddr, transparent: bool) -> io::Result<TcpListener> {
    sockets::listen(address, transparent)
        .map_err(|error| io::Error::new(error.kind(), format!("TCP {address}: {error}")))
}

/// Serves every connection of a listener on a task of its own, for ever.
async fn serve<F: Future<Output = io::Result<()>> + Send + 'static>(
    listener: TcpListener,
    serve: impl Fn(TcpStream, SocketAddr) -> F,
) -> io::Result<()> {
    // With this future end all of them.
    let mut flows = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = flows.join_next() => continue,
        };
        match accepted {
            Ok((tcp, from)) => {
                let served = serve(tcp, from);
                flows.spawn(async move {
                    if let Err(error) = served.await {
                        tracing::debug!(%from, %error, "a flow ended early");
                    }
                });
            }
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

/// Carries a connection whose client was never told of a gateway.
async fn carry(
    inner: &Inner,
    peer: &str,
    tcp: TcpStream,
    from: SocketAddr,
    to: Destination,
) -> io::Result<()> {
    match inner.begin(peer, from, to, Reach::Everywhere).await {
        Ok(begun) => inner.carry(begun, tcp, Bytes::new()).await,
        Err(_) => sockets::guard(&tcp),
    }
}
