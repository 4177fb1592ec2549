//! Everything that can be set, with its default.

use bentpipe_cc::Choice;
use bentpipe_units::{ByteCount, Span};

use super::timer_clock::TimerClock;
use crate::LEAST_MSS;

/// Settings of a session. The two ends may differ, except that the smaller `mss` counts.
#[derive(Clone, Debug)]
pub struct Config {
    /// Largest payload of a segment in bytes, 64..=65535.
    pub mss: u16,
    /// Bytes that travel with the payload of a segment, headers of all layers, for a controller that
    /// gives a rate.
    pub overhead: ByteCount,
    /// Segments become shorter than `mss` where bit errors damage long ones; needs the true `overhead`.
    pub adapt_payload: bool,
    /// What the peer has beyond a gap counts as delivered: neither against the congestion window nor
    /// only once the gap is filled. For controllers of the TCP family, which expect it of SACK; the
    /// paper counts everything from the oldest unacknowledged segment on.
    pub selective: bool,
    /// A loss at a short queue is taken for bit errors: it is repaired and shrinks no window. Takes effect
    /// where losses are not probed, and only if `selective` is set.
    pub forgive_noise: bool,
    /// Under a rate, retransmissions near the end of what there is to send go out in several copies.
    pub tail_copies: bool,
    /// BGNAK goes again with the first, second, fourth ... POLL until the peer shows that it has come: without it the peer
    /// takes no data.
    pub answer_copies: bool,
    /// A STAT says when its POLL came, so that the sender tells the way there from the way back. Only the compressed headers of
    /// an association have a place for it.
    pub receive_timestamps: bool,
    /// Bytes that the sender keeps, sent or not, until they are acknowledged. Also bounds the
    /// congestion window.
    pub snd_buf: ByteCount,
    /// Bytes that wait to be sent for the first time at most, if two round trips do not take more: what is
    /// written beyond waits with the writer, however much `snd_buf` holds. Without a word nothing but
    /// `snd_buf` counts.
    pub unsent_limit: Option<ByteCount>,
    /// Bytes that the receiver keeps for the application; the window that it grants.
    pub rcv_buf: ByteCount,
    /// Window in segments at the start and after idle time.
    pub cwnd_init: u32,
    /// Segments at the beginning of a session that leave as soon as the window has room, and are not spread over a
    /// round trip: what a first window may send in a row (RFC 6928).
    pub initial_burst: u32,
    /// A peer that says a smaller MSS is taken to have said this: a window has more of small segments, and each costs as
    /// much as a large one.
    pub least_mss: u16,
    /// The window in segments never falls below this.
    pub cwnd_min: u32,
    /// Most segments sent back to back.
    pub max_burst: u32,
    /// Below this window all that is allowed goes in one burst.
    pub burst_min: u32,
    /// Granularity of pacing.
    pub timer_tick: Span,
    /// How exactly the send timer rings.
    pub timer_clock: TimerClock,
    /// A burst that a late clock delayed by up to this long is made up for; zero for a clock that is
    /// never late.
    pub catch_up: Span,
    /// POLLs per round trip.
    pub poll_rate: u32,
    /// POLLs per round trip where many of them, or their answers, are lost; never more than `poll_rate` if it is not above
    /// that, as the paper has it.
    pub poll_rate_max: u32,
    /// The first burst of a transmission period carries a POLL.
    pub poll_first_burst: bool,
    /// A POLL leaves with a burst where it is due within half of the time between POLLs, before or after: alone it is a packet more.
    pub poll_rides: bool,
    /// Where bursts are about as far apart as POLLs, data bring one after each part of the window that is sent between two of them, and
    /// POLLs alone wait for twice as long: those would stand in the queue right behind a burst and say no more than its last one.
    pub poll_in_data: bool,
    /// A POLL is forced once this share of the send buffer was sent since the last one.
    pub poll_buf_ratio: f64,
    /// Segments beyond a gap before a USTAT reports it; 1 reports at once.
    pub ustat_delay: u32,
    /// A USTAT names one range from the first to the last missing segment of the gap.
    pub ustat_single: bool,
    /// Round-trip time before the first sample.
    pub rtt_init: Span,
    /// Smallest timeout for the backoff of POLLs.
    pub rto_min: Span,
    /// Largest backoff factor of POLLs.
    pub backoff_max: u32,
    /// While nothing answers, the next POLL waits for this share of the silence so far, a second at most: a link
    /// that is down for long costs few POLLs, and is found again after that share of its outage. Zero leaves
    /// POLLs to the backoff, as the paper has it; at most 1.
    pub silence_ratio: f64,
    /// POLLs by themselves, with their headers, take this share of what is sent at most: over a slow path they would leave no
    /// room for data. Zero bounds them by `poll_rate` only, as the paper has it; at most 1.
    pub poll_share: f64,
    /// After this long without new data the window starts over.
    pub idle_threshold: Span,
    /// Shortest time between POLLs to a receiver without room.
    pub persist_min: Span,
    /// Longest time between POLLs to a receiver without room.
    pub persist_max: Span,
    /// Time between keep-alive POLLs of an idle session; zero for none.
    pub keepalive: Span,
    /// Keep-alive POLLs without answer before the session is dropped.
    pub keepalive_max: u32,
    /// A transmitting session that hears nothing for this long is dropped; zero for never.
    pub no_response: Span,
    /// First time to wait for the answer to BGN and END.
    pub ctl_rto_init: Span,
    /// Longest time to wait for the answer to BGN and END.
    pub ctl_rto_max: Span,
    /// How often BGN and END are retransmitted; `None` for ever.
    pub ctl_max_retries: Option<u32>,
    /// Most gaps in one STAT.
    pub stat_max_gaps: u32,
    /// A short segment waits until no other short one is unacknowledged.
    pub nagle: bool,
    /// When a segment reported by a STAT is retransmitted.
    pub stat_rule: StatRule,
    /// Retransmissions leave in bursts of `max_burst` every `timer_tick`, not all at once.
    pub rtx_paced: bool,
    /// Retransmissions take their turn with new data and leave as fast as that does, as they do under a rate: where the
    /// queue of a link overflowed, all at once would overflow it again.
    pub rtx_in_turn: bool,
    /// Probing on a loss; off gives STP.
    pub probing: bool,
    /// Settings of probing.
    pub probe: ProbingConfig,
    /// Congestion controller.
    pub controller: Choice,
}

/// When a STAT's report of a missing segment is believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatRule {
    /// A round trip, times the backoff, has passed since it was last sent (paper, section 3).
    Elapsed,
    /// It was last sent before the POLL that is answered (SSCOP).
    Poll,
}

/// Settings of probing (paper, section 4.3).
#[derive(Clone, Debug)]
pub struct ProbingConfig {
    /// Probes that are remembered, the reserved entry included; at least 2. A cycle remembers one
    /// more than `probes_needed` in any case, or it might never end.
    pub map_size: u32,
    /// Answers in a row that end a cycle; at most `map_size`.
    pub probes_needed: u32,
    /// How far a measurement may exceed the round-trip time at the loss, as a ratio.
    pub rtt_tolerance: f64,
    /// Start a cycle when the POLL/STAT interleaf breaks.
    pub early_timeout: bool,
    /// Share of the poll interval by which a STAT may come before the last POLL and still count.
    pub early_slack: f64,
    /// Record the STAT that triggered the cycle as a pre-loss answer.
    pub record_trigger_stat: bool,
}

impl Default for ProbingConfig {
    fn default() -> Self {
        Self {
            map_size: 4,
            probes_needed: 2,
            rtt_tolerance: 0.10,
            early_timeout: true,
            early_slack: 0.25,
            record_trigger_stat: false,
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            mss: 1000,
            selective: false,
            forgive_noise: false,
            overhead: ByteCount::new(16),
            adapt_payload: false,
            tail_copies: false,
            answer_copies: false,
            receive_timestamps: false,
            snd_buf: ByteCount::new(64_000),
            unsent_limit: None,
            rcv_buf: ByteCount::new(64_000),
            cwnd_init: 1,
            initial_burst: 0,
            least_mss: LEAST_MSS,
            cwnd_min: 1,
            max_burst: 8,
            burst_min: 4,
            timer_tick: Span::from_millis(10),
            timer_clock: TimerClock::Exact,
            catch_up: Span::ZERO,
            poll_rate: 3,
            poll_rate_max: 0,
            poll_rides: false,
            poll_in_data: false,
            poll_first_burst: true,
            poll_buf_ratio: 0.5,
            ustat_delay: 3,
            ustat_single: false,
            rtt_init: Span::from_secs(1),
            rto_min: Span::from_secs(1),
            backoff_max: 8,
            silence_ratio: 0.0,
            poll_share: 0.0,
            idle_threshold: Span::from_secs(3),
            persist_min: Span::from_millis(500),
            persist_max: Span::from_secs(60),
            keepalive: Span::from_secs(10),
            keepalive_max: 6,
            no_response: Span::ZERO,
            ctl_rto_init: Span::from_secs(1),
            ctl_rto_max: Span::from_secs(64),
            ctl_max_retries: Some(12),
            stat_max_gaps: 200,
            nagle: true,
            stat_rule: StatRule::Elapsed,
            rtx_paced: false,
            rtx_in_turn: false,
            probing: false,
            probe: ProbingConfig::default(),
            controller: Choice::stp(),
        }
    }
}

/// A setting that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{field}` {problem}")]
pub struct ConfigError {
    /// Name of the setting.
    pub field: &'static str,
    /// What is wrong and what would be right.
    pub problem: String,
}

impl Config {
    /// The paper's experiments (section 5). Sessions there must outlive outages of many minutes, so
    /// nothing gives up: the handshake repeats for ever and no keep-alive ends a silent session. Timers are exact:
    /// those of the system that they ran on are [`TimerClock::Jiffies`].
    pub fn paper() -> Self {
        Self { ctl_max_retries: None, keepalive: Span::ZERO, ..Self::default() }
    }

    /// Checks every setting and every combination.
    ///
    /// # Errors
    /// Names the first setting that cannot be, and what would be right.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let at_least_one = [
            ("cwnd_init", u64::from(self.cwnd_init)),
            ("cwnd_min", u64::from(self.cwnd_min)),
            ("max_burst", u64::from(self.max_burst)),
            ("poll_rate", u64::from(self.poll_rate)),
            ("ustat_delay", u64::from(self.ustat_delay)),
            ("backoff_max", u64::from(self.backoff_max)),
            ("stat_max_gaps", u64::from(self.stat_max_gaps)),
            ("timer_tick", self.timer_tick.as_nanos()),
            ("rtt_init", self.rtt_init.as_nanos()),
            ("persist_min", self.persist_min.as_nanos()),
            ("ctl_rto_init", self.ctl_rto_init.as_nanos()),
            ("probes_needed", u64::from(self.probe.probes_needed)),
        ];
        let wrong = |field, problem: String| Err(ConfigError { field, problem });
        for (field, value) in at_least_one {
            if value == 0 {
                return wrong(field, "is 0: it must be above zero".into());
            }
        }
        if self.mss < LEAST_MSS {
            return wrong("mss", format!("is {}: it must be {LEAST_MSS} to 65535", self.mss));
        }
        if self.least_mss < LEAST_MSS {
            let problem = format!("is {}: it must be {LEAST_MSS} to 65535", self.least_mss);
            return wrong("least_mss", problem);
        }
        let mss = u64::from(self.mss);
        for (field, value) in [("snd_buf", self.snd_buf), ("rcv_buf", self.rcv_buf)] {
            if value.get() < mss {
                return wrong(field, format!("is {value}: it must hold one segment of {mss} B"));
            }
        }
        if !(self.poll_buf_ratio > 0.0 && self.poll_buf_ratio <= 1.0) {
            let problem = format!("is {}: it must lie in 0..1 and above 0", self.poll_buf_ratio);
            return wrong("poll_buf_ratio", problem);
        }
        if !(0.0..=1.0).contains(&self.silence_ratio) {
            let problem = format!("is {}: it must lie in 0..=1", self.silence_ratio);
            return wrong("silence_ratio", problem);
        }
        if !(0.0..=1.0).contains(&self.poll_share) {
            let problem = format!("is {}: it must lie in 0..=1", self.poll_share);
            return wrong("poll_share", problem);
        }
        if self.persist_max < self.persist_min {
            return wrong("persist_max", "is below `persist_min`".into());
        }
        if self.ctl_rto_max < self.ctl_rto_init {
            return wrong("ctl_rto_max", "is below `ctl_rto_init`".into());
        }
        self.probe.validate()
    }

    /// Most segments of `mss` bytes that the window may reach: what the send buffer holds and what
    /// the 16-bit window field can grant.
    pub(super) fn cwnd_max(&self, mss: u16) -> u64 {
        (self.snd_buf.get() / u64::from(mss.max(1))).clamp(1, u64::from(u16::MAX))
    }
}

impl ProbingConfig {
    fn validate(&self) -> Result<(), ConfigError> {
        let wrong = |field, problem: String| Err(ConfigError { field, problem });
        if !(2..=1024).contains(&self.map_size) {
            return wrong("map_size", format!("is {}: it must lie in 2..=1024", self.map_size));
        }
        if self.probes_needed > self.map_size {
            let size = self.map_size;
            let problem =
                format!("is {}: it cannot exceed `map_size` = {size}", self.probes_needed);
            return wrong("probes_needed", problem);
        }
        if !(0.0..=10.0).contains(&self.rtt_tolerance) {
            let problem = format!("is {}: it must lie in 0..=10", self.rtt_tolerance);
            return wrong("rtt_tolerance", problem);
        }
        if !(0.0..=1.0).contains(&self.early_slack) {
            let problem = format!("is {}: it must lie in 0..=1", self.early_slack);
            return wrong("early_slack", problem);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_and_the_papers_settings_are_valid() {
        assert_eq!(Config::default().validate(), Ok(()));
        assert_eq!(Config::paper().validate(), Ok(()));
    }

    #[test]
    fn a_setting_that_can_not_be_is_named() {
        let field = |config: Config| config.validate().expect_err("refused").field;
        assert_eq!(field(Config { mss: 63, ..Config::default() }), "mss");
        assert_eq!(field(Config { poll_rate: 0, ..Config::default() }), "poll_rate");
        assert_eq!(field(Config { snd_buf: ByteCount::new(999), ..Config::default() }), "snd_buf");
        let probe = ProbingConfig { probes_needed: 5, ..ProbingConfig::default() };
        assert_eq!(field(Config { probe, ..Config::default() }), "probes_needed");
        let probe = ProbingConfig { rtt_tolerance: -0.1, ..ProbingConfig::default() };
        assert_eq!(field(Config { probe, ..Config::default() }), "rtt_tolerance");
    }
}
