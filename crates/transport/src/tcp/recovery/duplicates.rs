//! Reno and NewReno: duplicate acknowledgements find one loss in a round trip.

use super::{AckSeen, Departed, Found, Options, Path, Recovery, Scoreboard};

/// Fast retransmit and fast recovery (RFC 2581, section 3.2; RFC 6582).
///
/// The RFCs inflate the window by what the duplicates say has left the network. Here the window stays
/// and that much counts as gone.
#[derive(Debug)]
pub(crate) struct Duplicates {
    options: Options,
    algorithm: Algorithm,
    duplicates: u32,
    active: bool,
    /// Losses are found only past this offset (recover in RFC 6582).
    recover: u64,
    /// Bytes that the duplicates say have arrived; below zero after a deflation.
    arrived: i64,
    /// A partial acknowledgement came in this episode.
    partial: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Algorithm {
    Reno,
    NewReno { impatient: bool },
}

impl Duplicates {
    pub(super) const fn reno(options: Options) -> Self {
        Self::new(options, Algorithm::Reno)
    }

    pub(super) const fn newreno(options: Options, impatient: bool) -> Self {
        Self::new(options, Algorithm::NewReno { impatient })
    }

    const fn new(options: Options, algorithm: Algorithm) -> Self {
        let (duplicates, active, recover, arrived, partial) = (0, false, 0, 0, false);
        Self { options, algorithm, duplicates, active, recover, arrived, partial }
    }

    fn on_new(&mut self, board: &mut Scoreboard, ack: &AckSeen) -> Found {
        self.duplicates = 0;
        if !self.active {
            self.arrived = 0;
            return Found::default();
        }
        let Algorithm::NewReno { impatient } = self.algorithm else { return self.leave() };
        if board.una() >= self.recover {
            return self.leave();
        }
        // RFC 6582, section 3.2, step 3: a partial acknowledgement.
        self.arrived -= ack.acked as i64;
        if ack.acked >= ack.path.mss {
            self.arrived += ack.path.mss as i64;
        }
        let keep_timer = impatient && std::mem::replace(&mut self.partial, true);
        Found { lost: board.lose(0), forced: 1, keep_timer, ..Found::default() }
    }

    fn leave(&mut self) -> Found {
        (self.active, self.arrived) = (false, 0);
        Found { done: true, ..Found::default() }
    }

    fn on_duplicate(&mut self, board: &mut Scoreboard, ack: &AckSeen) -> Found {
        self.duplicates += 1;
        if self.active {
            self.arrived += ack.path.mss as i64;
            return Found::default();
        }
        // The careful variant: duplicates of what was already in flight at the last reduction or timeout
        // may be answers to needless retransmissions.
        if board.una() <= self.recover {
            return Found::default();
        }
        if self.duplicates < self.options.threshold {
            if self.options.limited_transmit && self.duplicates <= 2 {
                self.arrived = i64::from(self.duplicates) * ack.path.mss as i64;
            }
            return Found::default();
        }
        let found = self.suspect(board);
        self.arrived = i64::from(self.duplicates) * ack.path.mss as i64;
        found
    }
}

impl Recovery for Duplicates {
    fn on_ack(&mut self, board: &mut Scoreboard, ack: &AckSeen) -> Found {
        if ack.acked > 0 {
            self.on_new(board, ack)
        } else if ack.duplicate {
            self.on_duplicate(board, ack)
        } else {
            Found::default()
        }
    }

    #[inline]
    fn on_plain_ack(&mut self, _path: &Path, _newest: &Departed) -> bool {
        if !self.active {
            (self.duplicates, self.arrived) = (0, 0);
        }
        !self.active
    }

    fn on_timeout(&mut self, board: &mut Scoreboard, _path: &Path) -> u64 {
        (self.duplicates, self.active, self.arrived) = (0, false, 0);
        self.recover = board.next();
        let lost = board.lose_all();
        board.mark_timeout();
        lost
    }

    fn suspect(&mut self, board: &mut Scoreboard) -> Found {
        let new_episode = !self.active;
        if new_episode {
            (self.active, self.partial) = (true, false);
            self.recover = board.next();
        }
        let again = board.head().is_some_and(|head| head.transmissions > 1);
        Found { lost: board.lose(0), new_episode, again, forced: 1, ..Found::default() }
    }

    fn is_active(&self) -> bool {
        self.active
    }

    fn in_flight(&self, board: &Scoreboard, _mss: u64) -> u64 {
        (board.pipe() as i64 - self.arrived).max(0) as u64
    }
}
