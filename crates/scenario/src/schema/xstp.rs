//! The settings of XSTP as a table of a scenario file.

use bentpipe_units::{ByteCount, Span};
use schemars::JsonSchema;
use serde::Deserialize;

use super::quantity::Quantity;
use super::settings::settings_table;

/// What the settings start from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Preset {
    /// The defaults for real links.
    #[default]
    Default,
    /// The experiments of the XSTP paper: nothing gives up, and timers are those of its system.
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

/// How exactly the send timer rings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TimerClockName {
    /// When something is due.
    Exact,
    /// As on Linux 2.4: rounded up to jiffies of 10 ms, and one more.
    Jiffies,
}

settings_table! {
    /// Settings of XSTP; what is missing has the preset's value.
    XstpTable, from Preset;

    /// Probing on a loss; off gives STP.
    probing: bool;
    /// Largest payload of a segment in bytes.
    mss: u16;
    /// What the peer has beyond a gap counts as delivered.
    selective: bool;
    /// A loss at a short queue is taken for bit errors.
    forgive_noise: bool;
    /// Send buffer.
    snd_buf: Quantity<ByteCount>;
    /// Receive buffer.
    rcv_buf: Quantity<ByteCount>;
    /// Window in segments at the start and after idle time.
    cwnd_init: u32;
    /// Smallest window in segments.
    cwnd_min: u32;
    /// Most segments sent back to back.
    max_burst: u32;
    /// Below this window all that is allowed goes in one burst.
    burst_min: u32;
    /// Granularity of pacing.
    timer_tick: Quantity<Span>;
    /// How exactly the send timer rings.
    timer_clock: TimerClockName;
    /// POLLs per round trip.
    poll_rate: u32;
    /// POLLs per round trip where many have no answer; no more than `poll_rate` if it is not above that.
    poll_rate_max: u32;
    /// The first burst of a transmission period carries a POLL.
    poll_first_burst: bool;
    /// A POLL leaves with a burst where it is due within half of the time between POLLs, before or after.
    poll_rides: bool;
    /// Data bring POLLs where bursts are about as far apart as POLLs.
    poll_in_data: bool;
    /// Share of the send buffer after which a POLL is forced.
    poll_buf_ratio: f64;
    /// Segments beyond a gap before a USTAT reports it.
    ustat_delay: u32;
    /// A USTAT names one range only.
    ustat_single: bool;
    /// Round-trip time before the first sample.
    rtt_init: Quantity<Span>;
    /// Smallest timeout for the backoff of POLLs.
    rto_min: Quantity<Span>;
    /// Largest backoff factor of POLLs.
    backoff_max: u32;
    /// While nothing answers, the next POLL waits for this share of the silence so far, a second at most.
    silence_ratio: f64;
    /// Share of what is sent that POLLs may take at most; zero for no bound but `poll_rate`.
    poll_share: f64;
    /// Time without new data after which the window starts over.
    idle_threshold: Quantity<Span>;
    /// Shortest time between POLLs to a receiver without room.
    persist_min: Quantity<Span>;
    /// Longest time between POLLs to a receiver without room.
    persist_max: Quantity<Span>;
    /// Time between keep-alive POLLs; zero for none.
    keepalive: Quantity<Span>;
    /// Unanswered keep-alive POLLs before the session is dropped.
    keepalive_max: u32;
    /// Silence after which a transmitting session is dropped; zero for never.
    no_response: Quantity<Span>;
    /// First wait for the answer to BGN and END.
    ctl_rto_init: Quantity<Span>;
    /// Longest wait for the answer to BGN and END.
    ctl_rto_max: Quantity<Span>;
    /// How often BGN and END are retransmitted; -1 for ever.
    ctl_max_retries: i64;
    /// Most gaps in one STAT; no header holds more than 246.
    stat_max_gaps: u32;
    /// A short segment waits for the acknowledgment of another short one.
    nagle: bool;
    /// When a segment reported by a STAT is retransmitted.
    stat_rule: StatRuleName;
    /// Repairs leave in bursts and not all at once.
    rtx_paced: bool;
    /// Repairs take their turn with new data, at their pace.
    rtx_in_turn: bool;
    /// Probes that are remembered.
    map_size: u32;
    /// Answers in a row that end a probing cycle.
    probes_needed: u32;
    /// How far a measurement may exceed the round trip at the loss, as a ratio.
    rtt_tolerance: f64;
    /// Start a probing cycle when the POLL/STAT interleaf breaks.
    early_timeout: bool;
    /// Share of the poll interval by which a STAT may come too early and still count.
    early_slack: f64;
    /// Record the STAT that triggered a cycle.
    record_trigger_stat: bool;
}
