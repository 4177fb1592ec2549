//! The settings of XSTP, from their tables.

use bentpipe_cc::Registry;
use bentpipe_transport::xstp::{Config, ConfigError, StatRule, TimerClock};
use bentpipe_wire::xstp::Report;

use super::protocol::IdleTimeout;
use super::settings::{ROOMY, TableError, settings};
use crate::schema::xstp::{Preset, StatRuleName, TimerClockName, XstpTable};

settings! {
    XstpTable of Config;

    probing => |c, v| c.probing = v;
    mss => |c, v| c.mss = v;
    selective => |c, v| c.selective = v;
    forgive_noise => |c, v| c.forgive_noise = v;
    snd_buf => |c, v| c.snd_buf = v.0;
    rcv_buf => |c, v| c.rcv_buf = v.0;
    cwnd_init => |c, v| c.cwnd_init = v;
    cwnd_min => |c, v| c.cwnd_min = v;
    max_burst => |c, v| c.max_burst = v;
    burst_min => |c, v| c.burst_min = v;
    timer_tick => |c, v| c.timer_tick = v.0;
    timer_clock => |c, v| c.timer_clock = match v {
        TimerClockName::Exact => TimerClock::Exact,
        TimerClockName::Jiffies => TimerClock::Jiffies,
    };
    poll_rate => |c, v| c.poll_rate = v;
    poll_rate_max => |c, v| c.poll_rate_max = v;
    poll_first_burst => |c, v| c.poll_first_burst = v;
    poll_rides => |c, v| c.poll_rides = v;
    poll_in_data => |c, v| c.poll_in_data = v;
    poll_buf_ratio => |c, v| c.poll_buf_ratio = v;
    ustat_delay => |c, v| c.ustat_delay = v;
    ustat_single => |c, v| c.ustat_single = v;
    rtt_init => |c, v| c.rtt_init = v.0;
    rto_min => |c, v| c.rto_min = v.0;
    backoff_max => |c, v| c.backoff_max = v;
    silence_ratio => |c, v| c.silence_ratio = v;
    poll_share => |c, v| c.poll_share = v;
    idle_threshold => |c, v| c.idle_threshold = v.0;
    persist_min => |c, v| c.persist_min = v.0;
    persist_max => |c, v| c.persist_max = v.0;
    keepalive => |c, v| c.keepalive = v.0;
    keepalive_max => |c, v| c.keepalive_max = v;
    no_response => |c, v| c.no_response = v.0;
    ctl_rto_init => |c, v| c.ctl_rto_init = v.0;
    ctl_rto_max => |c, v| c.ctl_rto_max = v.0;
    ctl_max_retries => |c, v| c.ctl_max_retries = u32::try_from(v).ok();
    stat_max_gaps => |c, v| c.stat_max_gaps = v.min(Report::MOST_GAPS as u32);
    nagle => |c, v| c.nagle = v;
    stat_rule => |c, v| c.stat_rule = match v {
        StatRuleName::Elapsed => StatRule::Elapsed,
        StatRuleName::Poll => StatRule::Poll,
    };
    rtx_paced => |c, v| c.rtx_paced = v;
    rtx_in_turn => |c, v| c.rtx_in_turn = v;
    map_size => |c, v| c.probe.map_size = v;
    probes_needed => |c, v| c.probe.probes_needed = v;
    rtt_tolerance => |c, v| c.probe.rtt_tolerance = v;
    early_timeout => |c, v| c.probe.early_timeout = v;
    early_slack => |c, v| c.probe.early_slack = v;
    record_trigger_stat => |c, v| c.probe.record_trigger_stat = v;
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
        idle_timeout: IdleTimeout,
        controllers: &Registry,
    ) -> Result<Config, TableError> {
        let preset = own.and_then(|own| own.preset).or(self.preset).unwrap_or_default();
        let mut config = match preset {
            Preset::Default => Config { snd_buf: ROOMY, rcv_buf: ROOMY, ..Config::default() },
            Preset::Paper => Config { timer_clock: TimerClock::Jiffies, ..Config::paper() },
        };
        if idle_timeout == IdleTimeout::Endless {
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
