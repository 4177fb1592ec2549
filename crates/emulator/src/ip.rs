//! IP packets of a bridge: what they show, and segments of TCP taken out of them and put into new ones.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::IpAddr;

use bentpipe_link::queue::{Cumulative, FlowKey};
use bentpipe_link::{Carried, Description};
use bentpipe_units::{ByteCount, Seq32};
use bentpipe_wire::tcp::{self, Flags};
use bentpipe_wire::{Ecn, Kind, PseudoHeader, Segment};
use bytes::{Bytes, BytesMut};
use etherparse::{
    IpDscp, IpEcn, IpNumber, Ipv4Header, Ipv4HeaderSlice, Ipv6FlowLabel, Ipv6Header, NetSlice,
    SlicedPacket, TcpSlice, TransportSlice,
};

use crate::bridge::Packet;

/// Hops that a packet may take that an agent sends.
const HOPS: u8 = 64;
/// The Lower Effort code point (RFC 8622).
const LOWER_EFFORT: u8 = 1;

/// Hosts, ECN field and code point of an IP header.
#[derive(Clone, Copy, Debug)]
struct Headers {
    hosts: PseudoHeader,
    traffic_class: u8,
    /// There is nothing but the fixed header.
    plain: bool,
}

impl Headers {
    fn of(net: &NetSlice<'_>) -> Option<Self> {
        let (source, destination, traffic_class, plain) = match net {
            NetSlice::Ipv4(ip) => {
                let header = ip.header();
                let class = header.dcp().value() << 2 | header.ecn().value();
                let plain = header.options().is_empty() && ip.extensions().is_empty();
                let (from, to) = (header.source_addr(), header.destination_addr());
                (from.into(), to.into(), class, plain)
            }
            NetSlice::Ipv6(ip) => {
                let header = ip.header();
                let plain = ip.extensions().first_header().is_none();
                let (from, to) = (header.source_addr(), header.destination_addr());
                (IpAddr::from(from), IpAddr::from(to), header.traffic_class(), plain)
            }
            NetSlice::Arp(_) => return None,
        };
        Some(Self { hosts: PseudoHeader { source, destination }, traffic_class, plain })
    }

    const fn ecn(&self) -> Ecn {
        Ecn::from_bits(self.traffic_class)
    }

    const fn low_priority(&self) -> bool {
        self.traffic_class >> 2 == LOWER_EFFORT
    }
}

impl Packet {
    /// The segment of TCP that it carries and its hosts. None when it carries another protocol, is a fragment or damaged, or has
    /// headers or options that would be lost if it were built again.
    pub(super) fn segment(&self) -> Option<(PseudoHeader, tcp::Segment)> {
        let sliced = SlicedPacket::from_ip(self.bytes()).ok()?;
        let headers = Headers::of(sliced.net.as_ref()?)?;
        let Some(TransportSlice::Tcp(segment)) = sliced.transport else { return None };
        if !headers.plain || segment.options_iterator().any(|option| option.is_err()) {
            return None;
        }
        let bytes = Bytes::copy_from_slice(segment.slice());
        let mut segment = tcp::decode(bytes, &headers.hosts).ok()?;
        segment.ecn = headers.ecn();
        segment.low_priority = headers.low_priority();
        Some((headers.hosts, segment))
    }

    /// A packet with a segment of TCP, from one host to another. None when it would be too long.
    pub(super) fn of_segment(hosts: &PseudoHeader, segment: &tcp::Segment) -> Option<Self> {
        let mut payload = BytesMut::new();
        tcp::encode(segment, hosts, &mut payload);
        let length = u16::try_from(payload.len()).ok()?;
        let dscp = if segment.low_priority { LOWER_EFFORT } else { 0 };
        let mut packet = Vec::with_capacity(Ipv6Header::LEN + payload.len());
        match (hosts.source, hosts.destination) {
            (IpAddr::V4(from), IpAddr::V4(to)) => {
                let (from, to) = (from.octets(), to.octets());
                let mut header = Ipv4Header::new(length, HOPS, IpNumber::TCP, from, to).ok()?;
                header.dont_fragment = true;
                header.dscp = IpDscp::try_new(dscp).ok()?;
                header.ecn = IpEcn::try_new(segment.ecn.bits()).ok()?;
                header.write(&mut packet).ok()?;
            }
            (IpAddr::V6(from), IpAddr::V6(to)) => Ipv6Header {
                traffic_class: dscp << 2 | segment.ecn.bits(),
                flow_label: Ipv6FlowLabel::ZERO,
                payload_length: length,
                next_header: IpNumber::TCP,
                hop_limit: HOPS,
                source: from.octets(),
                destination: to.octets(),
            }
            .write(&mut packet)
            .ok()?,
            _ => return None,
        }
        packet.extend_from_slice(&payload);
        Some(Self::new(&packet))
    }
}

/// What a segment is and acknowledges. One with data is known by its flags.
fn show_segment(hosts: &PseudoHeader, slice: &TcpSlice<'_>) -> (Kind, Option<Cumulative>) {
    let bare = tcp::Segment {
        flags: Flags::from_bits(slice.slice()[13]),
        payload: Bytes::from_static(b"."),
        ..tcp::Segment::default()
    };
    if !slice.payload().is_empty() {
        return (bare.kind(), None);
    }
    let bytes = Bytes::copy_from_slice(slice.slice());
    let Ok(segment) = tcp::decode(bytes, hosts) else { return (Kind::NONE, None) };
    let plain = slice.options_iterator().all(|option| option.is_ok());
    let segment = Segment::Tcp(segment);
    let ack = Cumulative::of(&segment).map(|ack| Cumulative { plain: ack.plain && plain, ..ack });
    (segment.kind(), ack)
}

impl Carried for Packet {
    fn describe(&self) -> Description {
        let bytes = ByteCount::new(self.bytes().len() as u64);
        let unknown = Description { bytes, ..Description::default() };
        let Ok(sliced) = SlicedPacket::from_ip(self.bytes()) else { return unknown };
        let Some(headers) = sliced.net.as_ref().and_then(Headers::of) else { return unknown };
        let PseudoHeader { source, destination } = headers.hosts;
        let (kind, ack, ports) = match &sliced.transport {
            Some(TransportSlice::Tcp(tcp)) => {
                let (kind, ack) = show_segment(&headers.hosts, tcp);
                (kind, ack, (tcp::PROTOCOL, tcp.source_port(), tcp.destination_port()))
            }
            Some(TransportSlice::Udp(udp)) => {
                (Kind::DATA, None, (IpNumber::UDP.0, udp.source_port(), udp.destination_port()))
            }
            _ => (Kind::NONE, None, (0, 0, 0)),
        };
        let kind = if headers.low_priority() { kind.with(Kind::LOW) } else { kind };
        let mut flow = DefaultHasher::new();
        (source, destination, ports).hash(&mut flow);
        Description { bytes, kind, ecn: headers.ecn(), flow: FlowKey(flow.finish()), ack }
    }

    fn mark(&mut self) {
        let packet = self.bytes_mut();
        match packet {
            [version, ..] if *version >> 4 == 4 => {
                let Ok(header) = Ipv4HeaderSlice::from_slice(packet) else { return };
                let mut header = header.to_header();
                header.ecn = IpEcn::THREE;
                let checksum = header.calc_header_checksum();
                packet[1] |= Ecn::Congestion.bits();
                packet[10..12].copy_from_slice(&checksum.to_be_bytes());
            }
            [version, class, ..] if *version >> 4 == 6 => *class |= Ecn::Congestion.bits() << 4,
            _ => {}
        }
    }

    fn copy_of_ack(&self, next: Seq32) -> Option<Self> {
        let (hosts, segment) = self.segment()?;
        Self::of_segment(&hosts, &tcp::Segment { ack: next, ..segment })
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_wire::tcp::{Options, SackBlock, Timestamps};
    use proptest::prelude::*;

    use super::*;

    fn hosts(v6: bool) -> PseudoHeader {
        let (source, destination) =
            if v6 { ("fd53::1", "fd53::2") } else { ("10.0.0.1", "10.0.0.2") };
        let parse = |text: &str| text.parse().expect("an address");
        PseudoHeader { source: parse(source), destination: parse(destination) }
    }

    fn segment(payload: &'static [u8]) -> tcp::Segment {
        tcp::Segment {
            source_port: 80,
            destination_port: 4000,
            seq: Seq32::new(7),
            ack: Seq32::new(99),
            flags: Flags::ACK,
            window: 500,
            timestamps: Some(Timestamps { value: 1, echo: 2 }),
            payload: Bytes::from_static(payload),
            ..tcp::Segment::default()
        }
    }

    fn packet(v6: bool, segment: &tcp::Segment) -> Packet {
        Packet::of_segment(&hosts(v6), segment).expect("a packet")
    }

    #[test]
    fn a_segment_comes_out_of_its_packet_as_it_went_in() {
        for v6 in [false, true] {
            for ecn in [Ecn::NotCapable, Ecn::Capable0, Ecn::Congestion] {
                let sent = tcp::Segment { ecn, low_priority: v6, ..segment(b"hello") };
                let (found, received) = packet(v6, &sent).segment().expect("a segment");
                assert_eq!((found, received), (hosts(v6), sent));
            }
        }
    }

    #[test]
    fn data_acknowledgments_and_openings_are_told_apart() {
        let shown = |segment: &tcp::Segment| {
            let shown = packet(false, segment).describe();
            (shown.kind, shown.ack)
        };
        assert_eq!(shown(&segment(b"x")), (Kind::DATA, None));
        let plain = Cumulative { next: Seq32::new(99), plain: true };
        assert_eq!(shown(&segment(b"")), (Kind::ACK, Some(plain)));
        let block = SackBlock { first: Seq32::new(200), end: Seq32::new(300) };
        let options = Options::Sack([block].into_iter().collect());
        let sack = tcp::Segment { options, timestamps: None, ..segment(b"") };
        assert_eq!(shown(&sack), (Kind::ACK, Some(Cumulative { plain: false, ..plain })));
        let syn = tcp::Segment { flags: Flags::SYN, ..segment(b"") };
        assert_eq!(shown(&syn), (Kind::BGN, None));
        let last = tcp::Segment { flags: Flags::ACK.with(Flags::FIN), ..segment(b"x") };
        assert_eq!(shown(&last), (Kind::DATA.with(Kind::END), None));
    }

    #[test]
    fn connections_and_their_directions_have_flows_of_their_own() {
        let flow = |segment: &tcp::Segment, v6| packet(v6, segment).describe().flow;
        let (one, other) = (segment(b"x"), tcp::Segment { source_port: 81, ..segment(b"x") });
        assert_eq!(flow(&one, false), flow(&segment(b"y"), false));
        assert_ne!(flow(&one, false), flow(&other, false));
        assert_ne!(flow(&one, false), flow(&one, true));
    }

    #[test]
    fn a_mark_leaves_a_packet_with_right_checksums() {
        for v6 in [false, true] {
            let capable = tcp::Segment { ecn: Ecn::Capable0, ..segment(b"hello") };
            let mut packet = packet(v6, &capable);
            packet.mark();
            assert_eq!(packet.describe().ecn, Ecn::Congestion);
            let (_, marked) = packet.segment().expect("a segment");
            assert_eq!(marked, tcp::Segment { ecn: Ecn::Congestion, ..capable });
            if !v6 {
                let header = Ipv4HeaderSlice::from_slice(packet.bytes()).expect("a header");
                let right = header.to_header().calc_header_checksum();
                assert_eq!(header.header_checksum(), right);
            }
        }
    }

    #[test]
    fn a_copy_of_an_acknowledgment_acknowledges_less() {
        let copy = packet(true, &segment(b"")).copy_of_ack(Seq32::new(50)).expect("a copy");
        let (_, copied) = copy.segment().expect("a segment");
        assert_eq!(copied, tcp::Segment { ack: Seq32::new(50), ..segment(b"") });
    }

    #[test]
    fn a_packet_that_cannot_be_built_again_is_not_taken_apart() {
        let mut damaged = packet(false, &segment(b"hello"));
        damaged.bytes_mut()[41] ^= 1;
        assert!(damaged.segment().is_none(), "its checksum is wrong");
        // An option of kind 30 is MPTCP's; the one after 20 + 20 bytes of headers is a timestamp's NOP.
        let mut multipath = packet(false, &tcp::Segment { timestamps: None, ..segment(b"") });
        let bytes = multipath.bytes().to_vec();
        assert_eq!(bytes.len(), 40);
        let mut long = bytes;
        long[3] += 4;
        long[32] = 6 << 4;
        long.extend([30, 4, 0, 0]);
        multipath = Packet::new(&long);
        assert!(multipath.segment().is_none());
        assert!(
            !multipath.describe().ack.is_some_and(|ack| ack.plain),
            "nor taken for all it says"
        );
    }

    #[test]
    fn what_is_too_short_for_a_header_is_not_marked() {
        let v4 = packet(false, &segment(b""));
        let v6 = packet(true, &segment(b""));
        for length in 0..20 {
            let mut short = Packet::new(&v4.bytes()[..length]);
            short.mark();
            assert_eq!(short.bytes(), &v4.bytes()[..length]);
        }
        for length in 0..2 {
            let mut short = Packet::new(&v6.bytes()[..length]);
            short.mark();
            assert_eq!(short.bytes(), &v6.bytes()[..length]);
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_described_and_marked_without_a_panic(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            let mut packet = Packet::new(&bytes);
            prop_assert_eq!(packet.describe().bytes.get(), bytes.len() as u64);
            packet.mark();
            let _ = packet.segment();
            let _ = packet.copy_of_ack(Seq32::new(1));
        }
    }
}
