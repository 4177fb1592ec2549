//! Recordings over the echo of ICMP.

use std::io;
use std::net::{IpAddr, SocketAddr};

use etherparse::{
    IcmpEchoHeader, Icmpv4Header, Icmpv4Slice, Icmpv4Type, Icmpv6Header, Icmpv6Slice, Icmpv6Type,
    Ipv4HeaderSlice,
};
use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::UdpSocket;

use super::{LONGEST, Probes};

/// A socket whose datagrams are echoed.
#[derive(Debug)]
pub struct Echo {
    /// It has the calls of a socket of UDP, whatever is in its datagrams.
    socket: UdpSocket,
    to: IpAddr,
    /// Whether what comes has its IP header.
    is_raw: bool,
    /// What tells its echoes from those of others.
    id: u16,
}

impl Echo {
    /// One to this address: without privileges where the host allows it, otherwise raw.
    ///
    /// # Errors
    /// When the host allows neither (`PermissionDenied`), or there is no way there.
    pub fn to(to: IpAddr, id: u16) -> io::Result<Self> {
        let (domain, protocol) = match to {
            IpAddr::V4(_) => (Domain::IPV4, Protocol::ICMPV4),
            IpAddr::V6(_) => (Domain::IPV6, Protocol::ICMPV6),
        };
        let (socket, is_raw) = match Socket::new(domain, Type::DGRAM, Some(protocol)) {
            Ok(socket) => (socket, false),
            Err(_) => {
                let raw = Socket::new(domain, Type::RAW, Some(protocol));
                let refused = |_| io::Error::from(io::ErrorKind::PermissionDenied);
                (raw.map_err(refused)?, true)
            }
        };
        socket.set_nonblocking(true)?;
        socket.connect(&SocketAddr::new(to, 0).into())?;
        Ok(Self { socket: UdpSocket::from_std(socket.into())?, to, is_raw, id })
    }

    /// What an echo carries, if this is one of ours.
    fn payload<'a>(&self, mut packet: &'a [u8]) -> Option<&'a [u8]> {
        let ours = |echo: IcmpEchoHeader| !self.is_raw || echo.id == self.id;
        if self.to.is_ipv6() {
            let slice = Icmpv6Slice::from_slice(packet).ok()?;
            return match slice.icmp_type() {
                Icmpv6Type::EchoReply(echo) if ours(echo) => Some(slice.payload()),
                _ => None,
            };
        }
        if self.is_raw {
            let header = Ipv4HeaderSlice::from_slice(packet).ok()?;
            packet = packet.get(header.slice().len()..)?;
        }
        let slice = Icmpv4Slice::from_slice(packet).ok()?;
        match slice.icmp_type() {
            Icmpv4Type::EchoReply(echo) if ours(echo) => Some(slice.payload()),
            _ => None,
        }
    }
}

impl Probes for Echo {
    async fn send(&self, datagram: &[u8]) -> io::Result<()> {
        // The number of the probe is in the datagram.
        let echo = IcmpEchoHeader { id: self.id, seq: 0 };
        let mut packet = if self.to.is_ipv6() {
            // The kernel knows the addresses, and so the checksum.
            Icmpv6Header::new(Icmpv6Type::EchoRequest(echo)).to_bytes().to_vec()
        } else {
            let request = Icmpv4Type::EchoRequest(echo);
            Icmpv4Header::with_checksum(request, datagram).to_bytes().to_vec()
        };
        packet.extend_from_slice(datagram);
        self.socket.send(&packet).await.map(drop)
    }

    async fn receive(&self, buffer: &mut Vec<u8>) -> io::Result<()> {
        loop {
            let mut packet = [0; LONGEST];
            let length = self.socket.recv(&mut packet).await?;
            if let Some(payload) = packet.get(..length).and_then(|packet| self.payload(packet)) {
                buffer.clear();
                buffer.extend_from_slice(payload);
                return Ok(());
            }
        }
    }
}
