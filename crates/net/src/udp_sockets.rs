//! UDP sockets of single flows, and such that take what is meant for others.

use std::io::{self, IoSliceMut};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::AsRawFd as _;

use nix::sys::socket::{
    ControlMessageOwned, MsgFlags, SockaddrIn, SockaddrIn6, SockaddrStorage, recvmsg, setsockopt,
    sockopt,
};
use nix::{cmsg_space, libc};
use socket2::{Domain, Protocol, Socket, Type};
use tokio::io::Interest;
use tokio::net::UdpSocket;

use crate::sockets::make_transparent;

/// Takes datagrams to this address, or, `transparent`, to any address that are redirected to it.
///
/// # Errors
/// When the address is taken, or the process may not do that.
pub(crate) fn listen(address: SocketAddr, transparent: bool) -> io::Result<UdpSocket> {
    let socket = new(address)?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    if transparent {
        make_transparent(&socket, address)?;
        if address.is_ipv4() {
            setsockopt(&socket, sockopt::Ipv4OrigDstAddr, &true)?;
        } else {
            setsockopt(&socket, sockopt::Ipv6OrigDstAddr, &true)?;
        }
    }
    socket.bind(&address.into())?;
    UdpSocket::from_std(socket.into())
}

/// A socket between an address, of this host or, if it is `transparent`, of another one, and a client.
///
/// # Errors
/// When the process may not use that address.
pub(crate) fn between(
    here: SocketAddr,
    client: SocketAddr,
    transparent: bool,
) -> io::Result<UdpSocket> {
    let socket = new(client)?;
    if transparent {
        make_transparent(&socket, client)?;
    }
    socket.bind(&here.into())?;
    socket.connect(&client.into())?;
    UdpSocket::from_std(socket.into())
}

/// A socket that leads to `to`, from the address and port of `source` if there is one.
///
/// # Errors
/// When there is no way there, or the process may not use that address.
pub(crate) fn to(to: SocketAddr, source: Option<SocketAddr>) -> io::Result<UdpSocket> {
    match source.filter(|source| source.is_ipv4() == to.is_ipv4()) {
        Some(source) => between(source, to, true),
        None if to.is_ipv4() => between((Ipv4Addr::UNSPECIFIED, 0).into(), to, false),
        None => between((Ipv6Addr::UNSPECIFIED, 0).into(), to, false),
    }
}

/// Waits for a datagram that was led here: its length, whose it is, and for whom it was meant.
///
/// # Errors
/// Those of the socket.
pub(crate) async fn receive_led(
    socket: &UdpSocket,
    buffer: &mut [u8],
) -> io::Result<(usize, SocketAddr, SocketAddr)> {
    let receive = || {
        let mut slices = [IoSliceMut::new(buffer)];
        let mut control = cmsg_space!(libc::sockaddr_in6);
        let flags = MsgFlags::MSG_DONTWAIT;
        let message =
            recvmsg::<SockaddrStorage>(socket.as_raw_fd(), &mut slices, Some(&mut control), flags)?;
        let from = message.address.as_ref().and_then(std_address);
        let meant = message.cmsgs()?.find_map(|control| match control {
            ControlMessageOwned::Ipv4OrigDstAddr(v4) => {
                Some(SocketAddrV4::from(SockaddrIn::from(v4)).into())
            }
            ControlMessageOwned::Ipv6OrigDstAddr(v6) => {
                Some(SocketAddrV6::from(SockaddrIn6::from(v6)).into())
            }
            _ => None,
        });
        match (from, meant) {
            (Some(from), Some(meant)) => Ok((message.bytes, from, meant)),
            _ => Err(io::Error::other("a datagram that does not say where it was going")),
        }
    };
    socket.async_io(Interest::READABLE, receive).await
}

fn std_address(address: &SockaddrStorage) -> Option<SocketAddr> {
    let v4 = address.as_sockaddr_in().map(|v4| SocketAddrV4::from(*v4).into());
    v4.or_else(|| address.as_sockaddr_in6().map(|v6| SocketAddrV6::from(*v6).into()))
}

/// Several sockets have the same address, each with another peer.
fn new(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_nonblocking(true)?;
    socket.set_reuse_address(true)?;
    Ok(socket)
}
