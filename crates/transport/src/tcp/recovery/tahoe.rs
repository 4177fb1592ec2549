//! Tahoe: a loss is a loss of everything.

use super::{AckSeen, Found, Options, Path, Recovery, Scoreboard};

/// Jacobson, "Congestion avoidance and control", 1988: fast retransmit without fast recovery.
#[derive(Debug)]
pub(crate) struct Tahoe {
    options: Options,
    duplicates: u32,
    /// No loss is found by duplicates of what was sent before this offset: they may be answers to
    /// segments that were sent needlessly.
    recover: u64,
}

impl Tahoe {
    pub(super) const fn new(options: Options) -> Self {
        Self { options, duplicates: 0, recover: 0 }
    }

    fn give_up(&mut self, board: &mut Scoreboard) -> u64 {
        self.duplicates = 0;
        self.recover = board.next();
        board.lose_all()
    }
}

impl Recovery for Tahoe {
    fn on_ack(&mut self, board: &mut Scoreboard, ack: &AckSeen) -> Found {
        if ack.acked > 0 {
            self.duplicates = 0;
        }
        if !ack.duplicate || board.una() <= self.recover {
            return Found::default();
        }
        self.duplicates += 1;
        if self.duplicates == self.options.threshold {
            return self.suspect(board);
        }
        Found::default()
    }

    fn on_timeout(&mut self, board: &mut Scoreboard, _path: &Path) -> u64 {
        let lost = self.give_up(board);
        board.mark_timeout();
        lost
    }

    fn suspect(&mut self, board: &mut Scoreboard) -> Found {
        let lost = self.give_up(board);
        Found { lost, new_episode: true, as_timeout: true, forced: 1, ..Found::default() }
    }

    fn is_active(&self) -> bool {
        false
    }

    fn in_flight(&self, board: &Scoreboard, mss: u64) -> u64 {
        let credit =
            if self.options.limited_transmit { u64::from(self.duplicates.min(2)) } else { 0 };
        board.pipe().saturating_sub(credit * mss)
    }
}
