//! AeroTCP's recovery: no duplicates to wait for on a path that keeps order.

use bentpipe_units::Instant;

use super::{AckSeen, Found, Options, Path, Recovery, Scoreboard};

/// The first duplicate acknowledgement shows a loss. A partial acknowledgement shows another one at its
/// number; how many segments are missing there it does not say, so that everything from there on is
/// sent again up to what is still under way.
#[derive(Debug)]
pub(crate) struct Aero {
    options: Options,
    active: bool,
    recover: u64,
    /// The guess at the length of gaps, in segments, and the bytes that it retransmitted last.
    gap: u32,
    resent: u64,
}

impl Aero {
    pub(super) const fn new(options: Options) -> Self {
        Self { options, active: false, recover: 0, gap: 1, resent: 0 }
    }

    /// Gives up so many segments from the oldest on, as far as they can have been reported missing.
    fn lose_gap(&mut self, board: &mut Scoreboard, most: u32, sent_before: Instant) -> u64 {
        let mut lost = 0;
        self.resent = 0;
        for index in 0..most as usize {
            let Some(segment) = board.get(index) else { break };
            let (start, len, sacked) = (segment.start, u64::from(segment.len), segment.sacked);
            if start >= self.recover || segment.sent_at > sent_before {
                break;
            }
            if !sacked {
                lost += board.lose(index);
                self.resent += len;
            }
        }
        lost
    }
}

impl Recovery for Aero {
    fn on_ack(&mut self, board: &mut Scoreboard, ack: &AckSeen) -> Found {
        let mut found = Found::default();
        let a_round_ago = ack.path.now.before(ack.path.srtt);
        if ack.acked > 0 {
            if self.active && board.una() >= self.recover {
                self.active = false;
                found.done = true;
            } else if self.active {
                let most = if self.options.aero_adaptive {
                    let longer = ack.acked == self.resent;
                    self.gap = if longer { (2 * self.gap).min(self.options.aero_burst) } else { 1 };
                    self.gap
                } else {
                    self.options.aero_burst
                };
                found.lost = self.lose_gap(board, most, a_round_ago);
            }
        } else if ack.duplicate || ack.sacked > 0 {
            if !self.active && board.una() >= self.recover {
                found = self.suspect(board);
            } else if self.active {
                // A round trip after its retransmission the hole is still there: the retransmission is lost, too.
                found.lost = self.lose_gap(board, 1, a_round_ago);
                found.again = found.lost > 0;
            }
        }
        found.forced = found.forced.max(u32::from(found.lost > 0));
        found
    }

    fn on_timeout(&mut self, board: &mut Scoreboard, _path: &Path) -> u64 {
        board.doubt_head();
        board.lose_head()
    }

    fn suspect(&mut self, board: &mut Scoreboard) -> Found {
        let new_episode = !self.active;
        if new_episode {
            (self.active, self.recover, self.gap) = (true, board.next(), 1);
        }
        let again = board.head().is_some_and(|head| head.transmissions > 1);
        let lost = board.lose(0);
        self.resent = board.head().map_or(0, |head| u64::from(head.len));
        Found { lost, new_episode, again, forced: 1, ..Found::default() }
    }

    fn is_active(&self) -> bool {
        self.active
    }
}
