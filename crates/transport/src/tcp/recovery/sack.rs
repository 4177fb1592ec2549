//! Loss recovery by what the peer reports (RFC 6675).

use super::{AckSeen, Departed, Found, Options, Path, Recovery, Scoreboard};

/// RFC 6675, section 5.
#[derive(Debug)]
pub(crate) struct Sack {
    options: Options,
    duplicates: u32,
    active: bool,
    /// RecoveryPoint: a recovery ends when everything before it is acknowledged, and none begins
    /// after a timeout before that.
    recover: u64,
    /// Offset behind the last segment that was retransmitted by rule 3 of NextSeg.
    resorted: u64,
    /// The retransmission by rule 4 was used in this recovery.
    rescued: bool,
}

impl Sack {
    pub(super) const fn new(options: Options) -> Self {
        let (duplicates, active, recover, resorted, rescued) = (0, false, 0, 0, false);
        Self { options, duplicates, active, recover, resorted, rescued }
    }

    fn begin(&mut self, board: &Scoreboard) {
        (self.active, self.rescued) = (true, false);
        (self.recover, self.resorted) = (board.next(), board.una());
    }
}

impl Recovery for Sack {
    fn on_ack(&mut self, board: &mut Scoreboard, ack: &AckSeen) -> Found {
        let mut found = Found::default();
        if ack.acked > 0 {
            self.duplicates = 0;
            if self.active && board.una() >= self.recover {
                self.active = false;
                found.done = true;
            }
        } else if ack.sacked > 0 {
            self.duplicates += 1;
        }
        let edge = board.runs().loss_edge(self.options.threshold, ack.path.mss);
        if self.active {
            found.lost = board.lose_before(edge);
        } else if board.una() >= self.recover
            && (self.duplicates >= self.options.threshold || edge > board.una())
        {
            self.begin(board);
            found.lost = board.lose_before(edge) + board.lose(0);
            (found.new_episode, found.forced) = (true, 1);
        }
        found
    }

    #[inline(always)]
    fn on_plain_ack(&mut self, _path: &Path, _newest: &Departed) -> bool {
        if !self.active {
            self.duplicates = 0;
        }
        !self.active
    }

    fn on_timeout(&mut self, board: &mut Scoreboard, _path: &Path) -> u64 {
        (self.duplicates, self.active) = (0, false);
        self.recover = board.next();
        let lost = board.lose_all();
        board.mark_timeout();
        lost
    }

    fn suspect(&mut self, board: &mut Scoreboard) -> Found {
        let new_episode = !self.active;
        if new_episode {
            self.begin(board);
        }
        let again = board.head().is_some_and(|head| head.transmissions > 1);
        Found { lost: board.lose(0), new_episode, again, forced: 1, ..Found::default() }
    }

    fn is_active(&self) -> bool {
        self.active
    }

    #[inline(always)]
    fn in_flight(&self, board: &Scoreboard, mss: u64) -> u64 {
        if self.active || board.una() < self.recover {
            return board.pipe();
        }
        // RFC 6675, section 5, step 3: before a loss is found, limited transmit goes by the reports.
        let arrived = if self.options.limited_transmit { board.sacked_bytes() } else { 0 };
        board.outstanding() - arrived.min(2 * mss)
    }

    fn last_resort(&mut self, board: &Scoreboard) -> Option<usize> {
        if !self.active {
            return None;
        }
        // NextSeg, rule 3: a hole that is not known to be a loss.
        let highest = board.runs().highest().unwrap_or(0);
        let mut index = board.find(self.resorted);
        while let Some(segment) = board.get(index)
            && segment.end() <= highest
        {
            self.resorted = segment.end();
            if !segment.sacked && !segment.lost {
                return Some(index);
            }
            index += 1;
        }
        // Rule 4: the last segment, once, so that a report of it may come.
        let (index, last) = board.last()?;
        let rescue = !last.sacked && !last.lost && !std::mem::replace(&mut self.rescued, true);
        rescue.then_some(index)
    }
}
