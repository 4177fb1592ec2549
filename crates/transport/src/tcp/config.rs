//! Everything that can be set, with its default.

use bentpipe_cc::Choice;
use bentpipe_units::{ByteCount, Span};
use bentpipe_wire::Ecn;

use super::recovery::Mode;
use crate::LEAST_MSS;

/// Settings of a connection. The two ends may differ.
#[derive(Clone, Debug)]
pub struct Config {
    /// Largest segment that this end takes, in bytes of payload without options (the MSS option),
    /// 64..=65535. What it sends is the smaller one of both ends, less the options of every segment
    /// (RFC 6691). Default 1460: IPv4 on Ethernet.
    pub mss: u16,
    /// Segments begin as short as nearly every path carries them, in packets of 1024 bytes, and probes look for the
    /// longest that arrive (RFC 4821, RFC 8899): for paths whose routers do not say that packets are too long.
    /// Default off: segments are as long as both ends take until a router says something else (RFC 1191).
    pub mtu_search: bool,
    /// The sender frees what the peer has reported, before it is acknowledged. The peer must keep what it
    /// reports whatever happens (Zhou and Baras, section IV); one that does not will stall the connection
    /// until it is dropped. Only with [`Mode::DepartureOrder`]. Default off.
    pub release_reported: bool,
    /// The window field counts segments of the MSS that the receiver of them stated in its SYN, and is not
    /// shifted (Zhou and Baras, section III.A). Both ends must be set to it: it is not negotiated. The
    /// window of a SYN is in bytes. Default off.
    pub window_in_segments: bool,
    /// Bytes that the sender keeps, sent or not, until they are acknowledged. Also bounds the
    /// congestion window. Default 4 MB: 55 Mbit/s over a geostationary satellite.
    pub snd_buf: ByteCount,
    /// Bytes that the receiver keeps for the application; the window that it grants. Default 4 MB.
    pub rcv_buf: ByteCount,
    /// The receive buffer begins with so much and grows to `rcv_buf`: to more than twice of what was read in a round
    /// trip (dynamic right-sizing, as in Linux). `None` is `rcv_buf` at once. Default `None`.
    pub rcv_buf_initial: Option<ByteCount>,
    /// Windows of more than 65,535 bytes (RFC 7323, section 2). Default on.
    pub window_scaling: bool,
    /// The timestamps option, with PAWS (RFC 7323, sections 3 to 5). Default on.
    pub timestamps: bool,
    /// Selective acknowledgements (RFC 2018). Default on.
    pub sack: bool,
    /// Reports of what came twice (RFC 2883). Default on.
    pub dsack: bool,
    /// Explicit congestion notification. Default off.
    pub ecn: EcnMode,
    /// How losses are found and repaired. Default SACK.
    pub recovery: Mode,
    /// Duplicate acknowledgements that show a loss, 1..=255 (RFC 5681). Default 3.
    pub dup_threshold: u32,
    /// The first two duplicate acknowledgements let a new segment go (RFC 3042). Default on.
    pub limited_transmit: bool,
    /// A loss that timestamps or reports of what came twice show to have been none is told to the controller
    /// (RFC 3522, RFC 3708, RFC 4015). Default on.
    pub undo: bool,
    /// A probe leaves after two round trips without an answer, before the timeout (RFC 8985, section 7). Needs SACK
    /// at both ends. Default off.
    pub tail_loss_probe: bool,
    /// While losses are repaired the window is reduced in proportion to what arrives (RFC 6937), unless the controller
    /// sees to that itself. Of no effect but with [`Mode::Rack`]. Default off: it is what the controller says at once.
    pub proportional_reduction: bool,
    /// A loss is answered only after two exchanges of probes have shown that the round trip has grown
    /// (TCP-Probing, Tsaoussidis and Badr 2000). Needs SACK at both ends, and of a peer without D-SACK a path
    /// that keeps order.
    /// Default off.
    pub probing: bool,
    /// Most segments that AeroTCP sends again for one acknowledgement, at least 1. Default 64.
    pub aero_burst: u32,
    /// AeroTCP guesses the length of a gap from how far acknowledgements advance. Default off.
    pub aero_adaptive: bool,
    /// Congestion window of a new connection. Default RFC 6928.
    pub initial_window: InitialWindow,
    /// Smallest congestion window in segments, at least 1. Default 1.
    pub cwnd_min: u32,
    /// Largest congestion window; `None` for the send buffer. Default `None`.
    pub cwnd_max: Option<ByteCount>,
    /// After idle time longer than the retransmission timeout the window starts over (RFC 5681,
    /// section 4.1). Default on.
    pub idle_restart: bool,
    /// It is halved for each timeout that passed in place of starting over (RFC 2861, section 3.1). Default off.
    pub idle_halving: bool,
    /// New data and repairs are spread over the round trip where the controller has no pace of its own: at twice the window in one in
    /// slow start, at 1.2 times after, as Linux does under the queueing discipline `fq`. Default off.
    pub pacing: bool,
    /// Most segments sent for one acknowledgement or timer; 0 for no limit. Default 0.
    pub max_burst: u32,
    /// A short segment waits until nothing is unacknowledged (RFC 9293, section 3.7.4). Default on.
    pub nagle: bool,
    /// Retransmission timeout before the first sample (RFC 6298, section 2). Default 1 s.
    pub rto_initial: Span,
    /// Smallest retransmission timeout. Default 1 s (RFC 6298, rule 2.4).
    pub rto_min: Span,
    /// Largest retransmission timeout. Default 60 s (RFC 6298, rule 2.5).
    pub rto_max: Span,
    /// How much longer than a round trip the timeout is. Default RFC 6298.
    pub rto_margin: RtoMargin,
    /// Granularity of the clock that measures round trips: a sample is how often it ticked, and it is
    /// the least that variation adds to the timeout (G in RFC 6298). Default 1 ms.
    pub tick: Span,
    /// A sample from each acknowledgement, with smaller gains (RFC 7323, appendix G). Off times one segment at a
    /// time, and none that is retransmitted or waits for one that is; the smoothed values are kept in eighths and
    /// quarters of a tick (RFC 6298, section 3, as 4.3BSD did it). Default on.
    pub sample_every_ack: bool,
    /// The timeout takes its samples from the echo of every acknowledgement, also of duplicates, whose echo
    /// is as old as the hole. That is against RFC 7323, section 4.1, and what the agent of ns-2 for Linux'
    /// controllers does; for comparisons with it. Default off.
    pub sample_duplicates: bool,
    /// How often a SYN or SYN-ACK is retransmitted; `None` for ever. Default 6.
    pub syn_retries: Option<u32>,
    /// Timeouts in a row before the connection is dropped; `None` for ever. Default 15.
    pub retries: Option<u32>,
    /// Segments for which there is one acknowledgement, 1..=32; 1 is no delay. Default 2 (RFC 5681).
    pub ack_every: u32,
    /// Longest delay of an acknowledgement, at most 500 ms (RFC 5681, section 4.2). Default 200 ms.
    pub ack_delay: Span,
    /// An acknowledgement leaves this part of a round trip after the first segment that it is for, however many have
    /// come, as SCPS-TP does it (CCSDS 714.0-B-2): 0..=32; 0 for `ack_every` and `ack_delay`, which also count
    /// until a round trip is known. The senders of such ends want a pace. Default 0.
    pub acks_per_rtt: u32,
    /// The first so many segments are acknowledged one by one, for the peer's slow start, and those after idle time
    /// longer than a timeout. Default 0.
    pub quick_acks: u32,
    /// A segment out of order is acknowledged at once (RFC 5681, section 4.2); off counts it like any
    /// other. Default on.
    pub ack_disorder_at_once: bool,
    /// After three acknowledgements that report the same hole the next ones wait for so long at most, and for a
    /// twentieth of a round trip (Linux). Zero for no wait. Default zero.
    pub compressed_acks: Span,
    /// Idle time before a keep-alive; zero for none (RFC 9293, section 3.8.4). Default none.
    pub keepalive: Span,
    /// Time between keep-alives without an answer. Default 75 s.
    pub keepalive_interval: Span,
    /// Keep-alives without an answer before the connection is dropped. Default 9.
    pub keepalive_max: u32,
    /// Longest time between probes of a closed window. Default 60 s.
    pub persist_max: Span,
    /// How long a closed connection answers late segments (RFC 9293, section 3.6.1: two segment
    /// lifetimes, which are as short here as the simulated paths). Default 1 s.
    pub time_wait: Span,
    /// Congestion controller. Default Reno.
    pub controller: Choice,
}

/// The congestion window of a new connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitialWindow {
    /// So many segments.
    Segments(u32),
    /// min(4 MSS, max(2 MSS, 4380 B)) (RFC 3390).
    Rfc3390,
    /// min(10 MSS, max(2 MSS, 14600 B)) (RFC 6928).
    Rfc6928,
}

/// What marks of routers mean to both ends. They agree on marks as RFC 3168 says; how they tell each other of them is not
/// negotiated, so that both ends must be set alike.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EcnMode {
    /// Packets are lost, not marked.
    #[default]
    Off,
    /// A mark is told until the sender has reduced its window, once in a round trip (RFC 3168).
    Classic,
    /// Each mark is told, and how many there were: acknowledgements say whether what they are for was marked (RFC 8257,
    /// section 3.2).
    Dctcp,
    /// As [`EcnMode::Dctcp`], with packets that ask for a queue of low latency by ECT(1) (RFC 9331).
    L4s,
}

impl EcnMode {
    /// The ends heed marks.
    pub const fn is_on(self) -> bool {
        !matches!(self, Self::Off)
    }

    /// Each mark is told.
    pub const fn tells_each(self) -> bool {
        matches!(self, Self::Dctcp | Self::L4s)
    }

    /// The code point of data.
    pub(super) const fn codepoint(self) -> Ecn {
        match self {
            Self::Off => Ecn::NotCapable,
            Self::Classic | Self::Dctcp => Ecn::Capable0,
            Self::L4s => Ecn::Capable1,
        }
    }
}

/// How much longer than the smoothed round trip the retransmission timeout is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RtoMargin {
    /// Four times the variation; the timeout is at least `rto_min`.
    Rfc6298,
    /// Four times the mean deviation of the last round trips, to which shorter ones hardly add, and at least `rto_min`
    /// (tcp_rtt_estimator of Linux).
    Linux,
}

impl InitialWindow {
    /// The window in bytes for segments of `mss` bytes.
    pub(super) fn bytes(self, mss: u64) -> u64 {
        match self {
            Self::Segments(n) => u64::from(n) * mss,
            Self::Rfc3390 => (4 * mss).min((2 * mss).max(4380)),
            Self::Rfc6928 => (10 * mss).min((2 * mss).max(14_600)),
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            mss: 1460,
            mtu_search: false,
            release_reported: false,
            window_in_segments: false,
            snd_buf: ByteCount::new(4_000_000),
            rcv_buf: ByteCount::new(4_000_000),
            rcv_buf_initial: None,
            window_scaling: true,
            timestamps: true,
            sack: true,
            dsack: true,
            ecn: EcnMode::Off,
            recovery: Mode::Sack,
            dup_threshold: 3,
            limited_transmit: true,
            undo: true,
            tail_loss_probe: false,
            proportional_reduction: false,
            probing: false,
            aero_burst: 64,
            aero_adaptive: false,
            initial_window: InitialWindow::Rfc6928,
            cwnd_min: 1,
            cwnd_max: None,
            idle_restart: true,
            idle_halving: false,
            pacing: false,
            max_burst: 0,
            nagle: true,
            rto_initial: Span::from_secs(1),
            rto_min: Span::from_secs(1),
            rto_max: Span::from_secs(60),
            rto_margin: RtoMargin::Rfc6298,
            tick: Span::from_millis(1),
            sample_every_ack: true,
            sample_duplicates: false,
            syn_retries: Some(6),
            retries: Some(15),
            ack_every: 2,
            ack_delay: Span::from_millis(200),
            acks_per_rtt: 0,
            quick_acks: 0,
            ack_disorder_at_once: true,
            compressed_acks: Span::ZERO,
            keepalive: Span::ZERO,
            keepalive_interval: Span::from_secs(75),
            keepalive_max: 9,
            persist_max: Span::from_secs(60),
            time_wait: Span::from_secs(1),
            controller: Choice::reno(),
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
    /// The agents of ns-2.35: segments of 1000 bytes, a window of at most 2000 of them, an initial one
    /// of two, an acknowledgement for each segment, no timestamps, a timeout of 3 s at first and of at
    /// least 0.2 s, a clock of 10 ms that times one segment in a round trip.
    pub fn ns2() -> Self {
        let window = ByteCount::new(2_000 * 1_000);
        Self {
            mss: 1000,
            snd_buf: window,
            rcv_buf: window,
            timestamps: false,
            dsack: false,
            undo: false,
            initial_window: InitialWindow::Segments(2),
            idle_restart: false,
            nagle: false,
            rto_initial: Span::from_secs(3),
            rto_min: Span::from_millis(200),
            tick: Span::from_millis(10),
            sample_every_ack: false,
            syn_retries: None,
            retries: None,
            ack_every: 1,
            ..Self::default()
        }
    }

    /// A host with Linux 6 and its defaults: losses found by time (RFC 8985), reduced in proportion (RFC 6937), a
    /// timeout of at least 200 ms beyond the round trip and at most 120 s, windows that grow with what is read. The
    /// controller is CUBIC (scenarios set its `linux = 2`). `fq` is not installed, so that only BBR is paced.
    pub fn linux() -> Self {
        Self {
            snd_buf: ByteCount::new(4 << 20),
            rcv_buf: ByteCount::new(12_000_000),
            rcv_buf_initial: Some(ByteCount::new(65_535)),
            recovery: Mode::Rack,
            tail_loss_probe: true,
            proportional_reduction: true,
            rto_margin: RtoMargin::Linux,
            rto_min: Span::from_millis(200),
            rto_max: Span::from_secs(120),
            ack_delay: Span::from_millis(40),
            idle_halving: true,
            quick_acks: 16,
            compressed_acks: Span::from_millis(1),
            controller: Choice::cubic(),
            ..Self::default()
        }
    }

    /// Checks every setting and every combination.
    ///
    /// # Errors
    /// Names the first setting that cannot be, and what would be right.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let wrong = |field, problem: String| Err(ConfigError { field, problem });
        let ranges = [
            ("mss", u64::from(self.mss), u64::from(LEAST_MSS), u64::from(u16::MAX)),
            ("dup_threshold", u64::from(self.dup_threshold), 1, 255),
            ("ack_every", u64::from(self.ack_every), 1, 32),
            ("acks_per_rtt", u64::from(self.acks_per_rtt), 0, 32),
            ("cwnd_min", u64::from(self.cwnd_min), 1, u64::from(u32::MAX)),
            ("aero_burst", u64::from(self.aero_burst), 1, u64::from(u32::MAX)),
            ("keepalive_max", u64::from(self.keepalive_max), 1, u64::from(u32::MAX)),
            // RFC 7323, section 2.3: the window stays below 2^30.
            ("rcv_buf", self.rcv_buf.get(), u64::from(self.mss), 1 << 30),
            ("snd_buf", self.snd_buf.get(), u64::from(self.mss), 1 << 30),
        ];
        for (field, value, low, high) in ranges {
            if !(low..=high).contains(&value) {
                return wrong(field, format!("is {value}: it must lie in {low}..={high}"));
            }
        }
        if self.initial_window == InitialWindow::Segments(0) {
            return wrong("initial_window", "is 0: it must be above zero".into());
        }
        if self.cwnd_max.is_some_and(|most| most.get() < u64::from(self.mss)) {
            let problem = format!("must hold one segment of {} B", self.mss);
            return wrong("cwnd_max", problem);
        }
        for (field, span) in [
            ("rto_initial", self.rto_initial),
            ("rto_min", self.rto_min),
            ("persist_max", self.persist_max),
            ("keepalive_interval", self.keepalive_interval),
        ] {
            if span < Span::from_millis(1) {
                return wrong(field, format!("is {span}: it must be 1 ms or more"));
            }
        }
        if self.rto_max < self.rto_min || self.rto_max < self.rto_initial {
            return wrong("rto_max", "is below `rto_min` or `rto_initial`".into());
        }
        if self.rcv_buf_initial.is_some_and(|first| first.get() < u64::from(self.mss)) {
            let problem = format!("must hold one segment of {} B", self.mss);
            return wrong("rcv_buf_initial", problem);
        }
        if self.ack_delay > Span::from_millis(500) {
            return wrong("ack_delay", format!("is {}: it must be at most 500 ms", self.ack_delay));
        }
        if self.release_reported && self.recovery != Mode::DepartureOrder {
            let problem =
                "is on: only departure-order recovery never sends again what was reported";
            return wrong("release_reported", problem.into());
        }
        if !self.sack && self.probing {
            return wrong("sack", "is off: `probing` needs it".into());
        }
        if !self.sack && self.recovery.needs_reports() {
            return wrong("sack", "is off: this `recovery` needs it".into());
        }
        if self.probing && self.snacks() {
            let problem = "is on: probes are answered by SACK, not by `recovery` with SNACK";
            return wrong("probing", problem.into());
        }
        Ok(())
    }

    /// What is missing is asked for by SNACK, if the peer does so as well.
    pub(super) const fn snacks(&self) -> bool {
        matches!(self.recovery, Mode::Snack)
    }

    /// The receive buffer of a new connection in bytes.
    pub(super) fn first_rcv_buf(&self) -> u64 {
        self.rcv_buf_initial.unwrap_or(self.rcv_buf).min(self.rcv_buf).get()
    }

    /// Largest congestion window in bytes.
    pub(super) fn cwnd_most(&self) -> u64 {
        self.cwnd_max.unwrap_or(self.snd_buf).min(self.snd_buf).get()
    }

    /// Bytes that the windows which this end states count by. The right edge of a window never moves back,
    /// so that up to one byte less than this more than `rcv_buf` may arrive.
    pub fn window_unit(&self) -> u64 {
        if self.window_in_segments {
            self.mss.into()
        } else {
            1 << self.window_shift().unwrap_or(0)
        }
    }

    /// By how many places the windows that this end states are shifted, if it offers that.
    pub(super) fn window_shift(&self) -> Option<u8> {
        let bits = u64::BITS - self.rcv_buf.get().leading_zeros();
        let scales = self.window_scaling && !self.window_in_segments;
        scales.then(|| bits.saturating_sub(16).min(14) as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_and_those_of_ns2_are_valid() {
        assert_eq!(Config::default().validate(), Ok(()));
        assert_eq!(Config::ns2().validate(), Ok(()));
    }

    #[test]
    fn a_setting_that_can_not_be_is_named() {
        let field = |config: Config| config.validate().expect_err("refused").field;
        assert_eq!(field(Config { mss: 63, ..Config::default() }), "mss");
        assert_eq!(field(Config { ack_every: 33, ..Config::default() }), "ack_every");
        assert_eq!(field(Config { acks_per_rtt: 33, ..Config::default() }), "acks_per_rtt");
        assert_eq!(field(Config { sack: false, ..Config::default() }), "sack");
        assert_eq!(field(Config { rcv_buf: ByteCount::new(99), ..Config::default() }), "rcv_buf");
        assert_eq!(field(Config { rto_min: Span::ZERO, ..Config::default() }), "rto_min");
        let ack_delay = Span::from_millis(501);
        assert_eq!(field(Config { ack_delay, ..Config::default() }), "ack_delay");
        assert_eq!(
            field(Config { release_reported: true, ..Config::default() }),
            "release_reported"
        );
        let initial_window = InitialWindow::Segments(0);
        assert_eq!(field(Config { initial_window, ..Config::default() }), "initial_window");
    }

    #[test]
    fn initial_windows_are_those_of_the_rfcs() {
        for (mss, old, new) in [(500, 2000, 5000), (1460, 4380, 14_600), (4000, 8000, 14_600)] {
            assert_eq!(InitialWindow::Rfc3390.bytes(mss), old);
            assert_eq!(InitialWindow::Rfc6928.bytes(mss), new);
        }
        assert_eq!(InitialWindow::Rfc3390.bytes(3000), 6000);
    }

    #[test]
    fn the_window_shift_is_the_least_that_can_state_the_buffer() {
        for (bytes, shift) in [(65_535, 0), (65_536, 1), (4_000_000, 6), (1 << 30, 14)] {
            let config = Config { rcv_buf: ByteCount::new(bytes), ..Config::default() };
            assert_eq!(config.window_shift(), Some(shift), "{bytes}");
        }
    }
}
