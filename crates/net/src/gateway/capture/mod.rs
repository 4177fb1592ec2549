//! How connections come in.

mod datagrams;
mod esp;
mod forward;
mod held;
mod http;
mod socks5;
mod socks5_udp;
mod syn;
mod transparent;

pub(super) use syn::Syn;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::Inner;
use crate::sockets;

/// Pause after an accept or a receive that failed, for lack of files or memory most likely.
const PAUSE: std::time::Duration = std::time::Duration::from_millis(100);

/// Opens every entrance of the configuration.
///
/// # Errors
/// When one cannot be opened.
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
