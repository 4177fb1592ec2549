//! Sockets for packets of ESP (RFC 4303): each of a single flow, or such that take what is meant for others.
//!
//! They are raw sockets. A socket of this kind gets every packet of its protocol that this host takes from its peer, also where
//! another one gets it too.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use bentpipe_gateway::Received;
use bentpipe_wire::Ecn;
use etherparse::Ipv4HeaderSlice;
use nix::sys::socket::{setsockopt, sockopt};
use nix::{libc, setsockopt_impl, sockopt_impl};
use socket2::{Domain, Protocol, SockFilter, Socket, Type};
use tokio::net::UdpSocket;

use crate::sockets::make_transparent;
use crate::udp_sockets;

/// The number of the protocol.
const ESP: i32 = libc::IPPROTO_ESP;
/// Bytes of the shortest packet: SPI and sequence number.
const SHORTEST: usize = 8;
/// Bytes that wait to be read. The packets of all flows of a terminal come by one socket.
const WAITING: usize = 4 << 20;

/// Instructions of a socket's filter (classic BPF): what they do with a number in them.
const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
const SKIP_UNLESS_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
/// Where a filter finds the mark of a packet.
const MARK_AT: u32 = (libc::SKF_AD_OFF + libc::SKF_AD_MARK) as u32;

sockopt_impl!(
    /// Whether packets may be cut on their way, for IPv4. Routers' words about the path do not come to these sockets.
    MtuDiscovery, SetOnly, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::c_int
);
sockopt_impl!(
    /// The same for IPv6, where only this host cuts.
    Ipv6MtuDiscovery, SetOnly, libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, libc::c_int
);

/// What hands over the payload of packets of ESP. Ports are 0.
#[derive(Debug)]
pub(crate) struct EspSocket {
    /// A raw socket: for the runtime it is one of datagrams like others.
    socket: UdpSocket,
    is_v4: bool,
}

impl EspSocket {
    /// Takes packets of other hosts that have this mark.
    ///
    /// # Errors
    /// When the process may not do that.
    pub(crate) fn listen(any: IpAddr, mark: u32) -> io::Result<Self> {
        let socket = new(any)?;
        if any.is_ipv4() {
            setsockopt(&socket, sockopt::Ipv4OrigDstAddr, &true)?;
        } else {
            setsockopt(&socket, sockopt::Ipv6OrigDstAddr, &true)?;
        }
        // Packets without it are for this host's own IPsec.
        socket.attach_filter(&[
            SockFilter::new(LOAD, 0, 0, MARK_AT),
            SockFilter::new(SKIP_UNLESS_EQUAL, 0, 1, mark),
            SockFilter::new(RETURN, 0, 0, u32::MAX),
            SockFilter::new(RETURN, 0, 0, 0),
        ])?;
        Self::finish(socket, any)
    }

    /// Leads to a client, from the address of another host. What the client says comes by a listener, and nothing here.
    ///
    /// # Errors
    /// When the process may not use that address.
    pub(crate) fn between(host: IpAddr, client: IpAddr) -> io::Result<Self> {
        let socket = new(client)?;
        socket.attach_filter(&[SockFilter::new(RETURN, 0, 0, 0)])?;
        Self::connect(socket, host, client)
    }

    /// Leads to `to`, from the address of a client.
    ///
    /// # Errors
    /// When there is no way there, or the process may not use that address.
    pub(crate) fn to(to: IpAddr, client: IpAddr) -> io::Result<Self> {
        Self::connect(new(to)?, client, to)
    }

    fn connect(socket: Socket, from: IpAddr, to: IpAddr) -> io::Result<Self> {
        make_transparent(&socket, at(to))?;
        socket.bind(&at(from).into())?;
        socket.connect(&at(to).into())?;
        Self::finish(socket, to)
    }

    fn finish(socket: Socket, with: IpAddr) -> io::Result<Self> {
        Ok(Self { socket: UdpSocket::from_std(socket.into())?, is_v4: with.is_ipv4() })
    }

    /// Waits for a packet.
    ///
    /// # Errors
    /// Those of the socket.
    pub(crate) async fn receive(&self) -> io::Result<Received> {
        self.payload(&udp_sockets::receive(&self.socket).await?)
    }

    /// Waits for a packet, and tells for whom it is meant.
    ///
    /// # Errors
    /// Those of the socket.
    pub(crate) async fn receive_led(&self) -> io::Result<(Received, IpAddr)> {
        loop {
            let led = udp_sockets::receive_led(&self.socket).await;
            let (received, meant) = match led {
                // Of what is shorter than ports Linux does not tell where it was going.
                Err(error) if error.kind() == io::ErrorKind::Other => continue,
                led => led?,
            };
            match self.payload(&received) {
                Ok(received) if received.bytes.len() >= SHORTEST => {
                    return Ok((received, meant.ip()));
                }
                _ => {}
            }
        }
    }

    /// Sends a packet with this ECN field to whom the socket leads.
    ///
    /// # Errors
    /// Those of the socket.
    pub(crate) async fn send(&self, packet: &[u8], ecn: Ecn) -> io::Result<usize> {
        udp_sockets::send(&self.socket, packet, ecn).await
    }

    /// What is behind the IP header, which Linux hands over with IPv4 alone.
    fn payload(&self, received: &Received) -> io::Result<Received> {
        let from = at(received.from.ip());
        let headers = if self.is_v4 {
            Ipv4HeaderSlice::from_slice(&received.bytes).map_err(io::Error::other)?.slice().len()
        } else {
            0
        };
        Ok(Received { bytes: received.bytes.slice(headers..), from, ecn: received.ecn })
    }
}

const fn at(ip: IpAddr) -> SocketAddr {
    SocketAddr::new(ip, 0)
}

/// Whether this process may have such sockets.
pub(crate) fn are_permitted() -> bool {
    new(ANY[0]).is_ok()
}

/// The addresses of a kind, of which a listener takes all.
pub(crate) const ANY: [IpAddr; 2] =
    [IpAddr::V4(Ipv4Addr::UNSPECIFIED), IpAddr::V6(Ipv6Addr::UNSPECIFIED)];

fn new(address: IpAddr) -> io::Result<Socket> {
    let domain = Domain::for_address(at(address));
    let socket = Socket::new(domain, Type::RAW, Some(Protocol::from(ESP)))?;
    socket.set_nonblocking(true)?;
    if setsockopt(&socket, sockopt::RcvBufForce, &WAITING).is_err() {
        // What everybody may have has to do.
        socket.set_recv_buffer_size(WAITING)?;
    }
    if address.is_ipv4() {
        socket.set_recv_tos_v4(true)?;
        setsockopt(&socket, MtuDiscovery, &libc::IP_PMTUDISC_DONT)?;
    } else {
        socket.set_recv_tclass_v6(true)?;
        setsockopt(&socket, Ipv6MtuDiscovery, &libc::IPV6_PMTUDISC_DONT)?;
    }
    Ok(socket)
}
