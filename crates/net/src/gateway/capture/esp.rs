//! How packets of ESP come in, which the firewall leads here.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use bentpipe_gateway::{Here, Received, Target};
use tokio::task::JoinSet;

use super::{Inner, PAUSE};
use crate::esp_sockets::{ANY, EspSocket};
use crate::gateway::firewall::MARK;
use crate::gateway::system::Running;

/// Takes packets of either kind of addresses. Where the process may not, the rest works without.
pub(super) fn start(inner: &Arc<Inner>, tasks: &mut JoinSet<io::Result<()>>, peer: &str) {
    for any in ANY {
        match EspSocket::listen(any, MARK) {
            Ok(socket) => drop(tasks.spawn(carry(inner.clone(), peer.to_owned(), socket))),
            Err(error) => {
                tracing::warn!(%error, %any, "cannot capture ESP (it takes CAP_NET_RAW): IPsec has to travel in UDP");
            }
        }
    }
}

async fn carry(inner: Arc<Inner>, peer: String, socket: EspSocket) -> io::Result<()> {
    // With this future end all flows.
    let mut flows = Running::default();
    loop {
        let Ok((Received { bytes, from: client, ecn }, host)) = socket.receive_led().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let here = Here { address: SocketAddr::new(host, 0), transparent: true };
        let to = Target::Esp(host);
        inner.carry_datagram(&mut flows, &peer, client, here, to, (&bytes, ecn));
    }
}
