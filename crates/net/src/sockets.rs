//! TCP sockets, such that carry other hosts' addresses among them.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use nix::sys::socket::{getsockopt, setsockopt};
use nix::{getsockopt_impl, libc, setsockopt_impl, sockopt_impl};
use rustix::fd::AsFd as _;
use socket2::{Domain, Protocol, SockAddr, SockRef, Socket, TcpKeepalive, Type};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

/// Connections that wait to be accepted.
const BACKLOG: i32 = 1024;
/// A host that vanished is noticed after an hour and a few minutes.
const KEEPALIVE: Duration = Duration::from_secs(3600);
/// Place of the bytes that wait to be sent or acknowledged among the numbers of SO_MEMINFO.
const QUEUED: usize = 5;

sockopt_impl!(
    /// As IP_TRANSPARENT, for IPv6.
    Ipv6Transparent, SetOnly, libc::SOL_IPV6, libc::IPV6_TRANSPARENT, bool
);
sockopt_impl!(
    /// What a socket uses of the kernel's memory.
    MemoryInfo, GetOnly, libc::SOL_SOCKET, libc::SO_MEMINFO, [u32; 9]
);

/// Listens for connections; a `transparent` socket takes those to any address that are redirected to it.
///
/// # Errors
/// When the address is taken, or the process may not do that.
pub(crate) fn listen(address: SocketAddr, transparent: bool) -> io::Result<TcpListener> {
    let socket = new(address)?;
    socket.set_reuse_address(true)?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    if transparent {
        make_transparent(&socket, address)?;
    }
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    TcpListener::from_std(socket.into())
}

/// Connects to `to`, from the address of `source` if there is one.
///
/// # Errors
/// When nobody answers, or the process may not use that address.
pub(crate) async fn connect(to: SocketAddr, source: Option<SocketAddr>) -> io::Result<TcpStream> {
    let socket = new(to)?;
    if let Some(source) = source.filter(|source| source.is_ipv4() == to.is_ipv4()) {
        make_transparent(&socket, to)?;
        socket.set_reuse_address(true)?;
        // The port is the host's own choice: others may use the same one here.
        socket.bind(&SocketAddr::new(source.ip(), 0).into())?;
    }
    let tcp = TcpSocket::from_std_stream(socket.into()).connect(to).await?;
    prepare(&tcp)?;
    Ok(tcp)
}

/// Whether an address is one of this host: what goes there has it as its source as well. Nothing is sent.
pub(crate) fn is_own(to: SocketAddr) -> bool {
    let source = || {
        let socket = Socket::new(Domain::for_address(to), Type::DGRAM, Some(Protocol::UDP))?;
        // A port that every datagram can have: 0 is refused.
        socket.connect(&SocketAddr::new(to.ip(), to.port().max(1)).into())?;
        socket.local_addr()
    };
    let source: io::Result<SockAddr> = source();
    source.is_ok_and(|source| source.as_socket().is_some_and(|source| source.ip() == to.ip()))
}

/// The settings of every connection. What is urgent stays in its place among the bytes.
pub(crate) fn prepare(tcp: &TcpStream) -> io::Result<()> {
    tcp.set_nodelay(true)?;
    SockRef::from(tcp).set_out_of_band_inline(true)?;
    SockRef::from(tcp).set_tcp_keepalive(&TcpKeepalive::new().with_time(KEEPALIVE))
}

/// From now on the connection ends by a reset, whoever ends it and however: even where this process is
/// killed, nobody takes what came so far for all there is. Until [`complete`] is called.
pub(crate) fn guard(tcp: &TcpStream) -> io::Result<()> {
    tcp.set_zero_linger()
}

/// Everything was carried in both directions: the connection ends in peace.
pub(crate) fn complete(tcp: &TcpStream) -> io::Result<()> {
    SockRef::from(tcp).set_linger(None)
}

/// Bytes of kernel memory in use for what was not delivered yet.
pub(crate) fn queued(tcp: &TcpStream) -> u32 {
    getsockopt(&tcp.as_fd(), MemoryInfo).map_or(0, |numbers| numbers[QUEUED])
}

fn new(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// The socket may have addresses of other hosts.
pub(crate) fn make_transparent(socket: &Socket, address: SocketAddr) -> io::Result<()> {
    if address.is_ipv4() {
        socket.set_ip_transparent_v4(true)
    } else {
        Ok(setsockopt(socket, Ipv6Transparent, &true)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_this_host_is_known_and_another_ones_is_not() {
        for (address, own) in
            [("127.0.0.1:0", true), ("127.0.0.1:80", true), ("192.0.2.1:80", false)]
        {
            assert_eq!(is_own(address.parse().expect("an address")), own, "{address}");
        }
    }
}
