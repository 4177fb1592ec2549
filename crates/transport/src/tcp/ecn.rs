//! Congestion marks of both directions (RFC 3168, RFC 8257).

use bentpipe_wire::Ecn;
use bentpipe_wire::tcp::{Flags, Segment};

use super::EcnMode;

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
    /// What both ends agreed on.
    mode: EcnMode,
    /// Classic: a mark came and the peer has not said that it reduced its window. Otherwise: the last data that came
    /// were marked (DCTCP.CE in RFC 8257).
    echo: bool,
    /// An acknowledgement that was delayed when marks began or ended: its offset, and whether what it is for was
    /// marked.
    owed: Option<(u64, bool)>,
}

impl EcnReceiver {
    /// What both ends agreed on.
    pub(super) const fn agree(&mut self, mode: EcnMode) {
        self.mode = mode;
    }

    /// Both ends heed marks.
    #[inline]
    pub(super) const fn is_agreed(&self) -> bool {
        self.mode.is_on()
    }

    /// Acknowledgements tell of each mark.
    #[inline]
    pub(super) const fn tells_each(&self) -> bool {
        self.mode.tells_each()
    }

    /// The code point of data that leave for the first time.
    #[inline]
    pub(super) const fn codepoint(&self) -> Ecn {
        self.mode.codepoint()
    }

    /// Data without a mark would change what acknowledgements say.
    #[inline]
    pub(super) const fn ends_with_unmarked(&self) -> bool {
        self.echo && self.tells_each()
    }

    /// Takes a segment, before which everything up to the offset `pending` came and is not acknowledged. True when an
    /// acknowledgement is due at once.
    pub(super) fn take(&mut self, segment: &Segment, pending: Option<u64>) -> bool {
        let marked = segment.ecn == Ecn::Congestion;
        match self.mode {
            EcnMode::Off => false,
            EcnMode::Classic => {
                // RFC 3168, section 6.1.3: the echo goes on until the peer says that it reduced its window.
                self.echo &= !segment.flags.contains(Flags::CWR);
                self.echo |= marked;
                false
            }
            EcnMode::Dctcp | EcnMode::L4s => {
                // RFC 8257, section 3.2: what came before is acknowledged with what is true of it.
                let changes = !segment.payload.is_empty() && marked != self.echo;
                if changes {
                    self.owed = pending.map(|offset| (offset, self.echo)).or(self.owed);
                    self.echo = marked;
                }
                changes
            }
        }
    }

    /// An acknowledgement is to be sent before anything else.
    #[inline]
    pub(super) const fn owes(&self) -> bool {
        self.owed.is_some()
    }

    /// It leaves: its offset and its flags.
    pub(super) fn take_owed(&mut self) -> Option<(u64, Flags)> {
        self.owed.take().map(|(offset, echo)| (offset, flags(echo)))
    }

    /// The flags of an acknowledgement.
    #[inline]
    pub(super) const fn flags(&self) -> Flags {
        flags(self.echo)
    }
}

const fn flags(echo: bool) -> Flags {
    if echo { Flags::ACK.with(Flags::ECE) } else { Flags::ACK }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

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
        ecn.take(&marked, None);
        assert_eq!(ecn.flags(), Flags::ACK, "marks are not heeded");
        ecn.agree(EcnMode::Classic);
        ecn.take(&marked, None);
        ecn.take(&Segment::default(), None);
        assert_eq!(ecn.flags(), Flags::ACK.with(Flags::ECE));
        ecn.take(&reduced, None);
        assert_eq!(ecn.flags(), Flags::ACK);
    }

    #[test]
    fn what_came_before_a_mark_is_acknowledged_without_it_where_each_is_told() {
        let data = |ecn| Segment { ecn, payload: Bytes::from_static(b"x"), ..Segment::default() };
        let mut ecn = EcnReceiver::default();
        ecn.agree(EcnMode::L4s);
        assert!(!ecn.take(&data(Ecn::Capable1), Some(5)) && !ecn.owes());
        assert!(ecn.take(&data(Ecn::Congestion), Some(10)), "a mark is told at once");
        assert_eq!(ecn.take_owed(), Some((10, Flags::ACK)));
        assert_eq!(ecn.flags(), Flags::ACK.with(Flags::ECE));
        assert!(!ecn.take(&data(Ecn::Congestion), Some(20)) && !ecn.owes());
        let acknowledgement = Segment { payload: Bytes::new(), ..data(Ecn::NotCapable) };
        assert!(!ecn.take(&acknowledgement, Some(30)), "it is not marked, whatever happens");
        assert!(ecn.take(&data(Ecn::Capable1), Some(40)));
        assert_eq!(ecn.take_owed(), Some((40, Flags::ACK.with(Flags::ECE))));
        assert!(ecn.take(&data(Ecn::Congestion), None) && !ecn.owes(), "nothing waited");
    }
}
