//! Low-priority copies that some controllers ask for, to see what the path would carry.
//!
//! A copy of what the peer has already is reported by it as received twice (RFC 2883): that is how the
//! controller learns that it arrived. Without such reports none are sent.

use bentpipe_cc::{Copies, LowPriority};
use bentpipe_units::Instant;

use super::recovery::{Scoreboard, Sent};

/// What is known of the copies.
#[derive(Debug, Default)]
pub(super) struct Probes {
    /// When the next one may leave, if they are spaced.
    due: Option<Instant>,
    /// Where the round over what is outstanding goes on.
    from: u64,
    /// Copies that left and were not reported.
    under_way: u64,
    /// Copies that the acknowledgement which is being handled reports.
    reported: u64,
    /// An acknowledgement came that a copy without spacing may follow.
    after_ack: bool,
}

impl Probes {
    /// Something came twice: that is about a copy if any is under way.
    pub(super) fn take_report(&mut self) {
        self.reported += u64::from(self.under_way > 0);
        self.under_way = self.under_way.saturating_sub(1);
    }

    /// Copies that the acknowledgement which is being handled reports.
    #[inline]
    pub(super) fn take_reported(&mut self) -> u64 {
        std::mem::take(&mut self.reported)
    }

    /// An acknowledgement came: a copy may follow it.
    pub(super) const fn may_follow_ack(&mut self) {
        self.after_ack = true;
    }

    /// No copies are wanted.
    #[inline]
    pub(super) const fn stop(&mut self) {
        self.due = None;
    }

    /// When a spaced copy may leave.
    #[inline]
    pub(super) const fn deadline(&self) -> Option<Instant> {
        self.due
    }

    /// The segment whose copy leaves next, if the controller asks for one and it may leave now. Without a peer that
    /// `reports` none does.
    pub(super) fn next<'a>(
        &mut self,
        now: Instant,
        wanted: LowPriority,
        reports: bool,
        board: &'a Scoreboard,
    ) -> Option<&'a Sent> {
        let LowPriority::Probes { copies, count, spacing } = wanted else {
            self.stop();
            return None;
        };
        if count == 0 || !reports || board.outstanding() == 0 {
            self.stop();
            return None;
        }
        let waits = self.due.is_some_and(|due| due > now);
        if waits || spacing.is_zero() && !std::mem::take(&mut self.after_ack) {
            return None;
        }
        let index = match copies {
            Copies::Last => board.last()?.0,
            Copies::Outstanding => {
                let index = board.find(self.from.max(board.una()));
                if board.get(index).is_some() { index } else { 0 }
            }
        };
        let segment = board.get(index)?;
        self.from = segment.end();
        self.under_way += 1;
        self.due = (count > 1 && !spacing.is_zero()).then(|| now + spacing);
        Some(segment)
    }
}
