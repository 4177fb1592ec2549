//! Low-priority copies that some controllers ask for, to see what the path would carry.
//!
//! A copy of what the peer has already is reported by it as received twice (RFC 2883): that is how the
//! controller learns that it arrived. Without such reports none are sent.

use bentpipe_cc::{Copies, LowPriority};
use bentpipe_units::Instant;

use super::sender::Sender;
use super::transmit::{Kind, Outgoing};

/// What is known of the copies.
#[derive(Debug, Default)]
pub(super) struct Probes {
    /// When the next one may leave, if they are spaced.
    due: Option<Instant>,
    /// Where the round over what is outstanding goes on.
    from: u64,
    /// Copies that left and were not reported.
    under_way: u64,
    /// An acknowledgement came that a copy without spacing may follow.
    after_ack: bool,
}

impl Probes {
    /// Copies are under way that a report may be about.
    pub(super) fn take_report(&mut self) -> bool {
        let expected = self.under_way > 0;
        self.under_way = self.under_way.saturating_sub(1);
        expected
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
    pub(super) const fn deadline(&self) -> Option<Instant> {
        self.due
    }
}

impl Sender {
    /// The next copy that the controller asks for, if it may leave now.
    pub(super) fn next_copy(&mut self, now: Instant) -> Option<Outgoing> {
        let LowPriority::Probes { copies, count, spacing } = self.controller.low_priority() else {
            self.probes.stop();
            return None;
        };
        if count == 0 || !self.agreed.reports || self.board.outstanding() == 0 {
            self.probes.stop();
            return None;
        }
        let waits = self.probes.due.is_some_and(|due| due > now);
        if waits || spacing.is_zero() && !std::mem::take(&mut self.probes.after_ack) {
            return None;
        }
        let index = match copies {
            Copies::Last => self.board.last()?.0,
            Copies::Outstanding => {
                let index = self.board.find(self.probes.from.max(self.board.una()));
                if self.board.get(index).is_some() { index } else { 0 }
            }
        };
        let segment = self.board.get(index)?;
        let (start, fin) = (segment.start, segment.fin);
        let payload = self.buffer.again(start - 1, (segment.len - u32::from(fin)) as usize);
        self.probes.from = segment.end();
        self.probes.under_way += 1;
        self.probes.due = (count > 1 && !spacing.is_zero()).then(|| now + spacing);
        Some(Outgoing { start, payload, fin, push: false, kind: Kind::Copy, low: true })
    }
}
