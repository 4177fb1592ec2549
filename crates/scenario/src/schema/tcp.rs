//! The settings of TCP as a table of a scenario file.

use bentpipe_units::{ByteCount, Span};
use schemars::JsonSchema;
use serde::Deserialize;

use super::quantity::Quantity;
use super::settings::settings_table;

/// What the settings start from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Preset {
    /// A host with Linux 6; the controller is as Linux has it (`linux = 2` of CUBIC).
    #[default]
    Linux,
    /// What the RFCs say.
    Rfc,
    /// The agents of ns-2.35; the controller counts acknowledgements (`abc_limit = 0`) if it has that
    /// parameter.
    Ns2,
}

/// How losses are found and repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RecoveryName {
    /// Everything again from one segment on.
    Tahoe,
    /// One repair for each window.
    Reno,
    /// One repair for each acknowledgement; the first of them restarts the timer.
    Newreno,
    /// The same; each of them restarts the timer.
    NewrenoSteady,
    /// What the peer reports decides.
    Sack,
    /// The furthest report decides; the rate is halved, not stopped.
    Fack,
    /// Time decides: what left before something that arrived is lost (RFC 8985).
    Rack,
    /// AeroTCP: one duplicate on a path that keeps order.
    Aero,
    /// Zhou and Baras: the order of departures on a path that keeps order.
    DepartureOrder,
    /// SCPS-TP: what the receiver asks for, at once.
    Snack,
}

/// The congestion window of a new connection: segments, or the name of an RFC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a number of segments, \"rfc3390\" or \"rfc6928\"")]
pub enum InitialWindowValue {
    /// So many segments.
    Segments(u32),
    /// What an RFC says.
    Rfc(InitialWindowName),
}

/// How much longer than a round trip the timeout is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RtoMarginName {
    /// Four times the variation (RFC 6298).
    Rfc6298,
    /// As tcp_rtt_estimator of Linux.
    Linux,
}

/// What congestion marks mean to both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum EcnName {
    /// Nothing: packets are lost, not marked.
    Off,
    /// One reduction in a round trip (RFC 3168).
    Classic,
    /// Each mark is told (RFC 8257).
    Dctcp,
    /// The same, with ECT(1) (RFC 9331).
    L4s,
}

/// The same as a value. It was a truth before: whoever writes one is told what there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "\"off\", \"classic\", \"dctcp\" or \"l4s\"")]
pub enum EcnValue {
    /// One of the names.
    Name(EcnName),
}

/// The initial windows of the RFCs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum InitialWindowName {
    /// min(4 MSS, max(2 MSS, 4380 B)).
    Rfc3390,
    /// min(10 MSS, max(2 MSS, 14600 B)).
    Rfc6928,
}

settings_table! {
    /// Settings of TCP; what is missing has the preset's value.
    TcpTable, from Preset;

    /// How losses are found and repaired.
    recovery: RecoveryName;
    /// Largest segment in bytes of payload without options.
    mss: u16;
    /// Segments begin short, and longer ones are looked for.
    mtu_search: bool;
    /// The sender frees what the peer has reported, before it is acknowledged.
    release_reported: bool;
    /// The window field counts segments.
    window_in_segments: bool;
    /// Send buffer.
    snd_buf: Quantity<ByteCount>;
    /// Receive buffer.
    rcv_buf: Quantity<ByteCount>;
    /// The receive buffer begins with so much and grows to `rcv_buf` with what is read.
    rcv_buf_initial: Quantity<ByteCount>;
    /// Windows of more than 65,535 bytes.
    window_scaling: bool;
    /// The timestamps option, with PAWS.
    timestamps: bool;
    /// Selective acknowledgements.
    sack: bool;
    /// Reports of what came twice.
    dsack: bool;
    /// Explicit congestion notification: "off", "classic", "dctcp" or "l4s".
    ecn: EcnValue;
    /// Duplicate acknowledgements that show a loss.
    dup_threshold: u32;
    /// The first two duplicate acknowledgements let a new segment go.
    limited_transmit: bool;
    /// The window comes back after a loss that was none.
    undo: bool;
    /// A probe leaves after two round trips without an answer (RFC 8985).
    tail_loss_probe: bool;
    /// While losses are repaired the window is reduced in proportion to what arrives (RFC 6937).
    proportional_reduction: bool;
    /// Probes decide whether a loss is answered.
    probing: bool;
    /// Most segments that AeroTCP retransmits for one acknowledgement.
    aero_burst: u32;
    /// AeroTCP guesses the length of gaps.
    aero_adaptive: bool;
    /// Congestion window of a new connection: a number of segments, "rfc3390" or "rfc6928".
    initial_window: InitialWindowValue;
    /// Smallest congestion window in segments.
    cwnd_min: u32;
    /// Largest congestion window; that of the send buffer if it is missing.
    cwnd_max: Quantity<ByteCount>;
    /// After idle time the window starts over.
    idle_restart: bool;
    /// It is halved for each timeout that passed in place of starting over.
    idle_halving: bool;
    /// What leaves is spread over the round trip, as under Linux' `fq`.
    pacing: bool;
    /// Most segments sent for one acknowledgement or timer; 0 for no limit.
    max_burst: u32;
    /// A short segment waits until nothing is unacknowledged.
    nagle: bool;
    /// Retransmission timeout before the first sample.
    rto_initial: Quantity<Span>;
    /// Smallest retransmission timeout.
    rto_min: Quantity<Span>;
    /// Largest retransmission timeout.
    rto_max: Quantity<Span>;
    /// How much longer than a round trip the timeout is.
    rto_margin: RtoMarginName;
    /// Granularity of the clock that measures round trips.
    tick: Quantity<Span>;
    /// A sample of the round trip from each acknowledgement; off times one segment at a time.
    sample_every_ack: bool;
    /// Duplicates are samples, too, by their echo, as in ns-2's agent for Linux' controllers.
    sample_duplicates: bool;
    /// How often a SYN is retransmitted; -1 for ever.
    syn_retries: i64;
    /// Timeouts in a row before the connection is dropped; -1 for any number.
    retries: i64;
    /// Segments for which there is one acknowledgement.
    ack_every: u32;
    /// Longest delay of an acknowledgement.
    ack_delay: Quantity<Span>;
    /// So many acknowledgements in a round trip, whatever comes; 0 for `ack_every` and `ack_delay`.
    acks_per_rtt: u32;
    /// The first so many segments are acknowledged one by one.
    quick_acks: u32;
    /// A segment out of order is acknowledged at once.
    ack_disorder_at_once: bool;
    /// After three reports of the same hole the next ones wait for so long at most.
    compressed_acks: Quantity<Span>;
    /// Idle time before a keep-alive; zero for none.
    keepalive: Quantity<Span>;
    /// Time between keep-alives without an answer.
    keepalive_interval: Quantity<Span>;
    /// Keep-alives without an answer before the connection is dropped.
    keepalive_max: u32;
    /// Longest time between probes of a closed window.
    persist_max: Quantity<Span>;
    /// How long a closed connection answers late segments.
    time_wait: Quantity<Span>;
    /// Settings of the receiving end where they differ.
    receiver: Box<TcpTable>;
}
