//! What hosts say to each other about an association and its connections.

use bentpipe_tunnel::{Message, Packet, Parity as TunnelParity, Report};
use bentpipe_units::Span;
use bytes::{Buf, BufMut, Bytes, BytesMut};

use super::capacity::{CapacityProbe, CapacityReport};
use super::fragments::Fragment;
use super::number::{CONTROL, has_content, put_number, take_number};
use super::parity::{Parity, Received};
use super::path::{PathProbe, PathProbeAnswer};
use super::path_monitor::Multipath;

/// Bytes of a fragment besides what it carries.
pub(super) const FRAGMENT_HEADER: usize = 6;

const GONE: u8 = 1;
const REFUSED: u8 = 2;
const ECN_FEEDBACK: u8 = 3;
const MTU_PROBE: u8 = 4;
const MTU_PROBE_ANSWER: u8 = 5;
const FRAGMENT: u8 = 6;
const RECEIVED: u8 = 7;
const PROTECTS: u8 = 8;
const PARITY: u8 = 9;
const PATH_PROBE: u8 = 10;
const PATH_PROBE_ANSWER: u8 = 11;
/// Bits around the number of the path in use: what is done with several links.
const LOAD_BALANCE: u8 = 1;
const BOND: u8 = 0x80;
/// Bits above the number of a link: each byte costs there, and applications' datagrams take it only for what others do not
/// carry.
const METERED: u8 = 0x80;
const SPILLS: u8 = 0x40;
const TUNNEL_PACKET: u8 = 12;
const SHUTDOWN: u8 = 13;
const CHALLENGE: u8 = 14;
const CHALLENGE_ANSWER: u8 = 15;
const CAPACITY_PROBE: u8 = 16;
const CAPACITY_REPORT: u8 = 17;
const TUNNEL_PARITY: u8 = 18;
const TUNNEL_REPORT: u8 = 19;

/// Bytes in front of a message: the number of no connection, and which message it is.
pub(super) const MESSAGE_HEADER: usize = 2;

/// Whether it is of an application, so that its arrival or loss tells of the path, and it may be cut in two where it is too
/// long: messages about the association never are.
pub(super) fn carries_data(plain: &[u8]) -> bool {
    has_content(plain) || matches!(plain.get(1), Some(&(TUNNEL_PACKET | TUNNEL_PARITY)))
}

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Control {
    /// The connection of this number does not exist.
    Gone(u32),
    /// The connection of this number cannot be opened.
    Refused(u32),
    /// So many datagrams have come with a congestion mark.
    EcnFeedback(u32),
    /// A probe of the MTU that is so long, as what is sealed.
    MtuProbe(u16),
    /// A probe of the MTU of this length arrived.
    MtuProbeAnswer(u16),
    /// A fragment of something.
    Fragment(Fragment),
    /// So many datagrams have come.
    Received(Received),
    /// Parity will come over what is sent now.
    Protects,
    /// Parity over the datagrams before it.
    Parity(Parity),
    /// The host that monitors the paths says which ones to use.
    PathProbe(PathProbe),
    /// A probe came.
    PathProbeAnswer(PathProbeAnswer),
    /// Datagrams of applications, what brings back lost ones, or what came of them.
    Tunnel(Message),
    /// Who receives this where it was sent says so by the same path.
    Challenge(u64),
    /// A challenge came.
    ChallengeAnswer(u64),
    /// A datagram of a packet train.
    CapacityProbe(CapacityProbe),
    /// What arrived of a packet train.
    CapacityReport(CapacityReport),
    /// The host ends, and all connections with it.
    Shutdown,
}

impl Control {
    /// Appends the message with the number of no connection in front.
    pub(super) fn put(&self, out: &mut BytesMut) {
        let start = out.len();
        put_number(CONTROL, out);
        match self {
            Self::Gone(number) => {
                out.put_u8(GONE);
                put_number(*number, out);
            }
            Self::Refused(number) => {
                out.put_u8(REFUSED);
                put_number(*number, out);
            }
            Self::EcnFeedback(count) => {
                out.put_u8(ECN_FEEDBACK);
                out.put_u32(*count);
            }
            Self::MtuProbe(len) => {
                out.put_u8(MTU_PROBE);
                out.resize(start + usize::from(*len), 0);
            }
            Self::MtuProbeAnswer(len) => {
                out.put_u8(MTU_PROBE_ANSWER);
                out.put_u16(*len);
            }
            Self::Fragment(fragment) => {
                out.put_u8(FRAGMENT);
                out.put_u32(fragment.id << 1 | u32::from(fragment.second));
                out.extend_from_slice(&fragment.bytes);
            }
            Self::Received(received) => {
                out.put_u8(RECEIVED);
                out.put_u32(received.next);
                out.put_u32(received.count);
            }
            Self::Protects => out.put_u8(PROTECTS),
            Self::Parity(parity) => {
                out.put_u8(PARITY);
                out.put_u16(parity.of);
                out.put_u16(parity.count);
                out.put_u16(parity.index);
                out.put_u8(parity.slices);
                out.put_u64(parity.check);
                out.extend_from_slice(&parity.shards);
            }
            Self::PathProbe(probe) => {
                out.put_u8(PATH_PROBE);
                out.put_u8(probe.path);
                let metered = if probe.is_metered { METERED } else { 0 };
                out.put_u8(probe.link | metered | if probe.spills { SPILLS } else { 0 });
                out.put_u32(probe.serial);
                let multipath = match probe.multipath {
                    Multipath::Failover => 0,
                    Multipath::LoadBalance => LOAD_BALANCE,
                    Multipath::Bond => BOND,
                };
                out.put_u8(probe.main << 1 | multipath);
                out.put_u8(probe.up);
                let millis = probe.round_trip.as_nanos().div_ceil(1_000_000);
                out.put_u16(u16::try_from(millis).unwrap_or(u16::MAX));
            }
            Self::PathProbeAnswer(answer) => {
                out.put_u8(PATH_PROBE_ANSWER);
                out.put_u8(answer.path);
                out.put_u32(answer.serial);
                out.put_u8(answer.main);
            }
            Self::Tunnel(Message::Packet(packet)) => {
                out.put_u8(TUNNEL_PACKET);
                packet.put(out);
            }
            Self::Tunnel(Message::Parity(parity)) => {
                out.put_u8(TUNNEL_PARITY);
                parity.put(out);
            }
            Self::Tunnel(Message::Report(report)) => {
                out.put_u8(TUNNEL_REPORT);
                report.put(out);
            }
            Self::Challenge(token) => {
                out.put_u8(CHALLENGE);
                out.put_u64(*token);
            }
            Self::ChallengeAnswer(token) => {
                out.put_u8(CHALLENGE_ANSWER);
                out.put_u64(*token);
            }
            Self::CapacityProbe(probe) => {
                out.put_u8(CAPACITY_PROBE);
                probe.put(start, out);
            }
            Self::CapacityReport(report) => {
                out.put_u8(CAPACITY_REPORT);
                report.put(out);
            }
            Self::Shutdown => out.put_u8(SHUTDOWN),
        }
    }

    /// Reads a message, behind the number of no connection; `None` when it is none that is known.
    pub(super) fn take(mut plain: Bytes) -> Option<Self> {
        let before = u16::try_from(plain.len()).unwrap_or(u16::MAX).saturating_add(1);
        let number = |plain: &[u8]| take_number(plain).map(|(number, _)| number);
        Some(match plain.try_get_u8().ok()? {
            GONE => Self::Gone(number(&plain)?),
            REFUSED => Self::Refused(number(&plain)?),
            ECN_FEEDBACK => Self::EcnFeedback(plain.try_get_u32().ok()?),
            MTU_PROBE => Self::MtuProbe(before),
            MTU_PROBE_ANSWER => Self::MtuProbeAnswer(plain.try_get_u16().ok()?),
            FRAGMENT => {
                let what = plain.try_get_u32().ok()?;
                Self::Fragment(Fragment { id: what >> 1, second: what & 1 == 1, bytes: plain })
            }
            RECEIVED => Self::Received(Received {
                next: plain.try_get_u32().ok()?,
                count: plain.try_get_u32().ok()?,
            }),
            PROTECTS => Self::Protects,
            PARITY => Self::Parity(Parity {
                of: plain.try_get_u16().ok()?,
                count: plain.try_get_u16().ok()?,
                index: plain.try_get_u16().ok()?,
                slices: plain.try_get_u8().ok()?,
                check: plain.try_get_u64().ok()?,
                shards: plain,
            }),
            PATH_PROBE => {
                let (path, link) = (plain.try_get_u8().ok()?, plain.try_get_u8().ok()?);
                let serial = plain.try_get_u32().ok()?;
                let (which, up) = (plain.try_get_u8().ok()?, plain.try_get_u8().ok()?);
                let (is_metered, spills) = (link & METERED != 0, link & SPILLS != 0);
                let link = link & !(METERED | SPILLS);
                let main = (which & !BOND) >> 1;
                let multipath = match which & (BOND | LOAD_BALANCE) {
                    0 => Multipath::Failover,
                    LOAD_BALANCE => Multipath::LoadBalance,
                    _ => Multipath::Bond,
                };
                // Earlier versions tell none.
                let round_trip = Span::from_millis(plain.try_get_u16().unwrap_or(0).into());
                Self::PathProbe(PathProbe {
                    path,
                    link,
                    is_metered,
                    spills,
                    round_trip,
                    serial,
                    main,
                    up,
                    multipath,
                })
            }
            PATH_PROBE_ANSWER => Self::PathProbeAnswer(PathProbeAnswer {
                path: plain.try_get_u8().ok()?,
                serial: plain.try_get_u32().ok()?,
                main: plain.try_get_u8().ok()?,
            }),
            TUNNEL_PACKET => Self::Tunnel(Message::Packet(Packet::take(plain)?)),
            TUNNEL_PARITY => Self::Tunnel(Message::Parity(TunnelParity::take(plain)?)),
            TUNNEL_REPORT => Self::Tunnel(Message::Report(Report::take(plain)?)),
            CHALLENGE => Self::Challenge(plain.try_get_u64().ok()?),
            CHALLENGE_ANSWER => Self::ChallengeAnswer(plain.try_get_u64().ok()?),
            CAPACITY_PROBE => Self::CapacityProbe(CapacityProbe::take(before, plain)?),
            CAPACITY_REPORT => Self::CapacityReport(CapacityReport::take(plain)?),
            SHUTDOWN => Self::Shutdown,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use bentpipe_tunnel::Range;
    use bentpipe_units::Seq32;
    use bentpipe_wire::xstp::ReceiveTimestamp;

    use super::super::capacity::Arrival;
    use super::*;

    #[test]
    fn messages_are_read_as_they_were_written() {
        let fragment =
            Fragment { id: 0x5555_5555, second: true, bytes: Bytes::from_static(b"half") };
        let shards = Bytes::from_static(b"shards");
        let parity = Parity { of: 300, count: 9, index: 8, slices: 4, check: 1 << 60, shards };
        for message in [
            Control::Gone(300),
            Control::Refused(2),
            Control::EcnFeedback(7),
            Control::MtuProbe(1449),
            Control::MtuProbeAnswer(1472),
            Control::Fragment(fragment),
            Control::Received(Received { next: 70_000, count: 65_000 }),
            Control::Protects,
            Control::Parity(parity),
            Control::PathProbe(PathProbe {
                path: 3,
                link: 3,
                is_metered: true,
                spills: true,
                round_trip: Span::from_millis(600),
                serial: 1 << 31,
                main: 2,
                up: 0b1000_1101,
                multipath: Multipath::Bond,
            }),
            Control::Tunnel(Message::Packet(Packet {
                run: 1,
                seq: Seq32::new(2),
                hold: 900,
                body: Bytes::from_static(b"hello"),
            })),
            Control::Tunnel(Message::Parity(TunnelParity {
                run: 1,
                seq: Seq32::new(3),
                of: 1,
                count: 1,
                index: 0,
                shard: Bytes::from_static(b"shards"),
            })),
            Control::Tunnel(Message::Report(Report {
                run: 1,
                next: Seq32::new(4),
                held: 5,
                received_at: ReceiveTimestamp::from_ticks(6),
                missing: vec![Range { before: 2, count: 1 }],
            })),
            Control::Shutdown,
            Control::Challenge(1 << 63),
            Control::ChallengeAnswer(7),
            Control::PathProbeAnswer(PathProbeAnswer { path: 3, serial: 1 << 31, main: 2 }),
            Control::CapacityProbe(CapacityProbe { serial: 9, index: 23, count: 24, len: 1_449 }),
            Control::CapacityReport(CapacityReport {
                serial: 1 << 31,
                held: 70_000,
                received_at: ReceiveTimestamp::from_ticks(1 << 20),
                arrivals: vec![
                    Arrival { index: 1, after: 0 },
                    Arrival { index: 0, after: 1 << 20 },
                ],
            }),
        ] {
            let mut bytes = BytesMut::new();
            message.put(&mut bytes);
            if let Control::MtuProbe(len) = message {
                assert_eq!(bytes.len(), usize::from(len));
            }
            let mut bytes = bytes.freeze();
            let (number, len) = take_number(&bytes).expect("a number");
            assert_eq!(number, CONTROL);
            bytes.advance(len);
            assert_eq!(Control::take(bytes), Some(message));
        }
    }

    proptest! {
        #[test]
        fn anything_may_come(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let _ = Control::take(bytes.into());
        }
    }
}
