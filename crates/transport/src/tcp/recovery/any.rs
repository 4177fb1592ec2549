//! The recovery of any mode, called without a table: it is asked several times for every acknowledgement.

use bentpipe_units::Instant;

use super::aero::Aero;
use super::departure_order::DepartureOrder;
use super::duplicates::Duplicates;
use super::fack::Fack;
use super::rack::Rack;
use super::sack::Sack;
use super::snack::Snack;
use super::tahoe::Tahoe;
use super::{AckSeen, Departed, Found, Path, Recovery, Scoreboard, Sent};

/// The recovery of any [`Mode`](super::Mode).
#[derive(Debug)]
pub(crate) enum AnyRecovery {
    Tahoe(Tahoe),
    Duplicates(Duplicates),
    Sack(Sack),
    Fack(Fack),
    Rack(Rack),
    Aero(Aero),
    DepartureOrder(DepartureOrder),
    Snack(Snack),
}

macro_rules! of_any {
    ($any:expr, $recovery:ident => $answer:expr) => {
        match $any {
            AnyRecovery::Tahoe($recovery) => $answer,
            AnyRecovery::Duplicates($recovery) => $answer,
            AnyRecovery::Sack($recovery) => $answer,
            AnyRecovery::Fack($recovery) => $answer,
            AnyRecovery::Rack($recovery) => $answer,
            AnyRecovery::Aero($recovery) => $answer,
            AnyRecovery::DepartureOrder($recovery) => $answer,
            AnyRecovery::Snack($recovery) => $answer,
        }
    };
}

impl AnyRecovery {
    /// It looks at what departs.
    #[inline]
    pub(crate) const fn follows_departures(&self) -> bool {
        matches!(self, Self::Fack(_) | Self::Rack(_) | Self::DepartureOrder(_))
    }

    #[inline(never)]
    fn in_flight_of_others(&self, board: &Scoreboard, mss: u64) -> u64 {
        of_any!(self, recovery => recovery.in_flight(board, mss))
    }
}

impl Recovery for AnyRecovery {
    #[inline]
    fn departs(&mut self, board: &Scoreboard, segment: &Sent) {
        of_any!(self, recovery => recovery.departs(board, segment));
    }

    #[inline]
    fn on_ack(&mut self, board: &mut Scoreboard, ack: &AckSeen) -> Found {
        of_any!(self, recovery => recovery.on_ack(board, ack))
    }

    #[inline(always)]
    fn on_plain_ack(&mut self, path: &Path, newest: &Departed) -> bool {
        if let Self::Sack(recovery) = self {
            return recovery.on_plain_ack(path, newest);
        }
        of_any!(self, recovery => recovery.on_plain_ack(path, newest))
    }

    fn on_timeout(&mut self, board: &mut Scoreboard, path: &Path) -> u64 {
        of_any!(self, recovery => recovery.on_timeout(board, path))
    }

    fn undone(&mut self, board: &Scoreboard) {
        of_any!(self, recovery => recovery.undone(board));
    }

    #[inline(always)]
    fn deadline(&self) -> Option<Instant> {
        if let Self::Rack(recovery) = self { recovery.deadline() } else { None }
    }

    fn on_timer(&mut self, board: &mut Scoreboard, path: &Path) -> Found {
        of_any!(self, recovery => recovery.on_timer(board, path))
    }

    #[inline]
    fn prefers_new(&self) -> bool {
        matches!(self, Self::Rack(recovery) if recovery.prefers_new())
    }

    fn suspect(&mut self, board: &mut Scoreboard) -> Found {
        of_any!(self, recovery => recovery.suspect(board))
    }

    #[inline]
    fn is_active(&self) -> bool {
        of_any!(self, recovery => recovery.is_active())
    }

    #[inline]
    fn is_open(&self) -> bool {
        of_any!(self, recovery => recovery.is_open())
    }

    #[inline(always)]
    fn in_flight(&self, board: &Scoreboard, mss: u64) -> u64 {
        // Asked most often, and mostly this one.
        match self {
            Self::Sack(recovery) => recovery.in_flight(board, mss),
            any => any.in_flight_of_others(board, mss),
        }
    }

    #[inline(always)]
    fn window(&self, cwnd: u64) -> u64 {
        of_any!(self, recovery => recovery.window(cwnd))
    }

    #[inline]
    fn last_resort(&mut self, board: &Scoreboard) -> Option<usize> {
        of_any!(self, recovery => recovery.last_resort(board))
    }
}
