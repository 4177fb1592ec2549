//! Opening a connection, and what the ends agree on while it opens.

use bentpipe_units::{Instant, Span};
use bentpipe_wire::tcp::{Flags, Options, ScpsCapabilities, Segment, SynOptions};

use super::Config;
use super::connection::{Connection, Stage};
use super::encode::TIMESTAMPS_LEN;
use super::receiver::Receiver;
use super::sender::Agreed;
use super::timers::Exhausted;
use crate::{Failure, LEAST_MSS};

/// Bytes of the headers of IPv4 and TCP without options.
const PLAIN_HEADERS: u16 = 40;
/// What a peer takes that does not say (RFC 9293, section 3.7.1).
const DEFAULT_MSS: u16 = 536;

/// Our SYN, or SYN-ACK, until it is acknowledged.
#[derive(Debug)]
pub(super) struct Handshake {
    /// It is to be sent.
    pub(super) due: bool,
    /// It answers the peer's.
    pub(super) answers: bool,
    /// The peer opened the connection.
    pub(super) passive: bool,
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
    ecn: bool,
}

impl Handshake {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            due: true,
            answers: false,
            passive: false,
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
}

impl Connection {
    /// The peer's SYN, with or without an acknowledgement.
    pub(super) fn take_syn(&mut self, now: Instant, segment: &Segment) {
        let (config, flags) = (&self.config, segment.flags);
        let syn = match &segment.options {
            Options::Syn(syn) => *syn,
            _ => SynOptions::default(),
        };
        // RFC 3168, section 6.1.1: a SYN sets both bits, its answer only one.
        let marks =
            flags.contains(Flags::ECE) && flags.contains(Flags::CWR) != flags.contains(Flags::ACK);
        self.handshake.offered = Offer {
            mss: syn.mss,
            shift: syn.window_shift.filter(|_| config.window_scaling),
            sack: syn.sack_permitted && config.sack,
            snack: syn.scps.is_some_and(|scps| scps.bits & SNACKS == SNACKS) && config.snacks(),
            timestamps: segment.timestamps.is_some() && config.timestamps,
            ecn: marks && config.ecn,
        };
        self.stamped = self.handshake.offered.timestamps;
        self.ecn.agree(self.handshake.offered.ecn);
        if let Some(stamps) = segment.timestamps.filter(|_| self.stamped) {
            self.timestamps.take(now, stamps.value);
        }
        let shift = config.window_shift().filter(|_| self.handshake.offered.shift.is_some());
        let unit = match shift {
            None if !config.window_in_segments => 1,
            _ => config.window_unit(),
        };
        self.rx = Receiver::new(config.clone(), segment.seq, unit);
        self.handshake.answers = true;
    }

    /// Our SYN is acknowledged by a segment whose window field is `window`.
    pub(super) fn establish(&mut self, now: Instant, window: u16, scaled: bool) {
        let offered = self.handshake.offered;
        self.handshake.stop();
        let options = if self.stamped { TIMESTAMPS_LEN as u16 } else { 0 };
        let peer = offered.mss.unwrap_or(DEFAULT_MSS).max(LEAST_MSS);
        let mss = self.config.mss.min(peer) - options;
        let shift = offered.shift.unwrap_or(0);
        let window_unit = if self.config.window_in_segments { peer.into() } else { 1 << shift };
        if self.handshake.sent == 1 {
            let measured = now.since(self.handshake.sent_at);
            self.tx.sample_handshake(measured);
            self.rx.know_rtt(measured);
        }
        let syn_lost = self.handshake.sent > 1;
        let snacks = offered.snack.then_some(u64::from(mss));
        let reports = offered.sack || offered.snack;
        let headers = PLAIN_HEADERS + options;
        let agreed = Agreed { mss, headers, window_unit, reports, snacks, syn_lost };
        let window = if scaled { u64::from(window) * window_unit } else { u64::from(window) };
        self.tx.open(now, agreed, window, 0);
        self.stage = Stage::Open;
        self.pending.connect();
        self.last_heard = now;
    }

    /// A segment while our SYN is out (RFC 9293, section 3.10.7.3).
    #[cold]
    pub(super) fn handle_in_syn_sent(&mut self, now: Instant, segment: &Segment) {
        let flags = segment.flags;
        let acknowledges = flags.contains(Flags::ACK);
        if acknowledges && self.tx.offset(segment.ack) != 1 {
            self.ignore();
            if !flags.contains(Flags::RST) {
                self.reset = Some((segment.ack, None));
            }
            return;
        }
        if flags.contains(Flags::RST) {
            if acknowledges {
                self.drop_connection(Some(Failure::ResetByPeer));
            } else {
                self.ignore();
            }
            return;
        }
        if !flags.contains(Flags::SYN) {
            return self.ignore();
        }
        self.take_syn(now, segment);
        if acknowledges {
            self.establish(now, segment.window, false);
            self.rx.acknowledge_now();
        } else {
            // Both ends opened at once.
            self.stage = Stage::SynReceived;
            self.handshake.due = true;
        }
    }

    /// Writes our SYN or SYN-ACK.
    #[cold]
    pub(super) fn encode_syn(&mut self, now: Instant, place: &mut Segment) {
        let (config, answers, offered) =
            (&self.config, self.handshake.answers, self.handshake.offered);
        // RFC 3168, section 6.1.1.1: a network that drops such a SYN gets one without the offer.
        let ecn = if answers { offered.ecn } else { config.ecn && self.handshake.sent == 0 };
        let mut flags = Flags::SYN;
        if answers {
            flags = flags.with(Flags::ACK);
        }
        if ecn {
            flags = flags.with(Flags::ECE);
            flags = if answers { flags } else { flags.with(Flags::CWR) };
        }
        *place = Segment {
            source_port: self.ports.local,
            destination_port: self.ports.peer,
            seq: self.tx.wire(0),
            ack: if answers { self.rx.wire(1) } else { Default::default() },
            flags,
            window: self.rx.syn_window(),
            timestamps: (if answers { offered.timestamps } else { config.timestamps })
                .then(|| self.timestamps.option(now)),
            options: Options::Syn(SynOptions {
                mss: Some(config.mss),
                window_shift: config.window_shift().filter(|_| !answers || offered.shift.is_some()),
                sack_permitted: if answers { offered.sack } else { config.sack },
                scps: (if answers { offered.snack } else { config.snacks() })
                    .then_some(ScpsCapabilities { bits: SNACKS, connection_id: 0 }),
            }),
            ..Segment::default()
        };
        self.handshake.sent(now);
    }
}
