//! A UDP socket with batched receiving and segmentation offload.

use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr};
use std::task::{Context, Poll};

use bentpipe_wire::Ecn;
use quinn_udp::{BATCH_SIZE, EcnCodepoint, RecvMeta, Transmit, UdpSocketState};
use rustix::net::sockopt::{
    Ipv4PathMtuDiscovery, Ipv6PathMtuDiscovery, set_ip_mtu_discover, set_ipv6_mtu_discover,
};
use tokio::io::Interest;
use tokio::net::UdpSocket;

use bentpipe_association::endpoint::{Outbox, Outer, Route, Train};

/// Room for one batch of datagrams that the kernel has put together.
const RECEIVE_ROOM: usize = 64 * 1024;
/// What the kernel is asked to buffer in each direction; it may grant less.
const KERNEL_BUFFER: usize = 8 * 1024 * 1024;
/// Ports that are tried where the system chooses.
const PORTS: usize = 16;

/// A socket and its memory for receiving.
pub(crate) struct Socket {
    io: UdpSocket,
    state: UdpSocketState,
    /// It is one of IPv6, which knows addresses of IPv4 as parts of its own.
    is_v6: bool,
    buffers: Vec<Box<[u8]>>,
}

impl Socket {
    /// A socket at this address.
    ///
    /// # Errors
    /// When the address is taken or not one of this host.
    #[expect(clippy::disallowed_methods, reason = "this is where sockets come in")]
    pub(crate) fn bind(address: SocketAddr) -> io::Result<Self> {
        let socket = std::net::UdpSocket::bind(address)?;
        socket.set_nonblocking(true)?;
        let state = UdpSocketState::new((&socket).into())?;
        // Less than asked for is fine.
        let _ = state.set_send_buffer_size((&socket).into(), KERNEL_BUFFER);
        let _ = state.set_recv_buffer_size((&socket).into(), KERNEL_BUFFER);
        let is_v6 = socket.local_addr()?.is_ipv6();
        let io = UdpSocket::from_std(socket)?;
        let buffers = (0..BATCH_SIZE).map(|_| vec![0; RECEIVE_ROOM].into_boxed_slice()).collect();
        Ok(Self { io, state, is_v6, buffers })
    }

    /// As [`Socket::bind`], beside something else at the same port. Where the port is the system's choice another one may be
    /// taken by what is not UDP: some are tried.
    pub(crate) fn bind_beside<T>(
        address: SocketAddr,
        mut other: impl FnMut(SocketAddr) -> io::Result<T>,
    ) -> io::Result<(Self, T)> {
        // They keep their ports until there is one that both can have.
        let mut tried = Vec::new();
        loop {
            let socket = Self::bind(address)?;
            match other(socket.local_addr()?) {
                Ok(other) => return Ok((socket, other)),
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                    tried.push(socket);
                    if address.port() != 0 || tried.len() == PORTS {
                        return Err(error);
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    pub(crate) fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.local_addr()
    }

    /// Most datagrams that can be sent at once.
    fn most(&self) -> usize {
        self.state.max_gso_segments()
    }

    /// Whether there is something to receive or, if the socket was `full`, room to send. Wakes the task
    /// when there is.
    pub(crate) fn poll_ready(&self, cx: &mut Context<'_>, full: bool) -> Poll<()> {
        let readable = self.io.poll_recv_ready(cx).is_ready();
        let writable = full && self.io.poll_send_ready(cx).is_ready();
        if readable || writable { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Receives what there is, up to one batch, and hands over each datagram with the mark in its IP
    /// header. Returns false when
    /// there was nothing.
    pub(crate) fn receive(&mut self, mut each: impl FnMut(Route, Ecn, &[u8])) -> bool {
        let mut metas = [RecvMeta::default(); BATCH_SIZE];
        let received = {
            let mut slices = self.buffers.iter_mut().map(|buffer| IoSliceMut::new(buffer));
            let mut slices: [IoSliceMut<'_>; BATCH_SIZE] =
                std::array::from_fn(|_| slices.next().expect("a buffer for each"));
            let (io, state) = (&self.io, &self.state);
            io.try_io(Interest::READABLE, || state.recv(io.into(), &mut slices, &mut metas))
        };
        // Errors of single datagrams, such as an ICMP answer to an earlier one, mean nothing here.
        let Ok(count) = received else { return false };
        for (meta, buffer) in metas[..count].iter().zip(&self.buffers) {
            let ecn = meta.ecn.map_or(Ecn::NotCapable, |ecn| Ecn::from_bits(ecn as u8));
            let address = SocketAddr::new(meta.addr.ip().to_canonical(), meta.addr.port());
            let local = meta.dst_ip.map(|ip| ip.to_canonical());
            let from = Route { address, local, outer: Outer::Udp };
            for datagram in buffer[..meta.len].chunks(meta.stride.max(1)) {
                each(from, ecn, datagram);
            }
        }
        true
    }

    /// Sends what waits, that which goes by TCP through `stream`. True when the socket is full before that is
    /// done.
    pub(crate) fn send_all(&self, outbox: &mut Outbox, mut stream: impl FnMut(&Train<'_>)) -> bool {
        let most = self.most();
        while let Some(train) = outbox.front(most) {
            let len = train.bytes.len();
            match train.route.outer {
                Outer::Tcp => stream(&train),
                Outer::Udp if !self.send(&train) => return true,
                Outer::Udp => {}
            }
            outbox.pop(len);
        }
        false
    }

    /// Sends what waits, and lets the kernel and routers cut it into fragments. True when the socket is full
    /// before that is done.
    pub(crate) fn send_all_fragmented(&self, outbox: &mut Outbox) -> bool {
        // One of the two is not of the socket's family; where the other fails datagrams stay whole.
        let _ = set_ip_mtu_discover(&self.io, Ipv4PathMtuDiscovery::DONT);
        let _ = set_ipv6_mtu_discover(&self.io, Ipv6PathMtuDiscovery::WANT);
        let full = self.send_all(outbox, |_| {});
        let _ = set_ip_mtu_discover(&self.io, Ipv4PathMtuDiscovery::PROBE);
        let _ = set_ipv6_mtu_discover(&self.io, Ipv6PathMtuDiscovery::PROBE);
        full
    }

    /// An address as the system wants to have it for this socket.
    const fn in_family(&self, ip: IpAddr) -> IpAddr {
        match ip {
            IpAddr::V4(ip) if self.is_v6 => IpAddr::V6(ip.to_ipv6_mapped()),
            ip => ip,
        }
    }

    /// Sends a train. False when there is no room for it now.
    fn send(&self, train: &Train<'_>) -> bool {
        let segment_size = (train.bytes.len() > train.each).then_some(train.each);
        let transmit = Transmit {
            destination: SocketAddr::new(
                self.in_family(train.route.address.ip()),
                train.route.address.port(),
            ),
            ecn: EcnCodepoint::from_bits(train.ecn.bits()),
            contents: train.bytes,
            segment_size,
            src_ip: train.route.local.map(|ip| self.in_family(ip)),
        };
        let (io, state) = (&self.io, &self.state);
        let sent = io.try_io(Interest::WRITABLE, || state.try_send(io.into(), &transmit));
        // A datagram that cannot be sent is as good as lost.
        !matches!(sent, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    async fn send(socket: &Socket, to: Route) {
        let mut outbox = Outbox::default();
        outbox.push(to, Ecn::Capable0, |out| out.extend_from_slice(b"x"));
        while socket.send_all(&mut outbox, |_| {}) {
            poll_fn(|cx| socket.poll_ready(cx, true)).await;
        }
    }

    #[tokio::test]
    async fn a_port_of_the_systems_choice_is_one_that_both_can_have() {
        let any: SocketAddr = "127.0.0.1:0".parse().expect("an address");
        let bind = |address, free_after| {
            let mut asked = Vec::new();
            let bound = Socket::bind_beside(address, |local| {
                asked.push(local);
                let is_free = asked.len() > free_after;
                is_free.then_some(local).ok_or_else(|| io::ErrorKind::AddrInUse.into())
            });
            let bound = bound.map(|(socket, other)| (socket.local_addr().expect("one"), other));
            (bound.map_err(|error| error.kind()), asked)
        };
        let (bound, asked) = bind(any, 2);
        let (local, other) = bound.expect("a port");
        assert!(local == other && asked.len() == 3 && !asked[..2].contains(&local), "{asked:?}");
        assert_eq!(bind(local, 1), (Err(io::ErrorKind::AddrInUse), vec![local]), "no other one");
        let (bound, asked) = bind(any, usize::MAX);
        assert_eq!((bound, asked.len()), (Err(io::ErrorKind::AddrInUse), PORTS));
    }

    #[tokio::test]
    async fn a_socket_for_both_families_knows_addresses_of_ipv4_as_what_they_are() {
        let any: SocketAddr = "[::]:0".parse().expect("an address");
        let loopback: SocketAddr = "127.0.0.1:0".parse().expect("an address");
        let Ok(mut both) = Socket::bind(any) else { return };
        let mut v4 = Socket::bind(loopback).expect("a socket");
        let port = both.local_addr().expect("an address").port();
        send(&v4, Route::from(SocketAddr::new(loopback.ip(), port))).await;
        poll_fn(|cx| both.poll_ready(cx, false)).await;
        let mut heard = None;
        both.receive(|from, ecn, bytes| heard = Some((from, ecn, bytes.to_vec())));
        let (from, ecn, bytes) = heard.expect("a datagram");
        assert_eq!(from.address, v4.local_addr().expect("an address"));
        assert_eq!((from.local, ecn, &bytes[..]), (Some(loopback.ip()), Ecn::Capable0, &b"x"[..]));
        // And back, from that address.
        send(&both, from).await;
        poll_fn(|cx| v4.poll_ready(cx, false)).await;
        let mut answered = None;
        v4.receive(|from, ecn, _| answered = Some((from.address.port(), ecn)));
        assert_eq!(answered, Some((port, Ecn::Capable0)));
    }
}
