//! Proxies that split flows, and what lets their connections send, in a scenario file.

use bentpipe_units::{BitRate, ByteCount};
use schemars::JsonSchema;
use serde::Deserialize;

use super::protocol::ProtocolName;
use super::quantity::Quantity;
use super::sctp::SctpTable;
use super::tcp::TcpTable;
use super::xstp::XstpTable;

/// A proxy that ends connections and opens others that lead on. Flows that pass it name it in
/// `through`; each of them has connections of its own in it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProxyTable {
    /// Node where it stands.
    pub node: String,
    /// Bytes that it holds for each connection and direction, not acknowledged ones included
    /// [default: the buffers of its own ends of the two legs].
    pub buffer: Option<Quantity<ByteCount>>,
    /// Bytes that all connections of the proxy may hold together of what senders send: each as many as `threshold` times those
    /// that are free, and at most its `buffer` [default: each has its `buffer`].
    pub pool: Option<Quantity<ByteCount>>,
    /// How many times the free bytes of `pool` one connection may hold [default: 1].
    pub threshold: Option<f64>,
    /// Room that one acknowledgement makes is told to the other leg in steps of a segment.
    #[serde(default)]
    pub paced: bool,
    /// Acknowledges to the sender what the leg behind it has acknowledged and so many bytes more, if the
    /// leg before it is TCP; left out, everything is acknowledged that has come.
    pub spoof_window: Option<Quantity<ByteCount>>,
    /// Name of the scheduler that lets the leg behind it send; without one it sends when it may.
    pub scheduler: Option<String>,
    /// What runs on the leg behind it, towards the receiver.
    #[serde(default)]
    pub protocol: ProtocolName,
    /// Settings of XSTP at both ends of that leg.
    #[serde(default)]
    pub xstp: XstpTable,
    /// Settings of XSTP at its receiving end where they differ.
    pub receiver: Option<XstpTable>,
    /// Settings of TCP at both ends of that leg.
    #[serde(default)]
    pub tcp: TcpTable,
    /// Settings of SCTP at both ends of that leg.
    #[serde(default)]
    pub sctp: SctpTable,
    /// Settings of SCTP at its receiving end where they differ.
    pub sctp_receiver: Option<SctpTable>,
}

/// What lets several connections of proxies send in turn, at one rate.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SchedulerTable {
    /// Rate of packets, all headers included.
    pub rate: Quantity<BitRate>,
    /// In what order, or by windows.
    #[serde(default, alias = "turns")]
    pub discipline: DisciplineName,
    /// Size of segments, for windows.
    pub segment: Option<Quantity<ByteCount>>,
}

/// In what order connections send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DisciplineName {
    /// One segment each, in turn.
    #[default]
    RoundRobin,
    /// Shares in proportion to the weights of flows.
    Weighted,
    /// No scheduler: windows that follow the use of the line (SaTPEP). The legs must be TCP.
    Satpep,
}
