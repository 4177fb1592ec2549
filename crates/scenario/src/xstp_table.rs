//! The settings of XSTP as a table of a scenario file.

use bentpipe_cc::Registry;
use bentpipe_transport::xstp::{Config, ConfigError, StatRule};
use bentpipe_units::{ByteCount, Span};
use bentpipe_wire::xstp::Report;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::protocol::Patience;
use crate::quantity::Quantity;
use crate::settings::{TableError, settings_table};

/// What the settings start from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Preset {
    /// The defaults for real links.
    #[default]
    Default,
    /// The experiments of the XSTP paper: nothing gives up.
    Paper,
}

/// When a STAT's report of a missing segment is believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StatRuleName {
    /// A round trip has passed since it was last sent.
    Elapsed,
    /// It was last sent before the POLL that is answered.
    Poll,
}

settings_table! {
    /// Settings of XSTP; what is missing has the preset's value.
    XstpTable of Config, from Preset;

    /// Probing on a loss; off gives STP.
    probing: bool => |c, v| c.probing = v;
    /// Largest payload of a segment in bytes.
    mss: u16 => |c, v| c.mss = v;
    /// What the peer has beyond a gap counts as delivered.
    selective: bool => |c, v| c.selective = v;
    /// A loss at a short queue is taken for noise.
    forgive_noise: bool => |c, v| c.forgive_noise = v;
    /// Send buffer.
    snd_buf: Quantity<ByteCount> => |c, v| c.snd_buf = v.0;
    /// Receive buffer.
    rcv_buf: Quantity<ByteCount> => |c, v| c.rcv_buf = v.0;
    /// Window in segments at the start and after idle time.
    cwnd_init: u32 => |c, v| c.cwnd_init = v;
    /// Smallest window in segments.
    cwnd_min: u32 => |c, v| c.cwnd_min = v;
    /// Most segments sent back to back.
    max_burst: u32 => |c, v| c.max_burst = v;
    /// Below this window all that is allowed goes in one burst.
    burst_min: u32 => |c, v| c.burst_min = v;
    /// Granularity of pacing.
    timer_tick: Quantity<Span> => |c, v| c.timer_tick = v.0;
    /// POLLs per round trip.
    poll_rate: u32 => |c, v| c.poll_rate = v;
    /// The first burst of a transmission period carries a POLL.
    poll_first_burst: bool => |c, v| c.poll_first_burst = v;
    /// Share of the send buffer after which a POLL is forced.
    poll_buf_ratio: f64 => |c, v| c.poll_buf_ratio = v;
    /// Segments beyond a gap before a USTAT reports it.
    ustat_delay: u32 => |c, v| c.ustat_delay = v;
    /// A USTAT names one range only.
    ustat_single: bool => |c, v| c.ustat_single = v;
    /// Round-trip time before the first sample.
    rtt_init: Quantity<Span> => |c, v| c.rtt_init = v.0;
    /// Smallest timeout for the backoff of POLLs.
    rto_min: Quantity<Span> => |c, v| c.rto_min = v.0;
    /// Largest backoff factor of POLLs.
    backoff_max: u32 => |c, v| c.backoff_max = v;
    /// Time without new data after which the window starts over.
    idle_threshold: Quantity<Span> => |c, v| c.idle_threshold = v.0;
    /// Shortest time between POLLs to a receiver without room.
    persist_min: Quantity<Span> => |c, v| c.persist_min = v.0;
    /// Longest time between POLLs to a receiver without room.
    persist_max: Quantity<Span> => |c, v| c.persist_max = v.0;
    /// Time between keep-alive POLLs; zero for none.
    keepalive: Quantity<Span> => |c, v| c.keepalive = v.0;
    /// Unanswered keep-alive POLLs before the session is dropped.
    keepalive_max: u32 => |c, v| c.keepalive_max = v;
    /// Silence after which a transmitting session is dropped; zero for never.
    no_response: Quantity<Span> => |c, v| c.no_response = v.0;
    /// First wait for the answer to BGN and END.
    ctl_rto_init: Quantity<Span> => |c, v| c.ctl_rto_init = v.0;
    /// Longest wait for the answer to BGN and END.
    ctl_rto_max: Quantity<Span> => |c, v| c.ctl_rto_max = v.0;
    /// How often BGN and END are sent again; -1 for ever.
    ctl_max_retries: i64 => |c, v| c.ctl_max_retries = u32::try_from(v).ok();
    /// Most gaps in one STAT; no header holds more than 246.
    stat_max_gaps: u32 => |c, v| c.stat_max_gaps = v.min(Report::MOST_GAPS as u32);
    /// A short segment waits for the acknowledgment of another short one.
    nagle: bool => |c, v| c.nagle = v;
    /// When a segment reported by a STAT is sent again.
    stat_rule: StatRuleName => |c, v| c.stat_rule = match v {
        StatRuleName::Elapsed => StatRule::Elapsed,
        StatRuleName::Poll => StatRule::Poll,
    };
    /// Repairs leave in bursts and not all at once.
    rtx_paced: bool => |c, v| c.rtx_paced = v;
    /// Repairs take their turn with new data, at their pace.
    rtx_in_turn: bool => |c, v| c.rtx_in_turn = v;
    /// Probes that are remembered.
    map_size: u32 => |c, v| c.probe.map_size = v;
    /// Answers in a row that end a probing cycle.
    probes_needed: u32 => |c, v| c.probe.probes_needed = v;
    /// How far a measurement may exceed the round trip at the loss, as a ratio.
    rtt_tolerance: f64 => |c, v| c.probe.rtt_tolerance = v;
    /// Start a probing cycle when the POLL/STAT interleaf breaks.
    early_timeout: bool => |c, v| c.probe.early_timeout = v;
    /// Share of the poll interval by which a STAT may come too early and still count.
    early_slack: f64 => |c, v| c.probe.early_slack = v;
    /// Record the STAT that triggered a cycle.
    record_trigger_stat: bool => |c, v| c.probe.record_trigger_stat = v;
}

impl From<ConfigError> for TableError {
    fn from(error: ConfigError) -> Self {
        Self { key: error.field.to_owned(), problem: error.to_string() }
    }
}

impl XstpTable {
    /// The settings of one end: the table of the flow, with that end's own table over it.
    pub(crate) fn config(
        &self,
        own: Option<&Self>,
        patience: Patience,
        controllers: &Registry,
    ) -> Result<Config, TableError> {
        let preset = own.and_then(|own| own.preset).or(self.preset).unwrap_or_default();
        let mut config = match preset {
            Preset::Default => Config::default(),
            Preset::Paper => Config::paper(),
        };
        if patience == Patience::Endless {
            config.ctl_max_retries = None;
            config.keepalive_max = u32::MAX;
        }
        for table in [Some(self), own].into_iter().flatten() {
            table.overwrite(&mut config, controllers)?;
        }
        config.validate()?;
        Ok(config)
    }
}
