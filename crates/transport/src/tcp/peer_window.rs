//! The window that the peer states.

use super::ack_in::AckIn;

/// What the peer allows (RFC 9293, section 3.3.1).
#[derive(Debug)]
pub(super) struct PeerWindow {
    /// First offset that the peer does not allow.
    edge: u64,
    /// The window that it stated last, and its largest one.
    window: u64,
    largest: u64,
    /// Sequence and acknowledgement number of the segment that stated it (SND.WL1, SND.WL2).
    from: (u64, u64),
    /// One byte may leave beyond the window.
    probe: bool,
}

impl PeerWindow {
    /// The peer allows nothing behind the SYN.
    pub(super) const fn closed() -> Self {
        Self { edge: 1, window: 0, largest: 0, from: (0, 0), probe: false }
    }

    /// The peer's SYN states so many bytes behind `una`.
    pub(super) const fn open(una: u64, window: u64, irs: u64) -> Self {
        Self { edge: una + window, window, largest: window, from: (irs, una), probe: false }
    }

    /// Takes the window of an acknowledgement, unless a later segment has stated one. True when it opens a closed
    /// window; `una` is what was acknowledged before.
    #[inline(always)]
    pub(super) fn take(&mut self, ack: &AckIn, una: u64) -> bool {
        let (from, offset) = self.from;
        if ack.from > from || ack.from == from && ack.offset >= offset {
            let was_closed = self.is_closed_at(una.max(ack.offset));
            self.from = (ack.from, ack.offset);
            self.window = ack.window;
            self.largest = self.largest.max(ack.window);
            self.edge = ack.offset + ack.window;
            was_closed && ack.window > 0
        } else {
            false
        }
    }

    /// Bytes that may be sent from this offset on.
    #[inline]
    pub(super) const fn room(&self, offset: u64) -> u64 {
        self.edge.saturating_sub(offset)
    }

    /// The same for the next segment, which may be a probe of a closed window.
    pub(super) fn take_room(&mut self, next: u64) -> u64 {
        let room = self.room(next);
        if std::mem::take(&mut self.probe) { room.max(1) } else { room }
    }

    /// Nothing may be sent from this offset on.
    #[inline]
    pub(super) const fn is_closed_at(&self, offset: u64) -> bool {
        self.edge <= offset
    }

    /// This is the window that was stated last.
    #[inline]
    pub(super) const fn is_stated(&self, window: u64) -> bool {
        self.window == window
    }

    /// The peer's largest window so far.
    pub(super) const fn largest(&self) -> u64 {
        self.largest
    }

    /// So much is half of the peer's buffer, as far as it is known (RFC 9293, section 3.8.6.2.1).
    pub(super) const fn is_half(&self, len: u64) -> bool {
        2 * len >= self.largest && len > 0
    }

    /// Whether the next segment probes a closed window.
    pub(super) const fn set_probe(&mut self, probe: bool) {
        self.probe = probe;
    }

    /// The next segment probes a closed window.
    #[inline]
    pub(super) const fn is_probed(&self) -> bool {
        self.probe
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ack(from: u64, offset: u64, window: u64) -> AckIn {
        AckIn {
            offset,
            from,
            window,
            pure: true,
            marked: false,
            tells_mark: false,
            corrupt: false,
            echo: None,
        }
    }

    #[test]
    fn an_older_segment_does_not_move_the_window() {
        let mut peer = PeerWindow::open(1, 5_000, 0);
        assert!(!peer.take(&ack(10, 1_001, 4_000), 1));
        assert!(!peer.take(&ack(9, 2_001, 100), 1_001) && !peer.take(&ack(10, 1, 100), 1_001));
        assert_eq!((peer.room(1_001), peer.largest()), (4_000, 5_000));
        assert!(peer.is_stated(4_000));
    }

    #[test]
    fn a_window_that_opens_is_told_once() {
        let mut peer = PeerWindow::open(1, 1_000, 0);
        assert!(!peer.take(&ack(1, 1_001, 0), 1));
        assert!(peer.is_closed_at(1_001));
        assert!(peer.take(&ack(1, 1_001, 500), 1_001));
        assert!(!peer.take(&ack(1, 1_001, 900), 1_001));
    }

    #[test]
    fn a_probe_is_one_byte_beyond_a_closed_window() {
        let mut peer = PeerWindow::closed();
        peer.set_probe(true);
        assert!(peer.is_probed());
        assert_eq!((peer.take_room(1), peer.take_room(1)), (1, 0));
    }
}
