//! How datagrams come in.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::task::JoinSet;

use super::{Inner, PAUSE};
use crate::gateway::system::Running;
use crate::udp_sockets;
use bentpipe_gateway::Destination;
use bentpipe_gateway::{Here, Received};

/// Opens a port whose datagrams lead to one destination.
pub(super) fn forward(
    inner: &Arc<Inner>,
    tasks: &mut JoinSet<io::Result<()>>,
    address: SocketAddr,
    peer: String,
    to: Destination,
) -> io::Result<()> {
    let socket = udp_sockets::listen(address, false).map_err(|error| named(address, &error))?;
    let inner = inner.clone();
    tasks.spawn(async move {
        let here = Here { address: socket.local_addr()?, transparent: false };
        // With this future end all flows.
        let mut flows = Running::default();
        loop {
            let Ok(Received { bytes, from, ecn }) = udp_sockets::receive(&socket).await else {
                tokio::time::sleep(PAUSE).await;
                continue;
            };
            inner.carry_datagram(&mut flows, &peer, from, here, to.clone(), (&bytes, ecn));
        }
    });
    Ok(())
}

/// Opens the port to which the firewall leads datagrams to anywhere.
pub(super) fn transparent(
    inner: &Arc<Inner>,
    tasks: &mut JoinSet<io::Result<()>>,
    address: SocketAddr,
    peer: String,
) -> io::Result<()> {
    let socket = udp_sockets::listen(address, true).map_err(|error| named(address, &error))?;
    let inner = inner.clone();
    tasks.spawn(async move {
        let mut flows = Running::default();
        loop {
            let led = udp_sockets::receive_led(&socket).await;
            let Ok((Received { bytes, from: client, ecn }, meant)) = led else {
                tokio::time::sleep(PAUSE).await;
                continue;
            };
            // What was sent to this port itself leads nowhere.
            if meant.port() == address.port() && meant.ip() == client.ip() {
                continue;
            }
            let here = Here { address: meant, transparent: true };
            inner.carry_datagram(&mut flows, &peer, client, here, meant.into(), (&bytes, ecn));
        }
    });
    Ok(())
}

fn named(address: SocketAddr, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("UDP {address}: {error}"))
}
