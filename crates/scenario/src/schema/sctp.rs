//! The settings of SCTP as a table of a scenario file.

use bentpipe_units::{ByteCount, Span};
use schemars::JsonSchema;
use serde::Deserialize;

use super::quantity::Quantity;
use super::settings::settings_table;

/// What the settings start from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SctpPreset {
    /// RFC 9260.
    #[default]
    Default,
    /// The experiments of Fu, Atiquzzaman, Ivancic 2005.
    Paper,
}

/// Where retransmissions go when there is more than one path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RtxPolicyName {
    /// All to another path.
    AltAll,
    /// To another path after a timeout.
    AltTimeout,
    /// To the same path.
    Same,
}

/// What the congestion window counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CountingName {
    /// DATA chunks (RFC 9260).
    Chunks,
    /// Whole packets (RFC 2960).
    Packets,
}

settings_table! {
    /// Settings of SCTP; what is missing has the preset's value.
    SctpTable, from SctpPreset;

    /// Longest packet of a path in bytes, IP header included.
    mtu: u16;
    /// Streams that the bytes are laid on in turn; both ends must agree.
    streams: u16;
    /// User bytes of each message; without it as much as a packet holds.
    message: u32;
    /// Send buffer.
    snd_buf: Quantity<ByteCount>;
    /// Receive buffer.
    rcv_buf: Quantity<ByteCount>;
    /// A packet that is not full waits while something is unacknowledged.
    nagle: bool;
    /// Packets with DATA for each SACK.
    sack_every: u8;
    /// The first packet with DATA is acknowledged at once.
    sack_first: bool;
    /// Longest delay of a SACK.
    sack_delay: Quantity<Span>;
    /// Timeout before the first measurement.
    rto_init: Quantity<Span>;
    /// Smallest timeout.
    rto_min: Quantity<Span>;
    /// Largest timeout.
    rto_max: Quantity<Span>;
    /// Most full packets that an event sets free at once on a path; 0 for no limit.
    max_burst: u32;
    /// How long a state cookie is good.
    cookie_life: Quantity<Span>;
    /// Timeouts in a row that end the association.
    association_max_retrans: u32;
    /// Timeouts in a row that make a path inactive.
    path_max_retrans: u32;
    /// How often INIT and COOKIE ECHO are retransmitted.
    max_init_retransmits: u32;
    /// Time between HEARTBEATs of an idle path; zero for none.
    heartbeat: Quantity<Span>;
    /// Reports of a missing TSN that make it lost.
    missing_reports: u8;
    /// Where retransmissions go when there is more than one path.
    rtx_policy: RtxPolicyName;
    /// What the congestion window counts.
    counting: CountingName;
    /// Congestion window of a new path in full packets; without it the rule of RFC 9260.
    cwnd_init: u32;
    /// Use ECN if the peer does.
    ecn: bool;
    /// With ECN, a gap that no mark accompanies is taken for damage.
    ecn_discriminates: bool;
    /// Offer changes of addresses while the association is open.
    asconf: bool;
}
