//! Opening a connection, and what the ends agree on while it opens.

use bentpipe_units::{Instant, Span};
use bentpipe_wire::tcp::{Flags, Options, ScpsCapabilities, Segment, SynOptions, Timestamps};

use super::agreed::Agreed;
use super::timers::Exhausted;
use super::{Config, EcnMode};
use crate::LEAST_MSS;

/// Bytes of the headers of IPv4 and TCP without options.
const PLAIN_HEADERS: u16 = 40;
/// What a peer takes that does not say (RFC 9293, section 3.7.1).
const DEFAULT_MSS: u16 = 536;

/// Our SYN, or SYN-ACK, until it is acknowledged.
#[derive(Debug)]
pub(super) struct Handshake {
    /// It is to be sent.
    due: bool,
    /// It answers the peer's.
    answers: bool,
    /// What the peer's SYN offered.
    offered: Offer,
    sent: u32,
    sent_at: Instant,
    at: Option<Instant>,
    wait: Span,
    longest: Span,
    retries: Option<u32>,
}

/// Both forms of SNACK: that of the first hole and that with the vector behind it.
const SNACKS: u8 = ScpsCapabilities::SNACK1 | ScpsCapabilities::SNACK2;

/// What a SYN offers, as far as this end offers it as well.
#[derive(Clone, Copy, Debug, Default)]
struct Offer {
    mss: Option<u16>,
    shift: Option<u8>,
    sack: bool,
    snack: bool,
    timestamps: bool,
    ecn: EcnMode,
}

impl Handshake {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            due: true,
            answers: false,
            offered: Offer::default(),
            sent: 0,
            sent_at: Instant::ZERO,
            at: None,
            wait: config.rto_initial,
            longest: config.rto_max,
            retries: config.syn_retries,
        }
    }

    /// The SYN leaves.
    fn sent(&mut self, now: Instant) {
        if self.sent > 0 {
            self.wait = (self.wait * 2).min(self.longest);
        }
        self.due = false;
        self.sent += 1;
        self.sent_at = now;
        self.at = Some(now + self.wait);
    }

    /// It is to be sent.
    #[inline]
    pub(super) const fn is_due(&self) -> bool {
        self.due
    }

    /// It is to be sent now.
    pub(super) const fn ask(&mut self) {
        self.due = true;
    }

    /// It leaves, or leaves again, when the link is up.
    pub(super) fn rest(&mut self) {
        self.due |= self.at.take().is_some();
    }

    /// It is acknowledged, or there is nothing to open any more.
    pub(super) fn stop(&mut self) {
        self.due = false;
        self.at = None;
    }

    /// When [`Handshake::handle_timeout`] must be called.
    pub(super) const fn deadline(&self) -> Option<Instant> {
        self.at
    }

    /// The answer may be late.
    ///
    /// # Errors
    /// When it was asked for often enough.
    pub(super) fn handle_timeout(&mut self, now: Instant) -> Result<(), Exhausted> {
        if self.at.is_some_and(|at| at <= now) {
            self.at = None;
            if self.retries.is_some_and(|most| self.sent > most) {
                return Err(Exhausted);
            }
            self.due = true;
        }
        Ok(())
    }

    /// The peer's SYN, with or without an acknowledgement, offers something.
    pub(super) fn take_offer(&mut self, config: &Config, segment: &Segment) {
        let flags = segment.flags;
        let syn = match &segment.options {
            Options::Syn(syn) => *syn,
            _ => SynOptions::default(),
        };
        // RFC 3168, section 6.1.1: a SYN sets both bits, its answer only one.
        let marks =
            flags.contains(Flags::ECE) && flags.contains(Flags::CWR) != flags.contains(Flags::ACK);
        self.offered = Offer {
            mss: syn.mss,
            shift: syn.window_shift.filter(|_| config.window_scaling),
            sack: syn.sack_permitted && config.sack,
            snack: syn.scps.is_some_and(|scps| scps.bits & SNACKS == SNACKS) && config.snacks(),
            timestamps: segment.timestamps.is_some() && config.timestamps,
            ecn: if marks { config.ecn } else { EcnMode::Off },
        };
        self.answers = true;
    }

    /// Both ends use timestamps.
    pub(super) const fn has_timestamps(&self) -> bool {
        self.offered.timestamps
    }

    /// What congestion marks mean to both ends.
    pub(super) const fn ecn(&self) -> EcnMode {
        self.offered.ecn
    }

    /// Bytes that the windows which this end states count by.
    pub(super) fn window_unit(&self, config: &Config) -> u64 {
        match config.window_shift().filter(|_| self.offered.shift.is_some()) {
            None if !config.window_in_segments => 1,
            _ => config.window_unit(),
        }
    }

    /// It is acknowledged: what both ends agreed on, where so many bytes of every segment are options, and how long
    /// it took if it was sent once.
    pub(super) fn complete(
        &mut self,
        now: Instant,
        config: &Config,
        options: u16,
    ) -> (Agreed, Option<Span>) {
        self.stop();
        let offered = self.offered;
        let peer = offered.mss.unwrap_or(DEFAULT_MSS).max(LEAST_MSS);
        let mss = config.mss.min(peer) - options;
        let shift = offered.shift.unwrap_or(0);
        let agreed = Agreed {
            mss,
            headers: PLAIN_HEADERS + options,
            window_unit: if config.window_in_segments { peer.into() } else { 1 << shift },
            reports: offered.sack || offered.snack,
            snacks: offered.snack.then_some(u64::from(mss)),
            syn_lost: self.sent > 1,
        };
        (agreed, (self.sent == 1).then(|| now.since(self.sent_at)))
    }

    /// It leaves: its flags, its options, and the timestamps if it has them.
    pub(super) fn take_syn(
        &mut self,
        now: Instant,
        config: &Config,
        timestamps: Timestamps,
    ) -> Segment {
        let (answers, offered) = (self.answers, self.offered);
        // RFC 3168, section 6.1.1.1: a network that drops such a SYN gets one without the offer.
        let ecn = if answers { offered.ecn.is_on() } else { config.ecn.is_on() && self.sent == 0 };
        let mut flags = Flags::SYN;
        if answers {
            flags = flags.with(Flags::ACK);
        }
        if ecn {
            flags = flags.with(Flags::ECE);
            flags = if answers { flags } else { flags.with(Flags::CWR) };
        }
        self.sent(now);
        Segment {
            flags,
            timestamps: (if answers { offered.timestamps } else { config.timestamps })
                .then_some(timestamps),
            options: Options::Syn(SynOptions {
                mss: Some(config.mss),
                window_shift: config.window_shift().filter(|_| !answers || offered.shift.is_some()),
                sack_permitted: if answers { offered.sack } else { config.sack },
                scps: (if answers { offered.snack } else { config.snacks() })
                    .then_some(ScpsCapabilities { bits: SNACKS, connection_id: 0 }),
            }),
            ..Segment::default()
        }
    }

    /// It answers the peer's.
    pub(super) const fn is_answer(&self) -> bool {
        self.answers
    }
}
