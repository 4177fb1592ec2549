//! Packets as bytes: encoding, real bit errors, the checksum.

use bentpipe_link::Stream;
use bentpipe_wire::xcp::Header;
use bentpipe_wire::{PseudoHeader, Segment, icmp, sctp, tcp, udp, xcp, xstp};
use bytes::{Bytes, BytesMut};

use crate::{Encapsulation, Envelope};

/// The pseudo header that the checksum of XSTP covers, if the encapsulation has one.
fn xstp_pseudo(envelope: &Envelope) -> Option<PseudoHeader> {
    let in_ip = match envelope.encapsulation {
        Encapsulation::Ip | Encapsulation::Ax25 | Encapsulation::Ax25Compact => true,
        Encapsulation::Qlp | Encapsulation::Udp => false,
    };
    in_ip.then(|| envelope.addresses())
}

/// The bytes of a segment, and of the congestion header before it if there is one.
pub(crate) fn encode(segment: &Segment, congestion: Option<&Header>, envelope: &Envelope) -> Bytes {
    let mut bytes = BytesMut::with_capacity(Header::LENGTH + segment.wire_len());
    if let Some(header) = congestion {
        header.encode(&mut bytes);
    }
    match segment {
        Segment::Xstp(segment) => {
            xstp::encode(segment, xstp_pseudo(envelope).as_ref(), &mut bytes);
        }
        Segment::Tcp(segment) => tcp::encode(segment, &envelope.addresses(), &mut bytes),
        Segment::Sctp(packet) => sctp::encode(packet, &mut bytes),
        Segment::Udp(datagram) => udp::encode(datagram, &envelope.addresses(), &mut bytes),
        Segment::Icmp(message) => icmp::encode(message, &mut bytes),
    }
    bytes.freeze()
}

/// The same bytes with another congestion header before the segment.
pub(crate) fn with_congestion(bytes: &Bytes, header: &Header) -> Bytes {
    let mut changed = BytesMut::with_capacity(bytes.len());
    header.encode(&mut changed);
    changed.extend_from_slice(bytes.get(Header::LENGTH..).unwrap_or_default());
    changed.freeze()
}

/// The segment of some bytes and its congestion header; `None` when the checksum or the syntax is wrong.
pub(crate) fn decode(mut bytes: Bytes, envelope: &Envelope) -> Option<(Segment, Option<Header>)> {
    if envelope.protocol != xcp::PROTOCOL {
        return Some((decode_segment(bytes, envelope)?, None));
    }
    let header = Header::decode(&bytes).ok()?;
    let envelope = Envelope { protocol: header.protocol, ..*envelope };
    let segment = decode_segment(bytes.split_off(Header::LENGTH), &envelope)?;
    Some((segment, Some(header)))
}

fn decode_segment(bytes: Bytes, envelope: &Envelope) -> Option<Segment> {
    match envelope.protocol {
        tcp::PROTOCOL => {
            let segment = tcp::decode(bytes, &envelope.addresses()).ok()?;
            let Envelope { ecn, low_priority, .. } = *envelope;
            Some(Segment::Tcp(tcp::Segment { ecn, low_priority, ..segment }))
        }
        sctp::PROTOCOL => {
            let packet = sctp::decode(bytes).ok()?;
            Some(Segment::Sctp(sctp::Packet { ecn: envelope.ecn, ..packet }))
        }
        udp::PROTOCOL => udp::decode(bytes, &envelope.addresses()).map(Segment::Udp).ok(),
        icmp::PROTOCOL => icmp::decode(bytes).map(Segment::Icmp).ok(),
        _ => xstp::decode(bytes, xstp_pseudo(envelope).as_ref()).map(Segment::Xstp).ok(),
    }
}

/// Flips bits of a packet that a link corrupted. A sixteen-bit checksum misses one pattern of errors
/// in 65,536, and a congestion header has none; such a pattern is drawn again, so that wire mode and typed
/// mode tell the same story.
pub(crate) fn corrupt(bytes: &Bytes, envelope: &Envelope, stream: &mut Stream) -> Bytes {
    loop {
        let mut flipped = BytesMut::from(&bytes[..]);
        // One wrong bit most of the time, now and then several.
        let count = 1 + stream.bits().trailing_ones();
        for _ in 0..count {
            let bit = stream.below(flipped.len() as u64 * 8);
            flipped[(bit / 8) as usize] ^= 1 << (bit % 8);
        }
        let flipped = flipped.freeze();
        if decode(flipped.clone(), envelope).is_none() {
            return flipped;
        }
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_link::Streams;
    use bentpipe_units::Span;
    use bentpipe_wire::Ecn;
    use bentpipe_wire::xcp::{RateChange, Request};

    use super::*;

    fn segments() -> [Segment; 5] {
        let marked = tcp::Segment {
            ecn: Ecn::Congestion,
            low_priority: true,
            window: 9,
            ..tcp::Segment::default()
        };
        let begin = xstp::Begin { mss: 1000, many_gaps: true, ts: 1, ts_echo: 0 };
        let xstp = xstp::Segment { body: xstp::Body::Begin(begin), ..xstp::Segment::default() };
        let chunks = [sctp::Chunk::CookieAck].into_iter().collect();
        let sctp = sctp::Packet { ecn: Ecn::Capable0, chunks, ..sctp::Packet::default() };
        let payload = Bytes::from_static(b"datagram");
        let udp = udp::Datagram { source_port: 7, destination_port: 8, payload };
        let packet = icmp::Quoted {
            source: [10, 0, 0, 1].into(),
            destination: [10, 0, 0, 2].into(),
            protocol: tcp::PROTOCOL,
            length: 1500,
            ports: (7, 8),
            number: 9,
        };
        let icmp = Segment::Icmp(icmp::Message { news: icmp::News::TooBig { mtu: 1000 }, packet });
        [Segment::Tcp(marked), Segment::Xstp(xstp), Segment::Sctp(sctp), Segment::Udp(udp), icmp]
    }

    #[test]
    fn segments_of_every_protocol_survive_as_bytes_under_every_encapsulation() {
        for segment in segments() {
            for how in [
                Encapsulation::Qlp,
                Encapsulation::Ip,
                Encapsulation::Udp,
                Encapsulation::Ax25,
                Encapsulation::Ax25Compact,
            ] {
                let envelope = Envelope::of(&segment, how, 3, 4);
                let bytes = encode(&segment, None, &envelope);
                assert_eq!(decode(bytes, &envelope), Some((segment.clone(), None)));
            }
        }
    }

    #[test]
    fn damage_is_found_in_every_protocol() {
        let mut stream = Streams::new(1).stream("flips");
        for segment in segments() {
            let envelope = Envelope::of(&segment, Encapsulation::Ip, 3, 4);
            let bytes = encode(&segment, None, &envelope);
            let damaged = corrupt(&bytes, &envelope, &mut stream);
            assert_ne!(damaged, bytes);
            assert_eq!(decode(damaged, &envelope), None);
        }
    }

    #[test]
    fn a_congestion_header_stands_before_its_segment_and_errors_hit_both() {
        let request = Request { rtt: Some(Span::from_millis(580)), ..Request::default() };
        let reverse_feedback = RateChange::from_bytes_per_sec(-7);
        let header = Header { protocol: tcp::PROTOCOL, request: Some(request), reverse_feedback };
        let header = header.in_steps();
        let [tcp, ..] = segments();
        let envelope = Envelope::of(&tcp, Encapsulation::Ip, 3, 4);
        let envelope = Envelope { protocol: xcp::PROTOCOL, ..envelope };
        let bytes = encode(&tcp, Some(&header), &envelope);
        assert_eq!(bytes.len(), Header::LENGTH + tcp.wire_len());
        assert_eq!(decode(bytes.clone(), &envelope), Some((tcp.clone(), Some(header))));
        let granted = Header { request: None, ..header };
        let changed = with_congestion(&bytes, &granted);
        assert_eq!(decode(changed, &envelope), Some((tcp, Some(granted))));
        let mut stream = Streams::new(1).stream("flips");
        let hit_the_header = (0..200).any(|_| {
            let damaged = corrupt(&bytes, &envelope, &mut stream);
            assert_eq!(decode(damaged.clone(), &envelope), None);
            damaged[..Header::LENGTH] != bytes[..Header::LENGTH]
        });
        assert!(hit_the_header);
    }

    #[test]
    fn all_but_xstp_are_in_ip_and_nothing_else_whatever_carries_xstp() {
        let [tcp, xstp, sctp, udp, _] = segments();
        for how in [Encapsulation::Qlp, Encapsulation::Ip, Encapsulation::Udp] {
            let envelope = Envelope::of(&tcp, how, 3, 4);
            assert_eq!((envelope.encapsulation, envelope.protocol), (Encapsulation::Ip, 6));
            let bytes = tcp.wire_len() as u64 + envelope.encapsulation.overhead().get();
            assert_eq!(bytes, 40);
            let envelope = Envelope::of(&sctp, how, 3, 4);
            assert_eq!((envelope.encapsulation, envelope.protocol), (Encapsulation::Ip, 132));
            let envelope = Envelope::of(&udp, how, 3, 4);
            assert_eq!((envelope.encapsulation, envelope.protocol), (Encapsulation::Ip, 17));
            let envelope = Envelope::of(&xstp, how, 3, 4);
            assert_eq!((envelope.encapsulation, envelope.protocol), (how, 253));
        }
    }
}
