//! Packet captures: every packet that enters a link, as a pcapng file.

use std::borrow::Cow;
use std::io::Write;
use std::time::Duration;

use bentpipe_units::Instant;
use bentpipe_wire::Ecn;
use etherparse::{IpDscp, IpEcn, IpHeaders, IpNumber, Ipv4Header, PacketBuilder};
use pcap_file::DataLink;
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};

use crate::envelope::{Envelope, address};
use crate::observer::PacketSeen;
use crate::{Encapsulation, RunSpec};

/// UDP port of XSTP.
const XSTP_PORT: u16 = 25_300;
const HOP_LIMIT: u8 = 64;
/// Nanoseconds.
const RESOLUTION: u8 = 9;

/// A capture that could not be written.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The file could not be written.
    #[error("cannot write the capture: {0}")]
    Write(String),
    /// There is no such link.
    #[error("there is no link `{0}` to capture")]
    NoSuchLink(String),
}

/// Writes packets to a pcapng file, one interface for each direction of each captured link.
///
/// Packets are there as they enter the link, also those that it will lose. XSTP on a queue link has
/// no network layer of its own and stands in UDP datagrams.
pub struct Capture<W: Write> {
    writer: PcapNgWriter<W>,
    /// Interface of each channel that is captured.
    interfaces: Vec<Option<u32>>,
    failed: Option<String>,
}

impl<W: Write> Capture<W> {
    /// A capture of the links called `only`, or of all if there are none.
    ///
    /// # Errors
    /// When the file cannot be written or a link does not exist.
    pub fn new(out: W, spec: &RunSpec, only: &[String]) -> Result<Self, CaptureError> {
        for name in only {
            if !spec.directions().iter().any(|[link, ..]| link == name) {
                return Err(CaptureError::NoSuchLink(name.clone()));
            }
        }
        let failed = |error: pcap_file::PcapError| CaptureError::Write(error.to_string());
        let mut writer = PcapNgWriter::new(out).map_err(failed)?;
        let mut interfaces = Vec::new();
        let mut count = 0;
        for [link, from, to] in spec.directions() {
            if !only.is_empty() && !only.iter().any(|name| name == link) {
                interfaces.push(None);
                continue;
            }
            let name = format!("{link}: {from} to {to}");
            let block = InterfaceDescriptionBlock {
                linktype: DataLink::RAW,
                snaplen: 0,
                options: vec![
                    InterfaceDescriptionOption::IfName(Cow::Owned(name)),
                    InterfaceDescriptionOption::IfTsResol(RESOLUTION),
                ],
            };
            writer.write_pcapng_block(block).map_err(failed)?;
            interfaces.push(Some(count));
            count += 1;
        }
        Ok(Self { writer, interfaces, failed: None })
    }

    /// Writes a packet that enters a channel.
    pub fn packet(&mut self, at: Instant, channel: usize, packet: &PacketSeen<'_>) {
        let Some(interface_id) = self.interfaces.get(channel).copied().flatten() else { return };
        let envelope = &packet.envelope;
        let ip = PacketBuilder::ip(IpHeaders::Ipv4(ip_header(envelope), Default::default()));
        let mut data = Vec::with_capacity(packet.bytes.len() + 28);
        let built = match envelope.encapsulation {
            Encapsulation::Ip | Encapsulation::Ax25 | Encapsulation::Ax25Compact => {
                ip.write(&mut data, IpNumber(envelope.protocol), packet.bytes)
            }
            Encapsulation::Qlp | Encapsulation::Udp => {
                ip.udp(XSTP_PORT, XSTP_PORT).write(&mut data, packet.bytes)
            }
        };
        if let Err(error) = built {
            self.failed.get_or_insert(error.to_string());
            return;
        }
        let block = EnhancedPacketBlock {
            interface_id,
            timestamp: Duration::from_nanos(at.as_nanos()),
            original_len: data.len() as u32,
            data: Cow::Owned(data),
            options: Vec::new(),
        };
        if let Err(error) = self.writer.write_pcapng_block(block) {
            self.failed.get_or_insert(error.to_string());
        }
    }

    /// Ends the capture.
    ///
    /// # Errors
    /// When some packet could not be written.
    pub fn finish(self) -> Result<W, CaptureError> {
        match self.failed {
            Some(error) => Err(CaptureError::Write(error)),
            None => Ok(self.writer.into_inner()),
        }
    }
}

/// The header around a segment, without what follows from its bytes.
fn ip_header(envelope: &Envelope) -> Ipv4Header {
    let dscp = if envelope.low_priority { IpDscp::LOWER_EFFORT } else { IpDscp::default() };
    Ipv4Header {
        dscp,
        ecn: match envelope.ecn {
            Ecn::NotCapable => IpEcn::NotEct,
            Ecn::Capable0 => IpEcn::Ect0,
            Ecn::Capable1 => IpEcn::Ect1,
            Ecn::Congestion => IpEcn::CongestionExperienced,
        },
        time_to_live: HOP_LIMIT,
        source: address(envelope.from).octets(),
        destination: address(envelope.to).octets(),
        ..Ipv4Header::default()
    }
}
