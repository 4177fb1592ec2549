//! What a gateway is doing, at one moment.

use std::net::SocketAddr;
use std::sync::atomic::Ordering;

use bentpipe_record::TransportCounters;
use bentpipe_transport::SenderState;
use bentpipe_units::{BitRate, ByteCount, Instant, Span};
use serde::{Deserialize, Serialize};

use crate::compression::Compression;
use crate::counters::{Counters, load};
use crate::flows::Entry;
use crate::open::Verdict;
use crate::peer::Remote;
use crate::{Gateway, Network, Role, plain};
use bentpipe_association::endpoint::Outer;
use bentpipe_association::host::Host;

/// What a gateway is doing, at one moment. Its fields are written as numbers of the units in their names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Which end of the link it is.
    pub role: Role,
    /// Time since it began.
    #[serde(rename = "uptime_seconds", with = "plain")]
    pub uptime: Span,
    /// What it may send on a dedicated link, all headers included; `None` on a shared one.
    #[serde(rename = "link_rate_bits_per_second", with = "plain")]
    pub link_rate: Option<BitRate>,
    /// Flows and bytes since its start.
    pub totals: Totals,
    /// The links that have a cap.
    #[serde(default)]
    pub links: Vec<LinkStatus>,
    /// The remote gateways, by name.
    pub peers: Vec<PeerStatus>,
    /// The flows that are open, the oldest first.
    pub flows: Vec<FlowStatus>,
}

/// Counts of a gateway, since its start where nothing else is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Flows that are open now.
    pub open: u64,
    /// Flows that began.
    pub flows: u64,
    /// Flows that could not be connected.
    pub refused: u64,
    /// The same by their reasons.
    #[serde(default)]
    pub refused_by: Refusals,
    /// Flows that were cut off because the connection between the gateways failed.
    pub cut: u64,
    /// Bytes taken from TCP.
    #[serde(rename = "sent_bytes", with = "plain")]
    pub sent: ByteCount,
    /// Bytes given to TCP.
    #[serde(rename = "received_bytes", with = "plain")]
    pub received: ByteCount,
    /// Bytes that were compressed, of those taken from TCP.
    #[serde(default, rename = "compressed_from_bytes", with = "plain")]
    pub compressed_from: ByteCount,
    /// What they were compressed to.
    #[serde(default, rename = "compressed_to_bytes", with = "plain")]
    pub compressed_to: ByteCount,
}

/// Flows that could not be connected, by their reasons.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusals {
    /// The remote gateway does not allow it.
    pub denied_by_allow: u64,
    /// Nobody listens there.
    pub connection_refused: u64,
    /// There is no way there.
    pub host_unreachable: u64,
    /// Nobody answered.
    pub timed_out: u64,
    /// There is no such name.
    pub name_not_found: u64,
    /// All places were taken, or too many flows began at once.
    pub no_place: u64,
}

impl Refusals {
    fn of(counters: &Counters) -> Self {
        let of = |why: Verdict| counters.refused_by[why as usize].load(Ordering::Relaxed);
        Self {
            denied_by_allow: of(Verdict::Forbidden),
            connection_refused: of(Verdict::Refused),
            host_unreachable: of(Verdict::Unreachable),
            timed_out: of(Verdict::TimedOut),
            name_not_found: of(Verdict::UnknownName),
            no_place: of(Verdict::Busy),
        }
    }

    /// Each with its name.
    pub const fn named(&self) -> [(&'static str, u64); 6] {
        [
            ("denied_by_allow", self.denied_by_allow),
            ("connection_refused", self.connection_refused),
            ("host_unreachable", self.host_unreachable),
            ("timed_out", self.timed_out),
            ("name_not_found", self.name_not_found),
            ("no_place", self.no_place),
        ]
    }
}

/// A link of a gateway that has a cap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkStatus {
    /// Its number, from 1.
    pub link: usize,
    /// What it has carried in this calendar month, both directions, all headers included.
    #[serde(rename = "month_bytes", with = "plain")]
    pub carried: ByteCount,
    /// What it may carry in a month.
    #[serde(rename = "cap_bytes", with = "plain")]
    pub cap: ByteCount,
    /// Its cap is used up: it is not used before the next month.
    pub closed: bool,
}

/// A remote gateway.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PeerStatus {
    /// Its name in the configuration.
    pub name: String,
    /// Its UDP address, if it is known.
    pub address: Option<SocketAddr>,
    /// It answers.
    pub up: bool,
    /// The number of the link that leads to it now, from 1.
    #[serde(default)]
    pub link: usize,
    /// The outer transport that carries the datagrams to it now.
    #[serde(alias = "carrier")]
    pub outer: Outer,
    /// The smoothed round-trip time that a connection to it measured last.
    #[serde(rename = "srtt_seconds", with = "plain")]
    pub srtt: Option<Span>,
    /// The share of the datagrams sent to it that got lost of late, from 0 to 1, as it reports. The last
    /// four thousand datagrams count most.
    pub loss_ratio: Option<f64>,
    /// Connections inside the association, the one that holds it up among them.
    pub connections: usize,
    /// Bytes of its connections that wait to be sent, acknowledged or read.
    #[serde(rename = "held_bytes", with = "plain")]
    pub held: ByteCount,
    /// Rate that the path to it was found to carry while nobody used it, all headers included.
    #[serde(rename = "capacity_bits_per_second", with = "plain", default)]
    pub capacity: Option<BitRate>,
    /// What may be sent to it on a dedicated link.
    #[serde(rename = "rate_bits_per_second", with = "plain")]
    pub rate: Option<BitRate>,
    /// Its weight among the peers on a dedicated link.
    pub weight: Option<u32>,
    /// Data segments retransmitted to it since the association with it began.
    #[serde(default)]
    pub retransmitted_segments: u64,
    /// Header and payload bytes of them.
    #[serde(rename = "retransmitted_bytes", with = "plain", default)]
    pub retransmitted: ByteCount,
    /// Datagrams of parity sent to it since then.
    #[serde(default)]
    pub parity_datagrams: u64,
    /// Bytes of them, UDP payload.
    #[serde(rename = "parity_bytes", with = "plain", default)]
    pub parity: ByteCount,
    /// What was done for datagrams in the tunnel for UDP.
    #[serde(default)]
    pub tunnel: bentpipe_tunnel::Counters,
    /// Bytes of flows taken from TCP for it.
    #[serde(rename = "sent_bytes", with = "plain")]
    pub sent: ByteCount,
    /// Bytes of flows that came from it, given to TCP.
    #[serde(rename = "received_bytes", with = "plain")]
    pub received: ByteCount,
}

/// An open flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowStatus {
    /// Its number; those that began later have higher ones.
    pub number: u64,
    /// The client.
    pub client: SocketAddr,
    /// Where it leads, as HOST:PORT.
    pub destination: String,
    /// By which remote gateway.
    pub peer: String,
    /// It goes there without the remote gateway, which does not answer; the bytes are counted at its end then.
    pub direct: bool,
    /// Time since it began.
    #[serde(rename = "age_seconds", with = "plain")]
    pub age: Span,
    /// Bytes taken from TCP.
    #[serde(rename = "sent_bytes", with = "plain")]
    pub sent: ByteCount,
    /// Bytes given to TCP.
    #[serde(rename = "received_bytes", with = "plain")]
    pub received: ByteCount,
    /// The connection to the remote gateway, while there is one.
    pub connection: Option<ConnectionStatus>,
}

/// The sender of a connection between gateways.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionStatus {
    /// Smoothed round-trip time, once one was measured.
    #[serde(rename = "srtt_seconds", with = "plain")]
    pub srtt: Option<Span>,
    /// Congestion window; `None` if the controller has none.
    #[serde(rename = "cwnd_bytes", with = "plain")]
    pub cwnd: Option<ByteCount>,
    /// Bytes sent and not acknowledged.
    #[serde(rename = "in_flight_bytes", with = "plain")]
    pub in_flight: ByteCount,
    /// Data segments retransmitted.
    pub retransmitted_segments: u64,
    /// Header and payload bytes of data segments retransmitted.
    #[serde(rename = "retransmitted_bytes", with = "plain")]
    pub retransmitted: ByteCount,
}

impl Status {
    /// What a gateway is doing now.
    pub(crate) fn of<N: Network>(gateway: &Gateway<N>) -> Self {
        let flows = gateway.flows.open();
        let connections = gateway.host.look(flows.iter().map(|flow| flow.connection()));
        let now = gateway.host.now();
        let flows = flows.iter().zip(connections);
        let flows = flows.map(|(flow, seen)| flow_status(now, flow, seen));
        Self { flows: flows.collect(), ..Self::without_flows(gateway) }
    }

    /// The same without the flows, of which there may be many.
    pub(crate) fn without_flows<N: Network>(gateway: &Gateway<N>) -> Self {
        let Gateway { config, host, peers, began, .. } = gateway;
        Self {
            role: config.role,
            uptime: host.now().since(*began),
            link_rate: host.link_rate(),
            totals: Totals::of(&gateway.counters, &gateway.compression),
            links: gateway.meter.status(config.caps()),
            peers: peers.iter().map(|(name, peer)| PeerStatus::of(host, name, peer)).collect(),
            flows: Vec::new(),
        }
    }
}

impl Totals {
    fn of(counters: &Counters, compression: &Compression) -> Self {
        let [compressed_from, compressed_to] = compression.counts();
        Self {
            open: counters.open.load(Ordering::Relaxed),
            flows: counters.flows.load(Ordering::Relaxed),
            refused: counters.refused.load(Ordering::Relaxed),
            refused_by: Refusals::of(counters),
            cut: counters.cut.load(Ordering::Relaxed),
            sent: load(&counters.sent),
            received: load(&counters.received),
            compressed_from,
            compressed_to,
        }
    }
}

impl PeerStatus {
    fn of(host: &Host, name: &str, remote: &Remote) -> Self {
        let known = host.peer_state(remote.key);
        Self {
            name: name.to_owned(),
            address: known.address.or(remote.located.address()),
            up: remote.is_up.load(Ordering::Relaxed),
            link: known.link + 1,
            outer: known.outer,
            srtt: known.srtt,
            loss_ratio: known.loss,
            connections: known.connections,
            held: known.held,
            capacity: known.capacity,
            rate: known.share.map(|share| share.rate),
            weight: known.share.map(|share| share.weight),
            retransmitted_segments: known.recovery.retransmitted_segments,
            retransmitted: known.recovery.retransmitted,
            parity_datagrams: known.recovery.parity_datagrams,
            parity: known.recovery.parity,
            tunnel: known.tunnel,
            sent: load(&remote.traffic.sent),
            received: load(&remote.traffic.received),
        }
    }
}

type Seen = Option<(SenderState, TransportCounters)>;

fn flow_status(now: Instant, flow: &Entry, seen: Seen) -> FlowStatus {
    FlowStatus {
        number: flow.number,
        client: flow.client,
        destination: flow.destination.to_string(),
        peer: flow.peer.clone(),
        direct: flow.is_direct(),
        age: now.since(flow.began),
        sent: load(&flow.traffic.sent),
        received: load(&flow.traffic.received),
        connection: seen.map(|(sender, counters)| ConnectionStatus {
            srtt: sender.srtt,
            cwnd: sender.cwnd,
            in_flight: sender.in_flight,
            retransmitted_segments: counters.retransmitted_segments,
            retransmitted: ByteCount::new(counters.retransmitted_bytes),
        }),
    }
}

/// Statuses for tests.
#[doc(hidden)]
pub mod testing {
    use super::*;

    /// A peer of which little is known.
    pub fn peer(name: &str, up: bool) -> PeerStatus {
        PeerStatus {
            name: name.to_owned(),
            address: None,
            up,
            link: 1,
            outer: Outer::Udp,
            srtt: None,
            loss_ratio: None,
            connections: 0,
            held: ByteCount::ZERO,
            capacity: None,
            rate: None,
            weight: None,
            retransmitted_segments: 0,
            retransmitted: ByteCount::ZERO,
            parity_datagrams: 0,
            parity: ByteCount::ZERO,
            tunnel: bentpipe_tunnel::Counters::default(),
            sent: ByteCount::ZERO,
            received: ByteCount::ZERO,
        }
    }

    /// The status of a gateway with one flow.
    pub fn status(role: Role, peers: Vec<PeerStatus>) -> Status {
        let flow = FlowStatus {
            number: 1,
            client: SocketAddr::from(([192, 0, 2, 1], 4000)),
            destination: "example.org:80".to_owned(),
            peer: "sea".to_owned(),
            direct: false,
            age: Span::from_millis(1500),
            sent: ByteCount::new(10),
            received: ByteCount::new(20),
            connection: Some(ConnectionStatus {
                srtt: Some(Span::from_millis(600)),
                cwnd: None,
                in_flight: ByteCount::new(3),
                retransmitted_segments: 1,
                retransmitted: ByteCount::new(1400),
            }),
        };
        Status {
            role,
            uptime: Span::from_secs(5),
            link_rate: None,
            links: Vec::new(),
            totals: Totals { open: 1, flows: 1, ..Totals::default() },
            peers,
            flows: vec![flow],
        }
    }
}
