//! Congestion marks of both directions (RFC 3168).

use bentpipe_wire::Ecn;
use bentpipe_wire::tcp::{Flags, Segment};

/// What marks on our data mean, which the peer echoes.
#[derive(Debug, Default)]
pub(super) struct EcnSender {
    /// The window was reduced for everything before this offset.
    marked_before: u64,
    /// CWR is to be sent.
    cwr: bool,
}

impl EcnSender {
    /// The window was reduced.
    pub(super) const fn reduced(&mut self) {
        self.cwr = true;
    }

    /// The peer echoes a mark: true once for each window (section 6.1.2). It repeats a mark until it has the first
    /// segment behind that window, which tells it of the reduction.
    pub(super) const fn take_echo(&mut self, una: u64, next: u64) -> bool {
        let is_new = una > self.marked_before;
        if is_new {
            self.marked_before = next;
            self.reduced();
        }
        is_new
    }

    /// The segment that leaves says that the window was reduced.
    pub(super) fn take_cwr(&mut self) -> bool {
        std::mem::take(&mut self.cwr)
    }
}

/// Marks on the peer's data.
#[derive(Debug, Default)]
pub(super) struct EcnReceiver {
    /// Both ends heed marks.
    agreed: bool,
    /// A mark came and the peer has not said that it reduced its window.
    echo: bool,
}

impl EcnReceiver {
    /// Whether both ends heed marks.
    pub(super) const fn agree(&mut self, agreed: bool) {
        self.agreed = agreed;
    }

    /// Both ends heed marks.
    #[inline]
    pub(super) const fn is_agreed(&self) -> bool {
        self.agreed
    }

    /// Section 6.1.3: the echo goes on until the peer says that it reduced its window.
    pub(super) fn take(&mut self, segment: &Segment) {
        if self.agreed {
            self.echo &= !segment.flags.contains(Flags::CWR);
            self.echo |= segment.ecn == Ecn::Congestion;
        }
    }

    /// The flags of an acknowledgement.
    #[inline]
    pub(super) const fn flags(&self) -> Flags {
        if self.echo { Flags::ACK.with(Flags::ECE) } else { Flags::ACK }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_reduced_once_for_each_flight_with_marks() {
        let mut ecn = EcnSender::default();
        assert!(ecn.take_echo(1, 5_000) && ecn.take_cwr() && !ecn.take_cwr());
        assert!(!ecn.take_echo(5_000, 9_000) && !ecn.take_cwr());
        assert!(ecn.take_echo(5_001, 9_000));
    }

    #[test]
    fn a_mark_is_echoed_until_the_peer_has_reduced() {
        let marked = Segment { ecn: Ecn::Congestion, ..Segment::default() };
        let reduced = Segment { flags: Flags::ACK.with(Flags::CWR), ..Segment::default() };
        let mut ecn = EcnReceiver::default();
        ecn.take(&marked);
        assert_eq!(ecn.flags(), Flags::ACK, "marks are not heeded");
        ecn.agree(true);
        ecn.take(&marked);
        ecn.take(&Segment::default());
        assert_eq!(ecn.flags(), Flags::ACK.with(Flags::ECE));
        ecn.take(&reduced);
        assert_eq!(ecn.flags(), Flags::ACK);
    }
}
