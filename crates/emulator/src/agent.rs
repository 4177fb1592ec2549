//! Agents of the simulator beside real packets.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv6Addr};

use bentpipe_link::{Emission, PathAgent, Side};
use bentpipe_pep::{Address, Agent, Direction, Ends, Verdict};
use bentpipe_units::Instant;
use bentpipe_wire::PseudoHeader;

use crate::bridge::Packet;

/// An agent that is shown the segments of TCP in IP packets. Whatever it cannot be shown, fragments and packets with options
/// that are not known here, passes as if there were no agent.
#[derive(Debug)]
pub struct TcpAgent {
    agent: Box<dyn Agent>,
    sent: VecDeque<Emission<Packet>>,
    /// What it sends, until it is packed.
    out: Vec<bentpipe_pep::Emission>,
}

/// An address as agents know it: that of IPv6, into which those of IPv4 are mapped.
fn number(address: IpAddr) -> Address {
    let address = match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    };
    Address(address.to_bits())
}

/// The address of a number.
fn address(Address(number): Address) -> IpAddr {
    Ipv6Addr::from_bits(number).to_canonical()
}

fn ends(hosts: &PseudoHeader) -> Ends {
    Ends { from: number(hosts.source), to: number(hosts.destination) }
}

impl TcpAgent {
    /// This agent, shown the packets of a bridge.
    pub const fn new(agent: Box<dyn Agent>) -> Self {
        Self { agent, sent: VecDeque::new(), out: Vec::new() }
    }

    /// Makes packets of what the agent sends.
    fn pack(&mut self) {
        for bentpipe_pep::Emission { ends, direction, segment, first } in self.out.drain(..) {
            let hosts = PseudoHeader { source: address(ends.from), destination: address(ends.to) };
            let side = match direction {
                Direction::Out => Side::Out,
                Direction::In => Side::In,
            };
            // What came in a packet fits into one.
            let packet = Packet::of_segment(&hosts, &segment);
            self.sent.extend(packet.map(|packet| Emission { side, packet, first }));
        }
    }
}

impl PathAgent<Packet> for TcpAgent {
    fn handle_packet(&mut self, now: Instant, side: Side, packet: &mut Packet) -> bool {
        let Some((hosts, mut segment)) = packet.segment() else { return true };
        let direction = match side {
            Side::Out => Direction::Out,
            Side::In => Direction::In,
        };
        let before = segment.clone();
        let shown = bentpipe_pep::Packet { ends: ends(&hosts), direction, segment: &mut segment };
        let verdict = self.agent.handle_packet(now, shown, &mut self.out);
        self.pack();
        if segment != before
            && let Some(changed) = Packet::of_segment(&hosts, &segment)
        {
            *packet = changed;
        }
        verdict == Verdict::Forward
    }

    fn handle_drop(&mut self, now: Instant, packet: &Packet) {
        if let Some((hosts, segment)) = packet.segment() {
            self.agent.handle_drop(now, ends(&hosts), &segment);
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.agent.handle_timeout(now, &mut self.out);
        self.pack();
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.agent.poll_timeout()
    }

    fn poll_emission(&mut self) -> Option<Emission<Packet>> {
        self.sent.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_pep::snoop::{Config, Snoop};
    use bentpipe_units::{Seq32, Span};
    use bentpipe_wire::tcp::{Flags, Segment};
    use bytes::Bytes;

    use super::*;

    fn hosts() -> PseudoHeader {
        let parse = |text: &str| text.parse().expect("an address");
        PseudoHeader { source: parse("10.0.0.1"), destination: parse("10.0.0.2") }
    }

    fn data(n: u32) -> Packet {
        let segment = Segment {
            source_port: 80,
            destination_port: 4000,
            seq: Seq32::new(1000 * n),
            flags: Flags::ACK,
            payload: Bytes::from(vec![n as u8; 1000]),
            ..Segment::default()
        };
        Packet::of_segment(&hosts(), &segment).expect("a packet")
    }

    fn ack(n: u32) -> Packet {
        let PseudoHeader { source, destination } = hosts();
        let back = PseudoHeader { source: destination, destination: source };
        let segment = Segment {
            source_port: 4000,
            destination_port: 80,
            ack: Seq32::new(1000 * n),
            flags: Flags::ACK,
            window: 60_000,
            ..Segment::default()
        };
        Packet::of_segment(&back, &segment).expect("a packet")
    }

    #[test]
    fn addresses_become_numbers_and_back() {
        for text in ["10.53.0.1", "255.255.255.255", "fd53::1", "::1"] {
            let parsed: IpAddr = text.parse().expect("an address");
            assert_eq!(address(number(parsed)), parsed);
        }
    }

    #[test]
    fn snoop_repairs_what_a_link_lost_with_the_bytes_that_the_server_sent() {
        let mut agent = TcpAgent::new(Box::new(Snoop::new(Config::default())));
        let ms = |n| Instant::ZERO + Span::from_millis(n);
        for n in 1..=5 {
            assert!(agent.handle_packet(ms(0), Side::Out, &mut data(n)));
        }
        assert!(agent.handle_packet(ms(50), Side::In, &mut ack(2)), "1 has arrived");
        let passed = (0..3).filter(|_| agent.handle_packet(ms(60), Side::In, &mut ack(2))).count();
        assert_eq!(passed, 1, "of three duplicates the sender learns of the first");
        let repair = agent.poll_emission().expect("a repair");
        assert_eq!((repair.side, repair.first), (Side::Out, true));
        assert_eq!(repair.packet.bytes(), data(2).bytes());
        assert!(agent.poll_emission().is_none());
    }

    #[test]
    fn what_is_no_tcp_passes() {
        let mut agent = TcpAgent::new(Box::new(Snoop::new(Config::default())));
        let mut packet = Packet::new(&[0x45, 0, 0, 20]);
        assert!(agent.handle_packet(Instant::ZERO, Side::Out, &mut packet));
        assert_eq!(packet.bytes(), [0x45, 0, 0, 20]);
    }
}
