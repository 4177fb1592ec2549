//! The settings of TCP as a table of a scenario file.

use std::collections::BTreeMap;

use bentpipe_cc::{Choice, Registry};
use bentpipe_transport::tcp::recovery::Mode;
use bentpipe_transport::tcp::{Config, ConfigError, InitialWindow};
use bentpipe_units::{ByteCount, Span};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::protocol::Patience;
use crate::quantity::Quantity;
use crate::settings::{TableError, settings_table, unfit};

/// What the settings start from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Preset {
    /// The defaults of a modern host.
    #[default]
    Default,
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
    /// AeroTCP: one duplicate on a path that keeps order.
    Aero,
    /// Zhou and Baras: the order of departures on a path that keeps order.
    DepartureOrder,
    /// SCPS-TP: what the receiver asks for, at once.
    Snack,
}

impl From<RecoveryName> for Mode {
    fn from(name: RecoveryName) -> Self {
        match name {
            RecoveryName::Tahoe => Self::Tahoe,
            RecoveryName::Reno => Self::Reno,
            RecoveryName::Newreno => Self::NewReno,
            RecoveryName::NewrenoSteady => Self::NewRenoSteady,
            RecoveryName::Sack => Self::Sack,
            RecoveryName::Fack => Self::Fack,
            RecoveryName::Aero => Self::Aero,
            RecoveryName::DepartureOrder => Self::DepartureOrder,
            RecoveryName::Snack => Self::Snack,
        }
    }
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

/// The initial windows of the RFCs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum InitialWindowName {
    /// min(4 MSS, max(2 MSS, 4380 B)).
    Rfc3390,
    /// min(10 MSS, max(2 MSS, 14600 B)).
    Rfc6928,
}

impl From<InitialWindowValue> for InitialWindow {
    fn from(value: InitialWindowValue) -> Self {
        match value {
            InitialWindowValue::Segments(segments) => Self::Segments(segments),
            InitialWindowValue::Rfc(InitialWindowName::Rfc3390) => Self::Rfc3390,
            InitialWindowValue::Rfc(InitialWindowName::Rfc6928) => Self::Rfc6928,
        }
    }
}

settings_table! {
    /// Settings of TCP; what is missing has the preset's value.
    TcpTable of Config, from Preset;

    /// How losses are found and repaired.
    recovery: RecoveryName => |c, v| c.recovery = v.into();
    /// Largest segment in bytes of payload without options.
    mss: u16 => |c, v| c.mss = v;
    /// Segments begin short, and longer ones are looked for.
    mtu_search: bool => |c, v| c.mtu_search = v;
    /// The sender frees what the peer has reported, before it is acknowledged.
    release_reported: bool => |c, v| c.release_reported = v;
    /// The window field counts segments.
    window_in_segments: bool => |c, v| c.window_in_segments = v;
    /// Send buffer.
    snd_buf: Quantity<ByteCount> => |c, v| c.snd_buf = v.0;
    /// Receive buffer.
    rcv_buf: Quantity<ByteCount> => |c, v| c.rcv_buf = v.0;
    /// Windows of more than 65,535 bytes.
    window_scaling: bool => |c, v| c.window_scaling = v;
    /// The timestamps option, with PAWS.
    timestamps: bool => |c, v| c.timestamps = v;
    /// Selective acknowledgements.
    sack: bool => |c, v| c.sack = v;
    /// Reports of what came twice.
    dsack: bool => |c, v| c.dsack = v;
    /// Explicit congestion notification.
    ecn: bool => |c, v| c.ecn = v;
    /// Duplicate acknowledgements that show a loss.
    dup_threshold: u32 => |c, v| c.dup_threshold = v;
    /// The first two duplicate acknowledgements let a new segment go.
    limited_transmit: bool => |c, v| c.limited_transmit = v;
    /// The window comes back after a loss that was none.
    undo: bool => |c, v| c.undo = v;
    /// Probes decide whether a loss is answered.
    probing: bool => |c, v| c.probing = v;
    /// Most segments that AeroTCP sends again for one acknowledgement.
    aero_burst: u32 => |c, v| c.aero_burst = v;
    /// AeroTCP guesses the length of gaps.
    aero_adaptive: bool => |c, v| c.aero_adaptive = v;
    /// Congestion window of a new connection: a number of segments, "rfc3390" or "rfc6928".
    initial_window: InitialWindowValue => |c, v| c.initial_window = v.into();
    /// Smallest congestion window in segments.
    cwnd_min: u32 => |c, v| c.cwnd_min = v;
    /// Largest congestion window; that of the send buffer if it is missing.
    cwnd_max: Quantity<ByteCount> => |c, v| c.cwnd_max = Some(v.0);
    /// After idle time the window starts over.
    idle_restart: bool => |c, v| c.idle_restart = v;
    /// Most segments sent for one acknowledgement or timer; 0 for no limit.
    max_burst: u32 => |c, v| c.max_burst = v;
    /// A short segment waits until nothing is unacknowledged.
    nagle: bool => |c, v| c.nagle = v;
    /// Retransmission timeout before the first sample.
    rto_initial: Quantity<Span> => |c, v| c.rto_initial = v.0;
    /// Smallest retransmission timeout.
    rto_min: Quantity<Span> => |c, v| c.rto_min = v.0;
    /// Largest retransmission timeout.
    rto_max: Quantity<Span> => |c, v| c.rto_max = v.0;
    /// Granularity of the clock that measures round trips.
    tick: Quantity<Span> => |c, v| c.tick = v.0;
    /// A sample of the round trip from each acknowledgement; off times one segment at a time.
    sample_every_ack: bool => |c, v| c.sample_every_ack = v;
    /// Duplicates are samples, too, by their echo, as in ns-2's agent for Linux' controllers.
    sample_duplicates: bool => |c, v| c.sample_duplicates = v;
    /// How often a SYN is sent again; -1 for ever.
    syn_retries: i64 => |c, v| c.syn_retries = u32::try_from(v).ok();
    /// Timeouts in a row before the connection is dropped; -1 for any number.
    retries: i64 => |c, v| c.retries = u32::try_from(v).ok();
    /// Segments for which there is one acknowledgement.
    ack_every: u32 => |c, v| c.ack_every = v;
    /// Longest delay of an acknowledgement.
    ack_delay: Quantity<Span> => |c, v| c.ack_delay = v.0;
    /// So many acknowledgements in a round trip, whatever comes; 0 for `ack_every` and `ack_delay`.
    acks_per_rtt: u32 => |c, v| c.acks_per_rtt = v;
    /// The first so many segments are acknowledged one by one.
    quick_acks: u32 => |c, v| c.quick_acks = v;
    /// A segment out of order is acknowledged at once.
    ack_disorder_at_once: bool => |c, v| c.ack_disorder_at_once = v;
    /// Idle time before a keep-alive; zero for none.
    keepalive: Quantity<Span> => |c, v| c.keepalive = v.0;
    /// Time between keep-alives without an answer.
    keepalive_interval: Quantity<Span> => |c, v| c.keepalive_interval = v.0;
    /// Keep-alives without an answer before the connection is dropped.
    keepalive_max: u32 => |c, v| c.keepalive_max = v;
    /// Longest time between probes of a closed window.
    persist_max: Quantity<Span> => |c, v| c.persist_max = v.0;
    /// How long a closed connection answers late segments.
    time_wait: Quantity<Span> => |c, v| c.time_wait = v.0;
    /// Settings of the receiving end where they differ.
    receiver: Box<TcpTable> => |_c, v| drop(v);
}

impl From<ConfigError> for TableError {
    fn from(error: ConfigError) -> Self {
        Self { key: error.field.to_owned(), problem: error.to_string() }
    }
}

impl TcpTable {
    /// The settings of one end: the table of the flow, with that end's own table over it.
    pub(crate) fn config(
        &self,
        own: Option<&Self>,
        patience: Patience,
        controllers: &Registry,
    ) -> Result<Config, TableError> {
        if own.is_some_and(|own| own.receiver.is_some()) {
            let problem = "the receiving end has no receiving end of its own".to_owned();
            return Err(TableError { key: "receiver".to_owned(), problem });
        }
        let preset = own.and_then(|own| own.preset).or(self.preset).unwrap_or_default();
        let mut config = match preset {
            Preset::Default => Config::default(),
            Preset::Ns2 => Config::ns2(),
        };
        if patience == Patience::Endless {
            (config.syn_retries, config.retries) = (None, None);
        }
        for table in [Some(self), own].into_iter().flatten() {
            table.overwrite(&mut config, controllers)?;
            if preset == Preset::Ns2 {
                config.controller =
                    counting(&config.controller, &table.controller_parameters, controllers)?;
            }
        }
        config.validate()?;
        Ok(config)
    }
}

/// The controller as ns-2 has it: it counts acknowledgements, unless it is told otherwise.
fn counting(
    choice: &Choice,
    parameters: &BTreeMap<String, f64>,
    controllers: &Registry,
) -> Result<Choice, TableError> {
    let mut parameters = parameters.clone();
    if choice.has_parameter("abc_limit") {
        parameters.entry("abc_limit".to_owned()).or_insert(0.0);
    }
    choice.clone().with_parameters(parameters).map_err(|error| unfit(&error, controllers))
}
