//! A SOCKS5 server (RFC 1928, RFC 1929): CONNECT and UDP ASSOCIATE, with passwords or without.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use fast_socks5::server::{Socks5ServerProtocol, SocksServerError};
use fast_socks5::util::target_addr::TargetAddr;
use fast_socks5::{ReplyError, Socks5Command};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::socks5_udp::Association;
use super::{Inner, listen};
use crate::gateway::streams::Stream;
use crate::listening::serve;
use crate::udp_sockets;
use bentpipe_gateway::Proxy;
use bentpipe_gateway::Reach;
use bentpipe_gateway::places::Place;
use bentpipe_gateway::{Destination, UdpMode, Verdict};

/// Time for a client to say what it wants.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(30);

/// Opens the server.
pub(super) fn start(inner: &Arc<Inner>, tasks: &mut JoinSet<io::Result<()>>) -> io::Result<()> {
    let Some(proxy) = &inner.config().socks5 else { return Ok(()) };
    let listener = listen(proxy.listen, false)?;
    let peer = inner.config().peer(proxy.peer.as_deref()).map_err(io::Error::other)?.to_owned();
    let (inner, proxy) = (inner.clone(), Arc::new(proxy.clone()));
    let unknown = inner.unknown().clone();
    tasks.spawn(serve(listener, unknown, move |tcp, from, unknown| {
        let (inner, peer, proxy) = (inner.clone(), peer.clone(), proxy.clone());
        async move { client(&inner, &peer, &proxy, (tcp, from), unknown).await }
    }));
    Ok(())
}

/// Serves one client.
async fn client(
    inner: &Arc<Inner>,
    peer: &str,
    proxy: &Proxy,
    (tcp, from): (TcpStream, SocketAddr),
    unknown: Place,
) -> io::Result<()> {
    let here = tcp.local_addr()?;
    let asked = async {
        let known = if proxy.users.is_empty() {
            Socks5ServerProtocol::accept_no_auth(tcp).await?
        } else {
            let is_known = |user: String, password: String| {
                proxy.users.get(&user).is_some_and(|right| right.is(&password))
            };
            Socks5ServerProtocol::accept_password_auth(tcp, is_known).await?.0
        };
        known.read_command().await
    };
    let asked = tokio::time::timeout(HANDSHAKE_TIMEOUT, asked).await.map_err(io::Error::from)?;
    let (waiting, command, target) = asked.map_err(other)?;
    let to = match (command, target) {
        (Socks5Command::UDPAssociate, target) if inner.config().udp.mode == UdpMode::Tunnel => {
            let Some(place) = inner.place(from.ip()) else {
                return waiting.reply_error(&ReplyError::GeneralFailure).await.map_err(other);
            };
            drop(unknown);
            let relay = udp_sockets::listen(SocketAddr::new(here.ip(), 0), false)?;
            let tcp = waiting.reply_success(relay.local_addr()?).await.map_err(other)?;
            return Association::new(inner, peer, place, relay, client_of(from, &target))
                .carry(tcp)
                .await;
        }
        (Socks5Command::TCPConnect, TargetAddr::Ip(address)) => Destination::from(address),
        (Socks5Command::TCPConnect, TargetAddr::Domain(name, port)) => {
            Destination::Name(name, port)
        }
        _ => return waiting.reply_error(&ReplyError::CommandNotSupported).await.map_err(other),
    };
    if !to.leads_anywhere() {
        return waiting.reply_error(&ReplyError::HostUnreachable).await.map_err(other);
    }
    match inner.begin(peer, from, to, Reach::Outside, Some(unknown)).await {
        Ok(begun) => {
            // The address at the far end is not known here.
            let tcp = waiting.reply_success((Ipv4Addr::UNSPECIFIED, 0).into()).await;
            inner.carry(begun, Stream(tcp.map_err(other)?), Bytes::new()).await
        }
        Err(verdict) => waiting.reply_error(&reply(verdict)).await.map_err(other),
    }
}

/// Whose datagrams count: the client's, from the port that it has named if it has.
fn client_of(from: SocketAddr, named: &TargetAddr) -> SocketAddr {
    let port = if let TargetAddr::Ip(named) = named { named.port() } else { 0 };
    SocketAddr::new(from.ip(), port)
}

/// What a client is told.
fn reply(verdict: Verdict) -> ReplyError {
    match verdict {
        Verdict::Connected => ReplyError::Succeeded,
        Verdict::Refused => ReplyError::ConnectionRefused,
        Verdict::Unreachable | Verdict::UnknownName => ReplyError::HostUnreachable,
        Verdict::TimedOut => ReplyError::ConnectionTimeout,
        Verdict::Forbidden => ReplyError::ConnectionNotAllowed,
        Verdict::Busy => ReplyError::GeneralFailure,
    }
}

fn other(error: SocksServerError) -> io::Error {
    io::Error::other(error)
}
