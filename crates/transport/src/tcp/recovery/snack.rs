//! Losses that the receiver asks for.

use bentpipe_units::Instant;

use super::{AckSeen, Departed, Found, Path, Recovery, Scoreboard};

/// Selective negative acknowledgements (CCSDS 714.0-B, SNACK option): what the receiver asks for is retransmitted at
/// once, without waiting for duplicates. What it asks for a round trip after the retransmission left is sent once more.
#[derive(Debug, Default)]
pub(crate) struct Snack {
    active: bool,
    recover: u64,
}

impl Snack {
    /// Gives up again what is asked for although its retransmission left before `sent_before`.
    fn lose_retransmissions(board: &mut Scoreboard, asked: u64, sent_before: Instant) -> u64 {
        let mut lost = 0;
        let mut index = 0;
        while let Some(segment) = board.get(index)
            && segment.start < asked
        {
            if segment.repaired && segment.sent_at <= sent_before {
                lost += board.lose(index);
            }
            index += 1;
        }
        lost
    }
}

impl Recovery for Snack {
    fn on_ack(&mut self, board: &mut Scoreboard, ack: &AckSeen) -> Found {
        let mut found = Found::default();
        if self.active && board.una() >= self.recover {
            (self.active, found.done) = (false, true);
        }
        if self.active {
            let again =
                Self::lose_retransmissions(board, ack.asked, ack.path.now.before(ack.path.srtt));
            (found.lost, found.again) = (again, again > 0);
        }
        let first = board.lose_before(ack.asked);
        found.lost += first;
        if first > 0 && !self.active {
            (self.active, self.recover, found.new_episode) = (true, board.next(), true);
        }
        // The first of what was asked for leaves whatever the window says.
        found.forced = u32::from(found.new_episode || found.again);
        found
    }

    #[inline]
    fn on_plain_ack(&mut self, _path: &Path, _newest: &Departed) -> bool {
        !self.active
    }

    fn on_timeout(&mut self, board: &mut Scoreboard, _path: &Path) -> u64 {
        self.active = false;
        let lost = board.lose_all();
        board.mark_timeout();
        lost
    }

    fn is_active(&self) -> bool {
        self.active
    }
}
