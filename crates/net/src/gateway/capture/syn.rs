//! Requests to open TCP connections as IP packets, and what answers them if there will be no connection.

use std::net::{IpAddr, SocketAddr};

use etherparse::icmpv4::DestUnreachableHeader;
use etherparse::icmpv6::DestUnreachableCode;
use etherparse::{
    Icmpv4Type, Icmpv6Type, IpHeaders, Ipv4Header, NetSlice, PacketBuilder, PacketBuilderStep,
    SlicedPacket, TransportSlice,
};

use bentpipe_gateway::Verdict;

/// Hops that an answer may take: it comes from a host beside the client as far as anybody can see.
const HOPS: u8 = 64;
/// Bytes of a request that an ICMP message repeats at most, in IPv4 (RFC 1812, section 4.3.2.3) and IPv6 (RFC 4443,
/// section 3.1).
const REPEATED_V4: usize = 576 - 20 - 8;
const REPEATED_V6: usize = 1280 - 40 - 8;

/// A request to open a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::gateway) struct Syn {
    /// The client.
    pub(super) from: SocketAddr,
    /// Where it wants to go.
    pub(super) to: SocketAddr,
    /// The number behind all that it carries.
    next: u32,
    /// All of it.
    packet: Box<[u8]>,
}

impl Syn {
    /// The request that an IP packet is; `None` if it is something else.
    pub(in crate::gateway) fn parse(packet: &[u8]) -> Option<Self> {
        let sliced = SlicedPacket::from_ip(packet).ok()?;
        let Some(TransportSlice::Tcp(tcp)) = sliced.transport else { return None };
        if !tcp.syn() || tcp.ack() || tcp.rst() || tcp.fin() {
            return None;
        }
        let (from, to): (IpAddr, IpAddr) = match sliced.net? {
            NetSlice::Ipv4(ip) => {
                (ip.header().source_addr().into(), ip.header().destination_addr().into())
            }
            NetSlice::Ipv6(ip) => {
                (ip.header().source_addr().into(), ip.header().destination_addr().into())
            }
            NetSlice::Arp(_) => return None,
        };
        let data = tcp.payload().len() as u32;
        Some(Self {
            from: SocketAddr::new(from, tcp.source_port()),
            to: SocketAddr::new(to, tcp.destination_port()),
            next: tcp.sequence_number().wrapping_add(1).wrapping_add(data),
            packet: packet.into(),
        })
    }

    /// The packet that it came as.
    pub(super) fn packet(&self) -> &[u8] {
        &self.packet
    }

    /// What tells the client that this became of it; `None` where it would hear nothing, and ask again.
    pub(in crate::gateway) fn answer(&self, verdict: Verdict) -> Option<Vec<u8>> {
        use DestUnreachableCode as V6;
        use DestUnreachableHeader as V4;
        match verdict {
            Verdict::Refused => self.reset(),
            Verdict::Unreachable | Verdict::UnknownName => self.unreachable(V4::Host, V6::Address),
            Verdict::Forbidden => self.unreachable(V4::FilterProhibited, V6::Prohibited),
            Verdict::Connected | Verdict::TimedOut | Verdict::Busy => None,
        }
    }

    /// The headers of a packet to the client, in the name of whom it asked.
    fn back(&self) -> Option<PacketBuilderStep<IpHeaders>> {
        match (self.to.ip(), self.from.ip()) {
            (IpAddr::V4(to), IpAddr::V4(from)) => {
                Some(PacketBuilder::ipv4(to.octets(), from.octets(), HOPS))
            }
            (IpAddr::V6(to), IpAddr::V6(from)) => {
                Some(PacketBuilder::ipv6(to.octets(), from.octets(), HOPS))
            }
            _ => None,
        }
    }

    /// A reset (RFC 9293, section 3.10.7.1).
    fn reset(&self) -> Option<Vec<u8>> {
        let tcp = self.back()?.tcp(self.to.port(), self.from.port(), 0, 0).rst().ack(self.next);
        let mut bytes = Vec::with_capacity(tcp.size(0));
        tcp.write(&mut bytes, &[]).ok()?;
        Some(bytes)
    }

    /// An ICMP message with this code, or with that one over IPv6.
    fn unreachable(&self, v4: DestUnreachableHeader, v6: DestUnreachableCode) -> Option<Vec<u8>> {
        let is_v4 = self.from.is_ipv4();
        let most = if is_v4 { REPEATED_V4 } else { REPEATED_V6 };
        let repeated = &self.packet[..self.packet.len().min(most)];
        let mut bytes = Vec::with_capacity(Ipv4Header::MAX_LEN + 8 + repeated.len());
        let written = if is_v4 {
            self.back()?.icmpv4(Icmpv4Type::DestinationUnreachable(v4)).write(&mut bytes, repeated)
        } else {
            self.back()?.icmpv6(Icmpv6Type::DestinationUnreachable(v6)).write(&mut bytes, repeated)
        };
        written.ok()?;
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A request of a client, with data or without.
    fn request(v6: bool, data: &[u8]) -> Vec<u8> {
        let ip = if v6 {
            PacketBuilder::ipv6([1; 16], [2; 16], 60)
        } else {
            PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 60)
        };
        let mut bytes = Vec::new();
        ip.tcp(4000, 80, u32::MAX, 1000).syn().write(&mut bytes, data).expect("room");
        bytes
    }

    #[test]
    fn a_reset_acknowledges_the_request_and_comes_from_whom_it_was_for() {
        for v6 in [false, true] {
            let syn = Syn::parse(&request(v6, b"four")).expect("a request");
            let bytes = syn.answer(Verdict::Refused).expect("an answer");
            let answer = SlicedPacket::from_ip(&bytes).expect("a packet");
            let Some(TransportSlice::Tcp(tcp)) = answer.transport else { panic!("{bytes:?}") };
            assert!(tcp.rst() && tcp.ack() && !tcp.syn());
            assert_eq!((tcp.source_port(), tcp.destination_port()), (80, 4000));
            assert_eq!(tcp.acknowledgment_number(), 4);
            let back = |ip: IpAddr| {
                if v6 { ip == IpAddr::from([2; 16]) } else { ip == IpAddr::from([10, 0, 0, 2]) }
            };
            assert!(back(syn.to.ip()));
        }
    }

    #[test]
    fn what_can_not_be_reached_is_told_by_an_icmp_message_that_repeats_the_request() {
        for (v6, code, forbidden) in [(false, 1, 13), (true, 3, 1)] {
            let packet = request(v6, b"");
            let syn = Syn::parse(&packet).expect("a request");
            for (verdict, code) in [(Verdict::Unreachable, code), (Verdict::Forbidden, forbidden)] {
                let bytes = syn.answer(verdict).expect("an answer");
                let answer = SlicedPacket::from_ip(&bytes).expect("a packet");
                let (found, repeated) = match &answer.transport {
                    Some(TransportSlice::Icmpv4(icmp)) => (icmp.code_u8(), icmp.payload()),
                    Some(TransportSlice::Icmpv6(icmp)) => (icmp.code_u8(), icmp.payload()),
                    other => panic!("{other:?}"),
                };
                assert_eq!((found, repeated), (code, &packet[..]), "{verdict}");
            }
        }
    }

    #[test]
    fn where_a_client_would_hear_nothing_it_hears_nothing() {
        let syn = Syn::parse(&request(false, b"")).expect("a request");
        for verdict in [Verdict::TimedOut, Verdict::Busy, Verdict::Connected] {
            assert_eq!(syn.answer(verdict), None);
        }
    }

    #[test]
    fn only_a_request_is_one() {
        let mut bytes = Vec::new();
        let tcp = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 60).tcp(4000, 80, 0, 1000);
        tcp.syn().ack(7).write(&mut bytes, &[]).expect("room");
        assert_eq!(Syn::parse(&bytes), None);
    }

    proptest! {
        #[test]
        fn anything_may_come(bytes in prop::collection::vec(any::<u8>(), 0..200), v6 in any::<bool>(), at in 0usize..60) {
            let _ = Syn::parse(&bytes);
            let mut nearly = request(v6, &bytes);
            let at = at % nearly.len();
            nearly[at] = nearly[at].wrapping_add(bytes.first().copied().unwrap_or(1));
            if let Some(syn) = Syn::parse(&nearly) {
                for verdict in [Verdict::Refused, Verdict::Unreachable, Verdict::Forbidden] {
                    prop_assert!(syn.answer(verdict).is_some());
                }
            }
        }
    }
}
