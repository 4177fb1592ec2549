//! Connections to anywhere that the firewall redirects here (TPROXY).

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use bytes::Bytes;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::{Inner, datagrams, esp, held, listen};
use crate::gateway::streams::Stream;
use crate::listening::serve;
use bentpipe_gateway::UdpMode;

/// Opens the port that the firewall leads to, for both kinds of addresses.
pub(super) fn start(inner: &Arc<Inner>, tasks: &mut JoinSet<io::Result<()>>) -> io::Result<()> {
    let Some(transparent) = &inner.config().transparent else { return Ok(()) };
    let peer =
        inner.config().peer(transparent.peer.as_deref()).map_err(io::Error::other)?.to_owned();
    let port = transparent.port;
    let addresses: [SocketAddr; 2] =
        [(Ipv4Addr::UNSPECIFIED, port).into(), (Ipv6Addr::UNSPECIFIED, port).into()];
    let held = match inner.config().early_accept {
        true => None,
        false => Some(held::start(inner, tasks, peer.clone())?),
    };
    if inner.config().udp.mode == UdpMode::Tunnel {
        esp::start(inner, tasks, &peer);
    }
    for address in addresses {
        let listener = match listen(address, true) {
            // A machine without IPv6.
            Err(error) if address.is_ipv6() && error.kind() != io::ErrorKind::PermissionDenied => {
                tracing::warn!(%error, "cannot capture transparent connections over IPv6");
                continue;
            }
            listener => listener?,
        };
        if inner.config().udp.mode == UdpMode::Tunnel {
            datagrams::transparent(inner, tasks, address, peer.clone())?;
        }
        let (inner, peer, held) = (inner.clone(), peer.clone(), held.clone());
        let unknown = inner.unknown().clone();
        tasks.spawn(serve(listener, unknown, move |tcp: TcpStream, from, unknown| {
            let (inner, peer, held) = (inner.clone(), peer.clone(), held.clone());
            async move {
                // The address that the client meant is the local one.
                let to = tcp.local_addr()?;
                if to.port() == port && to.ip() == from.ip() {
                    return Err(io::Error::other("this port serves what the firewall leads to it"));
                }
                match held.and_then(|held| held.claim(from, to)) {
                    Some(begun) => {
                        drop(unknown);
                        inner.carry(begun, Stream(tcp), Bytes::new()).await
                    }
                    None => inner.serve(&peer, Stream(tcp), from, to.into(), Some(unknown)).await,
                }
            }
        }));
    }
    Ok(())
}
