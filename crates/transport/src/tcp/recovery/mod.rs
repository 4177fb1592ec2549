//! What is retransmitted, and when a loss counts as found.
//!
//! How fast anything is sent is the congestion controller's business. A [`Mode`] is one file here; all
//! of them work on the same scoreboard of segments.

mod aero;
mod any;
mod departure_order;
mod departures;
mod duplicates;
mod fack;
mod rack;
mod reordering;
mod runs;
mod sack;
mod scoreboard;
mod snack;
mod tahoe;

use bentpipe_units::{Instant, Span};

pub(crate) use any::AnyRecovery;
pub(crate) use scoreboard::{Delivered, Departed, Scoreboard, Sent, Stamp};

/// How losses are found and repaired.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// The third duplicate acknowledgement is a timeout: everything again from one segment on
    /// (Jacobson 1988).
    Tahoe,
    /// One retransmission for each window; the first new acknowledgement ends the recovery (RFC 2581).
    Reno,
    /// One retransmission for each acknowledgement until the window is whole (RFC 6582). The timer is restarted
    /// by the first of them only (impatient).
    NewReno,
    /// The same; the timer is restarted by each of them (slow but steady).
    NewRenoSteady,
    /// What the peer reports decides what is lost (RFC 6675). Without SACK at the peer this is
    /// [`Mode::NewReno`].
    #[default]
    Sack,
    /// What lies far enough below the furthest report is lost, retransmissions too; one segment leaves for every
    /// two that arrive until the window is reached (Mathis and Mahdavi; Linux). Without SACK at the peer
    /// this is [`Mode::NewReno`].
    Fack,
    /// What left before something that arrived, and has not come for a settling time since, is lost, retransmissions
    /// as well (RFC 8985; Linux today). Timeouts are doubted (RFC 5682). Without SACK at the peer this is
    /// [`Mode::NewReno`].
    Rack,
    /// One duplicate acknowledgement on a path that keeps order shows a loss; retransmissions run ahead of the
    /// acknowledgements (AeroTCP).
    Aero,
    /// What left before something that arrived is lost, on a path that keeps order; what was reported
    /// is kept by the peer (Zhou and Baras). Without SACK at the peer this is [`Mode::NewReno`].
    DepartureOrder,
    /// The receiver asks for what it misses, and gets it at once (SNACK of CCSDS 714.0-B, in place of SACK). At a
    /// peer that does not this is [`Mode::Sack`], or [`Mode::NewReno`] without SACK.
    Snack,
}

impl Mode {
    /// All modes with their names in scenario files.
    pub const NAMES: [(Self, &'static str); 10] = [
        (Self::Tahoe, "tahoe"),
        (Self::Reno, "reno"),
        (Self::NewReno, "newreno"),
        (Self::NewRenoSteady, "newreno-steady"),
        (Self::Sack, "sack"),
        (Self::Fack, "fack"),
        (Self::Rack, "rack"),
        (Self::Aero, "aero"),
        (Self::DepartureOrder, "departure-order"),
        (Self::Snack, "snack"),
    ];

    /// The mode that is possible with a peer that reports selectively or does not, by SNACKs or not.
    pub(crate) const fn with_peer(self, reports: bool, snacks: bool) -> Self {
        match self {
            Self::Snack if reports && !snacks => Self::Sack,
            mode if mode.needs_reports() && !reports => Self::NewReno,
            mode => mode,
        }
    }

    /// The mode cannot do without selective reports.
    pub(crate) const fn needs_reports(self) -> bool {
        matches!(self, Self::Sack | Self::Fack | Self::Rack | Self::DepartureOrder | Self::Snack)
    }

    /// The mode looks at selective reports. The others know nothing but duplicates, whatever the peer says
    /// besides: a segment that left the network must not be counted twice.
    pub(crate) const fn reads_reports(self) -> bool {
        self.needs_reports() || matches!(self, Self::Aero)
    }

    /// How many copies of the oldest segment leave when the timer runs out.
    pub(crate) const fn timeout_copies(self) -> u32 {
        match self {
            Self::Aero | Self::DepartureOrder => 2,
            _ => 1,
        }
    }

    /// By how much the timeout may grow; `None` for as much as the configuration allows.
    pub(crate) const fn max_backoff(self) -> Option<u32> {
        match self {
            Self::Aero | Self::DepartureOrder => Some(1),
            _ => None,
        }
    }

    pub(crate) fn build(self, options: Options) -> AnyRecovery {
        use duplicates::Duplicates;
        match self {
            Self::Tahoe => AnyRecovery::Tahoe(tahoe::Tahoe::new(options)),
            Self::Reno => AnyRecovery::Duplicates(Duplicates::reno(options)),
            Self::NewReno => AnyRecovery::Duplicates(Duplicates::newreno(options, true)),
            Self::NewRenoSteady => AnyRecovery::Duplicates(Duplicates::newreno(options, false)),
            Self::Sack => AnyRecovery::Sack(sack::Sack::new(options)),
            Self::Fack => AnyRecovery::Fack(fack::Fack::new(options)),
            Self::Rack => AnyRecovery::Rack(rack::Rack::new(options)),
            Self::Aero => AnyRecovery::Aero(aero::Aero::new(options)),
            Self::DepartureOrder => {
                AnyRecovery::DepartureOrder(departure_order::DepartureOrder::default())
            }
            Self::Snack => AnyRecovery::Snack(snack::Snack::default()),
        }
    }
}

/// What the modes are told when they are built.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    /// Duplicate acknowledgements that show a loss (DupThresh).
    pub(crate) threshold: u32,
    /// The first two of them let a new segment go (RFC 3042).
    pub(crate) limited_transmit: bool,
    /// Most segments that [`Mode::Aero`] sends again for one acknowledgement.
    pub(crate) aero_burst: u32,
    /// [`Mode::Aero`] guesses the length of a gap from how far acknowledgements advance.
    pub(crate) aero_adaptive: bool,
}

/// The path, as those know it who repair.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path {
    pub(crate) now: Instant,
    /// Smoothed round-trip time, and the shortest one.
    pub(crate) srtt: Span,
    pub(crate) min_rtt: Span,
    /// Payload of a full segment.
    pub(crate) mss: u64,
    /// Bytes that were delivered so far.
    pub(crate) delivered: u64,
}

/// An acknowledgement, after the scoreboard took it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckSeen {
    pub(crate) path: Path,
    /// What arrived, as far as it was not known.
    pub(crate) delivered: Delivered,
    /// Bytes by which the cumulative acknowledgement advanced.
    pub(crate) acked: u64,
    /// Bytes selectively acknowledged for the first time.
    pub(crate) sacked: u64,
    /// It is a duplicate (RFC 5681, section 2).
    pub(crate) duplicate: bool,
    /// It reports that something came twice (RFC 2883), and not only the answer to a probe.
    pub(crate) twice: bool,
    /// The peer asks for everything before this offset that it has not reported.
    pub(crate) asked: u64,
}

/// What a recovery makes of an acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    /// Bytes found lost.
    pub(crate) lost: u64,
    /// They are the first of their window.
    pub(crate) new_episode: bool,
    /// A retransmission was lost.
    pub(crate) again: bool,
    /// The loss counts as a timeout: the window starts from one segment.
    pub(crate) as_timeout: bool,
    /// So many retransmissions leave whatever the window says.
    pub(crate) forced: u32,
    /// All losses of the episode are repaired.
    pub(crate) done: bool,
    /// The last timeout was a mistake: what left before it arrives.
    pub(crate) mistaken: bool,
    /// The timer starts anew, although nothing was acknowledged cumulatively.
    pub(crate) restart_timer: bool,
    /// The timer goes on as it is, although something was acknowledged.
    pub(crate) keep_timer: bool,
}

/// Finds losses.
pub(crate) trait Recovery {
    /// A segment leaves, for the first time or again.
    fn departs(&mut self, _board: &Scoreboard, _segment: &Sent) {}

    /// An acknowledgement came.
    fn on_ack(&mut self, board: &mut Scoreboard, ack: &AckSeen) -> Found;

    /// An acknowledgement advanced, and nothing is reported, lost or being repaired: the same as
    /// [`Recovery::on_ack`] if that finds nothing. False, and nothing changed, when it may.
    #[inline]
    fn on_plain_ack(&mut self, _path: &Path, _newest: &Departed) -> bool {
        false
    }

    /// The timer ran out: what is to be retransmitted is given up. Returns its bytes.
    fn on_timeout(&mut self, board: &mut Scoreboard, path: &Path) -> u64;

    /// The last episode was a mistake: nothing is to be repaired.
    fn undone(&mut self, _board: &Scoreboard) {}

    /// When [`Recovery::on_timer`] is to be called.
    #[inline]
    fn deadline(&self) -> Option<Instant> {
        None
    }

    /// The time of [`Recovery::deadline`] has come.
    fn on_timer(&mut self, _board: &mut Scoreboard, _path: &Path) -> Found {
        Found::default()
    }

    /// New data leave before retransmissions, if there are any.
    #[inline]
    fn prefers_new(&self) -> bool {
        false
    }

    /// The oldest segment is overdue by a clock of its own (TCP Vegas).
    fn suspect(&mut self, board: &mut Scoreboard) -> Found {
        Found { lost: board.lose(0), forced: 1, ..Found::default() }
    }

    /// Losses found by gaps are being repaired.
    fn is_active(&self) -> bool;

    /// Nothing is being repaired, nor is it the time after a timeout.
    #[inline]
    fn is_open(&self) -> bool {
        !self.is_active()
    }

    /// Bytes that count against the window.
    fn in_flight(&self, board: &Scoreboard, _mss: u64) -> u64 {
        board.pipe()
    }

    /// How much may be under way where the controller's window is `cwnd` bytes.
    fn window(&self, cwnd: u64) -> u64 {
        cwnd
    }

    /// Number of a segment that may be retransmitted although it is not given up, when nothing else can
    /// be sent.
    fn last_resort(&mut self, _board: &Scoreboard) -> Option<usize> {
        None
    }
}
