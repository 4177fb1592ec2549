//! The settings of SCTP, from their tables.

use bentpipe_cc::Registry;
use bentpipe_transport::sctp::{Config, ConfigError, Counting, RtxPolicy, View};
use bentpipe_units::Span;

use super::protocol::IdleTimeout;
use super::settings::{ROOMY, TableError, settings};
use crate::schema::sctp::{CountingName, RtxPolicyName, SctpPreset, SctpTable};

settings! {
    SctpTable of Config;

    mtu => |c, v| c.mtu = v;
    streams => |c, v| {
        c.view = View::Bytes { stripes: v };
        c.outbound_streams = c.outbound_streams.max(v);
    };
    message => |c, v| c.message = Some(v);
    snd_buf => |c, v| c.snd_buf = v.0;
    rcv_buf => |c, v| c.rcv_buf = v.0;
    nagle => |c, v| c.nagle = v;
    sack_every => |c, v| c.sack_every = v;
    sack_first => |c, v| c.sack_first = v;
    sack_delay => |c, v| c.sack_delay = v.0;
    rto_init => |c, v| c.rto_init = v.0;
    rto_min => |c, v| c.rto_min = v.0;
    rto_max => |c, v| c.rto_max = v.0;
    max_burst => |c, v| c.max_burst = v;
    cookie_life => |c, v| c.cookie_life = v.0;
    association_max_retrans => |c, v| c.association_max_retrans = v;
    path_max_retrans => |c, v| c.path_max_retrans = v;
    max_init_retransmits => |c, v| c.max_init_retransmits = v;
    heartbeat => |c, v| c.heartbeat = v.0;
    missing_reports => |c, v| c.missing_reports = v;
    rtx_policy => |c, v| c.rtx_policy = match v {
        RtxPolicyName::AltAll => RtxPolicy::AltAll,
        RtxPolicyName::AltTimeout => RtxPolicy::AltTimeout,
        RtxPolicyName::Same => RtxPolicy::Same,
    };
    counting => |c, v| c.counting = match v {
        CountingName::Chunks => Counting::Chunks,
        CountingName::Packets => Counting::Packets,
    };
    cwnd_init => |c, v| c.cwnd_init = Some(v);
    ecn => |c, v| c.ecn = v;
    ecn_discriminates => |c, v| c.ecn_discriminates = v;
    asconf => |c, v| c.asconf = v;
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
        idle_timeout: IdleTimeout,
        controllers: &Registry,
    ) -> Result<Config, TableError> {
        let preset = own.and_then(|own| own.preset).or(self.preset).unwrap_or_default();
        let mut config = match preset {
            SctpPreset::Default => Config { snd_buf: ROOMY, rcv_buf: ROOMY, ..Config::default() },
            SctpPreset::Paper => Config::paper(),
        };
        if idle_timeout == IdleTimeout::Endless {
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
