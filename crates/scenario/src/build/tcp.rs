//! The settings of TCP, from their tables.

use std::collections::BTreeMap;

use bentpipe_cc::{Choice, Registry};
use bentpipe_transport::tcp::recovery::Mode;
use bentpipe_transport::tcp::{Config, ConfigError, EcnMode, InitialWindow, RtoMargin};

use super::protocol::IdleTimeout;
use super::settings::{TableError, by_new_names, settings, unfit};
use crate::schema::tcp::{
    EcnName, EcnValue, InitialWindowName, InitialWindowValue, Preset, RecoveryName, RtoMarginName,
    TcpTable,
};

impl From<RecoveryName> for Mode {
    fn from(name: RecoveryName) -> Self {
        match name {
            RecoveryName::Tahoe => Self::Tahoe,
            RecoveryName::Reno => Self::Reno,
            RecoveryName::Newreno => Self::NewReno,
            RecoveryName::NewrenoSteady => Self::NewRenoSteady,
            RecoveryName::Sack => Self::Sack,
            RecoveryName::Fack => Self::Fack,
            RecoveryName::Rack => Self::Rack,
            RecoveryName::Aero => Self::Aero,
            RecoveryName::DepartureOrder => Self::DepartureOrder,
            RecoveryName::Snack => Self::Snack,
        }
    }
}

impl From<RtoMarginName> for RtoMargin {
    fn from(name: RtoMarginName) -> Self {
        match name {
            RtoMarginName::Rfc6298 => Self::Rfc6298,
            RtoMarginName::Linux => Self::Linux,
        }
    }
}

impl From<EcnValue> for EcnMode {
    fn from(EcnValue::Name(name): EcnValue) -> Self {
        match name {
            EcnName::Off => Self::Off,
            EcnName::Classic => Self::Classic,
            EcnName::Dctcp => Self::Dctcp,
            EcnName::L4s => Self::L4s,
        }
    }
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

settings! {
    TcpTable of Config;

    recovery => |c, v| c.recovery = v.into();
    mss => |c, v| c.mss = v;
    mtu_search => |c, v| c.mtu_search = v;
    release_reported => |c, v| c.release_reported = v;
    window_in_segments => |c, v| c.window_in_segments = v;
    snd_buf => |c, v| c.snd_buf = v.0;
    rcv_buf => |c, v| c.rcv_buf = v.0;
    rcv_buf_initial => |c, v| c.rcv_buf_initial = Some(v.0);
    window_scaling => |c, v| c.window_scaling = v;
    timestamps => |c, v| c.timestamps = v;
    sack => |c, v| c.sack = v;
    dsack => |c, v| c.dsack = v;
    ecn => |c, v| c.ecn = v.into();
    dup_threshold => |c, v| c.dup_threshold = v;
    limited_transmit => |c, v| c.limited_transmit = v;
    undo => |c, v| c.undo = v;
    tail_loss_probe => |c, v| c.tail_loss_probe = v;
    proportional_reduction => |c, v| c.proportional_reduction = v;
    probing => |c, v| c.probing = v;
    aero_burst => |c, v| c.aero_burst = v;
    aero_adaptive => |c, v| c.aero_adaptive = v;
    initial_window => |c, v| c.initial_window = v.into();
    cwnd_min => |c, v| c.cwnd_min = v;
    cwnd_max => |c, v| c.cwnd_max = Some(v.0);
    idle_restart => |c, v| c.idle_restart = v;
    idle_halving => |c, v| c.idle_halving = v;
    pacing => |c, v| c.pacing = v;
    max_burst => |c, v| c.max_burst = v;
    nagle => |c, v| c.nagle = v;
    rto_initial => |c, v| c.rto_initial = v.0;
    rto_min => |c, v| c.rto_min = v.0;
    rto_max => |c, v| c.rto_max = v.0;
    rto_margin => |c, v| c.rto_margin = v.into();
    tick => |c, v| c.tick = v.0;
    sample_every_ack => |c, v| c.sample_every_ack = v;
    sample_duplicates => |c, v| c.sample_duplicates = v;
    syn_retries => |c, v| c.syn_retries = u32::try_from(v).ok();
    retries => |c, v| c.retries = u32::try_from(v).ok();
    ack_every => |c, v| c.ack_every = v;
    ack_delay => |c, v| c.ack_delay = v.0;
    acks_per_rtt => |c, v| c.acks_per_rtt = v;
    quick_acks => |c, v| c.quick_acks = v;
    ack_disorder_at_once => |c, v| c.ack_disorder_at_once = v;
    compressed_acks => |c, v| c.compressed_acks = v.0;
    keepalive => |c, v| c.keepalive = v.0;
    keepalive_interval => |c, v| c.keepalive_interval = v.0;
    keepalive_max => |c, v| c.keepalive_max = v;
    persist_max => |c, v| c.persist_max = v.0;
    time_wait => |c, v| c.time_wait = v.0;
    receiver => |_c, v| drop(v);
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
        idle_timeout: IdleTimeout,
        controllers: &Registry,
    ) -> Result<Config, TableError> {
        if own.is_some_and(|own| own.receiver.is_some()) {
            let problem = "the receiving end has no receiving end of its own".to_owned();
            return Err(TableError { key: "receiver".to_owned(), problem });
        }
        let preset = own.and_then(|own| own.preset).or(self.preset).unwrap_or_default();
        let mut config = match preset {
            Preset::Linux => Config::linux(),
            Preset::Rfc => Config::default(),
            Preset::Ns2 => Config::ns2(),
        };
        if idle_timeout == IdleTimeout::Endless {
            (config.syn_retries, config.retries) = (None, None);
        }
        for table in [Some(self), own].into_iter().flatten() {
            table.overwrite(&mut config, controllers)?;
            let form: &[(&str, f64)] = match preset {
                Preset::Rfc => &[],
                Preset::Ns2 => &NS2,
                Preset::Linux => &LINUX,
            };
            let parameters = &table.controller_parameters;
            config.controller = with_form(&config.controller, parameters, form, controllers)?;
        }
        config.validate()?;
        Ok(config)
    }
}

/// The parameters of Linux' controllers: an acknowledgement counts for all that it is for, and CUBIC is tcp_cubic.
const LINUX: [(&str, f64); 2] = [("abc_limit", 1e6), ("linux", 2.0)];

/// The parameters of ns-2's controllers: acknowledgements are counted, and Westwood+ is the module of its authors, with the filter
/// and the cut of their papers.
const NS2: [(&str, f64); 3] =
    [("abc_limit", 0.0), ("single_filter", 1.0), ("at_recovery_end", 0.0)];

/// The controller in the form that a preset gives it, unless it is told otherwise.
fn with_form(
    choice: &Choice,
    parameters: &BTreeMap<String, f64>,
    form: &[(&str, f64)],
    controllers: &Registry,
) -> Result<Choice, TableError> {
    if form.is_empty() {
        return Ok(choice.clone());
    }
    let mut parameters = by_new_names(controllers.find(choice.name()), parameters)?;
    // Who asks for Linux' arithmetic has all of Linux' form.
    let is_linux = parameters.get("linux").is_some_and(|linux| *linux > 0.0);
    for (name, value) in form {
        let of_papers = matches!(*name, "single_filter" | "at_recovery_end");
        // Others than CUBIC have no form of Linux 6.
        let fits = (*name != "linux" || choice.name() == "cubic") && !(of_papers && is_linux);
        if choice.has_parameter(name) && fits {
            parameters.entry((*name).to_owned()).or_insert(*value);
        }
    }
    choice.clone().with_parameters(parameters).map_err(|error| unfit(&error, controllers))
}
