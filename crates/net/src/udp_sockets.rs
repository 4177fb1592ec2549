//! UDP sockets of single flows, and such that take what is meant for others.

use std::cell::RefCell;
use std::io::{self, IoSlice, IoSliceMut};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::AsRawFd as _;

use bentpipe_gateway::Received;
use bentpipe_wire::Ecn;
use bytes::Bytes;
use nix::sys::socket::{
    ControlMessage, ControlMessageOwned, MsgFlags, SockaddrIn, SockaddrIn6, SockaddrStorage,
    recvmsg, sendmsg, setsockopt, sockopt,
};
use nix::{cmsg_space, libc};
use socket2::{Domain, Protocol, Socket, Type};
use tokio::io::Interest;
use tokio::net::UdpSocket;

use crate::sockets::make_transparent;

/// Longest datagram of UDP.
const LONGEST: usize = 65_535;

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

/// Waits for a datagram.
///
/// # Errors
/// Those of the socket.
pub(crate) async fn receive(socket: &UdpSocket) -> io::Result<Received> {
    let read = || read(socket).map(|(received, _)| received);
    socket.async_io(Interest::READABLE, read).await
}

/// Waits for a datagram that was led here, and tells for whom it was meant.
///
/// # Errors
/// Those of the socket.
pub(crate) async fn receive_led(socket: &UdpSocket) -> io::Result<(Received, SocketAddr)> {
    let (received, meant) = socket.async_io(Interest::READABLE, || read(socket)).await?;
    let lost = || io::Error::other("a datagram that does not say where it was going");
    Ok((received, meant.ok_or_else(lost)?))
}

thread_local! {
    /// Room for the longest datagram, used again for each.
    static BUFFER: RefCell<Vec<u8>> = RefCell::new(vec![0; LONGEST]);
}

/// Reads a datagram, and for whom it was meant where the system tells.
fn read(socket: &UdpSocket) -> io::Result<(Received, Option<SocketAddr>)> {
    BUFFER.with_borrow_mut(|buffer| {
        let mut slices = [IoSliceMut::new(buffer)];
        let mut control = cmsg_space!(libc::sockaddr_in6, libc::c_int);
        let flags = MsgFlags::MSG_DONTWAIT;
        let message =
            recvmsg::<SockaddrStorage>(socket.as_raw_fd(), &mut slices, Some(&mut control), flags)?;
        let from = message.address.as_ref().and_then(std_address);
        let from = from.ok_or_else(|| io::Error::other("a datagram that nobody sent"))?;
        let (mut meant, mut ecn) = (None, Ecn::NotCapable);
        for control in message.cmsgs()? {
            match control {
                ControlMessageOwned::Ipv4OrigDstAddr(v4) => {
                    meant = Some(SocketAddrV4::from(SockaddrIn::from(v4)).into());
                }
                ControlMessageOwned::Ipv6OrigDstAddr(v6) => {
                    meant = Some(SocketAddrV6::from(SockaddrIn6::from(v6)).into());
                }
                ControlMessageOwned::Ipv4Tos(tos) => ecn = Ecn::from_bits(tos),
                ControlMessageOwned::Ipv6TClass(class) => ecn = Ecn::from_bits(class as u8),
                _ => {}
            }
        }
        let len = message.bytes;
        Ok((Received { bytes: Bytes::copy_from_slice(&buffer[..len]), from, ecn }, meant))
    })
}

/// Sends a datagram with this ECN field to whom the socket leads.
///
/// # Errors
/// Those of the socket.
pub(crate) async fn send(socket: &UdpSocket, datagram: &[u8], ecn: Ecn) -> io::Result<usize> {
    if ecn == Ecn::NotCapable {
        return socket.send(datagram).await;
    }
    write(socket, datagram, ecn, None).await
}

/// Sends a datagram with this ECN field to `to`.
///
/// # Errors
/// Those of the socket.
pub(crate) async fn send_to(
    socket: &UdpSocket,
    to: SocketAddr,
    datagram: &[u8],
    ecn: Ecn,
) -> io::Result<usize> {
    write(socket, datagram, ecn, Some(to)).await
}

async fn write(
    socket: &UdpSocket,
    datagram: &[u8],
    ecn: Ecn,
    to: Option<SocketAddr>,
) -> io::Result<usize> {
    let is_v4 = to.map_or_else(|| socket.peer_addr(), Ok)?.is_ipv4();
    let to = to.map(SockaddrStorage::from);
    let write = || {
        let (tos, class) = (ecn.bits(), i32::from(ecn.bits()));
        let control =
            if is_v4 { ControlMessage::Ipv4Tos(&tos) } else { ControlMessage::Ipv6TClass(&class) };
        let slices = [IoSlice::new(datagram)];
        let flags = MsgFlags::MSG_DONTWAIT;
        Ok(sendmsg(socket.as_raw_fd(), &slices, &[control], flags, to.as_ref())?)
    };
    socket.async_io(Interest::WRITABLE, write).await
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
    // Marks are carried from one end to the other.
    if address.is_ipv4() {
        socket.set_recv_tos_v4(true)?;
    } else {
        socket.set_recv_tclass_v6(true)?;
    }
    Ok(socket)
}
