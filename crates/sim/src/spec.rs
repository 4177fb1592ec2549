//! What a run consists of.

use std::iter;
use std::mem;
use std::sync::Arc;

use bentpipe_association::Fec;
use bentpipe_link::mac::MacSpec;
use bentpipe_link::{Direction, HandoverSpec, ModelSpec};
use bentpipe_orbit::{Network, OrbitError};
use bentpipe_pep::scheduler::Discipline;
use bentpipe_pep::split;
use bentpipe_transport::{sctp, tcp, xstp};
use bentpipe_units::{BitRate, ByteCount, Instant, Span};
use bentpipe_wire::{Segment, radio, xstp as wire_xstp};

use crate::{AgentPlace, TrafficSpec};

/// Everything that happens in a run.
#[derive(Clone, Debug)]
pub struct RunSpec {
    /// Name of the scenario.
    pub name: String,
    /// Names of the nodes.
    pub nodes: Vec<String>,
    /// The links between them.
    pub links: Vec<LinkSpec>,
    /// Queues that hold the packets of links before they meet the link's models.
    pub macs: Vec<MacPlace>,
    /// What looks at packets that pass its node; there are none with a constellation.
    pub agents: Vec<AgentPlace>,
    /// The constellation that carries the flows, if one does: its stations are the nodes, in their order,
    /// and the links are cables between them.
    pub constellation: Option<SatelliteNetworkSpec>,
    /// What shares the lines of proxies among connections.
    pub schedulers: Vec<SchedulerSpec>,
    /// The gateways that carry flows of TCP, if there are some.
    pub gateways: Option<GatewaysSpec>,
    /// The flows over them.
    pub flows: Vec<FlowSpec>,
    /// Seed of every random draw.
    pub seed: u64,
    /// The run ends here at the latest.
    pub duration: Span,
    /// What carries XSTP on the links.
    pub encapsulation: Encapsulation,
    /// Packets carry bytes: each one is encoded, bit errors flip real bits, the checksum finds them.
    /// The record is the same as without.
    pub wire: bool,
}

/// A constellation and its stations, and what its links are like but for their delays.
///
/// The models keep packets in order; a delay among them is on top of that of the way.
#[derive(Clone, Debug)]
pub struct SatelliteNetworkSpec {
    /// The constellation, its stations and the cables between them, at the first check.
    pub network: Network,
    /// What happens between each station and its satellites, in the order of the stations.
    pub ground: Vec<GroundSpec>,
    /// What happens between satellites.
    pub isl: Vec<ModelSpec>,
    /// What a handover does to the links of a station that holds satellites.
    pub handover: HandoverSpec,
    /// A satellite sends to all stations of which [`GroundSpec::down`] begins with the same transmitter by one; otherwise by
    /// one for each station. A share of the rate that a handover leaves does not apply to one that is shared.
    pub shared_downlinks: bool,
}

/// What the links of a station to satellites are like but for their delays.
#[derive(Clone, Debug, Default)]
pub struct GroundSpec {
    /// What happens from the station up to a satellite.
    pub up: Vec<ModelSpec>,
    /// What happens from a satellite down to the station.
    pub down: Vec<ModelSpec>,
}

/// Name of the links between stations and satellites in records.
const GROUND: &str = "ground";
/// Name of the links between satellites in records.
const ISL: &str = "isl";
/// What satellites are called in records of links.
const SATELLITE: &str = "satellite";

impl RunSpec {
    /// The directions of links as records number them: the name of the link, where packets come from and
    /// where they go to. Those of all satellites count as one.
    pub fn directions(&self) -> Vec<[&str; 3]> {
        let mut directions = Vec::new();
        for link in &self.links {
            let [a, b] = link.ends.map(|end| self.nodes[end].as_str());
            directions.extend([[link.name.as_str(), a, b], [link.name.as_str(), b, a]]);
        }
        if self.constellation.is_some() {
            for station in &self.nodes {
                directions.push([GROUND, station, SATELLITE]);
                directions.push([GROUND, SATELLITE, station]);
            }
            directions.push([ISL, SATELLITE, SATELLITE]);
        }
        directions
    }
}

/// A link: two directions with models in series.
#[derive(Clone, Debug)]
pub struct LinkSpec {
    /// Name of the link.
    pub name: String,
    /// Indices of the nodes that it joins.
    pub ends: [usize; 2],
    /// What happens from the first end to the second.
    pub forward_link: Vec<ModelSpec>,
    /// What happens from the second end to the first.
    pub return_link: Vec<ModelSpec>,
    /// The longest packet that it carries either way; none for any. Of no effect with a constellation.
    pub mtu: Option<MtuSpec>,
    /// The ends of connections at its two nodes learn at once when a blackout of it begins or ends: they are told
    /// so if it is the first link on their way to the peer. Of no effect with a constellation.
    pub tells_state: bool,
    /// A queue before it tells senders of TCP of congestion by a message, in place of a mark on the packet (BECN). Of no
    /// effect with a constellation, and on packets of the node where the queue is.
    pub becn: bool,
}

/// The longest packet that a link carries, and what becomes of longer ones: nobody cuts packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MtuSpec {
    /// Bytes of the longest packet, encapsulation included.
    pub bytes: u16,
    /// The router before the link tells the sender of what it drops (RFC 1191, section 4).
    pub icmp: bool,
}

/// A station and where it stands.
#[derive(Clone, Debug)]
pub struct MacPlace {
    /// What it is.
    pub mac: MacSpec,
    /// The link and direction behind each of its lines; no direction of a link twice in a run.
    pub lines: Vec<(usize, Direction)>,
}

/// A connection and its traffic.
#[derive(Clone, Debug)]
pub struct FlowSpec {
    /// Name of the flow.
    pub name: String,
    /// Index of the node that opens the connection and sends.
    pub from: usize,
    /// Index of the node that receives.
    pub to: usize,
    /// What runs at both ends, or at both ends of the first leg if there are proxies.
    pub protocol: Protocol,
    /// The proxies that split it, in the order of the way from the sender.
    pub proxies: Vec<ProxySpec>,
    /// The nodes of the gateways that carry it, in the same order: the terminal is on the side of whoever opens the connection.
    /// Then there are no proxies.
    pub gateways: Option<[usize; 2]>,
    /// When it starts and what is sent.
    pub source: SourceSpec,
    /// What is sent where that is no single file: pieces, which come up by themselves. `size` and
    /// `rate` of the source have no meaning then. With [`Protocol::Udp`] it is packets at intervals, or
    /// bursts of them; without that nothing is sent.
    pub traffic: Option<TrafficSpec>,
    /// The receiver opens the connection and asks for what is sent with so many bytes; without it the
    /// sender opens and sends. Not with `traffic`.
    pub request: Option<ByteCount>,
    /// Queues that know classes drop its packets first.
    pub low_priority: bool,
}

impl FlowSpec {
    /// True when it has no connection.
    pub(crate) const fn is_datagrams(&self) -> bool {
        matches!(self.protocol, Protocol::Udp)
    }

    /// The two nodes of each path, the sender's first; that of `from` and `to` is path 0.
    pub(crate) fn paths(&self) -> impl Iterator<Item = [usize; 2]> {
        let more: &[[usize; 2]] = match &self.protocol {
            Protocol::Xstp { .. }
            | Protocol::Tcp { .. }
            | Protocol::Udp
            | Protocol::Bentpipe { .. } => &[],
            Protocol::Sctp { more_paths, .. } => more_paths,
        };
        iter::once(self.leg(0).0).chain(more.iter().copied())
    }

    /// The nodes and the protocol of a leg; that of the sender is number 0.
    pub(crate) fn leg(&self, number: usize) -> ([usize; 2], &Protocol) {
        if let Some([first, _]) = self.gateways {
            return ([self.from, first], &self.protocol);
        }
        let stop = |number: usize| self.proxies.get(number).map_or(self.to, |proxy| proxy.node);
        match number.checked_sub(1).and_then(|before| self.proxies.get(before)) {
            Some(proxy) => ([proxy.node, stop(number)], &proxy.protocol),
            None => ([self.from, stop(0)], &self.protocol),
        }
    }

    /// The nodes of all legs.
    pub(crate) fn legs(&self) -> impl Iterator<Item = [usize; 2]> {
        let behind = self.gateways.into_iter().flat_map(|[a, b]| [[a, b], [b, self.to]]);
        (0..=self.proxies.len()).map(|number| self.leg(number).0).chain(behind)
    }
}

/// A proxy on the path of a flow: a connection ends there, and another one leads on.
#[derive(Clone, Debug)]
pub struct ProxySpec {
    /// Name of the proxy.
    pub name: String,
    /// Index of the node where it stands; no other proxy of the flow is there.
    pub node: usize,
    /// What runs on the leg behind it.
    pub protocol: Protocol,
    /// How it carries bytes from one leg to the other.
    pub relay: split::Config,
    /// Memory that all connections of the proxy share, of what comes from senders; without it each has its own.
    pub pool: Option<split::Pool>,
    /// Index of the scheduler that lets the leg behind it send, and the weight there; without one the
    /// leg sends when it may.
    pub scheduler: Option<(usize, u32)>,
}

/// Two gateways, and what they know of the link between them.
#[derive(Clone, Debug, PartialEq)]
pub struct GatewaysSpec {
    /// The one on the side of clients.
    pub terminal: GatewaySpec,
    /// The one that connects to servers.
    pub hub: GatewaySpec,
    /// Congestion controller of the window that all flows share where nobody knows a rate [default: as in a gateway's
    /// configuration].
    pub controller: Option<String>,
    /// Parity over the end of what both send.
    pub fec: Fec,
    /// The terminal answers clients before the hub has connected.
    pub early_accept: bool,
    /// Most bytes of a flow that wait at either gateway [default: as in a gateway's configuration].
    pub buffer: Option<ByteCount>,
}

/// A gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GatewaySpec {
    /// Index of its node.
    pub node: usize,
    /// The rate at which it sends over a link that nobody shares; without one it finds out.
    pub rate: Option<BitRate>,
}

/// What lets several connections send in turn at one rate.
#[derive(Clone, Debug)]
pub struct SchedulerSpec {
    /// Name of the scheduler.
    pub name: String,
    /// Rate of packets, all headers included.
    pub rate: BitRate,
    /// How they share it.
    pub sharing: Sharing,
}

/// How connections share the line of a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// They send in turn.
    Turns(Discipline),
    /// Their windows follow the use of the line; segments have so many bytes.
    Windows(ByteCount),
}

/// A host gets or loses an address while its association is open, and tells its peer (RFC 5061).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressChange {
    /// When.
    pub at: Instant,
    /// The node that is an address of the host from now on; it is that of one path.
    pub add: Option<usize>,
    /// Data go to and from the new address first.
    pub set_primary: bool,
    /// The node that is no address of the host any more.
    pub delete: Option<usize>,
}

/// The protocol of a flow and its settings.
#[derive(Clone, Debug)]
pub enum Protocol {
    /// XSTP, or STP when probing is off.
    Xstp {
        /// Settings of the sending end.
        sender: Arc<xstp::Config>,
        /// Settings of the receiving end.
        receiver: Arc<xstp::Config>,
    },
    /// TCP.
    Tcp {
        /// Settings of the sending end.
        sender: Arc<tcp::Config>,
        /// Settings of the receiving end.
        receiver: Arc<tcp::Config>,
    },
    /// SCTP.
    Sctp {
        /// Settings of the sending end.
        sender: Arc<sctp::Config>,
        /// Settings of the receiving end.
        receiver: Arc<sctp::Config>,
        /// The other addresses of a host with several: for each further path the node of the sender and
        /// that of the receiver. Nodes are addresses: a host with two stands there as two, each with
        /// links of its own.
        more_paths: Vec<[usize; 2]>,
        /// Addresses that come and go, in the order of time. A path is there from the moment on that both its nodes are.
        address_changes: Vec<AddressChange>,
    },
    /// Datagrams, which nobody acknowledges: each piece of the traffic is one.
    Udp,
    /// What `bentpipe send` and the gateways use: XSTP inside an association of the two hosts. All flows between two nodes share
    /// one, which has the parity and the rates of the first of them.
    Bentpipe {
        /// Settings of the sending end.
        sender: Arc<xstp::Config>,
        /// Settings of the receiving end.
        receiver: Arc<xstp::Config>,
        /// Parity over the end of what is sent.
        fec: Fec,
        /// The rates that the sending and the receiving host keep to, where nobody else uses the links.
        rates: [Option<BitRate>; 2],
    },
}

impl Protocol {
    /// How many protocols there are.
    pub(crate) const COUNT: usize = 5;
    /// Number of TCP among them.
    pub(crate) const TCP: usize = 1;
    /// Number of SCTP.
    pub(crate) const SCTP: usize = 2;
    /// Number of the product's. Its segments are in datagrams, and never seen alone.
    pub(crate) const BENTPIPE: usize = 4;

    /// Number of the protocol, below [`Protocol::COUNT`].
    pub(crate) const fn index(&self) -> usize {
        match self {
            Self::Xstp { .. } => 0,
            Self::Tcp { .. } => Self::TCP,
            Self::Sctp { .. } => Self::SCTP,
            Self::Udp => 3,
            Self::Bentpipe { .. } => Self::BENTPIPE,
        }
    }

    /// Number of the protocol of a segment. ICMP counts as datagrams, which have no sessions either.
    #[inline]
    pub(crate) const fn index_of(segment: &Segment) -> usize {
        match segment {
            Segment::Xstp(_) => 0,
            Segment::Tcp(_) => Self::TCP,
            Segment::Sctp(_) => Self::SCTP,
            Segment::Udp(_) | Segment::Icmp(_) => 3,
        }
    }

    /// The same with the settings of the two ends exchanged: for a connection that its receiver opens.
    pub(crate) fn turned(&self) -> Self {
        let mut turned = self.clone();
        match &mut turned {
            Self::Xstp { sender, receiver } => mem::swap(sender, receiver),
            Self::Tcp { sender, receiver } => mem::swap(sender, receiver),
            Self::Sctp { sender, receiver, .. } => mem::swap(sender, receiver),
            Self::Udp => {}
            Self::Bentpipe { sender, receiver, rates, .. } => {
                mem::swap(sender, receiver);
                rates.reverse();
            }
        }
        turned
    }

    /// Name in records.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Xstp { .. } => "xstp",
            Self::Tcp { .. } => "tcp",
            Self::Sctp { .. } => "sctp",
            Self::Udp => "udp",
            Self::Bentpipe { .. } => "bentpipe",
        }
    }
}

/// A bulk transfer (the APP protocol of the paper, section 5).
#[derive(Clone, Copy, Debug)]
pub struct SourceSpec {
    /// When the connection is opened.
    pub start: Instant,
    /// Size of the file; `None` sends without end.
    pub size: Option<ByteCount>,
    /// Size of each write.
    pub chunk: ByteCount,
    /// Bytes of each write that are a header of the application's message and not of the file: fewer than `chunk`.
    pub message_header: ByteCount,
    /// Streaming rate; `None` writes whenever there is room.
    pub rate: Option<BitRate>,
}

impl SourceSpec {
    /// Bytes that the application writes for its file, the headers of its messages included; `None` without end.
    pub fn stream_size(&self) -> Option<ByteCount> {
        let body = (self.chunk - self.message_header).get().max(1);
        self.size.map(|size| size + self.message_header * size.get().div_ceil(body))
    }

    /// Bytes of the file among the first `bytes` of what the application writes.
    pub const fn file_bytes(&self, bytes: u64) -> u64 {
        let (chunk, header) = (self.chunk.get(), self.message_header.get());
        if header == 0 || chunk == 0 {
            return bytes;
        }
        bytes / chunk * (chunk - header) + (bytes % chunk).saturating_sub(header)
    }
}

/// What carries XSTP on a link, and what that costs in bytes for each packet. TCP, SCTP and UDP are
/// in IPv4, always.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Encapsulation {
    /// The paper's queue link protocol: segments are handed over as they are.
    #[default]
    Qlp,
    /// IPv4 with the segment's own protocol number, 253 for XSTP, 6 for TCP and 132 for
    /// SCTP: 20 bytes.
    Ip,
    /// UDP over IPv4, one segment in each datagram: 28 bytes.
    Udp,
    /// The packet radio of the XSTP paper: IPv4 with a source route, AX.25 and the byte of KISS, 77 bytes.
    Ax25,
    /// The same for XSTP with its header compressed: a byte that says which connection it is, and
    /// [`encode_compact`](bentpipe_wire::xstp::encode_compact). In wire mode and captures segments keep their usual form.
    Ax25Compact,
}

/// Bytes that say which connection a segment with a compressed header belongs to.
const CONNECTION: u64 = 1;

impl Encapsulation {
    /// Bytes on the link of a segment which is `plain` bytes long in its usual form.
    #[inline(always)]
    pub(crate) fn length(self, segment: &Segment, plain: usize) -> u32 {
        let carried = match segment {
            Segment::Xstp(segment) if self == Self::Ax25Compact => wire_xstp::compact_len(segment),
            _ => plain,
        };
        carried as u32 + self.of(segment).overhead().get() as u32
    }

    /// What carries this segment where this carries XSTP.
    #[inline]
    pub const fn of(self, segment: &Segment) -> Self {
        match segment {
            Segment::Xstp(_) => self,
            Segment::Tcp(_) | Segment::Sctp(_) | Segment::Udp(_) | Segment::Icmp(_) => Self::Ip,
        }
    }

    /// Bytes added to each segment.
    #[inline]
    pub const fn overhead(self) -> ByteCount {
        ByteCount::new(match self {
            Self::Qlp => 0,
            Self::Ip => 20,
            Self::Udp => 28,
            Self::Ax25 => radio::OVERHEAD as u64,
            Self::Ax25Compact => radio::OVERHEAD as u64 + CONNECTION,
        })
    }
}

/// A specification that cannot be built, or not be run to its end.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BuildError {
    /// No links lead from a flow's sender to its receiver.
    #[error("flow `{flow}`: no links lead from `{from}` to `{to}`")]
    NoRoute {
        /// The flow.
        flow: String,
        /// Its sender.
        from: String,
        /// Its receiver.
        to: String,
    },
    /// A satellite does not stay in orbit until the end of the run.
    #[error("constellation: {0}")]
    Orbit(#[from] OrbitError),
    /// Gateways that cannot be.
    #[error("gateway: {message}")]
    Gateway {
        /// Why not.
        message: String,
    },
    /// Datagrams come at intervals or in bursts.
    #[error("flow `{flow}`: datagrams are packets at intervals or bursts of them")]
    NoDatagrams {
        /// The flow.
        flow: String,
    },
    /// A flow's sender is its receiver.
    #[error("flow `{flow}`: `{node}` cannot send to itself")]
    ToItself {
        /// The flow.
        flow: String,
        /// The node.
        node: String,
    },
}
