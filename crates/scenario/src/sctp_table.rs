//! The settings of SCTP as a table of a scenario file.

use bentpipe_cc::Registry;
use bentpipe_transport::sctp::{Config, ConfigError, Counting, RtxPolicy, View};
use bentpipe_units::{ByteCount, Span};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::protocol::Patience;
use crate::quantity::Quantity;
use crate::settings::{TableError, settings_table};

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
    SctpTable of Config, from SctpPreset;

    /// Longest packet of a path in bytes, IP header included.
    mtu: u16 => |c, v| c.mtu = v;
    /// Streams that the bytes are laid on in turn; both ends must agree.
    streams: u16 => |c, v| {
        c.view = View::Bytes { stripes: v };
        c.outbound_streams = c.outbound_streams.max(v);
    };
    /// User bytes of each message; without it as much as a packet holds.
    message: u32 => |c, v| c.message = Some(v);
    /// Send buffer.
    snd_buf: Quantity<ByteCount> => |c, v| c.snd_buf = v.0;
    /// Receive buffer.
    rcv_buf: Quantity<ByteCount> => |c, v| c.rcv_buf = v.0;
    /// A packet that is not full waits while something is unacknowledged.
    nagle: bool => |c, v| c.nagle = v;
    /// Packets with DATA for each SACK.
    sack_every: u8 => |c, v| c.sack_every = v;
    /// Longest delay of a SACK.
    sack_delay: Quantity<Span> => |c, v| c.sack_delay = v.0;
    /// Timeout before the first measurement.
    rto_init: Quantity<Span> => |c, v| c.rto_init = v.0;
    /// Smallest timeout.
    rto_min: Quantity<Span> => |c, v| c.rto_min = v.0;
    /// Largest timeout.
    rto_max: Quantity<Span> => |c, v| c.rto_max = v.0;
    /// Most full packets that an event sets free at once on a path; 0 for no limit.
    max_burst: u32 => |c, v| c.max_burst = v;
    /// How long a state cookie is good.
    cookie_life: Quantity<Span> => |c, v| c.cookie_life = v.0;
    /// Timeouts in a row that end the association.
    association_max_retrans: u32 => |c, v| c.association_max_retrans = v;
    /// Timeouts in a row that make a path inactive.
    path_max_retrans: u32 => |c, v| c.path_max_retrans = v;
    /// How often INIT and COOKIE ECHO are sent again.
    max_init_retransmits: u32 => |c, v| c.max_init_retransmits = v;
    /// Time between HEARTBEATs of an idle path; zero for none.
    heartbeat: Quantity<Span> => |c, v| c.heartbeat = v.0;
    /// Reports of a missing TSN that make it lost.
    missing_reports: u8 => |c, v| c.missing_reports = v;
    /// Where retransmissions go when there is more than one path.
    rtx_policy: RtxPolicyName => |c, v| c.rtx_policy = match v {
        RtxPolicyName::AltAll => RtxPolicy::AltAll,
        RtxPolicyName::AltTimeout => RtxPolicy::AltTimeout,
        RtxPolicyName::Same => RtxPolicy::Same,
    };
    /// What the congestion window counts.
    counting: CountingName => |c, v| c.counting = match v {
        CountingName::Chunks => Counting::Chunks,
        CountingName::Packets => Counting::Packets,
    };
    /// Congestion window of a new path in full packets; without it the rule of RFC 9260.
    cwnd_init: u32 => |c, v| c.cwnd_init = Some(v);
    /// Use ECN if the peer does.
    ecn: bool => |c, v| c.ecn = v;
    /// With ECN, a gap that no mark accompanies is taken for damage.
    ecn_discriminates: bool => |c, v| c.ecn_discriminates = v;
}

impl From<ConfigError> for TableError {
    fn from(error: ConfigError) -> Self {
        // The key of the table differs from the field where it says something simpler.
        let key = if error.field == "stripes" { "streams" } else { error.field };
        Self { key: key.to_owned(), problem: error.to_string() }
    }
}

impl SctpTable {
    /// The settings of one end: the table of the flow, with that end's own table over it.
    pub(crate) fn config(
        &self,
        own: Option<&Self>,
        patience: Patience,
        controllers: &Registry,
    ) -> Result<Config, TableError> {
        let preset = own.and_then(|own| own.preset).or(self.preset).unwrap_or_default();
        let mut config = match preset {
            SctpPreset::Default => Config::default(),
            SctpPreset::Paper => Config::paper(),
        };
        if patience == Patience::Endless {
            (config.max_init_retransmits, config.association_max_retrans) = (u32::MAX, u32::MAX);
            // A cookie may lie at the peer through an outage.
            config.cookie_life = Span::MAX;
        }
        for table in [Some(self), own].into_iter().flatten() {
            table.overwrite(&mut config, controllers)?;
        }
        config.validate()?;
        Ok(config)
    }
}
