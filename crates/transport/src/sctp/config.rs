//! Everything that can be set, with its default.

use bentpipe_cc::Choice;
use bentpipe_units::{ByteCount, Span};
use bentpipe_wire::sctp::{Data, Packet};

/// Smallest MTU of a path: less would multiply packets and work at a word of the network.
pub(super) const LEAST_MTU: u16 = 128;

/// Settings of an association. The two ends may differ.
#[derive(Clone, Debug)]
pub struct Config {
    /// Longest packet of a path at the start, IP header included, 128..=65535 bytes. Default 1500.
    pub mtu: u16,
    /// Longest packet that is looked for on each path, IP header included, at least `mtu`: HEARTBEATs with
    /// padding (RFC 4820) find out whether it carries longer ones than `mtu` (RFC 8899, section 6.2).
    /// `None` (default) for no search.
    pub mtu_most: Option<u16>,
    /// Bytes of the headers below SCTP in a packet: 20 for IPv4 (default), 28 in UDP (RFC 6951).
    pub ip_overhead: u16,
    /// Streams to send on; the peer may allow fewer. 1..=65535, default 10 (RFC 9260, section 5.1.1
    /// leaves it open).
    pub outbound_streams: u16,
    /// Most streams that the peer may send on, 1..=65535. Default 2048.
    pub inbound_streams: u16,
    /// How the application takes what arrives. Default one stream of bytes.
    pub view: View,
    /// Bytes of each message that [`Endpoint::write`](crate::Endpoint::write) makes; `None` (default)
    /// for as much as a packet holds.
    pub message: Option<u32>,
    /// Bytes that the sender keeps, sent or not, until they are acknowledged. Also bounds the
    /// congestion windows. Default 65,536.
    pub snd_buf: ByteCount,
    /// Bytes that the receiver keeps: parts of messages, messages that wait for earlier ones of their
    /// stream, and what the application has not read. Default 65,536, as ns-2 has it.
    pub rcv_buf: ByteCount,
    /// Bytes of messages that are complete in their stream but not yet in turn for a reader of several
    /// stripes, kept besides `rcv_buf`, as an application would that writes them to a file at their
    /// place. Default 16,777,216.
    pub stripe_buf: ByteCount,
    /// A packet that is not full waits while something is unacknowledged (RFC 9260, section 6.1).
    /// Default on.
    pub nagle: bool,
    /// A SACK leaves after so many packets with DATA, 1..=255. Default 2 (RFC 9260, section 6.2).
    pub sack_every: u8,
    /// The first packet with DATA is acknowledged at once. Default on (RFC 9260, section 5.1; RFC 2960 does not say so).
    pub sack_first: bool,
    /// A SACK waits no longer than this, at most 500 ms. Default 200 ms (SACK.Delay).
    pub sack_delay: Span,
    /// Timeout before the first measurement. Default 1 s (RTO.Initial; 3 s in RFC 2960).
    pub rto_init: Span,
    /// Smallest timeout. Default 1 s (RTO.Min).
    pub rto_min: Span,
    /// Largest timeout. Default 60 s (RTO.Max).
    pub rto_max: Span,
    /// Most full packets that an event may set free at once on a path; 0 for no limit. Default 4
    /// (Max.Burst).
    pub max_burst: u32,
    /// How long a state cookie is good. Default 60 s (Valid.Cookie.Life).
    pub cookie_life: Span,
    /// Timeouts in a row, on any path, that end the association. Default 10 (Association.Max.Retrans).
    pub association_max_retrans: u32,
    /// An open association ends when nothing was heard for so long, HEARTBEATs having asked for a word;
    /// [`Span::MAX`] (default) for no such limit. RFC 9260 counts timeouts only, and with several paths they
    /// come in less time.
    pub no_response: Span,
    /// Timeouts in a row that make a path inactive. Default 5 (Path.Max.Retrans).
    pub path_max_retrans: u32,
    /// How often INIT and COOKIE ECHO are retransmitted. Default 8 (Max.Init.Retransmits).
    pub max_init_retransmits: u32,
    /// Time between HEARTBEATs of an idle path besides its timeout; zero for none. Default 30 s
    /// (HB.interval).
    pub heartbeat: Span,
    /// Reports of a missing TSN that make it lost, 1..=255. Default 3 (RFC 9260, section 7.2.4).
    pub missing_reports: u8,
    /// Where retransmissions go. Default the other path after a timeout.
    pub rtx_policy: RtxPolicy,
    /// What the congestion window counts. Default [`Counting::Chunks`].
    pub counting: Counting,
    /// Congestion window of a new path in full packets, at least 1; `None` (default) for the rule of
    /// RFC 9260, section 7.2.1: min(4, max(2, 4404 B)).
    pub cwnd_init: Option<u32>,
    /// Offer ECN to the peer. Default off (RFC 4960, appendix A is no part of RFC 9260).
    pub ecn: bool,
    /// With ECN agreed on, a gap that no mark accompanies within a round trip is taken for damage: what
    /// is missing is retransmitted and the window stays. Default off.
    pub ecn_discriminates: bool,
    /// Offer changes of addresses while the association is open (RFC 5061), and the codes that they need (RFC 4895).
    /// Default off.
    pub asconf: bool,
    /// Congestion controller of each path. Default `sctp`.
    pub controller: Choice,
}

/// How the application takes what arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// As bytes. The writer lays its messages on so many streams in turn, and the reader, which must
    /// have the same number, puts them together in that order. With 1 it is a plain stream of bytes.
    Bytes {
        /// Number of streams, at least 1.
        stripes: u16,
    },
    /// As messages, with [`Association::receive`](super::Association::receive).
    Messages,
}

/// Where retransmissions go when there is more than one path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RtxPolicy {
    /// All to another active path (ns-2 with rtxToAlt; Fu, Atiquzzaman, Ivancic 2005, section IV-A).
    AltAll,
    /// After a timeout to another active path, else to the same (RFC 9260, section 6.4.1).
    AltTimeout,
    /// To the same path while it is active.
    Same,
}

/// What the congestion window counts, and how large its steps are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counting {
    /// DATA chunks with their headers, in steps of the longest chunk (RFC 9260, PMDCS).
    Chunks,
    /// Whole packets with one chunk each, in steps of the path's MTU (RFC 2960).
    Packets,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            mtu: 1500,
            mtu_most: None,
            ip_overhead: 20,
            outbound_streams: 10,
            inbound_streams: 2048,
            view: View::Bytes { stripes: 1 },
            message: None,
            snd_buf: ByteCount::new(65_536),
            rcv_buf: ByteCount::new(65_536),
            stripe_buf: ByteCount::new(1 << 24),
            nagle: true,
            sack_every: 2,
            sack_first: true,
            sack_delay: Span::from_millis(200),
            rto_init: Span::from_secs(1),
            rto_min: Span::from_secs(1),
            rto_max: Span::from_secs(60),
            max_burst: 4,
            cookie_life: Span::from_secs(60),
            association_max_retrans: 10,
            no_response: Span::MAX,
            path_max_retrans: 5,
            max_init_retransmits: 8,
            heartbeat: Span::from_secs(30),
            missing_reports: 3,
            rtx_policy: RtxPolicy::AltTimeout,
            counting: Counting::Chunks,
            cwnd_init: None,
            ecn: false,
            ecn_discriminates: false,
            asconf: false,
            controller: Choice::sctp(),
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
    /// The experiments of Fu, Atiquzzaman, Ivancic 2005 (table IV), on SCTP as RFC 2960 and ns-2 have
    /// it: 512 user bytes in a packet, windows counted in packets, retransmissions on the other path.
    /// Outages do not end associations there.
    pub fn paper() -> Self {
        Self {
            mtu: 560,
            sack_first: false,
            rto_init: Span::from_secs(3),
            nagle: false,
            association_max_retrans: u32::MAX,
            max_init_retransmits: u32::MAX,
            cookie_life: Span::from_secs(86_400),
            rtx_policy: RtxPolicy::AltAll,
            counting: Counting::Packets,
            cwnd_init: Some(2),
            controller: Choice::sctp_2000(20),
            ..Self::default()
        }
    }

    /// Checks every setting and every combination.
    ///
    /// # Errors
    /// Names the first setting that cannot be, and what would be right.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let wrong = |field, problem: String| Err(ConfigError { field, problem });
        let at_least_one = [
            ("outbound_streams", u64::from(self.outbound_streams)),
            ("inbound_streams", u64::from(self.inbound_streams)),
            ("message", u64::from(self.message.unwrap_or(1))),
            ("sack_every", u64::from(self.sack_every)),
            ("rto_init", self.rto_init.as_nanos()),
            ("rto_min", self.rto_min.as_nanos()),
            ("no_response", self.no_response.as_nanos()),
            ("cookie_life", self.cookie_life.as_nanos()),
            ("missing_reports", u64::from(self.missing_reports)),
            ("cwnd_init", u64::from(self.cwnd_init.unwrap_or(1))),
        ];
        for (field, value) in at_least_one {
            if value == 0 {
                return wrong(field, "is 0: it must be above zero".into());
            }
        }
        if self.mtu < LEAST_MTU {
            return wrong("mtu", format!("is {}: it must be {LEAST_MTU} to 65535", self.mtu));
        }
        if let Some(most) = self.mtu_most.filter(|most| *most < self.mtu) {
            return wrong(
                "mtu_most",
                format!("is {most}: it must be `mtu` = {} or more", self.mtu),
            );
        }
        if self.ip_overhead > 60 {
            return wrong("ip_overhead", format!("is {}: it must be 0 to 60", self.ip_overhead));
        }
        for (field, value) in [("snd_buf", self.snd_buf), ("rcv_buf", self.rcv_buf)] {
            let full = self.payload(self.mtu) as u64;
            if !(full..=1 << 31).contains(&value.get()) {
                let problem =
                    format!("is {value}: it must hold one chunk of {full} B, at most 2 GiB");
                return wrong(field, problem);
            }
        }
        if u64::from(self.message.unwrap_or(1)) > self.snd_buf.get() {
            return wrong("message", "is longer than `snd_buf`: it must fit into it".into());
        }
        if self.sack_delay > Span::from_millis(500) {
            return wrong("sack_delay", "is above 500 ms: RFC 9260 forbids that".into());
        }
        if self.rto_max < self.rto_min || self.rto_max < self.rto_init {
            return wrong("rto_max", "is below `rto_min` or `rto_init`".into());
        }
        if let View::Bytes { stripes } = self.view
            && (stripes == 0 || stripes > self.outbound_streams)
        {
            let most = self.outbound_streams;
            return wrong(
                "stripes",
                format!("is {stripes}: it must be 1 to `outbound_streams` = {most}"),
            );
        }
        if self.ecn_discriminates && !self.ecn {
            return wrong("ecn_discriminates", "is on without `ecn`: it needs marks".into());
        }
        Ok(())
    }

    /// Room for chunks in a packet of this length.
    pub(super) fn room(&self, mtu: u16) -> usize {
        usize::from(mtu.max(LEAST_MTU) - self.ip_overhead) - Packet::HEADER
    }

    /// User bytes of a full chunk on a path of this MTU, a multiple of four.
    pub(super) fn payload(&self, mtu: u16) -> usize {
        (self.room(mtu) - Data::HEADER) / 4 * 4
    }

    /// What a chunk costs of the congestion window besides its user bytes.
    pub(super) const fn charge(&self) -> usize {
        match self.counting {
            Counting::Chunks => Data::HEADER,
            Counting::Packets => Data::HEADER + Packet::HEADER + self.ip_overhead as usize,
        }
    }

    /// Number of streams that the plain view reads and writes.
    pub(super) const fn stripes(&self) -> u16 {
        match self.view {
            View::Bytes { stripes } => stripes,
            View::Messages => 1,
        }
    }

    /// Most streams that the peer may send on: where bytes are read, those that are.
    pub(super) fn most_inbound(&self) -> u16 {
        match self.view {
            View::Bytes { stripes } => stripes.min(self.inbound_streams),
            View::Messages => self.inbound_streams,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_valid_and_fill_a_packet() {
        let config = Config::default();
        assert_eq!(config.validate(), Ok(()));
        assert_eq!((config.room(1500), config.payload(1500)), (1468, 1452));
        assert_eq!(config.payload(1500) + config.charge(), 1468);
        let paper = Config::paper();
        assert_eq!((paper.validate(), paper.payload(560)), (Ok(()), 512));
        let packets = Config { counting: Counting::Packets, ..config };
        assert_eq!(packets.payload(1500) + packets.charge(), 1500);
    }

    #[test]
    fn a_setting_that_can_not_be_is_named() {
        let field = |config: Config| config.validate().expect_err("refused").field;
        let base = Config::default;
        assert_eq!(field(Config { mtu: 100, ..base() }), "mtu");
        assert_eq!(field(Config { mtu_most: Some(1400), ..base() }), "mtu_most");
        assert_eq!(field(Config { rcv_buf: ByteCount::new(1000), ..base() }), "rcv_buf");
        assert_eq!(field(Config { view: View::Bytes { stripes: 11 }, ..base() }), "stripes");
        assert_eq!(field(Config { ecn_discriminates: true, ..base() }), "ecn_discriminates");
        assert_eq!(field(Config { rto_max: Span::from_millis(1), ..base() }), "rto_max");
        assert_eq!(field(Config { sack_every: 0, ..base() }), "sack_every");
        assert_eq!(field(Config { message: Some(70_000), ..base() }), "message");
    }
}
