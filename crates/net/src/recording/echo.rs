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
    form: Form,
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
        let (socket, raw) = match Socket::new(domain, Type::DGRAM, Some(protocol)) {
            Ok(socket) => (socket, false),
            Err(_) => {
                let raw = Socket::new(domain, Type::RAW, Some(protocol));
                let refused = |_| io::Error::from(io::ErrorKind::PermissionDenied);
                (raw.map_err(refused)?, true)
            }
        };
        socket.set_nonblocking(true)?;
        socket.connect(&SocketAddr::new(to, 0).into())?;
        let form = Form { v6: to.is_ipv6(), raw, id };
        Ok(Self { socket: UdpSocket::from_std(socket.into())?, form })
    }
}

/// How a host hands over what was echoed.
#[derive(Clone, Copy, Debug)]
struct Form {
    v6: bool,
    /// What comes has its IP header, over IPv4.
    raw: bool,
    /// What tells our echoes from those of others, which a raw socket hears as well.
    id: u16,
}

impl Form {
    /// What an echo carries, if this is one of ours.
    fn payload(self, mut packet: &[u8]) -> Option<&[u8]> {
        let ours = |echo: IcmpEchoHeader| !self.raw || echo.id == self.id;
        if self.v6 {
            let slice = Icmpv6Slice::from_slice(packet).ok()?;
            return match slice.icmp_type() {
                Icmpv6Type::EchoReply(echo) if ours(echo) => Some(slice.payload()),
                _ => None,
            };
        }
        if self.raw {
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
        let echo = IcmpEchoHeader { id: self.form.id, seq: 0 };
        let mut packet = if self.form.v6 {
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
        let mut packet = vec![0; LONGEST];
        loop {
            let length = self.socket.recv(&mut packet).await?;
            if let Some(payload) = packet.get(..length).and_then(|packet| self.form.payload(packet))
            {
                buffer.clear();
                buffer.extend_from_slice(payload);
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use etherparse::{IpNumber, Ipv4Header};

    use super::*;

    fn reply(id: u16) -> Vec<u8> {
        let echo = Icmpv4Type::EchoReply(IcmpEchoHeader { id, seq: 3 });
        [&Icmpv4Header::with_checksum(echo, b"probe").to_bytes()[..], b"probe"].concat()
    }

    fn with_ip_header(packet: &[u8]) -> Vec<u8> {
        let addresses = ([10, 0, 0, 2], [10, 0, 0, 1]);
        let length = packet.len() as u16;
        let ip = Ipv4Header::new(length, 64, IpNumber::ICMP, addresses.0, addresses.1);
        [&ip.expect("a short packet").to_bytes()[..], packet].concat()
    }

    #[test]
    fn what_was_echoed_is_found_behind_its_headers() {
        let form = Form { v6: false, raw: false, id: 7 };
        assert_eq!(form.payload(&reply(9)), Some(&b"probe"[..]), "the kernel chose the id");
        let raw = Form { raw: true, ..form };
        assert_eq!(raw.payload(&with_ip_header(&reply(7))), Some(&b"probe"[..]));
        let echo = Icmpv6Type::EchoReply(IcmpEchoHeader { id: 7, seq: 3 });
        let packet = [&Icmpv6Header::new(echo).to_bytes()[..], b"probe"].concat();
        assert_eq!(Form { v6: true, ..raw }.payload(&packet), Some(&b"probe"[..]));
    }

    #[test]
    fn echoes_of_others_and_what_is_no_reply_are_left_alone() {
        let raw = Form { v6: false, raw: true, id: 7 };
        assert_eq!(raw.payload(&with_ip_header(&reply(8))), None);
        let request = Icmpv4Type::EchoRequest(IcmpEchoHeader { id: 7, seq: 3 });
        let request = Icmpv4Header::with_checksum(request, b"probe").to_bytes();
        assert_eq!(raw.payload(&with_ip_header(&request)), None);
        let whole = with_ip_header(&reply(7));
        for length in 0..28 {
            assert_eq!(raw.payload(&whole[..length]), None, "{length} bytes");
        }
    }
}
